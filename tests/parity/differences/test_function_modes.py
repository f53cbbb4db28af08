"""Modes that override functions, under both libraries."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import overrides
from nbautograd._engine.compiler.interception import is_intercepted
from tests.parity.differences.both import agrees


@pytest.fixture(autouse=True)
def functions_get_their_code_back() -> Any:
    """Check that no function asks a mode after a test and its next call."""
    own = nb.zeros(1) is not None and nb.zeros.__code__  # the call ends what an earlier mode has left
    yield
    assert not overrides._process.is_on() and not is_intercepted(nb.zeros)
    assert nb.zeros(1).add(1).shape == (1,) and nb.zeros.__code__ is own


def log(torch: Any, names: list[str], then: Any = None) -> Any:
    """Return a mode that notes the names of the functions."""

    class Log(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.__name__ not in ("__get__", "_set_grad_enabled"):
                names.append(func.__name__)
            return func(*args, **(kwargs or {})) if then is None else then(func, args, kwargs or {})

    return Log()


CREATIONS = [
    "zeros(2)",
    "ones(2,3)",
    "empty(2)",
    "full((2,),1.)",
    "arange(3)",
    "linspace(0,1,3)",
    "logspace(0,1,3)",
    "eye(3)",
    "rand(2)",
    "randn(2)",
    "randint(3,(2,))",
    "randperm(3)",
    "tensor([1.])",
    "as_tensor([1.])",
    "asarray([1.])",
    "zeros_like(x)",
    "ones_like(x)",
    "rand_like(x)",
    "randn_like(x)",
    "full_like(x,2)",
    "empty_like(x)",
    "randint_like(x,3)",
    "normal(0.,1.,(2,))",
    "bernoulli(x)",
    "tril_indices(3,3)",
    "hann_window(4)",
    "scalar_tensor(2)",
    "complex(x,x)",
    "empty_strided((2,),(1,))",
    "manual_seed(0)",
    "get_default_dtype()",
    "is_tensor(x)",
    "numel(x)",
    "is_floating_point(x)",
    "stack([x,x])",
    "cat([x,x])",
    "where(x>0,x,x)",
    "einsum('ij,jk',x,x)",
    "tensordot(x,x)",
    "norm(x)",
    "split(x,1)",
    "unique(x)",
    "block_diag(x,x)",
    "cdist(x,x)",
    "atleast_1d(x)",
    "meshgrid(x[0],x[1])",
    "allclose(x,x)",
    "linalg.norm(x)",
    "linalg.inv(eye)",
    "linalg.svd(x)",
    "fft.fft(x)",
]
METHODS = [
    "x+1",
    "1+x",
    "x-x",
    "x*x",
    "2/x",
    "2**x",
    "x%2",
    "-x",
    "abs(x)",
    "x<1",
    "~(x>0)",
    "x[0]",
    "x[x>0]",
    "x.sum()",
    "x.mean(0)",
    "x.add(1)",
    "x.add_(0)",
    "x.view(9)",
    "x.t()",
    "x.clone()",
    "x.detach()",
    "x.sum().item()",
    "x.tolist()",
    "x.to(torch.float64)",
    "x.float()",
    "x.cpu()",
    "x.size()",
    "x.dim()",
    "x.numel()",
    "x.contiguous()",
    "len(x)",
    "bool(x.sum())",
    "float(x.sum())",
    "int(x.sum())",
    "repr(x)",
    "x.new_zeros(2)",
    "x.new_tensor([1.])",
    "x.requires_grad_()",
    "x.copy_(x)",
    "x.fill_(1)",
    "x.zero_()",
    "x.uniform_()",
    "x.masked_fill(x>0,1)",
    "x.expand(2,3,3)",
    "x.max(0)",
    "x.topk(1)",
    "x.softmax(0)",
    "x.split(1)",
    "x.std()",
    "x.cumsum(0)",
    "x.type()",
    "x.type_as(x)",
    "x.data_ptr()",
    "x.is_contiguous()",
    "x.equal(x)",
]
FUNCTIONS = [
    "relu(x)",
    "softmax(x,0)",
    "linear(x,x)",
    "conv2d(x4,w)",
    "max_pool2d(x4,2)",
    "avg_pool2d(x4,2)",
    "adaptive_avg_pool2d(x4,1)",
    "cross_entropy(x,i)",
    "mse_loss(x,x)",
    "nll_loss(x,i)",
    "dropout(x)",
    "layer_norm(x,(3,))",
    "group_norm(x4,2)",
    "embedding(i,x)",
    "pad(x,(1,1))",
    "interpolate(x4,scale_factor=2)",
    "one_hot(i)",
    "scaled_dot_product_attention(x4,x4,x4)",
    "gelu(x)",
    "silu(x)",
    "leaky_relu(x)",
    "log_softmax(x,0)",
    "binary_cross_entropy_with_logits(x,x)",
    "l1_loss(x,x)",
    "smooth_l1_loss(x,x)",
    "cosine_similarity(x,x)",
    "normalize(x)",
    "unfold(x4,2)",
]


def seen(torch: Any, home: str, calls: list[str]) -> dict[str, list[str]]:
    """Return the names of the functions that a mode sees in each call."""
    found = {}
    for call in calls:
        values = {"x": torch.ones(3, 3), "x4": torch.ones(1, 2, 4, 4), "i": torch.tensor([0, 1, 2])}
        values |= {"w": torch.ones(1, 2, 2, 2), "eye": torch.eye(2), "torch": torch}
        names: list[str] = []
        with log(torch, names):
            eval(home + call, values)
        found[call] = names
    return found


@agrees(exact=True)
def test_a_mode_sees_what_creates(torch: Any) -> Any:
    return seen(torch, "torch.", CREATIONS)


@agrees(exact=True)
def test_a_mode_sees_methods(torch: Any) -> Any:
    return seen(torch, "", METHODS)


@agrees(exact=True)
def test_a_mode_sees_functions(torch: Any) -> Any:
    return seen(torch, "torch.nn.functional.", FUNCTIONS)


@agrees(exact=True)
def test_a_mode_changes_results(torch: Any) -> Any:
    names: list[str] = []
    twice = lambda func, args, kwargs: func(*args, **kwargs) * 2  # noqa: E731
    with log(torch, names, twice):
        x = torch.ones(2)
        y = x + 1
        z = torch.nn.functional.relu(y)
    return x, y, z, names


@agrees(exact=True)
def test_modes_nest(torch: Any) -> Any:
    names: list[str] = []
    inner: list[str] = []
    with log(torch, names), log(torch, inner):
        x = torch.ones(2).add(1)
    with log(torch, names) as mode, mode:
        x.mul(2)
    return names, inner


@agrees(exact=True)
def test_a_mode_that_declines(torch: Any) -> Any:
    with log(torch, [], lambda *_: NotImplemented), pytest.raises(TypeError) as error:
        torch.ones(2)
    return "NotImplemented" in str(error.value)


@agrees(exact=True)
def test_a_mode_before_a_class(torch: Any) -> Any:
    names: list[str] = []

    class Points(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(f"class {func.__name__}")
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Points)
    kinds = []
    with log(torch, names, lambda func, args, kwargs: (kinds.append(func.__name__), func(*args, **kwargs))[1]):
        y = x.exp()
    with torch._C.DisableTorchFunctionSubclass(), log(torch, names):
        x.sin()
    return names, kinds, type(y).__name__


@agrees(exact=True)
def test_an_error_ends_the_mode(torch: Any) -> Any:
    names: list[str] = []
    with pytest.raises(RuntimeError), log(torch, names):
        torch.matmul(torch.ones(2), torch.ones(3))
    torch.ones(2)
    return names


@agrees(exact=True)
def test_a_pass_in_a_mode(torch: Any) -> Any:
    names: list[str] = []
    with log(torch, names):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        y.backward()
        (gradient,) = torch.autograd.grad((x**3).sum(), x)
    return names[:4], x.grad, gradient


@agrees(exact=True)
def test_only_the_thread_of_a_mode_asks_it(torch: Any) -> Any:
    names: list[str] = []
    with log(torch, names):
        thread = threading.Thread(target=lambda: torch.ones(2).exp())
        thread.start()
        thread.join()
    return names


@agrees(exact=True)
def test_redispatching(torch: Any) -> Any:
    names: list[str] = []

    def scaled(a: Any, b: Any) -> Any:
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    class Log(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(func.__name__)
            with self:
                return torch.overrides.redispatch_function(func, types, args, kwargs)

    a, b = torch.ones(1), torch.ones(1)
    with Log():
        y = scaled(a, b)
    with torch.overrides.BaseTorchFunctionMode():
        scaled(a, b)
    return y, names


def test_a_mode_in_transforms_and_traces() -> None:
    names: list[str] = []
    with log(nb, names), nb.autocast("cpu"):
        nb.func.vmap(nb.sin)(nb.ones(2))
        nb.jit.trace(lambda x: x.exp(), nb.ones(2), check_trace=False)
    assert {"sin", "exp"} <= {*names}


def test_a_context_that_began_in_a_mode() -> None:
    names: list[str] = []
    with log(nb, names):
        context = contextvars.copy_context()
    context.run(nb.ones, 2)
    assert names in ([], ["ones"])  # its functions have their own code
