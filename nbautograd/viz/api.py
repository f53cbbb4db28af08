"""What users call: a picture of a graph, an animation of a backward pass, a recording of several."""

from __future__ import annotations

import base64
import json
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbautograd import protocol
from nbautograd.viz import explain, export, fold, language, text, theme, torch_events
from nbautograd.viz.escape import escape
from nbautograd.viz.language import say
from nbautograd.viz.layout import Layout, layout
from nbautograd.viz.model import GraphModel, Node, Resolve, build
from nbautograd.viz.recorder import Recorder
from nbautograd.viz.settings import settings
from nbautograd.viz.svg import Moment, draw, label_size, measure
from nbautograd.viz.timeline import Timeline, bytes_text, model_label, scene_json

__all__ = ["Animation", "Picture", "Recording", "animate", "graph", "record"]

DRAWN = 3000  # boxes; more than that is shown as text
VIEWS = 8  # groups that can be opened without a kernel
LARGE = 260  # nodes of a drawing of which there are no further views
LARGEST = 2_500_000  # bytes of a widget's state: Jupyter lets through about three million in three seconds
WIDE = 1400  # pixels, from which on a graph is drawn from top to bottom if that is better to read


def arrange(
    model: GraphModel,
    sizes: Mapping[str, tuple[float, float]],
    direction: str | None = None,
    labels: Mapping[str, tuple[float, float]] | None = None,
) -> Layout:
    """A layout in this direction, or in the one that is better to read."""
    if direction is None and settings.direction != "auto":
        direction = settings.direction
    places = layout(model, sizes, direction=direction or "LR", labels=labels)
    if direction is None and places.width > WIDE:
        upright = layout(model, sizes, direction="TB", labels=labels)
        if upright.width < places.width / 2:
            return upright
    return places


class _Shown:
    """What a graph and a recording have in common: a player where widgets run, and a still picture everywhere."""

    _widget: Any = None
    _note = ""

    def data(self) -> dict[str, Any]:
        """All that the player needs, as JSON."""
        raise NotImplementedError

    def static_html(self) -> str:
        """The picture for where no widget runs."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The same in words."""
        raise NotImplementedError

    @property
    def widget(self) -> Any:
        """The player as a Jupyter widget, made once; None where anywidget is not installed or the data is too much."""
        if self._widget is None:
            data = self.data()
            size = len(json.dumps(data, ensure_ascii=False))
            if size > LARGEST:
                self._note = say("too_large", size=bytes_text(size))
                return None
            try:
                from nbautograd.viz.widget import BackwardPlayer
            except ImportError:
                return None
            self._widget = BackwardPlayer(**data, static=self.static_html(), plain=self.text)
            self._widget.observe(self._reopen, "opened")
        return self._widget

    def _reopen(self, change: Any) -> None:
        """Draw the graph with other groups open, as the player asks."""

    @property
    def selected(self) -> Node | None:
        """The node that was last clicked in the player, or None."""
        raise NotImplementedError

    def _bundle(self, drawable: bool, options: dict[str, Any]) -> Any:
        if not drawable:
            return {"text/plain": self.text}
        if settings.widget and self.widget is not None:
            return self.widget._repr_mimebundle_(**options)
        note = f"<p>{escape(self._note)}</p>" if self._note else ""
        return {"text/plain": self.text, "text/html": note + self.static_html()}

    def __repr__(self) -> str:
        return self.text


def _coloured(svg: str) -> str:
    return theme.darkened(svg) if settings.theme == "dark" else svg


def _player_data(svgs: list[str], timeline: dict[str, Any], label: str) -> dict[str, Any]:
    texts = language.player_texts()
    return {"svgs": svgs, "timeline": timeline, "label": label, "texts": texts, "theme": settings.theme}


def _draw(model: GraphModel, direction: str | None) -> str:
    return draw(model, arrange(model, measure(model), direction), description=text.graph_text(model))


