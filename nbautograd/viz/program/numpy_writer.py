"""Write a recorded graph as lines of NumPy: each is computed as it is written, and compared with the record."""

from __future__ import annotations

import ast
import functools
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.compiler.graph import INPUT, RESULT, Graph, Value
from nbautograd._engine.compiler.source import parsed
from nbautograd._engine.core import tracing
from nbautograd._engine.core.node import OutputGrads, gradients_of
from nbautograd.errors import ProgramError
from nbautograd.viz.program.bundle import PARTS, NotBundled
from nbautograd.viz.program.expressions import EXACT, OTHERWISE, PLAIN, READABLE, Operand
from nbautograd.viz.program.graph import Call, Tape, apart, drawn, is_freed, place_of, read, refuse
from nbautograd.viz.program.literals import dtype_text, same, same_elements
from nbautograd.viz.program.statements import BACKWARD, DATA, FORWARD, GRADS, Line
from nbautograd.viz.program.variables import Variables, method

__all__ = ["Choices", "NumpyWriter", "uncollected", "write_later", "written"]

LAYOUT = attrgetter("shape", "dtype", "strides")
STYLES = (READABLE, OTHERWISE, EXACT, PLAIN)


class Choices:
    """The forms of an operation that gave wrong bits somewhere.

    A sum that is written as NumPy users would gives the same bits by luck in one step of a loop and not in the next.
    What is to be written alike is written once to find out, and then again.

    :ivar changed: True if a form that was used has turned out to be wrong.
    """

    def __init__(self) -> None:
        self.wrong: dict[Any, set[Any]] = {}
        self.used: dict[Any, set[Any]] = {}
        self.changed = False

    def ways(self, key: Any, all_ways: tuple[Any, ...]) -> list[Any]:
        """Return all forms; those that were wrong for something of the same key come last."""
        return sorted(all_ways, key={*self.wrong.get(key, ())}.__contains__)

    def right(self, key: Any, way: Any) -> None:
        """Note a form that gave the right bits."""
        self.used.setdefault(key, set()).add(way)

    def failed(self, key: Any, way: Any) -> None:
        """Note a form that gave wrong bits, or failed."""
        self.wrong.setdefault(key, set()).add(way)
        self.changed = self.changed or way in self.used.get(key, ())


