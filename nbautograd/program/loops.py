"""Steps that are alike as one ``for`` statement.

Statements of all steps are compared: what is the same in each stays, numbers that grow evenly become expressions of the
step, and a variable that each step has its own of becomes an element of one: ``h[step]``. So a step can use what the
one before it has made, ``h[step - 1]``, and the backward pass what each has left. Variables that nothing outside of their
step uses need no element.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nbautograd.program.names import Names, identifier
from nbautograd.program.scopes import bound_outside
from nbautograd.program.statements import Loop, Statement, Statements
from nbautograd.program.terms import FIRST, Term, kind_of_all, term_of

__all__ = ["Roller"]

LEAST = 3
"""Steps of a loop."""
SUMS = 4
"""Sums that one statement of a loop may begin."""
AUTOMATIC = re.compile(r"(g_)?(t|c|unused|leaf)\d*")
"""Names that no user has given."""

Value = str | int


class _Unlike(Exception):  # noqa: N818 - a way out
    """Steps are not alike."""


class Roller:
    """Rolls the loops of a program up, and knows which variables have become elements of which.

    :ivar empty: statements at the beginning of the backward pass: sums that begin with nothing.
    """

    def __init__(self, index: Statements, names: Names, wanted: Mapping[str, str]) -> None:
        self.index, self.names, self.wanted = index, names, wanted
        self.empty: list[Statement] = []
        self.element: dict[str, tuple[str, int]] = {}
        """What was a variable of its own: the name that all have now, and the place."""
        self.listed: dict[str, tuple[str, int]] = {}
        """The same of variables that are listed before a loop."""
        self.counters: list[str] = []

    def counter(self, depth: int) -> str:
        """The variable that counts the steps."""
        while len(self.counters) <= depth:
            self.counters.append(self.names.new("step" if not self.counters else "block"))
        return self.counters[depth]

    def roll(self, steps: Sequence[list[Statement]], *, ahead: bool) -> list[Statement]:
        """The statements of all steps, with as many of them as possible in a loop.

        :param ahead: the first step runs first.
        """
        count = len(steps)
        for first, stop in ((0, count), (1, count), (0, count - 1), (1, count - 1)):
            if stop - first < LEAST or not steps[first]:
                continue
            try:
                rolled = _Rolling(self, steps[first:stop], range(first, stop)).statements(ahead)
            except _Unlike:
                continue
            before, after = _all(steps[:first]), _all(steps[stop:])
            if ahead:
                return [*before, *rolled, *after]
            return [*_all(steps[stop:][::-1]), *rolled, *_all(steps[:first][::-1])]
        return _all(steps if ahead else steps[::-1])

    def forget(self, statements: Iterable[Statement]) -> None:
        """Use no list any more that is made in statements which others cannot see."""
        gone = {name for statement in statements for name in statement.writes()}
        self.listed = {name: place for name, place in self.listed.items() if place[0] not in gone}


def _all(steps: Iterable[list[Statement]]) -> list[Statement]:
    return [statement for step in steps for statement in step]


class _Own:
    """A variable that each step has its own of.

    :ivar place: the element that the first step has; none if nothing outside of a step uses it.
    :ivar others: elements from before the loop, by their places.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.name = names[0]
        self.place: int | None = None
        self.others: dict[int, str] = {}


