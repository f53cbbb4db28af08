"""Scattering: writing or reducing elements into the positions given by an index tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, strides as stride_tools
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.compiler.op import NATIVE, composite, derivative_helper, no_method, op
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.creation.from_data import number_as, number_in
from nbautograd._engine.ops.indexing.gather import along, check_along
from nbautograd._engine.ops.indexing.indexing import own
from nbautograd._engine.ops.queries import Number, example
from nbautograd._engine.ops.reduction.products import products_before
from nbautograd._engine.ops.shape.broadcasting import expand
from nbautograd._engine.ops.shape.joining import cat
from nbautograd.errors import kind_of

# -- scatter ---------------------------------------------------------------------------------------------------------


def _scattered(
    name: str, input: Any, dim: int, index: Any, src: Any, write: Callable[[Any, Any, Any], Any], check: bool = True
) -> Any:
    """Return a copy of ``input`` modified by ``write(copy, key, values)``; ``src`` may be a number."""
    shape = getattr(src, "shape", None) if hasattr(src, "ndim") and src.ndim else None
    d = check_along(name, input, dim, index, shape) if check else dimension(dim, input.ndim)
    output = own(input)
    if not index.size:
        return output
    if index.ndim == 0:
        index = index.reshape((1,))
    if hasattr(src, "dtype"):
        src = src.reshape((1,)) if src.ndim == 0 else src[tuple(slice(n) for n in index.shape)]
    line = output.reshape((1,)) if output.ndim == 0 else output
    written = write(line, along(index, d), src)
    return (line if written is None else written).reshape(input.shape)


def _replace(target: Any, key: Any, values: Any) -> None:
    target[key] = values


def _same_dtype(name: str, input: Any, src: Any, dim: int) -> None:
    if src.dtype != input.dtype:
        dimension(dim, input.ndim)  # which raises an IndexError first
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, got {dtypes.scalar_type(input.dtype)} and "
            f"{dtypes.scalar_type(src.dtype)}"
        )


def _check_rank(index: Any, src: Any) -> None:
    if index.size and index.ndim > 1 and not src.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")


@no_method(
    node="ScatterBackward0", symbol="scatter", half=NATIVE,
    input="zero_along(g, dim, index)",
    src="pad_like(gather(g, dim, index), src.shape)",
)  # fmt: skip
def scatter_src(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Compute ``scatter`` with a tensor ``src``."""
    _same_dtype("scatter", input, src, dim)
    _check_rank(index, src)
    return _scattered("scatter", input, dim, index, src, _replace)


