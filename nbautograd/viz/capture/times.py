"""Seconds of each operation in a run, and in its backward pass: by the profiler for our operations, by a dispatch mode
for PyTorch's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from nbautograd.viz.capture.torch_watch import TorchWatch, mode_of, pytorch, watching
from nbautograd.viz.read.introspect import can_be_noted
from nbautograd.viz.read.walk import sequence

__all__ = ["Times", "timed"]

MAX_TIMED_OPS = 100_000


class Times:
    """Seconds by node; the two libraries count theirs separately.

    >>> times = Times()
    >>> times.add(3, 0.5, backward=False)
    >>> times.add(3, 0.25, backward=False)
    >>> times.forward
    {(False, 3): 0.75}
    """

    def __init__(self) -> None:
        self.forward: dict[tuple[bool, int], float] = {}
        self.backward: dict[tuple[bool, int], float] = {}

    def add(self, number: int, seconds: float, backward: bool, theirs: bool = False) -> None:
        """Add the time of an operation, or of a part of one.

        :param number: the sequence number of its node.
        :param theirs: whether it is PyTorch's.
        """
        times = self.backward if backward else self.forward
        times[theirs, number] = times.get((theirs, number), 0.0) + seconds

    def of(self, node: Any) -> tuple[float | None, float | None]:
        """The times of a node, forward and backward; None where it was not timed."""
        key = can_be_noted(node), sequence(node) or 0
        return self.forward.get(key), self.backward.get(key)


@contextmanager
def timed(times: Times) -> Iterator[None]:
    """Note the lines and the times of all operations inside the block.

    :raises RuntimeError: a profiler is on.
    """
    torch, ours = pytorch(), sys.modules[__name__.partition(".")[0]]
    with ours.viz.traced(), nullcontext() if torch is None else _timed_by_a_mode(torch, times):
        with ours.autograd.profiler.profile() as recorded:
            yield
        for event in recorded.function_events:
            number = event.sequence_nr
            inner = any(child.sequence_nr == number for child in event.cpu_children)
            if number > 0 and not inner:
                times.add(number, event.cpu_time_total / 1e6, not event.name.startswith("aten::"))


@contextmanager
def _timed_by_a_mode(torch: Any, times: Times) -> Iterator[None]:
    """Put a mode that measures below the one that watches, so that the watch is not in the times."""
    own = TorchWatch(MAX_TIMED_OPS)
    own.start()
    watch = watching()
    rested = watch is not None and watch.rest()
    try:
        with mode_of(_timed, _Stopwatch(torch, times)):
            if watch is not None and rested:
                watch.resume()
            try:
                yield
            finally:
                if watch is not None:
                    watch.settle()
                    rested = watch.rest() or rested
    finally:
        if watch is not None and rested:
            watch.resume()
        own.stop()


class _Stopwatch:
    """The clock of a mode, which tells PyTorch's operations by the nodes that they make, or run in."""

    def __init__(self, torch: Any, times: Times) -> None:
        self.times, self.peek = times, torch._C._autograd._get_sequence_nr
        self.last, self.running = self.peek(), torch._C._current_autograd_node
        self.wait = torch.cuda.synchronize if torch.cuda.is_initialized() else None


def _timed(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run one of PyTorch's operations, and note its time."""
    clock = mode.owner
    node, number = clock.running(), clock.peek()
    if clock.wait is not None:
        clock.wait()
    begin = time.perf_counter()
    result = func(*args, **(kwargs or {}))
    if clock.wait is not None:
        clock.wait()
    seconds = time.perf_counter() - begin
    if node is not None:
        clock.times.add(node._sequence_nr(), seconds, True, True)
    elif number != clock.last:  # a node was made for it
        clock.last = number
        clock.times.add(number - 1, seconds, False, True)
    return result
