"""Write a program's answer under either library as plain data: equal for both, and stored in files as JSON."""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

__all__ = ["COUNT", "LARGE", "Array", "Measured", "MeasuredComplex", "Named", "Raised", "Sample", "Warned", "key_words",
           "plain", "raised", "sample_of"]  # fmt: skip


class Measured(float):
    """A number from one of PyTorch's tensors, and its error bound."""

    bound: float


class MeasuredComplex(complex):
    """A measured complex number."""

    bound: float


class Sample(NamedTuple):
    """The stored part of a large array: some of its numbers, the sums of blocks of all of them, and their digest."""

    numbers: np.ndarray[Any, Any]
    sums: np.ndarray[Any, Any]
    digest: str


LARGE = 1000  # numbers
COUNT = 250  # of numbers, and of sums


def sample_of(values: np.ndarray[Any, Any]) -> Sample:
    """The sample of an array."""
    flat = np.ascontiguousarray(values).reshape(-1)
    wide = flat.astype(np.complex128 if flat.dtype.kind == "c" else np.float64)
    places = np.random.RandomState(0).permutation(flat.size)[:COUNT]  # whose numbers never change
    starts = np.arange(0, flat.size, -(-flat.size // COUNT))
    with np.errstate(all="ignore"):  # infinities of both signs
        sums = np.add.reduceat(wide, starts)
    return Sample(flat[places], sums, hashlib.sha256(flat.tobytes()).hexdigest())


@dataclass
class Array:
    """A tensor or an array. ``kind`` is the name of its class.

    ``bound`` is the error bound of PyTorch's numbers: see ``comparison.py``.
    """

    kind: str
    dtype: str
    requires_grad: bool
    values: np.ndarray[Any, Any] = field(repr=False)
    bound: float | None = None
    sample: Sample | None = None
    """True for a large stored array: then the values are zeros."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


class Named(NamedTuple):
    """A value of a class that has a name: of sizes, dicts, sets, named tuples, dtypes, modules."""

    name: str
    parts: Any


class Raised(NamedTuple):
    """An exception: the name of the first of its classes that is Python's own, and the key words of its message."""

    kind: str
    words: list[str]
    says: str = ""
    """The words that the test expects, and the message has."""


class Warned(NamedTuple):
    """A warning: its category, and the key words of its message."""

    kind: str
    words: list[str]


USUAL = """and are but can cannot for from got has have not should that the this was with you must given argument
required torch nbautograd module expected supported"""


def key_words(text: str) -> list[str]:
    """The words of a message that say something, each once, in alphabetical order."""
    return sorted({*re.findall(r"[a-z_]{3,}", text.lower())} - {*USUAL.split()})


def raised(error: BaseException, says: str = "") -> Raised:
    """An exception as plain data.

    :raises AssertionError: the message has to have words that it has not.
    """
    if says not in str(error):
        raise AssertionError(f"{type(error).__name__} does not say {says!r}: {error}") from error
    kind = next(cls for cls in type(error).__mro__ if cls.__module__.partition(".")[0] in sys.stdlib_module_names)
    return Raised(kind.__name__, key_words(str(error)), says)


def is_of(value: Any, *names: str) -> bool:
    """Return whether a value's class, or one of its bases, has one of these names in a library of tensors."""
    return any(
        cls.__name__ in names and cls.__module__.partition(".")[0] in ("nbautograd", "torch")
        for cls in type(value).__mro__
    )


def plain(value: Any, bound_of: Any = None) -> Any:
    """A result of either library as plain data.

    :param bound_of: returns the error bound of a tensor or an array.
    :raises TypeError: it has something that cannot be compared, such as an object of a class of the program.
    """

    def again(part: Any) -> Any:
        return plain(part, bound_of)

    if value is None or isinstance(value, (bool, int, str, bytes, Raised, Warned, Named, Array)):
        return value
    if isinstance(value, (np.ndarray, np.generic)) or is_of(value, "Tensor"):
        return _array(value, bound_of)
    if isinstance(value, (float, complex)):
        return value
    if is_of(value, "Module", "Optimizer"):
        return Named("repr", repr(value))
    if type(value).__name__ in ("dtype", "layout", "memory_format", "device", "_Bfloat16"):
        return Named(type(value).__name__.replace("_Bfloat16", "dtype"), str(value).rpartition(".")[2])
    if isinstance(value, bytearray):
        return Named("bytearray", bytes(value))
    if isinstance(value, dict):
        return Named(type(value).__name__, [[again(key), again(part)] for key, part in value.items()])
    if type(value) is list:
        return list(map(again, value))
    if isinstance(value, (tuple, list, deque)):
        return Named(type(value).__name__, list(map(again, value)))
    if isinstance(value, (set, frozenset)):
        return Named(type(value).__name__, sorted(map(again, value), key=repr))
    if isinstance(value, (type, range, slice, type(...))):
        return Named(type(value).__name__, value.__name__ if isinstance(value, type) else repr(value))
    if isinstance(value, BaseException):
        return raised(value)
    if isinstance(value, warnings.WarningMessage):
        return Warned(value.category.__name__, key_words(str(value.message)))
    if hasattr(value, "__next__"):
        return Named("iterator", list(map(again, value)))
    raise TypeError(f"a program returns tensors, numbers, texts and containers of them, not a {type(value)}: {value!r}")


def _array(value: Any, bound_of: Any) -> Any:
    bound = bound_of(value) if bound_of else None
    if not is_of(value, "Tensor"):
        return Array(type(value).__name__, str(value.dtype), False, np.array(value), bound)
    layout = str(value.layout).rpartition(".")[2]
    kind, dtype = type(value).__name__, str(value.dtype).rpartition(".")[2]
    if layout != "strided":
        names = {"sparse_coo": ("_indices", "_values", "is_coalesced")}.get(layout, ())
        names = names or (("crow" if "csr" in layout or "bsr" in layout else "ccol") + "_indices",
                          ("col" if "csr" in layout or "bsr" in layout else "row") + "_indices", "values")  # fmt: skip
        parts = [plain(getattr(value.detach(), name)(), bound_of) for name in names]
        return Named(layout, [kind, list(value.shape), value.requires_grad, *parts])
    memory = value.detach().resolve_conj().resolve_neg()
    if dtype == "bfloat16":
        memory = memory.contiguous().view(sys.modules[type(memory).__module__.partition(".")[0]].int16)
        values = np.array(memory.numpy()).view(ml_dtypes.bfloat16)
    else:
        values = np.array(memory.numpy(force=True))  # also of the zeros that PyTorch's forward mode distinguishes
    return Array(kind, dtype, bool(value.requires_grad), values.reshape(tuple(value.shape)), bound)
