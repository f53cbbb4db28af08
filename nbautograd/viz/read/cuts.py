"""Where a tensor was cut off from the graph: the call that did it, in the code that assigned the tensor's variable.

A constant knows nothing of what it was computed from. But the operation that uses it knows its line, and the lines
above tell how the variable came about.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from nbautograd.viz.read.introspect import attribute

__all__ = ["Cut", "cut_of"]

METHODS = {"detach", "detach_", "item", "numpy", "tolist"}
BLOCKS = {"no_grad", "inference_mode"}
COPIES = {"tensor", "as_tensor", "from_numpy"}
FARTHEST = 5  # assignments from the constant back to the call


class Cut(NamedTuple):
    """Where a gradient cannot go on."""

    name: str
    """The variable that no gradient reaches this way."""
    call: str
    line: int


class _Assignment(NamedTuple):
    line: int
    value: ast.expr
    block: str
    """``no_grad()`` where the assignment stands in such a block."""


def cut_of(name: str, filename: str, lineno: int, variables: Mapping[str, Any]) -> Cut | None:
    """The call that cut a variable off from the graph, if the code above a line of the same cell or file shows it.

    :param name: of the variable that holds a constant.
    :param filename: what the operation that uses it says about its place; ``lineno`` likewise.
    :param variables: by name, to tell whether a gradient was asked for.
    """
    assigned = _assignments("".join(linecache.getlines(filename)))
    for _ in range(FARTHEST):
        earlier = [one for one in assigned.get(name, ()) if one.line <= lineno]
        if not earlier:
            return None
        line, value, block = earlier[-1]
        for base, call in _calls(value, block):
            for used in _names(base):
                if _tracked(variables.get(used)):
                    return Cut(used, call, line)
        plain = [used for used in _names(value) if used in assigned and used != name and used in variables]
        if not plain:
            return None
        name, lineno = plain[0], line
    return None


def _tracked(value: Any) -> bool:
    return bool(attribute(value, "requires_grad", False))


def _names(tree: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _calls(value: ast.expr, block: str) -> Iterator[tuple[ast.AST, str]]:
    """What no gradient goes through in an expression, each with what it is applied to."""
    if block:
        yield value, block
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute) and node.attr == "data":
            yield node.value, ".data"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in METHODS:
                yield node.func.value, f"{node.func.attr}()"
            elif node.func.attr in COPIES:
                for argument in node.args:
                    yield argument, f"{node.func.attr}(…)"


@lru_cache(50)
def _assignments(source: str) -> dict[str, list[_Assignment]]:
    """Of each variable of a program, the places where it is assigned, from top to bottom."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # a cell with magics, once they were not translated
        return {}
    assigned: dict[str, list[_Assignment]] = {}

    def visit(node: ast.AST, block: str) -> None:
        if isinstance(node, ast.With):
            named = [part.attr for item in node.items for part in ast.walk(item) if isinstance(part, ast.Attribute)]
            block = next((f"{name}()" for name in named if name in BLOCKS), block)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(_Assignment(node.lineno, node.value, block))
        for child in ast.iter_child_nodes(node):
            visit(child, block)

    visit(tree, "")
    return assigned
