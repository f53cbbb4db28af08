"""Define the measurements on the device: each row makes the same step of either library.

Rows with ``moved`` are bound by memory: their result is the share of the bandwidth of a copy from the device to itself.
Those with a goal of shares but no ``moved`` are one product: their result is the share of cuBLAS through PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .side import Side, Step


@dataclass(frozen=True)
class Row:
    """A row: the function that creates its step, and its goals.

    ``share``: at least so much of the copy's bandwidth, or of cuBLAS; ``ratio``: at most so many times PyTorch's time.
    ``moved``: bytes that must be read and written, of the side's size.
    """

    name: str
    make: Callable[[Side], Step]
    share: float | None = None
    ratio: float | None = None
    moved: Callable[[Side], float] | None = None
    tolerance: float = 1e-4


# -- bound by memory ---------------------------------------------------------------------------------------------------

COUNT = 10**8
FEW = 1000


def elementwise(name: str, arrays: int, function: Callable[..., Any]) -> Row:
    """``arrays`` of 10^8 float32 are read and one is written."""

    def make(side: Side) -> Step:
        n = side.size(COUNT, FEW)
        operands = [side.normal(n, seed=seed) for seed in range(arrays)]
        return lambda: (function(side.T, *operands),)

    return Row(name, make, share=0.9, moved=lambda side: 4.0 * (arrays + 1) * side.size(COUNT, FEW))


def rowwise(name: str, function: Callable[[Any, Any], Any], written: bool = True) -> Row:
    """A matrix of 65,536 rows is read, and one written or not."""
    shape = (1 << 16, 1024)

    def make(side: Side) -> Step:
        x = side.normal(side.size(shape[0], 8), side.size(shape[1], 16))
        return lambda: (function(side.T, x),)

    def moved(side: Side) -> float:
        return 4.0 * (1 + written) * side.size(shape[0], 8) * side.size(shape[1], 16)

    return Row(name, make, share=0.9, moved=moved)


MEMORY = [
    elementwise("x + y", 2, lambda T, x, y: x + y),
    elementwise("x * 2", 1, lambda T, x: x * 2),
    elementwise("exp", 1, lambda T, x: x.exp()),
    elementwise("relu", 1, lambda T, x: x.relu()),
    elementwise("where(x > y, x, y)", 2, lambda T, x, y: T.where(x > y, x, y)),
    elementwise("clone", 1, lambda T, x: x.clone()),
    rowwise("transposed, contiguous", lambda T, x: x.t().contiguous()),
    rowwise("sum", lambda T, x: x.sum(), False),
    rowwise("sum over rows", lambda T, x: x.sum(0), False),
    rowwise("sum over columns", lambda T, x: x.sum(1), False),
    rowwise("softmax", lambda T, x: x.softmax(-1)),
    rowwise("layer_norm", lambda T, x: T.nn.functional.layer_norm(x, x.shape[-1:])),
]


# -- products ----------------------------------------------------------------------------------------------------------


def product(n: int, kind: str) -> Row:
    """A product of two square matrices."""

    def make(side: Side) -> Step:
        size = side.size(n, 16)
        a, b = (side.normal(size, size, seed=seed, kind=kind) for seed in range(2))
        return lambda: (a @ b,)

    return Row(f"product {n}, {kind}", make, share=0.95, tolerance=1e-4 if kind == "float32" else 2e-2)


PRODUCTS = [product(n, kind) for kind in ("float32", "float16", "bfloat16") for n in (1024, 4096, 8192)]


# -- networks and chains -----------------------------------------------------------------------------------------------


def perceptron(side: Side, batch: int) -> Step:
    """784-512-512-10, stochastic gradient descent with momentum."""
    T, nn = side.T, side.T.nn  # noqa: N806
    T.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    model = model.to(side.device)
    optimizer = T.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    data = side.normal(side.size(batch, 8), 784)
    classes = (T.arange(side.size(batch, 8)) % 10).to(side.device)

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), classes)
        loss.backward()
        optimizer.step()
        return (loss.detach(),)

    return step


def backward(
    function: Callable[..., Any], *shapes: tuple[int, ...], tiny: tuple[tuple[int, ...], ...]
) -> Callable[[Side], Step]:
    """A function of tensors of these shapes, forward and backward."""

    def make(side: Side) -> Step:
        chosen = tiny if side.tiny else shapes
        leaves = [side.normal(*shape, seed=seed, grad=True, scale=0.5) for seed, shape in enumerate(chosen)]
        cotangent = side.normal(*function(side.T, *leaves).shape, seed=9)

        def step() -> Any:
            for leaf in leaves:
                leaf.grad = None
            y = function(side.T, *leaves)
            y.backward(cotangent)
            return (y.detach(), *(leaf.grad for leaf in leaves))

        return step

    return make


def forward(
    function: Callable[..., Any], *shapes: tuple[int, ...], tiny: tuple[tuple[int, ...], ...]
) -> Callable[[Side], Step]:
    """Return the forward pass alone."""

    def make(side: Side) -> Step:
        chosen = tiny if side.tiny else shapes
        operands = [side.normal(*shape, seed=seed, scale=0.5) for seed, shape in enumerate(chosen)]
        return lambda: (function(side.T, *operands),)

    return make


def conv(T: Any, x: Any, w: Any) -> Any:
    """A convolution of 3×3."""
    return T.nn.functional.conv2d(x, w, padding=1)


def attention(T: Any, q: Any, k: Any, v: Any) -> Any:
    """Causal attention."""
    return T.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


PICTURES = {"tiny": ((2, 3, 8, 8), (4, 3, 3, 3))}
HEADS = {"tiny": ((1, 2, 8, 4),) * 3}
ROWS = {"tiny": ((4, 16),)}
NETWORKS = [
    Row("MLP step, batch 8192", lambda side: perceptron(side, 8192), ratio=1.2, tolerance=1e-3),
    Row("MLP step, batch 256", lambda side: perceptron(side, 256), tolerance=1e-3),
    Row("conv2d 64×64×56×56, 3×3", forward(conv, (64, 64, 56, 56), (64, 64, 3, 3), **PICTURES), tolerance=1e-3),
    Row("conv2d, backward", backward(conv, (64, 64, 56, 56), (64, 64, 3, 3), **PICTURES), tolerance=1e-3),
    Row("attention 16×8×1024×64", forward(attention, *((16, 8, 1024, 64),) * 3, **HEADS), tolerance=1e-3),
    Row("attention, backward", backward(attention, *((16, 8, 1024, 64),) * 3, **HEADS), tolerance=1e-3),
    Row(
        "layer_norm, backward",
        backward(lambda T, x: T.nn.functional.layer_norm(x, x.shape[-1:]), (8192, 1024), **ROWS),
        tolerance=1e-3,
    ),
    Row("softmax, backward", backward(lambda T, x: x.softmax(-1), (8192, 1024), **ROWS), tolerance=1e-3),
    Row(
        "embedding's gradient, 10^6 of 1000 rows",
        lambda side: embedding(side),
        tolerance=1e-3,
    ),
]


def embedding(side: Side) -> Step:
    """A million rows of few: their gradients add up at the same places."""
    n, T = side.size(10**6, 100), side.T  # noqa: N806
    table = side.normal(1000, 64, grad=True)
    index = (T.arange(n) * 7919 % 1000).to(side.device)

    def step() -> Any:
        table.grad = None
        T.nn.functional.embedding(index, table).sum().backward()
        return (table.grad,)

    return step


def chain(T: Any, x: Any) -> Any:
    """Workload e of ``benchmarks/workloads``."""
    return (x.exp().tanh() * x).sigmoid().sum()


def chained(n: int) -> Callable[[Side], Step]:
    """Forward and backward."""

    def make(side: Side) -> Step:
        x = side.normal(side.size(n, FEW), grad=True)

        def step() -> Any:
            x.grad = None
            y = chain(side.T, x)
            y.backward()
            return (y.detach(), x.grad)

        return step

    return make


def eight(T: Any, x: Any) -> Any:
    """Eight elementwise operations: each reads an array or two of ``x``'s size and writes one."""
    return ((x * 2 + 1).sin() * x - x).exp().tanh() + x


