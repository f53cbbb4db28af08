"""Check the memory layout of results: strides as PyTorch's, so that ``view`` takes the same shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.ops.cases import CASES
from tests.engine.ops.cases.case import Case, case
from tests.oracle.answers import plain

Layout = Callable[[Any, Any, int], Any]
"""Lays out an input, given the library, the input and its number."""
Strides = tuple[int | None, ...]


def permuted(x: Any, order: tuple[int, ...]) -> Any:
    """Return the same values in memory by another order of dimensions."""
    back = sorted(range(len(order)), key=order.__getitem__)
    return x.permute(order).contiguous().permute(back)


def reversed_order(x: Any) -> Any:
    return permuted(x, tuple(range(x.ndim))[::-1])


def channels_last(library: Any, x: Any) -> Any:
    formats = {4: library.channels_last, 5: library.channels_last_3d}
    return x.contiguous(memory_format=formats[x.ndim]) if x.ndim in formats else x


LAYOUTS: dict[str, Layout] = {
    "contiguous": lambda library, x, number: x,
    "transposed": lambda library, x, number: permuted(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)),
    "reversed": lambda library, x, number: reversed_order(x),
    "first dimension last": lambda library, x, number: permuted(x, (*range(1, x.ndim), 0)),
    "channels last": lambda library, x, number: channels_last(library, x),
    "expanded": lambda library, x, number: x[:1].expand(x.shape),
    "sliced": lambda library, x, number: library.cat([x, x], -1)[..., : x.shape[-1]],
    "first input reversed": lambda library, x, number: x if number else reversed_order(x),
    "other inputs reversed": lambda library, x, number: reversed_order(x) if number else x,
}


def row(T: Any, *places: int) -> Any:
    return T.tensor(places)


MORE = [
    case("softmax images", lambda T, x: T.softmax(x, 1), (2, 3, 2, 4)),
    case("log_softmax images", lambda T, x: T.log_softmax(x, 1), (2, 3, 2, 4)),
    case("softmax 3d", lambda T, x: T.softmax(x, 1), (2, 3, 4)),
    case("layer_norm images", lambda T, x: T.nn.functional.layer_norm(x, (4,)), (2, 3, 2, 4)),
    case("group_norm images", lambda T, x: T.nn.functional.group_norm(x, 3), (2, 3, 2, 4)),
    case("batch_norm images", lambda T, x: T.nn.functional.batch_norm(x, None, None, training=True), (2, 3, 2, 4)),
    case("batch_norm 3d", lambda T, x: T.nn.functional.batch_norm(x, None, None, training=True), (2, 3, 4)),
    case(
        "batch_norm running images",
        lambda T, x: T.nn.functional.batch_norm(x, T.zeros(3, dtype=x.dtype), T.ones(3, dtype=x.dtype)),
        (2, 3, 2, 4),
    ),
    case("instance_norm images", lambda T, x: T.nn.functional.instance_norm(x), (2, 3, 2, 4)),
    case("cat images", lambda T, x, y: T.cat([x, y], 1), (2, 3, 2, 4), (2, 2, 2, 4)),
    case("cat images and contiguous", lambda T, x: T.cat([x, x.contiguous()], 1), (2, 3, 2, 4)),
    case("cat 3d", lambda T, x: T.cat([x, x], 1), (2, 3, 4)),
    case("stack images", lambda T, x: T.stack([x, x]), (2, 3, 2, 4)),
    case("stack images inside", lambda T, x: T.stack([x, x], 2), (2, 3, 2, 4)),
    case("cumsum images", lambda T, x: T.cumsum(x, 1), (2, 3, 2, 4)),
    case("roll images", lambda T, x: T.roll(x, 1, 1), (2, 3, 2, 4)),
    case("tril images", lambda T, x: T.tril(x), (2, 3, 2, 4)),
    case("pad images", lambda T, x: T.nn.functional.pad(x, (1, 1)), (2, 3, 2, 4)),
    case("cross images", lambda T, x: T.cross(x, x, 1), (2, 3, 2, 4)),
    case("where images", lambda T, x: T.where(x > 0, x, 0), (2, 3, 2, 4)),
    case("masked_fill images", lambda T, x: x.masked_fill(x > 0, 0), (2, 3, 2, 4)),
    case("clone images", lambda T, x: x.clone(), (2, 3, 2, 4)),
    case("half and back", lambda T, x: x.half().double(), (2, 3, 4)),
    case("lerp 3d", lambda T, x, y: T.lerp(x, y, 0.5), (2, 3, 4), (2, 3, 4)),
    case("topk within", lambda T, x: T.topk(x, 2, 1), (2, 3, 4)),
    case("topk rows", lambda T, x: T.topk(x, 2), (2, 3, 4)),
    case("topk of many", lambda T, x: T.topk(x, 1, 0), (9, 4)),
    case("sort 3d", lambda T, x: T.sort(x, 1), (2, 3, 4)),
    case("argsort 3d", lambda T, x: T.argsort(x, 1), (2, 3, 4)),
    case("sum 3d", lambda T, x: x.sum(1), (2, 3, 4)),
    case("sum 3d kept", lambda T, x: x.sum(0, keepdim=True), (2, 3, 4)),
    case("sum large", lambda T, x: x.sum(1), (20, 70, 30)),
    case("mean 3d", lambda T, x: x.mean(2), (2, 3, 4)),
    case("nansum 3d", lambda T, x: x.nansum(1), (2, 3, 4)),
    case("amax 3d", lambda T, x: x.amax(1), (2, 3, 4)),
    case("aminmax 3d", lambda T, x: x.aminmax(dim=1), (2, 3, 4)),
    case("max 3d", lambda T, x: x.max(1), (2, 3, 4)),
    case("argmax 3d", lambda T, x: x.argmax(1), (2, 3, 4)),
    case("median 3d", lambda T, x: x.median(1), (2, 3, 4)),
    case("prod 3d", lambda T, x: x.prod(1), (2, 3, 4)),
    case("logsumexp 3d", lambda T, x: x.logsumexp(1), (2, 3, 4)),
    case("std 3d", lambda T, x: x.std(1), (2, 3, 4)),
    case("var_mean 3d", lambda T, x: T.var_mean(x, 0), (2, 3, 4)),
    case("norm 3d", lambda T, x: x.norm(dim=1), (2, 3, 4)),
    case("norm inf 3d", lambda T, x: T.linalg.vector_norm(x, float("inf"), 1), (2, 3, 4)),
    case("all 3d", lambda T, x: (x > 0).all(1), (2, 3, 4)),
    case("count_nonzero 3d", lambda T, x: x.count_nonzero(1), (2, 3, 4)),
    case("gather by a transposed index", lambda T, x: x.gather(0, T.zeros(2, 3, dtype=T.int64).t()), (3, 4)),
    case("take by a transposed index", lambda T, x: x.take(T.zeros(2, 3, dtype=T.int64).t()), (3, 4)),
    case("index first", lambda T, x: x[row(T, 1, 0, 1)], (2, 3, 4)),
    case("index within", lambda T, x: x[:, row(T, 2, 0)], (2, 3, 4)),
    case("index last", lambda T, x: x[..., row(T, 2, 0)], (2, 3, 4)),
    case("index by a matrix", lambda T, x: x[:, T.tensor([[2, 0], [1, 1]])], (2, 3, 4)),
    case("index two", lambda T, x: x[:, row(T, 2, 0), row(T, 1, 3)], (2, 3, 4)),
    case("index two apart", lambda T, x: x[row(T, 1, 0), :, row(T, 1, 3)], (2, 3, 4)),
    case("index a mask within", lambda T, x: x[:, T.tensor([True, False, True])], (2, 3, 4)),
    case("index a mask of two", lambda T, x: x[:, T.ones(3, 4) > 0], (2, 3, 4)),
    case("index images", lambda T, x: x[:, row(T, 2, 0)], (2, 3, 2, 4)),
    case("index_select images", lambda T, x: x.index_select(1, row(T, 2, 0)), (2, 3, 2, 4)),
    case("matmul 3d", lambda T, x: x @ x.mT, (2, 3, 4)),
    case("einsum 2d", lambda T, x: T.einsum("ij,kj->ik", x, x), (3, 4)),
    case("linear images", lambda T, x, w: T.nn.functional.linear(x, w), (2, 3, 2, 4), (5, 4)),
    case("prelu images", lambda T, x, w: T.nn.functional.prelu(x, w), (2, 3, 2, 4), (3,)),
    case("glu images", lambda T, x: T.nn.functional.glu(x), (2, 3, 2, 4)),
    case("repeat 3d", lambda T, x: x.repeat(1, 2, 1), (2, 3, 4)),
    case("tile 3d", lambda T, x: x.tile(2), (2, 3, 4)),
    case("view_copy 3d", lambda T, x: T.view_copy(x, (6, 4)), (2, 3, 4)),
    case("rot90 thrice", lambda T, x: T.rot90(x, 3, (0, 2)), (2, 3, 4)),
    case("rot90 twice", lambda T, x: T.rot90(x, 2, (0, 2)), (2, 3, 4)),
]
"""Operations whose layout depends on more dimensions than the tables' cases have, or on the memory format."""

