"""On a GPU, as PyTorch has it: special values, ties, few elements, odd memory, dtypes, in place and into ``out=``."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.engine.cuda.on_device import On, agree, host, pytorch

needs.cuda_device()
pytestmark = pytest.mark.cuda
INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, INF, -INF, NAN, 3e38, -3e38]
UNARY = """
    abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac
    isfinite isinf isnan isneginf isposinf lgamma log log10 log1p log2 logit neg nan_to_num positive rad2deg reciprocal
    relu round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc
"""
BINARY = """
    add sub mul div atan2 copysign eq floor_divide fmax fmin fmod ge gt hypot le lt maximum minimum ne nextafter pow
    remainder logaddexp logaddexp2 xlogy heaviside
"""


def both(call: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The call with our library on CUDA, and with PyTorch's on the same device."""
    torch, place = pytorch()
    return call(On(nb, "cuda")), call(On(torch, place))


def alike(call: Callable[[Any], Any], rtol: float = 1e-5, atol: float = 0.0) -> None:
    ours, theirs = both(call)
    for a, b in zip(*((x if isinstance(x, (tuple, list)) else (x,)) for x in (ours, theirs)), strict=True):
        assert a.device.type == "cuda"
        assert str(a.dtype).rpartition(".")[2] == str(b.dtype).rpartition(".")[2]
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(host(a), host(b), rtol, atol)


@pytest.mark.parametrize("name", UNARY.split())
def test_special_values(name: str) -> None:
    alike(lambda T: getattr(T, name)(T.tensor(SPECIAL)), atol=1e-6)


@pytest.mark.parametrize("name", BINARY.split())
def test_special_values_in_pairs(name: str) -> None:
    pairs = itertools.product(SPECIAL, repeat=2)
    if name in ("fmod", "remainder"):  # with numbers this far apart, PyTorch's quotients overflow
        pairs = itertools.product(SPECIAL[:-2], repeat=2)
    first, second = (list(part) for part in zip(*pairs, strict=True))
    alike(lambda T: getattr(T, name)(T.tensor(first), T.tensor(second)), atol=1e-6)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sigmoid", "relu", "abs", "tanh", "rsqrt", "reciprocal", "pow"])
def test_gradients_at_special_values(name: str) -> None:
    def gradient(T: Any) -> Any:
        x = T.tensor(SPECIAL, requires_grad=True)
        (getattr(x, name)() if name != "pow" else x**2).sum().backward()
        return x.grad

    alike(gradient, atol=1e-6)


TIED = [[2.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0], [NAN, 3.0, NAN, 3.0], [-0.0, 0.0, -0.0, 0.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: x.amax(1),
        lambda T, x: x.amin(0),
        lambda T, x: x.max(1).values,
        lambda T, x: x.min(0).values,
        lambda T, x: x.sort(1).values,
        lambda T, x: x.sort(dim=1, stable=True).indices,
        lambda T, x: x.sort(dim=1, descending=True, stable=True).indices,
        lambda T, x: T.argsort(x, dim=1, stable=True),
        lambda T, x: x.topk(2, 1).values,
        lambda T, x: x[:2].median(1).values,
        lambda T, x: x.cummax(1).values,
        lambda T, x: T.unique(x[:2]),
        lambda T, x: T.unique_consecutive(x[:2].flatten()),
        lambda T, x: x[:2].mode(1).values,
        lambda T, x: x.kthvalue(2, 1).values,
        lambda T, x: T.searchsorted(x[1], x[0]),
        lambda T, x: T.bucketize(x[0], x[1]),
        lambda T, x: T.isin(x[0], x[1]),
        lambda T, x: T.histc(x[:2], 4, 0, 4),
    ],
)
def test_ties(call: Any) -> None:
    alike(lambda T: call(T, T.tensor(TIED)))


@pytest.mark.parametrize("name", ["amax", "amin", "median", "max", "min"])
def test_gradients_of_ties(name: str) -> None:
    def gradient(T: Any) -> Any:
        x = T.tensor(TIED[:2], requires_grad=True)
        getattr(x, name)().backward()
        return x.grad

    alike(gradient)


EMPTY = [(0,), (0, 3), (3, 0), (2, 0, 3)]


