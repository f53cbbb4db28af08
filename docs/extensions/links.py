"""Names in the text lead to the API, and entries of the API to the pages of the course that use them.

Inline code that is the name of something with an entry becomes a link: ``torch.where`` in any page, a method such as
``x.backward()``, and on the page of names each name of its tables. The docstring of an entry gets a line with the
notebooks whose cells call it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import reference
from docutils import nodes
from sphinx.application import Sphinx

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
MODULE = re.compile(r"^(?:torch|nb|nbautograd)\.([A-Za-z_][\w.]*)(?:\(.*\))?$", re.DOTALL)
METHOD = re.compile(r"^[A-Za-z]\w*\.([a-z]\w*)(?:\(.*\))?$", re.DOTALL)
CALL = re.compile(r"\b(?:torch|nbautograd)\.((?:[a-z]\w*\.)*[A-Za-z]\w*)")
NN = re.compile(r"(?<![\w.])(nn|optim|viz|linalg|func)\.((?:[a-z]\w*\.)*[A-Za-z]\w*)")
OF_TENSOR = re.compile(r"\w\)?\.([a-z]\w*_?)\(")
BY_TABLE = {"reference"}
"""Pages on which every inline code in a table is a name of PyTorch's."""


def candidates(text: str, by_table: bool) -> list[str]:
    """The full names that inline code may mean.

    >>> candidates("torch.where", False), candidates("x.backward()", False)
    (['nbautograd.where'], ['nbautograd.Tensor.backward'])
    """
    if match := MODULE.match(text):
        return [f"nbautograd.{match[1]}"]
    if match := METHOD.match(text):
        return [f"nbautograd.Tensor.{match[1]}"]
    if by_table and re.fullmatch(r"[\w.]+", text):
        return [f"nbautograd.{text}", f"nbautograd.Tensor.{text}"]
    return []


def is_name(literal: nodes.literal) -> bool:
    """Return whether inline code is in a list of names, or in the first column of a table, not in a sentence."""
    node: Any = literal
    while node is not None and not isinstance(node, nodes.entry):
        node = node.parent
    return node is None or node.parent.index(node) == 0


def link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put links around inline code that names an entry."""
    entries = app.env.get_domain("py").objects  # type: ignore[attr-defined]
    for literal in list(doctree.findall(nodes.literal)):
        if isinstance(literal.parent, nodes.reference) or page.startswith("api/"):
            continue
        names = candidates(literal.astext(), page in BY_TABLE and is_name(literal))
        entry = next((entries[name] for name in names if name in entries), None)
        if entry is not None:
            target = app.builder.get_relative_uri(page, entry.docname)
            around = nodes.reference("", "", internal=True, refuri=f"{target}#{entry.node_id}", classes=["api"])
            literal.replace_self(around)
            around += literal


@cache
def used() -> dict[str, list[str]]:
    """By full name, the course's notebooks that call it, in order."""
    pages: dict[str, list[str]] = defaultdict(list)
    methods = set(
        next(f["names"] for f in reference.NAMES["family"] if f["title"].startswith("Tensor: public")).split()
    )
    for path in sorted([*NOTEBOOKS.glob("*.ipynb")]):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        names = set(CALL.findall(code)) | {".".join(pair) for pair in NN.findall(code)}
        names |= {f"Tensor.{name}" for name in OF_TENSOR.findall(code) if name in methods}
        for name in sorted(names):
            pages[f"nbautograd.{name}"].append(path.stem)
    return pages


def mention(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Add to an entry of the API where the course uses it."""
    aliases = (name, name.replace("nbautograd.", "nbautograd.Tensor.", 1))
    stems = sorted({stem for alias in aliases for stem in used().get(alias, ())})
    if stems:
        links = ", ".join(f":doc:`{stem.partition('_')[0]} </course/{stem}>`" for stem in stems)
        lines += ["", f"Used in the course: {links}.", ""]


def address(repository: str, domain: str, info: dict[str, str]) -> str | None:
    """Return the address of the lines that define an entry of the API.

    >>> address("https://host/project", "py", {"module": "nbautograd.nn", "fullname": "Identity"}).partition("#")[0]
    'https://host/project/blob/main/nbautograd/nn/modules/linear.py'
    """
    try:
        found: Any = importlib.import_module(info["module"])
        for name in info["fullname"].split("."):
            found = getattr(found, name)
        found = inspect.unwrap(found)
        lines, start = inspect.getsourcelines(found)
        path = Path(inspect.getsourcefile(found) or "").resolve().relative_to(NOTEBOOKS.parent)
    except (ImportError, AttributeError, TypeError, OSError, ValueError):  # a property, or generated code
        return None
    return f"{repository}/blob/main/{path.as_posix()}#L{start}-L{start + len(lines) - 1}" if domain == "py" else None


def edited(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Lead from a page of the course to its notebook; pages of the API have no source of their own."""
    if page.startswith("course/"):
        for link in ("theme_source_edit_link", "theme_source_view_link"):
            if context.get(link):
                context[link] = context[link].replace(
                    "/docs/{filename}", f"/notebooks/{page.removeprefix('course/')}.ipynb"
                )
    elif page.startswith("api/"):
        context["theme_source_edit_link"] = context["theme_source_view_link"] = ""
        context["theme_top_of_page_buttons"] = []


BACK = re.compile(r'<a class="viewcode-back" href="([^"#]*)#([^"]*)">.*?</a>')
LISTED = re.compile(r'<li><a href="([\w/]+)\.html">[^<]*</a></li>')


def return_to_entries(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Lead from pages of source code to entries that exist, and list only modules that have such a page."""
    if not page.startswith("_modules/") or "body" not in context:
        return
    entries = app.env.domains.python_domain.objects
    modules = getattr(app.env, "_viewcode_modules", {})

    def back(match: re.Match[str]) -> str:
        entry = entries.get(match[2])
        if entry is None:
            return ""
        address = app.builder.get_relative_uri(page, entry.docname)
        return match[0].replace(f"{match[1]}#{match[2]}", f"{address}#{entry.node_id}")

    def listed(match: re.Match[str]) -> str:
        return match[0] if modules.get(match[1].replace("/", ".")) else ""

    context["body"] = BACK.sub(back, LISTED.sub(listed, context["body"]))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", link)
    app.connect("autodoc-process-docstring", mention)
    app.connect("html-page-context", edited)
    app.connect("html-page-context", return_to_entries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
