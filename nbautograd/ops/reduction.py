"""Over dimensions: sums, means, extremes, norms, truth."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from nbautograd import dtypes
from nbautograd.declare import composite, op
from nbautograd.errors import DtypeError
from nbautograd.inplace import into
from nbautograd.ops.kernels import ratio, reduced_shape
from nbautograd.ops.pointwise import maximum, minimum
from nbautograd.ops.shape import cat
from nbautograd.returns import return_type
from nbautograd.size import dimension, dimensions
from nbautograd.tensor import Tensor

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
]

Dims = int | tuple[int, ...] | list[int] | None


def count(shape: tuple[int, ...], dim: Any) -> int:
    """How many elements are reduced to one."""
    return math.prod(shape) if dim is None else math.prod(shape[d] for d in dimensions(dim, len(shape)))


def total(a: Any) -> Any:
    """The sum of all elements; for NumPy, without the detour through Python that its method takes."""
    return np.add.reduce(a, None) if a.__class__ is np.ndarray else a.sum()


def axes(dim: Any, ndim: int) -> Any:
    """``dim`` as arrays want it: None for all."""
    return None if dim is None else dimensions(dim, ndim)


def _floating(name: str, a: Any, dtype: dtypes.dtype | None) -> None:
    if dtype is None and a.dtype.kind not in "fc":
        raise DtypeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {dtypes.of(a.dtype).name}"
        )


@op(node="SumBackward0", symbol="Σ", method=False, input="spread(g, input.shape)")
def sum_all(input: Tensor) -> Tensor:
    """The sum of all elements of a floating tensor."""
    return total(input) if input.ndim else input.copy()


@op(node="SumBackward1", symbol="Σ", method=False, input="spread(g, input.shape, dim, keepdim)")
def sum_over(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """The sum over ``dim`` of a floating tensor."""
    return input.sum(axes(dim, input.ndim), None, None, keepdim)


@composite()
def sum(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    out: Any = None,
    **numpy: Any,
) -> Tensor:
    """The sum of the elements, all or over ``dim``; of integers and bools, in int64.

    :param dim: one dimension or several; None for all.
    :param keepdim: keep reduced dimensions with length 1.
    :param dtype: cast to this dtype first.

    >>> import nbautograd as torch
    >>> torch.sum(torch.tensor([[1., 2.], [3., 4.]]), dim=0)
    tensor([4., 6.])
    """
    if numpy:
        dim, keepdim = numpy_names("sum", dim, keepdim, numpy)
    if dtype is not None:
        input = input.to(dtype)
    elif isinstance(input, Tensor) and input._a.dtype.kind in "biu":
        input = input.to(dtypes.int64)
    result = sum_all(input) if dim is None and not keepdim else sum_over(input, dim, keepdim)
    return into(out, result, "sum")


def numpy_names(name: str, dim: Any, keepdim: bool, given: dict[str, Any]) -> tuple[Any, bool]:
    """NumPy's names ``axis`` and ``keepdims`` for ``dim`` and ``keepdim``, which PyTorch accepts too."""
    for key in given:
        if key not in ("axis", "keepdims"):
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    return given.get("axis", dim), given.get("keepdims", keepdim)


@op(node="MeanBackward0", symbol="mean", method=False, input="spread(g / count(input.shape, None), input.shape)")
def mean_all(input: Tensor) -> Tensor:
    """The mean of all elements of a floating tensor."""
    return total(input) / input.dtype.type(input.size) if input.ndim else input.copy()


