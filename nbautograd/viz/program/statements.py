"""Statements of a folded program: the names they read and write, and other statements with the same names.

What may differ between equivalent statements are their terms and leaves. ``g = term`` begins a sum, ``g += term`` and
``g = g + term`` go on with it. If the same statement begins a sum in one step or call and continues it in others, it is
``g = plus(g, term)``, and sums begin as None.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbautograd._engine.compiler.expressions import substituted
from nbautograd._engine.compiler.source import copied, parsed, rewritten
from nbautograd.viz.program.names import bound_outside

__all__ = [
    "BACKWARD", "DATA", "FORWARD", "GRADS", "PLUS", "Block", "Call", "Form", "Index", "Line", "Loop", "Statement",
    "Term", "Value", "kind_of", "term_of", "text_of", "wrapped",
]  # fmt: skip

DATA, FORWARD, BACKWARD, GRADS = "data", "forward", "backward", "grads"
"""The parts of a program."""
HEADINGS = {DATA: "leaves and constants", FORWARD: "forward", BACKWARD: "backward", GRADS: "what the leaves get"}
COMMENT_COLUMN = 40
"""The column where comments begin, unless the line is longer."""


@dataclass(eq=False)
class Line:
    """One statement: ``g_a = g_y * b``."""

    text: str
    comment: str
    """The node's name, and the line of the notebook."""
    part: str
    name: str = ""
    """The variable that gets a value."""
    node: Any = None
    """The operation of the line."""
    slot: int | None = None
    """In the backward pass: the number of the input that gets the line's gradient."""
    origin: tuple[Any, ...] = ()
    """The source of the line, for a writer in another vocabulary: a kind, and its data."""
    scope: tuple[tuple[str, int], ...] = ()
    """The modules and named blocks in which the operation ran, outermost first, each with the number of its call."""

    def __str__(self) -> str:
        return f"{self.text:<{COMMENT_COLUMN}}  # {_remark(self.comment)}" if self.comment else self.text


