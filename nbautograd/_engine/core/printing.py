"""The text of a tensor, as in PyTorch.

All elements have the same format: as whole numbers with a point if all are whole, in fixed notation if their sizes are
close, otherwise in scientific notation; right-aligned; wrapped at the line width; with an ellipsis in the middle of
each long dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._names.docstrings import described


@dataclass(frozen=True, slots=True)
class Options:
    """Print options of tensors."""

    precision: int = 4
    threshold: float = 1000  # elements above which a tensor is summarized
    edgeitems: int = 3  # elements shown at each end of a summarized dimension
    linewidth: int = 80
    sci_mode: bool | None = None  # None: decided by the values


_PROFILES = {"default": Options(), "short": Options(precision=2, edgeitems=2), "full": Options(threshold=math.inf)}
_options = Options()


@described
def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Set print options of tensors; omitted ones are kept, but ``sci_mode`` returns to automatic.

    :param precision: digits after the point (4).
    :param threshold: elements above which a tensor is summarized (1000).
    :param edgeitems: elements shown at each end of a summarized dimension (3).
    :param linewidth: characters per line (80).
    :param profile: ``"default"``, ``"short"`` or ``"full"``: a set of all these.
    :param sci_mode: scientific notation always (True), never (False), or depending on the values (None).
    :raises ValueError: the profile is unknown.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default")
    """
    global _options  # process-wide, as in PyTorch
    base = _options
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"profile must be one of {', '.join(map(repr, _PROFILES))}, got {profile!r}")
        base = _PROFILES[profile]
    settings = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    _options = replace(base, sci_mode=sci_mode, **changes)


def get_printoptions() -> Options:
    """Return the current print options."""
    return _options


def format_tensor(
    data: Any, *, dtype: dtypes.dtype, default_dtype: dtypes.dtype, device: str = "cpu", requires_grad: bool = False,
    grad_fn: str | None = None, tangent: str | None = None, fetch: Callable[[Any], Any] = np.asarray,
    name: str = "tensor", contents: str | None = None,
) -> str:  # fmt: skip
    """Return the whole text, such as ``tensor([1., 2.], grad_fn=<AddBackward0>)``.

    :param data: the elements; of a summarized tensor, only the visible ones go through ``fetch``.
    :param fetch: a function that copies an array to the host.
    :param name: the text before the parenthesis.
    :param contents: the text in place of the elements, if given.
    """
    options = _options
    shape = tuple(data.shape)
    notes = [] if device == "cpu" else [f"device='{device}'"]
    usual = is_usual(dtype, default_dtype)
    if contents is not None:
        text = contents or "..."
    elif device == "meta":
        text = "..."
        notes.append(f"size={shape}")
        usual = dtype is default_dtype
    elif 0 in shape:
        text = "[]"
        if len(shape) != 1:
            notes.append(f"size={shape}")
        usual = dtype is default_dtype
    else:
        if not options.edgeitems:
            notes.append(f"size={shape}")
        text = _elements(data, shape, fetch, options, len(name) + 1)
    if not usual:
        notes.append(f"dtype={dtype!r}")
    if grad_fn is not None:
        notes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        notes.append("requires_grad=True")
    if tangent is not None:
        notes.append(f"tangent={tangent}")
    return annotated(f"{name}({text}", notes, len(name) + 1, options)


def _elements(data: Any, shape: tuple[int, ...], fetch: Callable[[Any], Any], options: Options, indent: int) -> str:
    """Return the text of the elements; of many, that of those at the edges."""
    summarised = math.prod(shape) > options.threshold
    shown = np.asarray(fetch(_edges(data, options.edgeitems) if summarised else data))
    if shown.dtype.kind == "V":  # bfloat16
        shown = shown.astype(np.float32)
    return _Layout(shown, shape, summarised, options).text(indent)


def annotated(text: str, notes: list[str], indent: int = len("tensor("), options: Options | None = None) -> str:
    """Return the text with its notes, each on the last line if it fits there and on a new one otherwise."""
    linewidth = (options or _options).linewidth
    used = len(text) - text.rfind("\n") + 1
    for note in notes:
        if used + len(note) + 2 > linewidth:
            text += ",\n" + " " * indent + note
            used = indent + len(note)
        else:
            text += ", " + note
            used += len(note) + 2
    return text + ")"


