"""Steps that are alike as one ``for`` statement.

Statements of all steps are compared: equal parts stay, evenly growing numbers become expressions of the step, and a
variable with one instance per step becomes an element: ``h[step]``. So a step can use a result of the one before,
``h[step - 1]``, and the backward pass the results of each. Variables used only inside their step need no element.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress, groupby, repeat
from typing import Any

from nbautograd.viz.program.names import common_start, identifier
from nbautograd.viz.program.statements import BACKWARD, Block, Form, Index, Loop, Statement, Value, kind_of, text_of
from nbautograd.viz.program.variables import Names

__all__ = ["MIN_STEPS", "Roller"]

MIN_STEPS = 3
"""Steps of a loop."""
AUTOMATIC = re.compile(r"(g_)?(t|c|unused|leaf)\d*")
"""Names not given by a user."""

Values = tuple[Value | None, ...]
"""For each step a name, a number or an element."""


class _Unlike(Exception):  # noqa: N818 - a way out
    """Steps are not alike."""


class Roller:
    """Rolls the loops of a program up, and knows which variables have become elements of which.

    :ivar empty: statements at the beginning of the backward pass: sums that begin with nothing.
    """

    def __init__(self, index: Index, names: Names, wanted: Mapping[str, str], place: Mapping[Any, int]) -> None:
        self.index, self.names, self.wanted, self.place = index, names, wanted, place
        self.empty: list[Statement] = []
        self.element: dict[str, tuple[str, int]] = {}
        """The places of variables that are elements now, whether or not they remain variables."""
        self.families: set[str] = set()
        """The names of families of elements."""
        self.listed: dict[str, tuple[str, int]] = {}
        """The places of variables that are listed before a loop."""
        self.made: dict[str, int] = {}
        """When each list is made: loops are rolled up from the inside out, so not in the order in which they run."""
        self.counters: list[str] = []

    def counter(self, depth: int) -> str:
        """The variable that counts the turns."""
        while len(self.counters) <= depth:
            self.counters.append(self.names.new("turn" if not self.counters else "block"))
        return self.counters[depth]

    def roll(self, steps: Sequence[list[Statement]], *, ahead: bool) -> list[Statement]:
        """The statements of all steps, as many as possible in a loop; if ``ahead``, the first step runs first."""
        count = len(steps)
        known = self.index.variables, self.families
        enough = steps if count >= MIN_STEPS else []
        forms = [[Form(s, *known) for one in step for s in one.inner()] for step in enough]
        for first, stop in ((0, count), (1, count), (0, count - 1), (1, count - 1)):
            if stop - first < MIN_STEPS or not steps[first]:
                continue
            try:
                rolled = _Rolling(self, steps[first:stop], range(first, stop), forms[first:stop]).statements(ahead)
            except _Unlike:
                continue
            before, after = _all(steps[:first]), _all(steps[stop:])
            if ahead:
                return [*before, *rolled, *after]
            return [*_all(steps[stop:][::-1]), *rolled, *_all(steps[:first][::-1])]
        return _all(steps if ahead else steps[::-1])

    def time(self, steps: Iterable[list[Statement]]) -> int:
        """When steps begin to run, in operations from the beginning of the forward pass."""
        statements = _all(steps)
        places = [self.place[node] for statement in statements for node in statement.nodes]
        return 2 * len(self.place) - max(places) if statements[0].part == BACKWARD else min(places)

    def forget(self, statements: Iterable[Statement]) -> None:
        """Stop using lists made in statements that other statements cannot see."""
        gone = {name for statement in statements for name in statement.writes()}
        self.listed = {name: place for name, place in self.listed.items() if place[0] not in gone}


def _all(steps: Iterable[list[Statement]]) -> list[Statement]:
    return [statement for step in steps for statement in step]


class _Own:
    """A variable that each step has its own of.

    :ivar names: its name in each step; None in steps without one.
    :ivar place: the element that the first step has; none if nothing outside of a step uses it.
    :ivar others: elements from before the loop, by place.
    """

    def __init__(self, names: tuple[str | None, ...]) -> None:
        self.names, self.name = names, next(filter(None, names))
        self.place: int | None = None
        self.others: dict[int, str] = {}

    def places(self) -> dict[str, int]:
        """The element of each."""
        assert self.place is not None
        return {name: place for place, name in enumerate(self.names, self.place) if name is not None}


class _Rolling:
    """The statements of some steps, side by side. The first step and the last may lack some that others have."""

    def __init__(self, roller: Roller, steps: Sequence[list[Statement]], turns: range, forms: list[list[Form]]) -> None:
        self.roller, self.steps, self.numbers = roller, steps, turns
        self.index = roller.index
        self.template = steps[1]
        self.forms = [self.aligned(i, own, forms[1]) for i, own in enumerate(forms)]
        self.own: dict[Any, _Own] = {}
        """By the name of any step's."""
        self.lists: list[Statement] = []
        self.time = roller.time(steps)
        self.listed_names = {n: own for n, own in roller.listed.items() if roller.made[own[0]] <= self.time}
        """Which variables are listed by now, also by lists that this loop would need."""
        self.begun: list[Statement] = []
        """The first statements of the backward pass."""
        self.counter = roller.counter(max(map(_depth, self.template), default=0))

    def aligned(self, step: int, forms: list[Form], template: list[Form]) -> list[Form | None]:
        """The statements of a step, each at the place of the same one in other steps."""
        own, wanted = _structure(self.steps[step], forms), _structure(self.template, template)
        if own == wanted:
            return [*forms]
        if 0 < step < len(self.steps) - 1 or any((*own[1], *wanted[1])):
            raise _Unlike
        waiting = forms[::-1]
        row = [waiting.pop() if waiting and waiting[-1].shape == form.shape else None for form in template]
        if waiting or row.count(None) > len(row) // 2:
            raise _Unlike
        return row

    def statements(self, ahead: bool) -> list[Statement]:
        """The loop, and the statements before it that it needs."""
        slots = list(zip(*self.forms, strict=True))
        series = [[*zip(*(form.values if form else repeat(None) for form in forms), strict=False)] for forms in slots]
        kinds, sums = _kinds_and_sums(slots)
        self.find_own(slots, series, ahead)
        self.find_elements(series, ahead)
        if len(sums) > len(self.steps):
            raise _Unlike
        trees = [[self.expression(values) for values in leaves] for leaves in series]
        body = self.body(slots, trees, kinds, ahead)
        before = [*self.lists, *self.made(ahead)]
        lines = len(text_of([*before, *body])) + 1
        if lines >= sum(map(len, self.steps)) and lines >= len(text_of(_all(self.steps))):  # each takes at least a line
            raise _Unlike
        self.commit(sums)
        loop = Loop(self.counter, self.numbers if ahead else self.numbers[::-1], body)
        self.index.add([*before, loop])
        return [*before, loop]

    # -- variables -----------------------------------------------------------------------------------------------------

    def find_own(self, slots: Sequence[Sequence[Form | None]], series: Sequence[Sequence[Values]], ahead: bool) -> None:
        """The variables that statements of the steps give values, one each."""
        for forms, leaves in zip(slots, series, strict=True):
            targets = next(form for form in forms if form).targets
            for values in compress(leaves, targets):
                if len({*filter(None, values)}) > 1:
                    self.note_own(tuple(None if value is None else str(value) for value in values), ahead)

    def note_own(self, names: tuple[str | None, ...], ahead: bool) -> None:
        """Note a variable that each step has its own of."""
        present, known = [*filter(None, names)], self.own_among(names)
        if len({*present}) < len(present) or ahead and known is not None and known.names != names:
            raise _Unlike
        if known is None:
            self.own.update(dict.fromkeys(present, _Own(names)))

    def own_among(self, values: Values) -> _Own | None:
        """Return the variable of each step that one of these values is."""
        return next((self.own[value] for value in values if value in self.own), None)

    def elements(self) -> list[_Own]:
        return [own for own in dict.fromkeys(self.own.values()) if own.place is not None]

    def find_elements(self, series: Sequence[Sequence[Values]], ahead: bool) -> None:
        """Which of them are used outside of their step."""
        inside = [{*step} for step in self.steps]
        for own in dict.fromkeys(self.own.values()):
            if any(name and self.index.outside(name, step) for name, step in zip(own.names, inside, strict=True)):
                own.place = self.place_of(own)
        for values in map(_families, chain(*series)):
            one = self.own_among(values)
            if one and any(value not in (None, name) for value, name in zip(values, one.names, strict=True)):
                self.find_others(one, values)
        for own in self.elements():
            own.name = self.common([*filter(None, own.names)], [*own.others.values()] if not ahead else [])

    def place_of(self, own: _Own) -> int:
        """The element of the first step: for a gradient, the same as of the variable whose gradient it is."""
        element = self.roller.element
        places = [(i, element[name[2:]][1]) for i, name in enumerate(own.names) if name and name[2:] in element]
        if places and all(place - i == places[0][1] - places[0][0] for i, place in places):
            return places[0][1] - places[0][0]
        return self.numbers[0]

    def common(self, names: Sequence[str], others: Sequence[str]) -> str:
        """Return the common name of variables of several steps."""
        element = self.roller.element
        if names[0].startswith("g_") and names[0][2:] in element:
            stem = f"g_{element[names[0][2:]][0]}"
        else:
            stem = Counter(re.sub(r"_?\d+$", "", name) for name in names).most_common(1)[0][0]
        if not stem or AUTOMATIC.fullmatch(stem):
            return names[0]
        return stem if stem in names or stem in others else self.roller.names.new(stem)

    def find_others(self, own: _Own, values: Values) -> None:
        """The elements from before the loop, such as the state that it begins with."""
        if own.place is None:
            raise _Unlike
        places = own.places()
        shifts = {places[value] - i for i, value in enumerate(values) if isinstance(value, str) and value in places}
        if len(shifts) != 1:
            raise _Unlike
        (shift,) = shifts
        for i, value in enumerate(values):
            if value is None or value in places:
                continue
            place = i + shift
            if value in self.own or place in places.values() or own.others.setdefault(place, str(value)) != value:
                raise _Unlike

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, values: Values) -> ast.expr | None:
        """Return an expression for these values, one of each step; None if all are the same."""
        present: dict[int, Any] = {i: value for i, value in enumerate(values) if value is not None}
        first = next(iter(present.values()))
        if _all_equal(present.values()) and (len(present) == len(values) or first not in self.own):
            return None
        if isinstance(first, int):
            return self.number(present)
        if _families(values) != values:
            return self.member(values)
        if any(isinstance(value, tuple) for value in present.values()):
            return self.shifted_element(present)
        return self.variable(present)

    def variable(self, names: dict[int, str]) -> ast.expr:
        """Return a variable, or the element that a step has of a list or dict."""
        own = self.own_among(tuple(names.values()))
        if own is None:
            return self.listed(names)
        if own.place is None:
            return ast.Name(own.name, ast.Load())
        own_places = own.places()
        i, name = next((i, name) for i, name in names.items() if name in own_places)
        return _element(own.name, self.shifted(own_places[name] - i - self.numbers[0]))

    def member(self, values: Values) -> ast.expr | None:
        """Elements of lists or tuples, which are themselves one of each step."""
        places = {i: value[1] for i, value in enumerate(values) if isinstance(value, tuple)}
        family = self.expression(_families(values))
        place = ast.Constant(next(iter(places.values()))) if len({*places.values()}) == 1 else self.number(places)
        return None if family is None else ast.Subscript(family, place, ast.Load())

    def shifted_element(self, values: Mapping[int, Any]) -> ast.expr:
        """An element of the result of an earlier loop."""
        element = self.roller.element
        places = {i: value if isinstance(value, tuple) else element.get(value) for i, value in values.items()}
        families = [place[0] for place in places.values() if place]
        if None in places.values() or len({*families}) != 1:
            raise _Unlike
        return _element(families[0], self.number({i: place[1] for i, place in places.items() if place}))

    def number(self, values: dict[int, int]) -> ast.expr:
        """Numbers that grow evenly, as an expression of the step."""
        (i, first), (j, second), *_ = [*values.items(), (1, 0), (2, 0)]
        if len(values) < 2 or (second - first) % (j - i):
            raise _Unlike
        by = (second - first) // (j - i)
        if any(value != first + (k - i) * by for k, value in values.items()):
            raise _Unlike
        return self.shifted(first - by * (i + self.numbers[0]), by)

    def shifted(self, start: int, by: int = 1) -> ast.expr:
        """``by * step + start``."""
        tree: ast.expr = ast.Name(self.counter, ast.Load())
        if by != 1:
            tree = ast.BinOp(ast.Constant(by), ast.Mult(), tree)
        if start:
            tree = ast.BinOp(tree, ast.Add() if start > 0 else ast.Sub(), ast.Constant(abs(start)))
        return tree

    def listed(self, names: dict[int, str]) -> ast.expr:
        """Variables from before the loop, one for each step, as elements of a list."""
        listed = self.listed_names
        lists = {listed[name][0] if name in listed else "" for name in names.values()}
        if "" in lists or len(lists) > 1:
            stem = identifier(self.stem([*names.values()]))
            whole = self.roller.names.new(stem if stem.endswith("s") else f"{stem}s")
            values = ast.List([ast.Name(name, ast.Load()) for name in names.values()], ast.Load())
            self.lists.append(Statement(_assigned(whole, values), part=self.template[0].part))
            listed.update({name: (whole, i) for i, name in enumerate(names.values())})
        whole = listed[next(iter(names.values()))][0]
        return _element(whole, self.number({i: listed[name][1] for i, name in names.items()}))

    def stem(self, names: Sequence[str]) -> str:
        """Return the common part of the names of parameters: ``weight`` of ``net.0.weight`` and ``net.1.weight``."""
        dotted = [self.roller.wanted.get(name, name).split(".") for name in names]
        common = common_start(name[::-1] for name in dotted)[::-1]
        return "_".join(common) or re.sub(r"_?\d+$", "", names[0]) or names[0]

    # -- statements ----------------------------------------------------------------------------------------------------

    def body(
        self, slots: Sequence[Sequence[Form | None]], trees: Sequence[Sequence[ast.expr | None]],
        kinds: Sequence[str], ahead: bool,
    ) -> list[Statement]:  # fmt: skip
        """The statements of any step."""
        body = [statement.copied() for statement in self.template]
        copies = [statement for one in body for statement in one.inner()]
        for copied, forms, expressions, kind in zip(copies, slots, trees, kinds, strict=True):
            copied.tree = Form(copied, self.index.variables, self.roller.families).written(expressions, kind)
            ordered = forms if ahead else forms[::-1]
            copied.nodes = tuple(node for other in ordered if other for node in other.statement.nodes)
        return self.guarded(body, slots) if any(None in forms for forms in slots) else body

    def guarded(self, body: list[Statement], slots: Sequence[Sequence[Form | None]]) -> list[Statement]:
        """Put statements that are computed in some of the steps under a condition."""
        guarded: list[Statement] = []
        for condition, group in groupby(zip(body, slots, strict=True), lambda pair: self.condition(pair[1])):
            statements = [statement for statement, _ in group]
            guarded += [Block(f"if {condition}", statements)] if condition else statements
        return guarded

    def condition(self, forms: Sequence[Form | None]) -> str:
        """The steps in which a statement is computed; empty if in all."""
        low = f"{self.numbers[0]} < " if forms[0] is None else ""
        high = f" < {self.numbers[-1]}" if forms[-1] is None else ""
        if low and not high:
            return f"{self.counter} > {self.numbers[0]}"
        return f"{low}{self.counter}{high}" if high else ""

    def made(self, ahead: bool) -> list[Statement]:
        """Statements that create values with elements."""
        statements = []
        part = self.template[0].part
        inside = {*_all(self.steps)}
        for own in self.elements():
            names = [*filter(None, own.names)]
            elsewhere = {s for name in names for s in self.index.uses.get(name, ()) if name in s.writes()} - inside
            if ahead and elsewhere:
                raise _Unlike
            if not ahead and (elsewhere or own.others):  # sums that began earlier
                self.begun.append(Statement(_assigned(own.name, ast.Dict([], [])), part=part))
                continue
            others = sorted(own.others.items())
            values: list[ast.expr] = [ast.Name(name, ast.Load()) for _, name in others]
            made = ast.Dict([ast.Constant(place) for place, _ in others], values)
            statements.append(Statement(_assigned(own.name, made), part=part))
        return statements

    def commit(self, sums: Iterable[str]) -> None:
        """Let everything else know."""
        part = self.template[0].part
        begun = [Statement(_assigned(name, ast.Constant(None)), part=part) for name in sums]
        self.index.add(begun)
        self.roller.listed |= self.listed_names
        self.roller.made |= {whole: self.time for statement in self.lists for whole in statement.writes()}
        self.roller.empty += [*self.begun, *begun]
        self.index.drop(_all(self.steps))
        self.roller.forget(_all(self.steps))
        elements: dict[str, tuple[str, int]] = {}
        for own in self.elements():
            self.roller.families.add(own.name)
            elements |= {name: (own.name, place) for name, place in own.places().items()}
            others = {name: (own.name, place) for place, name in own.others.items()}
            if part == BACKWARD:
                elements |= others
            else:
                self.roller.element = others | self.roller.element
        self.roller.element |= elements
        self.index.replace({name: _element(own, ast.Constant(place)) for name, (own, place) in elements.items()})
        self.index.add(self.begun)


