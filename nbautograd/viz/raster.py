"""PNG and PDF of a drawing: through CairoSVG where it is installed, otherwise as Graphviz draws the graph.

CairoSVG keeps our drawing. It knows one font family per text and draws the arrowheads of hidden lines, so both are seen
to first.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from importlib import import_module
from typing import Any

from nbautograd.viz import graphviz_dot

__all__ = ["KINDS", "raster"]

KINDS = (".png", ".pdf")
SCALE = 2.0  # pixels of a PNG for each of the drawing's
LARGEST = 16_000  # pixels of a side; Cairo refuses 32,768
_SVG = "http://www.w3.org/2000/svg"


def raster(svg: str, kind: str, dot: Callable[[], str] | None = None) -> bytes:
    """The drawing as the bytes of a file.

    :param kind: ``.png`` or ``.pdf``.
    :param dot: the source of a Graphviz drawing, for where CairoSVG is missing.
    :raises RuntimeError: neither CairoSVG nor Graphviz is installed.
    """
    try:
        cairosvg: Any = import_module("cairosvg")
    except (ImportError, OSError):  # OSError: the package is there, the Cairo library is not
        if dot is None or graphviz_dot.program() is None:
            raise RuntimeError(
                f"a {kind} file needs CairoSVG (pip install 'nbautograd[png]', and the system's Cairo library) or "
                "Graphviz (the program dot); .svg and .html need neither"
            ) from None
        return graphviz_dot.run(dot(), kind[1:])
    prepared, side = _prepared(svg)
    convert = cairosvg.svg2png if kind == ".png" else cairosvg.svg2pdf
    scale = min(SCALE, LARGEST / side) if kind == ".png" else 1.0
    return bytes(convert(bytestring=prepared, scale=scale))


def _prepared(svg: str) -> tuple[bytes, float]:
    """The drawing as CairoSVG can draw it, and its longer side."""
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.get("visibility") == "hidden":
                parent.remove(child)
        family = parent.get("font-family", "")
        if family:
            # A family that the system's font matching knows; it finds the glyphs of other scripts by itself.
            parent.set("font-family", "monospace" if "mono" in family.rpartition(",")[2] else "sans-serif")
    side = max(float(root.get(name, "1").removesuffix("pt")) for name in ("width", "height"))
    return ElementTree.tostring(root), max(side, 1.0)
