"""Modules as functions: one for the forward pass, and one for the backward pass, which gets its inputs from that.

Calls of modules that do the same with other variables share their functions. A module of few lines stays as it is, and
so does one that would need a great many arguments.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nbautograd.viz.program.loops import Roller
from nbautograd.viz.program.names import common_start
from nbautograd.viz.program.statements import BACKWARD, PLUS, Call, Index, Statement, kind_of, term_of, text_of, wrapped
from nbautograd.viz.program.variables import Names

__all__ = ["Function", "Modules", "plus"]

MIN_LINES = 4
"""Lines of a module that becomes a function."""
MAX_ARGUMENTS = 24
"""Arguments of a function."""
SAVED = "saved"
"""The parameter of a backward pass with the values that the forward pass has saved."""
_NUMBER = re.compile(r"_?\d+$")


class Function:
    """A function of a folded program."""

    def __init__(self, name: str, parameters: Sequence[str], body: list[Statement], returned: str, about: str) -> None:
        self.name, self.parameters, self.body, self.returned, self.about = name, parameters, body, returned, about
        self.text = ""

    def written(self) -> list[str]:
        """Its lines."""
        if self.text:
            return self.text.rstrip().split("\n")
        header = wrapped(f"def {self.name}({', '.join(self.parameters)}):")
        lines = [*header, f'    """{self.about}"""', *text_of(self.body, "    ")]
        return [*lines, *wrapped(f"    return {self.returned}")]


def plus() -> Function:
    """The function that adds a term to a sum, or begins it."""
    function = Function("plus", ["total", "term"], [], "", "")
    function.text = PLUS
    return function


class _Call:
    """A called module: its statements, and the uses of its variables."""

    def __init__(self, block: Any, index: Index) -> None:
        self.block, self.label = block, block.label
        self.forward: list[Statement] = block.forward
        self.backward: list[Statement] = block.backward
        self.inside = {*self.forward, *self.backward}
        self.order = _variables(self.forward, index)
        self.place = {name: i for i, name in enumerate(self.order)}
        self.inputs = _taken(self.forward, index)
        self.outputs = {i for i, n in enumerate(self.order) if n not in self.inputs and index.outside(n, self.inside)}
        """The places of the variables that others use."""
        needed = _variables(self.backward, index)
        self.needed = {self.place[name] for name in needed if name in self.place}
        self.gradients = [name for name in needed if name not in self.place]
        self.shape = _shape(self.forward, self.order)
        self.saved = ""
        """The variable that holds the inputs of the backward pass."""


def _alike(calls: Iterable[_Call], key: Callable[[_Call], Any]) -> list[list[_Call]]:
    groups: dict[Any, list[_Call]] = {}
    for call in calls:
        groups.setdefault(key(call), []).append(call)
    return [*groups.values()]


def _unpack(body: list[Statement], names: list[str]) -> None:
    """Begin a function with the saved variables that it reads."""
    used = {name for statement in body for name in statement.reads()}
    if used & {*names}:
        targets = ast.parse(f"{_tuple([n if n in used else '_' for n in names])} = {SAVED}").body[0]
        body.insert(0, Call(targets, part=BACKWARD))


class Modules:
    """Makes functions of modules."""

    def __init__(self, roller: Roller) -> None:
        self.roller, self.index, self.names, self.wanted = roller, roller.index, roller.names, roller.wanted
        self.functions: list[Function] = []

    def outline(self, blocks: Iterable[Any]) -> None:
        """Replace modules by calls; none of them is inside another one."""
        called = [_Call(block, self.index) for block in blocks if block.forward]
        for calls in _alike(called, lambda call: (call.label, call.shape)):
            first, outputs = calls[0], max(len(call.outputs) for call in calls)
            if len(first.forward) >= MIN_LINES and len(first.inputs) <= MAX_ARGUMENTS and outputs <= 4:
                self.share(calls)

    def share(self, calls: list[_Call]) -> None:
        """The functions of calls that do the same."""
        first = calls[0]
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", first.label)
        stem = self.names.new(words.lower())
        local = self.local_names(first)
        kept = [local[first.order[i]] for i in sorted({i for call in calls for i in call.needed})]
        self.share_forward(calls, stem, local, kept)
        passed = [call for call in calls if call.backward]
        for alike in _alike(passed, lambda call: _shape(call.backward, [*call.order, *call.gradients])):
            self.share_backward(alike, stem, local, first, kept)

    def share_forward(self, calls: list[_Call], stem: str, local: dict[str, str], kept: list[str]) -> None:
        """The function of the forward pass of calls that do the same."""
        first, outputs = calls[0], sorted({i for call in calls for i in call.outputs})
        returned = [local[first.order[i]] for i in outputs] + [_tuple(kept)] * bool(kept)
        body = _renamed(first.forward, local)
        _of_all(body, [call.forward for call in calls])
        parameters = [local[name] for name in first.inputs]
        about = f"{first.label}{f', called {len(calls)} times' if len(calls) > 1 else ''}."
        self.functions.append(Function(stem, parameters, body, ", ".join(returned) or "None", about))
        for call in calls:
            self.call_forward(call, stem, [call.order[i] for i in outputs], bool(kept))

    def call_forward(self, call: _Call, name: str, targets: list[str], saves: bool) -> None:
        """Write a call in place of a forward pass; it may also return the inputs of the backward pass."""
        if saves:
            call.saved = self.names.new(f"saved_{name}")
            targets.append(call.saved)
        self.roller.forget(s for s in call.forward if not s.writes().keys() & {*targets})
        call.block.forward = [self.call(name, call.inputs, targets, call.forward)]

    def share_backward(
        self, calls: list[_Call], stem: str, local: dict[str, str], first: _Call, kept: list[str]
    ) -> None:
        """The function of the backward pass of calls that also do the same there."""
        self.unite(calls)
        one = calls[0]
        local = self.with_gradients({name: local[first.order[one.place[name]]] for name in one.order}, one)
        taken = [[n for n in _taken(call.backward, self.index) if n not in call.place] for call in calls]
        outputs = self.outputs_of_backward(calls)
        body = _renamed(one.backward, local)
        _of_all(body, [call.backward for call in reversed(calls)])
        _unpack(body, kept)
        name = self.names.new(f"{stem}_backward")
        parameters = [local[n] for n in taken[0]] + [SAVED] * bool(kept)
        returned = ", ".join([local[one.gradients[i]] for i in outputs]) or "None"
        self.functions.append(Function(name, parameters, body, returned, f"The gradients of {one.label}."))
        for call, arguments in zip(calls, taken, strict=True):
            own, targets = arguments + [call.saved] * bool(kept), [call.gradients[i] for i in outputs]
            call.block.backward = [self.call(name, own, targets, call.backward)]

    def with_gradients(self, local: dict[str, str], call: _Call) -> dict[str, str]:
        """Return the local names of a backward pass: those of the forward pass, and of gradients."""
        names = self.local_of({*local.values(), SAVED})
        for name in call.gradients:
            base = name.removeprefix("g_")
            local[name] = names.new(f"g_{local[base]}" if name != base and base in local else _NUMBER.sub("", name))
        return local

    def outputs_of_backward(self, calls: list[_Call]) -> list[int]:
        """The positions of the gradients that are computed in the calls and used outside of them."""
        return sorted({
            call.gradients.index(name) for call in calls for name in call.gradients
            if any(name in s.writes() for s in call.backward) and self.index.outside(name, call.inside)
        })  # fmt: skip

    def unite(self, calls: list[_Call]) -> None:
        """Write terms in the same way in all calls."""
        for statements in zip(*(call.backward for call in calls), strict=True):
            for inner in zip(*(statement.inner() for statement in statements), strict=True):
                terms = [term for statement in inner if (term := term_of(statement)) is not None]
                kinds = {term.kind for term in terms}
                if len(kinds) < 2:
                    continue
                kind = kind_of(kinds)
                for statement, term in zip(inner, terms, strict=True):
                    if term.begins(kind):
                        begun = Statement(ast.parse(f"{ast.unparse(term.target)} = None").body[0], part=BACKWARD)
                        self.index.add([begun])
                        self.roller.empty.append(begun)
                    self.index.drop([statement])
                    statement.tree = term.written(kind)
                    self.index.add([statement])

    def call(self, name: str, arguments: Sequence[str], targets: Sequence[str], of: list[Statement]) -> Statement:
        """The statement that calls a function, in the place of those that it has now."""
        text = f"{name}({', '.join(arguments)})"
        statement = Call(
            ast.parse(f"{', '.join(targets)} = {text}" if targets else text).body[0], part=of[0].part,
            comment=next((s.comment for s in of if s.comment), "") if of[0].part != BACKWARD else "",
        )  # fmt: skip
        statement.nodes = tuple(node for one in of for node in one.nodes)
        self.index.drop(of)
        self.index.add([statement])
        return statement

    def local_of(self, taken: set[str]) -> Names:
        """Names that a function can have for itself."""
        names = Names()
        names.taken |= (self.names.taken - self.index.variables) | taken
        return names

    def local_names(self, call: _Call) -> dict[str, str]:
        """Return the names of a module's variables in its function."""
        names = self.local_of({SAVED})
        dotted = [self.wanted[name].split(".") for name in call.inputs if "." in self.wanted.get(name, "")]
        common = len(common_start(parts[:-1] for parts in dotted))
        local: dict[str, str] = {}
        numbers: Counter[str] = Counter()
        for name in call.order:
            parts = self.wanted.get(name, name).split(".")
            stem = _NUMBER.sub("", name) or name
            if len(parts) > 1:
                local[name] = names.new("_".join(parts[common:]))
            elif stem in ("t", "c"):
                stem = "x" if stem == "t" and name in call.inputs else stem
                numbers[stem] += 1
                local[name] = names.new(stem if stem == "x" and numbers[stem] == 1 else f"{stem}{numbers[stem]}")
            else:
                local[name] = names.new(stem)
        return local


