"""Name results and arguments without a variable by the text of their expressions in the user's code.

Tracing records the code object and the instruction that called an operation, and Python gives the place of an
instruction's expression. A text is used only if the expression's value certainly is the result: the file still fits the
code, and the expression ran once.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import combinations
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from nbautograd._engine.base import users_code
from nbautograd._engine.base.users_code import Place, called
from nbautograd.viz.escape import one_line
from nbautograd.viz.read.introspect import attribute, module_of, operation_of, same_operation, subscript
from nbautograd.viz.read.segments import SCOPES, Turn, number_of
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["Place", "SourceTexts", "place_of", "short"]

FORMULA_CHARACTERS, TEXT_CHARACTERS = 16, 24  # limits in formulas, and elsewhere
MAX_OMITTED_PARTS = 4  # of an expression
_KINDS = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute)
_REPEATING = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PASSES = {"backward", "grad", "animate", "run_line_magic"}
"""Calls that run the operations of a backward pass, whose results they do not return."""
_VALUES = {"abs", "pow", "round", "sum"}
"""Functions of Python's own that return the result of an operation."""
_LIBRARIES = {"nbautograd", "torch"}
_ALIASES = {"torch", "F", "nn", "nb"}
"""Names of modules in a file whose variables are unknown."""
_ELEMENT_NODES = {"SelectBackward0", "IndexBackward0"}
FUNCTION_INPUT = "input "
"""The beginning of the name of a custom Function's argument; its position follows."""
_PARAMETERS = {"mat1": "input", "mat2": "other", "tensor": "other"}
"""Operands that are called otherwise than the parameters of the functions."""


def place_of(trace: Any) -> Place | None:
    """Return the place of the expression that called an operation; None if it is unknown."""
    return None if trace is None or trace.code is None else users_code.place_of(trace.code, trace.instruction)


@lru_cache(2000)
def short(text: str, most: int = TEXT_CHARACTERS) -> str:
    """Shorten an expression to a name of a few letters by leaving out its longest parts.

    >>> short("torch.relu(self.first(x) + self.second(x))"), short("(x @ self.weight.T + self.bias).softmax(-1)")
    ('torch.relu(…)', '(…).softmax(-1)')
    >>> short("x @ self.weight.T + 1", 16), short("F.relu(x * weight, inplace=True)", 16)
    ('… + 1', 'F.relu(…)')
    """
    if len(text) > most:
        data, parts = text.encode(), [*_parts(ast.parse(text, mode="eval").body)][:MAX_OMITTED_PARTS]
        for left_out in (some for count in range(1, len(parts) + 1) for some in combinations(parts, count)):
            pieces, at = [], 0
            for start, end in sorted(left_out):
                pieces += [data[at:start].decode(), "…"]
                at = end
            text = "".join([*pieces, data[at:].decode()])
            if len(text) <= most:
                break
    text = one_line(text)
    return text if len(text) <= TEXT_CHARACTERS or len(text) <= most else f"{text[: TEXT_CHARACTERS - 1]}…"


def _parts(tree: ast.expr) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of an operation's operands, first those to leave out first."""
    if isinstance(tree, ast.Call):
        given: list[ast.expr | ast.keyword] = [*tree.args, *tree.keywords]
        spans = [(given[0].col_offset, given[-1].end_col_offset or 0)] if given else []
        if isinstance(tree.func, ast.Attribute):
            spans.append((tree.func.value.col_offset, tree.func.value.end_col_offset or 0))
    else:
        parts = [part for part in ast.iter_child_nodes(tree) if isinstance(part, ast.expr)]
        spans = [(part.col_offset, part.end_col_offset or 0) for part in parts]
        spans.sort(key=lambda span: span[0] - span[1])
    yield from (span for span in spans if span[1] - span[0] > 1)


class _Expression(NamedTuple):
    """An expression of a file."""

    tree: ast.expr
    data: Sequence[bytes]
    """The lines of the file, in whose bytes places are counted."""
    target: str
    """The variable that it is the value of, if that is all that its statement does."""
    repeats: bool
    """True inside a loop, where it may run several times."""

    def text(self, part: ast.expr | None = None, most: int = TEXT_CHARACTERS) -> str:
        """Return the short text of the expression, or of a part."""
        tree = part or self.tree
        if tree.lineno != tree.end_lineno:
            return short(ast.unparse(tree), most)
        return short(self.data[tree.lineno - 1][tree.col_offset : tree.end_col_offset].decode(), most)


