"""Compare programs: in turn, round after round, as ratios within a round."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from workloads import Program, Workload

OURS = "nbautograd"
CLOSEST = "others"  # for goals: the fastest of the other automatic differentiators
PEERS = ("HIPS autograd", "MyGrad")
TURN = 0.3  # seconds: a slower library repeats a call less often


@dataclass(frozen=True)
class Ratio:
    """The ratio of our time to another library's: the median of the rounds and its quartiles."""

    low: float
    middle: float
    high: float
    goal: float | None = None

    def __str__(self) -> str:
        goal = "" if self.goal is None else f", goal {self.goal:g}{'' if self.middle <= self.goal else ' missed'}"
        digits = 2 if self.middle >= 0.02 else 3
        low, middle, high = (f"{ratio:.{digits}f}" for ratio in (self.low, self.middle, self.high))
        return f"**{middle}** ({low} to {high}{goal})"


def prepared(workload: Workload, names: Iterable[str]) -> dict[str, Program]:
    """Return our programs and those of the installed libraries, after a check that their results are equal."""
    programs: dict[str, Program] = {}
    for name in (OURS, *names):
        try:
            if name in workload.makers:
                programs[name] = workload.makers[name]()
        except ImportError as error:
            if name == OURS:
                raise
            print(f"{workload.key}: without {name}: {error}", file=sys.stderr)
    expected = [host(value) for value in programs[OURS]()]
    for name, program in programs.items():
        if name != OURS:
            for index, (ours, theirs) in enumerate(zip(expected, map(host, program()), strict=True)):
                error = np.abs(ours - theirs).max() / max(np.abs(ours).max(), 1e-30)
                if not error <= workload.tolerance:
                    raise SystemExit(f"{workload.title}: result {index} of {name} differs by {error:.1e}")
    return programs


def host(value: Any) -> np.ndarray[Any, Any]:
    """A result of any of the libraries as a NumPy array."""
    value = value.detach() if hasattr(value, "detach") else getattr(value, "data", value)
    return np.array(value.numpy() if hasattr(value, "numpy") else value, np.float64).reshape(-1)


def clock() -> Callable[[], float]:
    """Processor time where one thread computes, so that other processes do not count; else the time on the wall."""
    return time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter


def seconds(program: Program, calls: int) -> float:
    """Return how long so many calls take."""
    now = clock()
    gc.collect()  # no side pays for another's garbage
    start = now()
    for _ in range(calls):
        program()
    return now() - start


def in_turn(
    programs: dict[str, Any], rounds: int, repeats: int, timed: Callable[[Any, int], float] = seconds
) -> dict[str, list[float]]:
    """Seconds per call by library and round; other work of the machine affects all alike.

    A library's turn is ``repeats`` calls, or as many as fit into `TURN`, at least one.

    :param timed: how long so many calls of one of the programs take.
    """
    times: dict[str, list[float]] = {name: [] for name in programs}
    calls = dict.fromkeys(programs, 1)
    names = list(programs)
    for index in range(-2, rounds):  # one call to choose the number of calls per round, and one round to warm up
        shift = index % len(names)  # alternates the order of the sides
        for name in names[shift:] + names[:shift]:
            each = timed(programs[name], calls[name]) / calls[name]
            if index == -2:
                calls[name] = max(1, min(repeats, int(TURN / max(each, 1e-9))))
            elif index >= 0:
                times[name].append(each)
    return times


def ratios(times: dict[str, list[float]], goals: dict[str, float], own: str = OURS) -> dict[str, Ratio]:
    """Ours over every other library, by its name."""
    closest = min(
        (name for name in PEERS if name in times), key=lambda name: statistics.median(times[name]), default=""
    )
    found = {}
    for name, theirs in times.items():
        if name != own:
            rounds = [ours / other for ours, other in zip(times[own], theirs, strict=True)]
            low, middle, high = statistics.quantiles(rounds, n=4)
            goal = goals.get(name, goals.get(CLOSEST) if name == closest else None)
            found[name] = Ratio(low, middle, high, goal)
    return found


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))
