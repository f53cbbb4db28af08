"""``torch._foreach_*``: one operation on each tensor of a list, as optimizers call them.

PyTorch computes them in fewer kernels. Here they are loops, for compatibility with code that calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg.matmul import mm
from nbautograd.errors import kind_of

_UNARY = """
    abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 max neg reciprocal
    round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"""
_BINARY = {
    **{name: name for name in ("add", "sub", "mul", "div", "clamp_min", "clamp_max", "pow")},
    "maximum": "clamp_min",  # which also accept numbers
    "minimum": "clamp_max",
}


def _each(name: str, step: Callable[..., Tensor], tensors: Any, *operands: Any) -> Any:
    """Call ``step`` with each tensor and its element of each list among the operands.

    :returns: the results in a tuple; ``tensors`` for in-place functions.
    """
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not {kind_of(tensors)}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {index} in argument 0, but got {kind_of(tensor)}")
    rows = [_spread(name, operand, len(tensors), position) for position, operand in enumerate(operands, 1)]
    results = tuple(step(*row) for row in zip(tensors, *rows, strict=True))
    return tensors if name.endswith("_") else results


def _spread(name: str, operand: Any, count: int, position: int) -> Any:
    """Return an operand for each of ``count`` tensors: elements of a list, or the same number or 0-d tensor for all."""
    if isinstance(operand, (list, tuple)):
        if len(operand) != count:
            if any(isinstance(each, Tensor) for each in operand):
                raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(operand)}")
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return operand
    if isinstance(operand, Tensor) and operand.ndim:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {operand.ndim} dimensions and {operand.numel()} elements."
        )
    if not isinstance(operand, (Tensor, int, float, complex)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: argument {position + 1} must be tuple of Tensors, "
            f"tuple of Numbers, Tensor or Number, not {kind_of(operand)}"
        )
    return [operand] * count


def _one_of(name: str, function: str, operands: tuple[Any, ...]) -> Any:
    """Return the operand passed by one of its names."""
    named = [operand for operand in operands if operand is not None]
    if len(named) != 1:
        raise TypeError(f"{function}() takes one operand besides its tensors ({name}), but got {len(named)}")
    return named[0]


def _unary(name: str) -> Callable[..., Any]:
    def function(self: Any) -> Any:
        return _each(f"_foreach_{name}", getattr(Tensor, name), self)

    function.__doc__ = f"Compute ``{name}`` of each tensor."
    return function


def _binary(name: str) -> Callable[..., Any]:
    method_name = _BINARY[name.removesuffix("_")] + "_" * name.endswith("_")

    def function(
        self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None, exponent: Any = None, alpha: Any = 1
    ) -> Any:
        full = f"_foreach_{name}"
        operand = _one_of("other, scalar, scalars or exponent", full, (other, scalar, scalars, exponent))
        if name == "pow" and not isinstance(self, (list, tuple)):  # a number to the power of each tensor
            return _each(full, lambda x: self**x, operand)
        if alpha != 1:
            if isinstance(operand, (list, tuple)) and not isinstance(operand[0], Tensor):
                raise TypeError(f"expected Tensor as element 0 in argument 1, but got {kind_of(operand[0])}")
            return _each(full, lambda x, y: getattr(x, method_name)(y, alpha=alpha), self, operand)
        return _each(full, lambda x, y: getattr(x, method_name)(y), self, operand)

    function.__doc__ = f"Compute ``{name}`` of each tensor and a number, a 0-d tensor, or its element of a list."
    return function


def _ternary(name: str) -> Callable[..., Any]:
    def function(self: Any, tensor1: Any, tensor2: Any, value: Any = None, *, scalars: Any = None) -> Any:
        factors = 1 if value is None and scalars is None else value if scalars is None else scalars
        if isinstance(factors, Tensor) and factors.ndim == 1:
            factors = factors.tolist()
        step = lambda x, a, b, factor: getattr(x, name)(a, b, value=factor)  # noqa: E731
        return _each(f"_foreach_{name}", step, self, tensor1, tensor2, factors)

    function.__doc__ = f"Compute ``{name}`` of each tensor and its elements of two lists, with one or several factors."
    return function


def _lerp(name: str) -> Callable[..., Any]:
    def function(self: Any, tensors1: Any, weights: Any = None, *, weight: Any = None) -> Any:
        step = lambda x, end, part: getattr(x, name)(end, part)  # noqa: E731
        return _each(f"_foreach_{name}", step, self, tensors1, _one_of("weight", name, (weights, weight)))

    function.__doc__ = f"Compute ``{name}`` of each tensor towards its element of a list."
    return function


def _foreach_norm(self: Any, ord: float = 2, dtype: dtypes.dtype | None = None) -> Any:
    """Compute the vector norm of each tensor."""
    from nbautograd._engine.ops.reduction.norms import linalg_vector_norm

    return _each("_foreach_norm", lambda x: linalg_vector_norm(x, ord, dtype=dtype), self)


def _foreach_powsum(self: Any, ord: float = 2, dtype: dtypes.dtype | None = None) -> Any:
    """Compute the sum of each tensor's absolute values to the power ``ord``."""
    return _each("_foreach_powsum", lambda x: (x if dtype is None else x.to(dtype)).abs().pow(ord).sum(), self)


def _foreach_mm(self: Any, mat2: Any) -> Any:
    """Compute the matrix product of each tensor and its element of a list."""
    return _each("_foreach_mm", mm, self, mat2)


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copy each tensor's element of a list into it."""
    return _each("_foreach_copy_", lambda x, y: x.copy_(y), self, src)


def _foreach_zero_(self: Any) -> Any:
    """Fill each tensor with zeros."""
    return _each("_foreach_zero_", lambda x: x.zero_(), self)


def _declare(make: Callable[[str], Callable[..., Any]], *names: str) -> None:
    """Make functions of lists of tensors."""
    for name in names:
        function = make(name)
        function.__name__ = function.__qualname__ = f"_foreach_{name}"
        globals()[function.__name__] = function


_declare(_unary, *_UNARY.split(), *(f"{_name}_" for _name in _UNARY.split() if _name not in ("clone", "max")))
_declare(_binary, *_BINARY, *(f"{_name}_" for _name in _BINARY))
_declare(_ternary, "addcmul", "addcdiv", "addcmul_", "addcdiv_")
_declare(_lerp, "lerp", "lerp_")
