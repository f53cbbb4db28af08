"""Explanations of why a tensor has no graph: five causes, each with the line that caused it and its replacement.

A tensor without a graph has no record of its computation. But the running code names it, and the assignments above show
how it was computed. If that code is unknown, no cause is named.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nbautograd._engine.base.users_code import (
    MODULE,
    Assignment,
    called,
    edited,
    last_assignment,
    last_backward,
    running_call,
    user_frame,
)
from nbautograd.protocol import SourceLocator

TEXTS = {
    "cause_place": " ({label}, line {n}: {old})",
    "why_forgot": "{source} was made without requires_grad=True{place}",
    "fix_forgot": "Write `{new}`",
    "other_forgot": "Set requires_grad=True where {source} is made",
    "why_integers": "{source} is a tensor of {dtype}, and only floating-point tensors have a derivative{place}",
    "fix_integers": "Write `{new}`",
    "other_integers": "Compute {name} by operations whose results are floating-point tensors",
    "why_detached": "{name} was cut off from {source} by {call}{place}",
    "fix_detached": "Write `{new}`",
    "other_detached": "Compute {name} without {call}",
    "why_no_grad": "{name} was computed inside of {call}, where nothing is recorded{place}",
    "fix_no_grad": "Write `{new}` outside of it",
    "other_no_grad": "Compute {name} outside of it",
    "why_unrecorded": "{name} is a gradient, and the pass that computed it did not record itself{place}",
    "fix_unrecorded": "Write `{new}`",
    "other_unrecorded": "Pass create_graph=True to that pass",
    "why_unknown": (
        "nothing that {name} was computed from has requires_grad=True, or it was computed under no_grad(), or detached"
    ),
    "other_unknown": "Set requires_grad=True where a tensor is made",
}
"""For each cause: the problem, the replacement, and the advice if no line can be shown."""

METHODS = {"detach", "detach_", "item", "numpy", "tolist"}
COPIES = {"tensor", "as_tensor", "from_numpy"}
FLOATS = {"ones", "zeros", "empty", "rand", "randn", "linspace", "logspace", "eye", "normal"}
"""Functions that make a leaf of a floating dtype by default."""
LIKE = {f"{name}_like" for name in ("ones", "zeros", "empty", "full", "rand", "randn", "randint")}
MAKERS = COPIES | FLOATS | LIKE | {"full", "randint", "arange"}
"""Functions that make a leaf."""
NO_KEYWORD = {"from_numpy", "as_tensor"}
INTEGERS = ("int", "uint", "bool", "long", "short", "byte", "char")
MAX_ASSIGNMENTS = 20  # traced back from the tensor


class Cut(NamedTuple):
    """The call that stops a gradient."""

    name: str
    """The variable that gets no gradient this way."""
    call: str
    line: int


class Cause(NamedTuple):
    """Why a tensor has no graph."""

    kind: str
    """``forgot``, ``integers``, ``detached``, ``no_grad``, ``unrecorded`` or ``unknown``."""
    name: str
    """The name of the tensor without a graph."""
    source: str = ""
    """The variable, or expression, that should have had a graph."""
    call: str = ""
    """The call that cut the graph."""
    dtype: str = ""
    place: tuple[str, int] | None = None
    """File name and line of the code that caused it."""
    old: str = ""
    """The code at that place."""
    new: str = ""
    """The code to write in its place."""

    def told(self, texts: Mapping[str, str]) -> tuple[str, str]:
        """Return the problem and the advice, by texts such as ``TEXTS``."""
        place = ""
        if self.place is not None:
            label, _ = SourceLocator.locate(*self.place)
            place = texts["cause_place"].format(label=label, n=self.place[1], old=self.old)
        parts = {**self._asdict(), "place": place}
        fix = texts[f"fix_{self.kind}" if self.new else f"other_{self.kind}"]
        return texts[f"why_{self.kind}"].format(**parts), fix.format(**parts)


def explained(head: str, cause: Cause) -> str:
    """Return the message of a cause.

    >>> explained("y does not require grad", Cause("forgot", "y", "x", new="x = ones(2, requires_grad=True)"))
    'y does not require grad: x was made without requires_grad=True. Write `x = ones(2, requires_grad=True)`.'
    """
    why, fix = cause.told(TEXTS)
    return f"{head}: {why}. {fix}."


def cause_of(tensor: Any, variables: Mapping[str, Any] | None = None, input_number: int | None = None) -> Cause:
    """Return the cause of a tensor's missing graph, judging by the running code.

    :param variables: by name; by default those of the running code.
    :param input_number: the index of the input of ``grad()``; None for the output.
    """
    try:
        return _Search(tensor, variables, input_number).cause()
    except Exception:  # the error being explained must not get lost
        return Cause("unknown", "it")


class _Place(NamedTuple):
    """The position in the code from which a name is looked up."""

    filename: str
    position: tuple[int, int]
    scope: str


class _Search:
    """A search back from a tensor, by the assignments of the variables that it was computed from."""

    def __init__(self, tensor: Any, variables: Mapping[str, Any] | None, input_number: int | None) -> None:
        self.tensor, self.input_number = tensor, input_number
        frame = user_frame()
        self.call = running_call(frame)
        known = {} if frame is None else {**frame.f_globals, **frame.f_locals}
        self.variables = {**known, **(variables or {})}
        filename, scope = ("", MODULE) if frame is None else (frame.f_code.co_filename, frame.f_code.co_qualname)
        position = self.call.position if self.call is not None else (0 if frame is None else frame.f_lineno, 10**6)
        self.start = _Place(filename, position, scope)
        self.name = self._name()
        self.read: list[tuple[str, Assignment]] = []

    def _name(self) -> str:
        """Return the tensor's name: the variable in the call, another that holds it, or the expression."""
        expression = self.call.expression if self.call is not None else ""
        if self.input_number is not None:
            inputs = self.call.inputs if self.call is not None else ()
            expression = inputs[self.input_number] if self.input_number < len(inputs) else ""
        names = [name for name, value in self.variables.items() if value is self.tensor and not name.startswith("_")]
        words = re.findall(r"\w+", expression)
        return next((name for name in words if name in names), names[0] if names else expression) or "it"

    def cause(self) -> Cause:
        found = self._cut()
        integer = _is_integer(self.tensor)
        if found is not None and not integer:
            return found
        plain = self._made(integer)
        if plain is not None:
            return plain
        if integer:
            return Cause("integers", self.name, self.name, dtype=_dtype(self.tensor))
        return Cause("unknown", self.name)

    def _cut(self) -> Cause | None:
        """Return the first cut on the way back, nearest to the tensor; record the assignments that were read."""
        expression = _parsed(self.name)
        if expression is None:
            return None
        if not isinstance(expression, ast.Name):  # such as y.detach(): it is in the call itself
            found = self._cut_in(self.name, expression, "", None)
            if found is not None:
                return found
        waiting: list[tuple[ast.AST, _Place]] = [(expression, self.start)]
        seen = set()
        while waiting and len(self.read) < MAX_ASSIGNMENTS:
            looked_at, place = waiting.pop(0)
            for name in _names(looked_at):
                made = last_assignment(name, *place)
                if made is None or (key := (name, made.filename, made.position)) in seen:
                    continue
                seen.add(key)
                self.read.append((name, made))
                found = self._cut_in(name, made.value, made.mode, made)
                if found is not None:
                    return found
                waiting.append((made.value, _Place(made.filename, made.position, made.scope)))
        return None

    def _cut_in(self, name: str, value: ast.expr, mode: str, made: Assignment | None) -> Cause | None:
        place = None if made is None else (made.filename, made.position[0])
        old = "" if made is None else made.text
        gradient = _gradient(value)
        if gradient is not None:
            return self._unrecorded(name, gradient, made)
        for base, call, node in cutting_calls(value, mode):
            used = next(filter(self._is_tracked, _names(base)), "") or (ast.unparse(base) if _asks(base) else "")
            if not used:
                continue
            if node is None:
                inside = [one.text for _, one in reversed(self.read) if one.mode]
                return Cause("no_grad", name, used, call, place=place, old=old, new="; ".join(inside))
            return Cause("detached", name, used, call, place=place, old=old, new=self._without(made, node, call))
        return None

    def _without(self, made: Assignment | None, node: ast.expr, call: str) -> str:
        """Return the statement without the call that cuts the graph."""
        if call not in ("detach()", "detach_()", ".data", "item()"):
            return ""
        cut = f".{call.removeprefix('.')}"
        if made is None:
            return self.call.text.replace(cut, "", 1) if self.call is not None else ""
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        start = (end[0], end[1] - len(cut.encode()))
        shorter = edited(made.filename, made.statement, (start, end, ""))
        if len(shorter) + len(cut) != len(made.text):
            return ""
        bare = re.sub(r"^(\w+ = )\((.*)\)$", r"\1\2", shorter)
        return bare if bare != shorter and _same(bare, shorter) else shorter

    def _unrecorded(self, name: str, gradient: ast.expr, made: Assignment | None) -> Cause:
        """Return the cause for a gradient that was computed without ``create_graph=True``."""
        if isinstance(gradient, ast.Call):
            cause = Cause("unrecorded", name, ast.unparse(gradient.args[0]), call="grad()")
            if made is None:
                return cause
            new = edited(made.filename, made.statement, _added(gradient, "create_graph=True"))
            return cause._replace(place=(made.filename, made.position[0]), old=made.text, new=new)
        seen_from = self.start if made is None else made
        found = last_backward(seen_from.filename, seen_from.position)
        cause = Cause("unrecorded", ast.unparse(gradient), call="backward()")
        if found is None:
            return cause
        filename, line, call = found
        new = call.with_argument("create_graph")
        return cause._replace(source=call.expression, place=(filename, line), old=call.text, new=new)

    def _made(self, integer: bool) -> Cause | None:
        """Return the cause for a variable that should have required a gradient, with the cure."""
        leaves = list(self._leaves())
        if not integer and any(self._is_tracked(name) for name, _ in self.read):
            return None  # the cut is not in this code
        if not leaves:
            return self._literal()
        floats = [one for one in leaves if not _is_integer(one[2])]
        name, made, value = (floats or leaves)[0]
        if integer and floats:
            return None  # its operations convert floating-point numbers to integers
        kind = "forgot" if floats else "integers"
        place, dtype = (made.filename, made.position[0]), _dtype(value)
        new = _asking(name, made, integers=not floats)
        return Cause(kind, self.name, name, dtype=dtype, place=place, old=made.text, new=new)

    def _leaves(self) -> Iterator[tuple[str, Assignment, Any]]:
        """Yield the tensors that were read and were not computed from others, with their names and assignments."""
        for name, made in self.read:
            value = self.variables.get(name)
            if not _is_tensor(value) or any(_is_tensor(self.variables.get(used)) for used in _names(made.value)):
                continue
            if value is not self.tensor or _maker(made.value) is not None:
                yield name, made, value

    def _literal(self) -> Cause | None:
        """Return the cause for a tensor made inside an expression, as in ``torch.ones(1).sum().backward()``."""
        for made in [None, *(one for _, one in self.read)]:
            tree = made.value if made is not None else _parsed(self.name)
            for node in ast.walk(tree) if tree is not None else ():
                module = _maker(node)
                if module is None or not isinstance(node, ast.Call):
                    continue
                integers = called(node) not in FLOATS and not _has_float(node)
                argument = f"dtype={module}.float32, " * integers + "requires_grad=True"
                if made is not None:
                    new = edited(made.filename, made.statement, _added(node, argument))
                    place, old, text = (made.filename, made.position[0]), made.text, edited(made.filename, node)
                else:
                    (_, column), _, added = _added(node, argument)
                    new = self._with(column, added) if self.input_number is None else ""
                    place, old, text = None, "", ast.unparse(node)
                kind, dtype = ("integers", "int64") if integers else ("forgot", "")
                return Cause(kind, self.name, text, dtype=dtype, place=place, old=old, new=new)
        return None

    def _with(self, column: int, added: str) -> str:
        """Return the running call, with an addition to the expression in it."""
        text = self.name.encode()
        changed = (text[:column] + added.encode() + text[column:]).decode()
        return self.call.text.replace(self.name, changed, 1) if self.call is not None else changed

    def _is_tracked(self, name: str) -> bool:
        value = self.variables.get(name)
        return value is not self.tensor and _is_tracked(value)


