"""Build the output of a cell, so that each front end finds a form that it shows.

===================================  ===============================================================================
JupyterLab, Notebook 7, VS Code      the widget; without anywidget, or with ``%autograd --widget off``, ``text/html``
the same, without the kernel         the pass in the output, which our extension plays; elsewhere ``text/html``
JupyterLab, untrusted notebook       the same: the player copies drawings element by element and runs nothing of them
an untrusted notebook elsewhere      ``text/html``: an inline ``<svg>`` would be stripped there, an ``<img>`` is not
GitHub, nbviewer, nbconvert to HTML  ``text/html``; nothing there needs a script or a style
nbconvert ``--to webpdf``            ``text/html``, through a browser
nbconvert ``--to pdf``, LaTeX        ``image/png`` or ``image/svg+xml``: ask with ``%autograd --image png``
nbconvert --execute, nbclient        ``text/html`` alone: with a widget beside it, the exported page would be blank
documentation, reopened notebooks    ``text/html`` that plays by itself: ask with ``%autograd --embed on``
a terminal, a screen reader          ``text/plain``: the whole graph in words; the table below the picture
===================================  ===============================================================================

The output has an image beside the HTML only on request: without Inkscape, ``nbconvert --to pdf`` fails on
``image/svg+xml``, and every image would make a notebook larger by half.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import accumulate, count
from operator import itemgetter
from typing import Any

from nbautograd.viz import language
from nbautograd.viz.draw import theme
from nbautograd.viz.draw.cells import BOX, GRADIENTS, KEY_COLOR_PX, KEY_COLORS, Scale, grid_of, paint, scale_key
from nbautograd.viz.draw.graph_text import graph_rows
from nbautograd.viz.draw.theme import DARK_OF, MONO_MARKUP, PAINT, SANS_MARKUP
from nbautograd.viz.escape import escape, escape_long
from nbautograd.viz.language import headings, say
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.tiles import Tile
from nbautograd.viz.settings import settings

__all__ = [
    "MAX_OUTPUT_BYTES", "MIME", "brief", "colored", "compact", "compact_images", "details", "drawing", "gradient_image",
    "graph_table", "has_front_end", "image", "images", "in_kernel", "key_image", "packed_pass", "pass_bundle",
    "request", "table", "within",
]  # fmt: skip

MAX_OUTPUT_BYTES = 2_000_000  # Jupyter drops more than a megabyte per second
MAX_CHARACTERS = 5_000  # a longer text for a terminal or an assistant is shortened
SHORT_CHARACTERS = 2_700  # of a shortened text without its last line: about 900 tokens
MAX_LINE_CHARACTERS = 300
MIME = "application/vnd.nbautograd.pass+json"
VERSION = 2  # another form of drawings since 1
MAX_PASS_BYTES = 300_000  # of a pass in an output; without a kernel, a larger one is shown as a picture


def has_front_end() -> bool:
    """Return whether a front end runs the cell: it gives the cell's id, a program gives none.

    A notebook that ``nbconvert --execute`` or nbclient runs would keep the widget's state, and each page made from it
    would show the widget, which needs scripts from the network, instead of the picture.
    """
    if os.environ.get("SERVER_SOFTWARE", "").startswith("voila/"):  # its pages have widgets
        return True
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return getattr(shell, "kernel", None) is None or bool(request(shell).get("metadata"))


def in_kernel() -> bool:
    """Return whether a kernel runs this program."""
    module = sys.modules.get("IPython")
    return getattr(module.get_ipython() if module is not None else None, "kernel", None) is not None


def request(shell: Any) -> dict[str, Any]:
    """The message that asked for the running cell: IPython's kernel notes it at the shell, Pyodide's at the kernel."""
    parent = getattr(shell, "parent_header", None) or getattr(shell.kernel, "_parent_header", None)
    return parent if isinstance(parent, dict) else {}


def colored(svg: str) -> str:
    """A drawing in the colors that are set."""
    return theme.darkened(svg) if settings.theme == "dark" else svg


def image(svg: str, label: str, size: str = "") -> str:
    """A drawing as an element that every notebook shows, trusted or not.

    In a dark notebook it turns dark once a player or a live view has loaded the rule for that (``theme.FOLLOWS``).
    """
    follows = settings.theme == "auto"
    if _are_compact.get():
        source = address(svg, follows=follows)
    else:
        data = base64.b64encode((theme.adaptive(svg) if follows else svg).encode("utf-8")).decode("ascii")
        source = f"data:image/svg+xml;base64,{data}"
    style = f"max-width:100%; {theme.STILL}" if follows else "max-width:100%"
    return f'<img alt="{escape(label)}"{size} style="{style}" src="{source}">'


_are_compact = ContextVar("compact", default=False)


@contextmanager
def compact_images() -> Iterator[None]:
    """Make images in fewer bytes inside the block: for an output that shows a player, and them only elsewhere."""
    token = _are_compact.set(True)
    try:
        yield
    finally:
        _are_compact.reset(token)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", *, are_html: bool = False) -> str:
    """An HTML table, whose first column names the rows.

    :param are_html: the cells of the rows and the caption are HTML; texts, which are escaped, otherwise.

    >>> table([], [["<w>", "1"]]).partition("</thead>")[2]
    '<tbody><tr><th scope="row">&lt;w&gt;</th><td>1</td></tr></tbody></table>'
    """
    shown = str if are_html else escape
    lines = [
        f'<tr><th scope="row">{shown(first)}</th><td>{"</td><td>".join(map(shown, rest))}</td></tr>'
        for first, *rest in rows
    ]
    top = '</th><th scope="col">'.join(map(escape, head))
    about = f"<caption>{shown(caption)}</caption>" if caption else ""
    # In a narrow window a heading in Chinese would have one character on each line.
    return (
        f'<table>{about}<thead style="word-break:keep-all"><tr><th scope="col">{top}</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def graph_table(model: GraphModel) -> str:
    """Every node of a graph in an HTML table, for screen readers and for where no picture shows."""
    return table(headings("col_name", "col_kind", "value", "col_type", "col_memory", "col_where"), graph_rows(model))


def details(title: str, body: str, *, opened: bool = False) -> str:
    """A part that a click unfolds."""
    return f"<details{' open' * opened}><summary>{escape(title)}</summary>{body}</details>"


def images(svg: str) -> dict[str, str]:
    """The drawing as the kind of image for which ``settings.image`` asks, by its MIME type.

    :raises RuntimeError: PNG is asked for and resvg_py is not installed.
    """
    if settings.image == "svg":
        return {"image/svg+xml": svg}
    if settings.image == "png":
        from nbautograd.viz.draw import raster  # loaded when an image is asked for

        return {"image/png": base64.b64encode(raster.raster(svg, ".png")).decode("ascii")}
    return {}


def within(attempts: Iterable[Callable[[], str]], label: str, words: str, limit: int = MAX_OUTPUT_BYTES) -> str:
    """Return the first output that is small enough to show; if none is, return the words and a line with the reason.

    From the second picture on, a line notes that it is smaller.

    :param attempts: make the HTML, the best one first.
    :param words: the same in words, of which the beginning is shown.

    >>> print(within([lambda: "<img>" * 1000, lambda: "<img>"], "y", "y = a + b", limit=1000))
    <p>The whole output takes 5,000 bytes, of which at most 1,000 are shown: this is a smaller one.</p><img>
    >>> print(within([lambda: "<img>" * 1000], "y", "y = a + b", limit=1000))  # doctest: +ELLIPSIS
    <p>y: the drawing takes 5,000 bytes; more than 1,000 are not shown. Save it as a file to see it.</p><pre>y = ...
    """
    first = 0
    for attempt in attempts:
        output = attempt()
        size = len(output.encode("utf-8", "replace"))
        if size <= limit:
            return f"<p>{escape(say('smaller', size=first, limit=limit))}</p>{output}" if first else output
        first = first or size
    note = say("not_shown", label=label, size=first, limit=limit)
    return f"<p>{escape_long(note, 400)}</p><pre>{escape_long(words, 20_000)}</pre>"


def gradient_image(text: str, tile: Tile | None, largest: float) -> str:
    """Return a gradient as an image of its tile, with its numbers in words; as text if it is one number."""
    grid = None if tile is None else grid_of([tile], BOX)
    if tile is None or grid is None:
        return escape(text)
    wide, high = grid.size
    drawn = drawing(wide, high, paint(tile, grid, 0, 0, Scale(GRADIENTS, largest)))
    return image(drawn, text)


def key_image(largest: float) -> str:
    """Draw the key of the colors."""
    name = say("scale_gradients")
    return image(drawing(300, 14, scale_key(2, 11, largest)), name)


def drawing(wide: float, high: float, inside: str) -> str:
    """Elements as an SVG of this size.

    :param inside: SVG elements.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}" viewBox="0 0 {wide:g} {high:g}" '
        f'font-family="{theme.SANS_MARKUP}">{inside}</svg>'
    )


