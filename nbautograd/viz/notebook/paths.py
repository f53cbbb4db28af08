"""``%path x y``: the paths from a result to a tensor, with factors and products; or the line that cuts them off."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from nbautograd._engine.base.bad_numbers import plain
from nbautograd._engine.base.missing_graph import cause_of
from nbautograd._engine.base.users_code import last_assignment, user_frame
from nbautograd.protocol import SourceLocator
from nbautograd.viz import language
from nbautograd.viz.capture.flow import MAX_PATHS, Flow, Parts, Route, Routes, flow_of
from nbautograd.viz.capture.timeline import FrameState
from nbautograd.viz.draw.boxes import graph_text, label_size, measure
from nbautograd.viz.draw.labels import Size, curve_points
from nbautograd.viz.draw.layout import Layout
from nbautograd.viz.draw.lines import aside, number
from nbautograd.viz.draw.svg import draw
from nbautograd.viz.draw.theme import LIGHT, PATHS
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook.answers import Answer, picture_of, place_text
from nbautograd.viz.notebook.arranging import arrange
from nbautograd.viz.notebook.figure import WINDOWS
from nbautograd.viz.notebook.in_place import at_once, callers_names, name_in
from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.read import values
from nbautograd.viz.read.builder import build
from nbautograd.viz.read.introspect import line_of, node_name, remarks, settle
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.unreached import stops
from nbautograd.viz.read.values import SUMMARY, is_tensor, number_text
from nbautograd.viz.read.walk import GraphWalk, of_variables

__all__ = ["Path", "PathStep", "Paths", "highlighted", "hue", "paths"]

MAX_LISTED_PATHS = 6  # one of each color
MAX_PATH_STEPS = 7  # in its text
MAX_STOP_LINES = 4


@dataclass(frozen=True, slots=True)
class PathStep:
    """An operation on a path."""

    operation: str
    where: str
    """Its cell or file, and line; empty if not known."""
    source: str
    """The code of that line."""
    factor: float | None
    """The ratio of the gradients after and before; of tensors, of their norms; None if not known."""
    is_local: bool
    """True if the factor is a local derivative: of one number by one number."""

    def __str__(self) -> str:
        times = f" ×{number_text(self.factor, SUMMARY)}" if self.factor is not None else ""
        return f"{self.operation}{times}" + f" ({self.where})" * bool(self.where)


@dataclass(frozen=True, slots=True)
class Path:
    """A path from a result to a tensor.

    :param steps: its operations, the result's one first.
    :param gradient: the part of the tensor's gradient that comes by this path; None if not known.
    :param product: that part as a number; its norm, if it has several elements.
    :param text: the path in a line.
    """

    steps: tuple[PathStep, ...]
    gradient: Any = field(repr=False)
    product: float | None
    text: str = field(repr=False)


class Paths(Answer):
    """The answer of :func:`paths`: a notebook shows the graph with the paths in color, a terminal text.

    Iterate over it for the listed paths, the one with the largest product first.

    :param label: the answer in one line.
    :param lines: the paths, and what is to be said about them.
    :param picture: the graph; or None.
    :param paths: the listed paths.
    :param count: the number of all paths.
    :returns: the answer.
    :raises TypeError: an argument is missing.

    >>> print(Paths("no path", [], count=0))
    no path
    """

    picture_first = True

    def __init__(
        self, label: str, lines: Sequence[str], picture: Picture | None = None, paths: Sequence[Path] = (),
        count: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(label, lines, picture)
        self.paths, self.count = tuple(paths), count

    def __iter__(self) -> Iterator[Path]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def mark(self, place: int) -> str:
        """Return the number of a line's path, in the color of the path, instead of a bullet."""
        if place >= len(self.paths):
            return super().mark(place)
        style = f"background:{hue(place)};color:#fff;border-radius:9px;padding:1px 6px;font-weight:700"
        return f' style="list-style:none"><span style="{style}">{place + 1}</span> '


