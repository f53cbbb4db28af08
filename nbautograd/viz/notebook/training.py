"""Keep the steps of a training loop: loss, gradients and updates of each leaf, in memory that does not grow.

For each leaf, a step keeps the norm of its gradient, a histogram of the magnitudes of its elements, and the distance
that the weights have moved since the step before. Older steps of a long run are thinned out; outliers stay. The
backward passes of the last steps, and of those that stood out, are kept to be played. Recording a pass costs
milliseconds. So unless it is asked for, only small graphs are recorded, and only as many passes as take a tenth of the
loop's time. The interactive view gets all this as data.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from nbautograd import protocol
from nbautograd._engine.core import tracing
from nbautograd.viz.capture import torch_events
from nbautograd.viz.capture.recorder import Recorder
from nbautograd.viz.capture.torch_watch import TorchWatch
from nbautograd.viz.escape import one_line
from nbautograd.viz.notebook.recording import Recording
from nbautograd.viz.read import values
from nbautograd.viz.read.values import SUMMARY, number_text
from nbautograd.viz.settings import settings

__all__ = ["MAX_PAGE_BYTES", "LeafStep", "PassRing", "Run", "TrainingStep", "chosen", "lens_data", "pass_data"]

BINS, OCTAVES_PER_BIN, LOWEST_LOG2 = 24, 2, -40
"""Bins of a histogram, binary orders of magnitude in each, and log2 of where the first begins: 1e-12 to 256."""
MAX_SAMPLED_ELEMENTS = 4096  # of a leaf in its histogram and update
MAX_WIDENED_ELEMENTS = 65536  # above this size a norm is summed in the gradient's own precision
KEPT_STEPS, RECENT_STEPS, OUTSTANDING_STEPS, LATER_STEPS = 600, 200, 60, 100
"""Kept steps: the number of last ones that all stay, of outliers, and the room for later ones."""
PAST_LOSSES, MIN_LOSSES = 20, 8  # to compare a step with
LAST_PASSES, OUTSTANDING_PASSES = 50, 20  # limit of the kept passes
MAX_OPS, MAX_LEAF_ELEMENTS = 60, 20_000  # limits of a graph that is recorded without a request
MAX_WATCHED_OPS = 100_000  # of PyTorch's
MAX_TIME_SHARE, FREE_SECONDS = 0.1, 0.3  # of the loop's time, for recording; those at first
MAX_PAGE_BYTES = 2_500_000  # of passes in a saved page
FIRST_LETTER = 35  # bins of a histogram, written as a letter each


@dataclass(frozen=True, slots=True)
class LeafStep:
    """One leaf at one step."""

    norm: float
    """Norm of the gradient; NaN for none."""
    ratio: float
    """‖change of the weights since the step before‖ / ‖weights‖; NaN if unknown."""
    counts: bytes
    """The histogram: for each bin, its size relative to the largest, from 0 to 90."""
    zeros: float = 0.0
    """The share of elements that are zero."""
    nan: int = 0
    inf: int = 0


@dataclass(slots=True)
class TrainingStep:
    """One step of the loop."""

    number: int
    loss: float
    leaves: tuple[LeafStep, ...]
    outstanding: bool = False
    """True if the loss or the gradient leapt up here, or became non-finite."""


@dataclass
class Run:
    """The steps of a loop. :meth:`add` is called at the noted ones, :meth:`look` at those just before them."""

    leaves: Mapping[str, Any]
    steps: list[TrainingStep] = field(default_factory=list)
    _stride: int = 1
    _before: dict[str, Any] = field(default_factory=dict)
    _losses: deque[float] = field(default_factory=lambda: deque(maxlen=PAST_LOSSES))
    _sizes: deque[float] = field(default_factory=lambda: deque(maxlen=PAST_LOSSES))
    _fine: bool = True

    def add(self, number: int, loss: float) -> TrainingStep:
        """Measure all leaves and keep the step."""
        leaves = tuple(self._measure(name, leaf) for name, leaf in self.leaves.items())
        step = TrainingStep(number, loss, leaves)
        step.outstanding = self._stands_out(step)
        self.steps.append(step)
        if len(self.steps) > KEPT_STEPS:
            self._thin()
        return step

    def look(self) -> None:
        """Remember the weights, so that the next step can measure their change."""
        for name, leaf in self.leaves.items():
            self._before[name] = _sampled(leaf)

    def _measure(self, name: str, leaf: Any) -> LeafStep:
        grad, now = getattr(leaf, "grad", None), _sampled(leaf)
        ratio = _moved(self._before.get(name), now)
        self._before[name] = now
        try:
            return _leaf_step(grad, ratio) if grad is not None else LeafStep(math.nan, ratio, b"")
        except Exception:  # an error in the picture must not stop a loop
            return LeafStep(math.nan, ratio, b"")

    def _stands_out(self, step: TrainingStep) -> bool:
        size = math.sqrt(sum(leaf.norm**2 for leaf in step.leaves if not math.isnan(leaf.norm)))
        fine = math.isfinite(step.loss) and not any(leaf.nan or leaf.inf for leaf in step.leaves)
        leaps = _leaps(step.loss, self._losses) or _leaps(size, self._sizes) or (self._fine and not fine)
        self._fine = fine
        for value, past in ((step.loss, self._losses), (size, self._sizes)):
            if math.isfinite(value):
                past.append(value)
        return leaps

    def _thin(self) -> None:
        """Keep every n-th of the older steps, in addition to the first one and the outliers."""
        for step in [step for step in self.steps if step.outstanding][:-OUTSTANDING_STEPS]:
            step.outstanding = False
        first, recent = self.steps[0], self.steps[-RECENT_STEPS:]
        while True:
            old = self.steps[1:-RECENT_STEPS]
            old = [s for s in old if s.outstanding or (s.number - first.number) % self._stride == 0]
            if len(old) <= KEPT_STEPS - RECENT_STEPS - LATER_STEPS:
                break
            self._stride *= 2
        self.steps = [first, *old, *recent]


def _leaps(value: float, past: deque[float]) -> bool:
    """Return whether a value is far above those before it."""
    if len(past) < MIN_LOSSES or not math.isfinite(value):
        return False
    middle = median(past)
    spread = median(abs(other - middle) for other in past)
    return value - middle > max(8 * spread, 0.5 * abs(middle))


def _flat_array(value: Any) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any]
    try:
        array = value.detach().numpy().reshape(-1)  # common to most of them
    except Exception:
        array = values.host(value).reshape(-1)
    return np.asarray(np.abs(array)) if array.dtype.kind == "c" else array


def _sampled(leaf: Any) -> Any:
    """Some of a leaf's elements, copied; None where they cannot be read."""
    try:
        array = _flat_array(leaf)
        return array[:: array.size // MAX_SAMPLED_ELEMENTS + 1].astype(np.float64)
    except Exception:
        return None


def _moved(before: Any, now: Any) -> float:
    if before is None or now is None or before.shape != now.shape:
        return math.nan
    size, change = math.sqrt(before @ before), now - before
    return math.sqrt(change @ change) / size if size > 0 and math.isfinite(size) else math.nan


def _leaf_step(grad: Any, ratio: float) -> LeafStep:
    flat = _flat_array(grad)
    wide = flat if flat.size > MAX_WIDENED_ELEMENTS else flat.astype(np.float64)
    square = float(wide @ wide)
    if not math.isfinite(square) or square < 1e-30:  # perhaps only the square is
        square = float((flat.astype(np.float64) ** 2).sum())
    sample = flat[:: flat.size // MAX_SAMPLED_ELEMENTS + 1]
    bad = 0, 0
    if not math.isfinite(square):
        nan = int(np.isnan(flat).sum())
        bad = nan, int(flat.size - np.isfinite(flat).sum()) - nan
        sample = sample[np.isfinite(sample)]
    elements = sample[sample != 0]
    exponents = np.frexp(elements)[1]
    bins = np.minimum(np.maximum((exponents - LOWEST_LOG2) // OCTAVES_PER_BIN, 0), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    shares = np.rint(counts * (90 / max(counts.max(), 1))).astype(np.uint8).tobytes() if elements.size else b""
    zeros = 1 - elements.size / sample.size if sample.size else 0.0
    return LeafStep(math.sqrt(square) if square == square else math.nan, ratio, shares, zeros, *bad)


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


# -- the interactive view ------------------------------------------------------------


def lens_data(run: Run, recordings: Mapping[int, Recording], label: str) -> dict[str, Any]:
    """All that the view needs but for the passes themselves."""
    steps = run.steps
    leaves = [(name, leaf, [step.leaves[i] for step in steps]) for i, (name, leaf) in enumerate(run.leaves.items())]
    return {
        "steps": [step.number for step in steps],
        "losses": [_told(step.loss, f"{step.loss:.9g}") for step in steps],
        "outstanding": [step.number for step in steps if step.outstanding],
        "leaves": [_leaf_data(*each) for each in leaves],
        "bins": {"count": BINS, "lowest": LOWEST_LOG2, "each": OCTAVES_PER_BIN, "letter": FIRST_LETTER},
        "recorded": list(recordings), "passes": {}, "theme": settings.theme, "label": label,
    }  # fmt: skip


def _leaf_data(name: str, leaf: Any, steps: Sequence[Any]) -> dict[str, Any]:
    return {
        "name": one_line(name, 60), "shape": values.shape_text(leaf),
        "norms": [_told(step.norm, number_text(step.norm, SUMMARY)) for step in steps],
        "ratios": [_told(step.ratio, number_text(step.ratio, SUMMARY)) for step in steps],
        "counts": ["".join(chr(FIRST_LETTER + share) for share in step.counts) for step in steps],
        "zeros": [round(100 * step.zeros) for step in steps],
        "bad": [[i, step.nan, step.inf] for i, step in enumerate(steps) if step.nan or step.inf],
    }  # fmt: skip


def _told(value: float, written: str) -> float | str | None:
    """The number as it was written; infinity as text and NaN as nothing, because JSON has neither."""
    return float(written) if math.isfinite(value) else None if math.isnan(value) else str(value)


def pass_data(recording: Recording) -> dict[str, Any]:
    """Return a pass for the player, without the data that all passes share."""
    data = recording.data(0)
    data["svgs"] = [drawings[:2] for drawings in data["svgs"]]  # for the window of a laptop, and for a wider one
    return {key: value for key, value in data.items() if key not in ("texts", "theme")}


def chosen(recordings: Mapping[int, Recording], outstanding: Iterable[int], room: int) -> dict[int, dict[str, Any]]:
    """Return as many passes as there is room for: the first and the last one, outliers, and others evenly.

    :param room: bytes of all passes.
    """
    steps, picked = list(recordings), dict[int, dict[str, Any]]()
    special = set(outstanding)
    order = [*steps[:1], *steps[-1:], *(step for step in reversed(steps) if step in special), *_evenly(steps)]
    for step in dict.fromkeys(order):
        data = pass_data(recordings[step])
        room -= len(json.dumps(data, ensure_ascii=False))
        if room < 0:
            break
        picked[step] = data
    return dict(sorted(picked.items()))


def _evenly(steps: Sequence[int]) -> list[int]:
    """The steps in an order whose every beginning is spread over all of them.

    >>> _evenly([1, 2, 3, 4, 5])
    [1, 5, 3, 2, 4]
    """
    by_rank = [len(steps) - 1, 0] if steps else []
    spans = [(0, len(steps) - 1)]
    for low, high in spans:
        middle = (low + high) // 2
        if low < middle < high:
            by_rank.append(middle)
            spans += [(low, middle), (middle, high)]
    return [steps[i] for i in dict.fromkeys([*sorted(by_rank[:2]), *by_rank[2:]])]