class _Rolling:
    def __init__(self, roller: Roller, steps: Sequence[list[Statement]], numbers: range) -> None:
        self.roller, self.steps, self.numbers = roller, steps, numbers
        self.index = roller.index
        self.forms = [[_Form(s, self.index.variables) for one in step for s in one.inner()] for step in steps]
        if len({tuple(statement.skeleton() for statement in step) for step in steps}) > 1:
            raise _Unlike
        if len({tuple(form.shape for form in forms) for forms in self.forms}) > 1:
            raise _Unlike
        self.own: dict[str, _Own] = {}
        """By the name of any step's."""
        self.lists: list[Statement] = []
        self.begun: list[Statement] = []
        """What the backward pass begins with."""
        depth = max((_depth(statement) for statement in steps[0]), default=0)
        self.counter = roller.counter(depth)

    def statements(self, ahead: bool) -> list[Statement]:
        """The loop, and what it needs before."""
        slots = list(zip(*self.forms, strict=True))
        series = [[tuple(leaf) for leaf in zip(*(form.values for form in forms), strict=True)] for forms in slots]
        kinds = [kind_of_all([form.term.kind for form in forms]) if forms[0].term else "" for forms in slots]
        self.find_own(slots, series)
        self.find_elements(series)
        sums = [form.target for forms, kind in zip(slots, kinds, strict=True) if kind == "plus"
                for form in forms if form.term and form.term.kind == FIRST]  # fmt: skip
        if len({*sums}) > SUMS * len(slots) or len({*sums}) > len(self.steps):
            raise _Unlike
        trees = [[self.expression(values) for values in leaves] for leaves in series]
        body = self.body(slots, trees, kinds, ahead)
        before = [*self.lists, *self.made(ahead)]
        if len(before) + len(body) + 1 >= sum(map(len, self.steps)):
            raise _Unlike
        self.commit(dict.fromkeys(sums))
        numbers = self.numbers if ahead else self.numbers[::-1]
        loop = Loop(self.counter, numbers, body)
        self.index.add([*before, loop])
        return [*before, loop]

    # -- variables -----------------------------------------------------------------------------------------------------

    def find_own(self, slots: Sequence[Sequence[_Form]], series: Sequence[Sequence[tuple[Value, ...]]]) -> None:
        """The variables that statements of the steps give values, one each."""
        for forms, leaves in zip(slots, series, strict=True):
            for values, is_target in zip(leaves, forms[0].targets, strict=True):
                if not is_target or len({*values}) == 1:
                    continue
                names = tuple(str(value) for value in values)
                known = self.own.get(names[0])
                if len({*names}) < len(names) or known is not None and known.names != names:
                    raise _Unlike
                if known is None:
                    if any(name in self.own for name in names):
                        raise _Unlike
                    self.own.update(dict.fromkeys(names, _Own(names)))

    def find_elements(self, series: Sequence[Sequence[tuple[Value, ...]]]) -> None:
        """Which of them are used outside of their step."""
        inside = [{*step} for step in self.steps]
        for own in dict.fromkeys(self.own.values()):
            if any(self.index.outside(name, own_step) for name, own_step in zip(own.names, inside, strict=True)):
                own.place, own.name = self.place_of(own)
        for leaves in series:
            for values in leaves:
                own = next((self.own[v] for v in values if isinstance(v, str) and v in self.own), None)  # type: ignore[assignment]
                if own is not None and values != own.names:
                    self.find_others(own, [str(value) for value in values])

    def place_of(self, own: _Own) -> tuple[int, str]:
        """The element of the first step, and what all are called together."""
        of = [self.roller.element.get(name.removeprefix("g_")) for name in own.names]
        if own.names[0].startswith("g_") and all(of):
            stems, places = zip(*filter(None, of), strict=True)
            if len({*stems}) == 1 and all(p == places[0] + i for i, p in enumerate(places)):
                return places[0], self.roller.names.new(f"g_{stems[0]}")
        return self.numbers[0], self.common(own.names)

    def common(self, names: Sequence[str]) -> str:
        """What variables of several steps are called together."""
        stem = re.sub(r"\d+$", "", os.path.commonprefix(names)).rstrip("_")
        if not stem or AUTOMATIC.fullmatch(stem):
            return names[0]
        return stem if stem in names else self.roller.names.new(stem)

    def find_others(self, own: _Own, values: Sequence[str]) -> None:
        """The elements from before the loop, such as the state that it begins with."""
        if own.place is None:
            raise _Unlike
        known = [(i, own.names.index(value) - i) for i, value in enumerate(values) if value in own.names]
        ahead = {shift for _, shift in known}
        if len(ahead) != 1:
            raise _Unlike
        (shift,) = ahead
        for i, value in enumerate(values):
            if value in own.names:
                continue
            place = own.place + i + shift
            if value in self.own or 0 <= place - own.place < len(own.names) or own.others.setdefault(place, value) != value:
                raise _Unlike

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, values: tuple[Value, ...]) -> ast.expr | None:
        """What stands for these, one of each step; None where all are the same."""
        first = values[0]
        if all(value == first and value.__class__ is first.__class__ for value in values):
            return None
        if isinstance(first, int):
            return self.number([int(value) for value in values])
        names = [str(value) for value in values]
        own = next((self.own[name] for name in names if name in self.own), None)
        if own is None:
            return self.listed(names)
        if own.place is None:
            return ast.Name(own.name, ast.Load())
        i, name = next((i, name) for i, name in enumerate(names) if name in self.own)
        return _element(own.name, self.shifted(own.place + own.names.index(name) - i - self.numbers[0]))

    def number(self, values: list[int]) -> ast.expr:
        """Numbers that grow evenly, as an expression of the step."""
        by = values[1] - values[0]
        if any(value != values[0] + i * by for i, value in enumerate(values)):
            raise _Unlike
        return self.shifted(values[0] - by * self.numbers[0], by)

    def shifted(self, start: int, by: int = 1) -> ast.expr:
        tree: ast.expr = ast.Name(self.counter, ast.Load())
        if by != 1:
            tree = ast.BinOp(ast.Constant(by), ast.Mult(), tree)
        if start:
            tree = ast.BinOp(tree, ast.Add() if start > 0 else ast.Sub(), ast.Constant(abs(start)))
        return tree

    def listed(self, names: list[str]) -> ast.expr:
        """Variables from before the loop, one for each step, as elements of a list."""
        listed = self.roller.listed
        of = [listed.get(name) for name in names]
        if None in of or len({one[0] for one in of if one}) > 1:
            stem = identifier(self.stem(names))
            name = self.roller.names.new(stem if stem.endswith("s") else f"{stem}s")
            values = ast.List([ast.Name(n, ast.Load()) for n in names], ast.Load())
            self.lists.append(Statement(_assigned(name, values), part=self.steps[0][0].part))
            listed.update({n: (name, i) for i, n in enumerate(names)})
            of = [listed[name] for name in names]
        places = [place for _, place in filter(None, of)]
        name = next(name for name, _ in filter(None, of))
        return _element(name, self.number(places) if len({*places}) > 1 else ast.Constant(places[0]))

    def stem(self, names: Sequence[str]) -> str:
        """What parameters of several modules have in common: ``weight`` of ``net.0.weight`` and ``net.1.weight``."""
        dotted = [self.roller.wanted.get(name, name).split(".") for name in names]
        common: list[str] = []
        for parts in zip(*(reversed(name) for name in dotted), strict=False):
            if len({*parts}) > 1:
                break
            common.insert(0, parts[0])
        return "_".join(common) or re.sub(r"\d+$", "", os.path.commonprefix(names)).rstrip("_") or names[0]

    # -- statements ----------------------------------------------------------------------------------------------------

    def body(
        self, slots: Sequence[Sequence[_Form]], trees: Sequence[Sequence[ast.expr | None]], kinds: Sequence[str],
        ahead: bool,
    ) -> list[Statement]:  # fmt: skip
        """The statements of any step."""
        body = [statement.copied() for statement in self.steps[0]]
        copies = [statement for one in body for statement in one.inner()]
        for copied, forms, expressions, kind in zip(copies, slots, trees, kinds, strict=True):
            form = _Form(copied, self.index.variables)
            by_leaf = {id(leaf): tree for leaf, tree in zip(form.leaves, expressions, strict=True) if tree is not None}
            if form.term is not None:
                form.term.change(lambda tree, by_leaf=by_leaf: _Exchanged(by_leaf).visit(tree))  # type: ignore[misc]
                copied.tree = form.term.written(kind)
            else:
                copied.tree = _Exchanged(by_leaf).visit(copied.tree)
            ordered = forms if ahead else forms[::-1]
            copied.nodes = tuple(node for other in ordered for node in other.statement.nodes)
        return body

    def made(self, ahead: bool) -> list[Statement]:
        """Statements that make what has elements."""
        statements = []
        part = self.steps[0][0].part
        inside = {*_all(self.steps)}
        for own in dict.fromkeys(self.own.values()):
            if own.place is None:
                continue
            others = sorted(own.others.items())
            writers = {s for name in own.names for s in self.index.uses.get(name, ()) if name in s.writes()} - inside
            if not writers:
                values: list[ast.expr] = [ast.Name(name, ast.Load()) for _, name in others]
                made = ast.Dict([ast.Constant(place) for place, _ in others], values)
                statements.append(Statement(_assigned(own.name, made), part=part))
                continue
            if ahead:
                raise _Unlike
            self.begun.append(Statement(_assigned(own.name, ast.Dict([], [])), part=part))
            for place, name in others:
                target = _element(own.name, ast.Constant(place), ast.Store())
                statements.append(Statement(ast.Assign([target], ast.Name(name, ast.Load()), lineno=0), part=part))
        return statements

    def commit(self, sums: Iterable[str]) -> None:
        """Let everything else know."""
        part = self.steps[0][0].part
        self.begun += [Statement(_assigned(name, ast.Constant(None)), part=part) for name in sums]
        self.index.add(self.begun)
        self.roller.empty += self.begun
        self.index.drop(_all(self.steps))
        self.roller.forget(_all(self.steps))
        elements: dict[str, ast.expr] = {}
        for own in dict.fromkeys(self.own.values()):
            if own.place is not None:
                for i, name in enumerate(own.names, own.place):
                    elements[name] = _element(own.name, ast.Constant(i))
                    self.roller.element[name] = (own.name, i)
                for place, name in own.others.items():
                    self.roller.element.setdefault(name, (own.name, place))
        self.index.replace(elements)


