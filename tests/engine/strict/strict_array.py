"""``StrictArray``: an array that allows what CuPy's allows and nothing more, for machines without CUDA.

It proves dispatch and nothing more: that the operations reach arrays through the arrays' own protocols, with names and
keywords that CuPy has, that no NumPy array leaks in, and that nothing counts on a reduction giving a scalar. It
computes with NumPy, so it says nothing about CUDA's results, speed, order of summation or errors.

Known differences from CuPy: it is stricter with indices (CuPy would copy a list or a NumPy array to the device, which
costs a wait), and with ufunc methods (``reduce`` and others raise; CuPy has some). Names and parameters are those of a
real CuPy; the values of a parameter are checked only by a test below.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.arrays import precise
from nbautograd._engine.arrays.device import TYPES

__all__ = ["StrictArray"]

TYPES.add("strict")  # so that tests can name the device before anything is on it


def _words(text: str) -> list[str]:
    return text.split()


TABLE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "cupy_names.json").read_text())
"""The names in CuPy, from a real wheel of it: see ``test_cupy_names.py``."""

UFUNCS = frozenset(name for name, parameters in TABLE["numpy"].items() if parameters == "ufunc")
FUNCTIONS = {name: parameters for name, parameters in TABLE["numpy"].items() if parameters != "ufunc"}
"""The functions of CuPy that NumPy dispatches to, with their parameters (``*`` and ``**``: any)."""

DOORS = ("arange", "array", "asarray", "empty", "eye", "full", "identity", "linspace", "ones", "tri", "zeros")
"""The functions that make arrays."""

OPERATORS = _words("""
    add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul neg pos abs invert
    and rand or ror xor rxor lshift rlshift rshift rrshift eq ne lt le gt ge
""")
AUGMENTED = _words("iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift")  # CuPy has no imatmul

SUPPORTED = frozenset("?bBhHiIlLqQefdFD")  # CuPy's dtypes, as NumPy's type characters
AT_DTYPES = frozenset("iqIQefd")  # dtypes of atomic addition: no complex, no bool, no small integers


def _host(value: Any, what: str) -> Any:
    """The NumPy array inside, for computing; operands that CuPy would reject raise."""
    if isinstance(value, StrictArray):
        return value._v
    if isinstance(value, np.ndarray):
        raise TypeError(f"{what}: Unsupported type {type(value)}: a NumPy array meets an array of another device")
    return value


def _deep(value: Any, what: str) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_deep(item, what) for item in value)
    return _host(value, what)


def _made(result: Any, sources: tuple[Any, ...] = ()) -> Any:
    """A result as CuPy gives it: an array even where NumPy gives a scalar, its base the array whose memory it shows."""
    if isinstance(result, (np.ndarray, np.generic)):
        for source in sources:
            if isinstance(source, StrictArray) and result is source._v:
                return source
        made = StrictArray(np.asarray(result))
        if isinstance(result, np.ndarray) and result.base is not None:
            for source in sources:
                if isinstance(source, StrictArray) and np.may_share_memory(result, source._v):
                    made.base = source if source.base is None else source.base
        return made
    if isinstance(result, (tuple, list)):
        made_items = [_made(item, sources) for item in result]
        return type(result)(*made_items) if hasattr(result, "_fields") else type(result)(made_items)
    return result


def _check(name: str, parameters: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    known = parameters.split()
    surplus = set() if "**" in known else set(kwargs) - set(known)
    if surplus:
        raise TypeError(f"{name}() got an unexpected keyword argument {min(surplus)!r}: CuPy has it not")
    if "*" not in known and len(args) > len(known):
        raise TypeError(f"{name}() takes {len(known)} arguments in CuPy, not {len(args)}")
    if kwargs.get("kind") not in (None, "stable"):
        raise ValueError("kind can only be None or 'stable'")


def _flat(values: Any) -> tuple[Any, ...]:
    """Return the arrays among the arguments, including those in lists."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, (tuple, list)):
            found.extend(_flat(value))
        else:
            found.append(value)
    return tuple(found)


