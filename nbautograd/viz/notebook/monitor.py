"""Loss and gradient norms of a training loop: live while it runs, a still picture when it is done.

The live view is a widget, which nbval passes over; what stays in the notebook is one static picture, which depends on
the numbers only.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from nbautograd.viz.draw import theme
from nbautograd.viz.draw.theme import LIGHT, MONO, SANS
from nbautograd.viz.escape import escape, one_line, width
from nbautograd.viz.language import say
from nbautograd.viz.notebook import output
from nbautograd.viz.notebook.api import callers_names
from nbautograd.viz.notebook.tables import named_leaves
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import is_tensor
from nbautograd.viz.settings import settings

__all__ = ["Monitor", "monitor"]

REFRESH = 0.25  # seconds between two pictures of a live view
POINTS = 240  # points of one line
LEAVES = 8  # that get a line each
WIDE, HIGH = 640, 150  # of one plot
LEFT, RIGHT = 78, 140  # room for the axis, and for what the lines are called
INKS = tuple(LIGHT[name] for name in ("leaf", "grad", "out", "teal", "size-4", "muted", "ochre", "size-0"))
DASHES = ("", "6 3", "2 3", "8 3 2 3")


class Monitor:
    """What :func:`monitor` returns. Call it once a step, after ``backward()`` and before the gradients are zeroed."""

    def __init__(self, leaves: Mapping[str, Any], every: int = 1, live: bool | None = None) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        self.leaves, self.every = dict(list(leaves.items())[:LEAVES]), every
        self.live = _in_kernel() and settings.widget if live is None else live
        self.steps: list[int] = []
        self.losses: list[float] = []
        self.norms: dict[str, list[float]] = {name: [] for name in self.leaves}
        self.step = 0
        self._view: Any = None
        self._drawn = 0.0

    def __call__(self, loss: Any) -> None:
        """Note this step's loss and the gradients' norms.

        :param loss: a tensor of one element, or a number.
        :raises TypeError: it is something else.
        """
        number = _number(loss)
        self.step += 1
        if (self.step - 1) % self.every:
            return
        self.steps.append(self.step)
        self.losses.append(number)
        for name, leaf in self.leaves.items():
            self.norms[name].append(_norm(getattr(leaf, "grad", None)))
        now = time.monotonic()
        if self._view is not None and now - self._drawn > REFRESH:
            self._drawn = now
            self._view.svg = self._live()

    def __enter__(self) -> Monitor:
        if self.live and output.has_front_end():
            try:
                from IPython.display import display

                from nbautograd.viz.notebook.widget import LiveView
            except ImportError:
                return self
            self._view = LiveView(svg=self._live(), label=say("monitor_live"))
            display(self._view)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exception: Any) -> None:
        """End the live view, also after an error or an interrupt, and show the picture."""
        if self._view is not None:
            self._view.svg = ""
            self._view.close()
            self._view = None
        if _in_kernel():
            from IPython.display import display

            display(self)  # type: ignore[no-untyped-call]

    @property
    def svg(self) -> str:
        """The picture."""
        return _draw(self)

    def _live(self) -> str:
        """The picture in the notebook's colours."""
        return theme.adaptive(self.svg) if settings.theme == "auto" else output.coloured(self.svg)

    def __repr__(self) -> str:
        if not self.steps:
            return say("monitor_empty")
        lines = [say("monitor", n=self.step, loss=f"{self.losses[-1]:.5g}")]
        lines += [f"{say('loss')}: {self.losses[0]:.5g} → {self.losses[-1]:.5g}"]
        lines += [f"‖{name}.grad‖: {norms[0]:.4g} → {norms[-1]:.4g}" for name, norms in self.norms.items()]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        drawn = output.coloured(self.svg)
        html = output.image(drawn, repr(self).partition("\n")[0])
        return {"text/plain": repr(self), "text/html": html, **output.images(drawn)}


def monitor(
    *tensors: Any, every: int = 1, live: bool | None = None, namespace: Mapping[str, Any] | None = None
) -> Monitor:
    """Plot a training loop's loss and the norm of every leaf's gradient, live in a notebook.

    :param tensors: leaves, or lists of leaves such as ``list(model.parameters())``; none for all leaves among the
        caller's variables. Eight of them get a line.
    :param every: note every so many steps.
    :param live: whether a widget shows the plot while the loop runs; by default where there is a kernel.
    :raises TypeError: something given is no tensor.
    :raises ValueError: ``every`` is less than 1.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> with viz.monitor(w, namespace={"w": w}) as watch:
    ...     for _ in range(3):
    ...         loss = w * w
    ...         w.grad = None
    ...         loss.backward()
    ...         watch(loss)
    ...         w.data -= 0.25 * w.grad
    >>> watch
    training: step 3, loss 0.5625
    loss: 9 → 0.5625
    ‖w.grad‖: 6 → 1.5
    """
    known = named_leaves(namespace if namespace is not None else callers_names())
    if not tensors:
        return Monitor(known, every, live)
    names = {id(leaf): name for name, leaf in known.items()}
    flat = [t for group in tensors for t in (group if isinstance(group, (list, tuple)) else [group])]
    for tensor in flat:
        if not is_tensor(tensor):
            raise TypeError(f"monitor needs tensors, but was given {type(tensor).__name__}")
    return Monitor({names.get(id(t), f"leaf{i}"): t for i, t in enumerate(flat, 1)}, every, live)


def _shell() -> Any:
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None


def _in_kernel() -> bool:
    return getattr(_shell(), "kernel", None) is not None


