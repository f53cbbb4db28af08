"""Show a graph or a recording: a player where widgets run, and a still picture everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from nbautograd._engine.base.installing import command
from nbautograd.viz import language
from nbautograd.viz.capture.player_data import bytes_text, scene_json
from nbautograd.viz.draw.boxes import graph_text
from nbautograd.viz.draw.labels import Size
from nbautograd.viz.draw.layout import Layout
from nbautograd.viz.escape import escape, escape_long
from nbautograd.viz.language import say
from nbautograd.viz.notebook import export, output
from nbautograd.viz.notebook.arranging import MAX_ROW_NODES, beyond
from nbautograd.viz.notebook.output import brief
from nbautograd.viz.read import fold, levels
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.settings import settings

__all__ = ["Figure"]

MAX_BOXES = 3000  # a larger graph is shown as text
MAX_STATE_BYTES = 2_500_000  # of a widget: Jupyter passes about three million in three seconds
WINDOWS = (820.0, 440.0), (352.0, 520.0), (780.0, 490.0), (780.0, 380.0), (1230.0, 470.0), (1230.0, 650.0)
"""Sizes of a player on a laptop, a telephone, a tablet, in JupyterLab, on a large screen: each gets a drawing."""
SMALL, LAPTOP, STILL = WINDOWS[3:]
"""The smallest wide window, the window for an opened group with its surroundings, and the one for a still picture."""
MAX_VIEWS = 16  # of groups that open without a kernel
MAX_VIEW_BYTES = 1_000_000  # of them together
MAX_SEARCHED_OPS = 4000  # that search finds in folded groups
MAX_FIRST_STEPS = 16  # operations and groups of a folded graph at first sight
MAX_WRITTEN_OPS = 16  # of a pass whose program is written at once: a saved notebook has it
MAX_VIEWED_NODES = 260  # a drawing with more has no further views
_LEVEL = re.compile("L([0-9]{1,3})")


def _is_short(model: GraphModel) -> bool:
    """Return whether few operations and groups are drawn."""
    return sum(node.kind in ("op", "group") for node in model.nodes) <= MAX_FIRST_STEPS


class Figure:
    """Drawings of graphs, each a *scene*, of which groups can be opened; and the steps in which something happens.

    A *view* is a scene with other groups open. Its key is ``"scene:groups"``, where groups are ids in order, and
    perhaps ``L`` and the number of a level (see ``levels``), or ``open`` without folding.
    """

    ask = False
    """True if the player asks for each gradient before it shows it."""
    code: Callable[[], Sequence[tuple[str, str, str, str]]] | None = None
    """Writes the lines of the program that is played, each with its subject; None: there is no program."""
    head = ""
    """The text above the player: of the tensor whose graph it shows."""
    plays = False
    """True if there are steps."""
    _widget: Any = None
    _note = ""

    def __init__(self, direction: str | None, fold: bool | None, opened: Collection[str]) -> None:
        self.direction, self.fold, self.opened = direction, fold, frozenset(opened)
        # each with its model, so that the model's id is no other's
        self._places: dict[tuple[int, Size], tuple[GraphModel, Layout]] = {}
        self._levels: dict[int, tuple[GraphModel, dict[str, GraphModel]]] = {}

    # -- what it consists of -------------------------------------------------------------------

    @property
    def scenes(self) -> Sequence[GraphModel]:
        """The graphs, as they are drawn at first."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Summarize it in one line."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """Return the picture in words."""
        raise NotImplementedError

    @property
    def svg(self) -> str:
        """The picture for where no widget runs."""
        raise NotImplementedError

    @property
    def selected(self) -> Node | None:
        """The node that was last clicked in the widget, or None."""
        if self._widget is None or not self.scenes:
            return None
        scene = self.scenes[self.scene_at(self._widget.index)]
        return scene.by_id.get(self._widget.selected) or scene.entire.by_id.get(self._widget.selected)

    def scene_at(self, index: int) -> int:
        """Return the number of the graph that is shown after some steps."""
        return 0

    def tiles(self) -> list[dict[str, Any]]:
        """Gradients as matrices of numbers, which the steps name by their place here."""
        return []

    def forward(self) -> list[dict[str, Any]]:
        """Return the operations of each graph in running order, as JSON."""
        return []

    def nudged(self, asked: Any) -> dict[str, Any] | None:
        """Answer the player's question about a changed leaf's value; None: no answer."""
        return None

    def frames(self) -> list[dict[str, Any]]:
        """The steps, as JSON."""
        return []

    def arranged(self, scene: int, model: GraphModel, windows: Sequence[Size]) -> list[Layout]:
        """The layout of a view for windows of these sizes."""
        raise NotImplementedError

    def places(self, scene: int, model: GraphModel, windows: Sequence[Size] = WINDOWS[:1]) -> list[Layout]:
        """Return the layout for each window, each made once."""
        new = [window for window in windows if (id(model), window) not in self._places]
        for window, made in zip(new, self.arranged(scene, model, new) if new else (), strict=True):
            self._places[id(model), window] = model, made
        return [self._places[id(model), window][1] for window in windows]

    def drawings(self, scene: int, model: GraphModel, windows: Sequence[Size] = WINDOWS[:1]) -> list[str]:
        """The SVG of a view before the first step, for windows of these sizes, without the colors that are set."""
        raise NotImplementedError

    def alternatives(self, scene: int, model: GraphModel) -> list[str]:
        """The SVG of a view before the first step, and those for windows of other sizes, where they differ."""
        windows = WINDOWS if len(model.nodes) <= MAX_ROW_NODES else WINDOWS[:1]
        return list(dict.fromkeys(self.drawings(scene, model, windows)))

    def tables(self) -> list[str]:
        """HTML below the picture, for where no widget runs."""
        raise NotImplementedError

    def smaller(self) -> Iterator[str]:
        """Pictures that take less room, for where the whole one takes too much."""
        return iter(())

    # -- views -------------------------------------------------------------------

    def view(self, scene: int, groups: Collection[str]) -> GraphModel:
        """Return a scene with these groups open as well; at a level, where they name one.

        The open groups of a level are drawn with all their surroundings if these fit a window, else with one box each
        for the part before and the part after.
        """
        first, opened = self.scenes[scene], self.opened | set(groups)
        level = next((int(match[1]) for key in groups if (match := _LEVEL.fullmatch(key))), 0)
        if not level or first.entire.tree is None:
            return fold.view(first, opened=opened, fold=False if "open" in groups else self.fold)
        whole = levels.view(first, level, opened)
        if not {*groups} - {f"L{level}", ""} or (needed := self._needs(scene, whole)) <= 1:
            return whole
        alone = levels.view(first, level, opened, alone=True)
        return alone if self._needs(scene, alone) < needed else whole

    def levels(self, scene: int) -> Mapping[str, GraphModel]:
        """The levels of a scene by their keys, the one at which most is drawn first, without the first view."""
        first = self.scenes[scene]
        if scene not in self._levels or self._levels[scene][0] is not first:
            self._levels[scene] = first, dict(self._levels_of(scene, first))
        return self._levels[scene][1]

    def _levels_of(self, scene: int, first: GraphModel) -> Iterator[tuple[str, GraphModel]]:
        whole = first.entire
        if whole.tree is None:
            return
        drawn = len(whole.nodes) if whole is first else MAX_VIEWED_NODES + 1
        if whole is not first and first.groups and len(whole.nodes) <= MAX_VIEWED_NODES:
            yield "open", self.view(scene, ["open"])
            drawn = len(whole.nodes)
        for level in range(levels.count(first), 0, -1):
            view = self.view(scene, [f"L{level}"])
            if len(view.nodes) < drawn:
                if len(view.nodes) != len(first.nodes):
                    yield f"L{level}", view
                drawn = len(view.nodes)

    def _needs(self, scene: int, model: GraphModel, window: Size = LAPTOP) -> float:
        """Return the number of windows that a view fills."""
        (places,) = self.places(scene, model, (window,))
        return beyond((places.width, places.height), window)

    def whole(self, scene: int) -> GraphModel:
        """The view that a still picture shows: the first one, or as much of it as fits a laptop's window."""
        best = first = self.scenes[scene]
        if len(first.nodes) > MAX_VIEWED_NODES or (least := self._needs(scene, first, STILL)) <= 1:
            return first
        for view in self.levels(scene).values():
            coarser = len(view.nodes) < len(first.nodes) and _is_short(view)
            if coarser and (needed := self._needs(scene, view, STILL)) < least:
                best, least = view, needed
                if least <= 1:
                    break
        return best

    def _further(self, scene: int) -> Iterator[tuple[str, GraphModel]]:
        """Views at other levels, or with one group open, so that a page without a kernel can show them."""
        first = self.scenes[scene]
        if first.tree is None or len(first.nodes) > MAX_VIEWED_NODES:
            return
        known = self.levels(scene)
        coarser = {key: view for key, view in known.items() if len(view.nodes) < len(first.nodes)}
        yield from coarser.items()
        short = {"": first} | {key: view for key, view in coarser.items() if _is_short(view)}
        needs = {key: max(self._needs(scene, view), 1.0) for key, view in short.items()}
        seen = min(needs, key=needs.__getitem__)
        for key in dict.fromkeys(("", seen)):
            yield from self._with_one_open(scene, key, short[key])
        yield from ((key, view) for key, view in known.items() if key not in coarser)

    def _with_one_open(self, scene: int, key: str, base: GraphModel) -> Iterator[tuple[str, GraphModel]]:
        """Return a view of this key with one open group, for each."""
        closed = [group.id for group in base.groups if group.closed and group.kind != "rail"]
        for group in closed[: -MAX_VIEWS - 1 : -1]:  # of the first frames of a pass
            groups = sorted({key, group} - {""})
            view = self.view(scene, groups)
            if len(view.nodes) <= MAX_VIEWED_NODES:
                yield ",".join(groups), view

    def data(self, room: int = MAX_VIEW_BYTES, *, is_live: bool = False) -> dict[str, Any]:
        """All that the player needs, as JSON.

        :param room: limit of the bytes of views other than the first.
        :param is_live: a kernel answers; the program of a long pass is written when the player asks for it.
        """
        frames, forward, graphs = self.frames(), self.forward(), self.scenes
        used = list(map(partial(_ids, frames), range(len(graphs))))
        for number, ran in enumerate(forward):
            used[number].update([key for key, *_ in ran["steps"]])
        drawn = [self.alternatives(number, model) for number, model in enumerate(graphs)]
        scenes = [_scene(model, used[number]) for number, model in enumerate(graphs)]
        views = {f"{number}:": number for number in range(len(drawn))}
        for number in range(len(graphs)):
            for key, model in self._further(number) if room > 0 else ():
                scene = _scene(model, used[number])
                own = self.drawings(number, model, (LAPTOP,)) if "," in key else self.alternatives(number, model)
                room -= sum(map(len, own)) + len(json.dumps(scene, ensure_ascii=False))
                if room < 0:
                    break
                views[f"{number}:{key}"] = len(drawn)
                drawn.append(own)
                scenes.append(scene)
        timeline = {"frames": frames, "scenes": scenes, "tiles": self.tiles(), "values": _pooled(scenes),
                    "forward": forward,
                    "operations": [_operations(scene) for scene in graphs]}  # fmt: skip
        texts = language.player_texts()
        waits = is_live and sum([len(scene.entire.order) for scene in graphs]) > MAX_WRITTEN_OPS
        program = [] if self.code is None else True if waits else self.code()
        return {"svgs": drawn, "timeline": timeline, "label": self.label, "texts": texts, "theme": settings.theme,
                "views": views, "start": self.start, "ask": self.ask, "head": self.head,
                **({"program": program} if program else {})}  # fmt: skip

    @property
    def start(self) -> int:
        """The step that is shown first."""
        return 0

    # -- the player -------------------------------------------------------------------

    @property
    def widget(self) -> Any:
        """The player as a Jupyter widget, made again if it was closed; None without anywidget or with too much data."""
        if self._widget is None or self._widget.comm is None:
            from nbautograd.viz.notebook.compact import packed_pass  # loaded with the first player

            data = self.data(is_live=True)
            del data["texts"]  # shared by the widgets of a kernel
            packed = packed_pass(data)
            size = int.from_bytes(packed[-4:], "little")  # as gzip notes it
            if size > MAX_STATE_BYTES:
                self._note = say("too_large", size=bytes_text(size))
                return None
            try:
                from nbautograd.viz.notebook.widget import BackwardPlayer
            except ImportError:
                self._note = say("no_anywidget", command=command("anywidget"))
                return None
            with output.compact_images():
                still = self.static_html() + self._revived()
            self._widget = BackwardPlayer(**data, data=packed, static=still, plain=brief(self.text))
            self._widget.on_msg(self._asked)
        return self._widget

    def _asked(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send what the player asks for; what does not make sense is not answered."""
        if not isinstance(content, dict):
            return
        if "program" in content and self.code is not None:
            widget.program = self.code() or False
            return
        if "nudge" in content:
            if (answer := self.nudged(content["nudge"])) is not None:
                widget.send(answer)
            return
        key = content.get("view")
        if not isinstance(key, str) or len(key) > 4000:
            return
        number, _, groups = key.partition(":")
        if number.isdecimal() and int(number) < len(self.scenes):
            scene = int(number)
            model = self.view(scene, groups.split(","))
            if len(model.nodes) <= MAX_BOXES:
                used = _ids(self.frames(), scene)
                widget.send({"view": key, "svgs": self.alternatives(scene, model), "scene": _scene(model, used)})

    def _revived(self) -> str:
        """Return the text below the still picture of a reopened notebook."""
        return f"<p>{escape(say('run_to_play' if self.plays else 'run_to_explore'))}</p>"

    # -- outputs -------------------------------------------------------------------

    def html(self) -> str:
        """A page of its own: no kernel, no network."""
        return export.player_page(self.data(), self.svg)

    def static_html(self) -> str:
        """The picture and its description, for where no widget runs."""
        label, text = self.label, self.text
        return output.within(self._attempts(label, text), label, text)

    def _attempts(self, label: str, text: str) -> Iterator[Callable[[], str]]:
        """Yield what makes the output: with all in words below the picture, without, and with smaller pictures."""
        words = f"<pre>{escape_long(text, 100_000)}</pre>"
        picture = output.image(self.svg, label)
        yield lambda: "".join([picture, *self.tables(), output.details(say("as_text"), words)])
        yield lambda: picture
        for svg in self.smaller():
            yield partial(output.image, svg, label)

    def framed(self) -> str:
        """The page as a frame inside another page; where frames are taken out, the picture shows."""
        still = self.static_html()
        hidden = f'<div class="nb-still">{still}</div><style>iframe + .nb-still {{ display: none }}</style>'

        def playable(room: int) -> str:
            return export.frame(export.player_page(self.data(room), self.svg), self.label, 520) + hidden

        whole = playable(MAX_VIEW_BYTES)
        fits = len(whole) <= output.MAX_OUTPUT_BYTES  # else omits rarely needed views, without a note
        return output.within([lambda: whole if fits else playable(0), lambda: still], self.label, self.text)

    def save(self, path: Any) -> Any:
        """Write ``.html`` (a page that needs no kernel), ``.svg``, ``.dot``, ``.txt``, ``.png`` or ``.pdf``.

        ``.mmd`` is a Mermaid flowchart. ``.json`` is the pass as data; the command ``nbautograd player`` writes the
        module that plays it on any page.

        :return: the path.
        """
        kinds = {".svg": lambda: self.svg, ".dot": lambda: self.dot, ".mmd": lambda: self.mermaid, ".html": self.html,
                 ".json": lambda: export.pass_json(self.data()), ".txt": lambda: self.text}  # fmt: skip
        return export.save(path, kinds)

    @property
    def mermaid(self) -> str:
        """The source of a Mermaid flowchart of the last graph."""
        from nbautograd.viz.draw.graphviz_dot import to_mermaid

        return to_mermaid(self.scenes[-1]) if self.scenes else "flowchart LR\n"

    @property
    def dot(self) -> str:
        """The source of a Graphviz drawing of the last graph."""
        from nbautograd.viz.draw.graphviz_dot import to_dot

        return to_dot(self.scenes[-1]) if self.scenes else "digraph {}\n"

    @property
    def drawable(self) -> bool:
        """Return whether the graph is neither empty nor too large to draw."""
        return 0 < max((len(scene.nodes) for scene in self.scenes), default=0) <= MAX_BOXES

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if not self.drawable:
            return {"text/plain": brief(self.text)}
        bundle = {"text/plain": brief(self.text)} | (output.images(self.svg) if settings.image != "none" else {})
        if settings.embed:
            return bundle | {"text/html": self.framed()}
        if settings.widget and output.has_front_end() and self.widget is not None:
            shown, about = self.widget._repr_mimebundle_(include=include, exclude=exclude)
            return (shown | bundle, about) if about else shown | bundle
        note = f"<p>{escape(self._note)}</p>" if self._note else ""
        return bundle | {"text/html": note + self.static_html()}

    def __repr__(self) -> str:
        return brief(self.text)


def _pooled(scenes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tiles of all nodes, each once; the nodes name them by their places here."""
    tiles: list[dict[str, Any]] = []
    numbers: dict[Any, int] = {}
    for node in [node for scene in scenes for node in scene["nodes"].values()]:
        for name in ("tile", "grad_tile"):
            if (tile := node.get(name)) is not None:
                key = tuple(tile["shape"]), tile["columns"], tile["cells"]
                node[name] = numbers.setdefault(key, len(tiles))
                if node[name] == len(tiles):
                    tiles.append(tile)
    return tiles


def _ids(frames: Iterable[Mapping[str, Any]], scene: int) -> set[str]:
    """The nodes and edges that the steps of a scene name."""
    ids: set[str] = set()
    for frame in frames:
        if frame["scene"] == scene:
            ids.update(frame.get("active", ()), frame.get("labels", ()), frame.get("freed", ()), frame.get("bad", ()))
            ids.update(frame.get("leaves", ()), [key for key, _ in frame.get("hooks", ())], [frame.get("node", "")])
    return ids


def _operations(model: GraphModel) -> dict[str, Any] | None:
    """Return the searchable operations that a folded graph does not draw, in the order in which they ran."""
    whole = model.entire
    if model.tree is None or len(whole.order) > MAX_SEARCHED_OPS:
        return None
    names: dict[str, int] = {}
    sources: dict[str, int] = {}
    ops = [whole.by_id[key] for key in whole.order]
    every = [[op.id, names.setdefault(op.name, len(names)), op.expression or op.label,
              sources.setdefault(op.source, len(sources))] for op in ops]  # fmt: skip
    return {"names": list(names), "sources": list(sources), "all": every}


def _scene(model: GraphModel, used: Collection[str]) -> dict[str, Any]:
    """Return a view for the player: its nodes, its texts, and what stands for the nodes and edges of the steps."""
    stands = {key: stand for key, stand in model.stands.items() if key in used}
    return scene_json(model) | {"words": graph_text(model)} | ({"stands": stands} if stands else {})