def _remark(text: str) -> str:
    """Return any text on one line, so that user text cannot continue as code."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def with_headings(lines: Iterable[Line]) -> list[str]:
    """The lines, with a heading for each part, and one for each module in it."""
    texts: list[str] = []
    part = ""
    scope: tuple[tuple[str, int], ...] = ()
    for line in sorted(lines, key=lambda line: list(HEADINGS).index(line.part)):
        if line.part != part:
            part, scope = line.part, ()
            texts += [""] * bool(texts) + [f"# {HEADINGS[part]}"]
        if line.scope != scope and line.part in (FORWARD, BACKWARD):
            scope = line.scope
            if texts[-1] == f"# {HEADINGS[part]}":
                del texts[-2:]
            inside = _remark(" / ".join(str(name)[:40] for name, *_ in scope)) or "outside of modules"
            texts += ["", f"# {HEADINGS[part]}: {inside}"]
        texts.append(str(line))
    return texts


MAX_LINE_CHARACTERS = 110
"""Characters of a line of a call."""


class Statement:
    """One statement, with the operations that it is of: those of all steps of a loop, of all calls of a function.

    :ivar adds: whether it is a term of a gradient; such terms may be the first of a sum or not.
    """

    def __init__(self, tree: ast.stmt, line: Line | None = None, *, part: str = "", comment: str = "") -> None:
        self.tree = tree
        self.part = line.part if line is not None else part
        self.comment = line.comment if line is not None else comment
        self.nodes: tuple[Any, ...] = () if line is None or line.node is None else (line.node,)
        self.adds = line is not None and line.slot is not None

    def names(self) -> Iterable[ast.Name]:
        """The names in it that are no variables of a comprehension or a lambda, in the order of the text."""
        return bound_outside(self.tree)

    def replace(self, trees: Mapping[str, ast.expr]) -> None:
        """Put expressions in the place of names."""
        for statement in self.inner():
            statement.tree = replaced(statement.tree, trees)

    def reads(self) -> dict[str, None]:
        """Return the names that it reads."""
        tree = self.tree
        names = {node.id: None for node in self.names() if isinstance(node.ctx, ast.Load)}
        if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name):
            names[tree.target.id] = None
        return names

    def writes(self) -> dict[str, None]:
        """Return the names that it assigns, wholly or in an element."""
        match self.tree:
            case ast.Assign([ast.Name(name)]):  # the common case
                return {name: None}
        if isinstance(self.tree, ast.Assign):
            targets = self.tree.targets
        else:
            targets = [self.tree.target] if isinstance(self.tree, ast.AugAssign) else []
        parts = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
        return {name: None for name in map(_base, parts) if name}

    def written(self, indent: str = "") -> list[str]:
        """Its lines."""
        return [f"{indent}{Line(ast.unparse(self.tree), self.comment, self.part)}"]

    def inner(self) -> Iterator[Statement]:
        """Itself, or the statements of a loop."""
        yield self

    def skeleton(self) -> tuple[Any, ...]:
        """The loops that it consists of."""
        return ()

    def gather(self, families: set[str]) -> None:
        """Write ``[h[0], h[1], h[2]]`` as ``[h[i] for i in range(3)]``."""

        def change(part: Any) -> Any:
            match getattr(part, "elts", None):
                case [ast.Subscript(ast.Name(family), ast.Constant(int(first))), _, _, *_] if family in families:
                    stop = first + len(part.elts)
                    alike = [f"{family}[{i}]" for i in range(first, stop)]
                    if isinstance(part, ast.List) and [*map(ast.unparse, part.elts)] == alike:
                        numbers = f"{first}, {stop}" if first else f"{stop}"
                        return parsed(f"[{family}[i] for i in range({numbers})]")
            return part

        for statement in self.inner():
            statement.tree = rewritten(statement.tree, change)

    def copied(self) -> Statement:
        """A copy, which changes on its own."""
        statement = copy.copy(self)
        statement.tree = copied(self.tree)
        return statement


class Call(Statement):
    """A call of a function that a module has become: of variables only, of which there may be many."""

    def written(self, indent: str = "") -> list[str]:  # noqa: D102 - as above
        return wrapped(f"{indent}{ast.unparse(self.tree)}", self.comment)


class Block(Statement):
    """Statements below a header, such as ``if step > 0:``."""

    def __init__(self, header: str, body: list[Statement]) -> None:
        self.header, self.body = header, body
        self.part, self.comment, self.adds = body[0].part, "", False

    @property
    def nodes(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The statements of its body."""
        return tuple(node for statement in self.body for node in statement.nodes)

    def names(self) -> Iterable[ast.Name]:  # noqa: D102 - as above
        return (name for statement in self.body for name in statement.names())

    def reads(self) -> dict[str, None]:
        """Return the names that it reads before it assigns them."""
        known: set[str] = set()
        names: dict[str, None] = {}
        for statement in self.body:
            names |= {name: None for name in statement.reads() if name not in known}
            known |= {*statement.writes()}
        return names

    def writes(self) -> dict[str, None]:  # noqa: D102 - as above
        return {name: None for statement in self.body for name in statement.writes()}

    def written(self, indent: str = "") -> list[str]:  # noqa: D102 - as above
        return [f"{indent}{self.header}:", *text_of(self.body, f"{indent}    ")]

    def inner(self) -> Iterator[Statement]:  # noqa: D102 - as above
        for statement in self.body:
            yield from statement.inner()

    def skeleton(self) -> tuple[Any, ...]:  # noqa: D102 - as above
        return self.header, *(statement.skeleton() for statement in self.body)

    def copied(self) -> Statement:  # noqa: D102 - as above
        block = copy.copy(self)
        block.body = [statement.copied() for statement in self.body]
        return block


