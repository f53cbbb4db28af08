"""``StrictArray``: an array that allows what CuPy's allows and nothing more, for machines without CUDA.

It proves dispatch and nothing more: that the operations reach arrays through the arrays' own protocols, with names and
keywords that CuPy has, that no NumPy array leaks in, and that nothing counts on a reduction giving a scalar. It
computes with NumPy, so it says nothing about CUDA's results, speed, order of summation or errors.

Where it is known to differ from CuPy: it is stricter with indices (CuPy would copy a list or a NumPy array to the
device, which costs a wait), and with ufunc methods (``reduce`` and the like are refused, CuPy has some); it is laxer
with integer indices out of range (NumPy raises, CuPy wraps around) and with names that the sets below list wrongly.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from nbautograd import backend
from nbautograd.device import device

__all__ = ["StrictArray", "StrictBackend", "installed"]


def _words(text: str) -> list[str]:
    return text.split()


UFUNCS = frozenset(
    _words("""
    abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_or bitwise_xor cbrt
    ceil conj conjugate copysign cos cosh deg2rad degrees divide divmod equal exp exp2 expm1 fabs float_power floor
    floor_divide fmax fmin fmod frexp gcd greater greater_equal heaviside hypot invert isfinite isinf isnan lcm
    ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
    logical_xor matmul maximum minimum mod modf multiply negative nextafter not_equal positive power rad2deg radians
    reciprocal remainder right_shift rint sign signbit sin sinc sinh sqrt square subtract tan tanh true_divide trunc
    """)
)
"""The names of CuPy's ufuncs that NumPy has too (CuPy 14.2 lacks ``spacing``, ``isnat`` and ``vecdot``)."""

FUNCTIONS = {
    "all": "a axis out keepdims",
    "allclose": "a b rtol atol equal_nan",
    "amax": "a axis out keepdims",
    "amin": "a axis out keepdims",
    "any": "a axis out keepdims",
    "argmax": "a axis dtype out keepdims",
    "argmin": "a axis dtype out keepdims",
    "argpartition": "a kth axis",
    "argsort": "a axis kind",
    "around": "a decimals out",
    "array_equal": "a1 a2 equal_nan",
    "atleast_1d": "*",
    "bincount": "x weights minlength",
    "broadcast_arrays": "*",
    "broadcast_to": "array shape",
    "clip": "a a_min a_max out",
    "concatenate": "tup axis out",
    "copyto": "dst src casting where",
    "count_nonzero": "a axis",
    "cross": "a b axisa axisb axisc axis",
    "cumprod": "a axis dtype out",
    "cumsum": "a axis dtype out",
    "diag": "v k",
    "diagonal": "a offset axis1 axis2",
    "diff": "a n axis prepend append",
    "dot": "a b out",
    "einsum": "*",
    "empty_like": "prototype dtype order subok shape",
    "expand_dims": "a axis",
    "flatnonzero": "a",
    "flip": "m axis",
    "full_like": "a fill_value dtype order subok shape",
    "hstack": "tup",
    "imag": "val",
    "inner": "a b",
    "isclose": "a b rtol atol equal_nan",
    "isin": "element test_elements assume_unique invert",
    "kron": "a b",
    "lexsort": "keys",
    "fft.fftn": "a s axes norm",
    "fft.ifftn": "a s axes norm",
    "fft.irfft": "a n axis norm",
    "fft.rfftn": "a s axes norm",
    "linalg.cholesky": "a",
    "linalg.det": "a",
    "linalg.eig": "a",
    "linalg.eigh": "a UPLO",
    "linalg.eigvals": "a",
    "linalg.eigvalsh": "a UPLO",
    "linalg.inv": "a",
    "linalg.norm": "x ord axis keepdims",
    "linalg.pinv": "a rcond",
    "linalg.qr": "a mode",
    "linalg.slogdet": "a",
    "linalg.solve": "a b",
    "linalg.svd": "a full_matrices compute_uv",
    "max": "a axis out keepdims",
    "mean": "a axis dtype out keepdims",
    "median": "a axis out overwrite_input keepdims",
    "min": "a axis out keepdims",
    "moveaxis": "a source destination",
    "nan_to_num": "x copy nan posinf neginf",
    "ndim": "a",
    "nonzero": "a",
    "ones_like": "a dtype order subok shape",
    "outer": "a b out",
    "pad": "array pad_width mode constant_values",
    "partition": "a kth axis",
    "prod": "a axis dtype out keepdims",
    "put_along_axis": "arr indices values axis",
    "ravel": "a order",
    "real": "val",
    "repeat": "a repeats axis",
    "reshape": "a newshape order",
    "result_type": "*",
    "roll": "a shift axis",
    "rot90": "a k axes",
    "round": "a decimals out",
    "searchsorted": "a v side sorter",
    "shape": "a",
    "sinc": "x",
    "size": "a axis",
    "lib.stride_tricks.sliding_window_view": "x window_shape axis subok writeable",
    "sort": "a axis kind",
    "split": "ary indices_or_sections axis",
    "squeeze": "a axis",
    "stack": "tup axis out",
    "std": "a axis dtype out ddof keepdims",
    "sum": "a axis dtype out keepdims",
    "swapaxes": "a axis1 axis2",
    "take": "a indices axis out",
    "take_along_axis": "a indices axis",
    "tensordot": "a b axes",
    "tile": "A reps",
    "trace": "a offset axis1 axis2 dtype out",
    "transpose": "a axes",
    "tril": "m k",
    "triu": "m k",
    "unique": "ar return_index return_inverse return_counts axis",
    "unravel_index": "indices dims order",
    "var": "a axis dtype out ddof keepdims",
    "vstack": "tup",
    "where": "condition x y",
    "zeros_like": "a dtype order subok shape",
}
"""The functions of CuPy that NumPy hands over, with the parameters that CuPy gives them (``*``: any, by position)."""

