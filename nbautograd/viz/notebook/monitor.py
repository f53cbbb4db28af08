"""A training loop watched: live while it runs, to be explored when it is done.

The live view and the explorable one are widgets, which nbval passes over; what stays in the notebook is one static
picture, which depends on the numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from nbautograd.viz import language
from nbautograd.viz.draw.lines import text_element
from nbautograd.viz.draw.theme import LIGHT, MIN_FONT_PX
from nbautograd.viz.escape import one_line, width
from nbautograd.viz.language import say
from nbautograd.viz.notebook import export, output
from nbautograd.viz.notebook.in_place import callers_names, seen
from nbautograd.viz.notebook.recording import Recording
from nbautograd.viz.notebook.still import WIDTH_PX, LiveDrawing, Still, card
from nbautograd.viz.notebook.tables import named_leaves
from nbautograd.viz.notebook.training import MAX_PAGE_BYTES, PassRing, Run, chosen, lens_data, pass_data
from nbautograd.viz.read import values
from nbautograd.viz.read.values import SUMMARY, is_tensor, number_text
from nbautograd.viz.read.walk import is_module, parameters_of
from nbautograd.viz.settings import settings

__all__ = ["Monitor", "monitor"]

MAX_MEASURED_LEAVES = 32
MAX_KEPT_BYTES = 400_000  # of the passes in an output, before they are packed to a quarter
MAX_LINES = 8  # leaves with a line each
MAX_LINE_POINTS = 240
HEIGHT_PX = 150  # of one plot
LEFT_PX, RIGHT_PX = 78, 140  # room for the axis, and for the names of the lines
INKS = tuple(LIGHT[name] for name in ("leaf", "grad", "out", "teal", "size-4", "muted", "ochre", "indigo"))
DASHES = ("", "6 3", "2 3", "8 3 2 3")


class Monitor(Still):
    """The result of :func:`monitor`. Call it once a step, after ``backward()`` and before the gradients are zeroed.

    ``steps``, ``losses`` and ``norms`` are those of the steps that are kept: all of a short run, of a long one fewer
    the older they are. ``recordings`` holds the passes that were recorded, by the number of the step.

    :param leaves: by name the leaves that are watched; of more than 32, 32 are.
    :param every: note one step in this many.
    :param live: whether a widget shows the plot while the loop runs; None: where there is a kernel.
    :param record: whether backward passes are recorded; None: those of small graphs.
    :param namespace: variables whose names are to be shown.
    :returns: the monitor.
    :raises ValueError: ``every`` is less than 1.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> with viz.monitor(w, namespace={"w": w}) as watch:
    ...     loss = w * w
    ...     loss.backward()
    ...     watch(loss)
    >>> isinstance(watch, viz.Monitor), watch.losses
    (True, [9.0])
    """

    def __init__(
        self, leaves: Mapping[str, Any], every: int = 1, live: bool | None = None, record: bool | None = False,
        namespace: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        self.leaves, self.every = _representative(leaves, MAX_MEASURED_LEAVES), every
        self._drawing = LiveDrawing(lambda: self.svg, live)
        self.run, self.step = Run(self.leaves), 0
        self._passes = PassRing(record, namespace or {})
        self._widget: Any = None

    def __call__(self, loss: Any) -> None:
        """Note this step's loss, the gradient of each leaf, and its change since the last step.

        :param loss: a tensor of one element, or a number.
        :raises TypeError: it is something else.
        """
        number = _number(loss)
        self.step += 1
        if (self.step - 1) % self.every:
            if self.step % self.every == 0:
                self.run.look()
            return
        step = self.run.add(self.step, number)
        self._passes.take(self.step, step.outstanding)
        self._drawing.renew()

    def __enter__(self) -> Monitor:
        self._drawing.open(say("monitor_live"))
        self._passes.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        """End the live view, also after an error or an interrupt, and show the picture."""
        self._passes.stop()
        self._drawing.close()
        seen(self)

    @property
    def steps(self) -> list[int]:
        """The numbers of the steps, from 1."""
        return [step.number for step in self.run.steps]

    @property
    def losses(self) -> list[float]:
        """The loss at each of them."""
        return [step.loss for step in self.run.steps]

    @property
    def norms(self) -> dict[str, list[float]]:
        """The norm of each leaf's gradient at each of them; NaN where there was none."""
        return {name: [step.leaves[i].norm for step in self.run.steps] for i, name in enumerate(self.leaves)}

    @property
    def recordings(self) -> dict[int, Recording]:
        """The recorded backward passes, by the number of the step."""
        return self._passes.recordings

    @property
    def label(self) -> str:
        """Summarize it in one line."""
        losses = self.losses
        return say("monitor", n=self.step, loss=number_text(losses[-1])) if losses else say("monitor_empty")

    @property
    def svg(self) -> str:
        """The picture."""
        if not self.steps and not self._drawing.is_open:
            return unstarted(self.label, repr(self).split("\n")[1:])
        return drawn(self.label, repr(self), self.steps, self.losses, _representative(self.norms, MAX_LINES))

    def contents(self, room: int = MAX_PAGE_BYTES) -> dict[str, Any]:
        """All that the interactive view shows, as JSON, with as many passes as there is room for, in bytes."""
        data = self._run_data()
        return data | {"passes": chosen(self.recordings, data["outstanding"], room)}

    def _run_data(self, every: int = 1) -> dict[str, Any]:
        """Return the view's data without passes: those of every so many-th step, and of the last one."""
        steps = self.run.steps[:-1:every] + self.run.steps[-1:]
        return lens_data(replace(self.run, steps=steps), self.recordings, self.label)

    def _kept(self) -> Iterable[dict[str, Any]]:
        """Return what a notebook may keep of the run: with some passes, without, and with fewer steps."""
        yield self.contents(MAX_KEPT_BYTES)
        yield from (self._run_data(2**halvings) for halvings in range(6))

    def html(self) -> str:
        """A page of its own: no kernel, no network."""
        if not self.steps:
            return super().html()
        return export.player_page(self.contents() | {"texts": language.player_texts()}, self.svg, "mountLens")

    @property
    def widget(self) -> Any:
        """The interactive view as a Jupyter widget; None without anywidget."""
        if self._widget is None or self._widget.comm is None:
            try:
                from nbautograd.viz.notebook.widget import LensView
            except ImportError:
                return None
            self._widget = LensView(lens=self._run_data(), label=self.label, kept=self._kept)
            self._widget.on_msg(self._asked)
        return self._widget

    def _asked(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send the pass that the view asks for; what does not make sense is not answered."""
        step = content.get("pass") if isinstance(content, dict) else None
        recording = self.recordings.get(step) if isinstance(step, int) else None
        if recording is not None:
            widget.send({"pass": step, "data": pass_data(recording)})

    def __repr__(self) -> str:
        losses = self.losses
        if not losses:
            return "\n".join([self.label, say("monitor_how"), *HOW])
        lines = [self.label, f"{say('loss_axis')}: {number_text(losses[0])} → {number_text(losses[-1])}"]
        for name, norms in _representative(self.norms, MAX_LINES).items():
            lines.append(f"‖{name}.grad‖: {number_text(norms[0], SUMMARY)} → {number_text(norms[-1], SUMMARY)}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        bundle = super()._repr_mimebundle_()
        if settings.embed and self.steps:
            return bundle | {"text/html": export.frame(self.html(), self.label, 640)}
        if output.in_kernel() and settings.widget and output.has_front_end() and self.steps and self.widget is not None:
            shown, about = self.widget._repr_mimebundle_(include=include, exclude=exclude)
            with output.compact_images():
                bundle["text/html"] = output.image(output.colored(self.svg), self.label)
            return (shown | bundle, about) if about else shown | bundle
        return bundle


HOW = ("with viz.monitor(net) as watch:", "    for x, target in data:", "        …", "        loss.backward()",
       "        watch(loss)")  # fmt: skip
"""The example shown for a monitor that was not called yet."""


def _representative(leaves: Mapping[str, Any], most: int) -> dict[str, Any]:
    """All leaves; of too many, some from the first to the last."""
    if len(leaves) <= most:
        return dict(leaves)
    names = list(leaves)
    weights = [name for name in names if "bias" not in name]
    names = weights if len(weights) >= most else names
    places = {round(i * (len(names) - 1) / (most - 1)) for i in range(most)}
    return {name: leaves[name] for i, name in enumerate(names) if i in places}


def monitor(
    *tensors: Any, every: int = 1, live: bool | None = None, record: bool | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> Monitor:  # fmt: skip
    """Watch a training loop: its loss, and of every leaf the gradient's norm, its histogram and the update's size.

    It is drawn live in a notebook. When the loop is done, what remains can be explored: the values at each step, and
    the backward passes that were recorded, which play. The tensors and modules may be this library's or PyTorch's.

    :param tensors: what to watch: modules, leaves, lists, dicts or iterables of leaves, such as ``model.parameters()``,
        or pairs of names and leaves, such as ``model.named_parameters()``; none for all leaves among the caller's
        variables, those of modules included. Of more than 32 leaves, 32 are watched, biases last.
    :param every: note one step in this many.
    :param live: whether a widget shows the plot while the loop runs; by default where there is a kernel.
    :param record: whether backward passes are recorded to be played, the last 50 and those at which the loss or the
        gradient leapt up. By default only those of graphs of at most 60 operations, and only as many as take a tenth
        of the loop's time. While PyTorch's passes are recorded, its operations are watched, which takes time, too.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :returns: the monitor, which is called once a step.
    :raises TypeError: something given is no tensor, module or collection of tensors.
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
    names = namespace if namespace is not None else callers_names()
    known = named_leaves(names)
    leaves = watched(tensors, known) if tensors else known
    return Monitor(leaves, every, live, record, names)


def _number(loss: Any) -> float:
    try:
        return float(values.host(loss).reshape(())) if hasattr(loss, "shape") else float(loss)
    except (TypeError, ValueError):
        raise TypeError(f"the loss must be one number, got {type(loss).__name__} {values.shape_text(loss)}") from None


def watched(given: Iterable[Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaves in the arguments, each once, named after its variable or its key in the collection.

    :param known: leaves by the names of the caller's variables.
    :raises TypeError: something is no tensor, module or collection of tensors.
    """
    names = {id(leaf): name for name, leaf in known.items()}
    leaves: dict[str, Any] = {}
    seen: set[int] = set()
    for own, tensor in (pair for thing in given for pair in _within(thing, names)):
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        name = own or names.get(id(tensor)) or f"leaf{len(leaves) + 1}"
        number, unlike = 1, one_line(name, 60)
        while unlike in leaves:
            number += 1
            unlike = f"{one_line(name, 50)} ({number})"
        leaves[unlike] = tensor
    return leaves


def _within(thing: Any, names: Mapping[int, str]) -> Iterator[tuple[str, Any]]:
    """(name, tensor), where the name is empty if the thing has none for it, or a variable's is better."""
    if is_tensor(thing):
        yield "", thing
        return
    if is_module(thing):
        for name, tensor in thing.named_parameters():
            if tensor.requires_grad:
                yield "" if id(tensor) in names else name, tensor
        return
    if isinstance(thing, Mapping):
        items: Iterable[Any] = thing.items()
    elif isinstance(thing, Iterable) and not isinstance(thing, (str, bytes)):
        items = thing
    elif (held := parameters_of(thing)) is not None:
        items = held
    else:
        takes = "it takes modules, leaves, and lists, dicts, iterables or objects of them"
        raise TypeError(f"monitor needs tensors, but was given {type(thing).__name__}; {takes}")
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):  # as of named_parameters()
            for name, tensor in _within(item[1], names):
                yield f"{item[0]}.{name}" if name else item[0], tensor
        else:
            yield from _within(item, names)


# -- the still picture ------------------------------------------------------------


def drawn(
    title: str, words: str, steps: Sequence[int], losses: Sequence[float], norms: Mapping[str, Sequence[float]]
) -> str:
    """The loss and the norms of gradients over the steps, as SVG."""
    high = 34 + HEIGHT_PX + (HEIGHT_PX + 22 if norms else 0) + 22
    body = _plot(say("loss_axis"), steps, {say("loss_axis"): losses}, 34)
    if norms:
        body += _plot(say("grad_norm"), steps, norms, 34 + HEIGHT_PX + 22)
    return card(title, words, body, high)


def unstarted(title: str, lines: Sequence[str]) -> str:
    """Draw the instructions for a monitor that was not called yet: a sentence, and lines of code."""
    sentence, *code = lines
    body = [text_element(14, 44, sentence, LIGHT["muted"])]
    for i, line in enumerate(code):
        indent = 8 * (len(line) - len(line.lstrip()))
        body.append(text_element(14 + indent, 68 + 18 * i, line.lstrip(), LIGHT["fg"], mono=True))
    return card(title, "\n".join(lines), body, 62 + 18 * len(code))


def _plot(title: str, steps: Sequence[int], lines: Mapping[str, Sequence[float]], top: float) -> list[str]:
    """One set of axes with its lines; a logarithmic axis where the numbers ask for one."""
    finite = {name: [v for v in line if math.isfinite(v)] for name, line in lines.items()}
    levels, log = _axis([*chain(*finite.values())])
    scale = math.log10 if log else float
    bottom = top + HEIGHT_PX - 20
    least, most = (scale(levels[0]), scale(levels[-1])) if levels else (0.0, 1.0)
    if most - least < 1e-12:
        least, most = least - 0.5, most + 0.5
    across = (WIDTH_PX - LEFT_PX - RIGHT_PX) / max((steps[-1] - steps[0]) if steps else 1, 1)

    def x(step: int) -> float:
        return LEFT_PX + (step - steps[0]) * across

    def y(value: float) -> float:
        return bottom - (scale(value) - least) / (most - least) * (HEIGHT_PX - 46)

    out = [text_element(LEFT_PX, top + 12, title + (" (log)" if log else ""), LIGHT["muted"])]
    out += _levels(levels, y)
    if steps:
        out.append(text_element(LEFT_PX, bottom + 15, str(steps[0]), LIGHT["muted"], mono=True))
        last = f"{say('steps_axis')} {steps[-1]}"
        out.append(text_element(WIDTH_PX - RIGHT_PX, bottom + 15, last, LIGHT["muted"], anchor="end", mono=True))
    ends: list[tuple[float, str, str]] = []
    for number, (name, line) in enumerate(lines.items()):
        ink, dash = INKS[number % len(INKS)], DASHES[number % len(DASHES)]
        out += _line(steps, line, x, y, bottom, ink, dash)
        ends += [(y(value), one_line(name, 19), ink) for value in finite[name][-1:]]
    return out + _names(ends)


def _axis(numbers: Sequence[float]) -> tuple[Sequence[float], bool]:
    if not numbers:
        return (), False
    low, high = min(numbers), max(numbers)
    return (low, high) if high > low else numbers[:1], low > 0 and high / low > 30


def _levels(values: Sequence[float], y: Callable[[float], float]) -> list[str]:
    """Draw a line across the axes at each of the values, with its number."""
    out = []
    for value in values:
        at, shown = y(value), number_text(value, SUMMARY)
        out.append(f'<path d="M{LEFT_PX} {at:.1f}H{WIDTH_PX - RIGHT_PX}" stroke="{LIGHT["line"]}"/>')
        out.append(text_element(LEFT_PX - 6, at + 4, shown, LIGHT["muted"], anchor="end", mono=True))
    return out


def _names(ends: list[tuple[float, str, str]]) -> list[str]:
    """Write the name of each line at its end, where no two overlap."""
    out, floor = [], -math.inf
    for at, name, ink in sorted(ends):
        floor = max(at, floor + 13)
        if width(name, MIN_FONT_PX) > 0:
            out.append(text_element(WIDTH_PX - RIGHT_PX + 8, floor + 4, name, ink, bold=True))
    return out


def _line(steps: Sequence[int], line: Sequence[float], x: Any, y: Any, bottom: float, ink: str, dash: str) -> list[str]:
    """One line, broken and marked with a cross where a number is not finite."""
    every = max(1, math.ceil(len(line) / MAX_LINE_POINTS))
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