class NumpyWriter(Variables):
    """Writes the lines of a program."""

    def __init__(self, graph: Graph, seed: Any, choices: Choices) -> None:
        super().__init__(graph, seed)
        self.choices = choices

    def write(self) -> None:
        """All lines."""
        graph = self.graph
        given = [*graph.inputs, *graph.constants()]
        for value in [*given, *[value for call in graph.steps for value in call.results]]:
            self.variable[value] = self.names.new(value.name)
        with backend.quiet():
            for value in given:
                self.data(value, "leaf" if value.kind == INPUT else "")
            for call in graph.steps:
                self.forward(call)
            self.check_result()
            self.backward()
            self.accumulate()

    # -- forward -------------------------------------------------------------------------------------------------------

    def forward(self, call: Call) -> None:
        """The line of an operation."""
        place = place_of(call.node)
        if call.op.draws:
            self.recorded(call, place)
            return
        try:
            operands = self.operands[call] = self.prepared(call)
        except ProgramError as error:
            raise refuse(call.node, str(error)) from None
        op = call.op
        try:
            expected = op.body(
                *[operands[name].value for name in op.positional],
                *(operands[op.rest].value if op.rest else ()),
                **{name: operands[name].value for name in op.keywords},
            )
        except Exception as error:
            raise refuse(call.node, f"computing it again failed: {error}") from error
        rounded = self.rounded.get(call)
        if rounded is not None:
            expected = [_narrow(a, rounded) for a in expected] if op.many else _narrow(expected, rounded)
        if op.many:
            expected = tuple(expected)
        tree = self.chosen(call, expected, lambda style: self.result(call, operands, style))
        if op.many:
            self.add_several(call, tree, expected, place)
        else:
            name = self.variable[call.results[0]]
            self.add(name, tree, expected, FORWARD, place, node=call.node, origin=("call", call, [name]))
        self.compare(call, expected)

    def result(self, call: Call, operands: dict[str, Operand], style: str) -> ast.expr:
        """The expression of an operation's result."""
        dtype = next(iter([o.value.dtype for o in operands.values() if hasattr(o.value, "dtype")]), None)
        tree = self.expressions.body_call(call.op, operands, style, dtype)
        rounded = self.rounded.get(call)
        if rounded is None:
            return tree
        if call.op.many:
            return parsed(f"[part.astype({dtype_text(rounded)}) for part in {ast.unparse(tree)}]")
        return method(tree, "astype", parsed(dtype_text(rounded)))

    def key(self, call: Call, slot: int | None) -> Any:
        """Return the key of operations that must be written in the same way."""
        arrays = [o.value for o in self.operands[call].values() if isinstance(o.value, np.ndarray)]
        arrays += self.cotangent(call).values() if slot is not None else ()
        return type(call.node), slot, tuple(map(LAYOUT, arrays))

    def chosen(self, call: Call, expected: Any, written: Any, slot: int | None = None) -> ast.expr:
        """The first way to write an expression that gives the expected value, bit for bit."""
        reasons: list[Exception] = []
        reordered: str | None = None
        key = self.key(call, slot)
        for style in self.choices.ways(key, STYLES):
            before = {part: len(getattr(self.bundle, part)) for part in PARTS}
            try:
                tree: ast.expr = written(style)
                value = self.computed(tree)
            except (NotBundled, ArithmeticError, TypeError, ValueError, AttributeError, IndexError, NameError) as error:
                reasons.append(error)
            else:
                if _all_same(value, expected):
                    self.choices.right(key, style)
                    return tree
                if reordered is None and _ordered(tree, value, expected) is not None:
                    reordered = style
                reasons.append(ArithmeticError("it comes to other numbers"))
            self.choices.failed(key, style)
            self.bundle.restore(before)
            self.expressions.written.clear()  # their functions may have been dropped
        if reordered is not None:  # written again: its definitions were dropped with the bundle's state
            tree = written(reordered)
            return _ordered(tree, self.computed(tree), expected) or tree
        last = reasons[-1]
        what = f"{last} cannot be taken over" if isinstance(last, NotBundled) else f"{type(last).__name__}: {last}"
        raise refuse(call.node, what)

    def recorded(self, call: Call, place: str) -> None:
        """Write the line of a random operation: its drawn values."""
        array = drawn(call)
        if array is None:
            array = None if is_freed(call.node) else getattr(call.node, "s_result", None)
        if array is None:
            array = call.recorded
        if array is None or len(call.results) != 1:
            raise refuse(call.node, "it is random, and what it drew has not been kept")
        name = self.variable[call.results[0]]
        text, comment = self.array(array, name), f"{place}: what was drawn"
        self.add(name, text, array, FORWARD, comment, node=call.node, origin=("array", array))
        self.operands[call] = self.unpromoted(call)

    def compare(self, call: Call, value: Any) -> None:
        """Raise if a result differs from the recorded one."""
        recorded, first = call.recorded, value[0] if call.op.many else value
        if recorded is not None and isinstance(first, (np.ndarray, np.generic)) and not same_elements(recorded, first):
            raise refuse(
                call.node,
                "computed again it has another value than it had: a leaf or an operand has been written to since, or "
                "the result",
            )

    def check_result(self) -> None:
        """Raise if the result is not that of the user's tensor."""
        value = self.values[self.variable[self.root]]
        array = self.root.array
        if array is not None and not same_elements(array, value):
            raise ProgramError(
                f"a program cannot be written of {self.root.name!r}: computed again it has another value; a "
                "leaf or an operand has been written to since"
            )

    # -- backward ------------------------------------------------------------------------------------------------------

    def backward(self) -> None:
        """The lines of the pass, node by node as the engine takes them."""
        root = self.root
        name = self.names.new(f"g_{self.variable[root]}")
        value = self.values[self.variable[root]]
        if self.seed is None and value.size != 1:
            raise ProgramError(
                "grad can be implicitly created only for scalar outputs: say which gradient the pass starts with, "
                f"for a result of shape {list(value.shape)}"
            )
        start = backend.ones_like(value) if self.seed is None else self.seed
        self.gradient[root] = name
        self.add(name, self.array(start, name), start, BACKWARD, "where the pass begins", origin=("array", start))
        for call in reversed(self.graph.steps):  # by sequence number, as in the engine
            if not type(call.node)._relays:
                self.backward_of(call)
        paths: dict[str, list[Line]] = {}
        for line in self.lines:
            if line.part == BACKWARD and line.slot is not None:
                paths.setdefault(line.name, []).append(line)
        for lines in paths.values():
            for i, line in enumerate(lines if len(lines) > 1 else (), 1):
                line.comment += f", path {i} of {len(lines)}"

    def backward_of(self, call: Call) -> None:
        """The lines of one node that a gradient has reached: a term per input."""
        if self.gradient.keys().isdisjoint(call.results):
            return
        expected = self.expected(call)
        if call.op.lists:
            self.backward_of_list(call, expected)
            return
        for slot, (name, target) in enumerate(zip(call.op.inputs, call.targets, strict=False)):
            if target is not None and expected[slot] is not None:
                tree = self.chosen(call, expected[slot], functools.partial(self.term, call, name, slot), slot)
                self.send(call, target, tree, expected[slot], slot)

    def backward_of_list(self, call: Call, expected: list[Any]) -> None:
        """Write the backward of an operation on a list of tensors, whose formula gives all gradients at once."""
        if len(call.op.inputs) != 1:
            raise refuse(call.node, "it takes a list of tensors and further tensors")
        wanted = [(i, to) for i, to in enumerate(call.targets) if to is not None and expected[i] is not None]
        if not wanted:
            return
        parts = self.names.new(f"parts_of_g_{self.variable[call.results[0]]}")
        tree = self.chosen(call, list(expected), lambda style: self.term(call, call.op.inputs[0], None, style))
        self.lines.append(Line(f"{parts} = {ast.unparse(tree)}", call.name, BACKWARD, name=parts, node=call.node))
        self.hold(parts, list(expected))
        for i, target in wanted:
            self.send(call, target, parsed(f"{parts}[{i}]"), expected[i], i)

    def expected(self, call: Call) -> list[Any]:
        """The gradients that the node itself computes, or, where a pass has freed it, its formulas."""
        node, op = call.node, call.op
        g = self.cotangent(call)
        try:
            if is_freed(node):
                return self.by_formulas(call)
            first, second = node.vjp(OutputGrads(g) if op.many else g[0], True)
        except ProgramError:
            raise
        except Exception as error:
            raise refuse(node, f"its backward failed: {error}") from error
        gradients = gradients_of(first, second, len(call.targets))
        for gradient in gradients:
            if gradient is not None and not isinstance(gradient, (np.ndarray, np.generic)):
                raise refuse(node, "its gradient is no dense array")
        return gradients

    def by_formulas(self, call: Call) -> list[Any]:
        """The gradients by the formulas of the declaration, over the values of the program."""
        if call.op.lists:
            return list(self.computed(self.term(call, call.op.inputs[0], None, PLAIN)))
        return [
            None if call.targets[slot] is None else self.computed(self.term(call, name, slot, PLAIN))
            for slot, name in enumerate(call.op.inputs)
        ]

    def cotangent(self, call: Call) -> dict[int, Any]:
        """The gradients that have arrived, by output."""
        return {i: self.values[self.gradient[value]] for i, value in enumerate(call.results) if value in self.gradient}

    def add_several(self, call: Call, tree: ast.expr, expected: tuple[Any, ...], place: Any) -> None:
        """Add the line of an operation with several results."""
        first, *others = call.results
        further = range(1 + len(others), len(expected))
        call.results = [first, *others, *(Value(RESULT, f"{first.name}_{number}") for number in further)]
        for value in call.results:
            self.variable.setdefault(value, self.names.new(value.name))
        names = [self.variable[value] for value in call.results]
        for name, value in zip(names, expected, strict=True):
            self.hold(name, value)
        targets = ", ".join(names) + ("," if len(names) == 1 else "")
        text, origin = f"{targets} = {ast.unparse(tree)}", ("call", call, names)
        self.lines.append(Line(text, place, FORWARD, name=names[0], node=call.node, origin=origin))

    def term(self, call: Call, name: str, slot: int | None, style: str) -> ast.expr:
        """Return the gradient that a node sends to one of its inputs, reduced to its shape and dtype."""
        op = call.op
        operands = {key: Operand(o.tree, o.value, o.short) for key, o in self.operands[call].items()}
        every = [*operands.values(), *self.add_results(operands, call, call in self.rounded)]
        tree = self.expressions.formula(op.formulas[name], op, operands, style, _dtype_of(every))
        meta = call.node.input_meta
        if slot is None or meta is None:
            return tree
        spec = meta[op.tensors.index(name)]
        return tree if spec is None else self.brought_back(call, tree, spec, style)

    def summed(self, call: Call, tree: ast.expr, value: Any, shape: tuple[int, ...], style: str) -> ast.expr:
        """Return the sum of a gradient in the shape of an input that was broadcast."""
        ndim = value.ndim - len(shape)
        kept = tuple(d for d, n in enumerate(shape, ndim) if n == 1 and value.shape[d] != 1)
        axes = (*range(ndim), *kept)
        sum_to = sys.modules["nbautograd._engine.ops._internal"].sum_to.__globals__["OP"].body
        key = ("sum", *self.key(call, None), value.shape, shape, style)
        if style != PLAIN and not (ndim and kept) and self.choices.ways(key, (True, False))[0]:
            written = method(tree, "sum")
            if shape:
                written.keywords = [ast.keyword("axis", parsed(repr(axes[0] if len(axes) == 1 else axes)))]
            if kept:
                written.keywords.append(ast.keyword("keepdims", ast.Constant(True)))
            if same(self.computed(written), sum_to(value, shape)):
                self.choices.right(key, True)
                return written
            self.choices.failed(key, True)
        return ast.Call(ast.Name(self.expressions.function(sum_to), ast.Load()), [tree, parsed(repr(shape))], [])

    def brought_back(self, call: Call, tree: ast.expr, spec: tuple[Any, ...], style: str) -> ast.expr:
        """A gradient in the shape and dtype of its input: the sums of broadcasting, and promotion undone."""
        shape, dtype, device = spec
        if device is not None:
            raise refuse(call.node, "its operands were on several devices")
        value = self.computed(tree)
        if value.shape != shape:
            tree = self.summed(call, tree, value, shape, style)
            value = self.computed(tree)
        if value.dtype != dtype:
            if value.dtype.kind == "c" and dtype.kind != "c":
                tree = ast.Attribute(tree, "real", ast.Load())
            tree = method(tree, "astype", parsed(dtype_text(dtype)))
        return tree

    def send(self, call: Call, target: Value, tree: ast.expr, value: Any, slot: int) -> None:
        """The line of one term, and the backward of a temporary view that gets it."""
        name = self.gradient.get(target)
        about = {"node": call.node, "slot": slot, "origin": ("term", call, slot, name is None, value)}
        if name is None:
            name = self.gradient[target] = self.names.new(f"g_{self.variable[target]}")
            self.add(name, tree, value, BACKWARD, call.name, **about)
            held = self.holders[id(value)] > 1
            self.fresh[name] = isinstance(value, np.generic) or (value.base is None and not held)
        else:
            before = self.values[name]
            total, text = before + value, self.text(tree)
            lies_alike = isinstance(before, np.generic) or LAYOUT(total) == LAYOUT(before)
            added = f"{name} += {text}" if self.fresh[name] and lies_alike else f"{name} = {name} + {text}"
            self.lines.append(Line(added, call.name, BACKWARD, name=name, **about))
            self.hold(name, total)
            self.fresh[name] = True
        if target in self.relays:
            self.backward_of(self.relays[target])

    def accumulate(self) -> None:
        """The lines that add to the gradients of the leaves."""
        for leaf in self.graph.inputs:
            gradient = self.gradient.get(leaf)
            if gradient is None:
                continue
            name = self.results[leaf] = self.names.new(f"{self.variable[leaf]}_grad")
            held, value = leaf.tensor.grad, self.values[gradient]
            what, own = f"{leaf.name}.grad", leaf.array.dtype
            if value.dtype != own and value.ndim > 1:
                gradient, value = f"{gradient}.astype({dtype_text(own)})", value.astype(own)
            if held is None:
                self.add(name, gradient, value, GRADS, what, origin=("result", leaf, gradient, None))
                continue
            if not isinstance(held._a, (np.ndarray, np.generic)):
                raise ProgramError(f"a program cannot be written: {what} is no dense array")
            self.add(name, self.array(held._a, name), held._a, DATA, f"{what}, as it was")
            origin = ("result", leaf, gradient, held._a)
            self.lines.append(Line(f"{name} = {name} + {gradient}", what, GRADS, name=name, origin=origin))
            self.hold(name, held._a + value)