class Loop(Block):
    """``for step in range(20):`` and what is done in each step."""

    def __init__(self, variable: str, steps: range, body: list[Statement]) -> None:
        first, stop = min(steps), max(steps) + 1
        numbers = f"range({stop})" if first == 0 else f"range({first}, {stop})"
        super().__init__(f"for {variable} in {numbers if steps.step > 0 else f'reversed({numbers})'}", body)
        self.variable, self.steps = variable, steps

    def names(self) -> Iterable[ast.Name]:  # noqa: D102 - as above
        return (name for name in super().names() if name.id != self.variable)

    def reads(self) -> dict[str, None]:  # noqa: D102 - as above
        return {name: None for name in super().reads() if name != self.variable}


class Index:
    """Which statements of a program read or write each name."""

    def __init__(self) -> None:
        self.uses: dict[str, dict[Statement, None]] = {}
        self.variables: set[str] = set()
        """The names that statements assign; other names are functions, modules and stored arrays."""

    def add(self, statements: Iterable[Statement]) -> None:
        """Take statements up."""
        for statement in statements:
            self.variables |= {*statement.writes()}
            for name in statement.names():
                self.uses.setdefault(name.id, {})[statement] = None

    def drop(self, statements: Iterable[Statement]) -> None:
        """Forget statements, in whose place others come."""
        for statement in statements:
            for name in statement.names():
                self.uses.get(name.id, {}).pop(statement, None)

    def replace(self, trees: Mapping[str, ast.expr]) -> None:
        """Put expressions in the place of names, everywhere."""
        statements = list({statement: None for name in trees for statement in self.uses.get(name, ())})
        self.drop(statements)
        for statement in statements:
            statement.replace(trees)
        self.add(statements)

    def outside(self, name: str, inside: set[Statement]) -> bool:
        """Return whether statements other than these use a name."""
        return any(statement not in inside for statement in self.uses.get(name, ()))


