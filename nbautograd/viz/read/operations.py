"""Read an operation's own description: its result, its arguments, its notation, the formulas of its derivative."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import formulas, introspect, jacobians, local_derivative, values
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.model import Formula, Node
from nbautograd.viz.read.naming import ResultNames
from nbautograd.viz.read.tiles import Tile, tile
from nbautograd.viz.read.values import Digest
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["OperationReader", "broadcast_dims"]

INFIX = "+−×÷@"
MAX_KNOWN = 2000  # formulas
_COUNTED = re.compile(r"(count|each)\(")  # in a formula that divides by a number of elements
NUMBERS = {"input", "other", "exponent", "base", "value", "min", "max", "tensor1", "tensor2", "weight", "end"}
"""Parameters whose number is drawn as a constant."""
OPTIONS = {
    "dim", "keepdim", "alpha", "beta", "dtype", "correction", "rounding_mode", "reduction", "out", "kernel", "stride",
    "padding", "dilation", "groups", "eps", "rows", "axes", "wide", "own", "ignored", "by_frequency", "sparse",
}  # fmt: skip
"""Parameters that are left out where an operation is written as an expression."""


def broadcast_dims(wide: tuple[int, ...], narrow: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions of ``wide`` along which something of shape ``narrow`` was broadcast.

    >>> broadcast_dims((2, 3, 4), (3, 1)), broadcast_dims((2,), (2,))
    ((0, 2), ())
    """
    extra = len(wide) - len(narrow)
    return tuple(i for i, n in enumerate(wide) if i < extra or (narrow[i - extra] == 1 and n != 1))