@contextmanager
def uncollected() -> Iterator[None]:
    """Suspend the garbage collection of cycles: a long program consists of a million small trees without cycles."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


def write_later(
    root: Any, gradient: Any, name_of: Callable[[Any, int], str], tensor_name: Callable[[Any], str], tape: Tape
) -> tuple[Callable[[], list[Line]], dict[Any, Any]]:
    """Return a function that writes the NumPy program of a graph that a pass may have freed by then, to be read.

    With it come the nodes of its lines, each with the node of the graph of which it is a copy.

    :raises ProgramError: as for :func:`write`; what cannot be written may also be found when it is written.
    """
    graph, seed = read(root, name_of, tensor_name, tape), getattr(gradient, "_a", gradient)
    nodes = [call.node for call in graph.steps]
    apart(graph)
    if isinstance(seed, np.ndarray):
        seed = seed.copy(order="K")

    @uncollected()
    def lines() -> list[Line]:
        with tracing.traced():
            return written(graph, seed, Choices(), named_only=True).lines

    return lines, {call.node: node for call, node in zip(graph.steps, nodes, strict=True)}


def written(graph: Graph, gradient: Any, choices: Choices, *, named_only: bool = False) -> NumpyWriter:
    """The NumPy program's lines; if ``named_only``, to be read: the functions that they call are not taken over."""
    writer = NumpyWriter(graph, None if gradient is None else getattr(gradient, "_a", gradient), choices)
    writer.bundle.named_only = named_only
    writer.write()
    return writer


