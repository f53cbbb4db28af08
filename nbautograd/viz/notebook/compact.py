"""Outputs in fewer bytes: the still picture beside a player, and the pass that an output holds.

An image has nothing to click, and ids of its own.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import count
from operator import itemgetter
from typing import Any

from nbautograd.viz import language
from nbautograd.viz.draw.cells import KEY_COLOR_PX, KEY_COLORS
from nbautograd.viz.draw.theme import DARK_OF, MONO_MARKUP, PAINT, SANS_MARKUP

__all__ = ["MIME", "address", "compact", "packed_pass", "pass_bundle"]

MIME = "application/vnd.nbautograd.pass+json"
VERSION = 2  # another form of drawings since 1
MAX_PASS_BYTES = 300_000  # of a pass in an output; without a kernel, a larger one is shown as a picture
_PLACES = re.compile(r'( (?:d|c?[xy]|[xy][12]|viewBox|width|height|transform|data-grid)=")([^"]*)')
_NAME = re.compile(r'(?<=<title id=")nb[0-9a-f]{10}(?=-title")')


def packed_pass(data: Mapping[str, Any]) -> bytes:
    """Return a player's data as a widget sends it and a saved notebook keeps it."""
    if "svgs" in data:
        shapes: dict[str, int] = {}
        svgs = [[_numbered(svg, shapes) for svg in same] for same in data["svgs"]]
        data = {**data, "svgs": svgs, "shapes": [*shapes]}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8"), 6, mtime=0)


def _numbered(svg: str, shapes: dict[str, int]) -> tuple[int, str, str]:
    """Return a drawing as the number of its shape, the name in its ids, and its coordinates.

    Drawings of a graph for different windows have the same shape, which is sent once.

    >>> _numbered('<rect x="1" y="2"/>', {})
    (0, '', '1|2')
    """
    name = found[0] if (found := _NAME.search(svg)) else ""
    parts = _PLACES.split(svg.replace(name, "\2") if name else svg)
    between = [before + attribute for before, attribute in zip(parts[:-1:3], parts[1::3], strict=True)]
    return shapes.setdefault("\1".join([*between, parts[-1]]), len(shapes)), name, "|".join(parts[2::3])


def pass_bundle(attempts: Iterable[Mapping[str, Any] | bytes] = ()) -> dict[str, Any]:
    """Return what an output holds of a player's data, by its MIME type, so that it plays without a kernel.

    :param attempts: the player's data without its texts, the fullest first; the first that is small enough is held.
        They may be packed already. Nothing where it has no meaning without its kernel.

    >>> pass_bundle()
    {'application/vnd.nbautograd.pass+json': {'version': 2}}
    >>> sorted(pass_bundle([{"label": "y"}])[MIME])
    ['language', 'packed', 'version']
    """
    content: dict[str, Any] = {"version": VERSION}
    for data in attempts:
        small = data if isinstance(data, bytes) else packed_pass(data)
        text = base64.b64encode(small).decode("ascii")
        if len(text) <= MAX_PASS_BYTES:
            content |= {"language": language.tag(), "packed": text}
            break
    return {MIME: content}


# -- images ------------------------------------------------------------------------------------------------------------

_UNSEEN = re.compile(
    r"<title[ >][^<]*</title>|<desc [^<]*</desc>| (?:data-[a-z-]+|class|aria-labelledby)=\"[^\"]*\"|\n"
    r'|<path [^>]* visibility="hidden"/>'
)
_EMPTY = re.compile(r"<text [^>]*></text>|<g></g>")
_PREFIX = re.compile(r'(?<=<marker id=")nb[0-9a-f]{10}-')
_MARKER = re.compile(r'<marker id="([a-z]+)".*?</marker>')
_KEY = re.compile(  # the colors of a scale, side by side
    r'<rect x="([^"]*)" (y="[^"]*") width="[^"]*" (height="[^"]*") fill="([^"]*)"/>(?:<rect [^>]* \2 [^>]*/>){7}'
    r'<rect [^>]* \2 [^>]* fill="([^"]*)"/>(?:<rect [^>]* \2 [^>]*/>){7}<rect [^>]* \2 [^>]* fill="([^"]*)"/>'
)
_NO_GROUP = r"(?:(?!</?g[ >]).)*"
_TILE = re.compile(f'<g( transform="[^"]*")([^>]*>{_NO_GROUP}(?:<g [^>]*>{_NO_GROUP}</g>{_NO_GROUP})?</g>)')
_LOOKS = re.compile(  # the last attributes of a tag: of earlier ones a tag would get a second class
    r"((?: (?:fill|stroke|paint-order|font|text-anchor|marker-end)[a-z-]*=\"[^\"]*\")+)(?=/?>)"
)
_LOOK = re.compile(r' ([a-z-]+)="([^"]*)"')


