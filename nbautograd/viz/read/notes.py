"""Read the notes on an operation besides its node: its place, its arguments, its result (see ``protocol.Trace``).

nbautograd's nodes carry these notes themselves, from tracing. For PyTorch's nodes, the watcher
(``capture/torch_watch.py``) puts them into ``node.metadata``, a dictionary that PyTorch keeps as long as the node
lives. Without it, PyTorch itself may have kept the lines of the call, if ``set_detect_anomaly(True)`` was on.
"""

from __future__ import annotations

import math
import re
import sys
from collections import deque
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

import numpy as np

from nbautograd.protocol import Trace
from nbautograd.viz.language import say

__all__ = ["KEY", "MAX_NOTED_OPS", "Digest", "can_be_noted", "line_of", "note", "passed_over", "remarks", "trace_of"]

KEY, LINES = "nbautograd", "traceback_"
"""The notes of ``node.metadata``: ours, and the lines that PyTorch keeps with anomaly detection."""
MAX_NOTED_OPS = 2000
"""Operations of PyTorch's that are noted in a cell, or in a block."""
OTHERS = ("torch", "nbautograd")
"""Packages whose lines are skipped."""
passed_over: deque[tuple[int, int]] = deque(maxlen=100)
"""The sequence numbers, from and to, of operations that were too many in their cell."""


def trace_of(node: Any) -> Any:
    """The ``protocol.Trace`` of an operation; None if none was noted."""
    try:
        kind = type(node)
        if hasattr(kind, "trace") or not hasattr(kind, "metadata"):  # not of PyTorch's
            return getattr(node, "trace", None)
        known = node.metadata
        trace = known.get(KEY)
        if trace is None and LINES in known:
            trace = known[KEY] = _with_line(node, known[LINES])
        elif callable(trace):  # noted without formatting
            trace = known[KEY] = trace(node)
        return trace
    except Exception:  # any object gets a picture
        return None


def _with_line(node: Any, lines: Iterable[str]) -> Trace | None:
    """The innermost line outside of PyTorch, as a trace without values.

    :param lines: of a traceback, as ``traceback.format_stack`` gives them.
    """
    packages = tuple(str(PurePath(sys.modules[name].__file__ or "?").parent) for name in OTHERS if name in sys.modules)
    for text in reversed(list(lines)):
        found = re.match(r'\s*File "(.+)", line (\d+)', text)
        if found and not found[1].startswith(packages) and not found[1].endswith("contextlib.py"):
            about = next(iter(getattr(node, "_input_metadata", None) or ()), None)
            shape = tuple(about.shape) if about is not None else ()
            dtype = str(about.dtype).rpartition(".")[2] if about is not None else ""
            return Trace(found[1], int(found[2]), _nothing, None, shape, dtype, ())
    return None


def _nothing() -> None:
    """The result of an operation that was not watched: it is not known."""


def line_of(node: Any) -> tuple[str, int] | None:
    """Return the file and the line of code of an operation; None if unknown."""
    trace = trace_of(node)
    return None if trace is None or not trace.lineno else (trace.filename, trace.lineno)


def can_be_noted(node: Any) -> bool:
    """Return whether it is a node of PyTorch's, with a place for notes."""
    return hasattr(type(node), "metadata") and not hasattr(type(node), "trace")


def note(node: Any, trace: Any) -> None:
    """Note a trace with a node of PyTorch's, or a function of the node that formats one when it is first read."""
    node.metadata[KEY] = trace


def remarks(nodes: Iterable[Any]) -> tuple[str, ...]:
    """Return the remarks on PyTorch's operations: that not all were noted, or that their inside is hidden."""
    theirs = {node: trace_of(node) for node in nodes if can_be_noted(node)}
    without = [node for node, trace in theirs.items() if trace is None]
    kinds = {type(node).__name__ for node in theirs}
    said = [say(text) for kind, text in _OPAQUE.items() if kind in kinds]
    if any(getattr(trace, "output", None) is _nothing for trace in theirs.values()):
        said.append(say("torch_lines"))
    if 0 < len(without) == len(theirs):
        said.append(say("torch_unwatched"))
    elif any(map(_was_passed_over, without)):
        watched = len(theirs) - len(without)
        said.append(say("torch_partly", watched=watched, count=len(theirs), budget=MAX_NOTED_OPS))
    return tuple(said)


def _was_passed_over(node: Any) -> bool:
    return any(first <= node._sequence_nr() < last for first, last in passed_over)


_OPAQUE = {"CompiledFunctionBackward": "torch_compiled", "CheckpointFunctionBackward": "torch_checkpoint"}


class Digest:
    """The digest that is kept of a large result: its mean and norm, and elements evenly spaced over its rows and
    columns.
    """

    __slots__ = ("dtype", "numbers", "sample", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: str, sample: Any, numbers: tuple[Any, Any] | None) -> None:
        self.shape, self.dtype, self.sample, self.numbers = shape, dtype, sample, numbers

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def read(self) -> np.ndarray[Any, Any]:
        """The sample as an array; memory of another device is copied now."""
        if not isinstance(self.sample, np.ndarray):
            self.sample = self.sample.cpu().numpy()
        return self.sample

    def mean_and_norm(self) -> tuple[float, float]:
        """Of all elements; NaN if not computed."""
        if self.numbers is None:
            return math.nan, math.nan
        mean, norm = self.numbers = float(self.numbers[0]), float(self.numbers[1])
        return mean, norm
