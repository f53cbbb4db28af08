"""Backward passes that have been recorded, to be played."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from nbautograd.viz.capture.folded_sums import several
from nbautograd.viz.capture.joints import waiting
from nbautograd.viz.capture.replay import Replay
from nbautograd.viz.capture.timeline import Frame, FrameState, Timeline
from nbautograd.viz.draw.boxes import grids_of, label_size, measure
from nbautograd.viz.draw.cells import Grid
from nbautograd.viz.draw.graph_text import graph_text
from nbautograd.viz.draw.labels import Size
from nbautograd.viz.draw.layout import Layout
from nbautograd.viz.draw.svg import draw
from nbautograd.viz.draw.theme import SMALLEST
from nbautograd.viz.escape import width
from nbautograd.viz.language import say
from nbautograd.viz.notebook import ledger_text, nudge, output
from nbautograd.viz.notebook.figure import FEW, LAPTOP, SMALL, TELEPHONE, WINDOWS, Figure, arrange
from nbautograd.viz.read.model import GraphModel, Node

__all__ = ["Animation", "Recording"]

CURVE, CURVED = 40.0, 8  # width of a curve of sizes beside a sum, and from how many terms on there is one
SIDES = 34  # pixels of the margins of a drawing, which need not be seen
ABOVE = 10.0  # of a tile that is a sum: how many are summed


class Recording(Figure):
    """Backward passes that have been recorded: the timeline, its pictures and its player.

    :param timeline: what ran, frame by frame.
    :param direction: as for :func:`graph`.
    :param fold: as for :func:`graph`; here nothing is folded unless the graph is large.
    :param opened: as for :func:`graph`.
    :param ask: ask for each gradient before it is shown.
    :param replay: computes the pass again, where it can be changed; or None.
    :param code: the lines of code that are shown beside the picture.
    :returns: the recording.
    :raises TypeError: ``timeline`` is missing.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> with viz.record() as recording:
    ...     (w * w).backward()
    ...
    >>> isinstance(recording, viz.Recording), len(recording.scenes)
    (True, 1)
    """

    def __init__(
        self,
        timeline: Timeline,
        direction: str | None = None,
        *,
        fold: bool | None = False,
        opened: Collection[str] = (),
        ask: bool = False,
        replay: Replay | None = None,
        code: Sequence[tuple[str, str, str, str]] = (),
    ) -> None:
        self.timeline, self.direction, self.ask = timeline, direction, ask
        self.fold, self.opened = fold, frozenset(opened)
        self.replay, self.code = replay, code

    @property
    def scenes(self) -> tuple[GraphModel, ...]:
        """The graphs that ran."""
        return self.timeline.scenes

    @property
    def label(self) -> str:
        """One line that says what was recorded."""
        if not self.scenes:
            return say("no_pass")
        passes = max((frame.backward for frame in self.timeline.frames), default=0)
        more = f" · {say('n_passes', n=passes)}" if passes > 1 else ""
        first = next((f.scene for f in reversed(self.timeline.frames) if f.kind != "created"), -1)
        ended = "".join(f" · {frame.words}" for frame in self._failed)
        return f"{self.scenes[first].label} · {say('n_steps', n=len(self.timeline))}{more}{ended}"

    @property
    def _failed(self) -> Sequence[Frame]:
        """The last step, if an error ended the pass there."""
        return [frame for frame in self.timeline.frames[-1:] if frame.kind == "error"]

    def frames(self) -> list[dict[str, Any]]:
        """The steps, as JSON."""
        return self.timeline.frames_json()

    def nudged(self, asked: Any) -> dict[str, Any] | None:
        """Compute the changes that follow from a leaf's new value."""
        return nudge.answer(self.replay, asked)

    @property
    def start(self) -> int:
        """The step that is shown first: before the first one, or where a pass failed."""
        return len(self.timeline.frames) if self._failed else 0

    def tiles(self) -> list[dict[str, Any]]:
        """The gradients as matrices of numbers, as JSON."""
        return self.timeline.tiles_json()

    def forward(self) -> list[dict[str, Any]]:
        """Of each graph, its operations in the order in which they ran, as JSON."""
        return [ran.to_json() for ran in self.timeline.forward]

    def place(self, scene: int, model: GraphModel | None = None) -> Layout:
        """The layout of a scene, or of another view of it, with room for every text that the animation will show."""
        return self.places(scene, model or self.scenes[scene])[0]

    def arranged(self, scene: int, model: GraphModel, windows: Sequence[Size]) -> list[Layout]:
        """The layout of a view for windows of these sizes; where it is too large with numbers in its boxes, without."""
        asked = dict.fromkeys((*windows, LAPTOP))
        places: dict[Size, Layout] = {}
        for written in (True, False):
            grids = self._grids(scene, model, written)
            places |= zip(asked, self._arranged(scene, model, grids, list(asked)), strict=True)
            self._grids_of |= {id(places[window]): (grids, not written) for window in asked}
            if len(model.nodes) > FEW or not any(grid.written for key, grid in grids.items() if ":" in key):
                break
            asked = {window: None for window in asked if not _is_whole(places, window)}
            if not asked:
                break
        return [places[window] for window in windows]

    def _arranged(
        self, scene: int, model: GraphModel, grids: Mapping[str, Grid], windows: Sequence[Size]
    ) -> list[Layout]:
        sizes = measure(model, self.timeline.leaf_states(scene), grids)
        labels = {key: label_size(shown) for key, shown in self.timeline.label_texts(scene, model).items()}
        for key in labels.keys() & grids.keys():
            (wide, high), text = grids[key].size, labels[key]
            labels[key] = max(text[0], wide + 6), max(text[1], high + 4)
        for key, count in several(model).items():  # beside it, how many are summed, and their sizes as a curve
            if key in labels:
                curve, said = (CURVE if count >= CURVED else 0.0), width(f"Σ {count:,}", SMALLEST)
                (wide, high), is_tiled = labels[key], key in grids  # above a tile, else in the line of the number
                room = curve and curve + 6 if is_tiled else max(said, curve) + 6
                labels[key] = max(wide, said * is_tiled) + 2 * room, high + 2 * ABOVE * is_tiled
        return arrange(model, sizes, self.direction, labels, windows)

    def _grids(self, scene: int, model: GraphModel, written: bool) -> Mapping[str, Grid]:
        timeline = self.timeline
        tiles = timeline.tiles, timeline.label_tiles(scene, model)
        return grids_of(model, timeline.leaf_states(scene), *tiles, written=written)

    @cached_property
    def _grids_of(self) -> dict[int, tuple[Mapping[str, Grid], bool]]:
        """The grids of all tiles of each layout, and whether its boxes go without their numbers."""
        return {}

    def _drawn(
        self,
        scene: int,
        model: GraphModel,
        state: FrameState,
        windows: Sequence[Size] = WINDOWS[:1],
        painted: bool = True,
    ) -> list[str]:
        words, seen = graph_text(model), replace(state, leaves=waiting(model, state.leaves)).seen_in(model)

        every = self.places(scene, model, windows)
        drawn = {}
        for places in {id(one): one for one in every}.values():
            grids, bare = self._grids_of[id(places)]
            drawn[id(places)] = draw(
                model, places, seen, description=words, grids=grids, painted=painted, bare=bare and not painted
            )
        return [drawn[id(places)] for places in every]

    def drawings(self, scene: int, model: GraphModel, windows: Sequence[Size] = WINDOWS[:1]) -> list[str]:
        """The SVG of a view before the first step, for windows of these sizes, without the colors that are set."""
        return self._drawn(scene, model, self.timeline.state_at(0, scene), windows, painted=False)

    def frame_svg(self, index: int, scene: int = -1) -> str:
        """The picture after ``index`` steps."""
        scene = self.timeline.scene_at(index) if scene < 0 else scene
        return self._drawn(scene, self.whole(scene), self.timeline.state_at(index, scene))[0]

    @property
    def svg(self) -> str:
        """The picture at the end of the last pass, with every gradient on its edge."""
        if not self.scenes:
            return draw(GraphModel((), (), ()))
        shown = [frame.scene for frame in self.timeline.frames if frame.kind != "created"]
        scene = shown[-1] if shown else 0
        return output.colored(self._drawn(scene, self.whole(scene), self._end(scene))[0])

    def _end(self, scene: int) -> FrameState:
        final = self.timeline.final(scene)
        return replace(final, active=frozenset(self._failed[0].active)) if self._failed else final

    @property
    def text(self) -> str:
        """The graph, the steps and the ledger in words."""
        graphs = [graph_text(scene) for scene in self.scenes[-1:]]
        return "\n\n".join([*graphs, ledger_text.timeline_text(self.timeline)])

    def tables(self) -> list[str]:
        """Why a pass failed, what each leaf got, and every node of the graph in a line."""
        failed = [ledger_text.failure_html(frame) for frame in self._failed]
        got = ledger_text.has_gradients(self.timeline) or not failed
        ledger = [output.details(say("leaf_got"), ledger_text.ledger_html(self.timeline), opened=True)] if got else []
        nodes = [output.details(say("as_table"), output.graph_table(scene)) for scene in self.scenes[-1:]]
        return [*failed, *ledger, *nodes]

    @property
    def selected(self) -> Node | None:
        """The node that was last clicked in the widget, or None."""
        if self._widget is None or not self.scenes:
            return None
        scene = self.scenes[self.timeline.scene_at(self._widget.index)]
        return scene.by_id.get(self._widget.selected) or scene.entire.by_id.get(self._widget.selected)

    def static_html(self) -> str:
        """The picture at the end and the ledger, for where no widget runs."""
        return super().static_html() if self.scenes else f"<p>{self.label}</p>"

    def __len__(self) -> int:
        return len(self.timeline)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if not self.scenes:
            return {"text/plain": self.text, "text/html": self.static_html()}
        return super()._repr_mimebundle_(include, exclude)


class Animation(Recording):
    """One backward pass, recorded.

    :param timeline: what ran, frame by frame.
    :param direction: as for :func:`graph`.
    :param fold: as for :func:`graph`; here nothing is folded unless the graph is large.
    :param opened: as for :func:`graph`.
    :param ask: ask for each gradient before it is shown.
    :param replay: computes the pass again, where it can be changed; or None.
    :param code: the lines of code that are shown beside the picture.
    :returns: the recording.
    :raises TypeError: ``timeline`` is missing.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> animation = viz.animate(w * w)
    >>> isinstance(animation, viz.Animation), w.grad
    (True, tensor(4.))
    """


def _is_whole(places: Mapping[Size, Layout], window: Size) -> bool:
    """Return whether a layout with its numbers is seen whole, on a telephone from side to side."""
    if window[0] < TELEPHONE:
        return places[window].width <= window[0] + SIDES
    seen = window if window[0] == SMALL[0] else LAPTOP
    return places[seen].width <= seen[0] and places[seen].height <= seen[1]
