"""The values of a pass, each read once: its texts, its size and its tile, for all steps that show it."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from nbautograd.viz.read import values
from nbautograd.viz.read.jacobians import Work
from nbautograd.viz.read.numbers import printed
from nbautograd.viz.read.tiles import MAX_READ_ELEMENTS, Tile, tile_of

__all__ = ["VANISHED", "Reading", "Readings"]

MAX_CELLS = 400_000  # of the tiles of a recording
MAX_COMPARED_ELEMENTS = 4096  # to recognize a tensor
MAX_SHARED_ELEMENTS = 64  # of a value that is read once for several steps
MAX_ROW_CHARACTERS = 12  # of a vector on an edge; a longer one is written as a column
VANISHED = -99.0


class Reading:
    """The facts that steps show of a value, each found out when it is first asked for.

    :param value: an array, or what else a gradient is.
    :param tiles: of the recording.
    """

    def __init__(self, value: Any, tiles: Readings) -> None:
        self.value, self.tiles = value, tiles
        if type(value) is np.ndarray and value.dtype.kind == "f" and value.shape in ((), (1,)):
            number = value.item()
            self.text = self.line = self.label = printed(number)
            self.is_finite, self.size = math.isfinite(number), _log10(abs(number))

    @cached_property
    def text(self) -> str:
        """As in a box, perhaps on several lines."""
        return values.told(self.value)[0]

    @cached_property
    def line(self) -> str:
        """The value on one line."""
        return values.inline(self.value)

    @cached_property
    def label(self) -> str:
        """As on an edge: its numbers, or its shape and norm."""
        written, whole = values.told(self.value, 4, brief=True)
        if len(written) > MAX_ROW_CHARACTERS and len(getattr(self.value, "shape", ())) == 1:
            written = written.replace(", ", ",\n ")  # a column: a short edge has room beside it
        return written if whole else f"{values.shape_text(self.value)}\n{written}"

    @cached_property
    def shown(self) -> tuple[str, str, int]:
        """On one line, as in the box, and the number of its tile."""
        return self.line, self.text, self.tile

    @cached_property
    def is_finite(self) -> bool:
        """True if it has no NaN and no infinity."""
        return values.is_finite(self.value)

    @cached_property
    def size(self) -> float | None:
        """log10 of the root mean square, ``VANISHED`` for zeros; None if it is not finite or cannot be read."""
        try:
            array = values.host(self.value, values.MAX_SUMMARY_ELEMENTS)
            if array.size == 1:
                return _log10(abs(complex(array.item())))
            sizes = np.abs(array.astype(np.complex128))
            return _log10(float(np.sqrt((sizes**2).mean())) if sizes.size else 0.0)
        except Exception:
            return None

    @cached_property
    def tile(self) -> int:
        """The number of its tile; -1 for no tile, or no room for more."""
        return self.tiles.add(self.value)


def _log10(mean: float) -> float | None:
    if not math.isfinite(mean):
        return None
    return round(math.log10(mean), 2) if mean else VANISHED


class Readings:
    """The values of a recording, and their tiles without repeats: one sent by a step is received by the next one."""

    def __init__(self) -> None:
        self.tiles: list[Tile] = []
        self._numbers: dict[Any, int] = {}
        self._cells = 0
        self._read: dict[Any, Reading] = {}
        self.work = Work()
        """The budget that is left for computing local derivatives."""

    def begin(self) -> None:
        """Forget what was read in the last pass, but for the tiles."""
        self._read.clear()

    def read(self, value: Any) -> Reading:
        """The reading of a value; equal small ones share one, which keeps a copy: memory may be written to."""
        array = value if isinstance(value, values.PLAIN) else values.memory(value)
        if not isinstance(array, values.PLAIN) or array.size > MAX_SHARED_ELEMENTS:
            return Reading(value, self)
        array = np.array(array, order="K")
        key = array.shape, array.dtype.str, array.tobytes()
        known = self._read.get(key)
        if known is None:
            known = self._read[key] = Reading(array, self)
        return known

    def add(self, value: Any) -> int:
        """The number of the value's tile; -1 for no tile, or no room for more."""
        if value is None:
            return -1
        is_read = type(value) is np.ndarray and value.size <= MAX_READ_ELEMENTS
        array = value if is_read else values.near(value, MAX_READ_ELEMENTS)
        if array is None:
            return -1
        key = array.shape, array.dtype.str, array.tobytes() if array.size <= MAX_COMPARED_ELEMENTS else id(value)
        number = self._numbers.get(key)
        if number is None or array.size > MAX_COMPARED_ELEMENTS:  # a large one may have been written to
            made = tile_of(array) if self._cells < MAX_CELLS else None
            if made is None:
                return -1
            number = self._numbers[key] = len(self.tiles)
            self.tiles.append(made)
            self._cells += len(made.cells)
        return number

    def put(self, known: Tile | None, number: int = -1) -> int:
        """The number of a tile that exists already, in the place of another one or at the end."""
        if known is None:
            return -1
        if number < 0:
            number = len(self.tiles)
            self.tiles.append(known)
        self.tiles[number] = known
        return number
