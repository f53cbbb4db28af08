"""Tables of measurements: a row per task, a column per implementation."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nbautograd.utils.benchmark._measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

__all__ = ["Colorize", "Compare"]

BOLD, END = "\033[1m", "\033[0m"
BEST, GOOD, VERY_BAD = f"\033[92m{BOLD}", f"\033[34m{BOLD}", f"\033[31m{BOLD}"
BAD = "\033[2m\033[91m"
Cell = Measurement | None


class Colorize(enum.Enum):
    """The reference of a table's colors.

    :param value: ``"none"``, ``"columnwise"`` or ``"rowwise"``.
    :returns: the member with that value.
    :raises ValueError: the value is unknown.

    >>> Colorize("rowwise")
    <Colorize.ROWWISE: 'rowwise'>
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements for each label: a row per ``sub_label``, a column per ``description``.

    :param results: the measurements.
    :returns: an object that is a table as a string; ``print()`` prints it.
    :raises ValueError: an item is not a measurement.

    >>> from nbautograd.utils.benchmark import Measurement, TaskSpec
    >>> specs = [TaskSpec("", "", label="sum", sub_label="3 x 3", description=how) for how in ("loop", "array")]
    >>> table = Compare([Measurement(1, [time], spec) for time, spec in zip([2e-4, 3e-6], specs)])
    >>> print(str(table).splitlines()[3])
          3 x 3  |  200.0  |   3.0
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = self._warn = False
        self._colorize = Colorize.NONE

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Add measurements; measurements of the same task are merged."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only significant figures."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Color the times: the best green and blue, much longer ones red.

        :param rowwise: compare within rows instead of columns.
        """
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times with high variance."""
        self._warn = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.label, []).append(result)
        return "\n".join(_TimesTable(group, self._colorize, self._trim, self._warn).text() for group in groups.values())


class _TimesTable:
    """The table of one label."""

    def __init__(self, results: list[Measurement], colors: Colorize, trim: bool, warn: bool) -> None:
        self.results, self.colors, self.trim, self.warn = results, colors, trim, warn
        self.unit, self.scale = select_unit(min(result.median for result in results))
        self.names = ordered_unique(result.description for result in results)
        keys = ordered_unique((r.num_threads, r.env or "", r.as_row_name) for r in results)
        self.keys = sorted(keys, key=lambda key: key[:2])  # rows stay in order
        by_place = {((r.num_threads, r.env or "", r.as_row_name), r.description): r for r in results}
        self.rows: list[list[Cell]] = [[by_place.get((key, name)) for name in self.names] for key in self.keys]

    def text(self) -> str:
        cells = [["", *self.names], *([name, *row] for name, row in zip(self.row_names(), self.numbers(), strict=True))]
        widths = [max(len(cell or "") for cell in column) for column in zip(*cells, strict=True)]
        head = "  |  ".join((cell or "").center(width) for cell, width in zip(cells[0], widths, strict=True))
        lines = [head, *self.lines(cells[1:], widths, len(head))]
        title = f" {self.results[0].label or ''} ".center(len(head) - 2, "-")
        note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        warned = self.warn and any(result.has_warnings for result in self.results)
        text = "\n".join([f"[{title}]", *lines, "", f"Times are in {unit_to_english(self.unit)}s ({self.unit}).", ""])
        return text + (note if warned else "")

    def lines(self, rows: list[list[Any]], widths: list[int], length: int) -> Iterator[str]:
        """Yield the lines of rows, with one above those of each number of threads."""
        threads = None
        for number, (key, row) in enumerate(zip(self.keys, rows, strict=True)):
            if key[0] != threads:
                threads = key[0]
                yield f"{threads} threads: ".ljust(length, "-")
            parts = [cell.center(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            colored = [self.colored(part, number, place) for place, part in enumerate(parts)]
            yield "  |  ".join([row[0].ljust(widths[0]), *colored])

    def row_names(self) -> list[str]:
        """Return the names of the rows, with the environment where it changes."""
        environments = {env for _, env, _ in self.keys}
        width = max(map(len, environments)) + 4 if len(environments) > 1 else 4
        names, before = [], None
        for threads, env, name in self.keys:
            shown = f"({env})" if len(environments) > 1 and (threads, env) != before else ""
            names.append(f"  {shown.ljust(width)}{name}")
            before = threads, env
        return names

    def numbers(self) -> list[list[str]]:
        """Return the times as text, by row."""
        columns = [self.column(list(column)) for column in zip(*self.rows, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def column(self, cells: list[Cell]) -> list[str]:
        """Return the times of one column, with the significant figures of the least certain one."""
        there = [cell for cell in cells if cell is not None]
        digits = [math.ceil(np.log10(np.float32(cell.median / self.scale))) for cell in there]
        decimals = 1
        if self.trim:
            decimals = min(max(cell.significant_figures - n, 0) for cell, n in zip(there, digits, strict=True))
        width = max(digits) + decimals + (decimals > 0)
        marks = 7 if self.warn and any(cell.has_warnings for cell in there) else 0

        def text(cell: Measurement) -> str:
            value = cell.median / self.scale
            if self.trim:
                value = trim_sigfig(value, cell.significant_figures)
            spread = f" (! {cell.iqr / cell.median * 100:.0f}%)" if marks and cell.has_warnings else ""
            return f"{value:>{width}.{decimals}f}{spread:>{marks}}"

        empty = " " * (len(f"{1:>{width}.{decimals}f}") + marks)
        return [empty if cell is None else text(cell) for cell in cells]

    def colored(self, text: str, row: int, place: int) -> str:
        cell = self.rows[row][place]
        if cell is None or self.colors is Colorize.NONE:
            return text
        if self.colors is Colorize.ROWWISE:
            others: list[Any] = self.rows[row]
        else:
            threads = self.keys[row][0]
            others = [line[place] for key, line in zip(self.keys, self.rows, strict=True) if key[0] == threads]
        return _color(text, cell.median, min(other.median for other in others if other is not None))


def _color(text: str, value: float, best: float) -> str:
    if value <= best * 1.01 or value <= best + 100e-9:
        return f"{BEST}{text}{END}{END}"
    if value <= best * 1.1:
        return f"{GOOD}{text}{END}{END}"
    if value >= best * 5:
        return f"{VERY_BAD}{text}{END}{END}"
    if value >= best * 2:
        return f"{BAD}{text}{END}"
    return text