def _base(target: ast.expr | None) -> str:
    """The variable that a target is, or is an element of; a loop in a loop makes elements of elements."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def replaced(tree: Any, trees: Mapping[str, ast.expr]) -> Any:
    """The tree with expressions in the place of names."""
    marked = {id(node): trees[node.id] for node in bound_outside(tree) if node.id in trees}
    return substituted(tree, marked) if marked else tree


def wrapped(text: str, comment: str = "") -> list[str]:
    """A long line of names as several, broken inside of brackets."""
    if len(text) <= MAX_LINE_CHARACTERS:
        return [str(Line(text, comment, ""))]
    indent = " " * (len(text) - len(text.lstrip()))
    targets, equals, call = text.strip().rpartition(" = ")
    if "," in targets and len(indent + targets + equals + call.partition(" ")[0]) > MAX_LINE_CHARACTERS:
        targets = f"({targets})"
    if call.startswith("return "):
        call = f"return ({call.removeprefix('return ')})"
    call = call.replace(" - ", "\0-\0")
    whole = f"{targets}\0=\0{call}" if equals else call  # no line ends before or after the sign
    broken = textwrap.wrap(
        whole, MAX_LINE_CHARACTERS, initial_indent=indent, subsequent_indent=f"{indent}    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    broken = [line.replace("\0", " ") for line in broken]
    return [*broken[:-1], str(Line(broken[-1], comment, ""))]


def text_of(statements: Iterable[Statement], indent: str = "") -> list[str]:
    """The lines of statements."""
    return [line for statement in statements for line in statement.written(indent)]


# -- terms of gradients, and leaves ------------------------------------------------------------------------------------


FIRST, INTO, NEW, EITHER = "first", "into", "new", "plus"
PLUS = '''def plus(total, term):
    """The sum so far, which is None at first, and a term."""
    return term if total is None else total + term
'''


class Term:
    """The term that a statement adds, and its target."""

    def __init__(self, kind: str, target: ast.expr, value: ast.expr) -> None:
        self.kind, self.target, self.value = kind, target, value

    def begins(self, kind: str) -> bool:
        """Return whether ``= None`` must begin its sum: it is the first term here, and a further one elsewhere."""
        return kind == EITHER and self.kind == FIRST

    def written(self, kind: str) -> ast.stmt:
        """The statement."""
        if kind == INTO:
            return ast.AugAssign(self.target, ast.Add(), self.value)  # type: ignore[arg-type]
        before = copied(self.target)
        before.ctx = ast.Load()  # type: ignore[attr-defined]
        value = self.value
        if kind == NEW:
            value = ast.BinOp(before, ast.Add(), value)
        elif kind == EITHER:
            value = ast.Call(ast.Name("plus", ast.Load()), [before, value], [])
        return ast.Assign([self.target], value, lineno=0)


def term_of(statement: Statement) -> Term | None:
    """The term that a statement adds; None for any other."""
    if not statement.adds:
        return None
    match statement.tree:
        case ast.AugAssign(target, ast.Add(), value):
            return Term(INTO, target, value)
        case ast.Assign([target], ast.BinOp(left, ast.Add(), value)) if ast.unparse(left) == ast.unparse(target):
            return Term(NEW, target, value)
        case ast.Assign([target], ast.Call(ast.Name("plus"), [_, value])):
            return Term(EITHER, target, value)
        case ast.Assign([target], value):
            return Term(FIRST, target, value)
    return None


def kind_of(kinds: Collection[str]) -> str:
    """Return the form in which statements of all these kinds can be written."""
    alike = {*kinds}
    if len(alike) == 1:
        return alike.pop()
    return EITHER if alike & {FIRST, EITHER} else NEW


Place = tuple[str, int]
"""An element: the common name, and its number."""
Value = str | int | Place
"""A leaf: a variable, a whole number, or an element."""


class Form:
    """A statement with its leaves: variables and whole numbers, which may differ from step to step."""

    def __init__(self, statement: Statement, variables: Collection[str], families: Collection[str]) -> None:
        self.statement = statement
        self.term: Term | None = term_of(statement)
        trees = [statement.tree] if self.term is None else [self.term.target, self.term.value]
        self.leaves: list[ast.expr] = []
        self.values: list[Any] = []
        self.targets: list[bool] = []
        own = statement.writes()
        shape: list[Any] = [self.term is not None, statement.part]
        for tree in trees:
            reader = _Leaves(tree, variables, families)
            shape.append(reader.text(tree))
            self.leaves += reader.leaves
            self.values += reader.values
        for leaf in self.leaves:
            self.targets.append(isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store) and leaf.id in own)
        self.shape = tuple(shape)  # what must be equal in each step

    def written(self, leaves: Iterable[ast.expr | None], kind: str) -> ast.stmt:
        """Return the statement with other leaves, where they are not None, and with its term of a kind."""
        trees = {id(old): new for old, new in zip(self.leaves, leaves, strict=True) if new is not None}
        if self.term is None:
            return substituted(self.statement.tree, trees)  # type: ignore[no-any-return]
        return Term(kind, substituted(self.term.target, trees), substituted(self.term.value, trees)).written(kind)


class _Leaves:
    """Writes code with a mark in the place of each leaf."""

    def __init__(self, tree: ast.AST, variables: Collection[str], families: Collection[str]) -> None:
        self.variables, self.families = variables, families
        self.outside = {id(node) for node in bound_outside(tree)}
        self.leaves: list[Any] = []
        self.values: list[Value] = []

    def text(self, node: Any) -> str:
        """The code of a node."""
        value: Value | None = None
        match node:
            case ast.Name(name) if id(node) in self.outside and name in self.variables:
                value = name
            case ast.Constant(int(number)) if number.__class__ is int:
                value = number
            case ast.Subscript(ast.Name(name), ast.Constant(int(number))) if name in self.families:
                value = name, number
        if value is not None:
            self.leaves.append(node)
            self.values.append(value)
            return "0" if isinstance(value, int) else "_"
        if isinstance(node, ast.AST):
            parts = [self.text(getattr(node, field, None)) for field in node._fields]
            return f"{type(node).__name__}({', '.join(parts)})"
        return f"[{', '.join(map(self.text, node))}]" if isinstance(node, list) else repr(node)