SCIPY = {
    "linalg": _words("lu_factor solve_triangular"),
    "special": _words("""
        digamma entr erf erfc erfcx erfinv gammainc gammaincc gammaln i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e log_ndtr ndtri
        xlog1py xlogy y0 y1 zeta
    """),
}
"""The functions of ``cupyx.scipy`` that SciPy has too, by module."""

DOORS = ("arange", "array", "asarray", "empty", "eye", "full", "identity", "linspace", "ones", "tri", "zeros")
"""The functions that make arrays."""

METHODS = {
    "all": "axis out keepdims",
    "any": "axis out keepdims",
    "argmax": "axis dtype out keepdims",
    "argmin": "axis dtype out keepdims",
    "argsort": "axis kind",
    "astype": "dtype order casting subok copy",
    "clip": "a_min a_max out",
    "conj": "",
    "conjugate": "",
    "copy": "order",
    "cumprod": "axis dtype out",
    "cumsum": "axis dtype out",
    "diagonal": "offset axis1 axis2",
    "dot": "b out",
    "fill": "value",
    "flatten": "order",
    "max": "axis out keepdims",
    "mean": "axis dtype out keepdims",
    "min": "axis out keepdims",
    "nonzero": "",
    "prod": "axis dtype out keepdims",
    "ravel": "order",
    "repeat": "repeats axis",
    "reshape": "* order",
    "round": "decimals out",
    "sort": "axis kind",
    "squeeze": "axis",
    "std": "axis dtype out ddof keepdims",
    "sum": "axis dtype out keepdims",
    "swapaxes": "axis1 axis2",
    "take": "indices axis out",
    "trace": "offset axis1 axis2 dtype out",
    "transpose": "*",
    "var": "axis dtype out ddof keepdims",
    "view": "dtype",
}
"""CuPy's methods with their parameters, as above."""

OPERATORS = _words("""
    add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul neg pos abs invert
    and rand or ror xor rxor lshift rlshift rshift rrshift eq ne lt le gt ge
""")
AUGMENTED = _words("iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift")  # no imatmul in CuPy

SUPPORTED = frozenset("?bBhHiIlLqQefdFD")  # CuPy's dtypes, as NumPy's type characters
AT_DTYPES = frozenset("iqIQefd")  # those that atomic addition knows: no complex, no bool, no small integers


