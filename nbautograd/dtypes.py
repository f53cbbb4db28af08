"""Element types with PyTorch's names, and its rules for the type of a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd.errors import DtypeError

__all__ = ["dtype", "get_default_dtype", "promote_types", "set_default_dtype"]


class dtype:  # noqa: N801 - PyTorch's name
    """An element type, such as ``float32``.

    :ivar numpy: the NumPy dtype that holds it.
    :ivar itemsize: bytes per element.

    >>> import nbautograd as torch
    >>> torch.float32, torch.float32.itemsize, torch.float32.is_floating_point
    (torch.float32, 4, True)
    """

    __slots__ = ("is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy", "rank")

    def __init__(self, name: str, numpy_name: str, rank: int) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_name)
        self.rank = rank  # 0 bool, 1 integer, 2 floating, 3 complex: the category that promotion looks at first
        self.itemsize: int = self.numpy.itemsize
        self.is_complex = rank == 3
        self.is_floating_point = rank == 2
        self.is_signed = self.numpy.kind not in "bu"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _by_name, (self.name,)

    def to_complex(self) -> dtype:
        """The complex dtype of the same precision."""
        return _COMPLEX_OF.get(self.name, complex64 if self.rank < 3 else self)

    def to_real(self) -> dtype:
        """The floating dtype of the same precision."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)


bool_ = dtype("bool", "bool", 0)
uint8 = dtype("uint8", "uint8", 1)
int8 = dtype("int8", "int8", 1)
int16 = dtype("int16", "int16", 1)
int32 = dtype("int32", "int32", 1)
int64 = dtype("int64", "int64", 1)
float16 = dtype("float16", "float16", 2)
float32 = dtype("float32", "float32", 2)
float64 = dtype("float64", "float64", 2)
complex64 = dtype("complex64", "complex64", 3)
complex128 = dtype("complex128", "complex128", 3)

ALL = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128)
ALIASES = {
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "cfloat": complex64,
    "cdouble": complex128,
}
_BY_NUMPY = {d.numpy: d for d in ALL}
_NAMES = {d.name: d for d in ALL}
_COMPLEX_OF = {"float32": complex64, "float64": complex128}


def _by_name(name: str) -> dtype:
    return _NAMES[name]


def of(numpy_dtype: np.dtype[Any]) -> dtype:
    """The dtype that a NumPy dtype stands for.

    :raises TypeError: there is none (objects, strings, dates, float128, ...).
    """
    found = _BY_NUMPY.get(numpy_dtype) or _BY_NUMPY.get(numpy_dtype.newbyteorder("="))
    if found is None:
        supported = ", ".join(d.name for d in ALL)
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{numpy_dtype}. The only supported types are: {supported}."
        )
    return found


_default = float32


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats.

    >>> import nbautograd as torch
    >>> torch.get_default_dtype()
    torch.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of tensors made from Python floats.

    :raises TypeError: ``d`` is not a floating dtype.
    """
    global _default
    if not (isinstance(d, dtype) and d.is_floating_point):
        raise TypeError(f"set_default_dtype(): only floating-point dtypes are accepted as the default, but got {d!r}")
    _default = d


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both can be cast to without changing category.

    Within a category the wider wins (uint8 with a signed integer gives the next wider signed one); across categories
    the higher one wins at its own precision, so that ``int64`` with ``float16`` gives ``float16``.

    >>> import nbautograd as torch
    >>> torch.promote_types(torch.int64, torch.float16)
    torch.float16
    """
    if type1 is type2:
        return type1
    if type1.rank != type2.rank:
        low, high = sorted((type1, type2), key=lambda d: d.rank)
        if high is complex64 and low is float64:
            return complex128
        return high
    return of(np.promote_types(type1.numpy, type2.numpy))


def of_number(value: Any) -> dtype:
    """The dtype that a Python number has when nothing else decides: bool, int64, the default float or its complex."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    if isinstance(value, (complex, np.complexfloating)):
        return _default.to_complex()
    raise TypeError(f"expected a number, but got {type(value).__name__}")


def result_dtype(operands: list[tuple[dtype, int]]) -> dtype:
    """PyTorch's promotion over (dtype, weight) pairs, weight 2 for n-d tensors, 1 for 0-d tensors, 0 for numbers.

    A lighter operand changes the result only when it has a higher category than all heavier ones.
    """
    result: dtype | None = None
    for weight in (2, 1, 0):
        group: dtype | None = None
        for d, w in operands:
            if w == weight:
                group = d if group is None else promote_types(group, d)
        if group is None:
            continue
        if result is None:
            result = group
        elif group.rank > result.rank:
            # A complex 0-d tensor or number brings its category and leaves the precision.
            floats = group.is_complex and result.is_floating_point
            result = result.to_complex() if floats else promote_types(result, group)
    if result is None:
        raise DtypeError("result_type() needs at least one tensor or number")
    return result