@no_method(node="ScatterBackward1", symbol="scatter", half=NATIVE, input="zero_along(g, dim, index)")
def scatter_value(input: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """Compute ``scatter`` with a number."""
    return _scattered("scatter", input, dim, index, number_in(value, dtypes.of(input.dtype)), _replace)


@no_method(node="ScatterBackward1", symbol="scatter", half=NATIVE, input="zero_along(g, dim, index)")
def zero_along(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return a copy of ``input`` with zeros at the positions that ``scatter`` writes."""
    return _scattered("scatter", input, dim, index, 0, _replace, check=False)


@op(symbol="scatter +", inplace_method=True, out=True, input="g", src="pad_like(gather(g, dim, index), src.shape)")
@example("zeros(3).scatter_add(0, [0, 0, 2], torch.ones(3)) -> [2., 0., 1.]")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return a copy of ``input`` with ``copy[index[i][j]][j] += src[i][j]`` for ``dim=0``, likewise for others.

    :raises RuntimeError: an index is out of bounds, a shape too large, or a dtype differs.
    """
    _same_dtype("scatter_add", input, src, dim)
    _check_rank(index, src)
    return _scattered("scatter_add", input, dim, index, src, backend.add_at)


@composite(inplace_method=True, out=True)
@example("zeros(2, 3).scatter(1, [[2], [0]], 5.) -> [[0., 0., 5.], [5., 0., 0.]]")
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """Return a copy of ``input`` with ``copy[index[i][j]][j] = src[i][j]`` for ``dim=0``, likewise for others.

    :param src: a tensor at least as large as ``index``, or a number (also as ``value``).
    :param reduce: ``"add"`` or ``"multiply"`` instead of replacing.
    :raises RuntimeError: an index is out of bounds, a shape too large, or a dtype differs.
    """
    values = src if value is None else value
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}")
    if not isinstance(index, Tensor):
        raise TypeError(f"scatter(): argument 'index' (position 3) must be Tensor, not {kind_of(index)}")
    if values is None:
        raise TypeError("scatter(): one of the arguments 'src' and 'value' must be given")
    if reduce is None:
        write = scatter_src if isinstance(values, Tensor) else scatter_value
        return write(input, dim, index, values)
    if not isinstance(values, Tensor):
        values = expand(number_as(values, input.dtype, input.device), *index._a.shape)
    elif values.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if reduce == "add":
        return scatter_add(input, dim, index, values)
    return scatter_prod(input, dim, index, values, True)


# -- reducing --------------------------------------------------------------------------------------------------------


def _accumulate(ufunc: np.ufunc, target: Any, key: tuple[Any, ...], values: Any) -> None:
    """Assign ``target[key] = ufunc(target[key], values)``; repeated indices accumulate."""
    if target.__class__ is np.ndarray:
        ufunc.at(target, key, values)
        return
    # CuPy has few atomic functions: values of a position, adjacent after sorting, are joined at distances of 1, 2, 4
    # and so on, until the first holds the result of all of them; nothing waits for the device.
    strides = stride_tools.contiguous(target.shape)
    where = sum(np.broadcast_to(k, values.shape) * s for k, s in zip(key, strides, strict=True)).reshape((-1,))
    order = np.argsort(where, kind="stable")
    where, values = where[order], values.reshape((-1,))[order]
    if not where.size:
        return
    distance = 1
    while distance < where.size:
        near, far = values[:-distance], values[distance:]
        values[:-distance] = np.where(where[:-distance] == where[distance:], ufunc(near, far), near)
        distance *= 2
    places = np.arange(target.size, like=where)
    first = np.minimum(np.searchsorted(where, places, "left"), where.size - 1)
    line = target.reshape((-1,))
    target[...] = np.where(where[first] == places, ufunc(line, values[first]), line).reshape(target.shape)


def _neutral(dtype: np.dtype[Any], kind: str) -> Any:
    """Return the identity element of a reduction: its initial value."""
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


def reduced_at(kind: str, target: Any, key: tuple[Any, ...], values: Any, include_self: bool) -> Any:
    """Reduce ``values`` into an array at ``key`` and return it, since the mean is a new array."""
    if not include_self:
        target[key] = _neutral(target.dtype, kind)
    if kind in ("sum", "mean"):
        backend.add_at(target, key, values)
    else:
        _accumulate({"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[kind], target, key, values)
    if kind != "mean":
        return target
    count = _counts(target, key, values.shape, include_self)
    return target / count.astype(target.dtype) if target.dtype.kind in "fcV" else target // count.astype(target.dtype)


def _counts(like: Any, key: tuple[Any, ...], shape: tuple[int, ...], include_self: bool) -> Any:
    """Return the number of values in the mean at each position; 1 where nothing was written."""
    count = np.zeros_like(like, np.int64, shape=like.shape)
    backend.add_at(count, key, np.ones_like(count, shape=shape))
    return count + 1 if include_self else np.maximum(count, 1)


@no_method()
def scatter_counts(input: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """Return, for each element of ``input``, the number of values in its mean."""
    results: list[Any] = []

    def count(line: Any, key: Any, values: Any) -> Any:
        results.append(_counts(line, key, index.shape or (1,), include_self).astype(line.dtype))
        return results[0]

    counted = _scattered("scatter", input, dim, index, 0, count, check=False)
    return counted if results else np.ones_like(input)


@no_method()
def equal_to(input: Tensor, other: Tensor) -> Tensor:
    """Return 1 where two tensors are equal, 0 elsewhere, in their dtype."""
    return (input == other).astype(input.dtype)


@no_method()
def is_zero(input: Tensor) -> Tensor:
    """Return 1 where the tensor is 0, 0 elsewhere, in its dtype."""
    return (input == 0).astype(input.dtype)


SUM = {"input": "g if include_self else zero_along(g, dim, index)", "src": "pad_like(gather(g, dim, index), src.shape)"}


@op(node="ScatterReduceBackward0", symbol="scatter Σ", method=False, **SUM)
def scatter_sum(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """Return the sum of the elements scattered to each position."""
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
    """Return the mean of the elements scattered to each position."""
    return _reduced("mean", input, dim, index, src, include_self)


PROD = {
    "input": "prod_back(g, input, dim, index, src, include_self)[0]",
    "src": "prod_back(g, input, dim, index, src, include_self)[1]",
}


@derivative_helper
def prod_back(g: Any, input: Any, dim: int, index: Any, src: Any, include_self: bool) -> Any:
    """Return the gradient of products: for each factor the product of the others, without division."""
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
    if isinstance(input, Tensor) and index.numel() and zeros._a.any():  # second derivatives are requested
        for_input, for_src = beside_zeros(g, for_input, for_src, input, dim, index, src, include_self)
    return for_input, pad_like(for_src, src.shape)  # type: ignore[name-defined]  # noqa: F821


@derivative_helper
def beside_zeros(
    g: Tensor, for_input: Tensor, for_src: Tensor, input: Tensor, dim: int, index: Tensor, src: Tensor,
    include_self: bool
) -> tuple[Any, Any]:  # fmt: skip
    """Return the gradients of ``prod_back``, computed so that products with a factor of 0 have derivatives.

    The product of the other factors is that of those before and those after, in a matrix with a row for each product
    and as many columns as the longest product has factors.
    """
    cropped = crop_like(src, for_src.shape)  # type: ignore[name-defined]  # noqa: F821
    size = input.numel()
    to = _targets(input._a, dim, index._a)
    group = np.concatenate([np.arange(size, like=to), to])  # of each factor: the position of its product
    factors = cat([input.reshape(-1), cropped.reshape(-1)])
    counts = np.ones_like(group, dtype=bool)
    if not include_self:
        counts[to] = False
    has_zero = np.zeros_like(group, dtype=bool)
    has_zero[group[counts & (factors._a == 0)]] = True
    chosen = np.nonzero(counts & has_zero[group])[0]
    chosen = chosen[np.argsort(group[chosen], kind="stable")]
    _, first, row = np.unique(group[chosen], return_index=True, return_inverse=True)
    column = np.arange(len(chosen), like=row) - first[row]
    place, width = wrap(row * (int(column.max()) + 1) + column), int(column.max()) + 1
    which = wrap(chosen)
    ones = wrap(np.ones_like(factors._a, shape=len(first) * width))
    matrix = ones.index_copy(0, place, factors.index_select(0, which)).reshape(-1, width)
    others = products_before(matrix, 1) * products_before(matrix, 1, True)
    flat = cat([g.reshape(-1), gather(g, dim, index).reshape(-1)]).index_select(0, which)  # type: ignore[name-defined]  # noqa: F821
    gradients = flat * conj(others.reshape(-1).index_select(0, place))  # type: ignore[name-defined]  # noqa: F821
    both = cat([for_input.reshape(-1), for_src.reshape(-1)]).index_copy(0, which, gradients)
    return both.narrow(0, 0, size).reshape(for_input.shape), both.narrow(0, size, to.size).reshape(for_src.shape)


def _targets(input: Any, dim: int, index: Any) -> Any:
    """Return, for each element of ``index``, flattened: the flat position in ``input`` that it writes to."""
    if input.ndim == 0 or index.ndim == 0:
        return index.reshape(-1)
    strides = stride_tools.contiguous(input.shape)
    key = along(index, dimension(dim, input.ndim))
    return sum(np.broadcast_to(k, index.shape) * s for k, s in zip(key, strides, strict=True)).reshape(-1)


@op(node="ScatterReduceBackward0", symbol="scatter Π", method=False, **PROD)
def scatter_prod(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """Return the product of the elements scattered to each position."""
    return _reduced("prod", input, dim, index, src, include_self)


EXTREME = {
    "input": "extreme_back(g, input, dim, index, src, result, include_self)[0]",
    "src": "extreme_back(g, input, dim, index, src, result, include_self)[1]",
}


@derivative_helper
def extreme_back(g: Any, input: Any, dim: int, index: Any, src: Any, result: Any, include_self: bool) -> Any:
    """Return the gradient of the maximum or minimum, divided equally among ties."""
    chosen_input = equal_to(input, result)
    chosen_src = equal_to(crop_like(src, index.shape), gather(result, dim, index))  # type: ignore[name-defined]  # noqa: F821
    share = g / scatter_sum(chosen_input, dim, index, chosen_src, True)
    for_input = chosen_input * share
    if not include_self:
        for_input = zero_along(for_input, dim, index)
    return for_input, pad_like(chosen_src * gather(share, dim, index), src.shape)  # type: ignore[name-defined]  # noqa: F821


@op(node="ScatterReduceBackward0", symbol="scatter max", method=False, **EXTREME)
def scatter_amax(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """Return the maximum of the elements scattered to each position."""
    return _reduced("amax", input, dim, index, src, include_self)


@op(node="ScatterReduceBackward0", symbol="scatter min", method=False, **EXTREME)
def scatter_amin(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """Return the minimum of the elements scattered to each position."""
    return _reduced("amin", input, dim, index, src, include_self)


REDUCTIONS = {
    "sum": scatter_sum,
    "prod": scatter_prod,
    "mean": scatter_mean,
    "amax": scatter_amax,
    "amin": scatter_amin,
}


def refuse_complex_gradient(name: str, input: Tensor, src: Tensor) -> None:
    """Raise if a reduction of complex numbers, of which PyTorch has no derivative, would be recorded."""
    if input.is_complex() and is_grad_enabled() and (input.requires_grad or src.requires_grad):
        raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")


@composite(inplace_method=True, out=True)
@example('ones(2).scatter_reduce(0, [0, 0, 1], [2., 3., 4.], "prod") -> [6., 4.]')
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Return a copy of ``input`` with the elements of ``src`` reduced into the positions given by ``index``.

    :param reduce: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
    :param include_self: include the elements of ``input`` in the reduction.
    :raises RuntimeError: an index is out of bounds, a shape too large, a dtype differs, or ``reduce`` is unknown.
    """
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not isinstance(src, Tensor) or not isinstance(index, Tensor):
        raise TypeError(f"scatter_reduce(): arguments 'index' and 'src' must be Tensor, not {kind_of(src)}")
    if src.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if reduce == "mean" and input.dtype is dtypes.bool_:
        raise NotImplementedError("\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'")
    _check_rank(index._a, src._a)
    if index.ndim + src.ndim == 1:
        index, src = index.reshape(-1), src.reshape(-1)
    if input.is_complex() and reduce in ("amax", "amin"):
        raise NotImplementedError(f"scatter_reduce(): {reduce} is not implemented for complex tensors")
    refuse_complex_gradient("scatter_reduce", input, src)
    return REDUCTIONS[reduce](input, dim, index, src, include_self)
