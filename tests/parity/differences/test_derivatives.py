"""Derivatives where they are special: at infinities, beside zeros, among ties; and the signs of zeros."""

from __future__ import annotations

import math
from typing import Any

import pytest

import nbautograd as nb
from tests.parity.differences.both import Raised, TensorValue, agrees, differs

INF = math.inf


def gradient(torch: Any, function: Any, values: Any) -> Any:
    x = torch.tensor(values, requires_grad=True)
    function(x).sum().backward()
    return x.grad


INFINITIES = [
    [-INF, -INF],
    [INF, 0.0],
    [-INF, 0.0],
    [0.0, INF, 1.0],
    [INF, INF],
    [-INF, -INF, 0.0, -INF, 1.0],
    [INF, -INF],
]


@agrees
def test_logsumexp_at_infinities(torch: Any) -> Any:
    return [gradient(torch, lambda x: x.logsumexp(0), values) for values in INFINITIES]


@agrees
def test_logcumsumexp_at_infinities(torch: Any) -> Any:
    return [gradient(torch, lambda x: x.logcumsumexp(0), values) for values in INFINITIES]


@agrees
def test_softmax_and_logaddexp_at_infinities(torch: Any) -> Any:
    found = []
    for values in INFINITIES:
        other = torch.tensor(values).flip(0)
        for function in (lambda x: x.softmax(0), lambda x: x.log_softmax(0), lambda x, o=other: x.logaddexp(o)):
            found.append(gradient(torch, function, values))
    return found


@agrees
def test_the_second_derivative_of_logsumexp_beside_an_infinity(torch: Any) -> Any:
    x = torch.tensor([-INF, 0.0, 1.0], requires_grad=True)
    (g,) = torch.autograd.grad(x.logsumexp(0), x, create_graph=True)
    return torch.autograd.grad(g[1], x)


def scattered(torch: Any, input: Any, src: Any, reduce: Any) -> list[Any]:
    """First and second derivatives of a product that is scattered to one place."""
    i, s = (torch.tensor(values, requires_grad=True) for values in (input, src))
    y = reduce(i, torch.zeros(len(src), dtype=torch.int64), s)
    first = torch.autograd.grad((y * y).sum() + y.sum(), (i, s), create_graph=True)
    weighted = (first[0] * first[0]).sum() + (first[1] * torch.arange(1.0, len(src) + 1)).sum()
    return [*first, *torch.autograd.grad(weighted, (i, s))]


PRODUCTS = [([2.0], [0.0, 3.0]), ([0.0], [2.0, 3.0]), ([2.0, 5.0], [3.0, 0.0, 4.0]), ([2.0, 0.0], [1.0, 3.0])]


@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
@agrees
def test_second_derivatives_of_products_beside_a_zero(torch: Any) -> Any:
    return [
        scattered(torch, input, src, reduce)
        for input, src in PRODUCTS
        for reduce in (
            lambda i, at, s: i.scatter_reduce(0, at, s, "prod"),
            lambda i, at, s: i.scatter_reduce(0, at, s, "prod", include_self=False),
            lambda i, at, s: i.index_reduce(0, at, s, "prod"),
        )
    ]


@differs(
    "Products that are scattered have second derivatives beside several zeros",
    pytorch=Raised(RuntimeError),
    here=[TensorValue("float32", (1,), [0.0]), TensorValue("float32", (2,), [2.0, 2.0])],
)
def test_second_derivatives_of_products_beside_several_zeros(torch: Any) -> Any:
    i, s = (torch.tensor(values, requires_grad=True) for values in ([2.0], [0.0, 0.0]))
    (g,) = torch.autograd.grad(i.scatter_reduce(0, torch.tensor([0, 0]), s, "prod").sum(), s, create_graph=True)
    return list(torch.autograd.grad(g.sum(), (i, s)))


@differs("Of equal elements, `kthvalue` gives the first ones' places in order", pytorch=[1, 0, 2], here=[0, 1, 2])
def test_kthvalue_of_equal_elements(torch: Any) -> Any:
    return [torch.tensor([1.0, 1.0, 3.0]).kthvalue(k).indices.item() for k in (1, 2, 3)]


@differs(
    "Sorts keep equal elements in order",
    pytorch=[[3, 6, 4], [5, 0, 3, 6, 4]],
    here=[[1, 2, 3], [0, 5, 1, 2, 3]],
)
def test_sorts_of_equal_elements(torch: Any) -> Any:
    x = torch.tensor([1.0, 3.0, 3.0, 3.0, 3.0, 1.0, 3.0])
    return [x.topk(3).indices.tolist(), x.topk(5, largest=False).indices.tolist()]


@differs(
    "The gradient of `polar` by a length that is not positive is the derivative",
    pytorch=[-1.0, 0.0, 1.0],
    here=[1.0, 1.0, 1.0],
)
def test_polar(torch: Any) -> Any:
    length = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    torch.polar(length, torch.zeros(3)).real.sum().backward()
    return length.grad.tolist()


