"""Internal operations of derivative formulas: unbroadcasting (sum_to), expanding a reduced gradient (spread), casts.

They are declared like all others, so that they also have derivatives.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import dimensions
from nbautograd._engine.arrays.strides import copied
from nbautograd._engine.arrays.summation import ONES, broadcast_axes, pairwise_mean, pairwise_sum, upcast_half
from nbautograd._engine.compiler.op import NATIVE, PLAIN, POINTWISE, no_method, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.fusion.tiling import sum_on_device

__all__ = [
    "added", "axes", "cast", "complex_array", "count", "highest", "not_implemented", "pairwise_mean", "pairwise_sum",
    "ratio", "reduced_shape", "refuse_derivative", "spread", "sum_to", "summed", "under_node", "upcast_half",
]  # fmt: skip


def reduced_shape(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """Return the shape after reducing ``dim`` with ``keepdim=True``."""
    if dim is None:
        return (1,) * len(shape)
    gone = dimensions(dim, len(shape))
    return tuple(1 if d in gone else n for d, n in enumerate(shape))


def axes(dim: Any, ndim: int) -> Any:
    """Return ``dim`` as NumPy's ``axis``: None for all dimensions, else a tuple of non-negative ints."""
    return None if dim is None else dimensions(dim, ndim)


def count(shape: tuple[int, ...], dim: Any) -> int:
    """Return the number of elements reduced to one."""
    return math.prod(shape) if dim is None else math.prod(shape[d] for d in dimensions(dim, len(shape)))


def added(*terms: Any) -> Any:
    """Return the sum of several gradients, where None stands for undefined; None if all are."""
    defined = [term for term in terms if term is not None]
    return sum(defined[1:], defined[0]) if defined else None


def not_implemented(what: str) -> NoReturn:
    """Raise in a backward pass: the derivative is not implemented."""
    raise NotImplementedError(f"the derivative for '{what}' is not implemented. Detach that argument")


def refuse_derivative(name: str) -> NoReturn:
    """Raise in a backward pass, for an operation whose derivative PyTorch does not have either."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented")


def ratio(g: Any, result: Any) -> Any:
    """Return ``g / result``, but 0 where ``result`` is 0."""
    safe = result + (result == 0)
    return g / safe * (result != 0)


def highest(a: Any, axes: Any = None, keepdims: bool = False) -> Any:
    """Return the maximum over ``axes``, all by default; faster than NumPy's method."""
    if a.__class__ is not np.ndarray:
        return a.max(axes, None, keepdims)
    return np.maximum.reduce(a, axes, None, None, keepdims)


def summed(function: Any, operands: tuple[Any, ...], axes: Any = None, keepdims: bool = False) -> Any:
    """Sum the values of ``function`` for each element over ``axes``, all by default; on a device by one kernel.

    >>> summed(np.square, (np.array([3.0, 4.0]),)).item()
    25.0
    """
    if operands[0].__class__ is not np.ndarray:
        total = sum_on_device(function, operands, axes, keepdims)
        if total is not None:
            return total
    return pairwise_sum(function(*operands), axes, keepdims)


def complex_array(real: Any, imag: Any) -> Any:
    """Return a complex array of two parts; infinite parts stay infinite (``real + 1j * imag`` gives nan)."""
    shape = np.broadcast_shapes(real.shape, imag.shape)
    kind, same = dtypes.of(real.dtype).to_complex().numpy, real.shape == shape and 0 not in real.strides
    output = np.empty_like(real, dtype=kind, shape=shape, order="K" if same else "C")
    output.real[...] = real
    output.imag[...] = imag
    return output


# -- operations of formulas ------------------------------------------------------------------------------------------


@no_method(kind=POINTWISE)
def zeros_of(input: Tensor) -> Tensor:
    """Return zeros of the input's shape and dtype: the gradient of a function whose derivative is 0."""
    return np.zeros_like(input)


@no_method(node="SumToSizeBackward0", symbol="Σ", input="expand(g, *input.shape)")
def sum_to(input: Tensor, shape: Any) -> Tensor:
    """Sum over the dimensions along which ``shape`` was broadcast: the transpose of broadcasting."""
    if input.shape == shape:
        return input.copy()
    if input.ndim == 2 and len(shape) == 1 and input.__class__ is np.ndarray:
        ones = ONES.get(input.dtype)
        if ones is not None and len(input) <= len(ones) and input.shape[1:] == shape and input.flags.c_contiguous:
            return ones[: len(input)].dot(input)  # three times faster: the gradient of nearly every bias
    return pairwise_sum(input, broadcast_axes(input.shape, tuple(shape)), True).reshape(shape)


@no_method(node="ToCopyBackward0", symbol="cast", half=NATIVE, input="cast_back(g, input.dtype)")
def cast(input: Tensor, dtype: Any) -> Tensor:
    """Return the tensor cast to a NumPy dtype."""
    return copied(input, dtype) if 0 in input.strides else input.astype(dtype)


@no_method(node="ToCopyBackward0", symbol="cast", half=NATIVE, input="cast_back(g, input.dtype)")
def cast_back(input: Tensor, dtype: Any) -> Tensor:
    """Return a gradient cast to the dtype of its input: the real part if the input is real."""
    if input.dtype.kind == "c" and dtype.kind != "c":
        input = input.real
    return input.astype(dtype)


@no_method(node="ExpandBackward0", symbol="spread", kind=PLAIN, input="sum_over(g, dim, keepdim).reshape(input.shape)")
def spread(input: Tensor, shape: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Transpose a sum over ``dim``: expand along the reduced dimensions, without copying where possible."""
    if input.ndim == 0 and input.__class__ is not np.ndarray and isinstance(input, np.generic):
        # the scalar itself is shared
        return np.ndarray(shape, input.dtype, np.asarray(input), 0, (0,) * len(shape)) if shape else input
    kept = input if keepdim else input.reshape(reduced_shape(shape, dim))
    if kept.__class__ is np.ndarray and kept.flags.c_contiguous:
        strides = tuple(s if n == m else 0 for s, n, m in zip(kept.strides, kept.shape, shape, strict=True))
        return np.ndarray(shape, kept.dtype, kept, 0, strides)
    return np.broadcast_to(kept, shape)


def under_node(function: Any, node: str, name: str) -> Any:
    """Declare an operation once more, with another node: PyTorch names its nodes by the function that is called."""
    declaration = function.__globals__["OP"]
    options = declaration.options | {"node": node, "name": name}
    return op(method=False, inplace_method=False, **options, **declaration.formulas)(declaration.body)