CHAINS = [
    Row("chain e, 10^6, forward and backward", chained(10**6), ratio=1.1),
    Row("chain e, 10^7, forward and backward", chained(10**7), ratio=1.1),
    Row("chain e, 10^8, forward and backward", chained(10**8), ratio=1.1),
    Row("eight operations, 10^8", forward(eight, (10**8,), tiny=((FEW,),))),
    Row("eight operations, 10^6", forward(eight, (10**6,), tiny=((FEW,),))),
]


# -- launches ----------------------------------------------------------------------------------------------------------

CALLS = 20


def repeated(function: Callable[..., Any], grad: bool = False, back: bool = False) -> Callable[[Side], Step]:
    """An operation on a hundred numbers, some twenty times in a step."""

    def make(side: Side) -> Step:
        x = side.normal(100, grad=grad)

        def step() -> Any:
            y = x
            for _ in range(CALLS):
                y = function(side.T, y)
            if back:
                x.grad = None
                y.sum().backward()
            return (y.detach(),)

        return step

    return make


LAUNCHES = [
    Row("x + 1", repeated(lambda T, x: x + 1)),
    Row("x + x", repeated(lambda T, x: x + x)),
    Row("tanh", repeated(lambda T, x: x.tanh())),
    Row("tanh, recorded", repeated(lambda T, x: x.tanh(), grad=True)),
    Row("tanh, forward and backward", repeated(lambda T, x: x.tanh(), grad=True, back=True)),
    Row("x[None][0]: views", repeated(lambda T, x: x[None][0])),
]
"""Their time is the host's, for one of `CALLS` operations."""


# -- models ------------------------------------------------------------------------------------------------------------

MODELS = ("mlp", "cnn", "lstm", "gpt")


class Placed:
    """A library whose random numbers and parameters are drawn on the CPU, the same in both, and then moved."""

    def __init__(self, inner: Any, module: type, device: str) -> None:
        self.inner, self.module, self.device = inner, module, device

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.inner, name)
        if name == "nn":
            return Placed(value, self.module, self.device)
        is_layer = isinstance(value, type) and issubclass(value, self.module) and value is not self.module
        if is_layer or name in ("randn", "rand", "randint", "zeros", "ones", "arange"):
            return lambda *args, **options: value(*args, **options).to(self.device)
        return value


def model(side: Side, key: str) -> Step:
    """A training step of a model of ``benchmarks/workloads/networks.py``."""
    from workloads import networks

    makers = {
        "mlp": networks.perceptron,
        "cnn": networks.convolutional,
        "lstm": lambda torch: networks.recurrent(torch, "LSTM"),
        "gpt": networks.gpt,
    }
    return makers[key](Placed(side.T, side.T.nn.Module, side.device))


MODEL_ROWS = [
    Row(f"training step: {key}", lambda side, key=key: model(side, key), tolerance=1e-3)  # type: ignore[misc]
    for key in MODELS
]

GROUPS = {
    "memory-bound": MEMORY,
    "products": PRODUCTS,
    "networks": NETWORKS,
    "chains": CHAINS,
    "launches": LAUNCHES,
    "models": MODEL_ROWS,
}
