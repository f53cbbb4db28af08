"""Arrays and options as text that gives them back bit for bit."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, memory_format
from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.compiler.source import evaluated
from nbautograd.errors import ProgramError

__all__ = ["array_text", "dtype_text", "literal", "same", "same_elements"]

MAX_INLINE_ELEMENTS = 16
"""Elements of an array that is written out; a larger one is stored beside the program."""


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays or scalars are the same bit for bit, with the same order in memory."""
    if a.__class__ is not b.__class__ or not isinstance(a, (np.ndarray, np.generic)):
        return False
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.strides != b.strides and a.size > 1:
        one, other = [[s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] for x in (a, b)]
        if one != other:
            return False
    return bool(a.tobytes() == b.tobytes())


def same_elements(a: Any, b: Any) -> bool:
    """Return whether two arrays of one dtype have the same elements bit for bit, in any order in memory."""
    return bool(a.shape == b.shape and a.tobytes() == b.tobytes())


def dtype_text(dtype: np.dtype[Any]) -> str:
    """A dtype as NumPy's scalar type.

    >>> dtype_text(np.dtype("float32")), dtype_text(np.dtype(bool))
    ('np.float32', 'np.bool_')
    """
    if dtype.kind == "V" or dtype.hasobject or dtype.names:
        raise ProgramError(f"a program cannot be written with {dtype}: NumPy alone has no such dtype")
    return "np.bool_" if dtype.kind == "b" else f"np.{dtype.name}"


def _scalar_text(a: np.generic) -> str:
    text = f"{dtype_text(a.dtype)}({_number(a.item())})"
    if a.dtype in (np.float16, np.float32) and np.isfinite(a):
        short = f"{dtype_text(a.dtype)}({float(str(a))!r})"
        text = short if same(_evaluated(short), a) else text
    return text if same(_evaluated(text), a) else _by_bits(np.asarray(a)) + "[()]"


def array_text(a: Any, load: Callable[[Any], str] | None = None) -> str:
    """An array or NumPy scalar as an expression that gives its elements and their order in memory.

    :param load: stores a large array, and returns the expression that loads it; None: all are written out.
    """
    if isinstance(a, np.generic):
        return _scalar_text(a)
    whole = a.shape
    if True in [s == 0 and n > 1 for s, n in zip(a.strides, a.shape, strict=True)]:  # repeated, not stored
        a = a[tuple(slice(0, 1 if s == 0 else None) for s in a.strides)]
    text = _text_in_order(a, load)
    return text if a.shape == whole else f"np.broadcast_to({text}, {whole})"


def _text_in_order(a: np.ndarray[Any, Any], load: Callable[[Any], str] | None) -> str:
    if a.flags.c_contiguous:
        return _loaded(a, load)
    order = sorted(range(a.ndim), key=lambda d: -a.strides[d])
    stored = a.transpose(order)
    if stored.flags.c_contiguous or not a.size:
        return f"{_loaded(stored, load)}.transpose({tuple(order.index(d) for d in range(a.ndim))})"
    # Elements with gaps: include the bytes between them.
    span = 1 + sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)) // a.itemsize
    stored = np.lib.stride_tricks.as_strided(a, (span,), (a.itemsize,)).copy()
    return f"np.lib.stride_tricks.as_strided({_loaded(stored, load)}, {a.shape}, {a.strides})"


def _loaded(a: np.ndarray[Any, Any], load: Callable[[Any], str] | None) -> str:
    if load is not None and a.size > MAX_INLINE_ELEMENTS:
        return load(a)
    is_small = 0 < a.size <= MAX_INLINE_ELEMENTS and not a.dtype.hasobject
    return _small_written(a.tobytes(), a.dtype, a.shape) if is_small else _array_text(a)


