"""Arrays without memory: shape, dtype and strides, for tensors on the device ``meta``.

A ``MetaArray`` has the face of NumPy's arrays. Views are NumPy's own, of an array over the memory of one element, which
nothing reads. What computes has a rule of shapes in ``meta_shapes.py``. So bodies and formulas run as they are, and
take no time and no memory for elements.

The truth of an array is False, and True after ``all()``; as a number it is 0: an operation's checks of values find
nothing to reject. Tensors' own ``item()`` and the like raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

Ints = tuple[int, ...]
RULES: dict[str, Callable[..., Any]] = {}
"""The functions that arrays call, by name: entered by the modules that have the rules, which are made of arrays."""


def bare(shape: Ints, dtype: Any, strides: Ints | None = None) -> np.ndarray[Any, Any]:
    """Return a NumPy array of this shape over one element: for its views only, never to be read.

    :param strides: in bytes; row-major by default.
    """
    kind = np.dtype(dtype)
    if strides is None:
        steps, step = [], kind.itemsize
        for n in reversed(shape):
            steps.append(step)
            step *= n or 1
        if step >= 1 << 63:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
        strides = tuple(reversed(steps))
    return np.lib.stride_tricks.as_strided(np.empty(1, kind), shape, strides)


class Flags(NamedTuple):
    """The contiguity of an array."""

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool
    writeable: bool = True


class MetaArray:
    """An array of shape, dtype and strides.

    :param values: the NumPy array that has them; see ``bare``.
    :param base: the array whose memory this one would share.
    """

    __slots__ = ("__weakref__", "_v", "base", "truth")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: np.ndarray[Any, Any], base: MetaArray | None = None) -> None:
        self._v = values
        self.base: Any = None if base is None else base if base.base is None else base.base
        self.truth = False

    # What NumPy asks for.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return RULES["call_ufunc"](ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return RULES["call_function"](function, args, kwargs)

    # What it is.

    @property
    def shape(self) -> Any:
        """The shape."""
        return self._v.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._v = self.reshape(shape)._v

    strides = property(lambda self: self._v.strides)
    dtype = property(lambda self: self._v.dtype)
    ndim = property(lambda self: self._v.ndim)
    size = property(lambda self: self._v.size)
    itemsize = property(lambda self: self._v.itemsize)
    nbytes = property(lambda self: self._v.nbytes)
    T = property(lambda self: MetaArray(self._v.T, self))
    flat = property(lambda self: self.reshape((-1,)))

    @property
    def flags(self) -> Flags:
        """Contiguity; every array can be written to."""
        flags = self._v.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, self.base is None)

    @property
    def real(self) -> Any:
        """The real part, a view."""
        return MetaArray(self._v.real, self)

    @real.setter
    def real(self, value: Any) -> None: ...

    @property
    def imag(self) -> Any:
        """The imaginary part; a view where the array is complex."""
        return MetaArray(self._v.imag, self) if self._v.dtype.kind == "c" else blank(self.shape, self.dtype)

    @imag.setter
    def imag(self, value: Any) -> None: ...

    # Its elements: none.

    def item(self, *args: Any) -> Any:
        """Raise RuntimeError: there is no value."""
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    __complex__ = __index__ = item

    def __int__(self) -> int:
        return 0  # inside of range, wherever an operation checks

    def __float__(self) -> float:
        return 0.0

    def _no_data(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: there are no values."""
        raise NotImplementedError(NO_DATA)

    __array__ = tobytes = tolist = _no_data

    def __bool__(self) -> bool:
        return self.truth

    def __len__(self) -> int:
        return len(self._v)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return RULES["item_of"](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        RULES["check_write"](self, key, value)

    # What else bodies call.

    def view(self, dtype: Any = None) -> Any:
        """Return a view, by default of the same dtype."""
        return MetaArray(self._v.view() if dtype is None else self._v.view(dtype), self)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return a view of another shape, or a new array where the memory does not allow it."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return RULES["reshaped"](self, tuple(np.atleast_1d(wanted).tolist()) if wanted != () else ())

    def ravel(self, order: str = "C") -> Any:
        """Return the elements in one dimension."""
        return self.reshape((-1,))

    def flatten(self, order: str = "C") -> Any:
        """Return a new array of one dimension."""
        return blank((self.size,), self.dtype)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", copy: bool = True) -> Any:
        """Return a new array of another dtype; the array itself if nothing changes and ``copy`` is False."""
        kind = np.dtype(dtype)
        return self if not copy and kind == self.dtype else RULES["like"](self, kind, order)

    def copy(self, order: str = "C") -> Any:
        """Return a new array."""
        return RULES["like"](self, self.dtype, order)

    def fill(self, value: Any) -> None:
        """Write one value."""

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """Sort in place."""

    def byteswap(self) -> Any:
        """Return a new array."""
        return blank(self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype})"


NO_DATA = "Cannot copy out of meta tensor; no data!"


def blank(shape: Any, dtype: Any = np.float64, strides: Ints | None = None) -> MetaArray:
    """Return an array of a shape."""
    return MetaArray(bare((shape,) if isinstance(shape, int) else tuple(map(int, shape)), dtype, strides))


def shown(values: Any, dtype: Any = None) -> MetaArray:
    """Return an array of the shape and dtype of values on the host; a ``MetaArray`` itself, unless it is cast."""
    if isinstance(values, MetaArray):
        return values if dtype is None or np.dtype(dtype) == values.dtype else values.astype(dtype)
    array = np.asarray(values)
    kept = array.strides if array.size and array.flags.forc else None
    kind = array.dtype if dtype is None else np.dtype(dtype)
    if kept is not None and kind.itemsize != array.itemsize:
        kept = tuple(s // array.itemsize * kind.itemsize for s in kept)
    return blank(array.shape, kind, kept)


def _view_method(name: str) -> Callable[..., Any]:
    def method(self: MetaArray, *args: Any, **kwargs: Any) -> Any:
        return MetaArray(getattr(self._v, name)(*args, **kwargs), self)

    method.__name__ = name
    return method


for _name in ("transpose", "swapaxes", "squeeze", "diagonal"):
    setattr(MetaArray, _name, _view_method(_name))


def _reduction_method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: MetaArray, *args: Any, **kwargs: Any) -> Any:
        return RULES["call_function"](function, (self, *args), kwargs)

    method.__name__ = name
    return method


_CALLED = """
    sum prod mean max min any all argmax argmin cumsum cumprod argsort clip take repeat nonzero var std round dot trace
    searchsorted conj conjugate partition argpartition"""
for _name in _CALLED.split():
    setattr(MetaArray, _name, _reduction_method(_name))


def _operator(name: str, ufunc: np.ufunc, reflected: bool = False) -> Callable[..., Any]:
    def operator(self: MetaArray, *others: Any) -> Any:
        return ufunc(*others, self) if reflected else ufunc(self, *others)

    operator.__name__ = name
    return operator


def _augmented(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def operator(self: MetaArray, other: Any) -> Any:
        return ufunc(self, other, out=self)

    operator.__name__ = name
    return operator


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}.items():  # fmt: skip
    setattr(MetaArray, f"__{_name}__", _operator(f"__{_name}__", _ufunc))
    setattr(MetaArray, f"__r{_name}__", _operator(f"__r{_name}__", _ufunc, True))
    setattr(MetaArray, f"__i{_name}__", _augmented(f"__i{_name}__", _ufunc))
for _name, _ufunc in {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}.items():  # fmt: skip
    setattr(MetaArray, f"__{_name}__", _operator(f"__{_name}__", _ufunc))