@lru_cache(50)
def _expressions(source: str) -> Mapping[Place, _Expression]:
    """Return the expressions of a file that may run an operation, by their places; none if it is not Python."""
    found: dict[Place, _Expression] = {}
    tree = users_code.parsed(source) if len(source) <= users_code.MAX_FILE_CHARACTERS else None
    data = source.encode().split(b"\n")
    waiting: list[tuple[ast.AST, str | None, bool]] = [] if tree is None else [(tree, "", False)]
    while waiting:
        node, target, repeats = waiting.pop()
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            written: ast.expr = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
            found[_span(node)] = _Expression(written, data, node.target.id, repeats)
        elif isinstance(node, _KINDS) and target is not None:
            found[_span(node)] = _Expression(node, data, target, repeats)
        repeats = not isinstance(node, SCOPES) and (repeats or isinstance(node, _REPEATING))
        waiting += [(part, name, repeats) for part, name in _valued(node)]
    return found


def _span(node: ast.expr | ast.stmt) -> Place:
    return node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0


def _target(node: ast.AST) -> str | None:
    """Return the variable that a node assigns its value to; None for several results at once."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    if any(isinstance(target, (ast.Tuple, ast.List)) for target in targets):
        return None
    return next((target.id for target in targets if isinstance(target, ast.Name)), "")


def _valued(node: ast.AST) -> list[tuple[ast.AST, str | None]]:
    """Return the parts of a node, each with the variable that it is the value of (see ``_target``)."""
    match node:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):  # a, b = x, y
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            if len(names) == len(values):
                return [*zip(values, names, strict=True)]
    value = getattr(node, "value", None)
    return [(child, _target(node) if child is value else "") for child in ast.iter_child_nodes(node)]


@lru_cache(500)
def _words(code: CodeType) -> frozenset[str]:
    """Return the names in a code object and in those inside it."""
    own = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    return frozenset(own.union(*(_words(part) for part in code.co_consts if isinstance(part, CodeType))))


@lru_cache(500)
def _fits(tree: ast.expr, code: CodeType) -> bool:
    """Return whether a code object can be compiled from an expression: the file may have changed."""
    parts = [*ast.walk(tree)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names | {part.attr for part in parts if isinstance(part, ast.Attribute)} <= _words(code)


_unparsed = lru_cache(1000)(ast.unparse)


@lru_cache(1000)
def _numbered(code: str, variables: tuple[Turn, ...]) -> str:
    """Return the short text of an expression with numbers for its variables; empty if it has none of them."""
    text = code.encode()
    for start, end, number in sorted(_numbers(ast.parse(code, mode="eval").body, dict(variables)), reverse=True):
        text = text[:start] + str(number).encode() + text[end:]
    return short(text.decode()) if text.decode() != code else ""


def _numbers(tree: ast.AST, known: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    """Yield the parts of one line that are whole numbers: beginning, end, value."""
    number = number_of(tree, known)
    if number is not None and isinstance(tree, ast.expr):
        yield tree.col_offset, tree.end_col_offset or 0, number
    else:
        for child in ast.iter_child_nodes(tree):
            yield from _numbers(child, known)


@lru_cache(1000)
def _gives_tensor(tree: ast.expr) -> bool:
    """Return whether an expression's value is the result of its last operation, judged by its name."""
    if not isinstance(tree, ast.Call):
        return True
    name = called(tree)
    own = isinstance(tree.func, ast.Name) and hasattr(builtins, name) and name not in _VALUES
    return not own and name not in _PASSES


def _is_one_operation(names: Iterable[str], tree: ast.expr) -> bool:
    """Return whether each run of an expression is one operation: that of its outermost part, or an element."""
    if isinstance(tree, ast.Subscript):
        return {*names} <= _ELEMENT_NODES
    operation = operation_of(tree)
    return bool(operation) and all(same_operation(name, operation) for name in names)


def _argument_at(call: ast.Call, place: int) -> ast.expr | None:
    """Return the argument at a position of a call; None where a starred one before it may be several."""
    before = call.args[: place + 1]
    return before[-1] if len(before) > place and not any(isinstance(a, ast.Starred) for a in before) else None


def _called_module(scope: Sequence[Any]) -> Any:
    """Return the entry into a library module that the user's code has called; None without one."""
    own = None
    for entry in reversed(scope):
        if type(module_of(entry)).__module__.partition(".")[0] not in _LIBRARIES:
            break
        own = entry
    return own


