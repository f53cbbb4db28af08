"""The measured times of a task, with their median and spread."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from nbautograd._engine.arrays.thread_pool import get_num_threads, set_num_threads

__all__ = [
    "Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english",
]  # fmt: skip

MAX_FIGURES = 4  # that are significant
RESOLUTION_SECONDS = 25e-9  # of all times
SUSPECT_SPREAD, WILD_SPREAD = 0.1, 0.25  # the relative spread that causes a warning
UNITS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}

Item = TypeVar("Item", bound=Hashable)


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """The measured task: the code, and its names in tables.

    :param stmt: the code.
    :param setup: the code before it.
    :param label: the title of a table, common to several measurements.
    :param sub_label: the name of a row.
    :param description: the name of a column.
    :param env: the environment, for rows with several environments.
    :param num_threads: the number of threads.
    :param global_setup: PyTorch's setup of C++ code; kept and ignored.
    :returns: an object that compares by its strings and number.
    :raises TypeError: ``stmt`` or ``setup`` is missing.

    >>> TaskSpec("x + 1", "x = 1", label="sum").num_threads
    1
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the code."""
        if self.label is None and "\n" in self.stmt:
            below = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{below}\n{textwrap.indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """Return the code before, as it is shown."""
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return all attributes as text."""
        parts = [part for part in (self.title, self.description or "", self.setup_str()) if part]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts)


SPECIFIED = frozenset(field.name for field in dataclasses.fields(TaskSpec))


@dataclasses.dataclass(repr=False)
class Measurement:
    r"""The times of several runs. It also has the names of the task, such as ``label``.

    :param number_per_run: the number of runs of the code per measurement.
    :param raw_times: the seconds of each measurement.
    :param task_spec: the measured task.
    :param metadata: any value.
    :returns: an object whose ``times`` are the seconds of one run.
    :raises TypeError: an argument is missing.

    >>> spec = TaskSpec("x + 1", "pass", label="sum")
    >>> times = Measurement(10, [2e-05, 2.1e-05, 1.9e-05, 2e-05], spec)
    >>> times.label, times.number_per_run
    ('sum', 10)
    >>> print(*str(times).splitlines()[-4:], sep="\n")
    sum
      Median: 2.00 us
      IQR:    0.05 us (1.98 to 2.03)
      4 measurements, 10 runs per measurement, 1 thread
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in SPECIFIED:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """The seconds per run of the code."""
        return [time / self.number_per_run for time in self.raw_times]

    def _quantile(self, share: float) -> float:
        return float(np.quantile(self.times, share)) if self.raw_times else -1.0

    @property
    def median(self) -> float:
        """The median of the times."""
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.times)) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """The interquartile range: the range of the middle half."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """The approximate number of significant figures of the median, from the spread of the middle half."""
        times, count = sorted(self.times), len(self.raw_times)
        middle = np.array(times[count // 4 : math.ceil(3 * count / 4)])
        interval = max(1.645 * float(middle.std()) / math.sqrt(len(middle)), RESOLUTION_SECONDS)
        return min(max(math.floor(math.log10(self.median / interval)), 1), MAX_FIGURES)

    def meets_confidence(self, threshold: float = SUSPECT_SPREAD) -> bool:
        """Return whether the interquartile range is less than a fraction of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        """True if the times vary widely."""
        return bool(self._warning())

    def _warning(self) -> str:
        if not self.raw_times or self.meets_confidence(SUSPECT_SPREAD):
            return ""
        wild = not self.meets_confidence(WILD_SPREAD)
        why = (
            "This suggests significant environmental influence." if wild else "This could indicate system fluctuation."
        )
        share = self.iqr / self.median * 100
        return f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n           {why}"

    @property
    def title(self) -> str:
        """The label of the task, or its code."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of the row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count, threads = len(self.raw_times), self.task_spec.num_threads
        unit, scale = select_unit(self.median)
        low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}",
            *[f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})"] * (count >= 4),
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if count > 1 else ','} {threads} thread{'s' if threads > 1 else ''}",
            self._warning(),
        ]
        return "\n".join(lines).strip()

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge measurements of the same task."""
        groups: dict[TaskSpec, list[float]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, times, spec) for spec, times in groups.items()]


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit for a time in seconds, and its size.

    :param t: the time.
    :returns: ``"ns"``, ``"us"``, ``"ms"`` or ``"s"``, and its seconds.
    :raises TypeError: ``t`` is not a number.

    >>> select_unit(0.0025)
    ('ms', 0.001)
    """
    power = math.floor(math.log10(t) / 3) if t > 0 else 0
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(power, "s")
    return unit, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def unit_to_english(u: str) -> str:
    """Return the name of a unit.

    :param u: ``"ns"``, ``"us"``, ``"ms"`` or ``"s"``.
    :returns: a string.
    :raises KeyError: the unit is unknown.

    >>> unit_to_english("us")
    'microsecond'
    """
    return UNITS[u]


def trim_sigfig(x: float, n: int) -> float:
    """Round a number to a number of significant figures.

    :param x: the number.
    :param n: the number of figures.
    :returns: a Python float.
    :raises AssertionError: ``n`` is not an integer.

    >>> trim_sigfig(3.14159, 2)
    3.1
    """
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    magnitude = math.ceil(math.log10(abs(x))) if x else 0
    scale = float(10 ** (magnitude - n))
    return float(np.round(x / scale) * scale)


def ordered_unique(elements: Iterable[Item]) -> list[Item]:
    """Return the elements, each once, in their order.

    :param elements: hashable objects.
    :returns: a list.
    :raises TypeError: an element is not hashable.

    >>> ordered_unique([3, 1, 3])
    [3, 1]
    """
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Use a number of threads in a ``with`` block.

    :param n: the number of threads.
    :returns: a context manager; its end restores the previous number.
    :raises RuntimeError: ``n`` is not positive.

    >>> with set_torch_threads(1):
    ...     get_num_threads()
    1
    """
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)
