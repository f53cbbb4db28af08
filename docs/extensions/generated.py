"""The directive ``generated``: the generated code of an operation, from ``library.source``."""

from __future__ import annotations

import ast
import inspect
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import nbautograd.library
from nbautograd._engine.compiler.schema import OPS

DECLARATION = "declaration"


class Generated(SphinxDirective):
    """``{generated} mul backward``; with ``declaration`` the lines in the source file, without the docstring."""

    required_arguments = 2
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        name, kind = self.arguments
        text = declaration(name) if kind == DECLARATION else nbautograd.library.source(name, kind)
        block = nodes.literal_block(text, text, language="cuda" if kind == "cuda" else "python", force=True)
        return [block]


def declaration(name: str) -> str:
    """The declaration of an operation, without its docstring."""
    body = OPS[name].body
    lines = inspect.getsource(body).splitlines()
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    words = function.body[0]
    assert isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant) and words.end_lineno is not None
    return "\n".join([*lines[: words.lineno - 1], *lines[words.end_lineno :]])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("generated", Generated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