def _call(
    name: str, function: Callable[..., Any], parameters: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    _check(name, parameters, args, kwargs)
    with np.errstate(all="ignore"):  # CuPy never warns
        result = function(*_deep(args, name), **{key: _deep(value, name) for key, value in kwargs.items()})
    return _made(result, _flat((*args, *kwargs.values())))


def _call_scipy(name: str, function: Callable[..., Any], parameters: str, *args: Any, **kwargs: Any) -> Any:
    if name.startswith("special.") and args[0].dtype == np.float32:  # as on the CPU, so that results can be compared
        wide = [a.astype(np.float64) if isinstance(a, StrictArray) else a for a in args]
        return _call_scipy(name, function, parameters, *wide, **kwargs).astype(np.float32)
    return _call(name, function, "* out dtype" if parameters == "ufunc" else parameters, args, kwargs)


def _index(key: Any, shape: tuple[int, ...]) -> Any:
    """An index, in which lists and NumPy arrays raise; integers in arrays wrap around where out of range."""
    items = key if isinstance(key, tuple) else (key,)
    taken = sum(1 if _is_whole(item) else item.ndim if isinstance(item, StrictArray) else 0 for item in items)
    d, found = 0, []
    for item in items:
        if isinstance(item, StrictArray):
            if item._v.dtype.kind not in "iub":
                raise IndexError(f"arrays used as indices must be of integer or boolean type, not {item._v.dtype}")
            found.append(item._v if item._v.dtype.kind == "b" else _wrapped(item, shape[d] if d < len(shape) else 0)._v)
        elif item is None or item is Ellipsis or isinstance(item, (int, np.integer, slice)):
            found.append(item)
        else:
            raise IndexError(f"a {type(item).__name__} as an index of an array of another device")
        if item is Ellipsis:
            d = len(shape) - (taken - d)
        elif _is_whole(item):
            d += 1
        elif isinstance(item, StrictArray):
            d += item.ndim
    return tuple(found) if isinstance(key, tuple) else found[0]


def _is_whole(item: Any) -> bool:
    """Return whether a part of an index is for one dimension (a mask is for as many as it has)."""
    numbers = isinstance(item, StrictArray) and item._v.dtype.kind != "b"
    return numbers or isinstance(item, (int, np.integer, slice)) and not isinstance(item, bool)


def _wrapped(index: Any, n: int) -> Any:
    """Integers brought into the range of ``n`` elements, as CuPy silently does."""
    if not n or not isinstance(index, StrictArray) or index._v.dtype.kind not in "iu":
        return index
    return StrictArray(np.asarray(index._v % np.asarray(n, np.int64)))


class Flags(NamedTuple):
    """CuPy's flags of an array's memory; there is no ``writeable``, neither to read nor to set."""

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool


class Memory(NamedTuple):
    """The address of an array's first element."""

    ptr: int


SYNCS: list[str] = []
"""Every wait of the host for the device, with its reason."""
FETCHED: list[int] = []
"""The number of bytes of each copy to the host."""


class StrictArray:
    """An array with CuPy's interface and NumPy's numbers; the module's docstring states the limits of this proof."""

    __slots__ = ("__weakref__", "_v", "base")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        if values.dtype.char not in SUPPORTED:
            raise ValueError(f"Unsupported dtype {values.dtype}")
        if not values.flags.writeable:  # NumPy's diagonal, broadcast_to and windows; on a GPU nothing is read-only
            with suppress(ValueError):
                values.flags.writeable = True
        self._v = values
        self.base: StrictArray | None = None

    # What NumPy asks for.

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        if name not in UFUNCS or method != "__call__":
            raise TypeError(f"CuPy has no {name}{'' if method == '__call__' else '.' + method}")
        if set(kwargs) - {"out", "dtype", "casting"}:
            raise TypeError(f"Wrong arguments {sorted(kwargs)} of {name}")
        for value in (*inputs, *kwargs.get("out", ())):
            if not isinstance(value, (StrictArray, bool, int, float, complex, np.generic)):
                raise TypeError(f"Unsupported type {type(value)} for {name}")
        given = {key: _deep(value, name) for key, value in kwargs.items()}
        with np.errstate(all="ignore"):
            if set(given) <= {"out"} and name in precise.FUNCTIONS:  # as on the CPU, so that results can be compared
                (out,) = given.get("out", (None,))
                result = precise.FUNCTIONS[name](*_deep(inputs, name), out=out)
            else:
                result = ufunc(*_deep(inputs, name), **given)
        return _made(result, _flat((*inputs, kwargs.get("out", ()))))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        path = ".".join([*function.__module__.split(".")[1:], function.__name__])
        if path in DOORS:  # np.asarray(values, like=array) and similar calls: copied from the host to the device
            from tests.engine.strict.backend import _MODULE  # which consists of these arrays

            return getattr(_MODULE, path)(*args, **kwargs)
        if path not in FUNCTIONS:
            raise TypeError(f"CuPy has no {path}, or it is not in cupy_names.json")
        if path == "where" and not isinstance(args[0], StrictArray):
            raise AttributeError(f"'{type(args[0]).__name__}' object has no attribute 'astype'")
        if path in ("stack", "concatenate", "hstack", "vstack") and not all(
            isinstance(a, StrictArray) for a in args[0]
        ):
            raise TypeError("Only cupy arrays can be concatenated")
        if path in ("take", "take_along_axis", "put_along_axis"):  # positional, as all functions with indices are
            axis = args[2 + (path == "put_along_axis")] if len(args) > 2 else kwargs.get("axis")
            args = (args[0], _wrapped(args[1], args[0].size if axis is None else args[0].shape[axis]), *args[2:])
        return _call(path, function, FUNCTIONS[path], args, kwargs)

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; setting it raises AttributeError where that would take a copy."""
        return self._v.shape

    @shape.setter
    def shape(self, shape: tuple[int, ...]) -> None:
        found = self._v.reshape(shape)
        if self._v.size and not np.may_share_memory(found, self._v):
            raise AttributeError("incompatible shape")
        self._v = found

    device = property(lambda self: SimpleNamespace(id=0))
    strides = property(lambda self: self._v.strides)
    dtype = property(lambda self: self._v.dtype)
    ndim = property(lambda self: self._v.ndim)
    size = property(lambda self: self._v.size)
    itemsize = property(lambda self: self._v.itemsize)
    nbytes = property(lambda self: self._v.nbytes)
    T = property(lambda self: _made(self._v.T, (self,)))

    @property
    def flags(self) -> Any:
        """Contiguity only: there are no read-only arrays on a GPU."""
        flags = self._v.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, self.base is None)

    @property
    def data(self) -> Any:
        """The memory, of which only the address is to be had."""
        return Memory(self._v.__array_interface__["data"][0])

    @property
    def real(self) -> Any:
        """The real part, a view."""
        return _made(self._v.real, (self,))

    @real.setter
    def real(self, value: Any) -> None:
        self._v.real = _host(value, "real")

    @property
    def imag(self) -> Any:
        """The imaginary part; a view where the array is complex."""
        return _made(self._v.imag, (self,)) if self._v.dtype.kind == "c" else StrictArray(np.zeros_like(self._v))

    @imag.setter
    def imag(self, value: Any) -> None:
        self._v.imag = _host(value, "imag")

    # Its elements.

    def get(self) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        SYNCS.append("get")
        FETCHED.append(self._v.nbytes)
        return self._v.copy()

    def item(self, *args: Any) -> Any:
        """An element as a Python number."""
        SYNCS.append("item")
        return self._v.item(*args)

    def tolist(self) -> Any:
        """The elements as Python numbers."""
        SYNCS.append("tolist")
        return self._v.tolist()

    def __getitem__(self, key: Any) -> Any:
        return _made(self._v[_index(key, self.shape)], (self,))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, (StrictArray, bool, int, float, complex, np.generic)):
            raise ValueError(f"non-scalar {type(value).__name__} cannot be used for fill")
        self._v[_index(key, self.shape)] = _host(value, "setitem")

    def __len__(self) -> int:
        return len(self._v)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        raise TypeError("argument of type 'StrictArray' is not iterable")

    def __bool__(self) -> bool:
        SYNCS.append("__bool__")
        return bool(self._v)

    def __int__(self) -> int:
        SYNCS.append("__int__")
        return int(self._v)

    def __float__(self) -> float:
        SYNCS.append("__float__")
        return float(self._v)

    def __complex__(self) -> complex:
        SYNCS.append("__complex__")
        return complex(self._v)

    def __repr__(self) -> str:
        return f"StrictArray({self._v!r})"


def _method(name: str, parameters: str) -> Callable[..., Any]:
    def method(self: StrictArray, *args: Any, **kwargs: Any) -> Any:
        _check(name, parameters, args, kwargs)
        with np.errstate(all="ignore"):
            result = getattr(self._v, name)(*_deep(args, name), **{k: _deep(v, name) for k, v in kwargs.items()})
        return _made(result, (self, *_flat((*args, *kwargs.values()))))

    method.__name__ = name
    return method


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: StrictArray, *others: Any) -> Any:
        for other in others:
            if isinstance(other, np.ndarray):
                raise TypeError(f"Unsupported type {type(other)} for {name}")
            if not isinstance(other, (StrictArray, bool, int, float, complex, np.generic)):
                return NotImplemented
        with np.errstate(all="ignore"):
            result = getattr(self._v, name)(*_deep(others, name))
        return result if result is NotImplemented else _made(result, (self,))

    operator.__name__ = name
    return operator


def _augmented(name: str) -> Callable[..., Any]:
    def operator(self: StrictArray, other: Any) -> Any:
        if not isinstance(other, (StrictArray, bool, int, float, complex, np.generic)):
            raise TypeError(f"Unsupported type {type(other)} for {name}")
        with np.errstate(all="ignore"):
            getattr(self._v, name)(_host(other, name))  # also a 0-d array, for which NumPy returns a scalar
        return self

    operator.__name__ = name
    return operator


for _name, _parameters in TABLE["method"].items():
    if _name not in vars(StrictArray):
        setattr(StrictArray, _name, _method(_name, _parameters))
for _name in OPERATORS:
    setattr(StrictArray, f"__{_name}__", _operator(f"__{_name}__"))
for _name in AUGMENTED:
    setattr(StrictArray, f"__{_name}__", _augmented(f"__{_name}__"))
