"""PNG and PDF of a drawing: through resvg and Typst where they are installed, otherwise as Graphviz draws the graph.

Both keep our drawing, and need no library of the system's. Typst brings fonts; resvg takes the system's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from nbautograd._engine.base.installing import extra

__all__ = ["KINDS", "raster"]

PIXELS_PER_UNIT = 2.0  # of the drawing, in a PNG
MAX_SIDE_PX = 16_000
_PAGE = """#set page(width: auto, height: auto, margin: 0pt, fill: none)
#image(bytes(sys.inputs.svg), format: "svg", width: {width}pt, height: {height}pt)"""
_LETTER = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9" font-family="{}">{}</text></svg>'


def raster(svg: str, kind: str, dot: Callable[[], str] | None = None) -> bytes:
    """The drawing as the bytes of a file.

    :param kind: ``.png`` or ``.pdf``.
    :param dot: the source of a Graphviz drawing, for where the library that makes such a file is missing.
    :raises RuntimeError: neither that nor Graphviz is installed, or a PNG finds no fonts on this system.
    """
    module, convert = _WAYS[kind]
    try:
        library: Any = import_module(module)
    except ImportError:
        from nbautograd.viz.draw import graphviz_dot

        if dot is None or graphviz_dot.program() is None:
            raise RuntimeError(
                f"a {kind} file needs {module} ({extra(kind[1:])}) or Graphviz (the program dot); "
                ".svg and .html need neither"
            ) from None
        return graphviz_dot.run(dot(), kind[1:])
    return convert(library, svg)


def _png_bytes(resvg: Any, svg: str) -> bytes:
    for family in set(re.findall(r'font-family="([^"]*)"', svg)):
        if not _has_letters(resvg, family):
            raise RuntimeError(
                "a .png file needs fonts, and this system has none: apt install fonts-dejavu-core, "
                "or what your system calls it; .svg, .html and .pdf need none"
            )
    return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=min(PIXELS_PER_UNIT, MAX_SIDE_PX / max(_size(svg)))))


@cache
def _has_letters(resvg: Any, family: str) -> bool:
    """Return whether the system's fonts have a letter; resvg leaves text out if they have none."""
    empty, letter = (resvg.svg_to_bytes(svg_string=_LETTER.format(family, text)) for text in ("", "M"))
    return bool(empty != letter)


def _pdf(typst: Any, svg: str) -> bytes:
    width, height = _size(svg)
    page = _PAGE.format(width=width, height=height).encode()
    return bytes(typst.compile(page, format="pdf", sys_inputs={"svg": svg}))


def _size(svg: str) -> tuple[float, float]:
    """Width and height, as the drawing's root has them."""
    sides = (re.search(rf' {name}="([\d.]+)', svg[: svg.index(">")]) for name in ("width", "height"))
    width, height = (max(float(side[1]), 1.0) if side else 1.0 for side in sides)
    return width, height


_WAYS: dict[str, tuple[str, Callable[[Any, str], bytes]]] = {".png": ("resvg_py", _png_bytes), ".pdf": ("typst", _pdf)}
KINDS = tuple(_WAYS)
