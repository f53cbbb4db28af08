"""Products: of all elements, over a dimension, cumulative; their derivatives have no division, so elements may be 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import Int, dimension
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import composite, make_inplace_method, no_method, scan_in_place
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import example
from nbautograd._engine.ops.reduction.reduction import accumulated, upcast_half
from nbautograd._engine.ops.reduction.scan import WIDE, moved, recurrence, shifted  # noqa: F401 - formulas name two

# -- cumulative products ---------------------------------------------------------------------------------------------


def _products(a: Any, d: int) -> Any:
    """Return cumulative products, accumulated in double precision."""
    a = row_major(a)
    return a.cumprod(d, WIDE.get(a.dtype.char)).astype(a.dtype) if a.ndim else a.copy()


@no_method(
    node="CumprodBackward0",
    symbol="Π≤",
    input="conj(products_before(input, dim)) * recurrence(g, conj(shifted(input, dim, -1)), dim, True)",
)
def cumprod_over(input: Tensor, dim: int) -> Tensor:
    """Return the cumulative product along ``dim``; its derivative has no division, so elements may be 0."""
    result = _products(input, dimension(dim, input.ndim))
    return result if input.dtype.kind in "fc" else result.astype(np.int64)


@no_method(
    node="CumprodBackward0",
    symbol="Π before",
    input="conj(result) * recurrence(shifted(g, dim, 1 if reverse else -1), "
    "conj(shifted(input, dim, 1 if reverse else -1)), dim, not reverse)",
)
def products_before(input: Tensor, dim: int, reverse: bool = False) -> Tensor:
    """Return the exclusive cumulative product along ``dim``: of all elements before each, with ``reverse`` after it."""
    d = dimension(dim, input.ndim)
    if not input.ndim:
        return np.ones_like(input)
    if reverse:
        return np.flip(moved(_products(np.flip(input, d), d), d, 1, 1), d).copy()
    return moved(_products(input, d), d, 1, 1)


@composite(out=True)
@example("cumprod([1., 2., 3.], dim=0) -> [1., 2., 6.]")
def cumprod(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the cumulative product along ``dim``; int64 for integers and bools."""
    if dtype is not None:
        if dtype is dtypes.bool_ and input._a.ndim:
            raise NotImplementedError("\"cumprod_out_cpu\" not implemented for 'Bool'")
        input = input.to(dtype)
    elif input._a.dtype.kind in "biu":
        input = input.to(dtypes.int64)
    result = cumprod_over(input, dim)
    return result if dtype is None else result.to(dtype)


Tensor.cumprod_ = make_inplace_method("cumprod_", scan_in_place(cumprod))


# -- products of all elements, or over a dimension -----------------------------------------------------------------


@no_method(
    node="ProdBackward0",
    symbol="Π",
    input="g * conj(products_before(input.reshape((-1,)), 0) * products_before(input.reshape((-1,)), 0, True))"
    ".reshape(input.shape)",
)
def prod_all(input: Tensor) -> Tensor:
    """Return the product of all elements; the derivative by each is the product of all elements before and after it."""
    return upcast_half(input).prod().astype(accumulated(input.dtype))


@no_method(
    node="ProdBackward1",
    symbol="Π",
    input="spread(g, input.shape, dim, keepdim) "
    "* conj(products_before(input, dim) * products_before(input, dim, True))",
)
def prod_over(input: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """Return the product over one dimension."""
    d = dimension(dim, input.ndim)
    a = row_major(upcast_half(input).prod(d, None, None, keepdim)) if input.ndim else input.copy()
    return a.astype(accumulated(input.dtype))


@composite(out=True, keeps=True)
@example("prod([2., 3., 4.]) -> tensor(24.)")
def prod(input: Tensor, dim: Int = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the product of all elements or over one dimension; int64 for integers and bools."""
    if dtype is not None:
        input = input.to(dtype)
    result = prod_all(input) if dim is None else prod_over(input, dim, keepdim)
    return result if dtype is None else result.to(dtype)