def _all_equal(values: Iterable[Any]) -> bool:
    first, *others = values
    return all(value == first and value.__class__ is first.__class__ for value in others)


def _structure(statements: list[Statement], forms: list[Form]) -> tuple[list[Any], list[Any]]:
    """Return the parts of a step that must be equal in each: the shapes of its statements, and its loops."""
    return [form.shape for form in forms], [statement.skeleton() for statement in statements]


def _kinds_and_sums(slots: list[Any]) -> tuple[list[str], dict[str, None]]:
    """Return the kind of each statement's term, and the targets of sums that begin in one step and go on in another."""
    kinds: list[str] = []
    sums: dict[str, None] = {}
    for forms in slots:
        terms = [(next(iter(form.statement.writes())), form.term) for form in forms if form and form.term]
        kinds.append(kind_of({term.kind for _, term in terms}))
        sums |= {target: None for target, term in terms if term.begins(kinds[-1])}
    return kinds, sums


def _families(values: Values) -> Values:
    """Replace elements of families by the family's name; keep other values."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, tuple) for value in present) and len({value[0] for value in present}) > 1:  # type: ignore[index]
        return tuple(value[0] if isinstance(value, tuple) else value for value in values)
    return values


def _element(name: str, place: ast.expr, ctx: ast.expr_context | None = None) -> ast.expr:
    return ast.Subscript(ast.Name(name, ast.Load()), place, ctx or ast.Load())


def _assigned(name: str, tree: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], tree, lineno=0)


def _depth(statement: Statement) -> int:
    return 1 + max(map(_depth, statement.body)) if isinstance(statement, Block) else 0
