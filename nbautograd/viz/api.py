"""What users call: a picture of a graph, an animation of a backward pass, a recording of several."""

from __future__ import annotations

import base64
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbautograd import protocol
from nbautograd.viz import export, text, torch_events
from nbautograd.viz.escape import escape
from nbautograd.viz.layout import Layout, layout
from nbautograd.viz.model import GraphModel, Resolve, build
from nbautograd.viz.recorder import Recorder, Timeline
from nbautograd.viz.svg import draw, label_size, measure

__all__ = ["Animation", "Picture", "Recording", "animate", "graph", "record"]

DRAWN = 3000  # boxes; more than that is shown as text


WIDE = 1400  # pixels, from which on a graph is drawn from top to bottom if that is better to read


def arrange(
    model: GraphModel,
    sizes: Mapping[str, tuple[float, float]],
    direction: str | None = None,
    labels: Mapping[str, tuple[float, float]] | None = None,
) -> Layout:
    """A layout in this direction, or in the one that is better to read."""
    places = layout(model, sizes, direction=direction or "LR", labels=labels)
    if direction is None and places.width > WIDE:
        upright = layout(model, sizes, direction="TB", labels=labels)
        if upright.width < places.width / 2:
            return upright
    return places


class Picture:
    """A graph, drawn. The last line of a cell shows it; ``save`` writes a file."""

    def __init__(self, model: GraphModel, direction: str | None = None, engine: str = "own") -> None:
        if engine not in ("own", "dot"):
            raise ValueError(f"engine must be 'own' or 'dot', got {engine!r}")
        self.model, self.direction, self.engine = model.plain(), direction, engine

    @property
    def svg(self) -> str:
        """The drawing.

        :raises RuntimeError: ``engine="dot"`` and Graphviz is not installed, or fails.
        """
        if self.engine == "dot":
            return export.dot_svg(self.model, self.direction or "LR")
        return draw(self.model, arrange(self.model, measure(self.model), self.direction), description=self.text)

    @property
    def text(self) -> str:
        """The graph in words."""
        return text.graph_text(self.model)

    @property
    def dot(self) -> str:
        """The source of a Graphviz drawing."""
        return export.to_dot(self.model)

    def save(self, path: str | Path) -> Path:
        """Write ``.svg``, ``.html``, ``.dot`` or ``.txt``; returns the path."""
        kinds = {".svg": lambda: self.svg, ".dot": lambda: self.dot, ".txt": lambda: self.text, ".html": self.html}
        return export.save(path, kinds)

    def html(self) -> str:
        """A page of its own."""
        return export.page(self.model.label, static_html(self.svg, self.model.label, self.text))

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if len(self.model.nodes) > DRAWN:
            return {"text/plain": self.text}
        return {"text/plain": self.text, "text/html": static_html(self.svg, self.model.label, self.text)}


class Recording:
    """Backward passes that have been recorded: the timeline, its pictures and its player."""

    def __init__(self, timeline: Timeline, direction: str | None = None) -> None:
        self.timeline, self.direction = timeline, direction
        self._layouts: dict[int, Layout] = {}
        self._widget: Any = None

    @property
    def label(self) -> str:
        """One line that says what was recorded."""
        if not self.timeline.scenes:
            return "no backward pass"
        passes = max((frame.backward for frame in self.timeline.frames), default=0)
        more = f" · {passes} passes" if passes > 1 else ""
        return f"{self.timeline.scenes[-1].label} · {len(self.timeline)} steps{more}"

    def place(self, scene: int) -> Layout:
        """The layout of one scene, with room for every text that the animation will show."""
        if scene not in self._layouts:
            model = self.timeline.scenes[scene]
            sizes = measure(model, self.timeline.leaf_states(scene))
            labels = {key: label_size(shown) for key, shown in self.timeline.label_texts(scene).items()}
            self._layouts[scene] = arrange(model, sizes, self.direction, labels)
        return self._layouts[scene]

    def frame_svg(self, index: int, scene: int = -1) -> str:
        """The picture after ``index`` steps."""
        scene = self.timeline.scene_at(index) if scene < 0 else scene
        model = self.timeline.scenes[scene]
        return draw(model, self.place(scene), self.timeline.moment(index, scene), description=text.graph_text(model))

    @property
    def svg(self) -> str:
        """The picture at the end of the last pass, with every gradient on its edge."""
        if not self.timeline.scenes:
            return draw(GraphModel((), (), ()))
        scene = self.timeline.scene_at(len(self.timeline))
        model = self.timeline.scenes[scene]
        return draw(model, self.place(scene), self.timeline.final(), description=text.graph_text(model))

    @property
    def svgs(self) -> list[str]:
        """For each scene the picture before its first step, as the player starts from it."""
        return [self.frame_svg(0, scene) for scene in range(len(self.timeline.scenes))]

    @property
    def text(self) -> str:
        """The graph, the steps and the ledger in words."""
        graphs = [text.graph_text(scene) for scene in self.timeline.scenes[-1:]]
        return "\n\n".join([*graphs, text.timeline_text(self.timeline)])

    @property
    def dot(self) -> str:
        """The source of a Graphviz drawing of the last graph."""
        return export.to_dot(self.timeline.scenes[-1]) if self.timeline.scenes else "digraph {}\n"

    def data(self) -> dict[str, Any]:
        """All that the player needs, as JSON."""
        timeline = self.timeline.to_json()
        for scene, model in zip(timeline["scenes"], self.timeline.scenes, strict=True):
            scene["words"] = text.graph_text(model)
        return {"svgs": self.svgs, "timeline": timeline, "label": self.label}

    def html(self) -> str:
        """A page that plays by itself: no kernel, no network."""
        return export.player_page(self.data(), self.svg)

    def save(self, path: str | Path) -> Path:
        """Write ``.html`` (playable), ``.svg``, ``.dot`` or ``.txt``; returns the path."""
        kinds = {".svg": lambda: self.svg, ".dot": lambda: self.dot, ".txt": lambda: self.text, ".html": self.html}
        return export.save(path, kinds)

    @property
    def widget(self) -> Any:
        """The player as a Jupyter widget, made once; None where anywidget is not installed."""
        if self._widget is None:
            try:
                from nbautograd.viz.widget import BackwardPlayer
            except ImportError:
                return None
            self._widget = BackwardPlayer(**self.data(), static=self.static_html(), plain=self.text)
        return self._widget

    def static_html(self) -> str:
        """The picture at the end and the ledger, for where no widget runs."""
        if not self.timeline.scenes:
            return f"<p>{escape(self.label)}</p>"
        return static_html(self.svg, self.label, self.text, text.ledger_rows(self.timeline))

    def __repr__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return len(self.timeline)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        small = all(len(scene.nodes) <= DRAWN for scene in self.timeline.scenes)
        if self.timeline.scenes and small and self.widget is not None:
            return self.widget._repr_mimebundle_(include=include, exclude=exclude)
        return {"text/plain": self.text} | ({"text/html": self.static_html()} if small else {})