class _Form:
    """A statement with its leaves: variables and whole numbers, which may differ from step to step.

    :ivar shape: what has to be the same in each.
    """

    def __init__(self, statement: Statement, variables: set[str]) -> None:
        self.statement = statement
        self.term: Term | None = term_of(statement)
        trees: Sequence[ast.AST] = (statement.tree,) if self.term is None else (self.term.target, self.term.value)
        self.leaves: list[Any] = []
        for tree in trees:
            outside = {id(node) for node in bound_outside(tree)}
            for node in ast.walk(tree):
                is_variable = isinstance(node, ast.Name) and id(node) in outside and node.id in variables
                if is_variable or isinstance(node, ast.Constant) and node.value.__class__ is int:
                    self.leaves.append(node)
        self.values: list[Value] = [leaf.id if isinstance(leaf, ast.Name) else leaf.value for leaf in self.leaves]
        own = {*statement.writes()} if not isinstance(statement.tree, ast.Expr) else set()
        self.targets = [isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store) and leaf.id in own
                        for leaf in self.leaves]  # fmt: skip
        for leaf in self.leaves:
            if isinstance(leaf, ast.Name):
                leaf.id = "_"
            else:
                leaf.value = 0
        self.shape = (self.term is not None, statement.part, *(ast.dump(tree) for tree in trees))
        for leaf, value in zip(self.leaves, self.values, strict=True):
            if isinstance(leaf, ast.Name):
                leaf.id = value
            else:
                leaf.value = value

    @property
    def target(self) -> str:
        """The variable that a term is added to."""
        assert self.term is not None
        return next(iter(self.statement.writes()))


class _Exchanged(ast.NodeTransformer):
    """Leaves exchanged for expressions."""

    def __init__(self, trees: Mapping[int, ast.expr]) -> None:
        self.trees = trees

    def visit(self, node: ast.AST) -> Any:
        """The expression of a leaf, or the node with its inner ones visited."""
        tree = self.trees.get(id(node))
        if tree is None:
            return self.generic_visit(node)
        if isinstance(tree, (ast.Name, ast.Subscript)) and isinstance(node, ast.Name):
            tree.ctx = node.ctx
        return tree


def _element(name: str, place: ast.expr, ctx: ast.expr_context | None = None) -> ast.expr:
    return ast.Subscript(ast.Name(name, ast.Load()), place, ctx or ast.Load())


def _assigned(name: str, tree: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], tree, lineno=0)


def _depth(statement: Statement) -> int:
    return 1 + max(map(_depth, statement.body)) if isinstance(statement, Loop) else 0