def address(svg: str, *, follows: bool) -> str:
    """Return :func:`compact` of a drawing as the address of an image, for an attribute in double quotes.

    >>> address('<svg><g class="a" fill="#ffffff"/></svg>', follows=False)
    "data:image/svg+xml,%3Csvg>%3Cg fill='%23ffffff'/>%3C/svg>"
    """
    text = compact(svg, follows=follows)
    for character in "%#&<":  # the first: what follows writes it; the last: simple readers of HTML take it for a tag
        text = text.replace(character, f"%{ord(character):X}")
    return "data:image/svg+xml," + text.replace('"', "'")  # all quotes of texts are escaped


def compact(svg: str, *, follows: bool) -> str:
    """Return a drawing without what an image does not show; looks that are repeated are classes.

    :param follows: whether it takes the dark colors as one of :func:`~nbautograd.viz.draw.theme.adaptive` does.

    >>> compact('<svg><path d="M1 1" fill="#d5702c"/><path class="nb-x" d="M2 2" fill="#d5702c"/></svg>', follows=False)
    '<svg><style>.a{fill:#d5702c}</style><path d="M1 1" class="a"/><path d="M2 2" class="a"/></svg>'
    """
    svg = _EMPTY.sub("", _UNSEEN.sub("", svg))
    if prefix := _PREFIX.search(svg):
        svg = svg.replace(prefix[0], "")
    for fonts in (SANS_MARKUP, MONO_MARKUP):
        svg = svg.replace(fonts, fonts.replace("&#x27;", ""))  # no name of a font needs quotes
    for name in _MARKER.findall(svg):
        if f"url(#{name})" not in svg:
            svg = re.sub(f'<marker id="{name}".*?</marker>', "", svg)
    body, rules = _classed(_once(_KEY.sub(_blended, svg)))
    declared: dict[str, list[str]] = {}
    for (what, value), names in rules.items():
        declared.setdefault(",".join(names), []).append(f"{what}:{value}{'px' * (what == 'font-size')}")
    light = [f"{names}{{{';'.join(each)}}}" for names, each in declared.items()]
    if follows:
        for paint in dict.fromkeys(PAINT.findall(body)):
            rules.setdefault(paint, []).append('[{}="{}"]'.format(*paint))
        dark = [f"{','.join(names)}{{{what}:{DARK_OF[color]}}}"
                for (what, color), names in rules.items() if color in DARK_OF]  # fmt: skip
        light += ["@media (prefers-color-scheme:dark){", *dark, "}"]
    start = body.index(">") + 1
    return f"{body[:start]}<style>{''.join(light)}</style>{body[start:]}" if light else body


def _classed(svg: str) -> tuple[str, dict[tuple[str, str], list[str]]]:
    """Return a drawing with classes for repeated looks, and the classes of each attribute."""
    parts = _LOOKS.split(svg)
    users = Counter(parts[1::2])
    written, numbers = dict(zip(users, users, strict=True)), count()
    rules: dict[tuple[str, str], list[str]] = {}
    for look, number_of_users in users.items():
        if number_of_users > 1:
            name = _name(next(numbers))
            written[look] = f' class="{name}"'
            for rule in _LOOK.findall(look):
                rules.setdefault(rule, []).append(f".{name}")
    parts[1::2] = map(written.__getitem__, parts[1::2])
    return "".join(parts), rules


def _blended(key: re.Match[str]) -> str:
    """Return the colors of a scale as one rectangle, whose color changes from side to side."""
    x, y, height, *colors = key.groups()
    stops = "".join([f'<stop offset="{place}" stop-color="{color}"/>'
                     for place, color in zip((0, 0.5, 1), colors, strict=True)])  # fmt: skip
    bar = f'<rect x="{x}" {y} width="{KEY_COLOR_PX * len(KEY_COLORS):g}" {height} fill="url(#key)"/>'
    return f'<linearGradient id="key">{stops}</linearGradient>{bar}'


def _once(svg: str) -> str:
    """Return a drawing that has equal tiles once, and further ones by reference."""
    tiles = Counter(map(itemgetter(1), _TILE.findall(svg)))
    if max(tiles.values(), default=1) == 1:
        return svg
    ids = {tile: f"t{number}" for number, (tile, times) in enumerate(tiles.items()) if times > 1}
    drawn: set[str] = set()

    def place(found: re.Match[str]) -> str:
        where, tile = found.groups()
        if tile not in ids:
            return found[0]
        if tile in drawn:
            return f'<use{where} href="#{ids[tile]}"/>'
        drawn.add(tile)
        return f'<g{where}><g id="{ids[tile]}"{tile}</g>'

    return _TILE.sub(place, svg)


@cache
def _name(number: int) -> str:
    """Return the name of a class: a, b, ... z, ba, bb, ...

    >>> _name(1), _name(27)
    ('b', 'bb')
    """
    rest, last = divmod(number, 26)
    return (_name(rest) if rest else "") + chr(ord("a") + last)