class OperationReader:
    """Reads the operations of a walk, with the names of their results."""

    def __init__(self, walk: GraphWalk, names: ResultNames) -> None:
        self.walk, self.names = walk, names
        self._results: dict[tuple[Any, int], tuple[str, str, str, Tile | None]] = {}

    def described(self, known: Node, node: Any, cls: Any, boxed: bool) -> Node:
        """Return the pill of an operation with all its details; its value is in its box, if it has one."""
        value, shape, dtype, drawn = self.result(node, 0)
        value, drawn = ("", None) if boxed else (value, drawn)
        first, more, _ = value.partition("\n")
        saved, freed, kept = self.walk.saved(node)
        slots = [self.names.slot_name(node, slot) for slot in range(len(self.walk.next[node]))]
        arguments = self.arguments(node, slots)
        operands = introspect.operands_of(node, kept, self.walk.traces[node])
        return replace(
            known, value=first + "…" * bool(more), tile=drawn, shape=shape, dtype=dtype,
            named=(node, 0) in self.names.variables.by_output,
            expression=self.expression(node, known.symbol, arguments),
            formulas=self.formulas(node, cls, self.known_marks(node, arguments, operands), slots),
            window=introspect.window_of(operands) if known.name == "ConvolutionBackward0" else (),
            operands=tuple(sorted([(one_line(name, 40), number) for name, number in values.numbers_of(operands)])),
            arguments=tuple([(name, one_line(shown, 40)) for name, shown in arguments if shown]),
            saved=saved, freed=freed, hooks=introspect.hooks_of(node, self.names.output_tensor(node, 0)),
        )  # fmt: skip

    def about(self, tensor: Any, node: Any = None) -> dict[str, Any]:
        """Return the facts about a live tensor besides its value.

        :param node: the operation that created it; for a tensor written to since, the value is the former one.
        """
        base, device, now, nbytes = introspect.state_of(tensor)
        version, now = self.versions(tensor, node, now)
        device = "" if device == "cpu" else one_line(device, 20)
        view_of = "" if base is None else self.names.base_name(base)
        return {"nbytes": nbytes, "device": device, "version": version, "now": now, "view_of": view_of}

    def versions(self, tensor: Any, node: Any, now: int) -> tuple[int, int]:
        """Return the version of a tensor with the shown value, and the current version, ``now``, if that is later."""
        trace = self.walk.traces.get(node)
        if node is not None and attribute(tensor, "grad_fn") is not node:  # now the history of another operation
            return (0, 0) if trace is None or trace.version is None else (trace.version, now)
        if not now or trace is None or self.value(node, 0) is not trace.value:
            return now, 0
        if trace.version is None or trace.output() is not tensor:  # computed in place, or one of several results
            return (now, 0) if np.array_equal(values.host(tensor), trace.value, equal_nan=True) else (0, 0)
        return trace.version, now if now != trace.version else 0

    def result(self, node: Any, index: int) -> tuple[str, str, str, Tile | None]:
        """Value, shape, dtype and tile of a result, if they are known; read once for its operation and its box."""
        if (node, index) not in self._results:
            known = self.value(node, index)
            value = values.text(known) if known is not None else ""
            trace = self.walk.traces[node] if index == 0 else None
            if trace is not None:
                about = str(tuple(trace.shape)), values.dtype_text(trace.dtype)
            elif known is None:
                about = introspect.metadata(node, index)
            else:
                about = values.shape_text(known), values.dtype_text(attribute(known, "dtype", ""))
            self._results[node, index] = value, *about, tile(known)
        return self._results[node, index]

    def value(self, node: Any, index: int) -> Any:
        """Return a result: the noted one, or the tensor itself while it lives; None if neither exists."""
        trace = self.walk.traces[node] if index == 0 else None
        noted = trace.value if trace is not None else None
        if noted is not None and not isinstance(noted, Digest):
            return noted
        tensor = self.names.output_tensor(node, index)
        if tensor is None or (noted is not None and attribute(tensor, "grad_fn") is not node):
            return noted
        return tensor

    def constants(self, node: Any) -> list[Any]:
        """The arguments along which no gradient goes and that are worth showing."""
        trace, edges, operands = self.walk.traces[node], self.walk.next[node], []
        names = getattr(self.walk.declared[node], "inputs", ())
        for operand in trace.operands if trace is not None else ():
            slot = operand.slot
            if slot is not None and slot < len(edges) and edges[slot][0] is not None:
                continue
            number = isinstance(operand.value, (int, float, complex)) and not isinstance(operand.value, bool)
            if operand.shape is not None or (number and (operand.name in names or operand.name in NUMBERS)):
                operands.append(operand)
        return operands

    def arguments(self, node: Any, slots: Sequence[str]) -> list[tuple[str, str]]:
        """(the parameter's name, its name in the picture), for the known arguments of an operation.

        :param slots: the names of its edges' tensors.
        """
        trace = self.walk.traces[node]
        if trace is None or not trace.operands:
            return [(self.input_name(node, slot), name) for slot, name in enumerate(slots)]
        pairs, by_slot = [], dict(enumerate(slots))
        for operand in trace.operands:
            name = by_slot.get(operand.slot, "")
            if not name and operand.tensor is not None:
                name = self.variable(node, operand) or self.names.operand_name(node, operand)
                name = name or (operand.name if operand.shape else "")
            pairs.append((operand.name, name or values.inline(operand.value)))
        return pairs

    def input_name(self, node: Any, slot: int) -> str:
        """Return the parameter of an operation whose arguments were not noted."""
        names = tuple(getattr(self.walk.declared[node], "inputs", ())) or ("input", "other")
        if len(self.walk.next[node]) == 3 and self.walk.names[node].startswith("Addmm"):
            names = ("bias", "input", "other")
        return names[slot] if slot < len(names) else f"input{slot}"

    def variable(self, node: Any, operand: Any) -> str:
        """The variable that an argument is, or ``xs[3]`` for one element of a tensor, if it is certain which one."""
        if operand.shape is None or operand.tensor is None:
            return ""
        named, kept = self.names.variables, self.walk.saved(node)[2].get(operand.name)
        return named.tensor(operand.tensor()) or named.element(kept) or self.names.texts.element(node, operand)

    def expression(self, node: Any, symbol: str, pairs: Sequence[tuple[str, str]]) -> str:
        """The operation as it might be written: ``a = w + x``."""
        arguments = [shown or "…" for name, shown in pairs if name not in OPTIONS]
        if self.walk.names[node].startswith(("Rsub", "PowBackward2")):
            arguments.reverse()  # rsub(input, other) is other − input, and this power is of its second argument
        label = self.names.results.get((node, 0), "")
        written = _notation(symbol, formulas.called(self.walk.names[node]), arguments)
        is_named = label not in ("", written, written.partition("(")[0])
        return self.names.written_out(node) or (f"{label} = {written}" if is_named else written)

    def formulas(self, node: Any, cls: Any, known: dict[str, list[Mark]], slots: Sequence[str]) -> tuple[Formula, ...]:
        """Return the formula of the gradient of each input.

        :param known: the marks for a formula's names.
        :param slots: the names of the inputs.
        """
        texts, inputs = getattr(cls, "formulas", None), dict(enumerate(getattr(cls, "inputs", ())))
        root, wide = self.differentiated, self.shape(node, 0)
        derivatives = []
        for slot, (to, index) in enumerate(self.walk.next[node]):
            parameter = inputs.get(slot, "")
            text = texts.get(parameter, "") if isinstance(texts, Mapping) else ""
            if to is None or not text:
                continue
            narrow, name = self.shape(to, index), slots[slot]
            if _COUNTED.search(text):
                known[formulas.COUNT] = [local_derivative.count_of(node, parameter, text, narrow)]
            is_shown = getattr(cls, "formula_value", None) is None or formulas.is_readable(text)
            result = "" if is_shown else self.names.results.get((node, 0), "result")
            differs = wide is None or wide != narrow
            over = _summed_over(node, slot, wide, narrow) if differs and jacobians.sums_over(text) else ""
            key = slot, parameter, text, root, name, result, over, repr(known)
            if key not in _known:
                _known[key] = _formula(slot, parameter, text, (root, name), result, over, known)
            derivatives.append(_known[key])
        return tuple(derivatives)

    def shape(self, node: Any, index: int) -> tuple[int, ...] | None:
        """Return the shape of a node's result, or of a leaf; None if unknown."""
        trace = self.walk.traces.get(node) if index == 0 else None
        return introspect.result_shape(node, index) if trace is None else tuple(trace.shape)

    @cached_property
    def differentiated(self) -> str:
        """Return the name of the differentiated value: the root's name, or L for several roots."""
        (node, index, _), *more = self.walk.roots
        return "L" if more or node is None else self.names.results[node, index]

    def known_marks(
        self, node: Any, arguments: Sequence[tuple[str, str]], operands: Mapping[str, Any]
    ) -> dict[str, list[Mark]]:
        """Return the marks for a formula's names: the gradient, the result, and the arguments by their shown names."""
        result = self.names.results.get((node, 0))
        g, made = ["d", self.differentiated, result or "·"], ["i", result or "result"]
        known: dict[str, list[Mark]] = {"g": [g], "result": [made]}
        for parameter, shown in arguments:
            if shown:
                known[parameter] = [["n" if shown.lstrip("-").replace(".", "", 1).isdigit() else "i", shown]]
        for parameter, value in operands.items():
            if parameter not in known and type(value) in (int, float):
                known[parameter] = [["n", values.inline(value)]]
        return known


