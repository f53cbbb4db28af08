"""The two measured libraries, each with its device and clock, and the measurement in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

Step = Callable[[], Any]
TURN = 0.05
"""Seconds that a library's turn takes at least, unless a single call does."""


@dataclass(frozen=True)
class Side:
    """A library and where its tensors are; ``clock`` is the device's (events in its queue) or the host's."""

    T: Any
    device: str
    clock: str
    tiny: bool

    def tensor(self, array: Any, kind: str | None = None, grad: bool = False) -> Any:
        """The array on the device."""
        made = self.T.tensor(array).to(self.device)
        return (made if kind is None else made.to(getattr(self.T, kind))).requires_grad_(grad)

    def normal(self, *shape: int, seed: int = 0, kind: str | None = None, grad: bool = False, scale: float = 1) -> Any:
        """Normal numbers, the same for both sides; of many, the first 10^6 again and again, which takes less time."""
        count = int(np.prod(shape))
        few = np.random.default_rng(seed).standard_normal(min(count, 10**6), np.float32) * np.float32(scale)
        return self.tensor(np.resize(few, shape), kind, grad)

    def size(self, full: int, tiny: int) -> int:
        """The size of the row, in a rehearsal a tiny one."""
        return tiny if self.tiny else full

    def synchronize(self) -> None:
        """Wait until the device has done all of its work."""
        if self.clock == "device":
            self.T.cuda.synchronize()

    def seconds(self, step: Step, count: int) -> float:
        """One step's time, in the device's queue."""
        if self.clock == "host":
            begin = time.perf_counter()
            for _ in range(count):
                step()
            return (time.perf_counter() - begin) / count
        start, end = self.T.cuda.Event(enable_timing=True), self.T.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(count):
            step()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / count

    def issued(self, step: Step, count: int) -> float:
        """One step's time on the host, which hands out work and waits for none of it."""
        self.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            step()
        end = time.perf_counter()
        self.synchronize()
        return (end - begin) / count

    def peak(self, step: Step) -> float:
        """MB that a step needs at its peak above its start, by the library's own counter."""
        step()
        if self.clock == "host":
            return 0.0
        self.synchronize()
        before = self.T.cuda.memory_allocated()
        self.T.cuda.reset_peak_memory_stats()
        step()
        self.synchronize()
        return float(self.T.cuda.max_memory_allocated() - before) / 1e6

    def tidy(self) -> None:
        """Give the device's memory back, so that the other library can have it."""
        if self.clock == "device":
            self.T.cuda.empty_cache()


def sides(rehearsal: bool) -> tuple[Side, Side]:
    """Ours and PyTorch.

    :raises RuntimeError: one of them cannot use CUDA.
    """
    from .facts import exact

    ours = import_module("nbautograd")
    if (why := ours.cuda.why_not()) is not None:
        raise RuntimeError(f"no CUDA device: {why}")
    theirs = import_module("torch")
    exact()
    if rehearsal:
        theirs.set_num_threads(1)
        return Side(ours, "cuda", "host", True), Side(theirs, "cpu", "host", True)
    if not theirs.cuda.is_available():
        raise RuntimeError("the installed PyTorch cannot use CUDA")
    return Side(ours, "cuda", "device", False), Side(theirs, "cuda", "device", False)


def in_turn(
    pairs: list[tuple[Side, Step]], rounds: int, how: Callable[[Side, Step, int], float] = Side.seconds, most: int = 200
) -> list[list[float]]:
    """Seconds per call by side and round, after warming up: kernels are compiled, memory has been asked for."""
    counts = []
    for side, step in pairs:
        for _ in range(1 if side.tiny else 5):
            step()
        side.synchronize()
        seconds = how(side, step, 1 if side.tiny else 3)
        counts.append(max(1, min(most, int((TURN / 50 if side.tiny else TURN) / max(seconds, 1e-6)))))
    times: list[list[float]] = [[] for _ in pairs]
    for index in range(rounds):
        for number in range(len(pairs))[:: 1 if index % 2 else -1]:  # alternates the order of the sides
            side, step = pairs[number]
            times[number].append(how(side, step, counts[number]))
    return times


def summary(ours: list[float], theirs: list[float]) -> dict[str, Any]:
    """Medians in milliseconds, and the ratio of times with its quartiles."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "ours_ms": 1e3 * statistics.median(ours),
        "torch_ms": 1e3 * statistics.median(theirs),
        "ratio": middle,
        "quartiles": [low, high],
    }


def host(value: Any) -> Any:
    """A result of either library as an array of float64."""
    return np.asarray(value.detach().double().cpu().numpy()).reshape(-1)


def compare(ours: Any, theirs: Any, tolerance: float) -> float:
    """The relative error of ours over all elements.

    :raises AssertionError: it is above the tolerance, or not a number.
    """
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        x, y = host(a), host(b)
        error = float(np.linalg.norm(x - y) / max(float(np.linalg.norm(y)), 1e-30))
        assert error <= tolerance, f"the results differ by {error:.1e}, more than {tolerance:.0e}"
        worst = max(worst, error)
    return worst