def _variables(statements: Iterable[Statement], index: Index) -> list[str]:
    """The variables in statements, as they come."""
    return [*dict.fromkeys(name.id for s in statements for name in s.names() if name.id in index.variables)]


def _taken(statements: Iterable[Statement], index: Index) -> list[str]:
    """The variables that have a value before."""
    known: set[str] = set()
    names: dict[str, None] = {}
    for statement in statements:
        names |= {name: None for name in statement.reads() if name in index.variables and name not in known}
        known |= {*statement.writes()}
    return [*names]


def _shape(statements: Iterable[Statement], order: Sequence[str]) -> tuple[Any, ...]:
    """Return the common structure of statements that differ in their variables only."""
    marks = {name: ast.Name(f"__{i}", ast.Load()) for i, name in enumerate(order)}
    shape: list[Any] = []
    for statement in statements:
        copied = statement.copied()
        copied.replace(marks)
        shape.append(copied.skeleton())
        for inner in copied.inner():
            term = term_of(inner)
            shape.append(tuple(map(ast.unparse, (inner.tree,) if term is None else (term.target, term.value))))
    return tuple(shape)


def _renamed(statements: Iterable[Statement], names: Mapping[str, str]) -> list[Statement]:
    copies = [statement.copied() for statement in statements]
    for copied in copies:
        copied.replace({name: ast.Name(other, ast.Load()) for name, other in names.items()})
    return copies


def _of_all(body: Iterable[Statement], calls: Sequence[Iterable[Statement]]) -> None:
    """Let the statements of a function be of the operations of all its calls."""
    for statement, *others in zip(_inner(body), *map(_inner, calls), strict=True):
        statement.nodes = tuple(node for other in others for node in other.nodes)


def _inner(statements: Iterable[Statement]) -> Iterator[Statement]:
    return (inner for statement in statements for inner in statement.inner())


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"
