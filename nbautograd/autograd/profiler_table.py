"""The profiler's table, in PyTorch's form: a line per event, its times, memory, shapes and source lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

WIDTH = 12
US_PER_SECOND, US_PER_MILLISECOND = 1e6, 1e3  # in microseconds
UNITS = {"s": US_PER_SECOND, "ms": US_PER_MILLISECOND, "us": 1.0}
Column = tuple[str, int, Callable[[Any], str]]


def format_time(microseconds: float, unit: str | None = None) -> str:
    """Return a time with its unit.

    >>> format_time(1234.5), format_time(1234.5, "s")
    ('1.234ms', '0.001s')
    """
    if unit not in UNITS:
        unit = "s" if microseconds >= US_PER_SECOND else "ms" if microseconds >= US_PER_MILLISECOND else "us"
    return f"{microseconds / UNITS[unit]:.3f}{unit}"


def format_memory(count: float) -> str:
    """Return a number of bytes with its unit.

    >>> format_memory(-2048), format_memory(12)
    ('-2.00 KB', '12 B')
    """
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(count) >= 1024**power:
            return f"{count / 1024**power:.2f} {unit}"
    return f"{count} B"


def table(
    rows: Sequence[Any], limit: int, widths: tuple[int | None, int | None, int | None], header: str | None,
    top_level_only: bool, unit: str | None, shown: Mapping[str, bool],
) -> str:  # fmt: skip
    """Return the table of events, or sums of events.

    :param widths: the maximum widths of the columns of names, shapes and source lines.
    :param shown: the optional columns: ``memory`` and ``flops``.
    """
    if not rows:
        return ""
    columns = _columns(rows, widths, unit, shown)
    stacks = _stack_column(rows, widths[2])
    line = _line(["-" * width for _, width, _ in columns], columns, "-" * stacks, stacks)
    texts = [] if header is None else ["=" * (len(line) - 2), header]
    if top_level_only:
        texts += ["=" * (len(line) - 2), "This report only display top-level ops statistics"]
    texts += [line, _line([name for name, _, _ in columns], columns, "Source Location", stacks), line]
    rows_shown = [row for row in rows if not (top_level_only and row.cpu_parent is not None)]
    for row in rows_shown[: None if limit < 0 else limit]:
        texts += _lines_of(row, columns, stacks)
    texts += [line, f"Self CPU time total: {format_time(sum(_each(rows, 'self_cpu_time_total')), unit)}"]
    total = sum(_each(rows, "self_device_time_total"))
    if total > 0:
        texts.append(f"Self {_device(rows)} time total: {format_time(total, unit)}")
    return "\n".join(texts) + "\n"


def _each(rows: Sequence[Any], name: str) -> list[Any]:
    return [getattr(row, name) for row in rows]


def _lines_of(row: Any, columns: list[Column], stacks: int) -> list[str]:
    """Return the lines of a row: one, and a further one for each source line."""
    places = [_cut_front(entry, stacks) for entry in row.stack] if stacks else []
    further = [_line([""] * len(columns), columns, place, stacks) for place in [*places[1:], *[""] * bool(stacks)]]
    return [_line([value(row) for _, _, value in columns], columns, (places or [""])[0], stacks), *further]


def _columns(rows: Sequence[Any], widths: Any, unit: str | None, shown: Mapping[str, bool]) -> list[Column]:
    """Return the columns: their headings, widths, and contents."""
    of_names = _at_most(max(len(row.key) for row in rows) + 4, widths[0])
    columns: list[Column] = [
        ("Name", of_names, lambda row: _cut(row.key, widths[0])),
        *_of_times("CPU", "cpu", ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"), rows, unit),
    ]
    device = _device(rows)
    if max(_each(rows, "self_device_time_total")) > 0:
        heads = (f"Self {device}", f"Self {device} %", f"{device} total", f"{device} time avg")
        columns += _of_times(device, "device", heads, rows, unit)
    if shown["memory"]:
        columns += _of_memory("CPU", "cpu")
        if max(_each(rows, "device_memory_usage")) > 0:
            columns += _of_memory(device, "device")
    columns.append(("# of Calls", WIDTH, lambda row: str(row.count)))
    if any(_each(rows, "input_shapes")):
        width = _at_most(max(len(str(row.input_shapes)) for row in rows) + 4, widths[1])
        columns.append(("Input Shapes", width, lambda row: str(row.input_shapes)[:width]))
    counts = [row.flops for row in rows if row.flops > 0] if shown["flops"] else []
    if counts:
        power = max(0, min(int(math.log10(min(counts)) / 3), 5))
        name = f"Total {('', 'K', 'M', 'G', 'T', 'P')[power]}FLOPs"
        columns.append((name, WIDTH, lambda row: f"{row.flops / 1000**power:8.3f}" if row.flops > 0 else "--"))
    return columns


def _of_times(device: str, kind: str, heads: Sequence[str], rows: Sequence[Any], unit: str | None) -> list[Column]:
    """Return the columns of times on one device, by their headings."""
    alone, all_, each = f"self_{kind}_time_total", f"{kind}_time_total", f"{kind}_time"
    total = sum(_each(rows, alone))

    def share(row: Any, name: str) -> str:
        value = getattr(row, name)
        if total == 0:
            return "NaN" if value == 0 else "inf"
        return f"{value * 100 / total:.2f}%"

    meanings: dict[str, Callable[[Any], str]] = {
        f"Self {device} %": lambda row: share(row, alone),
        f"Self {device}": lambda row: format_time(getattr(row, alone), unit),
        f"{device} total %": lambda row: share(row, all_),
        f"{device} total": lambda row: format_time(getattr(row, all_), unit),
        f"{device} time avg": lambda row: format_time(getattr(row, each), unit),
    }
    return [(head, WIDTH, meanings[head]) for head in heads]


def _of_memory(device: str, kind: str) -> list[Column]:
    return [
        (f"{device} Mem", WIDTH, lambda row: format_memory(getattr(row, f"{kind}_memory_usage"))),
        (f"Self {device} Mem", WIDTH, lambda row: format_memory(getattr(row, f"self_{kind}_memory_usage"))),
    ]


def _device(rows: Sequence[Any]) -> str:
    return (rows[0].use_device or "None").upper()


def _stack_column(rows: Sequence[Any], limit: int | None) -> int:
    """Return the width of the column of source lines; 0 without one."""
    longest = max((len(entry) for row in rows for entry in row.stack), default=0)
    return _at_most(longest + 4, limit) if longest else 0


def _line(cells: Sequence[str], columns: Sequence[Column], place: str, stacks: int) -> str:
    text = "".join(f"{cell:>{width}}  " for cell, (_, width, _) in zip(cells, columns, strict=True))
    return text + (f"{place:<{stacks}}  " if stacks else "")


def _at_most(width: int, limit: int | None) -> int:
    return width if limit is None else min(width, limit)


def _cut(name: str, limit: int | None) -> str:
    return name if limit is None or len(name) < limit - 3 else f"{name[: limit - 3]}..."


def _cut_front(path: str, width: int) -> str:
    return path if len(path) <= width else f"...{path[len(path) - width + 3 :]}"