class Picture(_Shown):
    """A graph, drawn. The last line of a cell shows it; ``save`` writes a file.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * x
    >>> viz.graph(y, namespace={"x": x, "y": y})
    y → 1 leaf, 1 operation
    y = x × x  MulBackward0  4.  f32 ()
    ├─ x  leaf  2.  f32 ()  .grad None
    └─ x  see above
    """

    def __init__(self, model: GraphModel, direction: str | None = None, engine: str = "own") -> None:
        if engine not in ("own", "dot"):
            raise ValueError(f"engine must be 'own' or 'dot', got {engine!r}")
        self.model, self.direction, self.engine = model.plain(), direction, engine

    @property
    def label(self) -> str:
        """One line that says what this is."""
        return model_label(self.model)

    @property
    def svg(self) -> str:
        """The drawing.

        :raises RuntimeError: ``engine="dot"`` and Graphviz is not installed, or fails.
        """
        if self.engine == "dot":
            return export.dot_svg(self.model, self.direction or "LR")
        return _coloured(_draw(self.model, self.direction))

    @property
    def text(self) -> str:
        """The graph in words."""
        return text.graph_text(self.model)

    @property
    def dot(self) -> str:
        """The source of a Graphviz drawing."""
        return export.to_dot(self.model)

    @property
    def selected(self) -> Node | None:
        """The node that was last clicked in the widget, or None."""
        return self.model.by_id.get(self._widget.selected) if self._widget is not None else None

    def data(self) -> dict[str, Any]:
        """All that the player needs, as JSON."""
        views = {"": self.model} | self._views()
        svgs = [_draw(model, self.direction) for model in views.values()]
        scenes = [scene_json(model) | {"words": text.graph_text(model)} for model in views.values()]
        keys = {key: number for number, key in enumerate(views)}
        return _player_data(svgs, {"frames": [], "scenes": scenes}, self.label) | {"views": keys}

    def _views(self) -> dict[str, GraphModel]:
        """The graph with one group opened, or folded where it is not, so that a page without a kernel can show it."""
        if self.model.tree is None or len(self.model.nodes) > LARGE:
            return {}
        found = {}
        if any(group.kind == "loop" and not group.closed for group in self.model.groups):
            folded = fold.view(self.model, fold=True)
            if folded.whole is not None:
                found["fold"] = folded
                inside = [group.id for group in folded.groups if group.closed][:VIEWS]
                found |= {f"fold,{key}": self.opened(["fold", key]) for key in inside}
        closed = [group.id for group in self.model.groups if group.closed][:VIEWS]
        return found | {key: self.opened([key]) for key in closed}

    def opened(self, groups: Iterable[str]) -> GraphModel:
        """The graph with these groups open; ``fold`` among them folds whatever repeats."""
        opened = frozenset(groups)
        return fold.view(self.model, opened=opened - {"fold"}, fold="fold" in opened)

    def _reopen(self, change: Any) -> None:
        widget, key = self._widget, ",".join(sorted(change.new))
        if key in widget.views or len(key) > 4000:
            return
        model = self.opened(change.new)
        timeline = dict(widget.timeline)
        timeline["scenes"] = [*timeline["scenes"], scene_json(model) | {"words": text.graph_text(model)}]
        with widget.hold_sync():
            widget.svgs = [*widget.svgs, _draw(model, self.direction)]
            widget.views = widget.views | {key: len(timeline["scenes"]) - 1}
            widget.timeline = timeline

    def save(self, path: str | Path) -> Path:
        """Write ``.svg``, ``.html``, ``.dot`` or ``.txt``; returns the path."""
        kinds = {".svg": lambda: self.svg, ".dot": lambda: self.dot, ".txt": lambda: self.text, ".html": self.html}
        return export.save(path, kinds)

    def html(self) -> str:
        """A page of its own, to be zoomed, searched and clicked without a kernel or a network."""
        if self.engine == "dot" or len(self.model.nodes) > DRAWN:
            return export.page(self.label, self.static_html())
        return export.player_page(self.data(), self.svg)

    def static_html(self) -> str:
        """The picture and its description, for where no widget runs."""
        return static_html(self.svg, self.label, self.text)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if self.engine == "dot":
            return {"text/plain": self.text, "text/html": self.static_html()}
        shown = self._bundle(len(self.model.nodes) <= DRAWN, {"include": include, "exclude": exclude})
        return shown[0] if isinstance(shown, tuple) and not shown[1] else shown


