"""Element types with PyTorch's names, and its type promotion rules."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from nbautograd._engine.arrays.late_packages import late
from nbautograd.errors import SCALAR_TYPES, DtypeError, kind_of


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
        self.rank = rank  # 0 bool, 1 integer, 2 floating, 3 complex: the category, which promotion compares first
        self.itemsize: int = self.numpy.itemsize
        self.is_complex = rank == 3
        self.is_floating_point = rank == 2
        self.is_signed = self.numpy.kind not in "bu"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _dtype_by_name, (self.name,)

    def to_complex(self) -> dtype:
        """Return the complex dtype of the same precision."""
        return _COMPLEX_OF.get(self.name, complex64 if self.rank < 3 else self)

    def to_real(self) -> dtype:
        """Return the floating dtype of the same precision."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)


class _Bfloat16(dtype):
    """``bfloat16``, which NumPy gets from the package ``ml_dtypes``, imported on first use."""

    __slots__ = ()

    def __init__(self) -> None:
        self.name, self.rank, self.itemsize = "bfloat16", 2, 2
        self.is_complex, self.is_floating_point, self.is_signed = False, True, True

    @property
    def numpy(self) -> np.dtype[Any]:  # type: ignore[override]
        """The NumPy dtype that holds it.

        :raises ImportError: ``ml_dtypes`` is not installed.
        """
        try:
            ml_dtypes = late("ml_dtypes")
        except ImportError as error:
            if sys.platform == "emscripten":
                raise  # its message has the cure for browsers
            raise ImportError(
                "bfloat16 needs the package ml_dtypes, which is not installed. Install it with: pip install ml_dtypes"
            ) from error
        bfloat: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat


