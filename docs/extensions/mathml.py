"""Formulas as MathML, which browsers draw by themselves: no script, nothing fetched."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


NAMESPACE, BRACE = "http://www.w3.org/1998/Math/MathML", "⏟"
FENCES = {"(": "round", "[": "square", "|": "bar", "∥": "bar"}
UNKNOWN = ((re.compile(r"\\texttt\b"), r"\\mathtt"), (re.compile(r"\\([bB]igg?)(?![A-Za-z])"), r"\\\1l"))
"""Commands that docutils does not know, and known ones that look the same."""


def convert(node: nodes.Element, block: bool) -> str:
    formula = node.astext()
    for pattern, instead in UNKNOWN:
        formula = pattern.sub(instead, formula)
    try:
        return with_drawn_fences(latex2mathml.tex2mathml(formula, as_block=block))
    except MathError as error:
        logger.warning("formula %r: %s", formula, error, location=node)
        return f"<code>{escape(formula)}</code>"


def with_drawn_fences(formula: str) -> str:
    """Braces below, and fences around matrices, as borders for the style sheet to draw: few fonts can stretch them."""
    if BRACE not in formula and "<mtable" not in formula:
        return formula
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(formula)
    for part in root.iter():
        names = [child.tag.rpartition("}")[2] for child in part]
        if names[:1] == ["munder"] and part[0][-1].text == BRACE:
            part.tag, inside = f"{{{NAMESPACE}}}munder", part[0][0]
            inside.set("class", "brace")
            part[0] = inside
        elif names == ["mo", "mtable", "mo"] and part[0].text in FENCES:
            part.set("class", f"fence {FENCES[part[0].text]}")
            part[:] = [part[1]]
    return ElementTree.tostring(root, encoding="unicode")


def visit_math(writer: Any, node: nodes.Element) -> None:
    writer.body.append(convert(node, block=False))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(convert(node, block=True))
    writer.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", inline_renderers=(visit_math, None), block_renderers=(visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
