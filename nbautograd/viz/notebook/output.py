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
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Any

from nbautograd.viz.draw import theme
from nbautograd.viz.draw.boxes import graph_rows
from nbautograd.viz.draw.cells import BOX, GRADIENTS, Scale, grid_of, paint, scale_key
from nbautograd.viz.escape import escape, escape_long
from nbautograd.viz.language import headings, say
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.tiles import Tile
from nbautograd.viz.settings import settings

__all__ = [
    "MAX_OUTPUT_BYTES", "brief", "colored", "compact_images", "details", "drawing", "gradient_image", "graph_table",
    "has_front_end", "image", "images", "in_kernel", "key_image", "request", "table", "within",
]  # fmt: skip

MAX_OUTPUT_BYTES = 2_000_000  # Jupyter drops more than a megabyte per second
MAX_CHARACTERS = 5_000  # a longer text for a terminal or an assistant is shortened
SHORT_CHARACTERS = 2_700  # of a shortened text without its last line: about 900 tokens
MAX_LINE_CHARACTERS = 300


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
        from nbautograd.viz.notebook.compact import address  # loaded with the first widget

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
    lines = [f'<tr><th scope="row">{shown(first)}</th><td>{"</td><td>".join(map(shown, rest))}</td></tr>'
             for first, *rest in rows]  # fmt: skip
    top = '</th><th scope="col">'.join(map(escape, head))
    about = f"<caption>{shown(caption)}</caption>" if caption else ""
    # In a narrow window a heading in Chinese would have one character on each line.
    thead = f'<thead style="word-break:keep-all"><tr><th scope="col">{top}</th></tr></thead>'
    return f"<table>{about}{thead}<tbody>{''.join(lines)}</tbody></table>"


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
    return image(drawing(*grid.size, paint(tile, grid, 0, 0, Scale(GRADIENTS, largest))), text)


def key_image(largest: float) -> str:
    """Draw the key of the colors."""
    return image(drawing(300, 14, scale_key(2, 11, largest)), say("scale_gradients"))


def drawing(wide: float, high: float, inside: str) -> str:
    """Elements as an SVG of this size.

    :param inside: SVG elements.
    """
    size = f'width="{wide:g}" height="{high:g}" viewBox="0 0 {wide:g} {high:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{theme.SANS_MARKUP}">{inside}</svg>'


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