def _host(value: Any, what: str) -> Any:
    """The NumPy array inside, for computing; whatever CuPy would refuse as an operand is refused."""
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
    surplus = set(kwargs) - set(known) if known != ["*"] else set()
    if surplus:
        raise TypeError(f"{name}() got an unexpected keyword argument {min(surplus)!r}: CuPy has it not")
    if "*" not in known and len(args) > len(known):
        raise TypeError(f"{name}() takes {len(known)} arguments in CuPy, not {len(args)}")
    if kwargs.get("kind") not in (None, "stable"):
        raise ValueError("kind can only be None or 'stable'")


def _flat(values: Any) -> tuple[Any, ...]:
    """The arrays among the arguments, those in lists too."""
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
    with np.errstate(all="ignore"):  # CuPy warns of nothing
        result = function(*_deep(args, name), **{key: _deep(value, name) for key, value in kwargs.items()})
    return _made(result, _flat((*args, *kwargs.values())))


def _call_scipy(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return _call(name, function, "*" if not kwargs else f"* {' '.join(kwargs)}", args, kwargs)


def _index(key: Any) -> Any:
    """An index, in which lists and NumPy arrays are refused."""
    if isinstance(key, tuple):
        return tuple(_index(item) for item in key)
    if isinstance(key, StrictArray):
        if key._v.dtype.kind not in "iub":
            raise IndexError(f"arrays used as indices must be of integer or boolean type, not {key._v.dtype}")
        return key._v
    if key is None or key is Ellipsis or isinstance(key, (int, np.integer, slice)):
        return key
    raise IndexError(f"a {type(key).__name__} as an index of an array of another device")


class Flags(NamedTuple):
    """What CuPy says of an array's memory; there is no ``writeable``, neither to read nor to set."""

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool


class Memory(NamedTuple):
    """Where an array's first element lies."""

    ptr: int


class StrictArray:
    """An array with CuPy's face and NumPy's numbers; see the module's docstring for what that proves."""

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
        with np.errstate(all="ignore"):
            result = ufunc(*_deep(inputs, name), **{key: _deep(value, name) for key, value in kwargs.items()})
        return _made(result, _flat((*inputs, kwargs.get("out", ()))))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        path = ".".join([*function.__module__.split(".")[1:], function.__name__])
        if path in DOORS:  # np.asarray(values, like=array) and its kin: made on the device from what is on the host
            return getattr(_MODULE, path)(*args, **kwargs)
        if path not in FUNCTIONS:
            raise TypeError(f"CuPy has no {path}, or it is not in the list of tests/strict.py")
        if path == "where" and not isinstance(args[0], StrictArray):
            raise AttributeError(f"'{type(args[0]).__name__}' object has no attribute 'astype'")
        if path in ("stack", "concatenate", "hstack", "vstack") and not all(
            isinstance(a, StrictArray) for a in args[0]
        ):
            raise TypeError("Only cupy arrays can be concatenated")
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
        return self._v.copy()

    def item(self, *args: Any) -> Any:
        """An element as a Python number."""
        return self._v.item(*args)

    def tolist(self) -> Any:
        """The elements as Python numbers."""
        return self._v.tolist()

    def __getitem__(self, key: Any) -> Any:
        return _made(self._v[_index(key)], (self,))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, (StrictArray, bool, int, float, complex, np.generic)):
            raise ValueError(f"non-scalar {type(value).__name__} cannot be used for fill")
        self._v[_index(key)] = _host(value, "setitem")

    def __len__(self) -> int:
        return len(self._v)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        raise TypeError("argument of type 'StrictArray' is not iterable")

    def __bool__(self) -> bool:
        return bool(self._v)

    def __int__(self) -> int:
        return int(self._v)

    def __float__(self) -> float:
        return float(self._v)

    def __complex__(self) -> complex:
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
            getattr(self._v, name)(_host(other, name))  # also where it is 0-d, and NumPy's own would give a scalar
        return self

    operator.__name__ = name
    return operator