def _is_tensor(value: Any) -> bool:
    return hasattr(type(value), "grad_fn") and hasattr(type(value), "requires_grad")


def _is_tracked(value: Any) -> bool:
    """Return whether it requires a gradient, as a tensor, or has parameters that do."""
    try:
        if _is_tensor(value):
            return bool(value.requires_grad)
        parameters = getattr(type(value), "parameters", None)
        return callable(parameters) and any(each.requires_grad for each in value.parameters())
    except Exception:
        return False


def _dtype(tensor: Any) -> str:
    return str(getattr(tensor, "dtype", "")).rpartition(".")[2]


def _is_integer(tensor: Any) -> bool:
    return _dtype(tensor).startswith(INTEGERS)


def _names(tree: ast.AST) -> list[str]:
    return list(dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)))


def _asks(tree: ast.AST) -> bool:
    """Return whether an expression requests a gradient itself."""
    return any(isinstance(node, ast.keyword) and node.arg == "requires_grad" for node in ast.walk(tree))


def _has_float(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in ast.walk(tree))


def cutting_calls(value: ast.expr, mode: str) -> Iterator[tuple[ast.expr, str, ast.expr | None]]:
    """Yield the parts of an expression that stop gradients: the operand, the name of the call, and its node."""
    if mode:
        yield value, mode, None
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute) and node.attr == "data":
            yield node.value, ".data", node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            yield node.func.value, f"{node.func.attr}()", node
        elif isinstance(node, ast.Call) and called(node) in COPIES:
            for argument in node.args:
                yield argument, f"{called(node)}(…)", node


