"""Tracing of elementwise functions: a function is called with symbolic arrays, and its steps are recorded.

A body, a formula and an update rule are Python over arrays. Called with symbolic arrays, which have a dtype but neither
shape nor values, they compute nothing: each ufunc becomes a step. So branches on a dtype or an option run as usual,
helper functions are traced, and every dtype follows NumPy's promotion.

>>> program = KernelProgram()
>>> g, r = program.input("g", np.dtype("f4")), program.input("r", np.dtype("f4"))
>>> result = g * (1 - r)
>>> [(step.name, step.function) for step in program.steps], result.name
([('t0', 'subtract'), ('t1', 'multiply')], 't1')
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from nbautograd._engine.arrays.summation import is_half


class NotFusable(Exception):  # noqa: N818 - a way out
    """An error for a function that does more than compute each element from those of its operands."""


class NeedsValue(NotFusable):
    """An error for a function that reads the value of a number; ``names`` are those of numbers that are operands."""

    def __init__(self, what: str, names: Iterable[str] = ()) -> None:
        super().__init__(what)
        self.names = frozenset(names)


Operand = Any
"""A symbolic array's name, or a number."""


class KernelStep(NamedTuple):
    """One operation on each element."""

    name: str
    """The name of the result."""
    function: str
    """The name of a ufunc, or ``where``, ``real``, ``imag``, ``cast``."""
    operands: list[tuple[Operand, np.dtype[Any]]]
    """The operands, each with its dtype."""
    loop: tuple[np.dtype[Any], ...]
    """The dtypes of the operands in the computation."""
    dtype: np.dtype[Any]
    """The dtype of the result."""


class KernelProgram:
    """The steps of a function, in order of computation."""

    def __init__(self) -> None:
        self.steps: list[KernelStep] = []
        self.inputs: list[Symbol] = []
        self.is_row_major = False
        """True if the function inspects the memory order of elements, for example to make it row-major."""

    def input(self, name: str, dtype: np.dtype[Any], is_number: bool = False, writable: bool = False) -> Symbol:
        """Return a symbolic operand: an array, or a number, whose dtype yields to that of arrays."""
        symbol = Symbol(self, name, dtype, is_number, writable)
        self.inputs.append(symbol)
        return symbol

    def step(
        self, function: str, operands: list[Any], loop: tuple[Any, ...], dtype: np.dtype[Any], is_number: bool = False
    ) -> Symbol:
        """Append a step and return its result."""
        named = [
            (operand.name, operand.dtype) if isinstance(operand, Symbol) else (operand, kind)
            for operand, kind in zip(operands, loop, strict=True)
        ]
        name = f"t{len(self.steps)}"
        self.steps.append(KernelStep(name, function, named, loop, dtype))
        return Symbol(self, name, dtype, is_number, True)

    def ufunc(self, ufunc: np.ufunc, operands: list[Any], dtype: Any = None) -> Symbol:
        """Append the step of a ufunc, in the dtypes that NumPy would choose."""
        if ufunc.nout != 1 or len(operands) != ufunc.nin:
            raise NotFusable(ufunc.__name__)
        symbols = [x for x in operands if isinstance(x, Symbol)]
        if all(x.is_number for x in symbols):
            if ufunc.__name__ not in ("add", "subtract", "multiply", "negative"):
                raise NeedsValue(ufunc.__name__, [x.name for x in symbols])
            double = np.dtype(np.float64)
            return self.step(ufunc.__name__, operands, (double,) * len(operands), double, True)
        _check_power(ufunc.__name__, operands[-1])
        chosen: Any = {} if dtype is None else {"signature": (*(None,) * ufunc.nin, np.dtype(dtype))}
        try:
            *loop, result = ufunc.resolve_dtypes((*map(_kind, operands), None), **chosen)
        except TypeError as error:
            raise NotFusable(str(error)) from None
        if any(map(is_half, loop)):
            raise NotFusable("arithmetic in half precision")
        return self.step(ufunc.__name__, operands, tuple(loop), result)


def _check_power(function: str, exponent: Any) -> None:
    if function in ("power", "float_power") and isinstance(exponent, Symbol) and exponent.is_number:
        raise NeedsValue(function, [exponent.name])  # the code of a square differs from that of a root


