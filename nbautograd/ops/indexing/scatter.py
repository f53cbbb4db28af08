"""Writing elements and slices to places given by indices, in a copy: replacing, adding up, reducing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd.arrays import backend, dtypes, strides as stride_tools
from nbautograd.arrays.size import dimension, sizes
from nbautograd.arrays.strides import Geometry, restride
from nbautograd.compiler.derivative_helper import derivative_helper
from nbautograd.compiler.op import NATIVE, composite, op
from nbautograd.core.tensor import Tensor
from nbautograd.errors import SCALAR_TYPES, kind_of
from nbautograd.ops.indexing.gather import (
    along,
    at_slices,
    check_along,
    check_vector,
    numpy_dtype,  # noqa: F401 - a formula names it
)
from nbautograd.ops.indexing.indexing import number_as, own
from nbautograd.ops.queries import Number
from nbautograd.ops.shape.as_strided import check_inside
from nbautograd.ops.shape.broadcasting import expand
from nbautograd.ops.shape.slicing import as_strided_back, on_diagonal, part, stretch  # noqa: F401 - a formula names the first

__all__ = [
    "as_strided_scatter",
    "diagonal_scatter",
    "index_add",
    "index_copy",
    "index_fill",
    "index_reduce",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "select_scatter",
    "slice_scatter",
]


# -- one place for each element --------------------------------------------------------------------------------------


def _scattered(
    name: str, input: Any, dim: int, index: Any, src: Any, write: Callable[[Any, Any, Any], Any], check: bool = True
) -> Any:
    """A copy of ``input`` to which ``write(copy, key, values)`` has written; a number for ``src`` stands for all."""
    shape = getattr(src, "shape", None) if hasattr(src, "ndim") and src.ndim else None
    d = check_along(name, input, dim, index, shape) if check else dimension(dim, input.ndim)
    found = own(input)
    if not index.size:
        return found
    if index.ndim == 0:
        index = index.reshape((1,))
    if hasattr(src, "dtype"):
        src = src.reshape((1,)) if src.ndim == 0 else src[tuple(slice(n) for n in index.shape)]
    line = found.reshape((1,)) if found.ndim == 0 else found
    written = write(line, along(index, d), src)
    return (line if written is None else written).reshape(input.shape)


def _replace(found: Any, key: Any, values: Any) -> None:
    found[key] = values


def _same_dtype(name: str, input: Any, src: Any) -> None:
    if src.dtype != input.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, got {dtypes.of(input.dtype)!r} and "
            f"{dtypes.of(src.dtype)!r}"
        )


@op(
    node="ScatterBackward0",
    symbol="scatter",
    method=False,
    half=NATIVE,
    input="zero_along(g, dim, index)",
    src="pad_like(gather(g, dim, index), src.shape)",
)
def scatter_src(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``out[index[i][j]][j] = src[i][j]`` for ``dim=0`` in a copy of ``input``."""
    _same_dtype("scatter", input, src)
    return _scattered("scatter", input, dim, index, src, _replace)