def _dtype_of(operands: list[Operand]) -> Any:
    """Return the dtype in which a formula is computed: the first complex one of its numbers, else the first."""
    values = [o.value for o in operands]
    kinds = [value.dtype for value in values if getattr(getattr(value, "dtype", None), "kind", "-") in "fc"]
    return next(iter([kind for kind in kinds if kind.kind == "c"] or kinds), None)


def _narrow(a: Any, dtype: Any) -> Any:
    return a.astype(dtype) if a.dtype == np.float32 else a


def _all_same(value: Any, expected: Any) -> bool:
    if isinstance(expected, (list, tuple)):
        return isinstance(value, (list, tuple)) and len(value) == len(expected) and all(map(_all_same, value, expected))
    return expected is None or same(value, expected)


def _ordered(tree: ast.expr, value: Any, expected: Any) -> ast.expr | None:
    """Return the expression with its elements in the expected memory layout, if only that differs."""
    if not isinstance(value, np.ndarray) or not isinstance(expected, np.ndarray):
        return None
    if value.dtype != expected.dtype or value.strides == expected.strides or not same_elements(value, expected):
        return None
    function = "np.asfortranarray" if expected.flags.f_contiguous else "np.ascontiguousarray"
    return ast.Call(parsed(function), [tree], []) if expected.flags.forc and expected.ndim > 1 else None