def _kind(operand: Any) -> Any:
    """Return the operand's representative in promotion: its dtype, or the class of a number."""
    if isinstance(operand, Symbol):
        return float if operand.is_number else operand.dtype
    if isinstance(operand, np.generic):
        return operand.dtype
    if operand.__class__ is bool:
        return np.dtype(np.bool_)
    if operand.__class__ in (int, float, complex):
        return operand.__class__
    raise NotFusable(f"an operand of class {operand.__class__.__name__}")


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of which only the dtype is known, with the interface of CuPy's arrays for single elements."""

    __slots__ = ("dtype", "is_number", "name", "program", "writable")
    __hash__ = object.__hash__

    def __init__(
        self, program: KernelProgram, name: str, dtype: np.dtype[Any], is_number: bool, writable: bool
    ) -> None:
        self.program, self.name, self.dtype, self.is_number, self.writable = program, name, dtype, is_number, writable

    size = sys.maxsize
    """Functions that branch on the size take the branch for large arrays."""

    strides = ()
    """A copy of an array that is broadcast would have the same elements."""

    @property
    def flags(self) -> SimpleNamespace:
        """Not contiguous, so that functions request a row-major copy if the result must be row-major."""
        self.program.is_row_major = True
        return SimpleNamespace(c_contiguous=False, f_contiguous=False)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        out, dtype = options.pop("out", None), options.pop("dtype", None)
        options.pop("casting", None)
        if method != "__call__" or options:
            raise NotFusable(f"{ufunc.__name__}.{method} with {sorted(options)}")
        result = self.program.ufunc(ufunc, list(operands), dtype)
        return result if out is None else out[0].write(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known = FUNCTIONS.get(function)
        if known is None:
            raise NotFusable(getattr(function, "__name__", str(function)))
        try:
            return known(*args, **kwargs)
        except TypeError as error:  # an unsupported argument
            raise NotFusable(str(error)) from None

    def write(self, value: Any) -> Symbol:
        """Give the array another value, as ``out=`` and ``+=`` do, unless it is an operand, which is only read."""
        if not self.writable:
            raise NotFusable(f"{self.name} is written to")
        self.name = value.astype(self.dtype).name
        return self

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        """Return the array cast to another dtype."""
        kind = np.dtype(dtype)
        if kind == self.dtype and not self.is_number:
            return self.copy()
        return self.program.step("cast", [self], (kind,), kind)

    def copy(self) -> Symbol:
        """Return another array of the same value."""
        return Symbol(self.program, self.name, self.dtype, self.is_number, True)

    @property
    def real(self) -> Any:
        """The real part."""
        return self if self.dtype.kind != "c" else self.program.step("real", [self], (self.dtype,), _real(self.dtype))

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        if self.dtype.kind != "c":
            return zeros_like(self)
        return self.program.step("imag", [self], (self.dtype,), _real(self.dtype))

    def conj(self) -> Any:
        """Return the complex conjugate."""
        return np.conjugate(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is not Ellipsis:
            if not isinstance(key, Symbol) or key.dtype.kind != "b":
                raise NotFusable("an index")
            value = where(key, value, self)
        self.write(value if isinstance(value, Symbol) else full_like(self, value))

    def _look(self, *_: Any) -> NoReturn:
        raise NeedsValue("a look at a value", [self.name]) if self.is_number else NotFusable("a look at a value")

    __bool__ = __float__ = __int__ = __index__ = __complex__ = __len__ = __iter__ = _look
    __getitem__ = item = __array__ = _look

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotFusable(f"an array's {name}")


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{dtype.itemsize // 2}")


# -- functions that are no ufuncs --------------------------------------------------------------------------------------


def where(condition: Any, a: Any, b: Any) -> Symbol:
    """Compute ``np.where``."""
    symbol = next(x for x in (condition, a, b) if isinstance(x, Symbol))
    kinds = [0.0 if isinstance(x, Symbol) and x.is_number else getattr(x, "dtype", x) for x in (a, b)]
    if not all(isinstance(kind, (np.dtype, bool, int, float, complex)) for kind in kinds):
        raise NotFusable("where")
    dtype = np.result_type(*kinds)
    return symbol.program.step("where", [condition, a, b], (np.dtype(np.bool_), dtype, dtype), dtype)


def full_like(a: Any, value: Any, dtype: Any = None, shape: Any = ()) -> Symbol:
    """Compute ``np.full_like``; a single element represents an array."""
    if shape != ():
        raise NotFusable("an array of another shape")
    kind = a.dtype if dtype is None else np.dtype(dtype)
    return a.program.step("cast", [value], (kind,), kind)  # type: ignore[no-any-return]


def zeros_like(a: Any, dtype: Any = None, shape: Any = ()) -> Symbol:
    """Compute ``np.zeros_like``."""
    return full_like(a, 0, dtype, shape)


def ones_like(a: Any, dtype: Any = None, shape: Any = ()) -> Symbol:
    """Compute ``np.ones_like``."""
    return full_like(a, 1, dtype, shape)


def clip(a: Any, low: Any, high: Any, out: Any = None) -> Any:
    """Compute ``np.clip``."""
    result = np.minimum(np.maximum(a, low), high)
    return result if out is None else out.write(result)


def sinc(x: Any) -> Any:
    """Compute ``np.sinc``: sin(πx) / πx, and 1 at 0."""
    y = math.pi * where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Compute ``np.nan_to_num`` of real numbers."""
    if x.dtype.kind == "c":
        raise NotFusable("nan_to_num of complex numbers")
    if x.dtype.kind != "f":
        return x.copy()
    limits = np.finfo(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    return where(x != x, nan, where(x == np.inf, high, where(x == -np.inf, low, x)))


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.where: where, np.full_like: full_like, np.zeros_like: zeros_like, np.ones_like: ones_like, np.clip: clip,
    np.sinc: sinc, np.nan_to_num: nan_to_num,
    np.real: lambda a: a.real,
    np.imag: lambda a: a.imag,
    np.copy: lambda a: a.copy(),
}  # fmt: skip