def _number(loss: Any) -> float:
    try:
        return float(values.host(loss).reshape(())) if hasattr(loss, "shape") else float(loss)
    except (TypeError, ValueError):
        raise TypeError(f"the loss must be one number, got {type(loss).__name__} {values.shape_text(loss)}") from None


def _norm(grad: Any) -> float:
    if grad is None:
        return math.nan
    try:
        array = values.host(grad).reshape(-1)
        return float(abs(array.astype("complex128") ** 2).sum() ** 0.5)
    except Exception:
        return math.nan


# -- drawing -----------------------------------------------------------------------


def _draw(shown: Monitor) -> str:
    high = 34 + HIGH + (HIGH + 22 if shown.leaves else 0) + 22
    title = say("monitor", n=shown.step, loss=f"{shown.losses[-1]:.5g}") if shown.steps else say("monitor_empty")
    body = [_text(14, 22, title, 13.5, LIGHT["fg"], weight="700")]
    body += _plot(say("loss"), shown.steps, {say("loss"): shown.losses}, 34)
    if shown.leaves:
        body += _plot(say("grad_norm"), shown.steps, shown.norms, 34 + HIGH + 22)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" width="{WIDE}" height="{high}" '
        f'role="img" font-family="{escape(SANS)}"><title>{escape(title)}</title>'
        f"<desc>{escape(repr(shown), 2000)}</desc>"
        f'<rect x="0.5" y="0.5" width="{WIDE - 1}" height="{high - 1}" rx="8" fill="{LIGHT["bg"]}" '
        f'stroke="{LIGHT["line"]}"/>{"".join(body)}</svg>\n'
    )


def _plot(title: str, steps: Sequence[int], lines: Mapping[str, Sequence[float]], top: float) -> list[str]:
    """One set of axes with its lines; a logarithmic axis where the numbers ask for one."""
    numbers = [v for line in lines.values() for v in line if math.isfinite(v)]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    log = bool(numbers) and low > 0 and high / low > 30
    scale = math.log10 if log else float
    bottom, least, most = top + HIGH - 20, scale(low), scale(high)
    if most - least < 1e-12:
        least, most = least - 0.5, most + 0.5
    across = (WIDE - LEFT - RIGHT) / max((steps[-1] - steps[0]) if steps else 1, 1)

    def x(step: int) -> float:
        return LEFT + (step - steps[0]) * across

    def y(value: float) -> float:
        return bottom - (scale(value) - least) / (most - least) * (HIGH - 46)

    out = [_text(LEFT, top + 12, title + (" (log)" if log else ""), 11, LIGHT["muted"])]
    for value in (low, high) if numbers and high > low else numbers[:1]:
        at = y(value)
        out.append(f'<path d="M{LEFT} {at:.1f}H{WIDE - RIGHT}" stroke="{LIGHT["line"]}"/>')
        out.append(_text(LEFT - 6, at + 4, f"{value:.3g}", 10.5, LIGHT["muted"], anchor="end", mono=True))
    if steps:
        out.append(_text(LEFT, bottom + 15, str(steps[0]), 10.5, LIGHT["muted"], mono=True))
        last = f"{say('steps_axis')} {steps[-1]}"
        out.append(_text(WIDE - RIGHT, bottom + 15, last, 10.5, LIGHT["muted"], anchor="end", mono=True))
    ends: list[tuple[float, str, str]] = []
    for number, (name, line) in enumerate(lines.items()):
        ink, dash = INKS[number % len(INKS)], DASHES[number % len(DASHES)]
        out += _line(steps, line, x, y, bottom, ink, dash)
        final = next((v for v in reversed(line) if math.isfinite(v)), None)
        if final is not None:
            ends.append((y(final), one_line(name, 19), ink))
    floor = -math.inf
    for at, name, ink in sorted(ends):
        floor = max(at, floor + 13)
        if width(name, 11) > 0:
            out.append(_text(WIDE - RIGHT + 8, floor + 4, name, 11, ink, weight="700"))
    return out


def _line(steps: Sequence[int], line: Sequence[float], x: Any, y: Any, bottom: float, ink: str, dash: str) -> list[str]:
    """One line, broken and marked with a cross where a number is not finite."""
    every = max(1, math.ceil(len(line) / POINTS))
    parts, out, pen = [], [], "M"
    for i, (step, value) in enumerate(zip(steps, line, strict=True)):
        if not math.isfinite(value):
            if not math.isnan(value) or i:
                at = x(step)
                out.append(f'<path d="M{at - 4:.1f} {bottom - 8}l8 8m0 -8l-8 8" stroke="{LIGHT["bad"]}" fill="none"/>')
            pen = "M"
        elif i % every == 0 or i == len(line) - 1:
            parts.append(f"{pen}{x(step):.1f} {y(value):.1f}")
            pen = "L"
    if len(parts) == 1:
        at = parts[0][1:].split(" ")
        out.append(f'<circle cx="{at[0]}" cy="{at[1]}" r="3" fill="{ink}"/>')
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return [f'<path d="{"".join(parts)}" fill="none" stroke="{ink}" stroke-width="1.8"{dashes}/>', *out[:40]]


def _text(
    x: float, y: float, text: str, size: float, ink: str, *, weight: str = "", anchor: str = "", mono: bool = False
) -> str:
    more = f' font-weight="{weight}"' * bool(weight) + f' text-anchor="{anchor}"' * bool(anchor)
    more += f' font-family="{escape(MONO)}"' * mono
    return f'<text x="{x:g}" y="{y:.1f}" font-size="{size:g}" fill="{ink}"{more}>{escape(text)}</text>'