COLUMNS = "LAPACK's functions write columns; our results are contiguous"
INNER = "a Fourier transform along another dimension than the last: ours is contiguous where the operand is"
CONTIGUOUS_THERE = "PyTorch's kernel takes a contiguous copy first; ours keeps the order, as elementwise functions do"
FIRST = "PyTorch's result lies as the first operand that is not broadcast; NumPy's is contiguous where operands differ"
IMAGES = "PyTorch's result has the channels last, as the operand; ours is contiguous"
PRODUCTS = "einsum ends with a permutation; of an outer product PyTorch exchanges the operands instead"
SINGULAR = {"linalg.slogdet", "logdet", "slogdet both"}
"""Cases whose gradient fails here for the singular matrix that an expanded row is, or fails by its last digit."""

EXPECTED: dict[str, str] = {
    **dict.fromkeys(
        (
            "cholesky_inverse", "cholesky_inverse upper", "cholesky_solve", "inverse", "linalg.cholesky",
            "linalg.cholesky upper batch", "linalg.cholesky_ex", "linalg.eig", "linalg.householder_product",
            "linalg.inv", "linalg.lstsq", "linalg.lu_factor", "linalg.lu_solve", "linalg.qr Q alone",
            "linalg.qr R alone", "linalg.qr complete square", "linalg.solve", "linalg.solve_ex",
            "linalg.solve_triangular", "linalg.svd U", "linalg.tensorinv", "ormqr", "torch.cholesky",
        ),
        COLUMNS,
    ),
    **dict.fromkeys(
        (
            "fft.irfft n=2 dim=0 norm=ortho of [4, 3]", "fft.irfft n=5 dim=0 norm=ortho of [4, 3]",
            "fft.hfft n=2 dim=0 norm=ortho of [4, 3]", "fft.hfft n=5 dim=0 norm=ortho of [4, 3]",
            "fft.irfftn of [2, 3, 4]", "fft.hfftn of [2, 3, 4]",
            "fft.irfftn s=(3, 3) dim=(2, 0) norm=forward of [2, 3, 4]",
            "fft.hfftn s=(3, 3) dim=(2, 0) norm=forward of [2, 3, 4]",
        ),
        INNER,
    ),
    "F.logsigmoid": CONTIGUOUS_THERE,
    **dict.fromkeys(
        (
            "addcdiv", "addcmul", "addr", "clamp between tensors that bind", "lerp", "lerp 3d", "lerp tensor", "polar",
            "sub", "F.binary_cross_entropy none", "F.binary_cross_entropy_with_logits none", "F.huber_loss none",
            "F.l1_loss none", "F.local_response_norm", "F.local_response_norm 4d", "F.mse_loss none",
            "F.smooth_l1_loss none", "F.soft_margin_loss none",
        ),
        FIRST,
    ),
    **dict.fromkeys(("F.conv1d", "F.lp_pool1d"), IMAGES),
}  # fmt: skip
"""Cases with another order in memory than in PyTorch, in one layout at least, and why."""