def _gradient(value: ast.expr) -> ast.expr | None:
    """Return the part of an expression that is a gradient: ``x.grad``, or an unrecorded ``autograd.grad(y, x)``."""
    functions = {id(node.func) for node in ast.walk(value) if isinstance(node, ast.Call)}
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute) and node.attr == "grad" and id(node) not in functions:
            return node
        if isinstance(node, ast.Call) and called(node) == "grad" and len(node.args) > 1:
            given = {each.arg for each in node.keywords}
            if "create_graph" not in given:
                return node
    return None


def _added(call: ast.Call, argument: str) -> tuple[tuple[int, int], tuple[int, int], str]:
    """Return the edit that adds an argument to a call."""
    end = (call.end_lineno or 0, (call.end_col_offset or 1) - 1)
    return end, end, f"{', ' if call.args or call.keywords else ''}{argument}"


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _same(one: str, other: str) -> bool:
    """Return whether two texts are the same program."""
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _maker(node: ast.AST) -> str | None:
    """Return the prefix of the module, if an expression calls one of its functions that make a leaf."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    return ast.unparse(node.func.value) if node.func.attr in MAKERS - NO_KEYWORD else None


def _asking(name: str, made: Assignment, integers: bool) -> str:
    """Return the assignment of a leaf, with a gradient requested, in a floating dtype."""
    module = _maker(made.value)
    given = {each.arg for each in made.value.keywords} if isinstance(made.value, ast.Call) else set()
    if module is None or "requires_grad" in given or (integers and "dtype" in given):
        return f"{name} = {name}.float().requires_grad_()" if integers else f"{name}.requires_grad_()"
    dtype = f"dtype={module}.float32, " if integers else ""
    assert isinstance(made.value, ast.Call)
    return edited(made.filename, made.statement, _added(made.value, f"{dtype}requires_grad=True"))


def cut_of(code: str, filename: str, lineno: int, variables: Mapping[str, Any]) -> Cut | None:
    """Return the call that detached a constant from the graph, if the code above a line of the cell or file shows it.

    :param code: the expression that the constant is the value of, such as the name of its variable.
    :param filename: the file of the operation that uses it; ``lineno``: its line.
    :param variables: by name, to check whether a gradient was requested.
    """
    place = _Place(filename, (lineno + 1, 0), MODULE)
    value, mode, line = _parsed(code), "", lineno
    for _ in range(6):
        if value is None:
            return None
        for base, call, _node in cutting_calls(value, mode):
            for used in _names(base):
                if _is_tracked(variables.get(used)):
                    return Cut(used, call, line)
        plain = [used for used in _names(value) if used in variables]
        made = next(filter(None, (last_assignment(used, *place) for used in plain)), None)
        if made is None:
            return None
        value, mode, line = made.value, made.mode, made.position[0]
        place = _Place(made.filename, made.position, made.scope)
    return None
