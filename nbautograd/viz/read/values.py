"""Any number, array or tensor as a short text for a picture.

Small ones are written as PyTorch prints them (``5.``, ``[1., 2.]``), large ones as a summary. Arrays are read by duck
typing, so NumPy's, CuPy's, PyTorch's and nbautograd's all work; only the text is kept.

There is one rule for the numbers in all that a picture says, whether Python writes them or ``static/tile.js`` does.
Each is rounded as PyTorch prints it alone: to four decimals, whole if it is an integer, with a power of ten if it is
very small or very large. So it is the same on an edge, in a cell, in an equation, in a table, and in the output of
``print``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from nbautograd.viz.escape import clean
from nbautograd.viz.language import say

__all__ = [
    "BOOLS", "INTEGERS", "SUMMARY", "Digest", "above_rounding", "alone", "column", "drawn", "dtype_text", "host",
    "in_words", "inline", "is_finite", "is_tensor", "nbytes", "near", "number_text", "numbers_of", "printed",
    "printed_rows", "shape", "shape_text", "summary", "text", "told",
]  # fmt: skip

INTEGERS, BOOLS, SUMMARY = "d", "b", "m"
"""The forms of a tile's numbers that are no floating elements: a mean or a norm has three digits."""
_PRINTED = re.compile(r"(?<![\w.)\]-])(-?)(\d+\.?\d*)(e[+-]\d+)?(?![\w.])|(?<![\w.)\]])-(?=inf)")
_COMPLEX = re.compile(r"\dj")
MIN_PLAIN, MAX_PLAIN = 1e-4, 1e8  # range without a power of ten
MAX_WHOLE = 1e6  # means and norms up to this are not rounded if they are whole
MAX_NUMBERS = 6  # that are printed
MAX_ROWS = 4
LINE_CHARACTERS = 36
MAX_SUMMARY_ELEMENTS = 100_000  # that a summary reads
MAX_FAR_ELEMENTS = 1000  # that must be copied from another device
ZERO_ROUNDINGS = 512  # a mean of this many rounding errors counts as 0: gradients are differences of larger numbers
PLAIN = (np.ndarray, np.generic)  # texts that need no translation
EPS = {name: float(np.finfo(name).eps) for name in ("float32", "float64", "complex64", "complex128")}


def is_tensor(value: Any) -> bool:
    """Return whether it looks like a tensor of an autograd library; asks the class, so that no ``__getattr__`` runs."""
    return hasattr(type(value), "grad_fn") and hasattr(type(value), "requires_grad") and not isinstance(value, type)


def text(value: Any, many: int = MAX_NUMBERS, room: int = LINE_CHARACTERS, *, brief: bool = False) -> str:
    r"""The value on one line, or a matrix on a line per row; a summary if a line would be longer than ``room``.

    :param brief: the summary of floating numbers is only their norm.

    >>> text(np.float32([5.0]))
    '5.'
    >>> text(np.float32([[1, 2], [3, 4.5]]))
    '[[1.0000, 2.0000],\n [3.0000, 4.5000]]'
    >>> text(np.zeros((64, 32)))
    'mean 0. · norm 0.'
    """
    return told(value, many, room, brief=brief)[0]


def told(value: Any, many: int = MAX_NUMBERS, room: int = LINE_CHARACTERS, *, brief: bool = False) -> tuple[str, bool]:
    """Return the text, and whether it has each element instead of a summary."""
    if not isinstance(value, PLAIN):
        value = memory(value)
    written = "None" if value is None else many and _few(value, many, True) or ""
    whole = bool(written)

    def write() -> str:
        nonlocal whole
        made = _text(value, many, rows=True, brief=brief)
        whole = hasattr(value, "shape") and _is_written_out(value.shape, many)
        return made

    written = written or _safely(write)
    if max(map(len, written.split("\n"))) > room and len(getattr(value, "shape", ())):
        return text(value, 0, brief=brief) if many else written, False
    return written, whole