def _named(owner: str, name: str) -> Any:
    """Return the library's object of this name, from ``Tensor``, ``nn`` or its functions; None without one."""
    torch: Any = import_module("nbautograd")
    if owner:
        return getattr(getattr(torch, owner), name, None)
    return getattr(torch.nn.functional, name, None) or getattr(torch, name, None)


def _runs(walk: GraphWalk) -> tuple[dict[tuple[Any, int], list[Any]], Counter[Any]]:
    """Return the operations by the instruction that ran them, and the number of them in each call of a module."""
    ran: dict[tuple[Any, int], list[Any]] = {}
    inside = Counter[Any]()
    for node in walk.order:
        trace = walk.traces[node]
        if trace is not None and trace.code is not None:
            ran.setdefault((trace.code, trace.instruction), []).append(node)
            inside.update([attribute(entry, "number") for entry in trace.scope] if trace.scope else ())
    return ran, inside


class SourceTexts:
    """The texts of the results of a graph's operations, and of their arguments.

    :param namespace: variables, to recognize modules.
    """

    def __init__(self, walk: GraphWalk, namespace: Mapping[str, Any]) -> None:
        self.walk, self.namespace = walk, namespace
        self.files: dict[str, Mapping[Place, _Expression]] = {}
        self.calls: dict[Any, _Expression] = {}  # for each operation, the expression that called it
        self.made: dict[Any, _Expression] = {}  # and of those whose results are values of expressions
        self.targets: dict[Any, str] = {}  # for those inside a loop, the variables that got their results
        self.runs: dict[Any, int] = {}  # for each run of an expression that is one operation, how many were before
        ran, inside = _runs(walk)
        for nodes in ran.values():
            trace = walk.traces[nodes[0]]
            expression = self.expression(trace)
            if expression is None:
                continue
            if len(nodes) == 1 or self.ran_once(nodes, expression):
                self.calls |= dict.fromkeys(nodes, expression)
                # Operations of the module that the expression calls, which ran on other lines:
                others = inside[attribute(_called_module(trace.scope), "number")] - len(nodes) if trace.scope else 0
                last = nodes
                if len(nodes) > 1:
                    used = {to for node in nodes for to, _ in walk.next[node]}
                    last = [node for node in nodes if node not in used]
                if len(last) == 1 and others <= 0 and _gives_tensor(expression.tree):
                    self.made[last[0]] = expression
            elif _is_one_operation({walk.names[node] for node in nodes}, expression.tree):
                self.calls |= dict.fromkeys(nodes, expression)
                self.runs |= {node: before for before, node in enumerate(nodes)}
                if expression.target:
                    self.targets |= dict.fromkeys(nodes, expression.target)

    def expression(self, trace: Any) -> _Expression | None:
        """Return the expression that called an operation; None if the file no longer has it."""
        place = place_of(trace)
        if place is None:
            return None
        if trace.filename not in self.files:
            self.files[trace.filename] = _expressions("".join(linecache.getlines(trace.filename)))
        known = self.files[trace.filename].get(place)
        return known if known is not None and _fits(known.tree, trace.code) else None

    def ran_once(self, nodes: Sequence[Any], expression: _Expression) -> bool:
        """Return whether all operations belong to one call: a function or a loop body may run several times."""
        if expression.repeats:
            return False
        if len({self.walk.names[node] for node in nodes}) == len(nodes):
            return True
        modules = {attribute(_called_module(self.walk.traces[node].scope), "number") for node in nodes}
        return len(modules) == 1 and None not in modules

    def results(self, nodes: Iterable[Any]) -> dict[Any, str]:
        """Return the texts of the expressions that made results, if they are known and differ."""
        calls = {node: self.calls[node].tree for node in nodes if node in self.runs}
        elements = {node: self.in_turn(node, tree) for node, tree in calls.items() if isinstance(tree, ast.Subscript)}
        alike = Counter(elements.values())
        told = {node: text for node, text in elements.items() if text and alike[text] == 1}
        for most in (FORMULA_CHARACTERS, TEXT_CHARACTERS):
            texts = {node: self.made[node].text(most=most) for node in nodes if node in self.made and node not in told}
            alike = Counter(texts.values())
            before = {*told.values()}
            told |= {node: text for node, text in texts.items() if alike[text] == 1 and text not in before}
        return told

    def variable(self, node: Any) -> str:
        """Return the variable to which the code assigned exactly this result."""
        return self.made[node].target if node in self.made else self.targets.get(node, "")

    def operand(self, node: Any, operand: Any) -> str:
        """Return the text of an operation's argument; empty if it is not certain which one it was.

        A variable that has another value in each run of a loop is numbered: from 0 if an operation of the loop assigns
        it, so that ``h₀`` comes before its result ``h₁``.
        """
        part = self.part(node, operand)
        if part is None:
            return "mask" if operand.name == "other" and "dropout" in self.function(node).lower() else ""
        if node in self.runs and isinstance(part, ast.Name):
            return part.id + subscript(self.runs[node] + (part.id not in self.targets.values()))
        return (self.in_turn(node, part) if node in self.runs else "") or self.calls[node].text(part)

    def code(self, node: Any, operand: Any) -> str:
        """Return the whole code of an operation's argument; empty if it is not certain which one it was."""
        part = self.part(node, operand)
        return "" if part is None else _unparsed(part)

    def function(self, node: Any) -> str:
        """Return the name of the class of the module, or else of the function, that ran an operation; or nothing."""
        trace = self.walk.traces[node]
        module = module_of(trace.scope[-1]) if trace.scope else None
        tree = self.calls[node].tree if node in self.calls else None
        return type(module).__name__ if module is not None else called(tree) if isinstance(tree, ast.Call) else ""

    def element(self, node: Any, operand: Any) -> str:
        """Return ``xs[3]`` for the argument ``xs[i]`` of an operation in a loop; empty if its turn is not known."""
        part = self.part(node, operand) if node in self.runs else None
        return self.in_turn(node, part) if isinstance(part, ast.Subscript) else ""

    def in_turn(self, node: Any, part: ast.expr) -> str:
        """Return the text of a part of a loop with the numbers that its variables had; empty if none is known."""
        turns = self.walk.turns(self.namespace)[self.walk.rank[node]].values()
        return _numbered(_unparsed(part), tuple(turn for turn in turns if turn.variable))

    def part(self, node: Any, operand: Any) -> ast.expr | None:
        """Return the part of the code that is an operation's argument; None if it is not certain which one it is."""
        expression = self.calls.get(node)
        if expression is None:
            return None
        tree, part = expression.tree, None
        if isinstance(tree, ast.BinOp):
            tensors = [other.name for other in self.walk.traces[node].operands if other.shape is not None]
            if len(tensors) == 2:
                part = (tree.left, tree.right)[tensors.index(operand.name)]
        elif isinstance(tree, ast.Call) and operand.name.startswith(FUNCTION_INPUT):
            if same_operation(self.walk.names[node], operation_of(tree)):
                part = _argument_at(tree, int(operand.name.removeprefix(FUNCTION_INPUT)))
        elif isinstance(tree, ast.Call):
            part = self.argument(tree, operand, self.walk.traces[node].scope)
        return None if isinstance(part, ast.Starred) else part

    def argument(self, call: ast.Call, operand: Any, scope: Sequence[Any]) -> ast.expr | None:
        """Return the argument that is an operand, in a call of a library function."""
        name, place = operand.parameter
        wanted = _PARAMETERS.get(name, name)
        function, given = self.called(call, scope)
        try:
            keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
            bound = inspect.signature(function).bind(*given, **keywords).arguments
        except (TypeError, ValueError):
            return None
        part = bound.get(wanted) or (bound.get("self") if wanted == "input" else None)
        if isinstance(part, (ast.List, ast.Tuple)) and place is not None:
            part = part.elts[place] if place < len(part.elts) else None
        return part if isinstance(part, ast.expr) else None

    def called(self, call: ast.Call, scope: Sequence[Any]) -> tuple[Any, list[ast.expr]]:
        """Return the library's function that is called, or None, and its arguments by position."""
        module = _called_module(scope)
        if module is not None:
            live = module.module()
            return getattr(live, "_function", live.forward), call.args
        if isinstance(call.func, ast.Call):  # a freed module, as in ``nn.MSELoss()(a, b)``
            return getattr(_named("nn", called(call.func)), "_function", None), call.args
        if self.is_function(call.func):
            return _named("", called(call)), call.args
        if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") != "self":
            return _named("Tensor", called(call)), [call.func.value, *call.args]
        return None, call.args

    def is_function(self, tree: ast.expr) -> bool:
        """Return whether a call is of a module's function, not of a method."""
        if isinstance(tree, ast.Name):
            return True
        owner = tree.value if isinstance(tree, ast.Attribute) else None
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        name = owner.id if isinstance(owner, ast.Name) else ""
        return isinstance(self.namespace[name], ModuleType) if name in self.namespace else name in _ALIASES