_known: dict[tuple[Any, ...], Formula] = {}  # each graph has equal operations


def _formula(
    slot: int, parameter: str, text: str, names: tuple[str, str], result: str, over: str, known: dict[str, list[Mark]]
) -> Formula:
    """Return the formula of the gradient of an input.

    :param names: of the differentiated value, and of the input.
    :param result: the name of the operation's result, where the formula is not shown.
    :param over: the dimensions over which the gradient is summed.
    """
    if len(_known) > MAX_KNOWN:
        _known.clear()
    root, name = names
    if result:
        right, local = [*known["g"], ["o", "·"], ["d", result, name]], []
    else:
        right, local = formulas.marks(text, known), jacobians.factor_marks(text, known)
    written = [["d", root, name], ["o", "+="], *(formulas.summed(right, over) if over else right)]
    source = one_line(text, formulas.MAX_CHARACTERS)
    return Formula(slot, parameter, source, formulas.plain(written), written, local)


def _notation(symbol: str, called: str, arguments: Sequence[str]) -> str:
    """Return an operation with its symbol where that is between or beside its arguments, else as a call."""
    if symbol in INFIX and len(arguments) == 2:
        return f" {symbol} ".join(map(formulas.bracketed, arguments))
    if symbol == "−" and len(arguments) == 1:
        return f"−{formulas.bracketed(arguments[0])}"
    if symbol == "xᵀ" and arguments:
        return f"{formulas.bracketed(arguments[0])}ᵀ"
    if symbol.endswith("′"):
        called = symbol
    return f"{called}({', '.join(arguments[:6])}{', …' * (len(arguments) > 6)})"


def _summed_over(node: Any, slot: int, wide: tuple[int, ...] | None, narrow: tuple[int, ...] | None) -> str:
    """Return the dimensions of the result along which an input was broadcast: its gradient is a sum over them."""
    if wide is None or narrow is None:  # one of the library's own nodes knows what it sums
        specs = attribute(node, "input_meta") or ()
        return say("broadcast_dims") if slot < len(specs) and specs[slot] is not None else ""
    dims = broadcast_dims(wide, narrow)
    return f"dim {', '.join(map(str, dims))}" if dims else ""