@at_once
def paths(x: Any, y: Any, *, most: int = MAX_LISTED_PATHS, namespace: Mapping[str, Any] | None = None) -> Paths:
    """List the paths by which a result depends on a tensor: operations, lines, local derivatives and products.

    A gradient is the sum over all paths of the product of the local derivatives along each. ``why(x)`` explains the
    ``.grad`` that a tensor has; this counts and draws the paths, also where no pass has run, and changes no ``.grad``.
    Of a result with several elements it is the gradient of their sum. Without a path, the lines say what cuts it off.

    :param x: a leaf or an intermediate result, of nbautograd or of PyTorch.
    :param y: the result; the two may change places.
    :param most: the number of paths that are listed, the largest products first.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :returns: the answer; iterate over it for the listed paths. ``count`` is the number of all, at most a million.
    :raises TypeError: one of them is no tensor.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> with viz.traced():
    ...     y = (w + 1) * w
    >>> found = viz.paths(w, y, namespace={"w": w, "y": y})
    >>> found.label, [path.product for path in found]
    ('∂y/∂w = 7: the sum over 2 paths', [4.0, 3.0])
    """
    for tensor in (x, y):
        if not is_tensor(tensor):
            raise TypeError(f"paths needs two tensors, but was given {type(tensor).__name__}")
    names = namespace if namespace is not None else callers_names()
    settle(names)
    walk = GraphWalk(y)
    routes = Routes(walk, x)
    if not routes.count and (other := Routes(GraphWalk(x), y)).count:
        x, y, walk, routes = y, x, other.walk, other
    if not routes.count and x is not y:
        label, *lines = no_path(x, y, names, "x")
        return Paths(label, lines, picture_of(y, names) if y.grad_fn is not None else None)
    flow = Flow() if x is y else flow_of(y, [x], walk)
    found = [()] if x is y else routes.largest(max(most, 1), flow.factor)
    return _paths_between(x, y, found, max(routes.count, 1), walk, flow, names)


def _paths_between(
    x: Any, y: Any, found: Sequence[Route], count: int, walk: GraphWalk, flow: Flow, names: Mapping[str, Any]
) -> Paths:
    name, title = name_of(x, names, "x"), name_of(y, names, "y")
    told = told_of(flow, title)
    title += ".sum()" * (math.prod(values.shape(y)) != 1)
    routes, listed = zip(*described(found, y, x, name, walk, flow), strict=True)
    (gradient,) = flow.gradients or [listed[0].gradient]
    total = {"root": title, "name": name, "n": count, "count": f"{count:,}{'+' * (count >= MAX_PATHS)}"}
    if gradient is None:
        label = say("path_lead", **total)
    else:
        label = say("path_total", value=values.in_words(gradient), **total)
    lines = [path.text for path in listed]
    if count > len(listed):
        lines.append(say("why_more_paths", n=count - len(listed)))
    if any(step.factor is not None and not step.is_local for path in listed for step in path.steps):
        lines.append(say("path_norms"))
    lines += [*told, *remarks(walk.ops)]
    return Paths(label, lines, _picture(y, names, routes, listed, walk), listed, count)


def described(
    routes: Sequence[Route], root: Any, tensor: Any, name: str, walk: GraphWalk, flow: Flow
) -> list[tuple[Route, Path]]:
    """Describe paths from a result to a tensor of this name, the one with the largest product first."""
    parts, about = Parts(root, walk, flow), cache(_about)  # paths share most of their operations
    paths = [(route, _path(route, parts.along(route), tensor, name, flow, about)) for route in routes]
    return sorted(paths, key=lambda pair: -abs(pair[1].product or 0.0))


def _path(
    route: Route, parts: tuple[Sequence[tuple[float, int]], Any], tensor: Any, name: str, flow: Flow,
    about: Callable[[Any], tuple[str, str, str]],
) -> Path:  # fmt: skip
    sizes, gradient = [size for size, _ in parts[0]], parts[1]
    steps = []
    for i, (node, edge) in enumerate(route):
        factor = flow.factor(node, edge)
        if i + 1 < len(sizes):
            factor = sizes[i + 1] / sizes[i] if sizes[i] and math.isfinite(sizes[i]) else None
        steps.append(PathStep(*about(node), factor, [count for _, count in parts[0][i : i + 2]] == [1, 1]))
    total = None if gradient is None else sizes[-1]
    value = "" if total is None else f"{number_text(total, SUMMARY)} = "
    value = say("why_norm", value=value) if value and math.prod(values.shape(tensor)) != 1 else value
    return Path(tuple(steps), gradient, total, value + " → ".join([*_shown(steps), name]))


def _shown(steps: Sequence[PathStep]) -> list[str]:
    """Return the texts of the operations of a path: of a long one, those at both ends."""
    if len(steps) <= MAX_PATH_STEPS:
        return [*map(str, steps)]
    half = MAX_PATH_STEPS // 2
    left_out = say("why_left_out", n=len(steps) - MAX_PATH_STEPS + 1)
    return [*map(str, steps[:half]), left_out, *map(str, steps[-half:])]