class Recording(_Shown):
    """Backward passes that have been recorded: the timeline, its pictures and its player."""

    def __init__(self, timeline: Timeline, direction: str | None = None) -> None:
        self.timeline, self.direction = timeline, direction
        self._layouts: dict[int, Layout] = {}

    @property
    def label(self) -> str:
        """One line that says what was recorded."""
        if not self.timeline.scenes:
            return say("no_pass")
        passes = max((frame.backward for frame in self.timeline.frames), default=0)
        more = f" · {say('n_passes', n=passes)}" if passes > 1 else ""
        first = next((f.scene for f in reversed(self.timeline.frames) if f.kind != "created"), -1)
        return f"{model_label(self.timeline.scenes[first])} · {say('n_steps', n=len(self.timeline))}{more}"

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
        shown = [frame.scene for frame in self.timeline.frames if frame.kind != "created"]
        scene = shown[-1] if shown else 0
        model = self.timeline.scenes[scene]
        return _coloured(draw(model, self.place(scene), self._end(scene), description=text.graph_text(model)))

    def _end(self, scene: int) -> Moment:
        final = self.timeline.final(scene)
        last = self.timeline.frames[-1]
        return replace(final, active=frozenset(last.active)) if last.kind == "error" else final

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
        return _player_data(self.svgs, timeline, self.label)

    @property
    def selected(self) -> Node | None:
        """The node that was last clicked in the widget, or None."""
        if self._widget is None or not self.timeline.scenes:
            return None
        return self.timeline.scenes[self.timeline.scene_at(self._widget.index)].by_id.get(self._widget.selected)

    def html(self) -> str:
        """A page that plays by itself: no kernel, no network."""
        return export.player_page(self.data(), self.svg)

    def save(self, path: str | Path) -> Path:
        """Write ``.html`` (playable), ``.svg``, ``.dot`` or ``.txt``; returns the path."""
        kinds = {".svg": lambda: self.svg, ".dot": lambda: self.dot, ".txt": lambda: self.text, ".html": self.html}
        return export.save(path, kinds)

    def static_html(self) -> str:
        """The picture at the end and the ledger, for where no widget runs."""
        if not self.timeline.scenes:
            return f"<p>{escape(self.label)}</p>"
        return static_html(self.svg, self.label, self.text, text.ledger_rows(self.timeline))

    def __len__(self) -> int:
        return len(self.timeline)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if not self.timeline.scenes:
            return {"text/plain": self.text, "text/html": self.static_html()}
        small = all(len(scene.nodes) <= DRAWN for scene in self.timeline.scenes)
        return self._bundle(small, {"include": include, "exclude": exclude})


class Animation(Recording):
    """One backward pass, recorded."""


LEDGER = ("ledger_pass", "leaf", "grad_before", "arriving_pass", "sum", "grad_after")


def static_html(svg: str, label: str, words: str, rows: list[tuple[str, ...]] | None = None) -> str:
    """A picture that every notebook shows, trusted or not, with its description folded below."""
    image = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    table = ""
    if rows:
        cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        table = (
            f"<details open><summary>{escape(say('leaf_got'))}</summary><table><thead><tr>"
            f"{''.join(f'<th>{escape(say(cell))}</th>' for cell in LEDGER)}</tr></thead><tbody>"
            f"{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table></details>"
        )
    return (
        f'<img alt="{escape(label)}" style="max-width:100%" src="data:image/svg+xml;base64,{image}">{table}'
        f"<details><summary>{escape(say('as_text'))}</summary><pre>{escape(words, 100_000)}</pre></details>"
    )