def brief(text: str) -> str:
    r"""Return a text of at most 5,000 characters as it is, and a longer one with less than 3,000.

    Parts, which empty lines separate, get equal shares; a short part leaves room to the others. The end of a part, with
    an error and its cure, gets more of its share than the beginning.

    >>> brief("short")
    'short'
    >>> text = "\n".join(f"{n}. a step" for n in range(1, 1001)) + "\n\nw  5."
    >>> shown = brief(text).splitlines()
    >>> shown[0], shown[-4], shown[-2]
    ('1. a step', '1000. a step', 'w  5.')
    >>> shown[-1]
    'Shortened from 11,899 characters: .text has all of it, .save("pass.txt") writes it.'
    """
    if len(text) <= MAX_CHARACTERS:
        return text
    parts = [part.splitlines() for part in text.split("\n\n")]
    shown = dict.fromkeys(range(len(parts)), "")
    room, left = SHORT_CHARACTERS, len(parts)
    for number in sorted(shown, key=lambda n: sum(map(len, parts[n]))):
        shown[number] = _ends(parts[number], room // left)
        room, left = room - len(shown[number]), left - 1
    return "\n\n".join(part for part in shown.values() if part) + "\n" + say("shortened", n=len(text))


def _ends(lines: Sequence[str], room: int) -> str:
    """Return the first and the last lines that fit, with a line between them that counts the omitted ones."""
    lines = [line if len(line) <= MAX_LINE_CHARACTERS else f"{line[: MAX_LINE_CHARACTERS - 1]}…" for line in lines]
    if sum(map(len, lines)) + len(lines) <= room:
        return "\n".join(lines)
    first, last = _fitting(lines, room // 3), _fitting(lines[::-1], room - room // 3 - 40)
    away = say("more_lines", n=len(lines) - first - last)
    return "\n".join([*lines[:first], away, *lines[len(lines) - last :]])


def _fitting(lines: Sequence[str], room: int) -> int:
    return sum(size <= room for size in accumulate(len(line) + 1 for line in lines))


# -- a pass in an output -----------------------------------------------------------------------------------------------


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


# -- images in fewer bytes ---------------------------------------------------------------------------------------------

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
    wide = KEY_COLOR_PX * len(KEY_COLORS)
    return (
        f'<linearGradient id="key">{stops}</linearGradient>'
        f'<rect x="{x}" {y} width="{wide:g}" {height} fill="url(#key)"/>'
    )


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