@op(
    node="MeanBackward1",
    symbol="mean",
    method=False,
    input="spread(g / count(input.shape, dim), input.shape, dim, keepdim)",
)
def mean_over(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """The mean over ``dim`` of a floating tensor."""
    return input.sum(axes(dim, input.ndim), None, None, keepdim) / input.dtype.type(count(input.shape, dim))


@composite()
def mean(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    out: Any = None,
    **numpy: Any,
) -> Tensor:
    """The mean of the elements, all or over ``dim``.

    :raises RuntimeError: the dtype is an integer one or bool, and no other is given.

    >>> import nbautograd as torch
    >>> torch.mean(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(2.5000)
    """
    if numpy:
        dim, keepdim = numpy_names("mean", dim, keepdim, numpy)
    if isinstance(input, Tensor):
        _floating("mean", input._a, dtype)
    if dtype is not None:
        input = input.to(dtype)
    result = mean_all(input) if dim is None and not keepdim else mean_over(input, dim, keepdim)
    return into(out, result, "mean")


@op(
    node="ProdBackward0",
    symbol="Π",
    method=False,
    input="g * conj(prod_of_others(input))",
)
def prod_all(input: Tensor) -> Tensor:
    """The product of all elements."""
    return input.prod()


@op(
    node="ProdBackward1",
    symbol="Π",
    method=False,
    input="spread(g, input.shape, dim, keepdim) * conj(prod_of_others(input, dim))",
)
def prod_over(input: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """The product over one dimension."""
    d = dimension(dim, input.ndim)
    return input.prod(d, None, None, keepdim) if input.ndim else input.copy()


def prod_of_others(x: Any, dim: int | None = None) -> Any:
    """For each element, the product of all others along ``dim``: right where elements are 0, unlike a quotient."""
    if x.ndim == 0:
        return x * 0 + 1
    if dim is None:
        return prod_of_others(x.reshape((-1,)), 0).reshape(tuple(x.shape))
    moved = _swap(x, dim)
    shape = tuple(moved.shape)
    ones = moved[:1] * 0 + 1
    if shape[0] == 0:
        return x
    joined = _stack_cumulative(moved, ones)
    return _swap(joined, dim)


def _swap(x: Any, dim: int) -> Any:
    return x.transpose(0, dim) if isinstance(x, Tensor) else x.swapaxes(0, dim)


def _stack_cumulative(x: Any, ones: Any) -> Any:
    """Products of what comes before times products of what comes after, along the first dimension."""
    n = x.shape[0]
    before, after = [ones], [ones]
    for i in range(n - 1):
        before.append(before[-1] * x[i : i + 1])
        after.append(after[-1] * x[n - 1 - i : n - i])
    after.reverse()
    parts = [b * a for b, a in zip(before, after, strict=True)]
    if isinstance(x, Tensor):
        return cat(parts, 0)
    return np.concatenate(parts, 0)


@composite()
def prod(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Tensor:
    """The product of the elements, all or over one dimension.

    >>> import nbautograd as torch
    >>> torch.prod(torch.tensor([2., 3., 4.]))
    tensor(24.)
    """
    if dtype is not None:
        input = input.to(dtype)
    elif isinstance(input, Tensor) and input._a.dtype.kind in "biu":
        input = input.to(dtypes.int64)
    result = prod_all(input) if dim is None else prod_over(input, dim, keepdim)
    return into(out, result, "prod")


# -- spread ----------------------------------------------------------------------------------------------------------


def _deviation(x: Any, dim: Any) -> Any:
    """The elements less their mean over ``dim``."""
    shape = reduced_shape(tuple(x.shape), dim)
    return x - (x.sum() if dim is None else x.sum(axes(dim, x.ndim))).reshape(shape) / count(tuple(x.shape), dim)


@op(
    node="VarBackward0",
    symbol="var",
    method=False,
    input="spread(g, input.shape, dim, keepdim) * (2 / divisor(count(input.shape, dim), "
    "correction)) * deviation(input, dim)",
)
def var_over(input: Tensor, dim: Dims, correction: float, keepdim: bool) -> Tensor:
    """The variance over ``dim``."""
    d = _deviation(input, dim)
    return (d * d).sum(axes(dim, input.ndim), None, None, keepdim) / divisor(count(input.shape, dim), correction)


@op(
    node="StdBackward0",
    symbol="std",
    method=False,
    input="spread(ratio(g, result), input.shape, dim, keepdim) / divisor(count(input.shape, dim), "
    "correction) * deviation(input, dim)",
)
def std_over(input: Tensor, dim: Dims, correction: float, keepdim: bool) -> Tensor:
    """The standard deviation over ``dim``."""
    d = _deviation(input, dim)
    return np.sqrt(
        (d * d).sum(axes(dim, input.ndim), None, None, keepdim) / divisor(count(input.shape, dim), correction)
    )


deviation = _deviation


def divisor(n: int, correction: float) -> float:
    """What the sum of squares is divided by; nan where there are too few elements."""
    return n - correction if n > correction else math.nan


def _correction(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, float]:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return dim, (1 if unbiased is None else int(unbiased)) if correction is None else correction


def _warn_few(name: str, input: Tensor, dim: Any, correction: float) -> None:
    if count(input._a.shape, dim) <= correction:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0: no more elements are reduced to one than the correction, "
            f"{correction}, so the result is nan or inf",
            UserWarning,
            stacklevel=3,
        )


@composite()
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance of the elements, all or over ``dim``.

    :param correction: what is subtracted from the number of elements in the divisor; 1 by default.
    :param unbiased: True for a correction of 1, False for 0.

    >>> import nbautograd as torch
    >>> torch.var(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """
    dim, correction = _correction(dim, unbiased, correction)
    _floating("var", input._a, None)
    _warn_few("var", input, dim, correction)
    return var_over(input, dim, correction, keepdim)


@composite()
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation of the elements, all or over ``dim``: the square root of :func:`var`.

    >>> import nbautograd as torch
    >>> torch.std(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """
    dim, correction = _correction(dim, unbiased, correction)
    _floating("std", input._a, None)
    _warn_few("std", input, dim, correction)
    return std_over(input, dim, correction, keepdim)


# -- norms -----------------------------------------------------------------------------------------------------------


@op(
    node="LinalgVectorNormBackward0",
    symbol="‖·‖",
    method=False,
    input="norm_gradient(input, spread(g, input.shape, dim, keepdim), spread(result, input.shape, dim, keepdim), p)",
)
def vector_norm(input: Tensor, p: float, dim: Dims, keepdim: bool) -> Tensor:
    """The p-norm of the elements over ``dim``."""
    a, over = np.abs(input), axes(dim, input.ndim)
    if p == 2:
        return np.sqrt((a * a).sum(over, None, None, keepdim))
    if p == 1:
        return a.sum(over, None, None, keepdim)
    if p == 0:
        return (a != 0).astype(a.dtype).sum(over, None, None, keepdim)
    if math.isinf(p):
        return a.max(over, None, keepdim) if p > 0 else a.min(over, None, keepdim)
    return (a**p).sum(over, None, None, keepdim) ** (1 / p)


def norm_gradient(x: Any, g: Any, norm: Any, p: float) -> Any:
    """The gradient of a p-norm: 0 where the norm is, shared among the elements of equal size for p = inf."""
    if p == 2:
        return x * ratio(g, norm)
    size = x.abs() if isinstance(x, Tensor) else np.abs(x)
    direction = x.sgn() if isinstance(x, Tensor) else np.sign(x)
    if p == 1:
        return direction * g
    if p == 0:
        return x * 0
    if math.isinf(p):
        hit = (size == norm) * (g * 0 + 1)
        return direction * g * hit / hit.sum()
    return direction * size ** (p - 1) * ratio(g, norm ** (p - 1))


@composite()
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The p-norm of the elements, all or over ``dim``: (sum of abs(x)^p)^(1/p); 2 by default.

    :param p: a number, ``inf``, ``-inf`` or ``"fro"`` (2).
    :raises RuntimeError: the dtype is an integer one or bool.

    >>> import nbautograd as torch
    >>> torch.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    if dtype is not None:
        input = input.to(dtype)
    if input._a.dtype.kind not in "fc":
        raise DtypeError(f"norm(): the dtype must be floating point or complex, got {input.dtype!r}")
    if p == "nuc":
        raise NotImplementedError("norm(): p='nuc' is not supported yet; accepted are numbers, inf, -inf and 'fro'")
    power = 2.0 if p is None or p == "fro" else float(p)
    if math.isinf(power) and isinstance(dim, (tuple, list)) and len(dim) != 1 and input._a.ndim > len(dim):
        raise NotImplementedError("norm(): p=inf over several of more dimensions is not supported yet")
    result = vector_norm(input, power, dim, keepdim)
    return into(out, result, "norm")


# -- extremes --------------------------------------------------------------------------------------------------------


def _no_elements(name: str, a: Any) -> None:
    if not a.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )


def at_extreme(x: Any, result: Any, g: Any) -> Any:
    """``g`` shared among the elements that equal the extreme."""
    hit = (x == result) * (g * 0 + 1)
    return g * hit / hit.sum()


@op(node="MaxBackward1", symbol="max", method=False, input="at_extreme(input, result, g)")
def max_all(input: Tensor) -> Tensor:
    """The largest element."""
    _no_elements("max", input)
    return input.max()


@op(node="MinBackward1", symbol="min", method=False, input="at_extreme(input, result, g)")
def min_all(input: Tensor) -> Tensor:
    """The smallest element."""
    _no_elements("min", input)
    return input.min()


def _over(a: Any, name: str, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The extreme elements along a dimension and where they are."""
    _no_elements(name, a)
    if not a.ndim:
        return a.copy(), np.int64(0)
    d = dimension(dim, a.ndim)
    where = (a.argmax if name == "max" else a.argmin)(d)
    kept = where.reshape(reduced_shape(a.shape, d))
    values = np.take_along_axis(a, kept, d)
    return (values, kept) if keepdim else (values.reshape(where.shape), where)


@op(
    node="MaxBackward0",
    symbol="max",
    many=True,
    method=False,
    input="gather_back(g[0].reshape(reduced_shape(input.shape, dim)), input.shape, dim, "
    "result[1].reshape(reduced_shape(input.shape, dim)))",
)
def max_over(input: Tensor, dim: int, keepdim: bool = False) -> Any:
    """The largest elements along a dimension and where they are."""
    return _over(input, "max", dim, keepdim)


@op(
    node="MinBackward0",
    symbol="min",
    many=True,
    method=False,
    input="gather_back(g[0].reshape(reduced_shape(input.shape, dim)), input.shape, dim, "
    "result[1].reshape(reduced_shape(input.shape, dim)))",
)
def min_over(input: Tensor, dim: int, keepdim: bool = False) -> Any:
    """The smallest elements along a dimension and where they are."""
    return _over(input, "min", dim, keepdim)


@composite()
def max(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element; with ``dim``, the largest along it and where; with a tensor, element by element.

    >>> import nbautograd as torch
    >>> torch.max(torch.tensor([1., 3., 2.]))
    tensor(3.)
    """
    if isinstance(dim, Tensor):
        return maximum(input, dim)
    return max_all(input) if dim is None else return_type("max", "values", "indices")(max_over(input, dim, keepdim))


@composite()
def min(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element; with ``dim``, the smallest along it and where; with a tensor, element by element.

    >>> import nbautograd as torch
    >>> torch.min(torch.tensor([1., 3., 2.]))
    tensor(1.)
    """
    if isinstance(dim, Tensor):
        return minimum(input, dim)
    return min_all(input) if dim is None else return_type("min", "values", "indices")(min_over(input, dim, keepdim))


def shared_extreme(x: Any, g: Any, result: Any, dim: Any) -> Any:
    """``g`` shared equally among the elements that equal the extreme along ``dim``; all three shaped alike."""
    hit = (x == result) * (g * 0 + 1)
    total = hit.sum() if dim is None else hit.sum(axes(dim, x.ndim))
    return g * hit / total.reshape(reduced_shape(tuple(x.shape), dim))


@op(
    node="AmaxBackward0",
    symbol="max",
    input="shared_extreme(input, spread(g, input.shape, dim, keepdim), spread(result, input.shape, dim, keepdim), dim)",
)
def amax(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The largest element over ``dim``; equal ones share the gradient.

    >>> import nbautograd as torch
    >>> torch.amax(torch.tensor([[1., 4.], [3., 2.]]), dim=1)
    tensor([4., 3.])
    """
    _no_elements("amax", input)
    return input.max(axes(dim, input.ndim), None, keepdim)


@op(
    node="AminBackward0",
    symbol="min",
    input="shared_extreme(input, spread(g, input.shape, dim, keepdim), spread(result, input.shape, dim, keepdim), dim)",
)
def amin(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The smallest element over ``dim``; equal ones share the gradient.

    >>> import nbautograd as torch
    >>> torch.amin(torch.tensor([[1., 4.], [3., 2.]]), dim=1)
    tensor([1., 2.])
    """
    _no_elements("amin", input)
    return input.min(axes(dim, input.ndim), None, keepdim)


def _where_extreme(name: str, a: Any, dim: int | None, keepdim: bool) -> Any:
    _no_elements(name, a)
    if a.ndim == 0:
        return np.int64(0)
    method = a.argmax if name == "argmax" else a.argmin
    if dim is None:
        found = method()
        return found.reshape((1,) * a.ndim) if keepdim else found
    d = dimension(dim, a.ndim)
    found = method(d)
    return found.reshape(reduced_shape(a.shape, d)) if keepdim else found


@op()
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element, in the flattened tensor or along ``dim``.

    >>> import nbautograd as torch
    >>> torch.argmax(torch.tensor([1., 3., 2.]))
    tensor(1)
    """
    return _where_extreme("argmax", input, dim, keepdim)


@op()
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element, in the flattened tensor or along ``dim``.

    >>> import nbautograd as torch
    >>> torch.argmin(torch.tensor([2., 1., 3.]))
    tensor(1)
    """
    return _where_extreme("argmin", input, dim, keepdim)


@op()
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are nonzero.

    >>> import nbautograd as torch
    >>> torch.all(torch.tensor([True, False]))
    tensor(False)
    """
    return (input != 0).all(axis=axes(dim, input.ndim), keepdims=keepdim)


@op()
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether any element is nonzero.

    >>> import nbautograd as torch
    >>> torch.any(torch.tensor([True, False]))
    tensor(True)
    """
    return (input != 0).any(axis=axes(dim, input.ndim), keepdims=keepdim)


@op()
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many elements are nonzero.

    >>> import nbautograd as torch
    >>> torch.count_nonzero(torch.tensor([1, 0, 2]))
    tensor(2)
    """
    return (input != 0).sum(axes(dim, input.ndim))


@op(
    node="LogsumexpBackward0",
    symbol="lse",
    input="spread(g, input.shape, dim, keepdim) * exp(input - spread(result, input.shape, dim, keepdim))",
)
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """``log(sum(exp(input)))`` over ``dim``, without overflow.

    >>> import nbautograd as torch
    >>> torch.logsumexp(torch.tensor([1000., 1000.]), dim=0)
    tensor(1000.6932)
    """
    over = axes(dim, input.ndim)
    if not input.ndim:
        return input.copy()
    if not input.size:
        return np.log(input.sum(over, None, None, keepdim))  # of nothing: -inf
    top = input.max(over, None, True)
    top = np.where(np.isfinite(top), top, 0).astype(input.dtype)
    total = np.log(np.exp(input - top).sum(over, None, None, True)) + top
    return total if keepdim else total.reshape(input.sum(over).shape)
