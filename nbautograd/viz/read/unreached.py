"""Lines of code that keep a gradient from a variable: calls that cut it off, branches that did not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nbautograd._engine.base.missing_graph import METHODS, cutting_calls
from nbautograd._engine.base.users_code import assignments, called, parsed, source_of

__all__ = ["Stop", "stops"]

WHOLE = {
    "argmax",
    "argmin",
    "argsort",
    "long",
    "int",
    "bool",
    "short",
    "byte",
    "nonzero",
    "multinomial",
    "searchsorted",
}
"""Methods whose results are integers, which have no derivative."""


class Stop(NamedTuple):
    """A place at which a gradient ends."""

    kind: str
    """``call``, ``integers``, ``branch`` or ``unused``."""
    what: str
    """The call, or the condition of the branch."""
    filename: str
    line: int


def stops(name: str, files: Mapping[str, tuple[int, int]], ran: set[tuple[str, int]]) -> list[Stop]:
    """Return the places that keep a gradient from a variable, in the order of the code.

    :param name: of the variable, or ``net.fc.weight``.
    :param files: by file name the first and the last line that count, the first file first.
    :param ran: the lines whose operations are in the graph.
    """
    found: list[Stop] = []
    tainted = {name.partition(".")[0].partition("[")[0]}
    for filename, (begin, end) in files.items():
        known = [one for many in assignments(filename).values() for one in many]
        for one in sorted(known, key=lambda one: one.position):
            used = {node.id for node in ast.walk(one.value) if isinstance(node, ast.Name)}
            target = next((n for n, many in assignments(filename).items() if one in many), "")
            if not used & tainted or not begin <= one.position[0] <= end:
                continue
            stop = _stop(one.value, one.mode, tainted)
            if stop is not None:
                found.append(Stop(*stop, filename, one.position[0]))
            else:
                tainted.add(target)
        for line, tree in _other_lines(filename):
            stop = _stop(tree, "", tainted)
            if stop is not None and begin <= line <= end:
                found.append(Stop(*stop, filename, line))
        found += [stop for stop in _branches(filename, tainted, ran) if begin <= stop.line <= end]
    return list(dict.fromkeys(found))


def _stop(value: ast.expr, mode: str, names: set[str]) -> tuple[str, str] | None:
    """Return the call that cuts the only ways from some variables through an expression."""
    cut: set[int] = set()
    what = ("", "")
    for base, call, _ in cutting_calls(value, mode):
        inside = [node for node in ast.walk(base) if isinstance(node, ast.Name) and node.id in names]
        if inside:
            what = what if what[0] else ("call", call)
            cut |= {id(node) for node in inside}
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and called(node) in WHOLE - METHODS:
            inside = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in names]
            if inside:
                what = what if what[0] else ("integers", f"{called(node)}()")
                cut |= {id(part) for part in inside}
        elif isinstance(node, ast.Compare):
            inside = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in names]
            if inside:
                what = what if what[0] else ("integers", ast.unparse(node))
                cut |= {id(part) for part in inside}
    uses = {id(node) for node in ast.walk(value) if isinstance(node, ast.Name) and node.id in names}
    return what if what[0] and uses <= cut else None


def _other_lines(filename: str) -> Iterator[tuple[int, ast.expr]]:
    """Yield the values that a file returns."""
    tree = parsed(source_of(filename))
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.lineno, node.value


def _branches(filename: str, names: set[str], ran: set[tuple[str, int]]) -> Iterator[Stop]:
    """Yield the branches that use one of these variables, and of which no line is in the graph."""
    tree = parsed(source_of(filename))
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.If):
            for body in (node.body, node.orelse):
                lines = {n.lineno for s in body for n in ast.walk(s) if isinstance(n, (ast.stmt, ast.expr))}
                uses = any(isinstance(n, ast.Name) and n.id in names for s in body for n in ast.walk(s))
                if body and uses and not any((filename, line) in ran for line in lines):
                    yield Stop("branch", ast.unparse(node.test), filename, node.lineno)
