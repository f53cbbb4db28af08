"""Files: a page that plays without kernel and network, SVG, Graphviz source, text."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from nbautograd.viz import theme
from nbautograd.viz.escape import clean, escape
from nbautograd.viz.model import GraphModel, Node

__all__ = ["dot_svg", "page", "player_css", "player_js", "player_page", "save", "to_dot", "write"]

DOT_NODES = 300
DOT_SECONDS = 10


# -- pages -----------------------------------------------------------------------


@cache
def player_js() -> str:
    """The player's module."""
    return files("nbautograd.viz").joinpath("static", "player.js").read_text("utf-8")


@cache
def player_css() -> str:
    """The player's style sheet with the colours in front."""
    return theme.css() + "\n" + files("nbautograd.viz").joinpath("static", "player.css").read_text("utf-8")


def player_page(data: Mapping[str, Any], svg: str) -> str:
    """A page that shows ``svg`` and, where scripts run, plays ``data``."""
    label = str(data["label"])
    payload = json_for_script(data)
    script = (
        player_js()
        + '\nconst place = document.getElementById("nb-place");\n'
        + 'mount(place, JSON.parse(document.getElementById("nb-data").textContent));\n'
    )
    image = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    body = (
        f'<main id="nb-place"><img alt="{escape(label)}" src="data:image/svg+xml;base64,{image}"></main>\n'
        f'<script type="application/json" id="nb-data">{payload}</script>\n'
        f'<script type="module">{script}</script>'
    )
    return page(label, body, script=script, style=player_css())


def page(title: str, body: str, *, script: str = "", style: str = "") -> str:
    """A whole document, whose policy allows its own script and style by their hashes and nothing from anywhere else."""
    style += (
        "\nbody { margin: 0; padding: 16px; background: #eef1f4; }\n"
        "@media (prefers-color-scheme: dark) { body { background: #0a0c0f; } }\n"
        "main img { max-width: 100%; }\n@media (max-width: 600px) { body { padding: 6px; } }\n"
    )
    allowed = f"{_hash(style)} 'unsafe-hashes' {_hash('max-width:100%')}"  # the sheet, and one style attribute
    policy = f"default-src 'none'; img-src data: blob:; style-src {allowed}"
    policy += f"; script-src {_hash(script)}" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def json_for_script(data: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# -- files -----------------------------------------------------------------------


def save(path: str | Path, kinds: Mapping[str, Callable[[], str]]) -> Path:
    """Write what the path's suffix asks for."""
    target = Path(path)
    make = kinds.get(target.suffix.lower())
    if make is None:
        known = ", ".join(sorted(kinds))
        raise ValueError(f"cannot save as {target.suffix or 'a file without suffix'!r}; use one of {known}")
    return write(target, make())


def write(path: str | Path, content: str) -> Path:
    """Write a file as a whole or not at all: readers never see half of it."""
    target = Path(path)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".nbautograd-", suffix=target.suffix)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


# -- Graphviz -----------------------------------------------------------------------


def to_dot(model: GraphModel, direction: str = "LR") -> str:
    """The graph in Graphviz's language; every label is text, never markup, and ids are our own."""
    import graphviz  # takes a while to import, and most never need it

    drawn = graphviz.Digraph("autograd", graph_attr={"rankdir": direction, "bgcolor": "white"})
    drawn.attr("node", fontname="Helvetica", fontsize="11", shape="box", style="filled")
    drawn.attr("edge", color="#8c98a4", arrowsize="0.7")
    fills = {"leaf": "#eaf3fd", "output": "#f4efff", "tensor": "#ffffff"}
    for node in model.nodes:
        looks = {"fillcolor": fills.get(node.kind, "#f6f8fa")}
        if node.kind == "op":
            looks["style"] = "rounded,filled"
        elif node.kind == "constant":
            looks = {"shape": "plaintext", "style": ""}
        drawn.node(node.id, label=_dot_label(node), **looks)
    for edge in model.edges:
        drawn.edge(edge.src, edge.dst)
    return str(drawn.source)


def _dot_label(node: Node) -> str:
    parts = [node.symbol, node.name, node.value, f"{node.dtype} {node.shape}".strip()]
    if node.kind == "leaf":
        parts.append(f".grad {node.grad}")
    return "\\n".join(_dot_text(line) for part in parts if part for line in clean(part).split("\n"))


def _dot_text(text: str) -> str:
    """Text for a label: a backslash means itself, and angle brackets are never markup."""
    import graphviz

    return str(graphviz.escape(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")))


def dot_svg(model: GraphModel, direction: str = "LR") -> str:
    """The graph as Graphviz draws it, for small graphs and on request.

    :raises RuntimeError: there is no ``dot``, the graph is too large, or ``dot`` took too long.
    """
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError("Graphviz is not installed: there is no program called dot")
    if len(model.nodes) > DOT_NODES:
        raise RuntimeError(f"Graphviz is given at most {DOT_NODES} nodes; this graph has {len(model.nodes)}")
    environment = {k: v for k, v in os.environ.items() if k not in ("GVBINDIR", "DOTFONTPATH", "SERVER_NAME")}
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [os.path.abspath(program), "-Tsvg"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=folder, env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(to_dot(model, direction).encode("utf-8"), timeout=DOT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise RuntimeError(f"Graphviz took longer than {DOT_SECONDS} s") from None
    if process.returncode:
        raise RuntimeError(f"Graphviz failed: {clean(err.decode('utf-8', 'replace'))}")
    return _drawable(out)


_DRAWABLE = {"svg", "g", "path", "polygon", "polyline", "ellipse", "text", "title"}  # what dot draws with


def _drawable(svg: bytes) -> str:
    """Another program's SVG, with nothing in it but drawing: no links, no scripts, no comments."""
    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] not in _DRAWABLE:
                parent.remove(child)
        for name in list(parent.attrib):
            if name.endswith("href") or name.startswith("on"):
                del parent.attrib[name]
    return ElementTree.tostring(root, encoding="unicode")
