"""A graph in the languages of Graphviz and Mermaid; and as the program ``dot`` draws it, if installed, on request."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

from nbautograd._engine.base.installing import command
from nbautograd._engine.base.process_group import end_group
from nbautograd.viz.escape import clean
from nbautograd.viz.read.model import GraphModel, Node

__all__ = ["dot_svg", "label_lines", "program", "run", "to_dot", "to_mermaid"]

LOOKS = {"leaf": "fill:#eaf3fd,stroke:#4a90d9", "output": "fill:#f4efff,stroke:#8b6fd6"}
_SHAPES = {"op": '("{}")', "group": '[["{}"]]', "constant": '(["{}"])'}
_MARKUP = re.compile(r'[#&<>"`]')


def to_mermaid(model: GraphModel, direction: str = "LR") -> str:
    """Return the source of a Mermaid flowchart, LR or TB; every label is text, never markup, and ids are our own."""
    names = {node.id: f"n{number}" for number, node in enumerate(model.nodes)}
    lines = [f"flowchart {direction}"]
    for node in model.nodes:
        shape = _SHAPES.get(node.kind, '["{}"]').format(_label(node))
        lines.append(f"  {names[node.id]}{shape}" + (f":::{node.kind}" if node.kind in LOOKS else ""))
    lines += [f"  {names[edge.src]} --> {names[edge.dst]}" for edge in model.edges]
    lines += [f"  classDef {kind} {looks},color:#111" for kind, looks in LOOKS.items()]
    return "\n".join(lines) + "\n"


def _label(node: Node) -> str:
    return "<br>".join(_MARKUP.sub(lambda found: f"#{ord(found[0])};", line) for line in label_lines(node))


def label_lines(node: Node) -> list[str]:
    """The lines of a node's label, also in Graphviz's language."""
    value = node.label if node.kind == "group" else node.value
    parts = [node.symbol, node.name, value, f"{node.dtype} {node.shape}".strip()]
    parts += [f".grad {node.grad}"] if node.kind == "leaf" else []
    return [line for part in parts if part for line in clean(part).split("\n")]


_SVG = "http://www.w3.org/2000/svg"
MAX_DOT_NODES = 300
MAX_DOT_SECONDS = 10


def to_dot(model: GraphModel, direction: str = "LR") -> str:
    """The graph in Graphviz's language; every label is text, never markup, and ids are our own.

    :raises RuntimeError: the Python package graphviz is not installed.
    """
    try:
        import graphviz  # slow to import, and rarely needed
    except ImportError:
        raise RuntimeError(f"Graphviz's source needs its Python package: {command('graphviz')}") from None

    drawn = graphviz.Digraph("autograd", graph_attr={"rankdir": direction, "bgcolor": "white"})
    drawn.attr("node", fontname="Helvetica", fontsize="11", shape="box", style="filled")
    drawn.attr("edge", color="#8c98a4", arrowsize="0.7")
    plain = {"fillcolor": "#f6f8fa"}
    looks = {
        "leaf": {"fillcolor": "#eaf3fd"}, "output": {"fillcolor": "#f4efff"}, "tensor": {"fillcolor": "#ffffff"},
        "op": plain | {"style": "rounded,filled"}, "group": plain | {"peripheries": "2"},
        "constant": {"shape": "plaintext", "style": ""},
    }  # fmt: skip
    for node in model.nodes:
        label = "\\n".join(map(_dot_text, label_lines(node)))
        drawn.node(node.id, label=label, **looks.get(node.kind, plain))
    for edge in model.edges:
        drawn.edge(edge.src, edge.dst)
    return str(drawn.source)


def _dot_text(text: str) -> str:
    """Text for a label: a backslash means itself, and angle brackets are never markup."""
    import graphviz

    return str(graphviz.escape(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")))


def dot_svg(model: GraphModel, direction: str = "LR") -> str:
    """The graph as Graphviz draws it, for small graphs and on request.

    :raises RuntimeError: there is no ``dot``, the graph is too large, or ``dot`` took too long.
    """
    if program() is None:
        raise RuntimeError("Graphviz is not installed: there is no program called dot")
    if len(model.nodes) > MAX_DOT_NODES:
        raise RuntimeError(f"Graphviz is given at most {MAX_DOT_NODES} nodes; this graph has {len(model.nodes)}")
    return _drawable(run(to_dot(model, direction), "svg"))


def program() -> str | None:
    """The path of ``dot``, or None."""
    path = shutil.which("dot")
    return None if path is None else os.path.abspath(path)


def run(source: str, kind: str) -> bytes:
    """Run ``dot`` on a source for ``svg``, ``png`` or ``pdf``: no shell, a deadline, its own process group.

    :raises RuntimeError: there is no ``dot``, it fails, or it takes too long.
    """
    path = program()
    if path is None:
        raise RuntimeError("Graphviz is not installed: there is no program called dot")
    environment = {k: v for k, v in os.environ.items() if k not in ("GVBINDIR", "DOTFONTPATH", "SERVER_NAME")}
    with tempfile.TemporaryDirectory() as folder:
        try:
            process = subprocess.Popen(
                [path, f"-T{kind}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=folder, env=environment, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise RuntimeError(f"Graphviz cannot be started: {error}") from None
        try:
            out, err = process.communicate(source.encode("utf-8"), timeout=MAX_DOT_SECONDS)
        except BaseException as error:  # the user's interrupt ends it as well
            end_group(process)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise RuntimeError(f"Graphviz took longer than {MAX_DOT_SECONDS} s") from None
            raise
    if process.returncode:
        raise RuntimeError(f"Graphviz failed: {clean(err.decode('utf-8', 'replace'))}")
    return out


_DRAWABLE = {"svg", "g", "path", "polygon", "polyline", "ellipse", "text", "title"}  # units of dot
_SAID = {
    "class", "cx", "cy", "d", "fill", "fill-opacity", "font-family", "font-size", "font-weight", "height", "id",
    "points", "rx", "ry", "stroke", "stroke-dasharray", "stroke-opacity", "stroke-width", "text-anchor", "transform",
    "version", "viewBox", "width", "x", "y",
}  # fmt: skip  # and what it says of that


def _drawable(svg: bytes) -> str:
    """Another program's SVG, with nothing in it but drawing: no links, no scripts, no styles, no comments."""
    ElementTree.register_namespace("", _SVG)
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise RuntimeError(f"what Graphviz wrote is no SVG: {error}") from None
    if root.tag != f"{{{_SVG}}}svg":
        raise RuntimeError(f"what Graphviz wrote is no SVG: it begins with {clean(root.tag, 40)!r}")
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] not in _DRAWABLE:
                parent.remove(child)
        for name in list(parent.attrib):
            if name not in _SAID or "(" in parent.attrib[name] and name != "transform":  # no url(...)
                del parent.attrib[name]
    return ElementTree.tostring(root, encoding="unicode")