def strides_of(t: Any) -> Strides | None:
    """Return the strides with a meaning: those of dimensions with more than one element."""
    if t is None or str(t.layout) != "torch.strided":
        return None
    return tuple(s for n, s in zip(t.shape, t.stride(), strict=True) if n != 1) if t.numel() > 1 else ()


def tensors_in(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from tensors_in(part)
    elif hasattr(result, "stride"):
        yield result


Places = list[list[Any]]
"""The strides of results, and of the gradients that the inputs get; and which results are contiguous."""


def places(library: Any, case: Case, layout: Layout) -> Places:
    """Return the memory layout of the results of a case."""
    library.manual_seed(0)
    inputs = [library.tensor(a) for a in case.arrays()]
    inputs = [layout(library, x, number) if x.ndim > 1 else x for number, x in enumerate(inputs)]
    inputs = [x.detach().requires_grad_() for x in inputs]
    results = list(tensors_in(case.call(library, *inputs)))
    total = sum((t.abs() if t.is_complex() else t).sum() for t in results if t.requires_grad)
    if isinstance(total, library.Tensor):
        total.backward()
    contiguous = [strides_of(t) is None or t.is_contiguous() for t in results]
    return [[strides_of(t) for t in results], [strides_of(x.grad) for x in inputs], contiguous]


def in_layout(layout: str) -> Iterator[Case]:
    """The cases that may be in a layout."""
    least = {"contiguous": 0, "channels last": 4}.get(layout, 2)
    return (each for each in [*CASES, *MORE] if max((a.ndim for a in each.arrays()), default=0) >= least)


def all_places(T: Any, layout: str) -> list[Places | None]:
    """Return the memory layouts of the results of all cases; None if PyTorch lacks one, or a layout does not suit
    it.
    """
    found: list[Places | None] = []
    for each in in_layout(layout):
        try:
            found.append(places(T, each, LAYOUTS[layout]))
        except (RuntimeError, IndexError, NotImplementedError):
            found.append(None)
    return found


@cache
def differing(name: str) -> tuple[int, dict[str, tuple[Places, Places]]]:
    """Return the number of compared cases in a layout, and those that differ, with both results."""
    compared, output = 0, {}
    for each, theirs in zip(in_layout(name), oracle.shared(name, all_places, name), strict=True):
        if theirs is None or name == "expanded" and each.name in SINGULAR:
            continue
        compared += 1
        ours = plain(places(nb, each, LAYOUTS[name]))
        if ours != theirs:
            output[each.name] = ours, theirs
    return compared, output


@pytest.mark.sweep
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.filterwarnings("ignore")
def test_results_and_gradients_lie_as_in_pytorch(layout: str) -> None:
    compared, differ = differing(layout)
    assert {name: both for name, both in differ.items() if name not in EXPECTED} == {}
    for name, (ours, theirs) in differ.items():
        as_good = all(mine or not other for mine, other in zip(ours[2], theirs[2], strict=True))
        assert as_good or EXPECTED[name] in (CONTIGUOUS_THERE, PRODUCTS), f"{name}: view() would take PyTorch's only"
    assert compared > (60 if layout == "channels last" else 600)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_what_is_expected_to_differ_does() -> None:
    differ = set().union(*(differing(layout)[1] for layout in LAYOUTS))
    assert EXPECTED.keys() - differ == set()