@pytest.mark.parametrize("shape", EMPTY, ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: x.sum(),
        lambda T, x: x.prod(),
        lambda T, x: x.mean(),
        lambda T, x: x.exp() * 2 + x,
        lambda T, x: x.reshape(-1).cumsum(0),
        lambda T, x: T.cat([x, x]),
        lambda T, x: x @ x.transpose(-1, -2) if x.ndim > 1 else x @ x,
        lambda T, x: x.softmax(-1),
        lambda T, x: x[x > 0],
        lambda T, x: x.sort(-1).values,
        lambda T, x: x.flip(0).contiguous(),
        lambda T, x: x.all(),
        lambda T, x: x.any(0),
        lambda T, x: T.unique(x),
        lambda T, x: x.nonzero(),
        lambda T, x: T.nn.functional.relu(x).sum(0),
    ],
)
def test_no_elements(call: Any, shape: tuple[int, ...]) -> None:
    alike(lambda T: call(T, T.zeros(shape)))


@pytest.mark.parametrize("name", ["max", "argmax", "amin"])
def test_no_elements_to_choose_from(name: str) -> None:
    torch, place = pytorch()
    for T, where in ((torch, place), (nb, "cuda")):
        with pytest.raises((RuntimeError, IndexError)):
            getattr(T.zeros(0, device=where), name)(*([0] if name == "amin" else []))


@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: x + 1,
        lambda T, x: x.sum(),
        lambda T, x: x.softmax(0),
        lambda T, x: x.max(),
        lambda T, x: x.max(0).values,
        lambda T, x: x.cumsum(0),
        lambda T, x: x[None],
        lambda T, x: x[...],
        lambda T, x: x.expand(3),
        lambda T, x: x.sort().values,
        lambda T, x: x.nonzero(),
        lambda T, x: x[T.tensor(True)],
        lambda T, x: x.reshape(1, 1) @ x.reshape(1, 1),
        lambda T, x: T.stack([x, x]),
        lambda T, x: x.unique(),
        lambda T, x: T.atleast_2d(x),
    ],
)
def test_zero_dimensions(call: Any) -> None:
    alike(lambda T: call(T, T.tensor(2.5)))


VIEWS = [
    lambda x: x.T,
    lambda x: x[::2, 1:],
    lambda x: x[:, ::3],
    lambda x: x[1],
    lambda x: x.diagonal(),
    lambda x: x[:1].expand(6, 6),
    lambda x: x.unfold(0, 3, 1)[..., 1],
    lambda x: x.as_strided((3, 3), (1, 6), 2),
    lambda x: x.reshape(2, 3, 6).permute(2, 0, 1),
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: x.exp() + x,
        lambda T, x: x.sum(0),
        lambda T, x: x.softmax(-1),
        lambda T, x: x.sort(-1).values,
        lambda T, x: x.contiguous(),
        lambda T, x: x.cumsum(-1),
        lambda T, x: x.flatten(),
        lambda T, x: x.float() @ x.float().transpose(-1, -2) if x.ndim > 1 else x @ x,
        lambda T, x: T.nn.functional.gelu(x),
        lambda T, x: x.std(0),
        lambda T, x: T.where(x > 0, x, -x),
    ],
)
def test_odd_memory(call: Any, view: Any) -> None:
    alike(lambda T: call(T, view(T.arange(36.0).reshape(6, 6).sin())), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("view", [v for i, v in enumerate(VIEWS) if i not in (5,)])
@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.mul_(2),
        lambda x: x.zero_(),
        lambda x: x.copy_(x + 1),
        lambda x: x.add_(x.clone(), alpha=3),
        lambda x: x.clamp_(-0.5, 0.5),
        lambda x: x.masked_fill_(x > 0, 7),
        lambda x: x.__setitem__(0, 9.0),
        lambda x: x.relu_(),
    ],
)
def test_writing_into_odd_memory(write: Any, view: Any) -> None:
    def written(T: Any) -> Any:
        base = T.arange(36.0).reshape(6, 6).sin()
        write(view(base))
        return base

    alike(written)


DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(DTYPES, repeat=2)), ids=str)
def test_promotion_and_casts(one: str, other: str) -> None:
    def call(T: Any) -> list[Any]:
        x = T.tensor([0, 1, 1, 3]).to(getattr(T, one))
        y = T.tensor([1, 2, 1, 1]).to(getattr(T, other))
        return [x + y, x * y, x / y, x == y, T.where(x == y, x, y), x.to(y.dtype)]

    alike(call, rtol=1e-3)


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "max", "cumsum", "sort", "any", "argmax", "bitwise_not", "dot"]
)
def test_dtypes(kind: str, name: str) -> None:
    torch, place = pytorch()

    def call(T: Any, where: str) -> Any:
        x = T.tensor([1, 0, 2, 1], device=where).to(getattr(T, kind))
        if name == "dot":
            return x.dot(x)
        result = getattr(x, name)(*([0] if name in ("cumsum", "sort") else []))
        return result[0] if isinstance(result, tuple) else result

    try:
        expected = call(torch, place)
    except (RuntimeError, NotImplementedError):
        if (kind, name) != ("bool", "argmax"):  # the positions of True
            with pytest.raises((RuntimeError, TypeError)):
                call(nb, "cuda")
        return
    ours = call(nb, "cuda")
    assert str(ours.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    np.testing.assert_allclose(host(ours), host(expected), rtol=1e-3)


def test_into_out() -> None:
    out = nb.empty(3, device="cuda")
    assert nb.exp(nb.zeros(3, device="cuda"), out=out) is out
    assert out.tolist() == [1.0, 1.0, 1.0]
    matrix = nb.empty(2, 2, device="cuda")
    nb.matmul(nb.eye(2, device="cuda"), nb.eye(2, device="cuda"), out=matrix)
    assert matrix.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(RuntimeError, match="device"):
        nb.exp(nb.zeros(3, device="cuda"), out=nb.empty(3))


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(
    "call",
    [
        lambda T, a: T.linalg.inv(a),
        lambda T, a: T.linalg.cholesky(a),
        lambda T, a: T.linalg.solve(a, a + 1),
        lambda T, a: T.linalg.det(a),
        lambda T, a: T.linalg.slogdet(a)[1],
        lambda T, a: T.linalg.eigvalsh(a),
        lambda T, a: T.linalg.svdvals(a),
        lambda T, a: T.linalg.qr(a)[1].abs(),
        lambda T, a: T.linalg.matrix_norm(a),
        lambda T, a: T.linalg.pinv(a),
        lambda T, a: T.linalg.matrix_power(a, 3),
        lambda T, a: T.fft.fft2(a),
        lambda T, a: T.stack([a, 2 * a]) @ T.stack([a, a]),
        lambda T, a: T.einsum("ij,kj->ik", a, a),
    ],
)
def test_matrices(call: Any, kind: str) -> None:
    def of(T: Any) -> Any:
        x = (T.arange(16, dtype=T.float64).reshape(4, 4) / 7).sin()
        return call(T, (x @ x.T + 3 * T.eye(4, dtype=x.dtype)).to(getattr(T, kind)))

    alike(of, rtol=2e-3 if kind != "float64" else 1e-8, atol=1e-4 if kind != "float64" else 1e-9)


@pytest.mark.parametrize(
    "call",
    [
        nb.linalg.inv,
        nb.linalg.cholesky,
        lambda a: nb.linalg.solve(a, a),
        lambda a: nb.linalg.cholesky(-nb.eye(3, device="cuda")),
        lambda a: nb.linalg.inv(nb.stack([nb.eye(3, device="cuda"), a])),
    ],
)
def test_singular_matrices_raise(call: Any) -> None:
    with pytest.raises(RuntimeError):
        call(nb.zeros(3, 3, device="cuda"))
    assert nb.linalg.det(nb.zeros(3, 3, device="cuda")).item() == 0  # and later calls work
    info = nb.linalg.cholesky_ex(nb.zeros(3, 3, device="cuda")).info
    assert info.item() > 0 and info.device.type == "cuda"


def test_long_sums_are_accurate() -> None:
    def sums(place: str, number: Any) -> Any:
        x = nb.tensor(number, device=place).expand(1 << 24).contiguous()
        return x.sum(), x.mean(), x.reshape(1 << 12, -1).sum(1)

    agree(sums, np.asarray(0.1, np.float32))
