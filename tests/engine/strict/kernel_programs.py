"""Fused kernels for tests: those of every operation and formula, and of update rules; and their number of launches."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

import nbautograd as nb
from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.summation import is_half
from nbautograd._engine.compiler.backward import formula_kernels
from nbautograd._engine.compiler.schema import OPS, POINTWISE, UPCAST
from nbautograd._engine.fusion import cuda_kernel
from nbautograd._engine.fusion.cuda_source import CudaProgram
from nbautograd._engine.fusion.kernel import ElementwiseKernel
from nbautograd._engine.fusion.symbolic import NeedsValue, NotFusable
from nbautograd.optim.elementwise import change_of
from tests.engine.strict import comparison, kernels
from tests.engine.strict.kernels import KERNELS


@contextmanager
def compiled_kernels() -> Iterator[None]:
    """The strict device with kernels."""
    strict: Any = backend._BY_TYPE["strict"]
    strict.compiled = KERNELS
    try:
        yield
    finally:
        strict.compiled = None


for module in pkgutil.walk_packages(nb.__path__, "nbautograd."):
    if module.name.startswith(("nbautograd._engine.ops.", "nbautograd.nn.functional.")):
        import_module(module.name)  # so that all operations are declared

# -- every operation and formula ---------------------------------------------------------------------------------------

KINDS = {
    "b": "bool",
    "i": "int8 int32 uint8 int64",
    "f": "float32 float64 float16 bfloat16",
    "c": "complex64 complex128",
}
SIZE = 40
BY_HAND = {
    "derivative_of_digamma": {"n": 2},
    "mvlgamma": {"p": 2},
    "divide_rounded": {"rounding_mode": "floor"},
    "linalg_cross_same": {"dim": 0},
    "_round_decimals": {"decimals": 2},
    "hardshrink": {"lambd": 0.5},
}


def values(dtype: np.dtype[Any], seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(SIZE) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -5, 6, SIZE).astype(dtype)
    special = [0.0, 1.0, -1.0, 0.5, -2.0, 3.0]
    array = np.concatenate([special, rng.normal(size=SIZE - len(special)) * 1.5])
    rng.shuffle(array)
    if dtype.kind == "c":
        return (array + 1j * rng.normal(size=SIZE)).astype(dtype)
    return array.astype(dtype)


def options_of(op: Any) -> dict[str, Any]:
    defaults = op.option_defaults() or {}
    names = [name for name in (*op.positional, *op.keywords) if name not in op.tensors]
    return {name: BY_HAND.get(op.name, {}).get(name, defaults.get(name, 0.75)) for name in names} | {
        name: 0.75 for name in names if defaults.get(name, ...) is ... and name not in BY_HAND.get(op.name, {})
    }


def forward_functions() -> Iterator[tuple[str, ElementwiseKernel, list[Any]]]:
    """Every elementwise operation's body, with operands of each dtype that it takes."""
    for op in OPS.values():
        if op.kind != POINTWISE:
            continue
        options = options_of(op)
        categories = [category for category in op.accepts if category in op.accepts_each]
        for dtype in [np.dtype(kind) for category in categories for kind in KINDS[category].split()]:
            if (op.floating and dtype.kind in "biu") or (is_half(dtype) and op.half_policy != UPCAST):
                continue  # cast before the body gets them
            operands = [
                options[name] if name in options else values(np.dtype(bool) if name in op.masks else dtype, seed)
                for seed, name in enumerate(op.fused.names)
            ]
            yield f"{op.name} of {dtype}", op.fused, operands


def backward_functions() -> Iterator[tuple[str, ElementwiseKernel, list[Any]]]:
    """Every formula of theirs."""
    for op in OPS.values():
        if op.kind != POINTWISE or not op.formulas or "f" not in op.accepts:
            continue
        options = options_of(op)
        for name, kernel in formula_kernels(op).items():
            for kind in map(np.dtype, KINDS["f"].split() if kernel is not None else []):
                operands = []
                for seed, operand in enumerate(kernel.names):
                    dtype = np.dtype(bool) if operand in op.masks else kind
                    if operand in options:
                        operands.append(options[operand])
                    elif operand.endswith(("dtype", "shape")):
                        operands.append(kind if operand.endswith("dtype") else (SIZE,))
                    else:
                        operands.append(values(dtype, seed))
                yield f"{op.name} by {name} of {kind}", kernel, operands


