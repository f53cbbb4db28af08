"""Highlight paths in the drawing of a graph: each in its own color with its number, the rest of the graph pale."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from nbautograd.viz.draw.labels import curve_points
from nbautograd.viz.draw.layout import Layout
from nbautograd.viz.draw.lines import aside, number
from nbautograd.viz.draw.theme import LIGHT, PATHS
from nbautograd.viz.read.model import GraphModel

__all__ = ["highlighted", "hue"]

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
    marks: list[str] = []
    marked: list[str] = []
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
    """The number of a path on one of its edges.

    :param below: the number of earlier marks on this edge.
    """
    line = aside(places.routes[edge], places.direction, upright=bool(places.headings))
    ((x, y),) = curve_points(line, (0.5,), places.direction == "LR")
    y += 2 * MARK_RADIUS_PX * below
    return (
        f'<circle cx="{number(x)}" cy="{number(y)}" r="{MARK_RADIUS_PX}" fill="{hue(path)}"/>'
        f'<text x="{number(x)}" y="{number(y + 4)}" font-size="11" font-weight="700" text-anchor="middle" '
        f'fill="{LIGHT["bg"]}">{path + 1}</text>'
    )
