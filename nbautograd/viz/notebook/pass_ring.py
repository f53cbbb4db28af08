"""The backward passes of a training loop's last steps, and of those that stood out, so that they can be played.

Recording a pass costs milliseconds. So unless it is asked for, only small graphs are recorded, and only as many passes
as take a tenth of the loop's time.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from nbautograd import protocol
from nbautograd._engine.core import tracing
from nbautograd.viz.capture import torch_events
from nbautograd.viz.capture.recorder import Recorder
from nbautograd.viz.capture.torch_watch import TorchWatch
from nbautograd.viz.notebook.recording import Recording

__all__ = ["PassRing"]

LAST_PASSES, OUTSTANDING_PASSES = 50, 20  # limit of the kept passes
MAX_OPS, MAX_LEAF_ELEMENTS = 60, 20_000  # limits of a graph that is recorded without a request
MAX_WATCHED_OPS = 100_000  # of PyTorch's
MAX_TIME_SHARE, FREE_SECONDS = 0.1, 0.3  # of the loop's time, for recording; those at first


class PassRing:
    """Records the passes of a step, until :meth:`take` says which step that was.

    :param record: True: all passes; False: none; None: of small graphs, as many as cost little.
    """

    def __init__(self, record: bool | None, namespace: Mapping[str, Any]) -> None:
        self.record, self.namespace = record, namespace
        self.last: deque[tuple[int, Recording]] = deque(maxlen=LAST_PASSES)
        self.outstanding: deque[tuple[int, Recording]] = deque(maxlen=OUTSTANDING_PASSES)
        self.first: tuple[int, Recording] | None = None
        self.spent, self.began = 0.0, time.perf_counter()
        self._active = False
        self._recorder: Recorder | None = None
        self._open, self._theirs = ExitStack(), ExitStack()
        self._hears_theirs = False

    def start(self) -> None:
        """Record the next pass; where passes are asked for, also trace the operations until :meth:`stop`.

        PyTorch's operations are watched if passes are recorded: its graphs alone contain too little.
        """
        self._active, self.began = True, time.perf_counter()
        if self.record:
            self._open.enter_context(tracing.traced())
        self._arm()

    def stop(self) -> None:
        """Record no more."""
        self._active, self._recorder = False, None
        self._listen(False)
        self._open.close()
        self.namespace = {}

    def take(self, step: int, outstanding: bool) -> None:
        """The passes since the last call were those of this step."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None and recorder.frames:
            began = time.perf_counter()
            entry = step, Recording(recorder.timeline())
            self.first = self.first or entry
            self.last.append(entry)
            if outstanding:
                self.outstanding.append(entry)
            self.spent += time.perf_counter() - began
        self._arm()

    @property
    def recordings(self) -> dict[int, Recording]:
        """Return the recordings by the number of the step."""
        first = [self.first] if self.first else []
        return dict(sorted([*first, *self.outstanding, *self.last], key=lambda entry: entry[0]))

    def _arm(self) -> None:
        if not self._active:  # outside the block, the observer would stay forever
            return
        wanted = self.record
        if wanted is None:
            wanted = self.spent < FREE_SECONDS + MAX_TIME_SHARE * (time.perf_counter() - self.began)
        self._recorder = Recorder(namespace=self.namespace) if wanted else None
        self._listen(bool(wanted))

    def _listen(self, on: bool) -> None:
        """Start or stop observing passes, and watching PyTorch's operations."""
        others = tuple(observer for observer in protocol.observers.get() if observer is not self)  # may have changed
        protocol.observers.set((*others, self) if on else others)
        if on and not self._hears_theirs:
            self._theirs.enter_context(TorchWatch(MAX_WATCHED_OPS))
            self._theirs.enter_context(torch_events.passes_observed())
        elif not on:
            self._theirs.close()
        self._hears_theirs = on

    def __call__(self, event: protocol.Event) -> None:
        """Hear of a pass."""
        if self._recorder is None:
            return
        began = time.perf_counter()
        if type(event) is protocol.PassStarted and self.record is None and _is_large(event):
            self.record, self._recorder = False, None
            return
        self._recorder(event)
        self.spent += time.perf_counter() - began


def _is_large(event: protocol.PassStarted) -> bool:
    seen: set[Any] = set()
    leaves: dict[int, int] = {}
    ahead: list[Any] = [node for node, _ in event.roots]
    while ahead and len(seen) <= MAX_OPS:
        node = ahead.pop()
        if node is None or node in seen or id(node) in leaves:
            continue
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves[id(node)] = math.prod(variable.shape)
            continue
        seen.add(node)
        ahead += [maker for maker, _ in node.next_functions]
    return len(seen) > MAX_OPS or sum(leaves.values()) > MAX_LEAF_ELEMENTS