@differs("Tangents of `logcumsumexp` do not underflow", pytorch=[0.0, 2.0], here=[1.0, 2.0])
def test_tangents_of_logcumsumexp(torch: Any) -> Any:
    x, t = torch.tensor([0.0, 500.0]), torch.tensor([1.0, 2.0])
    return torch.func.jvp(lambda x: x.logcumsumexp(0), (x,), (t,))[1].tolist()


@differs(
    "`scatter` with `reduce=` has derivatives in forward mode",
    pytorch=Raised(NotImplementedError),
    here=[[2.0, 0.0], [0.0, 2.0]],
)
def test_forward_mode_of_scatter(torch: Any) -> Any:
    func, places = torch.func, torch.tensor([0, 1])
    total = lambda x: torch.zeros(2).scatter(0, places, x * x, reduce="add").sum()  # noqa: E731
    return func.jacrev(func.jacfwd(total))(torch.tensor([1.0, 2.0])).tolist()


@differs(
    "The gradient of `det` at a singular matrix is its adjugate",
    pytorch=[[0.0, 0.0], [0.0, 0.0]],
    here=[[4.0, -2.0], [-2.0, 1.0]],
)
def test_det_of_a_singular_matrix(torch: Any) -> Any:
    return gradient(torch, torch.det, [[1.0, 2.0], [2.0, 4.0]]).tolist()


@differs("The second derivative of `norm` at 0 is 0", pytorch=[math.nan, math.nan], here=[0.0, 0.0])
def test_the_second_derivative_of_norm(torch: Any) -> Any:
    x = torch.zeros(2, requires_grad=True)
    (g,) = torch.autograd.grad(x.norm(), x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)[0].tolist()


# -- signs of zeros ----------------------------------------------------------------------------------------------------


def signs(torch: Any, function: Any) -> list[bool]:
    """Compare results for zeros of both signs, in each floating dtype.

    Only a few elements: with many, PyTorch's ``maximum`` and ``clamp`` mix the zeros of both operands.
    """
    kinds = (torch.float32, torch.float64, torch.float16)
    return [torch.signbit(function(torch.tensor([-0.0, 0.0], dtype=kind))).tolist() for kind in kinds]


SIGNED: list[Any] = [
    lambda T, x: T.relu(x),
    lambda T, x: T.relu_(x.clone()),
    lambda T, x: x.clamp(min=0),
    lambda T, x: x.clamp(max=0),
    lambda T, x: x.clamp(0, 1),
    lambda T, x: x.clamp(-1, 0),
    lambda T, x: x.clamp(min=-0.0),
    lambda T, x: x.clamp(min=T.zeros_like(x)),
    lambda T, x: x.clamp(T.zeros_like(x), T.ones_like(x)),
    lambda T, x: T.maximum(x, T.zeros_like(x)),
    lambda T, x: T.maximum(T.zeros_like(x), x),
    lambda T, x: T.minimum(x, T.zeros_like(x)),
    lambda T, x: T.minimum(T.zeros_like(x), x),
    lambda T, x: T.nn.functional.relu6(x),
    lambda T, x: T.nn.functional.hardtanh(x, 0.0, 1.0),
    lambda T, x: T.nn.functional.elu(x),
    lambda T, x: T.nn.functional.celu(x),
    lambda T, x: T.nn.functional.selu(x),
    lambda T, x: T.nn.functional.leaky_relu(x),
    lambda T, x: T.nn.functional.softshrink(x),
    lambda T, x: T.nn.functional.hardshrink(x),
    # PyTorch's gelu of float32 is oneDNN's: without AVX-512 it returns 0.0 for -0.0
    lambda T, x: T.nn.functional.gelu(x.double() if x.dtype == T.float32 else x),
    lambda T, x: T.nn.functional.silu(x),
    lambda T, x: x % 1.0,
    lambda T, x: x % -1.0,
    lambda T, x: T.fmod(x, 1.0),
    lambda T, x: (x + 1) % T.ones_like(x),
    lambda T, x: x.cumsum(0),
    lambda T, x: (-x.abs()).cumsum(0),
]


@agrees
def test_signs_of_zeros(torch: Any) -> Any:
    return [signs(torch, lambda x, f=function: f(torch, x)) for function in SIGNED]


def test_the_sign_of_gelu_at_zeros_of_float32() -> None:
    assert nb.nn.functional.gelu(nb.tensor([-0.0, 0.0])).signbit().tolist() == [True, False]


@agrees
def test_signs_of_many_zeros(torch: Any) -> Any:
    x = torch.tensor([-0.0, 0.0] * 9000)
    return [torch.relu(x).signbit()[:20], torch.nn.functional.elu(x).signbit()[:20], (x % 1.0).signbit()[:20]]


# -- what is said once -------------------------------------------------------------------------------------------------


@agrees
def test_what_casting_to_real_numbers_discards(torch: Any) -> Any:
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
            return torch.tensor([1 + 2j]).to(torch.float32)
    finally:
        torch.set_warn_always(False)


@agrees
def test_an_array_that_cannot_be_written_to(torch: Any) -> Any:
    import numpy as np

    array = np.ones(2)
    array.flags.writeable = False
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
            return torch.from_numpy(array)
    finally:
        torch.set_warn_always(False)
