"""Order and rank: sorting, the largest few, medians and quantiles, unique elements, searching sorted sequences."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from nbautograd.arrays import backend, dtypes
from nbautograd.arrays.size import dimension
from nbautograd.compiler.op import composite, op
from nbautograd.core.return_types import return_type
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import DtypeError
from nbautograd.ops._internal import reduced_shape
from nbautograd.ops.elementwise.arithmetic import lerp
from nbautograd.ops.elementwise.comparison import where
from nbautograd.ops.reduction.minmax import CHOSEN, check
from nbautograd.ops.reduction.scan import FROM_THERE, running

__all__ = [
    "argsort",
    "argwhere",
    "bucketize",
    "kthvalue",
    "median",
    "mode",
    "msort",
    "nanmedian",
    "nanquantile",
    "nonzero_static",
    "quantile",
    "searchsorted",
    "sort",
    "topk",
    "unique",
    "unique_consecutive",
]


# -- sorting ---------------------------------------------------------------------------------------------------------


def order(a: Any, d: int, descending: bool = False) -> Any:
    """The indices that sort an array along one dimension, equal elements in their order, nan the largest."""
    if not a.ndim:
        return np.zeros_like(a, np.int64)
    if not descending:
        return np.argsort(a, d, kind="stable")
    return a.shape[d] - 1 - np.flip(np.argsort(np.flip(a, d), d, kind="stable"), d)


def picked(a: Any, d: int, index: Any) -> tuple[Any, Any]:
    """The elements at ``index`` along a dimension, and the index."""
    return (np.take_along_axis(a, index, d) if a.ndim else a.reshape(index.shape)), index


@op(node="SortBackward0", symbol="sort", many=True, method=False, input=FROM_THERE)
def sort_over(input: Tensor, dim: int, descending: bool) -> Any:
    """The elements in order along a dimension, and where each was."""
    check("sort", input)
    d = dimension(dim, input.ndim)
    return picked(input, d, order(input, d, descending))


@composite(out=True)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along ``dim``, and where each was; equal ones keep their order, nan is the largest.

    :param stable: always so, whatever is given.
    :raises RuntimeError: the elements are complex.

    >>> import nbautograd as torch
    >>> torch.sort(torch.tensor([3., 1., 2.])).indices
    tensor([1, 2, 0])
    """
    return return_type("sort")(sort_over(input, dim, descending))


@op()
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort the elements along ``dim``; equal ones keep their order.

    >>> import nbautograd as torch
    >>> torch.argsort(torch.tensor([3., 1., 2.]), descending=True)
    tensor([0, 2, 1])
    """
    check("argsort", input)
    return order(input, dimension(dim, input.ndim), descending)


@composite(out=True)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension.

    >>> import nbautograd as torch
    >>> torch.msort(torch.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """
    values: Tensor = sort_over(input, 0, False)[0]
    return values