for _name, _parameters in METHODS.items():
    setattr(StrictArray, _name, _method(_name, _parameters))
for _name in OPERATORS:
    setattr(StrictArray, f"__{_name}__", _operator(f"__{_name}__"))
for _name in AUGMENTED:
    setattr(StrictArray, f"__{_name}__", _augmented(f"__{_name}__"))


# -- the namespace that makes arrays -----------------------------------------------------------------------------------


def _array(copy: bool) -> Callable[..., Any]:
    """``array`` and ``asarray``, the doors through which values come from the host."""

    def make(values: Any, dtype: Any = None, copy: bool = copy) -> StrictArray:
        if isinstance(values, StrictArray):
            changed = dtype is not None and np.dtype(dtype) != values.dtype
            return _made(values._v.astype(dtype or values.dtype)) if changed or copy else values
        return StrictArray(np.array(values, dtype))  # to another device it is always a copy

    return make


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        return StrictArray(np.asarray(function(*_deep(args, function.__name__), **kwargs)))

    return make


class _Add:
    """``cupy.add``, with the only ``at`` that a GPU offers: atomic, and for few dtypes."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return np.add(*args, **kwargs)

    @staticmethod
    def at(array: StrictArray, key: Any, values: Any) -> None:
        """``array[key] += values``, repeated indices adding up."""
        if array.dtype.char not in AT_DTYPES and array.dtype.char not in "lL":
            raise TypeError(f"cupy.add.at does not know {array.dtype}")
        np.add.at(array._v, _index(key), _host(values, "add.at"))


def _as_strided(x: StrictArray, shape: Any = None, strides: Any = None) -> StrictArray:
    return StrictArray(np.lib.stride_tricks.as_strided(x._v, shape, strides))


class _Module:
    """What stands for the module ``cupy``: what makes arrays, and NumPy's functions by CuPy's names."""

    add = _Add()
    ndarray = StrictArray

    def __init__(self) -> None:
        self.array, self.asarray = _array(True), _array(False)
        self.ascontiguousarray = self.asarray
        self.lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))
        for name in DOORS:
            if name not in ("array", "asarray"):
                setattr(self, name, _maker(getattr(np, name)))

    def __getattr__(self, name: str) -> Any:
        if name in UFUNCS or name in FUNCTIONS:

            def function(*args: Any, **kwargs: Any) -> Any:
                if not any(isinstance(a, StrictArray) for a in _flat((*args, *kwargs.values()))):
                    raise TypeError(f"cupy.{name} without an array of CuPy's among its arguments")
                return getattr(np, name)(*args, **kwargs)

            return function
        raise AttributeError(f"module 'cupy' has no attribute {name!r}, or tests/strict.py does not list it")


_MODULE = _Module()


class StrictBackend:
    """Tensors on the device "strict", held by :class:`StrictArray`: dispatch is proved, CUDA's results are not."""

    type = "strict"

    def module(self, place: device) -> Any:
        """The stand-in for ``cupy``."""
        return _MODULE

    def scipy(self, name: str) -> Any:
        """The stand-in for a module of ``cupyx.scipy``."""
        module = importlib.import_module(f"scipy.{name}")
        return SimpleNamespace(
            **{
                found: functools.partial(_call_scipy, f"{name}.{found}", getattr(module, found))
                for found in SCIPY[name]
            }
        )

    def address(self, array: Any) -> int:
        """Where in memory the first element is."""
        return int(array.data.ptr)

    def strided(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> Any:
        """A view at these strides, which like CuPy's does not know its base."""
        made = backend._NUMPY.strided(array._v, shape, strides, shift)
        return StrictArray(made)

    def fetch(self, array: Any) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        return array.get()

    def place(self, array: Any) -> device:
        """The one strict device."""
        return device("strict")


@contextmanager
def installed() -> Iterator[StrictBackend]:
    """Register the backend, and take it away again at the end so that other tests see what users see."""
    strict = StrictBackend()
    backend.register(strict, StrictArray)
    try:
        yield strict
    finally:
        backend._BY_TYPE.pop(strict.type, None)
        backend._BY_CLASS.pop(StrictArray, None)