def program_of(kernel: ElementwiseKernel, operands: list[Any]) -> CudaProgram | None:
    kinds = [cuda_kernel._kind(operand, cuda_kernel.NUMBER) for operand in operands]
    try:
        return cuda_kernel._lowered(kernel, kinds)
    except NeedsValue:
        kinds = [cuda_kernel._kind(operand, None) for operand in operands]
    except NotFusable:
        return None
    try:
        return cuda_kernel._lowered(kernel, kinds)
    except NotFusable:
        return None


def on_device(array: np.ndarray[Any, Any]) -> Any:
    return array if array.dtype == kernels.BFLOAT16 else kernels.StrictArray(array)


# -- update rules ------------------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda p: nb.optim.SGD(p, 0.1),
    "SGD with momentum": lambda p: nb.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
    "Adam": lambda p: nb.optim.Adam(p, amsgrad=True, maximize=True),
    "AdamW": lambda p: nb.optim.AdamW(p),
    "NAdam": lambda p: nb.optim.NAdam(p),
    "RAdam": lambda p: nb.optim.RAdam(p),
    "Adamax": lambda p: nb.optim.Adamax(p),
    "RMSprop": lambda p: nb.optim.RMSprop(p),
    "RMSprop with momentum": lambda p: nb.optim.RMSprop(p, momentum=0.5, centered=True),
    "Adagrad": lambda p: nb.optim.Adagrad(p),
    "Adadelta": lambda p: nb.optim.Adadelta(p),
    "Rprop": lambda p: nb.optim.Rprop(p),
    "ASGD": lambda p: nb.optim.ASGD(p, t0=2),
}


def rules_of(make: Any) -> Iterator[tuple[Any, int]]:
    """The update rules of an optimizer's first steps, and their number of arrays."""
    p = nb.zeros(3).requires_grad_()
    optimizer = make([p])
    (group,) = optimizer.param_groups
    slots = optimizer._slots(group)
    for _ in range(2):
        state, kept, fresh = optimizer._prepare(p, slots)
        rule, change = optimizer._plan(state, group, fresh), change_of(group)
        yield rule if change is None else change(rule), len(kept) + 2


def arrays_of(rng: Any, dtype: nb.dtype, *shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    return [nb.tensor(rng.normal(size=shape)).to(dtype).numpy() for shape in shapes]


SHAPES = (3, 4), (5000,), (1,)
STEPS = 4


def trained(make: Any, place: Any, *arrays: np.ndarray[Any, Any]) -> list[nb.Tensor]:
    """Return parameters of these shapes, and an optimizer's state for them, after some steps."""
    count = len(SHAPES)
    parameters = [nb.tensor(array, device=place, requires_grad=True) for array in arrays[:count]]
    optimizer = make(parameters)
    for step in range(STEPS):
        for p, gradient in zip(parameters, arrays[count * (step + 1) :], strict=False):
            p.grad = nb.tensor(gradient, device=place)
        if step == 2:
            optimizer.param_groups[0]["lr"] *= 0.5
        optimizer.step()
    return [*parameters, *(value for p in parameters for value in optimizer.state[p].values())]


# -- what is launched --------------------------------------------------------------------------------------------------


class Launches:
    """The number of kernels that run in a ``with`` block: elementwise ones, reductions, raw ones."""

    def counts(self) -> list[int]:
        return [kind.launches for kind in (kernels.ElementwiseKernel, kernels.ReductionKernel, kernels.RawKernel)]

    def __enter__(self) -> Launches:
        self.before = self.counts()
        return self

    def __exit__(self, *exception: object) -> None:
        self.elementwise, self.reductions, self.raw = (
            now - before for now, before in zip(self.counts(), self.before, strict=True)
        )


def agree(program: Any, *shapes: tuple[int, ...], dtype: nb.dtype = nb.float32) -> None:
    """A program of tensors of these shapes has the same result and gradients on the strict device as on the CPU."""

    def with_gradients(place: Any, *arrays: np.ndarray[Any, Any]) -> list[Any]:
        inputs = [nb.tensor(array, device=place, requires_grad=True) for array in arrays]
        out = program(*inputs)
        out.backward(comparison.uneven(out, place))
        return [out, *(x.grad for x in inputs)]

    comparison.agree(with_gradients, *arrays_of(np.random.default_rng(3), dtype, *shapes))