@op(node="TopkBackward0", symbol="top k", many=True, method=False, input=FROM_THERE)
def topk_over(input: Tensor, k: int, dim: int, largest: bool) -> Any:
    """The k largest or smallest elements along a dimension, in order, and where they are."""
    check("topk", input)
    d = dimension(dim, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(f"topk(): selected index k out of range: k is {k}, and there are {n} elements")
    ahead = (slice(None),) * d + (slice(0, k),)
    if not input.ndim:
        return picked(input, d, np.zeros_like(input, np.int64, shape=() if k else (0,)))
    if not 0 < k <= n // 8:
        return picked(input, d, order(input, d, largest)[ahead])
    few = np.argpartition(input, n - k if largest else k - 1, d)  # only these need to be sorted
    few = few[(slice(None),) * d + (slice(n - k, None),)] if largest else few[ahead]
    inside = order(np.take_along_axis(input, few, d), d, largest)
    return picked(input, d, np.take_along_axis(few, inside, d))


@composite(out=True)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The ``k`` largest elements along ``dim``, or the smallest, and where they are.

    :param sorted: they are in order in any case.
    :raises RuntimeError: there are less than k, or the elements are complex.

    >>> import nbautograd as torch
    >>> torch.topk(torch.tensor([3., 1., 2.]), 2).values
    tensor([3., 2.])
    """
    return return_type("topk")(topk_over(input, k, dim, largest))


# -- one by rank -----------------------------------------------------------------------------------------------------


def _one(a: Any, d: int, index: Any, keepdim: bool) -> tuple[Any, Any]:
    """The element at one index along a dimension, which ``index`` keeps with length 1."""
    values, index = picked(a, d, index)
    if keepdim or not a.ndim:
        return values, index
    shape = a.shape[:d] + a.shape[d + 1 :]
    return values.reshape(shape), index.reshape(shape)


@op(node="KthvalueBackward0", symbol="k-th", many=True, method=False, input=CHOSEN)
def kth_over(input: Tensor, k: int, dim: int, keepdim: bool) -> Any:
    """The k-th smallest element along a dimension, and where it is."""
    check("kthvalue", input)
    d = dimension(dim, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}: {k}, expected 1 to {n}")
    index = order(input, d)
    return _one(input, d, index[(slice(None),) * d + (slice(k - 1, k),)] if input.ndim else index, keepdim)


@composite(out=True)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The ``k``-th smallest element along ``dim``, counted from 1, and where it is.

    :raises RuntimeError: k is less than 1 or more than there are.

    >>> import nbautograd as torch
    >>> torch.kthvalue(torch.tensor([3., 1., 2.]), 2).values
    tensor(2.)
    """
    return return_type("kthvalue")(kth_over(input, k, dim, keepdim))


def _median_all(a: Any, skip_nan: bool) -> Any:
    """The lower median of all elements; nan if one is, or of the others."""
    check("median", a)
    if a.dtype.kind == "b":
        raise NotImplementedError("median(): not implemented for 'Bool'")
    if not a.size:
        return np.full_like(a, np.nan if a.dtype.kind == "f" else np.iinfo(a.dtype).min, shape=())
    flat = np.sort(a.reshape((-1,)))
    nans = (flat != flat).sum()
    k = (flat.shape[0] - 1 - (nans if skip_nan else 0)) // 2
    if skip_nan:
        return np.take(flat, np.maximum(k, 0))
    return np.where(nans > 0, flat[-1], flat[k])[()]


def _median_over(a: Any, dim: int, keepdim: bool, skip_nan: bool) -> Any:
    """The lower median along a dimension, and where it is."""
    d = dimension(dim, a.ndim)
    check("median", a, d)
    if a.dtype.kind == "b":
        raise NotImplementedError("median(): not implemented for 'Bool'")
    index, nan = order(a, d), a != a
    if a.ndim:
        count = nan.sum(d, None, None, True)
        k = np.maximum((a.shape[d] - 1 - (count if skip_nan else 0 * count)) // 2, 0)
        index = np.take_along_axis(index, k, d)
        if not skip_nan:
            index = np.where(count > 0, nan.argmax(d).reshape(count.shape), index)
    return _one(a, d, index, keepdim)


@op(node="MedianBackward0", symbol="median", method=False, input="g * ties(input, spread(result, input.shape), None)")
def median_all(input: Tensor) -> Tensor:
    """The lower median of all elements; equal ones share the gradient."""
    return _median_all(input, False)


@op(
    node="NanmedianBackward0", symbol="median", method=False, input="g * ties(input, spread(result, input.shape), None)"
)
def nanmedian_all(input: Tensor) -> Tensor:
    """The lower median of all elements that are not nan; equal ones share the gradient."""
    return _median_all(input, True)


@op(node="MedianBackward1", symbol="median", many=True, method=False, input=CHOSEN)
def median_over(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The lower median along a dimension, and where it is."""
    return _median_over(input, dim, keepdim, False)


@op(node="NanmedianBackward1", symbol="median", many=True, method=False, input=CHOSEN)
def nanmedian_over(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The lower median along a dimension of what is not nan, and where it is."""
    return _median_over(input, dim, keepdim, True)


@composite(out=True)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of all elements, of two in the middle the smaller; with ``dim``, along it, and where it is.

    >>> import nbautograd as torch
    >>> torch.median(torch.tensor([1., 4., 3., 2.]))
    tensor(2.)
    """
    if dim is None:
        return median_all(input)
    return return_type("median")(median_over(input, dim, keepdim))


@composite(out=True)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median, as :func:`median`, of the elements that are not nan.

    >>> import nbautograd as torch
    >>> torch.nanmedian(torch.tensor([1., float("nan"), 3., 2.]))
    tensor(2.)
    """
    if dim is None:
        return nanmedian_all(input)
    return return_type("nanmedian")(nanmedian_over(input, dim, keepdim))


@op(node="ModeBackward0", symbol="mode", many=True, method=False, input=CHOSEN)
def mode_over(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The most frequent element along a dimension, of several the smallest, and where it is last."""
    d = dimension(dim, input.ndim)
    check("mode", input, d)
    index = order(input, d)
    if input.ndim:
        a: Any = np.moveaxis(np.take_along_axis(input, index, d), d, -1)
        place = np.broadcast_to(np.arange(a.shape[-1], like=a), a.shape)
        first = np.ones_like(a, bool)
        first[..., 1:] = a[..., 1:] != a[..., :-1]
        so_far = place - running(np.maximum, np.where(first, place, 0), a.ndim - 1)
        longest = so_far.argmax(-1)  # the end of the first of the longest runs
        index = np.take_along_axis(index, longest.reshape(reduced_shape(input.shape, d)), d)
    return _one(input, d, index, keepdim)


@composite(out=True)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along ``dim``, of several the smallest, and where it is last.

    >>> import nbautograd as torch
    >>> torch.mode(torch.tensor([1., 2., 2., 3.])).values
    tensor(2.)
    """
    return return_type("mode")(mode_over(input, dim, keepdim))


# -- quantiles -------------------------------------------------------------------------------------------------------

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Tensor:
    """Quantiles by sorting: the elements on both sides of the rank q (n - 1), and what lies between."""
    if input._a.dtype not in (np.float32, np.float64):
        raise DtypeError(f"{name}() input tensor must be either float or double dtype, not {input.dtype!r}")
    if not input._a.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = wrap(backend.module(input.device).asarray(q, input._a.dtype))
    if q._a.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, but has {q._a.ndim} dimensions")
    if q._a.dtype != input._a.dtype:
        raise DtypeError(f"{name}() q tensor must be same dtype as the input tensor, {input.dtype!r}, not {q.dtype!r}")
    if bool(((q._a < 0) | (q._a > 1)).any()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    ndim = input._a.ndim
    d = 0 if dim is None else dimension(dim, ndim)
    x = input.reshape(-1) if dim is None or not ndim else input.movedim(d, -1)
    n = x._a.shape[-1]
    ranks = q.reshape(-1) * (n - 1)
    nan = x.isnan()
    if skip_nan:
        there = n - nan.sum(-1, keepdim=True)
        ranks = (q.reshape(-1) * (there - 1).to(q.dtype)).clamp(min=0)
    else:
        ranks = where(nan.any(-1, keepdim=True), float(n - 1), ranks)  # the last is nan
    ordered = sort_over(x, -1, False)[0]
    ranks = ranks.expand(*x._a.shape[:-1], ranks._a.shape[-1])
    if interpolation in ("linear", "midpoint"):
        below = ordered.gather(-1, ranks.floor().to(dtypes.int64))
        above = ordered.gather(-1, ranks.ceil().to(dtypes.int64))
        found = lerp(below, above, ranks - ranks.floor() if interpolation == "linear" else (ranks * 0 + 0.5))
    else:
        rank = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
        found = ordered.gather(-1, rank.to(dtypes.int64))
    if keepdim and ndim:
        found = found.reshape((1,) * ndim + (-1,)) if dim is None else found.unsqueeze(d)
    return found.squeeze(-1) if not q._a.ndim else found.movedim(-1, 0)


@composite(out=True)
def quantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The value below which a fraction ``q`` of the elements lies, of all or along ``dim``; nan if one is.

    :param q: in [0, 1]; a 1-d tensor gives a result with one more dimension, the first.
    :param interpolation: between the neighbours of a rank: linear, lower, higher, midpoint or nearest.
    :raises RuntimeError: the dtype is not float32 or float64, or an argument is not one of those.

    >>> import nbautograd as torch
    >>> torch.quantile(torch.tensor([1., 2., 3., 4.]), 0.25)
    tensor(1.7500)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(out=True)
def nanquantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """:func:`quantile` of the elements that are not nan.

    >>> import nbautograd as torch
    >>> torch.nanquantile(torch.tensor([1., float("nan"), 2.]), 0.5)
    tensor(1.5000)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# -- unique ----------------------------------------------------------------------------------------------------------


def not_implemented(name: str) -> NoReturn:
    """There is no gradient.

    :raises NotImplementedError: always.
    """
    raise NotImplementedError(f"the derivative for '{name}' is not implemented")


def _runs(rows: Any, places: Any) -> tuple[Any, Any, Any]:
    """Of elements, or rows, in order: which of them are first of their kind, which kind each is, how many of each.

    :param places: where each was before it was brought into order, or None.
    """
    n = rows.shape[0]
    first = np.ones_like(rows, bool, shape=(n,))
    if n:
        unlike = rows[1:] != rows[:-1]
        first[1:] = unlike.reshape(n - 1, -1).any(1) if n > 1 else unlike.reshape(-1)
    kind = first.cumsum() - 1
    starts = np.nonzero(first)[0]
    counts = np.diff(np.concatenate([starts, np.full_like(starts, n, shape=(1,))]))
    if places is not None:
        inverse = np.empty_like(kind)
        inverse[places] = kind
        kind = inverse
    return starts, kind, counts


def _rows(input: Any, dim: int | None, name: str) -> tuple[Any, int]:
    """The elements in a row, or the slices along a dimension as rows."""
    check(name, input)
    if dim is None:
        return input.reshape((-1,)), 0
    if not input.ndim:
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    d = dimension(dim, input.ndim)
    if 0 in input.shape[:d] + input.shape[d + 1 :] and input.shape[d]:
        raise RuntimeError(
            f"{name}(): There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    moved = np.moveaxis(input, d, 0)
    return moved.reshape((moved.shape[0], moved[:1].size if moved.shape[0] else 0)), d


@op(node="Unique2Backward0", symbol="unique", many=True, method=False, input="not_implemented('unique')")
def unique_over(input: Tensor, dim: int | None = None) -> Any:
    """The unique elements or slices in order, which of them each is, and how many of each there are."""
    rows, d = _rows(input, dim, "unique")
    if rows.ndim == 1:
        places = order(rows, 0)
    elif rows.shape[1]:
        places = np.lexsort(np.flip(rows, 1).T)
    else:
        places = np.arange(rows.shape[0], like=rows)
    starts, kind, counts = _runs(rows[places], places)
    values = rows[places[starts]] if dim is None else np.take(input, places[starts], d)
    return values, kind.reshape(input.shape) if dim is None else kind, counts


@op(
    node="UniqueConsecutiveBackward0",
    symbol="unique",
    many=True,
    method=False,
    input="not_implemented('unique_consecutive')",
)
def consecutive_over(input: Tensor, dim: int | None = None) -> Any:
    """The first of each run of equal elements or slices, which run each is in, and how long they are."""
    rows, d = _rows(input, dim, "unique_consecutive")
    starts, kind, counts = _runs(rows, None)
    values = rows[starts] if dim is None else np.take(input, starts, d)
    return values, kind.reshape(input.shape) if dim is None else kind, counts


def _wanted(found: Any, inverse: bool, counts: bool) -> Any:
    """The parts of the result that are asked for."""
    wanted = (found[0], *found[1:2] * inverse, *found[2:] * counts)
    return wanted if len(wanted) > 1 else wanted[0]


@composite()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The unique elements, or slices along ``dim``, in order; each nan is one of its own.

    :param sorted: they are in order in any case.
    :param return_inverse: also where each element of ``input`` is among them.
    :param return_counts: also how often each occurs.

    >>> import nbautograd as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _wanted(unique_over(input, dim), return_inverse, return_counts)


@composite()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along ``dim``, without those that equal the one before.

    :param return_inverse: also where each element of ``input`` is among them.
    :param return_counts: also how long each run is.

    >>> import nbautograd as torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _wanted(consecutive_over(input, dim), return_inverse, return_counts)


# -- searching -------------------------------------------------------------------------------------------------------


@op(method=False)
def search(sequence: Tensor, values: Tensor, right: bool, sorter: Tensor | None) -> Tensor:
    """Where each value is to be put into a sorted sequence; each row of several sequences has its own values."""
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    n = sequence.shape[-1]
    if sequence.ndim == 1:
        found = np.searchsorted(sequence, values, "right" if right else "left")
    else:
        # In a stable order of both together, a value's place less the values before it counts what comes before.
        m = values.shape[-1]
        both = np.concatenate([sequence, values] if right else [values, sequence], -1)
        places = np.argsort(both, -1, kind="stable")
        is_value = places >= n if right else places < m
        counted = np.arange(n + m, like=places) - (is_value.cumsum(-1) - 1)
        found = np.empty_like(values, np.int64)
        index = np.nonzero(is_value)
        found[(*index[:-1], (places - n if right else places)[index])] = counted[index]
    return np.where(values != values, n, found)  # a nan is beyond everything, a nan too


def _searched(name: str, sequence: Tensor, values: Any, out_int32: bool, right: bool, sorter: Any) -> Tensor:
    if not isinstance(values, Tensor):
        if sequence._a.ndim != 1:
            raise RuntimeError(
                f"{name}(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
                f"boundaries tensor dim({sequence._a.ndim})"
            )
        values = wrap(backend.module(sequence.device).asarray(values))
    a, b = sequence._a, values._a
    if not a.ndim:
        raise RuntimeError(f"{name}(): boundaries tensor should have positive dimension, but got 0 dimension")
    if a.ndim > 1 and (a.ndim != b.ndim or a.shape[:-1] != b.shape[:-1]):
        raise RuntimeError(
            f"{name}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(a.shape)} and input value tensor "
            f"{list(b.shape)}"
        )
    if sorter is not None and sorter._a.shape != a.shape:
        raise RuntimeError(
            f"{name}(): boundary and sorter must have the same size, but got boundary tensor {list(a.shape)} and got "
            f"sorter tensor {list(sorter._a.shape)}"
        )
    if sorter is not None and sorter._a.dtype != np.int64:
        raise RuntimeError(f"{name}(): sorter must be a tensor of long dtype but got dtype {sorter.dtype!r}")
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input, which has no order")
    found = search(sequence.detach(), values.detach(), right, sorter)
    return found.to(dtypes.int32) if out_int32 else found


@composite(method=False, out=True)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """The indices at which the values have to be put into a sorted sequence to keep it sorted.

    :param sorted_sequence: 1-d, or as many sequences as ``input`` has rows.
    :param right: behind equal elements, not before them; the same as ``side="right"``.
    :param sorter: the indices that sort the sequence if it is not sorted.
    :param out_int32: give int32, not int64.
    :raises RuntimeError: the shapes do not fit, or right and side contradict each other.

    >>> import nbautograd as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("searchsorted(): side and right can't be set to opposites, got side of left, right was True")
    return _searched("searchsorted", sorted_sequence, input, out_int32, right or side == "right", sorter)


@composite(method=False, out=True)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The index of the bucket that each value belongs to: how many boundaries are below it.

    :param right: buckets contain their left boundary, not their right one.

    >>> import nbautograd as torch
    >>> torch.bucketize(torch.tensor([3, 6, 9]), torch.tensor([1, 3, 5, 7, 9]))
    tensor([1, 3, 4])
    """
    if boundaries._a.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries._a.ndim})")
    return _searched("bucketize", boundaries, input, out_int32, right, None)


# -- where elements are not zero -------------------------------------------------------------------------------------


@op()
def argwhere(input: Tensor) -> Tensor:
    """The indices of the nonzero elements, a row for each.

    >>> import nbautograd as torch
    >>> torch.argwhere(torch.tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """
    if not input.ndim:
        return np.zeros_like(input, np.int64, shape=(int(input != 0), 0))
    return np.stack(np.nonzero(input), 1)


@composite()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the first ``size`` nonzero elements, a row for each; ``fill_value`` if there are less.

    :raises RuntimeError: size is negative.

    >>> import nbautograd as torch
    >>> torch.nonzero_static(torch.tensor([0, 5, 7]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, not {size}")
    found = argwhere(input.detach())._a[:size]
    whole = np.full_like(found, fill_value, shape=(size, input._a.ndim))
    whole[: found.shape[0]] = found
    return wrap(whole)