class Animation(Recording):
    """One backward pass, recorded."""


def static_html(svg: str, label: str, words: str, rows: list[tuple[str, ...]] | None = None) -> str:
    """A picture that every notebook shows, trusted or not, with its description folded below."""
    image = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    table = ""
    if rows:
        cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        table = (
            f"<details open><summary>what each leaf got</summary><table><thead><tr>"
            f"{''.join(f'<th>{escape(cell)}</th>' for cell in text.LEDGER)}</tr></thead><tbody>"
            f"{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table></details>"
        )
    return (
        f'<img alt="{escape(label)}" style="max-width:100%" src="data:image/svg+xml;base64,{image}">{table}'
        f"<details><summary>as text</summary><pre>{escape(words, 100_000)}</pre></details>"
    )


def _callers_names() -> Mapping[str, Any]:
    """The variables of the code that called this package, as they are when they are looked at."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "nbautograd",
        "contextlib",
    ):
        frame = frame.f_back
    return ChainMap(frame.f_locals, frame.f_globals)


def graph(
    *tensors: Any,
    namespace: Mapping[str, Any] | None = None,
    direction: str | None = None,
    values: bool = True,
    resolve: Resolve | None = None,
    engine: str = "own",
) -> Picture:
    """The graph that made these tensors.

    :param namespace: variables whose names are to be shown; by default those where this is called.
    :param direction: ``LR``, from left to right; ``TB``, from top to bottom; None: from left to right unless that is
        too wide to be read.
    :param values: whether values are shown, or only shapes.
    :param resolve: tells the cell of a line of code; by default as the extension does.
    :param engine: ``own``, or ``dot`` for Graphviz's layout, where that is installed.
    """
    model = build(list(tensors), namespace or _callers_names(), resolve=resolve)
    return Picture(model if values else model.without_values(), direction, engine)


def animate(
    tensor: Any,
    gradient: Any = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    namespace: Mapping[str, Any] | None = None,
    resolve: Resolve | None = None,
    direction: str | None = None,
) -> Animation:
    """Run ``tensor.backward(...)`` with these arguments and return the pass as an animation.

    An error that ends the pass is raised as usual; its traceback says so, and ``error.animation`` is the picture.
    """
    namespace = namespace or _callers_names()
    model = build(tensor, namespace, resolve=resolve)
    recorder = Recorder(model, namespace=namespace, resolve=resolve)

    def run() -> None:
        tensor.backward(gradient, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)

    try:
        _observed(tensor, gradient, model, recorder, run, bool(retain_graph or create_graph), create_graph)
    except Exception as error:
        if recorder.frames:
            error.animation = Animation(recorder.timeline(), direction)  # type: ignore[attr-defined]
        raise
    return Animation(recorder.timeline(), direction)


def _observed(
    tensor: Any,
    gradient: Any,
    model: GraphModel,
    recorder: Recorder,
    run: Callable[[], None],
    retain: bool,
    create: bool,
) -> None:
    if not torch_events.is_foreign(tensor) or tensor.grad_fn is None:
        with protocol.observe(recorder):
            run()
        return
    roots = ((tensor.grad_fn, tensor.output_nr),)
    seed = gradient if gradient is not None else tensor.detach().new_ones(tensor.shape)
    with torch_events.watch(model, roots, (seed,), recorder, retain_graph=retain, create_graph=create):
        run()


@contextmanager
def record(
    *, namespace: Mapping[str, Any] | None = None, resolve: Resolve | None = None, direction: str | None = None
) -> Iterator[Recording]:
    """Record every backward pass of nbautograd inside the ``with`` block.

    The recording is complete when the block ends; after an error it holds what ran until then.
    """
    recorder = Recorder(namespace=namespace or _callers_names(), resolve=resolve)
    recording = Recording(recorder.timeline(), direction)
    try:
        with protocol.observe(recorder):
            yield recording
    finally:
        recording.timeline = recorder.timeline()