def _about(node: Any) -> tuple[str, str, str]:
    """Return the name of an operation, the place of its line, and the code."""
    place = line_of(node)
    code = "" if place is None else one_line(SourceLocator.locate(*place)[1], 80)
    return plain(node_name(node)), place_text(place, short=True), code


def told_of(flow: Flow, title: str) -> list[str]:
    """Return the line that says why numbers are missing."""
    key = {"freed": "why_freed", "hooks": "why_hooks"}.get(flow.told, "why_failed")
    return [say(key, error=flow.told, root=title)] if flow.told else []


# -- the picture ---------------------------------------------------------------------------------------------------


class _PathPicture(Picture):
    """A graph with paths in color.

    :param lit: the ids of the edges of each path.
    :param factors: texts by the ids of edges.
    """

    def __init__(self, model: GraphModel, lit: Sequence[Sequence[str]], factors: Mapping[str, str]) -> None:
        super().__init__(model)
        self.lit, self.factors = lit, factors

    def arranged(self, scene: int, model: GraphModel, windows: Sequence[Size]) -> list[Layout]:
        """The layout of a view for windows of these sizes."""
        sizes = {edge.id: label_size(self.factors[edge.id]) for edge in model.edges if edge.id in self.factors}
        made = arrange(model, measure(model), self.direction, sizes)
        return [made.places(window) for window in windows]

    def _drawn(self, model: GraphModel, windows: Sequence[Size] = WINDOWS[:1], painted: bool = True) -> list[str]:
        shown, words = [], graph_text(model)
        for at in self.places(0, model, windows):
            lit = [[line for key in edges if (line := model.stands.get(key, key)) in at.routes] for edges in self.lit]
            svg = draw(model, at, FrameState(labels=self.factors), description=words, painted=painted)
            shown.append(highlighted(svg, model, at, lit))
        return shown


def _picture(
    root: Any, names: Mapping[str, Any], found: Sequence[Route], listed: Sequence[Path], walk: GraphWalk
) -> Picture | None:
    try:
        model = build(root, names, fold=None)
    except Exception:  # answer without a picture
        return None
    whole, of = model.entire, model.entire.handles.of
    lit, factors = [], dict[str, str]()

    def result(node: Any, index: int) -> Any:
        return whole.results.get((of(node) or "", index))

    for route, path in zip(found, listed, strict=True):
        edges = [result(node, index) for node, index, _ in walk.roots] if route else []
        for (node, slot), step in zip(route, path.steps, strict=True):
            flow = whole.flows.get((of(node) or "", slot))
            edges += [flow, result(*walk.next[node][slot])]
            if flow is not None and step.factor is not None and step.is_local:
                factors[flow.id] = f"×{number_text(step.factor, SUMMARY)}"
        lit.append([edge.id for edge in edges[:-1] if edge is not None])  # without the tensor's own
    return _PathPicture(model, lit, factors)


# -- no path -------------------------------------------------------------------------------------------------------


def no_path(tensor: Any, root: Any, names: Mapping[str, Any], other: str = "w") -> list[str]:
    """Return the reasons for which no path leads from a result to a tensor.

    :param root: the result; None: no variable depends on the tensor.
    """
    name = name_of(tensor, names, other)
    if not tensor.requires_grad:
        return [say("why_no_request", name=name), *_told(cause_of(tensor, names))]
    if root is None:
        return [say("why_nothing", name=name), *stopped(name, None)]
    title = name_of(root, names, "out")
    if root.grad_fn is None:
        return [say("why_root_bare", root=title), *_told(cause_of(root, names))]
    return [say("why_no_path", name=name, root=title), *stopped(name, GraphWalk(root))]


def stopped(name: str, walk: GraphWalk | None) -> list[str]:
    """The lines that keep the gradient away."""
    ran = [place for place in walk.lines() if place is not None] if walk is not None else []
    end = line_of(walk.roots[0][0]) if walk is not None else None
    if end is None and (frame := user_frame()) is not None:
        end = frame.f_code.co_filename, frame.f_lineno
    lines = [say(f"why_stop_{stop.kind}", what=stop.what, line=place_text((stop.filename, stop.line)), name=name)
             for stop in stops(name, _reach(name, end, ran), set(ran))[:MAX_STOP_LINES]]  # fmt: skip
    return lines or [say("why_unused", name=name)]


