"""Recorded backward passes, for playing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from nbautograd.viz.capture.player_data import frames_json, tile_json
from nbautograd.viz.capture.sums import waiting
from nbautograd.viz.capture.timeline import Frame, FrameState, Timeline
from nbautograd.viz.draw.boxes import MAX_LINES, graph_text, grids_of, label_size, measure, table
from nbautograd.viz.draw.cells import Grid
from nbautograd.viz.draw.labels import Size
from nbautograd.viz.draw.layout import Layout
from nbautograd.viz.draw.svg import draw
from nbautograd.viz.draw.theme import MIN_FONT_PX
from nbautograd.viz.escape import escape, escape_long, width
from nbautograd.viz.language import headings, once, say
from nbautograd.viz.notebook import output
from nbautograd.viz.notebook.arranging import MAX_ROW_NODES, PHONE_WIDTH_PX, Arrangements, arrange
from nbautograd.viz.notebook.figure import LAPTOP, SMALL, WINDOWS, Figure
from nbautograd.viz.read.model import GraphModel

if TYPE_CHECKING:
    from nbautograd.viz.capture.replay import Replay

__all__ = ["Animation", "Recording"]

CURVE_WIDTH_PX, MIN_CURVE_TERMS = 40.0, 8  # of a curve of sizes beside a sum
MARGINS_PX = 34  # of a drawing, which may be cut on a telephone
PHONE_STAGE_PX = 690.0  # on which a telephone has room for the play button
MAX_DRAWN = 40  # lines of a ledger with tiles
COUNT_HEIGHT_PX = 10.0  # above a tile of a sum: the number of terms


class Recording(Figure):
    """Backward passes that have been recorded: the timeline, its pictures and its player.

    :param timeline: the frames of the passes.
    :param direction: as for :func:`graph`.
    :param fold: as for :func:`graph`; here nothing is folded unless the graph is large.
    :param opened: as for :func:`graph`.
    :param ask: ask for each gradient before it is shown.
    :param replay: computes the pass again, where it can be changed; or None.
    :param code: writes the lines of code that are shown beside the picture, when they are asked for; or None.
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
        self, timeline: Timeline, direction: str | None = None, *, fold: bool | None = False,
        opened: Collection[str] = (), ask: bool = False, replay: Replay | None = None,
        code: Callable[[], Sequence[tuple[str, str, str, str]]] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(direction, fold, opened)
        self.timeline, self.ask, self.replay, self.code = timeline, ask, replay, code
        # each with its model, so that the model's id is no other's
        self._styles: dict[tuple[int, Size], tuple[dict[str, Grid], Arrangements, bool, Layout]] = {}
        self._made: dict[tuple[int, bool, bool], tuple[GraphModel, dict[str, Grid], Arrangements]] = {}

    @property
    def scenes(self) -> tuple[GraphModel, ...]:
        """The graphs that ran."""
        return self.timeline.scenes

    @property
    def label(self) -> str:
        """Summarize the recording in one line."""
        return _label(self.timeline)

    @property
    def plays(self) -> bool:  # type: ignore[override]
        """Return whether there are steps."""
        return bool(self.timeline.frames)

    def frames(self) -> list[dict[str, Any]]:
        """The steps, as JSON."""
        return frames_json(self.timeline.frames)

    def nudged(self, asked: Any) -> dict[str, Any] | None:
        """Compute the changes that follow from a leaf's new value."""
        from nbautograd.viz.capture import replay  # loaded when a pass is played

        return replay.answer(self.replay, asked)

    @property
    def start(self) -> int:
        """The step that is shown first: before the first one, or where a pass failed."""
        return len(self.timeline.frames) if _failed(self.timeline) else 0

    def tiles(self) -> list[dict[str, Any]]:
        """The gradients as matrices of numbers, as JSON."""
        return list(map(tile_json, self.timeline.tiles))

    def forward(self) -> list[dict[str, Any]]:
        """Return the operations of each graph in running order, as JSON."""
        return [ran.to_json() for ran in self.timeline.forward]

    def place(self, scene: int, model: GraphModel | None = None) -> Layout:
        """The layout of a scene, or of another view of it, with room for every text that the animation will show."""
        return self.places(scene, model or self.scenes[scene])[0]

    def arranged(self, scene: int, model: GraphModel, windows: Sequence[Size]) -> list[Layout]:
        """The layout of a view for windows of these sizes."""
        return [self._fitting(scene, model, window)[3] for window in windows]

    def _fitting(
        self, scene: int, model: GraphModel, window: Size
    ) -> tuple[dict[str, Grid], Arrangements, bool, Layout]:
        """Return the grids of all tiles, the layouts, True if boxes fit only without their numbers, and the layout."""
        key = id(model), window
        if key not in self._styles:
            made = self._laid_out(scene, model)
            is_small = len(model.nodes) <= MAX_ROW_NODES
            numbered = is_small and True in [grid.written for at, grid in made[0].items() if ":" in at]
            written = not numbered or _is_whole(made[1], window)
            if not written:
                made = self._laid_out(scene, model, written)
            places, is_clear = made[1].seen(window) if is_small else (made[1].places(window), True)
            if not is_clear:
                made = self._laid_out(scene, model, written, down=False)
                places = made[1].places(window)
            self._styles[key] = *made, not written, places
        return self._styles[key]

    def _laid_out(
        self, scene: int, model: GraphModel, written: bool = True, down: bool = True
    ) -> tuple[dict[str, Grid], Arrangements]:
        """Return the grids and the layouts.

        :param written: whether boxes have their numbers.
        :param down: whether edges have numbers one below the other.
        """
        key = id(model), written, down
        if key not in self._made:
            timeline = self.timeline
            states, on_edges = timeline.leaf_states(scene), timeline.label_tiles(scene, model)
            grids = grids_of(model, states, timeline.tiles, on_edges, written=written, down=down)
            sizes, labels = measure(model, states, grids), self._labels(scene, model, grids)
            self._made[key] = model, grids, arrange(model, sizes, self.direction, labels)
        return self._made[key][1:]

    def _labels(self, scene: int, model: GraphModel, grids: Mapping[str, Grid]) -> dict[str, Size]:
        """Return the sizes of the texts and tiles on edges."""
        labels = {key: label_size(shown) for key, shown in self.timeline.label_texts(scene, model).items()}
        for key in labels.keys() & grids.keys():
            (wide, high), text = grids[key].size, labels[key]
            labels[key] = max(text[0], wide + 6), max(text[1], high + 4)
        for key, count in model.several.items():  # beside it, the number of terms, and a curve of their sizes
            if key in labels:
                curve, said = (CURVE_WIDTH_PX if count >= MIN_CURVE_TERMS else 0.0), width(f"Σ {count:,}", MIN_FONT_PX)
                (wide, high), is_tiled = labels[key], key in grids  # above a tile, else on the line of the number
                room = curve and curve + 6 if is_tiled else max(said, curve) + 6
                labels[key] = max(wide, said * is_tiled) + 2 * room, high + 2 * COUNT_HEIGHT_PX * is_tiled
        return labels

    def _drawn(
        self, scene: int, model: GraphModel, state: FrameState, windows: Sequence[Size] = WINDOWS[:1],
        painted: bool = True,
    ) -> list[str]:  # fmt: skip
        words, seen = graph_text(model), replace(state, leaves=waiting(model, state.leaves)).seen_in(model)
        every, drawn = self.places(scene, model, windows), dict[int, str]()
        for window, places in zip(windows, every, strict=True):
            if id(places) not in drawn:
                grids, _, bare, _ = self._fitting(scene, model, window)
                look: dict[str, Any] = {"grids": grids, "painted": painted, "bare": bare and not painted}
                drawn[id(places)] = draw(model, places, seen, description=words, **look)
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
        final, failed = self.timeline.final(scene), _failed(self.timeline)
        return replace(final, active=frozenset(failed[0].active)) if failed else final

    @property
    def text(self) -> str:
        """The graph, the steps and the ledger in words."""
        return _text(self.timeline)

    def tables(self) -> list[str]:
        """Return the reason of a failed pass, the gradients of each leaf, and a line per node of the graph."""
        failed = [failure_html(frame) for frame in _failed(self.timeline)]
        got = has_gradients(self.timeline) or not failed
        ledger = [output.details(say("leaf_got"), ledger_html(self.timeline), opened=True)] if got else []
        nodes = [output.details(say("as_table"), output.graph_table(scene)) for scene in self.scenes[-1:]]
        return [*failed, *ledger, *nodes]

    def scene_at(self, index: int) -> int:
        """Return the number of the graph that is shown after some steps."""
        return self.timeline.scene_at(index)

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

    :param timeline: the frames of the passes.
    :param direction: as for :func:`graph`.
    :param fold: as for :func:`graph`; here nothing is folded unless the graph is large.
    :param opened: as for :func:`graph`.
    :param ask: ask for each gradient before it is shown.
    :param replay: computes the pass again, where it can be changed; or None.
    :param code: writes the lines of code that are shown beside the picture, when they are asked for; or None.
    :returns: the recording.
    :raises TypeError: ``timeline`` is missing.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> animation = viz.animate(w * w)
    >>> isinstance(animation, viz.Animation), w.grad
    (True, tensor(4.))
    """


def _failed(timeline: Timeline) -> Sequence[Frame]:
    """Return the last step, if an error ended the pass there."""
    return [frame for frame in timeline.frames[-1:] if frame.kind == "error"]


@once
def _label(timeline: Timeline) -> str:
    """Summarize a recording in one line."""
    if not timeline.scenes:
        return say("no_pass")
    passes = max([frame.backward for frame in timeline.frames], default=0)
    more = f" · {say('n_passes', n=passes)}" if passes > 1 else ""
    first = next((f.scene for f in reversed(timeline.frames) if f.kind != "created"), -1)
    ended = "".join([f" · {frame.words}" for frame in _failed(timeline)])
    return f"{timeline.scenes[first].label} · {say('n_steps', n=len(timeline.frames))}{more}{ended}"


@once
def _text(timeline: Timeline) -> str:
    return "\n\n".join([*map(graph_text, timeline.scenes[-1:]), timeline_text(timeline)])


def _is_whole(arrangements: Arrangements, window: Size) -> bool:
    """Return whether a layout is seen whole, on a telephone with the play button below it."""
    is_narrow = window[0] < PHONE_WIDTH_PX
    seen = window if is_narrow or window[0] == SMALL[0] else LAPTOP
    places, room = arrangements.places(seen), (seen[0] + MARGINS_PX, PHONE_STAGE_PX) if is_narrow else seen
    return places.width <= room[0] and places.height <= room[1]


def ledger_rows(
    timeline: Timeline, shown: Callable[[str, int], str] = lambda text, _: text, words: Callable[[str], str] = str
) -> list[tuple[str, ...]]:
    """Return a line for every leaf in every pass.

    :param shown: writes a gradient, of which it gets the text and the number of its tile.
    :param words: writes all other texts.
    """
    rows: list[tuple[str, ...]] = []
    for n, name, row in timeline.ledger:
        terms = [f"{shown(gradient, tile)} {words(say('via', name=via))}"
                 for (gradient, via), tile in zip(row.terms, row.tiles, strict=True)]  # fmt: skip
        if len(terms) > 6:
            terms = [*terms[:3], words(say("more_terms", n=len(terms) - 4)), terms[-1]]
        before, total = shown(row.before, row.before_tile), shown(row.total or "–", row.total_tile)
        after = shown(row.after, row.after_tile) if row.after else before
        rows.append((str(n), words(name), before, " + ".join(terms) or words(say("nothing")), total, after))
    return rows


def ledger_head() -> list[str]:
    """Return the headings of a ledger."""
    return headings("ledger_pass", "leaf", "grad_before", "arriving_pass", "sum", "grad_after")


def ledger_html(timeline: Timeline) -> str:
    """The ledger as an HTML table, where gradients of more than one number are tiles."""
    if len(timeline.ledger) > MAX_DRAWN or not timeline.tiled:
        return output.table(ledger_head(), ledger_rows(timeline))

    @cache  # most gradients are in several columns: as a term, as the sum, and as .grad after it
    def cell(text: str, number: int) -> str:
        return output.gradient_image(text, timeline.tiles[number] if number >= 0 else None, timeline.scale)

    rows = ledger_rows(timeline, cell, escape)
    return output.table(ledger_head(), rows, output.key_image(timeline.scale), are_html=True)


def ledger_text(timeline: Timeline) -> str:
    """The ledger as a table."""
    return table([ledger_head(), *ledger_rows(timeline)])


def has_gradients(timeline: Timeline) -> bool:
    """Return whether a gradient reached a leaf: after a pass that failed at once, a ledger would be empty."""
    return any(row.terms or row.total or row.after for _, _, row in timeline.ledger)


def failure_html(frame: Frame) -> str:
    """Return the cause and the cure of an error as HTML."""
    parts = [f"<li><b>{escape(what)}</b>: {escape_long(details, 400)}{f' ({escape(where)})' if where else ''}</li>"
             for what, details, where in frame.story]  # fmt: skip
    story = f"<ol>{''.join(parts)}</ol>" if parts else ""
    advice = "".join(f"<li>{escape_long(alarm, 600)}</li>" for alarm in frame.alarms)
    products = "".join(f"<p>{escape_long(product.text, 400)}</p>" for product in frame.products)
    return f"<p><b>{escape(frame.words)}</b></p>{story}<ul>{advice}</ul>{products}"


def _failure_text(frame: Frame) -> str:
    """Return what failed, its story and the advice."""
    story = [say("story_value", what=what, value=details) + f" ({where})" * bool(where)
             for what, details, where in frame.story]  # fmt: skip
    return "\n   - ".join([frame.words, *story, *frame.alarms])


def timeline_text(timeline: Timeline) -> str:
    """The steps, a line each, and the ledger."""
    steps = [f"{number}. {frame.caption if frame.kind != 'error' else _failure_text(frame)}"
             for number, frame in enumerate(timeline.frames[:MAX_LINES], 1)]  # fmt: skip
    ledger = ["", ledger_text(timeline)] if has_gradients(timeline) else []
    return "\n".join([*steps, *ledger])
