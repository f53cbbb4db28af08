"""Measuring the running time of code."""

from __future__ import annotations

import enum
import sys
import textwrap
import time
import timeit
from collections.abc import Callable
from statistics import median
from typing import Any, NoReturn

from nbautograd._engine.arrays import backend
from nbautograd.utils.benchmark._measurement import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]

MIN_SECONDS = 1e-9  # seconds: the smallest time
MAX_RUNS = 2**31 - 1


def timer() -> float:
    """Return the time in seconds, after waiting for all work on CUDA devices.

    :returns: a Python float; use differences.

    >>> begin = timer()
    >>> timer() >= begin
    True
    """
    if backend.cuda.started():
        backend.cuda.start().cuda.Device().synchronize()
    return time.perf_counter()


class Language(enum.Enum):
    """The programming language of the code.

    :param value: 0 or 1.
    :returns: the member with that value.
    :raises ValueError: the number is unknown.

    >>> Language.PYTHON.value
    0
    """

    PYTHON = 0
    CPP = 1


class Timer:
    """A timer for code, by default with one thread, and after a warm-up.

    :param stmt: the code.
    :param setup: the code to run first, which is not measured.
    :param global_setup: PyTorch's setup of C++ code; must be empty.
    :param timer: the clock.
    :param globals: the names for the code; ``torch`` is always defined.
    :param label: the title in tables; ``sub_label`` is the row, ``description`` the column.
    :param sub_label: the row.
    :param description: the column.
    :param env: the environment, for rows with several environments.
    :param num_threads: the number of threads.
    :param language: must be Python, ``Language.PYTHON`` or ``"python"``.
    :returns: an object whose ``timeit`` and ``blocked_autorange`` return measurements.
    :raises ValueError: the code is not a string, or not Python.

    >>> timer = Timer("x * 2", "x = torch.ones(3)", label="double")
    >>> measurement = timer.timeit(100)
    >>> measurement.number_per_run, measurement.median > 0
    (100, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise ValueError("nbautograd measures Python: there is no C++ to compile code against")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        names = {"torch": sys.modules[__name__.partition(".")[0]], **(globals or {})}
        stmt, setup = (textwrap.dedent(code).removeprefix("\n").rstrip() for code in (stmt, setup))
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _seconds(self, number: int) -> float:
        return max(self._timer.timeit(number), MIN_SECONDS)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Measure a number of runs once.

        :param number: the number of runs.
        """
        with set_torch_threads(self._task_spec.num_threads):
            self._seconds(max(number // 100, 2))
            return Measurement(number, [self._seconds(number)], self._task_spec)

    def blocked_autorange(
        self, callback: Callable[[int, float], NoReturn] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measure repeatedly, each time with enough runs for the clock's resolution to be negligible.

        :param callback: called with the number of runs and the seconds of each measurement.
        :param min_run_time: the minimum total seconds.
        """
        return self._measure(min_run_time, callback, min_run_time, lambda _: True)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> Measurement:
        """Measure repeatedly, until the times vary little.

        :param threshold: stop when the interquartile range is less than this fraction of the median.
        :param min_run_time: the minimum total seconds.
        :param max_run_time: stop after this many seconds.
        :param callback: called with the number of runs and the seconds of each measurement.
        """

        def is_steady(measured: Measurement) -> bool:
            return len(measured.raw_times) > 3 and measured.meets_confidence(threshold)

        return self._measure(0.05, callback, min_run_time, is_steady, max_run_time)

    def _measure(
        self, block: float, callback: Callable[[int, float], Any] | None, least: float,
        suffices: Callable[[Measurement], bool], most: float | None = None,
    ) -> Measurement:  # fmt: skip
        """Measure until ``suffices`` is true, for at least ``least`` and not much more than ``most`` seconds."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(block)
            measured = Measurement(number, [], self._task_spec)
            while True:
                seconds = self._seconds(number)
                measured.raw_times.append(seconds)
                if callback is not None:
                    callback(number, seconds)
                total = sum(measured.raw_times)
                if total >= least and suffices(measured) or most is not None and total > most:
                    return measured

    def _block_size(self, least: float) -> int:
        """Return a number of runs that makes the clock's resolution negligible; these runs are also the warm-up."""
        overhead = median(self._seconds(0) for _ in range(5))
        number = 1
        while True:
            taken = self._seconds(number)
            negligible = overhead / taken <= 1e-4 and taken >= least / 1000
            if negligible or taken > least or number * 10 > MAX_RUNS:
                return number
            number *= 10

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise: use ``blocked_autorange``, which is more accurate."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> None:
        """Raise: use ``blocked_autorange``, which is more accurate."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def collect_callgrind(self, number: int = 100, **options: Any) -> None:
        """Raise: instructions are not counted.

        :raises NotImplementedError: always.
        """
        raise NotImplementedError("nbautograd does not count instructions with Valgrind: use `Timer.blocked_autorange`")
