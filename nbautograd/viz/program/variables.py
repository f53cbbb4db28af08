"""The variables of a program: leaves, constants, and the operands of each operation as its body gets them."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

import numpy as np

from nbautograd._engine.arrays import memory_format
from nbautograd._engine.arrays.summation import upcast_half
from nbautograd._engine.compiler.graph import CONSTANT, Graph, Value
from nbautograd._engine.compiler.promotion import HalfPrecision, promote, promote_half, widen_all
from nbautograd._engine.compiler.schema import POINTWISE, UPCAST, VIEW
from nbautograd._engine.compiler.source import evaluated, parsed
from nbautograd._engine.core.tensor import wrap
from nbautograd.errors import ProgramError
from nbautograd.viz.program.bundle import Bundle
from nbautograd.viz.program.expressions import Expressions, Operand
from nbautograd.viz.program.graph import Call
from nbautograd.viz.program.literals import array_text, dtype_text, literal, same
from nbautograd.viz.program.names import RESERVED, identifier
from nbautograd.viz.program.statements import DATA, Line

__all__ = ["Names", "Variables", "method", "widen"]


class Names:
    """Gives each thing a name of its own."""

    def __init__(self) -> None:
        self.taken = set(RESERVED)
        self._next: dict[str, int] = {}

    def new(self, wanted: str) -> str:
        """Return an unused name: the requested one, or with a number."""
        name = plain = identifier(wanted)
        number = self._next.get(plain, 2)
        while name in self.taken:
            name, number = f"{plain}_{number}", number + 1
        self._next[plain] = number
        self.taken.add(name)
        return name


class Variables:
    """Names values, each in ``values``, and writes their contents; large arrays are ``stored`` beside the program."""

    def __init__(self, graph: Graph, seed: Any = None) -> None:
        self.graph, self.seed, self.root = graph, seed, graph.outputs[0].value
        self.names = Names()
        self.bundle = Bundle(self.names.taken)
        self.expressions = Expressions(self.bundle)
        self.lines: list[Line] = []
        self.values: dict[str, Any] = self.expressions.scope
        self.holders: Counter[int] = Counter()
        """The number of variables that hold an object, by its id()."""
        self.stored: dict[str, Any] = {}
        self.variable: dict[Value, str] = {}
        self.gradient: dict[Value, str] = {}
        self.results: dict[Value, str] = {}
        self.relays = {value: call for call in graph.steps if type(call.node)._relays for value in call.results}
        """Temporary views, by their results."""
        self.operands: dict[Call, dict[str, Operand]] = {}
        self.option_arrays: dict[int, Value] = {}
        self.rounded: dict[Call, Any] = {}
        """Operations of half precision, and the dtype that their results are rounded to."""
        self.last_text: tuple[ast.expr | None, str] = None, ""
        self.fresh: dict[str, bool] = {}
        """Gradients, and True if they may be added to in place because no other name refers to the array."""

    # -- lines ---------------------------------------------------------------------------------------------------------

    def add(self, name: str, tree: ast.expr | str, value: Any, part: str, comment: str = "", **about: Any) -> None:
        """Append the line that gives a variable its value."""
        text = tree if isinstance(tree, str) else self.text(tree)
        self.lines.append(Line(f"{name} = {text}", comment, part, name=name, **about))
        self.hold(name, value)

    def hold(self, name: str, value: Any) -> None:
        """Give a variable its value."""
        if name in self.values:
            self.holders[id(self.values[name])] -= 1
        self.values[name] = value
        self.holders[id(value)] += 1

    def computed(self, tree: ast.expr) -> Any:
        """Return the value of an expression."""
        return evaluated(self.text(tree), self.values, {})

    def text(self, tree: ast.expr) -> str:
        """Return an expression as text; that of the last one is kept, since a computed one becomes a line."""
        if self.last_text[0] is not tree:
            self.last_text = tree, ast.unparse(tree)
        return self.last_text[1]

    def data(self, value: Value, comment: str = "") -> None:
        """The line of a leaf or a constant."""
        name, array = self.variable[value], value.array
        what = f"{array.dtype.name}, {tuple(array.shape)}" if array.size > 16 else ""
        about = ", ".join(filter(None, (comment, what)))
        self.add(name, self.array(array, name), array, DATA, about, origin=("array", array))

    def array(self, array: Any, name: str) -> str:
        """An array as an expression; a large one is stored under a name."""

        def load(stored: Any) -> str:
            self.stored[name] = stored.copy()  # the tensor may be written to before the program is saved
            return f"data[{name!r}]"

        text = array_text(array, load)
        value = evaluated(text, {"np": np, "data": self.stored}, {})
        if not same(value, array):  # its elements have gaps: they are stored with the bytes between them
            raise ProgramError(
                f"a program cannot be written with {name!r}: its elements lie apart in memory, in strides of "
                f"{array.strides}; a clone() of it can be written"
            )
        return text

    def option(self, value: Any, wanted: str) -> ast.expr:
        """An option of an operation; arrays in it become constants."""

        def array(a: Any) -> str:
            if id(a) not in self.option_arrays:
                if a.size <= 4 and a.ndim < 2:
                    return array_text(a)
                constant = Value(CONSTANT, wanted, a)
                self.option_arrays[id(a)] = constant
                self.variable[constant] = self.names.new(wanted)
                self.data(constant)
            return self.variable[self.option_arrays[id(a)]]

        return parsed(literal(value, array, self.refer))

    def refer(self, value: Any) -> str:
        """Return the name of a class, a function or a constant of this package in the program."""
        if isinstance(value, memory_format.memory_format):
            return self.expressions.constant(memory_format.__name__, value)
        return self.expressions.function(value)

    # -- operands ------------------------------------------------------------------------------------------------------

    def named(self, name: str | None) -> Operand:
        """Return a variable, or None, as an operand."""
        if name is None:
            return Operand(ast.Constant(None), None)
        return Operand(ast.Name(name, ast.Load()), self.values[name])

    def add_results(self, operands: dict[str, Operand], call: Call, wide: bool = False) -> list[Operand]:
        """Add ``g`` and ``result``, or lists of several; return their operands, ``wide`` ones in float32."""
        gradients = [self.named(self.gradient.get(value)) for value in call.results]
        results = [self.named(self.variable[value]) for value in call.results]
        for operand in (*gradients, *results) if wide else ():
            widen(operand)
        for name, each in (("g", gradients), ("result", results)):
            operands[name] = each[0]
            if call.op.many:
                operands[name] = Operand(ast.List([o.tree for o in each], ast.Load()), [o.value for o in each])
        return [*gradients, *results]

    def unpromoted(self, call: Call) -> dict[str, Operand]:
        """The arguments of the call by parameter."""
        op = call.op
        operands: dict[str, Operand] = {}
        for name in (*op.positional, *op.keywords, *filter(None, [op.rest])):
            value = None if name == "generator" else call.arguments.get(name)  # tracing omits None
            if isinstance(value, Value):
                operands[name] = self.named(self.variable[value])
            elif isinstance(value, list) and value and all(isinstance(part, Value) for part in value):
                names = [self.variable[part] for part in value]
                tree = ast.List([ast.Name(n, ast.Load()) for n in names], ast.Load())
                operands[name] = Operand(tree, [self.values[n] for n in names])
            else:
                operands[name] = Operand(self.option(value, name), value)
        return operands

    def prepared(self, call: Call) -> dict[str, Operand]:
        """Return the operands after promotion, as the body gets them and formulas name them."""
        op, operands = call.op, self.unpromoted(call)
        if op.kind == POINTWISE:
            self.promoted(call, operands)
        elif op.kind == VIEW:
            for operand in map(operands.__getitem__, op.tensors):
                if isinstance(operand.value, np.generic):
                    operand.value = np.asarray(operand.value)
                    operand.tree = ast.Call(parsed("np.asarray"), [operand.tree], [])
        elif op.half_policy == UPCAST and op.tensors:
            own = [operands[name] for name in op.tensors]
            if upcast_half(own[0].value) is not own[0].value:
                *_, self.rounded[call] = widen_all(op, tuple(operand.value for operand in own))
                for operand in own:
                    widen(operand)
        return operands

    def promoted(self, call: Call, operands: dict[str, Operand]) -> None:
        """Convert the operands to one dtype explicitly."""
        op = call.op
        values = [operands[name].value for name in op.tensors]
        given = tuple([wrap(value) if isinstance(value, (np.ndarray, np.generic)) else value for value in values])
        try:
            *cast, _, _ = promote(op, given)
        except HalfPrecision:
            promoted = promote_half(op, given)
            cast = list(promoted[: len(op.tensors)])
            self.rounded[call] = promoted[-1]
        for name, value in zip(op.tensors, cast, strict=True):
            operand = operands[name]
            before, operand.value = operand.value, value
            if not hasattr(before, "dtype"):  # a number
                operand.short = operand.tree
                operand.tree = parsed(array_text(value))
            elif before.dtype != value.dtype:
                operand.tree = method(operand.tree, "astype", parsed(dtype_text(value.dtype)))


def method(tree: ast.expr, name: str, *arguments: ast.expr) -> ast.Call:
    """A call of a method."""
    return ast.Call(ast.Attribute(tree, name, ast.Load()), list(arguments), [])


def widen(operand: Operand) -> None:
    """Half precision in float32."""
    wide = upcast_half(operand.value)
    if wide is not operand.value:
        operand.tree, operand.value = method(operand.tree, "astype", parsed("np.float32")), wide
