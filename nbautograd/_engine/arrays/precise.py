"""Elementary functions that give the same numbers on every processor.

NumPy chooses its kernels by the processor, and those for float32 have errors of up to three units in the last place
(ulp): with AVX-512, ``log10(100)`` is 2.0000002. Here float32 is computed in float64 and rounded, complex64 in
complex128. The result is the float32 nearest to the true value, except in about one of 10⁸ cases, where the true value
is nearly halfway between two; so processors agree, and exact results are returned exactly.

float64 uses NumPy's own kernels, with errors of about 1 ulp if vectorized. If NumPy calls the C library, and that is
worse, functions use the 80 bits of x87's long double, if available. ``docs/accuracy.md`` lists errors and costs.

Each function is called like NumPy's, with an output array as ``out``, by name or last. Arrays of other libraries are
computed by these, unchanged.

>>> log10(np.array([10, 100, 1000], np.float32)).tolist()
[1.0, 2.0, 3.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays.cpu_features import has_kernels
from nbautograd._engine.arrays.late_packages import late
from nbautograd._engine.arrays.strides import copied, empty_as

FUNCTIONS: dict[str, Precise] = {}
"""All of them by NumPy's names, for generated code, which calls ``precise.name``."""

_WIDER: dict[Any, np.dtype[Any]] = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}
_EXTENDED: dict[Any, np.dtype[Any]] = _WIDER | (
    # On other processors long double is either float64 itself or computed by software, a thousand times slower.
    {np.dtype(np.float64): np.dtype(np.longdouble)} if np.finfo(np.longdouble).nmant == 63 else {}
)
_NUMBERS = (np.generic, int, float, complex)
MIN_BUFFERED_SIZE = 1 << 13
"""Minimum number of elements that NumPy casts in pieces that fit into the cache, not all at once."""


class Precise:
    """One of NumPy's elementwise functions, computed in a wider dtype and rounded."""

    __slots__ = ("__name__", "nin", "nout", "of_complex", "types", "ufunc", "wider")

    def __init__(
        self, ufunc: np.ufunc, wider: dict[Any, np.dtype[Any]], of_complex: Callable[[Any], Any] | None = None
    ) -> None:
        self.__name__, self.nin, self.nout, self.types = ufunc.__name__, ufunc.nin, ufunc.nout, ufunc.types
        self.ufunc, self.wider, self.of_complex = ufunc, wider, of_complex
        FUNCTIONS[ufunc.__name__] = self

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Compute the ufunc of the operands, into ``out`` if given."""
        if out is None and len(operands) == 1:  # the usual case, at once
            a = operands[0]
            if a.__class__ is np.ndarray and (self.of_complex is None or a.dtype.kind != "c"):
                to = self.wider.get(a.dtype)
                if to is None:
                    return self.ufunc(a)
                if a.size < MIN_BUFFERED_SIZE:
                    return self.ufunc(a, dtype=to).astype(a.dtype)
                return self.ufunc(a, empty_as(a), dtype=to, casting="same_kind")
        if len(operands) > self.nin:
            *operands, out = operands  # type: ignore[assignment]
        wide: Any = None
        dtype: Any = None
        for operand in operands:
            if operand.__class__ is not np.ndarray and not isinstance(operand, _NUMBERS):
                break
        else:
            dtype = getattr(operands[0], "dtype", None)
            if self.nin == 2 and (dtype is None or getattr(operands[1], "dtype", None) is not dtype):
                dtype = np.result_type(*operands)
            wide = self.wider.get(dtype)
            if self.of_complex is not None and dtype.kind == "c":
                result = self.of_complex(*operands)
                return result if out is None else np.positive(result, out)
        if wide is None:
            return self.ufunc(*operands) if out is None else self.ufunc(*operands, out)
        if out is not None:
            return self.ufunc(*operands, out, dtype=wide, casting="same_kind")  # in pieces that fit into the cache
        result = self.ufunc(*operands, dtype=wide)
        return result.astype(dtype) if result.__class__ is np.ndarray else dtype.type(result)


def widened(a: Any) -> Any:
    """Return an array in the dtype to compute in: float32 as float64, complex64 as complex128."""
    wide = _WIDER.get(a.dtype) if isinstance(a, (np.ndarray, np.generic)) else None
    return a if wide is None else copied(a, wide)


def _absolute(z: Any) -> Any:
    """Return the absolute value; NumPy's own has errors of up to 1.4 ulp."""
    return hypot(z.real, z.imag)


def _log1p(z: Any) -> Any:
    """Compute log1p by SciPy, in twice the precision; NumPy's own has no correct digit near 0."""
    result = late("scipy.special").log1p(widened(z))
    return result.astype(z.dtype) if result.__class__ is np.ndarray else z.dtype.type(result)


absolute = Precise(np.absolute, {}, _absolute)
exp, exp2, expm1 = (Precise(ufunc, _WIDER) for ufunc in (np.exp, np.exp2, np.expm1))
log, log2 = (Precise(ufunc, _WIDER) for ufunc in (np.log, np.log2))
log1p = Precise(np.log1p, _WIDER, _log1p)
sin, cos, tan = (Precise(ufunc, _WIDER) for ufunc in (np.sin, np.cos, np.tan))
arcsin, arccos, arctan = (Precise(ufunc, _WIDER) for ufunc in (np.arcsin, np.arccos, np.arctan))
arcsinh, arccosh = (Precise(ufunc, _WIDER) for ufunc in (np.arcsinh, np.arccosh))
arctan2, hypot, power = (Precise(ufunc, _WIDER) for ufunc in (np.arctan2, np.hypot, np.power))
logaddexp, logaddexp2 = (Precise(ufunc, _WIDER) for ufunc in (np.logaddexp, np.logaddexp2))
log10, sinh, cosh, arctanh = (
    Precise(ufunc, _WIDER if has_kernels("AVX512_SKX", "X86_V4") else _EXTENDED)
    for ufunc in (np.log10, np.sinh, np.cosh, np.arctanh)
)
tanh = Precise(np.tanh, _WIDER if has_kernels("AVX2", "X86_V3") else _EXTENDED)