bool_ = dtype("bool", "bool", 0)
int8, int16, int32, int64 = (dtype(name, name, 1) for name in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (dtype(name, name, 1) for name in ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = (dtype(name, name, 2) for name in ("float16", "float32", "float64"))
complex64, complex128 = (dtype(name, name, 3) for name in ("complex64", "complex128"))
bfloat16 = _Bfloat16()
_Bfloat16.__name__ = _Bfloat16.__qualname__ = "dtype"

UNSIGNED = (uint16, uint32, uint64)
"""The dtypes that promote only with floating dtypes, as in PyTorch."""
ALL = (
    *(bool_, uint8, int8, int16, int32, int64, *UNSIGNED),
    *(float16, bfloat16, float32, float64, complex64, complex128),
)
PYTHON_TYPES = {bool: bool_, int: int64, float: float64, complex: complex128}
"""Python types that are accepted as dtypes: ``zeros(2, dtype=int)``."""
ALIASES = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
FLOATS_32_64 = (float32.numpy, float64.numpy)
HALVES = (float16, bfloat16)
"""The dtypes that are computed in float32 and rounded afterwards."""
INEXACT = "fcV"
"""The kinds of NumPy dtypes that can carry gradients: floating, complex, and bfloat16 (a kind of its own, V)."""
TENSOR_TYPES = {
    "FloatTensor": float32, "DoubleTensor": float64, "HalfTensor": float16, "BFloat16Tensor": bfloat16,
    "ByteTensor": uint8, "CharTensor": int8, "ShortTensor": int16, "IntTensor": int32, "LongTensor": int64,
    "BoolTensor": bool_, "ComplexFloatTensor": complex64, "ComplexDoubleTensor": complex128,
}  # fmt: skip
"""The names of PyTorch's tensor types."""
C_TYPES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
"""The C++ names of the dtypes, which other messages use."""
_BY_NUMPY = {d.numpy: d for d in ALL if d is not bfloat16}
_NAMES = {d.name: d for d in ALL}
_COMPLEX_OF = {"float32": complex64, "float64": complex128}


def _dtype_by_name(name: str) -> dtype:
    return _NAMES[name]


_by_name = _dtype_by_name  # the name in pickles of older versions
_dtype_by_name.__module__ = "nbautograd"


def as_dtype(value: Any) -> Any:
    """Return the dtype for a Python type; any other value is returned unchanged.

    >>> as_dtype(int), as_dtype(None)
    (torch.int64, None)
    """
    return PYTHON_TYPES.get(value, value) if isinstance(value, type) else value


def scalar_type(kind: dtype | np.dtype[Any]) -> str:
    """Return the name of a dtype in PyTorch's messages, such as ``Float``."""
    return SCALAR_TYPES[(kind if isinstance(kind, dtype) else of(kind)).name]


def c_type(kind: dtype | np.dtype[Any]) -> str:
    """Return the C++ name of a dtype, such as ``float``, which other messages of PyTorch use."""
    return C_TYPES[(kind if isinstance(kind, dtype) else of(kind)).name]


def of(numpy_dtype: np.dtype[Any]) -> dtype:
    """Return the dtype for a NumPy dtype; raise TypeError if none matches (objects, strings, dates, float128, ...)."""
    ours = _BY_NUMPY.get(numpy_dtype) or _BY_NUMPY.get(numpy_dtype.newbyteorder("="))
    if ours is None and numpy_dtype.name == "bfloat16":
        ours = _BY_NUMPY[numpy_dtype] = bfloat16
    if ours is None:
        supported = ", ".join(d.name for d in ALL)
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{numpy_dtype.type.__name__}. The only supported types are: "
            f"{supported}."
        )
    return ours


_default = float32


def get_default_dtype() -> dtype:
    """Return the dtype of tensors made from Python floats.

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
    """Return the smallest dtype that both can be cast to without changing category.

    Within a category the wider wins (uint8 with a signed integer gives the next wider signed one); across categories
    the higher one wins at its own precision, so that ``int64`` with ``float16`` gives ``float16``.

    >>> import nbautograd as torch
    >>> torch.promote_types(torch.int64, torch.float16)
    torch.float16
    """
    type1, type2 = as_dtype(type1), as_dtype(type2)
    for name, value, position in (("type1", type1, 1), ("type2", type2, 2)):
        if not isinstance(value, dtype):
            raise TypeError(
                f"promote_types(): argument '{name}' (position {position}) must be torch.dtype, not {kind_of(value)}"
            )
    if type1 is type2:
        return type1
    if not (type1.is_floating_point or type2.is_floating_point) and (type1 in UNSIGNED or type2 in UNSIGNED):
        raise DtypeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{SCALAR_TYPES[type1.name]} and {SCALAR_TYPES[type2.name]}: convert one of them first, with .to(dtype)"
        )
    both = (type1, type2)
    if type1.rank != type2.rank:
        low, high = sorted(both, key=lambda d: d.rank)
        return complex128 if (low, high) == (float64, complex64) else high
    if bfloat16 in both:  # which NumPy does not know
        return float64 if float64 in both else float32
    return of(np.promote_types(type1.numpy, type2.numpy))


def of_number(value: Any) -> dtype:
    """Return the dtype of a Python number on its own: bool, int64, the default float or its complex dtype."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    if isinstance(value, (complex, np.complexfloating)):
        return _default.to_complex()
    raise TypeError(f"expected a number, but got {kind_of(value)}")


def result_dtype(operands: list[tuple[dtype, int]]) -> dtype:
    """Apply PyTorch's promotion to (dtype, weight) pairs, weight 2 for n-d tensors, 1 for 0-d tensors, 0 for numbers.

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
            # A complex 0-d tensor or number adds its category and keeps the precision.
            floats = group.is_complex and result.is_floating_point
            result = result.to_complex() if floats else promote_types(result, group)
    if result is None:
        raise DtypeError("result_type() needs at least one tensor or number")
    return result


class finfo:  # noqa: N801 - PyTorch's name
    """The limits of a floating dtype (of its parts, for a complex one).

    :param type: the dtype; the default one if None.
    :ivar eps: the difference between 1 and the next larger number.
    :ivar tiny: the smallest positive normal number; also ``smallest_normal``.
    :raises TypeError: the dtype is not floating or complex.

    >>> import nbautograd as torch
    >>> torch.finfo(torch.float16).max
    65504.0
    """

    def __init__(self, type: dtype | None = None) -> None:
        kind = _default if type is None else as_dtype(type)
        if not isinstance(kind, dtype) or kind.rank < 2:
            raise TypeError(f"torch.finfo() requires a floating point input type, got {kind}. Use torch.iinfo for it")
        kind = kind.to_real()
        if kind is bfloat16:
            limits: Any = late("ml_dtypes").finfo(kind.numpy)
        else:
            limits = np.finfo(kind.numpy)
        self.bits = 8 * kind.itemsize
        self.dtype = kind.name
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = float(f"{float(limits.resolution):.0e}")

    def __repr__(self) -> str:
        shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in shown)}, dtype={self.dtype})"


class iinfo:  # noqa: N801 - PyTorch's name
    """The limits of an integer dtype.

    :raises TypeError: the dtype is not an integer dtype.

    >>> import nbautograd as torch
    >>> torch.iinfo(torch.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type: dtype) -> None:
        type = as_dtype(type)
        if not isinstance(type, dtype) or type.rank != 1:
            raise TypeError(f"torch.iinfo() requires an integer input type, got {type}. Use torch.finfo for it")
        limits = np.iinfo(type.numpy)
        self.bits, self.min, self.max, self.dtype = limits.bits, int(limits.min), int(limits.max), type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