def inline(value: Any) -> str:
    """The value on one line.

    >>> inline(np.float32([[12, 12], [12, 12]]))
    '[[12., 12.], [12., 12.]]'
    """
    if not isinstance(value, PLAIN):
        value = memory(value)
    known = "None" if value is None else _few(value, MAX_NUMBERS, False)
    return known or _safely(lambda: _text(value, MAX_NUMBERS, rows=False))


def in_words(value: Any) -> str:
    """The value on one line of a sentence: a single number without the point at its end.

    >>> in_words(np.float32(5)), in_words(np.float32([5, 5]))
    ('5', '[5., 5.]')
    """
    return inline(value).removesuffix(".")


def alone(value: Any) -> str:
    """Return one number, or what is no tensor, on one line; empty for several numbers."""
    value = memory(value)
    if isinstance(value, PLAIN) and value.size > 1:
        return ""
    return _few(value, 1, False) or _safely(lambda: "" if _size(value) > 1 else _text(value, 1, rows=False))


def numbers_of(operands: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the values in formulas that are single numbers of few characters, by name."""
    numbers = []
    for name, operand in operands.items():
        if operand is not None and "_sym_" not in name:
            number = alone(operand)
            if 0 < len(number) <= 12 and " " not in number:
                numbers.append((name, number))
    return numbers


def shape_text(value: Any) -> str:
    """``(2, 3)``, or nothing for a Python number."""
    try:
        shape = getattr(value, "shape", None)
        return "" if shape is None else _written_shape(*map(int, shape))
    except Exception:
        return ""


@lru_cache(maxsize=128)
def _written_shape(*shape: int) -> str:
    return clean(shape)


def shape(value: Any) -> tuple[int, ...]:
    """The shape as plain numbers; of a Python number ``()``."""
    return tuple(map(int, getattr(value, "shape", ())))


def dtype_text(dtype: Any) -> str:
    """A short name of a dtype.

    >>> dtype_text("float32"), dtype_text("torch.int64"), dtype_text(np.dtype(bool))
    ('f32', 'i64', 'bool')
    """
    return _short_dtype(str(dtype))


@lru_cache(maxsize=128)
def _short_dtype(text: str) -> str:
    name = clean(text, 60).rpartition(".")[2]
    for long, short in (("bfloat", "bf"), ("float", "f"), ("complex", "c"), ("uint", "u"), ("int", "i")):
        if name.startswith(long) and name[len(long) :].isdigit():
            return short + name[len(long) :]
    return name


def is_finite(value: Any) -> bool:
    """Return whether it has no NaN and no infinity; True also for values that cannot be read."""
    if not isinstance(value, PLAIN):
        value = memory(value)
    if isinstance(value, PLAIN) and value.dtype.kind == "f" and value.size == 1:
        return math.isfinite(value.item())
    try:
        kept = None if isinstance(value, PLAIN) else stored(value)
        value = value if kept is None else kept
        array = getattr(value, "_a", value)
        if not (hasattr(array, "get") and hasattr(array, "dtype")):  # for CuPy: only the result is copied
            array = host(value)
        return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
    except Exception:
        return True


def nbytes(value: Any) -> int:
    """The bytes of its memory; 0 for objects without elements."""
    try:
        return int(getattr(value, "nbytes", 0) or 0)
    except Exception:
        return 0


def stored(value: Any) -> Any:
    """The stored values of a sparse tensor or array, of nbautograd or PyTorch; None for everything else."""
    if hasattr(value, "nnz"):
        return value.values
    layout = str(getattr(value, "layout", ""))
    return value._values() if "sparse_coo" in layout else value.values() if "sparse_csr" in layout else None


def memory(value: Any) -> Any:
    """Return the NumPy array of one of the library's own dense tensors on the CPU; everything else as it is.

    Without a conversion, which asks the tensor a dozen questions for each number of a picture.
    """
    if not hasattr(type(value), "grad_fn"):
        return value
    try:
        array = getattr(value, "_a", None)
    except Exception:  # objects that cannot be read still get a picture
        return value
    if type(array) is np.ndarray or isinstance(array, np.generic):
        return array if array.dtype.kind in "biufc" else value
    return value


def host(value: Any, sample: int | None = None) -> np.ndarray[Any, Any]:
    """Return the value as a NumPy array; every n-th element if there are more than ``sample``."""
    if not isinstance(value, PLAIN):
        value = memory(value)
    if isinstance(value, PLAIN) and (sample is None or value.size <= sample):
        return np.asarray(value)
    if "sparse" in str(getattr(value, "layout", "")):
        value = value.to_dense()
    detach = getattr(value, "detach", None)
    if callable(detach):
        value = detach()
    if sample is not None and _is_far(value):
        sample = min(sample, MAX_FAR_ELEMENTS)
    if sample is not None and _size(value) > sample:
        value = value.reshape(-1)[:: _size(value) // sample + 1]
    return _brought_near(value)


def _is_far(value: Any) -> bool:
    return getattr(value, "is_cpu", True) is False or (hasattr(value, "get") and hasattr(value, "dtype"))


def _brought_near(value: Any) -> np.ndarray[Any, Any]:
    """Return a tensor or array of another library as a NumPy array."""
    for step in ("resolve_conj", "resolve_neg", "cpu", "get"):
        method = getattr(value, step, None)
        if callable(method) and not isinstance(value, dict):
            value = method()
    numpy = getattr(value, "numpy", None)
    if callable(numpy):
        try:
            value = numpy()
        except TypeError:  # a dtype unknown to NumPy, such as bfloat16
            value = value.float().numpy()
    return np.asarray(value)


def near(value: Any, most: int) -> np.ndarray[Any, Any] | None:
    """Return the value as an array; None for over ``most`` elements, or many that are copied from another device."""
    if not isinstance(value, PLAIN):
        value = memory(value)
    if isinstance(value, PLAIN):
        return np.asarray(value) if value.size <= most else None
    return host(value) if _size(value) <= (min(most, MAX_FAR_ELEMENTS) if _is_far(value) else most) else None


def _is_written_out(shape: tuple[int, ...], many: int) -> bool:
    return 0 < math.prod(shape) <= many and len(shape) <= 2 and (len(shape) < 2 or shape[0] <= MAX_ROWS)


def _size(value: Any) -> int:
    return int(value.size) if isinstance(value, PLAIN) else math.prod(getattr(value, "shape", ()))


def _safely(write: Callable[[], str]) -> str:
    """A picture is drawn even of objects that cannot be read."""
    try:
        return clean(write())
    except Exception as error:
        return say("unavailable", error=type(error).__name__)


def _few(value: Any, many: int, rows: bool) -> str:
    """The numbers of a small array, which are the same in each step that it appears in; empty for anything else."""
    kind = value.dtype.kind if isinstance(value, PLAIN) else ""
    if kind == "f" and value.shape in ((), (1,)):  # as nearly all of a long chain are
        return printed(value.item())
    if not kind or kind not in "biuf" or value.size > many:
        return ""
    return _few_written(value.tobytes(), value.dtype, value.shape, many, rows)


@lru_cache(maxsize=1024)
def _few_written(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], many: int, rows: bool) -> str:
    if not _is_written_out(shape, many):
        return ""
    return clean(_array_text(np.frombuffer(data, dtype).reshape(shape), rows))


def _text(value: Any, many: int, rows: bool, brief: bool = False) -> str:
    if isinstance(value, (bool, int, str)):
        return str(value) if not isinstance(value, int) or value.bit_length() < 64 else say("large_integer")
    if not hasattr(value, "shape"):  # NumPy's float64 and complex128, which are Python numbers too, have one
        return _python_number(value) if isinstance(value, (float, complex)) else str(value)
    size = _size(value)
    if size == 0:
        return "[]"
    if not _is_written_out(value.shape, many):
        return _summary(value, brief)
    array = host(value)
    return _array_text(array, rows) if array.dtype.kind in "biufc" else str(array)


def _array_text(array: np.ndarray[Any, Any], rows: bool) -> str:
    """Each number of a small array."""
    written = _written(array.reshape(-1))
    if array.ndim == 0 or array.shape == (1,):
        return written[0].strip()
    if array.ndim == 1:
        return f"[{', '.join(written)}]"
    columns = array.shape[1]
    lines = [", ".join(written[i : i + columns]) for i in range(0, len(written), columns)]
    return "[[" + (("],\n [" if rows else "], [").join(lines)) + "]]"


def _summary(value: Any, brief: bool = False) -> str:
    if isinstance(value, Digest):
        return _of_digest(value)
    values = stored(value)
    if values is not None:
        about = say("stored", count=len(values), size=_size(value))
        return f"{about} · {_text(values, MAX_NUMBERS, rows=False, brief=True)}" if len(values) else about
    array = host(value, MAX_SUMMARY_ELEMENTS)
    kind = array.dtype.kind
    if kind == "b":
        return say("some_true", part=float(array.mean()))
    if kind in "iu":
        return f"{array.min()} … {array.max()}"
    if kind not in "fc":
        return str(array.dtype)
    finite = array[np.isfinite(array)]
    counts = {"NaN": np.isnan(array).sum(), "Inf": np.isinf(array).sum()}
    bad = [f"{count} {what}" for what, count in counts.items() if count]
    if not finite.size:
        return " · ".join(bad)
    wide = finite.astype(np.complex128 if kind == "c" else np.float64)
    squares = (np.abs(wide) ** 2).sum()
    mean = summary(above_rounding(wide.mean(), np.sqrt(squares / wide.size), array.dtype.name))
    if bad:
        return " · ".join([*bad, say("mean", mean=mean)])
    norm = summary(np.sqrt(squares * (_size(value) / wide.size)))
    return say("norm", norm=norm) if brief else say("mean_norm", mean=mean, norm=norm)


def above_rounding(mean: Any, root: Any, dtype: str) -> Any:
    """A mean, or 0 where it may be nothing but the rounding errors of numbers of that root mean square.

    Such a mean would differ on every processor. Half precision is too coarse.
    """
    return mean - mean if abs(mean) <= ZERO_ROUNDINGS * EPS.get(dtype, 0.0) * root else mean


def _of_digest(digest: Digest) -> str:
    mean, norm = digest.mean_and_norm()
    if math.isfinite(mean) and math.isfinite(norm):
        mean = above_rounding(mean, norm / math.sqrt(digest.size or 1), digest.dtype)
        return say("mean_norm", mean=summary(mean), norm=summary(norm))
    return say("not_finite")


def _python_number(value: float | complex) -> str:
    if isinstance(value, float):
        return number_text(value)
    imaginary = number_text(value.imag)
    return f"{number_text(value.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"


def _written(flat: np.ndarray[Any, Any]) -> list[str]:
    """Each number as PyTorch writes it, padded to one width."""
    if flat.dtype.kind == "c":
        pairs = zip(_written(flat.real), _written(flat.imag), strict=True)
        return [f"{r}{i if i.lstrip().startswith('-') else f'+{i.lstrip()}'}j" for r, i in pairs]
    if flat.dtype.kind == "f":
        return column(flat.tolist())
    shown = [*map(str, flat.tolist())]
    longest = max(map(len, shown))
    return [s.rjust(longest) for s in shown]


class Digest:
    """The digest kept of a large result: its mean and norm, and elements evenly spaced over its rows and columns."""

    __slots__ = ("dtype", "numbers", "sample", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: str, sample: Any, numbers: tuple[Any, Any] | None) -> None:
        self.shape, self.dtype, self.sample, self.numbers = shape, dtype, sample, numbers

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def read(self) -> np.ndarray[Any, Any]:
        """The sample as an array; memory of another device is copied now."""
        if not isinstance(self.sample, np.ndarray):
            self.sample = self.sample.cpu().numpy()
        return self.sample

    def mean_and_norm(self) -> tuple[float, float]:
        """Of all elements; NaN if not computed."""
        if self.numbers is None:
            return math.nan, math.nan
        mean, norm = self.numbers = float(self.numbers[0]), float(self.numbers[1])
        return mean, norm


# -- numbers -----------------------------------------------------------------------------------------------------------


def printed(value: float, decimals: bool = False) -> str:
    """As PyTorch prints it alone.

    :param decimals: whether a whole number has decimals, as it has beside others that are not whole.

    >>> [printed(v) for v in (5.0, 0.25, 123456.789, 1.23456e-5, math.inf)]
    ['5.', '0.2500', '123456.7890', '1.2346e-05', 'inf']
    """
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size > MAX_PLAIN or (size < MIN_PLAIN and size):
        return f"{value:.4e}"
    return f"{value:.4f}" if decimals or value != int(value) else f"{value:.0f}."


def printed_rows(rows: Iterable[list[float]]) -> list[list[str]]:
    """Return the numbers of some rows, printed."""
    return [list(map(printed, row)) for row in rows]


def column(numbers: list[float]) -> list[str]:
    """Return the numbers as PyTorch prints them together, padded to one width; beside a fraction all have decimals."""
    finite = list(filter(math.isfinite, numbers))
    shown = list(map(printed, numbers, repeat([*map(math.ceil, finite)] != finite)))
    longest = max([len(s) for s, v in zip(shown, numbers, strict=True) if v and math.isfinite(v)], default=1)
    return list(map(str.rjust, shown, repeat(longest)))


def number_text(value: float | str, form: str = "") -> str:
    """Return the number without the zeros at its end.

    >>> [number_text(v) for v in (5.0, 0.25, 1 / 3, 123456.789, 1.23e-5, -0.0, "nan")]
    ['5', '0.25', '0.3333', '123456.789', '1.23e-5', '-0', 'nan']
    >>> number_text(1.0, BOOLS), number_text(3e9, INTEGERS), number_text(0.000123456, SUMMARY)
    ('True', '3000000000', '0.000123')
    """
    if isinstance(value, str) or not math.isfinite(value):
        return str(value)
    if form in (BOOLS, INTEGERS):
        return str(bool(value) if form == BOOLS else int(value))
    text = f"{value:.2e}" if form == SUMMARY and not _whole(value) else printed(value)
    shown = Decimal(text).normalize()
    if not shown or MIN_PLAIN <= abs(float(shown)) <= (MAX_WHOLE if form == SUMMARY else MAX_PLAIN):
        return f"{shown:f}"
    return f"{shown:e}".replace("e+", "e")


@lru_cache(maxsize=1024)
def drawn(text: str) -> str:
    """Rewrite numbers as PyTorch prints them for a picture: without zeros at the end, with a minus sign.

    >>> drawn("[-0.0430, 1.0000]"), drawn("-1. + 2.5e-05 = -inf"), drawn("0.2500-1.0000j")
    ('[−0.043, 1.]', '−1. + 2.5e−5 = −inf', '0.2500-1.0000j')
    >>> drawn("1.0000e-04")
    '0.0001'
    """
    return text if _COMPLEX.search(text) else _PRINTED.sub(_as_drawn, text)


def _as_drawn(number: re.Match[str]) -> str:
    sign, digits, power = number.groups()
    if digits is None:
        return "−"
    if power and MIN_PLAIN <= abs(value := float(digits + power)) <= MAX_PLAIN:  # rounded to a number that has no power
        return f"{'−' * bool(sign)}{number_text(value)}{'.' * value.is_integer()}"
    short = digits.rstrip("0") if len(digits.partition(".")[2]) == 4 else digits
    size = f"e{int(power[1:])}".replace("-", "−") if power else ""
    return f"{'−' * bool(sign)}{short}{size}"


def summary(value: float | complex) -> str:
    """A mean or a norm: three digits are enough to compare it.

    >>> [summary(v) for v in (2.0, 31.6227766, 0.000488, 63245.5)]
    ['2.', '31.6', '0.000488', '63200']
    """
    if isinstance(value, complex):
        imaginary = summary(value.imag)
        return f"{summary(value.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    value = float(value)
    return number_text(value, SUMMARY) + "." * (math.isfinite(value) and _whole(value))


def _whole(value: float) -> bool:
    return value == int(value) and abs(value) < MAX_WHOLE
