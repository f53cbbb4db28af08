"""Anomaly detection: the forward line of a failing backward formula, or of the first NaN."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nbautograd._engine.arrays.sparse import SparseArray
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.grad_mode import boolean
from nbautograd._engine.core.node import Node
from nbautograd._engine.core.sparse import stored
from nbautograd.errors import AutogradError

__all__ = ["check", "detect_anomaly", "mode", "set_detect_anomaly", "watching"]

TRACEBACK, PARENT = "traceback_", "parent_"  # PyTorch's names in a node's metadata
USUAL_HINT = Node.changed_hint
HINT = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)


class _AnomalyMode:
    """The state of anomaly detection, shared by all threads as in PyTorch."""

    __slots__ = ("check_nan", "on", "wanted")

    def __init__(self) -> None:
        self.on = self.check_nan = False
        self.wanted = True  # the last argument check_nan, even if the mode is off


mode = _AnomalyMode()
_running: ContextVar[Node | None] = ContextVar("running_node", default=None)


def note(node: Node, _: Any = None) -> None:
    """Record the stack of user code that created ``node``, and the node whose vjp was running."""
    if not mode.on or TRACEBACK in node.metadata:
        return
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "nbautograd":
        frame = frame.f_back
    import traceback  # imported here because it is slow to import

    # Only the locations, not the source lines, which are looked up for display.
    node.metadata[TRACEBACK] = [
        traceback.FrameSummary(f.f_code.co_filename, line, f.f_code.co_name, lookup_line=False)
        for f, line in traceback.walk_stack(frame)
    ][::-1]
    node.metadata[PARENT] = _running.get()


def check(node: Node, gradients: list[Any]) -> None:
    """Check that no gradient computed by ``node`` has a NaN.

    :raises AutogradError: a gradient has a NaN.
    """
    for index, g in enumerate(gradients):
        a = stored(g)
        a = a.values if a.__class__ is SparseArray else a
        if getattr(a, "dtype", None) is not None and a.dtype.kind in "fc" and bool((a != a).any()):
            raise AutogradError(f"Function '{node.name()}' returned nan values in its {index}th output.")


@contextmanager
def watching(node: Node) -> Iterator[None]:
    """Run a node's vjp; if it fails, warn with the forward call that created the node."""
    token = _running.set(node)
    try:
        yield
    except Exception:
        for part in _forward_calls(node):
            try:
                warnings.warn(part, UserWarning, stacklevel=2)
            except UserWarning as warning:  # warnings are errors, but the error of the graph takes precedence
                print(f"{type(warning).__name__}: {warning}", file=sys.stderr)
        raise
    finally:
        _running.reset(token)


def _forward_calls(node: Node) -> Iterator[str]:
    """Yield the forward call that created a node; for a node created by a vjp, also that node's call, and so on."""
    import traceback

    def described(node: Node, sentence: str) -> str:
        where = node.metadata.get(TRACEBACK)
        if where is not None:
            return f"{sentence}:\n{''.join(traceback.format_list(where))}"
        return (
            f"{sentence.partition('. ')[0]}. No forward pass information available. "
            "Enable detect anomaly during forward pass for more information."
        )

    yield described(node, f"Error detected in {node.name()}. Traceback of forward call that caused the error")
    parent, seen = node.metadata.get(PARENT), {node}
    while parent is not None and parent not in seen:
        seen.add(parent)
        yield described(
            parent,
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the "
            "previous calculation",
        )
        parent = parent.metadata.get(PARENT)


def _switch(on: bool, check_nan: bool) -> None:
    if on != mode.on:
        if on:
            dispatch_mode.push(note, everywhere=True)
        else:
            dispatch_mode.pop(note)
    Node.changed_hint = HINT if on else USUAL_HINT
    mode.on, mode.check_nan, mode.wanted = on, on and check_nan, check_nan


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Switch anomaly detection on or off, at once or for a ``with`` block; see :class:`detect_anomaly`."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _state()
        _switch(
            boolean(mode, "set_anomaly_enabled", "enabled"),
            boolean(check_nan, "set_anomaly_enabled", "check_nan", 2),
        )

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _switch(*self._before)


def _state() -> tuple[bool, bool]:
    return mode.on, mode.wanted


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """A mode that finds the operation whose gradient is NaN: backward raises, and a warning shows its forward call.

    Both the forward and the backward computation must run inside the ``with`` block. It is slow.

    :param check_nan: look for NaN; otherwise only errors of formulas are explained.

    >>> import nbautograd as torch, warnings
    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> warnings.simplefilter("ignore")
    >>> with torch.autograd.detect_anomaly():
    ...     (x * 0).sqrt().mul(0).backward()
    Traceback (most recent call last):
        ...
    nbautograd.errors.AutogradError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._before = _state()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = _state()
        _switch(True, self.check_nan)

    def __exit__(self, *exception: object) -> None:
        _switch(*self._before)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on."""
    return mode.on


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection looks for NaN."""
    return mode.wanted