def callers_names() -> Mapping[str, Any]:
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
    values: bool | None = None,
    depth: int | None = None,
    resolve: Resolve | None = None,
    engine: str = "own",
) -> Picture:
    """The graph that made these tensors. What is not given here is as ``viz.settings`` says.

    :param namespace: variables whose names are to be shown; by default those where this is called.
    :param direction: ``LR``, from left to right; ``TB``, from top to bottom; None: from left to right unless that is
        too wide to be read.
    :param values: whether values are shown, or only shapes.
    :param depth: how many operations from the result are drawn; 0 for all.
    :param resolve: tells the cell of a line of code; by default as the extension does.
    :param engine: ``own``, or ``dot`` for Graphviz's layout, where that is installed.
    """
    model = build(list(tensors), namespace or callers_names(), resolve=resolve)
    deep = settings.depth if depth is None else depth
    if deep:
        model = nearest(model, deep)
    shown = settings.values if values is None else values
    return Picture(model if shown else model.without_values(), direction, engine)


def nearest(model: GraphModel, depth: int) -> GraphModel:
    """The part of a graph that is at most ``depth`` operations from its roots; ``⋯`` stands for what is left out."""
    into: dict[str, list[str]] = {}
    for edge in model.edges:
        into.setdefault(edge.dst, []).append(edge.src)
    near, now = dict.fromkeys(model.roots, 0), list(model.roots)
    while now:
        later = []
        for key in now:
            node = model.by_id[key]
            if node.kind == "op" and near[key] > depth:
                continue
            for src in into.get(key, ()):
                steps = near[key] + (model.by_id[src].kind == "op")
                if steps < near.get(src, sys.maxsize):
                    near[src] = steps
                    later.append(src)
        now = later
    kept = {key for key, steps in near.items() if steps <= depth}
    nodes = [node for node in model.nodes if node.id in kept]
    edges = []
    for edge in model.edges:
        if edge.dst in kept and edge.src in kept:
            edges.append(edge)
        elif edge.dst in kept:
            nodes.append(Node(f"m{edge.id}", "constant", "⋯"))
            edges.append(replace(edge, src=f"m{edge.id}", kind="constant"))
    return GraphModel(tuple(nodes), tuple(edges), model.roots, model.handles)


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
    namespace = namespace or callers_names()
    model = build(tensor, namespace, resolve=resolve)
    chosen = inputs if inputs is None or isinstance(inputs, (list, tuple)) else [inputs]
    found = explain.products(tensor, gradient, model) if gradient is not None else ()
    recorder = Recorder(model, namespace=namespace, resolve=resolve, inputs=chosen, products=found)

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
    *,
    namespace: Mapping[str, Any] | None = None,
    resolve: Resolve | None = None,
    direction: str | None = None,
    progress: bool = False,
) -> Iterator[Recording]:
    """Record every backward pass of nbautograd inside the ``with`` block.

    The recording is complete when the block ends; after an error, or an interrupt, it holds what ran until then.

    :param progress: show a bar that counts passes, where tqdm is installed.
    """
    with _bar() if progress else nullcontext(None) as count:
        recorder = Recorder(namespace=namespace or callers_names(), resolve=resolve, progress=count)
        recording = Recording(recorder.timeline(), direction)
        try:
            with protocol.observe(recorder):
                yield recording
        finally:
            recording.timeline = recorder.timeline()


@contextmanager
def _bar() -> Iterator[Callable[[], object] | None]:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        yield None
        return
    with tqdm(desc=say("recording"), unit="") as bar:
        yield lambda: bar.update(1)
