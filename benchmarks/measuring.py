"""How programs are compared: in turn, round after round, as ratios within a round."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from workloads import Program, Workload

OURS = "nbautograd"
CLOSEST = "others"  # in goals: whichever of the other automatic differentiators is fastest
PEERS = ("HIPS autograd", "MyGrad")


@dataclass(frozen=True)
class Ratio:
    """How many times as long as another library ours takes: the median of the rounds and its quartiles."""

    low: float
    middle: float
    high: float
    goal: float | None = None

    def __str__(self) -> str:
        goal = "" if self.goal is None else f", goal {self.goal:g}{'' if self.middle <= self.goal else ' missed'}"
        return f"**{self.middle:.2f}** ({self.low:.2f} to {self.high:.2f}{goal})"


def prepared(workload: Workload) -> dict[str, Program]:
    """The programs of the libraries that are installed, after they gave equal results."""
    programs: dict[str, Program] = {}
    for name, make in workload.makers.items():
        try:
            programs[name] = make()
        except ImportError:
            if name == OURS:
                raise
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


def in_turn(programs: dict[str, Program], rounds: int, repeats: int) -> dict[str, list[float]]:
    """Seconds per call by library and round; whatever else the machine does falls on all alike."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    names, now = list(programs), clock()
    for index in range(-1, rounds):  # one round to warm up
        shift = index % len(names)  # nobody always comes first
        for name in names[shift:] + names[:shift]:
            program = programs[name]
            gc.collect()  # nobody pays for another's garbage
            start = now()
            for _ in range(repeats):
                program()
            if index >= 0:
                times[name].append((now() - start) / repeats)
    return times


def ratios(times: dict[str, list[float]], goals: dict[str, float]) -> dict[str, Ratio]:
    """Ours over every other library, by its name."""
    closest = min(
        (name for name in PEERS if name in times), key=lambda name: statistics.median(times[name]), default=""
    )
    found = {}
    for name, theirs in times.items():
        if name != OURS:
            rounds = [ours / other for ours, other in zip(times[OURS], theirs, strict=True)]
            low, middle, high = statistics.quantiles(rounds, n=4)
            goal = goals.get(name, goals.get(CLOSEST) if name == closest else None)
            found[name] = Ratio(low, middle, high, goal)
    return found


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))