@op(node="ScatterBackward1", symbol="scatter", method=False, half=NATIVE, input="zero_along(g, dim, index)")
def scatter_value(input: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """The same with one number for all."""
    return _scattered("scatter", input, dim, index, value, _replace)


@op(node="ScatterBackward1", symbol="scatter", method=False, half=NATIVE, input="zero_along(g, dim, index)")
def zero_along(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """A copy of ``input`` with zeros where ``scatter`` writes."""
    return _scattered("scatter", input, dim, index, 0, _replace, check=False)


@op(
    node="ScatterAddBackward0",
    symbol="scatter +",
    inplace_method=True,
    out=True,
    input="g",
    src="pad_like(gather(g, dim, index), src.shape)",
)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``out[index[i][j]][j] += src[i][j]`` for ``dim=0``, and the like for other dimensions, in a copy.

    :raises RuntimeError: an index is out of bounds, a shape too large, or a dtype differs.

    >>> import nbautograd as torch
    >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3))
    tensor([2., 0., 1.])
    """
    _same_dtype("scatter_add", input, src)
    return _scattered("scatter_add", input, dim, index, src, backend.add_at)


@composite(inplace_method=True, out=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """``out[index[i][j]][j] = src[i][j]`` for ``dim=0``, and the like for other dimensions, in a copy.

    :param src: a tensor at least as large as ``index``, or a number (also as ``value``).
    :param reduce: ``"add"`` or ``"multiply"`` instead of replacing.
    :raises RuntimeError: an index is out of bounds, a shape too large, or a dtype differs.

    >>> import nbautograd as torch
    >>> torch.zeros(2, 3).scatter(1, torch.tensor([[2], [0]]), 5.)
    tensor([[0., 0., 5.],
            [5., 0., 0.]])
    """
    given = src if value is None else value
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}")
    if not isinstance(index, Tensor):
        raise TypeError(f"scatter(): argument 'index' (position 3) must be Tensor, not {kind_of(index)}")
    if given is None:
        raise TypeError("scatter(): one of the arguments 'src' and 'value' must be given")
    if reduce is None:
        return (
            scatter_src(input, dim, index, given)
            if isinstance(given, Tensor)
            else scatter_value(input, dim, index, given)
        )
    if not isinstance(given, Tensor):
        given = expand(number_as(given, input.dtype, input.device), *index._a.shape)
    elif given.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if reduce == "add":
        return scatter_add(input, dim, index, given)
    return scatter_prod(input, dim, index, given, True)


# -- reducing --------------------------------------------------------------------------------------------------------


def _accumulate(ufunc: np.ufunc, found: Any, key: tuple[Any, ...], values: Any) -> None:
    """``found[key] = ufunc(found[key], values)``, one after the other where an element is named more than once."""
    if found.__class__ is np.ndarray:
        ufunc.at(found, key, values)
        return
    # CuPy has few atomic functions: do all first visits of a place at once, then all second ones, and so on.
    strides = stride_tools.contiguous(found.shape)
    where = sum(np.broadcast_to(k, values.shape) * s for k, s in zip(key, strides, strict=True)).reshape((-1,))
    order = np.argsort(where, kind="stable")
    where, values = where[order], values.reshape((-1,))[order]
    turn = np.arange(where.size, like=where)
    turn = turn - np.searchsorted(where, where, "left")
    line = found.reshape((-1,))
    for visit in range(int(turn.max()) + 1 if where.size else 0):
        now = turn == visit
        line[where[now]] = ufunc(line[where[now]], values[now])
    found[...] = line.reshape(found.shape)


def _neutral(dtype: np.dtype[Any], kind: str) -> Any:
    """The value that a reduction begins with."""
    if kind in ("sum", "mean"):
        return 0
    if kind == "prod":
        return 1
    low = kind == "amax"
    if dtype.kind == "f" or dtype.kind == "V":
        return -np.inf if low else np.inf
    if dtype.kind == "b":
        return not low
    limits = np.iinfo(dtype)
    return limits.min if low else limits.max


def reduced_at(kind: str, found: Any, key: tuple[Any, ...], values: Any, include_self: bool) -> Any:
    """``values`` reduced into an array at ``key``; returns it, since the mean is a new one."""
    if not include_self:
        found[key] = _neutral(found.dtype, kind)
    if kind in ("sum", "mean"):
        backend.add_at(found, key, values)
    else:
        _accumulate({"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[kind], found, key, values)
    if kind != "mean":
        return found
    count = _counts(found, key, values.shape, include_self)
    return found / count.astype(found.dtype) if found.dtype.kind in "fcV" else found // count.astype(found.dtype)


def _counts(like: Any, key: tuple[Any, ...], shape: tuple[int, ...], include_self: bool) -> Any:
    """How many values the mean at each place is of; 1 where nothing was written."""
    count = np.zeros_like(like, np.int64, shape=like.shape)
    backend.add_at(count, key, np.ones_like(count, shape=shape))
    return count + 1 if include_self else np.maximum(count, 1)


@op(method=False)
def scatter_counts(input: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """For each element of ``input``, how many values its mean is of."""
    found: list[Any] = []

    def count(line: Any, key: Any, values: Any) -> Any:
        found.append(_counts(line, key, index.shape or (1,), include_self).astype(line.dtype))
        return found[0]

    counted = _scattered("scatter", input, dim, index, 0, count, check=False)
    return counted if found else np.ones_like(input)


@op(method=False)
def equal_to(input: Tensor, other: Tensor) -> Tensor:
    """1 where two tensors are equal, 0 elsewhere, in their dtype."""
    return (input == other).astype(input.dtype)


@op(method=False)
def is_zero(input: Tensor) -> Tensor:
    """1 where the tensor is 0, 0 elsewhere, in its dtype."""
    return (input == 0).astype(input.dtype)


SUM = {
    "input": "g if include_self else zero_along(g, dim, index)",
    "src": "pad_like(gather(g, dim, index), src.shape)",
}


@op(node="ScatterReduceBackward0", symbol="scatter Σ", method=False, **SUM)
def scatter_sum(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """The sum of what is scattered to each place."""
    return _reduced("sum", input, dim, index, src, include_self)


def _reduced(kind: str, input: Any, dim: int, index: Any, src: Any, include_self: bool) -> Any:
    return _scattered(
        "scatter", input, dim, index, src, lambda line, key, values: reduced_at(kind, line, key, values, include_self)
    )


MEAN = {
    "input": "(g if include_self else zero_along(g, dim, index)) / scatter_counts(g, dim, index, include_self)",
    "src": "pad_like(gather(g / scatter_counts(g, dim, index, include_self), dim, index), src.shape)",
}


@op(node="ScatterReduceBackward0", symbol="scatter mean", method=False, **MEAN)
def scatter_mean(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """The mean of what is scattered to each place."""
    return _reduced("mean", input, dim, index, src, include_self)


PROD = {
    "input": "prod_back(g, input, dim, index, src, include_self)[0]",
    "src": "prod_back(g, input, dim, index, src, include_self)[1]",
}


@derivative_helper
def prod_back(g: Any, input: Any, dim: int, index: Any, src: Any, include_self: bool) -> Any:
    """The gradient of products: for each factor the product of the others, which one zero among them makes 0."""
    zero_input, zero_src = is_zero(input), is_zero(src)
    factor_input, factor_src = masked_fill(input, input == 0, 1), masked_fill(src, src == 0, 1)  # type: ignore[name-defined]  # noqa: F821
    product = scatter_prod(factor_input, dim, index, factor_src, include_self)
    zeros = scatter_sum(zero_input, dim, index, zero_src, include_self)
    for_input = g * conj(product / factor_input) * equal_to(zeros, zero_input)  # type: ignore[name-defined]  # noqa: F821
    if not include_self:
        for_input = zero_along(for_input, dim, index)
    cropped, zero_cropped = crop_like(factor_src, index.shape), crop_like(zero_src, index.shape)  # type: ignore[name-defined]  # noqa: F821
    others = conj(gather(product, dim, index) / cropped)  # type: ignore[name-defined]  # noqa: F821
    for_src = gather(g, dim, index) * others * equal_to(gather(zeros, dim, index), zero_cropped)  # type: ignore[name-defined]  # noqa: F821
    return for_input, pad_like(for_src, src.shape)  # type: ignore[name-defined]  # noqa: F821


@op(node="ScatterReduceBackward0", symbol="scatter Π", method=False, **PROD)
def scatter_prod(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """The product of what is scattered to each place."""
    return _reduced("prod", input, dim, index, src, include_self)


EXTREME = {
    "input": "extreme_back(g, input, dim, index, src, result, include_self)[0]",
    "src": "extreme_back(g, input, dim, index, src, result, include_self)[1]",
}


@derivative_helper
def extreme_back(g: Any, input: Any, dim: int, index: Any, src: Any, result: Any, include_self: bool) -> Any:
    """The gradient of the largest or smallest: in equal parts to all that equal it."""
    chosen_input = equal_to(input, result)
    chosen_src = equal_to(crop_like(src, index.shape), gather(result, dim, index))  # type: ignore[name-defined]  # noqa: F821
    share = g / scatter_sum(chosen_input, dim, index, chosen_src, True)
    for_input = chosen_input * share
    if not include_self:
        for_input = zero_along(for_input, dim, index)
    return for_input, pad_like(chosen_src * gather(share, dim, index), src.shape)  # type: ignore[name-defined]  # noqa: F821


@op(node="ScatterReduceBackward0", symbol="scatter max", method=False, **EXTREME)
def scatter_amax(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """The largest of what is scattered to each place."""
    return _reduced("amax", input, dim, index, src, include_self)


@op(node="ScatterReduceBackward0", symbol="scatter min", method=False, **EXTREME)
def scatter_amin(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """The smallest of what is scattered to each place."""
    return _reduced("amin", input, dim, index, src, include_self)


REDUCTIONS = {
    "sum": scatter_sum,
    "prod": scatter_prod,
    "mean": scatter_mean,
    "amax": scatter_amax,
    "amin": scatter_amin,
}


@composite(inplace_method=True, out=True)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """The sum, product, mean, largest or smallest of the elements of ``src`` that go to each place, in a copy.

    :param reduce: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
    :param include_self: whether what is there counts too.
    :raises RuntimeError: an index is out of bounds, a shape too large, a dtype differs, or ``reduce`` is another.

    >>> import nbautograd as torch
    >>> torch.ones(2).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.tensor([2., 3., 4.]), "prod")
    tensor([6., 4.])
    """
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not isinstance(src, Tensor) or not isinstance(index, Tensor):
        raise TypeError(f"scatter_reduce(): arguments 'index' and 'src' must be Tensor, not {kind_of(src)}")
    if src.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if input.is_complex() and reduce in ("amax", "amin"):
        raise RuntimeError(f"scatter_reduce(): {reduce} is not supported for complex tensors")
    return REDUCTIONS[reduce](input, dim, index, src, include_self)


# -- slices ----------------------------------------------------------------------------------------------------------


def _check_slices(
    name: str, input: Any, dim: int, index: Any, source: Any, error: type[Exception] = RuntimeError
) -> int:
    """The dimension, once slices and their indices are known to fit."""
    if source.dtype != input.dtype:
        left, right = (SCALAR_TYPES[dtypes.of(a.dtype).name] for a in (input, source))
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype: self ({left}) and source ({right}) must have "
            "the same scalar type"
        )
    d = check_vector(name, input, dim, index, error)
    count = source.shape[d] if source.ndim else 1
    if count != index.size:
        kind = IndexError if name == "index_copy_" else RuntimeError
        raise kind(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {d}"
        )
    ours, theirs = ((*a.shape[:d], *a.shape[d + 1 :]) for a in (input, source))
    if ours != theirs and source.ndim:
        kind = IndexError if name == "index_copy_" and len(ours) != len(theirs) else RuntimeError
        raise kind(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    return d


def _lines(a: Any) -> Any:
    """An array with at least one dimension."""
    return a if a.ndim else a.reshape((1,))


@op(
    node="IndexAddBackward0",
    symbol="index +",
    inplace_method=True,
    out=True,
    input="g",
    source="index_select(g, dim, index).reshape(source.shape) * alpha",
)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """The slices of ``source``, times ``alpha``, added to those at ``index`` along a dimension, in a copy.

    :raises RuntimeError: an index is out of bounds, or a shape or a dtype differs.

    >>> import nbautograd as torch
    >>> torch.zeros(2, 2).index_add(0, torch.tensor([1, 1]), torch.ones(2, 2))
    tensor([[0., 0.],
            [2., 2.]])
    """
    d = _check_slices("index_add_", input, dim, index, source)
    if isinstance(alpha, float) and input.dtype.kind in "iub":
        raise RuntimeError(
            f"index_add_(): For integral input tensors, argument alpha must not be a floating point number, got {alpha}"
        )
    found = own(input)
    values = source if alpha == 1 else (source * alpha).astype(source.dtype)
    backend.add_at(_lines(found), at_slices(d, index), _lines(values))
    return found


@op(
    node="IndexCopyBackward0",
    symbol="index =",
    inplace_method=True,
    out=True,
    half=NATIVE,
    input="index_fill(g, dim, index, 0)",
    source="index_select(g, dim, index).reshape(source.shape)",
)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """The slices at ``index`` along a dimension replaced by those of ``source``, in a copy.

    :raises IndexError: an index is out of bounds, or there are not as many slices.

    >>> import nbautograd as torch
    >>> torch.zeros(2, 2).index_copy(0, torch.tensor([1]), torch.ones(1, 2))
    tensor([[0., 0.],
            [1., 1.]])
    """
    if index.dtype.char not in "lqp":
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {dtypes.of(index.dtype).name}")
    d = _check_slices("index_copy_", input, dim, index, source, IndexError)
    found = own(input)
    _lines(found)[at_slices(d, index)] = _lines(source)
    return found


@op(
    node="IndexFillBackward0",
    symbol="index =",
    inplace_method=True,
    input="index_fill(g, dim, index, 0)",
    value="cast_back(index_select(g, dim, once(index, input.shape, dim)).sum(), numpy_dtype(value))",
)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Number) -> Tensor:
    """The slices at ``index`` along a dimension filled with one value, in a copy.

    :param value: a number or a 0-d tensor.
    :raises IndexError: an index is out of bounds.

    >>> import nbautograd as torch
    >>> torch.zeros(2, 2).index_fill(0, torch.tensor([1]), 5)
    tensor([[0., 0.],
            [5., 5.]])
    """
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if index.dtype.char not in "lqp":
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {dtypes.of(index.dtype).name}")
    if index.ndim > 1:
        raise RuntimeError(f"index_fill_(): Index has to be a vector/scalar, got one of {index.ndim} dimensions")
    kind = value.dtype.kind if hasattr(value, "dtype") else "c" if isinstance(value, complex) else ""
    if kind == "c" and input.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    d = dimension(dim, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if index.size and (index.min() < -n or index.max() >= n):
        raise IndexError(f"index {int(index.max())} is out of bounds for dimension {d} with size {n}")
    found = own(input)
    _lines(found)[at_slices(d, index)] = value
    return found


@op(method=False)
def once(index: Tensor, shape: Any, dim: int) -> Tensor:
    """Indices along a dimension, from the front and each only once."""
    return np.unique(index.reshape((-1,)) % (shape[dim] if shape else 1))


@op(method=False)
def spread_index(index: Tensor, shape: Any, dim: int) -> Tensor:
    """A vector of indices along a dimension, as the index that ``scatter`` wants."""
    return np.broadcast_to(index.reshape((-1,) + (1,) * (len(shape) - dim - 1)), shape) if shape else index.reshape(())


def _indexed(name: str, scattering: Any, formulas: dict[str, str]) -> Any:
    """The operation under the name of its node."""
    return op(node="IndexReduceBackward0", symbol=scattering.__name__, name=name, method=False, **formulas)(
        scattering.__wrapped__
    )


INDEX_REDUCTIONS = {
    "prod": _indexed("index_prod", scatter_prod, PROD),
    "mean": _indexed("index_mean", scatter_mean, MEAN),
    "amax": _indexed("index_amax", scatter_amax, EXTREME),
    "amin": _indexed("index_amin", scatter_amin, EXTREME),
}


@composite(inplace_method=True, out=True)
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """The product, mean, largest or smallest of the slices of ``source`` that go to each index, in a copy.

    :param reduce: ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
    :param include_self: whether the slice that is there counts too.
    :raises RuntimeError: a shape or a dtype differs, or ``reduce`` is another.
    :raises IndexError: an index is out of bounds.

    >>> import nbautograd as torch
    >>> torch.ones(2).index_reduce(0, torch.tensor([0, 0]), torch.tensor([2., 3.]), "prod")
    tensor([6., 1.])
    """
    if reduce not in INDEX_REDUCTIONS:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d = _check_slices("index_reduce", input._a, dim, index._a, source._a, IndexError)
    places = spread_index(index, source._a.shape, d)
    return INDEX_REDUCTIONS[reduce](input, d, places, source, include_self)


# -- what a view shows -----------------------------------------------------------------------------------------------


def _written(input: Any, view: Any, src: Any) -> Any:
    """A copy of ``input`` with ``src`` where ``view(copy)`` looks."""
    found = own(input)
    region = view(found)
    if region.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(region.shape)}"
        )
    region[...] = src
    return found


@op(
    node="SelectScatterBackward0",
    symbol="select =",
    half=NATIVE,
    input="select_scatter(g, zeros_of(select(g, dim, index)), dim, index)",
    src="cast_back(select(g, dim, index), src.dtype)",
)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with one slice of a dimension, as ``select`` shows it, replaced.

    :raises RuntimeError: ``src`` has another shape.

    >>> import nbautograd as torch
    >>> torch.zeros(2, 2).select_scatter(torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    d = dimension(dim, input.ndim)
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not -input.shape[d] <= index < input.shape[d]:
        raise IndexError(f"select_scatter(): index {index} out of range for dimension {d} with size {input.shape[d]}")
    return _written(input, lambda a: part(a, d, index), src)


@op(
    node="SliceScatterBackward0",
    symbol="slice =",
    out=True,
    half=NATIVE,
    input="slice_scatter(g, zeros_of(slice_(g, dim % input.ndim, start, end, step)), dim, start, end, step)",
    src="cast_back(slice_(g, dim % input.ndim, start, end, step), src.dtype)",
)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy with a range of one dimension replaced.

    :raises RuntimeError: ``src`` has another shape.

    >>> import nbautograd as torch
    >>> torch.zeros(4).slice_scatter(torch.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    d = dimension(dim, input.ndim)
    if not input.ndim:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError(f"slice step must be positive, got {step}")
    first, last, by = slice(start, end, step).indices(input.shape[d])
    return _written(input, lambda a: stretch(a, d, first, last, by), src)


@op(
    node="DiagonalScatterBackward0",
    symbol="diagonal =",
    half=NATIVE,
    input="diagonal_scatter(g, zeros_of(diagonal(g, offset, dim1, dim2)), offset, dim1, dim2)",
    src="cast_back(diagonal(g, offset, dim1, dim2), src.dtype)",
)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with the diagonal over two dimensions replaced.

    :raises RuntimeError: ``src`` has another shape.

    >>> import nbautograd as torch
    >>> torch.zeros(2, 2).diagonal_scatter(torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _written(input, lambda a: on_diagonal(a, offset, dim1, dim2), src)


@composite()
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy with the elements replaced that ``as_strided`` shows.

    :raises RuntimeError: ``src`` has another shape, or an element would lie outside of the storage.

    >>> import nbautograd as torch
    >>> torch.as_strided_scatter(torch.zeros(3), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1.])
    """
    home = stride_tools.of(input._a)
    shape, strides = sizes((tuple(size),), "size"), sizes((tuple(stride),), "stride")
    view = Geometry(shape, strides, home.offset if storage_offset is None else storage_offset)
    check_inside(input._a, view)
    return strided_scatter(input, src, view, home, stride_tools.length_of(input._a))


@op(
    node="AsStridedScatterBackward0",
    symbol="strides =",
    method=False,
    half=NATIVE,
    input="strided_scatter(g, zeros_of(strided_gather(g, view, home, length)), view, home, length)",
    src="cast_back(strided_gather(g, view, home, length), src.dtype)",
)
def strided_scatter(input: Tensor, src: Tensor, view: Any, home: Any, length: int) -> Tensor:
    """A copy of ``input``, whose geometry is ``home``, with the elements replaced that ``view`` shows."""
    found = stride_tools.laid_out(input, home, length)
    region = restride(found, view.shape, view.strides, view.offset - home.offset)
    if region.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(region.shape)}"
        )
    region[...] = src
    return found


@op(
    node="AsStridedBackward0_copy",
    symbol="strides",
    method=False,
    input="as_strided_back(g, home, view.shape, view.strides, view.offset)",
)
def strided_gather(input: Tensor, view: Any, home: Any, length: int) -> Tensor:
    """The elements that ``view`` shows of ``input`` laid out as ``home``, copied."""
    found = stride_tools.laid_out(input, home, length)
    return restride(found, view.shape, view.strides, view.offset - home.offset).copy()
