"""Lines of code that keep a gradient from a variable: calls that cut it off, branches that did not run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from nbautograd._engine.base.missing_graph import METHODS, cutting_calls
from nbautograd._engine.base.users_code import assignments, called, parsed, source_of

__all__ = ["Stop", "stops"]

WHOLE = {
    "argmax", "argmin", "argsort", "long", "int", "bool", "short", "byte", "nonzero", "multinomial", "searchsorted"
}  # fmt: skip
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

    A function that is called with the variable, and is in one of the files, is read as well; of a parameter of a module
    the methods that use the module as ``self.fc``.

    :param name: of the variable, or ``net.fc.weight``.
    :param files: by file name the first and the last line that count, the first file first.
    :param ran: the lines whose operations are in the graph.
    """
    first, *inner = name.split(".")
    tainted = {first.partition("[")[0]}
    reader = _LineReader(files, ran)
    for filename, (begin, end) in files.items():
        reader.read(filename, begin, end, tainted)
    own = {f"self.{part}" for part in inner}
    for filename, function in reader.functions.values():
        if own and _uses(function, own):
            reader.read(filename, function.lineno, function.end_lineno or 0, set(own))
    return list(dict.fromkeys(reader.found))


class _LineReader:
    """Follows variables through statements and calls."""

    def __init__(self, files: Iterable[str], ran: set[tuple[str, int]]) -> None:
        self.ran = ran
        self.found: list[Stop] = []
        self.seen: set[tuple[str, int, frozenset[str]]] = set()
        self.functions: dict[str, tuple[str, ast.FunctionDef]] = {}
        for filename in files:
            for node in _parts(filename):
                if isinstance(node, ast.FunctionDef):
                    self.functions[node.name] = filename, node

    def read(self, filename: str, begin: int, end: int, tainted: set[str]) -> None:
        """Read some lines of a file; ``tainted`` grows by the variables that are computed from those in it."""
        known = [(one, name) for name, many in assignments(filename).items() for one in many]
        for one, name in sorted(known, key=lambda pair: pair[0].position):
            line = one.position[0]
            if begin <= line <= end and self.passes(one.value, one.mode, (filename, line), tainted):
                tainted.add(name)
        for node in _parts(filename):
            if isinstance(node, ast.Return) and node.value is not None and begin <= node.lineno <= end:
                self.passes(node.value, "", (filename, node.lineno), tainted)
        self.found += [stop for stop in _branches(filename, tainted, self.ran) if begin <= stop.line <= end]

    def passes(self, value: ast.expr, mode: str, place: tuple[str, int], tainted: set[str]) -> bool:
        """Read what an expression does with some of the variables; return whether its result depends on them."""
        if not _uses(value, tainted):
            return False
        stop = _stop(value, mode, tainted)
        if stop is not None:
            self.found.append(Stop(*stop, *place))
            return False
        self.enter(value, tainted)
        return True

    def enter(self, value: ast.expr, tainted: set[str]) -> None:
        """Read the functions that an expression calls with some of the variables."""
        for call in ast.walk(value):
            if not isinstance(call, ast.Call) or called(call) not in self.functions:
                continue
            filename, function = self.functions[called(call)]
            given = _given(call, function, tainted)
            key = filename, function.lineno, frozenset(given)
            if given and key not in self.seen:
                self.seen.add(key)
                self.read(filename, function.lineno + 1, function.end_lineno or 0, given)


def _given(call: ast.Call, function: ast.FunctionDef, tainted: set[str]) -> set[str]:
    """Return the parameters of a function that a call gives some of the variables."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute) and names[:1] == ["self"]:
        del names[0]
    given = {name for name, argument in zip(names, call.args, strict=False) if _uses(argument, tainted)}
    return given | {each.arg for each in call.keywords if each.arg and _uses(each.value, tainted)}


def _uses(tree: ast.AST, names: set[str]) -> list[ast.expr]:
    """Return the places at which an expression uses some variables, or ``self.fc``."""
    parts = [node for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute))]
    called = [p.id if isinstance(p, ast.Name) else f"{getattr(p.value, 'id', '')}.{p.attr}" for p in parts]
    return [part for part, name in zip(parts, called, strict=True) if name in names]


def _stop(value: ast.expr, mode: str, names: set[str]) -> tuple[str, str] | None:
    """Return the call that cuts the only ways from some variables through an expression."""
    cut: set[int] = set()
    what = None
    for part, told in _cuts(value, mode):
        inside = _uses(part, names)
        if inside:
            what = what or told
            cut |= {id(node) for node in inside}
    return what if {id(node) for node in _uses(value, names)} <= cut else None


def _cuts(value: ast.expr, mode: str) -> Iterator[tuple[ast.AST, tuple[str, str]]]:
    for base, call, _ in cutting_calls(value, mode):
        yield base, ("call", call)
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and called(node) in WHOLE - METHODS:
            yield node, ("integers", f"{called(node)}()")
        elif isinstance(node, ast.Compare):
            yield node, ("integers", ast.unparse(node))


def _parts(filename: str) -> Iterator[ast.AST]:
    tree = parsed(source_of(filename))
    return iter(()) if tree is None else ast.walk(tree)


def _branches(filename: str, names: set[str], ran: set[tuple[str, int]]) -> Iterator[Stop]:
    """Yield the branches that use one of these variables, and of which no line is in the graph."""
    for node in _parts(filename):
        if isinstance(node, ast.If):
            for body in (node.body, node.orelse):
                lines = {n.lineno for s in body for n in ast.walk(s) if isinstance(n, (ast.stmt, ast.expr))}
                if any(_uses(s, names) for s in body) and not any((filename, line) in ran for line in lines):
                    yield Stop("branch", ast.unparse(node.test), filename, node.lineno)