@lru_cache(maxsize=1024)
def _small_written(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> str:
    return _array_text(np.frombuffer(data, dtype).reshape(shape))


def _array_text(a: np.ndarray[Any, Any]) -> str:
    if a.dtype in (np.float16, np.float32) and a.size and np.isfinite(a).all():  # the shortest numbers that round to it
        short = f"np.array({_nested(_shortest(a))}, dtype={dtype_text(a.dtype)})"
        if same(_evaluated(short), a):
            return short
    text = f"np.array({_nested(a.tolist())}, dtype={dtype_text(a.dtype)})"
    if 0 in a.shape:
        return f"np.zeros({a.shape}, dtype={dtype_text(a.dtype)})"
    return text if same(_evaluated(text), a) else _by_bits(a)


def _shortest(a: np.ndarray[Any, Any]) -> Any:
    return [_shortest(row) for row in a] if a.ndim > 1 else [float(str(v)) for v in a] if a.ndim else float(str(a[()]))


def _evaluated(text: str) -> Any:
    return evaluated(text, {"np": np, "__builtins__": {"float": float, "complex": complex}}, {})


def _by_bits(a: np.ndarray[Any, Any]) -> str:
    """An array by its bits: a NaN that is not the usual one."""
    numbers = np.frombuffer(a.tobytes(), np.uint8).tolist()
    return f"np.array({numbers}, dtype=np.uint8).view({dtype_text(a.dtype)}).reshape({a.shape})"


def _nested(values: Any) -> str:
    return f"[{', '.join(map(_nested, values))}]" if isinstance(values, list) else _number(values)


def _number(value: Any) -> str:
    """Write a Python number as an expression; ``repr`` of inf and nan is not one."""
    if isinstance(value, complex):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    return f'float("{value!r}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


def literal(value: Any, array: Callable[[Any], str], refer: Callable[[Any], str]) -> str:
    """An option of an operation as an expression.

    :param array: writes an array.
    :param refer: how a class or function of this package is called in the program.
    :raises ProgramError: the value has no text.
    """
    if value is Ellipsis:
        return "..."
    if value.__class__ in (type(None), bool, int, str, float, complex):
        return _number(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return array(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return dtype_text(np.dtype(value))
    if isinstance(value, dtypes.dtype):
        value = value.numpy
    if isinstance(value, np.dtype):
        return f"np.dtype({dtype_text(value)})"
    if value.__class__ in _COLLECTIONS:
        return _collection(value, lambda parts: ", ".join(literal(part, array, refer) for part in parts))
    return _object_text(value, array, refer)


def _object_text(value: Any, array: Callable[[Any], str], refer: Callable[[Any], str]) -> str:
    if isinstance(value, memory_format.memory_format):
        return refer(value)
    if isinstance(value, device):
        if value.type != "cpu":
            raise ProgramError(f"a program cannot be written with a tensor on {value}: it runs with NumPy's arrays")
        return "'cpu'"
    if type(value).__module__.partition(".")[0] == "nbautograd" and not isinstance(value, enum.Enum):
        fields = getattr(value, "_fields", None) or getattr(value, "__dataclass_fields__", None)
        if fields is not None:
            arguments = (f"{name}={literal(getattr(value, name), array, refer)}" for name in fields)
            return f"{refer(type(value))}({', '.join(arguments)})"
        if callable(value) and hasattr(value, "__qualname__"):
            return refer(value)
    raise ProgramError(f"a program cannot be written with a {type(value).__name__} as an argument")


_COLLECTIONS = {slice, range, tuple, Size, list, dict, set, frozenset}


def _collection(value: Any, each: Callable[[Iterable[Any]], str]) -> str:
    """Write a collection, whose parts ``each`` writes."""
    kind = value.__class__
    if kind is slice:
        return f"slice({each((value.start, value.stop, value.step))})"
    if kind is range:
        return repr(value)
    if kind is list:
        return f"[{each(value)}]"
    if kind is dict:
        return f"{{{', '.join(f'{each((key,))}: {each((item,))}' for key, item in value.items())}}}"
    if kind in (set, frozenset):
        return f"{kind.__name__}([{each(sorted(value))}])"
    return f"({each(value)}{',' if len(value) == 1 else ''})"