def _reach(name: str, end: tuple[str, int] | None, ran: Sequence[tuple[str, int]]) -> dict[str, tuple[int, int]]:
    """The code between the last assignment of a variable and the result: by file name, the first and the last line."""
    if end is None:
        return {}
    made = last_assignment(name.partition(".")[0], end[0], (end[1], 0))
    start = (end[0], 0) if made is None else (made.filename, made.position[0])
    reach = {end[0]: (start[1] if start[0] == end[0] else 0, end[1])}
    for cell in SourceLocator.earlier(end[0]) if start[0] != end[0] else ():
        reach[cell] = (start[1] if cell == start[0] else 0, 10**9)
        if cell == start[0]:
            break
    for filename, _ in ran:  # functions in other files
        reach.setdefault(filename, (0, 10**9))
    return dict(reversed(reach.items()))


def _told(cause: Any) -> Iterator[str]:
    yield from cause.told(language.texts()) if cause.kind != "unknown" else ()


def name_of(tensor: Any, names: Mapping[str, Any], other: str = "w") -> str:
    """Return the name of a tensor; another one if no variable holds it."""
    direct = name_in(names, tensor)
    return one_line(direct or next((name for name, each in of_variables(names) if each is tensor), other), 60)


# -- paths in the drawing ----------------------------------------------------------------------------------------------


STRIPE_PX = 10  # paths that share an edge take turns along it
MARK_RADIUS_PX = 8
PART = re.compile(r'<(?:path class="nb-edge|g class="nb-node)[^>]*?(?: data-(?:edge|node)="([^"]*)"| d=)')


def hue(path: int) -> str:
    """Return the color of a path.

    >>> hue(0), hue(0) == hue(len(PATHS))
    ('#0a5fb4', True)
    """
    return LIGHT[PATHS[path % len(PATHS)]]


def highlighted(svg: str, model: GraphModel, places: Layout, paths: Sequence[Collection[str]]) -> str:
    """Return the drawing of a graph with some paths highlighted.

    :param paths: the ids of each path's edges.
    """
    users: dict[str, list[int]] = {}
    for i, path in enumerate(paths):
        for edge in path:
            users.setdefault(edge, []).append(i)
    if not users:
        return svg
    lit = {end for edge in model.edges if edge.id in users for end in (edge.src, edge.dst)} | users.keys()
    svg = PART.sub(lambda part: part[0] if part[1] in lit else part[0].replace(" ", ' opacity="0.3" ', 1), svg)
    lines = [_line(places.flows[edge], own, turn) for edge, own in users.items() for turn in range(len(own))]
    marks, marked = list[str](), list[str]()
    for i, path in enumerate(paths):
        edge = min(path, key=lambda edge: (len(users[edge]), marked.count(edge), edge in places.labels), default="")
        if 0 < len(users.get(edge, ())) < max(len(paths), 2):  # not where all of several run
            marks.append(_mark(places, edge, i, marked.count(edge)))
            marked.append(edge)
    nodes = svg.index("<g ")  # lines go below the boxes
    return svg[:nodes] + "".join(lines) + svg[nodes:].replace("</svg>", "".join(marks) + "</svg>")


def _line(d: str, paths: Sequence[int], turn: int) -> str:
    """The line of one of the paths that run along an edge."""
    several = len(paths) > 1
    gap, offset = STRIPE_PX * (len(paths) - 1), -STRIPE_PX * turn
    dashes = f' stroke-dasharray="{STRIPE_PX} {gap}" stroke-dashoffset="{offset}"' * several
    return f'<path d="{d}" fill="none" stroke="{hue(paths[turn])}" stroke-width="6" opacity="0.6"{dashes}/>'


def _mark(places: Layout, edge: str, path: int, below: int) -> str:
    """The number of a path on one of its edges, below so many earlier marks."""
    line = aside(places.routes[edge], places.direction, upright=bool(places.headings))
    ((x, y),) = curve_points(line, (0.5,), places.direction == "LR")
    y += 2 * MARK_RADIUS_PX * below
    disk = f'<circle cx="{number(x)}" cy="{number(y)}" r="{MARK_RADIUS_PX}" fill="{hue(path)}"/>'
    look = f'font-size="11" font-weight="700" text-anchor="middle" fill="{LIGHT["bg"]}"'
    return f'{disk}<text x="{number(x)}" y="{number(y + 4)}" {look}>{path + 1}</text>'
