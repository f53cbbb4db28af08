"""Anomaly detection: the forward line of a failing backward formula, or of the first NaN."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.grad_mode import anomaly as mode, boolean
from nbautograd._engine.core.node import Node
from nbautograd._engine.core.sparse import values_of
from nbautograd.errors import warn

__all__ = ["check", "detect_anomaly", "mode", "set_detect_anomaly", "watching"]

TRACEBACK, PARENT = "traceback_", "parent_"  # PyTorch's names in a node's metadata
USUAL_HINT = Node.changed_hint
HINT = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)


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


_NOTE = dispatch_mode.Interpreter(made=note)


def saved(node: Node) -> dict[str, Any]:
    """Return the saved inputs of a node's formulas, for the report of a NaN; nothing if hooks would unpack them."""
    if node.saved.__class__ is tuple and not hasattr(type(node), "_packed_of"):
        try:
            return node.saved_values()
        except Exception:  # freed, which the formula itself reports
            return {}
    return {}


def check(node: Node, gradients: list[Any], incoming: Any = None, values: dict[str, Any] | None = None) -> None:
    """Check that no gradient computed by ``node`` has a NaN, or, if asked for, an infinity.

    :param incoming: the gradient of its result; ``values``: the saved inputs of its formulas.
    :raises BadNumberError: a gradient has one.
    """
    for index, g in enumerate(gradients):
        a = values_of(g)
        if a is not None and a.dtype.kind in "fc":
            bad = (a - a) if mode.inf else a  # infinity minus infinity is NaN
            if bool((bad != bad).any()):
                from nbautograd.autograd.bad_numbers import bad_gradient

                bad_gradient(node, incoming, values or {}, index, a, mode.inf)


@contextmanager
def watching(node: Node) -> Iterator[None]:
    """Run a node's vjp; if it fails, warn with the forward call that created the node."""
    token = _running.set(node)
    try:
        yield
    except Exception as error:
        for part in () if mode.check_forward and hasattr(error, "bad") else _forward_calls(node):  # that says it itself
            try:
                warn(part.rstrip())
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


def _set_mode(on: bool, check_nan: bool, check_forward: bool, inf: bool) -> None:
    if on != mode.on:
        if on:
            dispatch_mode.push(_NOTE, everywhere=True)
        else:
            dispatch_mode.pop(_NOTE)
    if (mode.check_forward, mode.inf) != (check_forward, inf):
        from nbautograd.autograd import bad_numbers

        if mode.check_forward:
            bad_numbers.end(mode.inf)
        if check_forward:
            bad_numbers.begin(inf)
    Node.changed_hint = HINT if on else USUAL_HINT
    mode.on, mode.check_nan, mode.wanted = on, on and (check_nan or inf), check_nan
    mode.check_forward, mode.inf = check_forward, inf


def _asked(check_nan: Any, check_forward: Any, inf: Any) -> tuple[bool, bool, bool]:
    """Return the arguments as bools."""
    return (
        boolean(check_nan, "set_anomaly_enabled", "check_nan", 2),
        boolean(check_forward, "set_anomaly_enabled", "check_forward"),
        boolean(inf, "set_anomaly_enabled", "inf"),
    )


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Switch anomaly detection on or off, at once or for a ``with`` block; see :class:`detect_anomaly`."""

    def __init__(self, mode: bool, check_nan: bool = True, *, check_forward: bool = False, inf: bool = False) -> None:
        self._before = _state()
        on = boolean(mode, "set_anomaly_enabled", "enabled")
        nan, forward, infinite = _asked(check_nan, check_forward, inf)
        _set_mode(on, nan, on and forward, on and infinite)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _set_mode(*self._before)


def _state() -> tuple[bool, bool, bool, bool]:
    return mode.on, mode.wanted, mode.check_forward, mode.inf


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """A mode that finds the operation whose gradient is NaN: backward raises, and a warning shows its forward call.

    Both the forward and the backward computation must run inside the ``with`` block. It is slow. The error says which
    element it is, what the operation was given there, the way from a leaf, and the usual cure.

    :param check_nan: look for NaN; otherwise only errors of formulas are explained.
    :param check_forward: also stop the forward pass, at the first operation whose result has a NaN. PyTorch cannot.
    :param inf: stop at infinities, too, unless the gradient or an argument already had one, as a mask of attention.

    >>> import nbautograd as torch, warnings
    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> warnings.simplefilter("ignore")
    >>> with torch.autograd.detect_anomaly():
    ...     (x * 0).sqrt().mul(0).backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    nbautograd.errors.BadNumberError: Function 'SqrtBackward0' returned nan values in its 0th output.
    ...
    >>> x = torch.tensor([1.0, -1.0], requires_grad=True)
    >>> try:
    ...     with torch.autograd.detect_anomaly(check_forward=True):
    ...         y = (x * 2).log()
    ... except RuntimeError as error:
    ...     print("; ".join(line.strip() for line in str(error).splitlines()[:1]))
    log() returned nan at [1] (1 of 2 elements)
    """

    def __init__(self, check_nan: bool = True, *, check_forward: bool = False, inf: bool = False) -> None:
        self.check_nan = check_nan
        self._wanted = _asked(check_nan, check_forward, inf)
        self._before = _state()
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging."
        )

    def __enter__(self) -> None:
        self._before = _state()
        _set_mode(True, *self._wanted)

    def __exit__(self, *exception: object) -> None:
        _set_mode(*self._before)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on."""
    return mode.on


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection looks for NaN."""
    return mode.wanted