def is_usual(dtype: dtypes.dtype, default: dtypes.dtype | None = None) -> bool:
    """Return whether a dtype is the default for its values, so that it is omitted."""
    default = default or dtypes.get_default_dtype()
    return dtype in (default, default.to_complex()) or dtype.name in ("int64", "bool")


def format_part(name: str, data: Any, fetch: Callable[[Any], Any]) -> str:
    """Format a part of a sparse tensor: ``values=tensor([1., 2.])``, indented, without notes."""
    shape, head = tuple(data.shape), f"{name}=tensor("
    if 0 in shape:
        return f"{head}[], size={shape})"
    return f"{head}{_elements(data, shape, fetch, _options, len('tensor(') + len(head))})"


def _edges(data: Any, count: int) -> Any:
    """Return the first and last ``count`` elements of every long dimension, joined on the array's device.

    The longest dimension goes first, so that little is copied.
    """
    for d in sorted(range(data.ndim), key=lambda d: -data.shape[d]):
        n = data.shape[d]
        if n > 2 * count:
            before = (slice(None),) * d
            data = np.concatenate((data[(*before, slice(count))], data[(*before, slice(n - count, n))]), d)
    return data


class _Numbers:
    """The number format of a tensor's elements: notation and width."""

    def __init__(self, values: np.ndarray[Any, Any], options: Options) -> None:
        self.precision = options.precision
        self.floating = values.dtype.kind == "f"
        self.scientific = self.whole = False
        if not self.floating:
            self.width = max((len(str(v)) for v in values.ravel().tolist()), default=1)
            return
        wide = values.astype(np.float64).ravel()
        counted = wide[np.isfinite(wide) & (wide != 0)]  # the notation depends on these
        self.whole = bool(np.all(counted == np.ceil(counted)))
        self.width = 1
        if counted.size:
            sizes = np.abs(counted)
            largest, smallest = sizes.max(), sizes.min()
            with np.errstate(over="ignore"):
                uneven = largest / smallest > 1000
            self.scientific = bool(uneven or largest > 1e8 or (smallest < 1e-4 and not self.whole))
            if options.sci_mode is not None:
                self.scientific = options.sci_mode
            self.width = max(len(self._number_text(v)) for v in counted.tolist())

    def _number_text(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{self.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{self.precision}f}"

    def text(self, value: Any) -> str:
        """Return one element, padded on the left."""
        return self._number_text(value).rjust(self.width)


class _Layout:
    """The nested brackets around the elements."""

    def __init__(
        self, values: np.ndarray[Any, Any], shape: tuple[int, ...], summarised: bool, options: Options
    ) -> None:
        self.values, self.shape, self.summarised, self.options = values, shape, summarised, options
        self.imaginary: _Numbers | None = None
        if values.dtype.kind == "c":
            self.numbers = _Numbers(values.real, options)
            self.imaginary = _Numbers(values.imag, options)
            self.length = self.numbers.width + self.imaginary.width + 3
        else:
            self.numbers = _Numbers(values, options)
            self.length = self.numbers.width + 2

    def text(self, indent: int) -> str:
        return self._block_text(self.values, 0, indent) if self.shape else self._element(self.values.item())

    def _element(self, value: Any) -> str:
        if self.imaginary is None:
            return self.numbers.text(value)
        imaginary = (self.imaginary.text(value.imag) + "j").lstrip()
        return self.numbers.text(value.real) + ("" if imaginary[0] in "+-" else "+") + imaginary

    def _cut(self, dim: int) -> bool:
        return self.summarised and self.shape[dim] > 2 * self.options.edgeitems

    def _block_text(self, values: np.ndarray[Any, Any], dim: int, indent: int) -> str:
        inner = len(self.shape) - dim - 1
        edge = self.options.edgeitems
        if inner == 0:
            items = [self._element(v) for v in values.tolist()]
            if self._cut(dim):
                items[edge : len(items) - edge] = [" ..." if edge else "..."]
            return self._wrapped(items, indent)
        parts = [self._block_text(part, dim + 1, indent + 1) for part in values]
        if self._cut(dim):
            parts[edge : len(parts) - edge] = ["..."]
        return "[" + ("," + "\n" * inner + " " * (indent + 1)).join(parts) + "]"

    def _wrapped(self, items: list[str], indent: int) -> str:
        per_line = max(1, math.floor((self.options.linewidth - indent) / self.length))
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
