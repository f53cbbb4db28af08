"""Name the results of a graph's operations, and the lines of code that made them."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from functools import cache, cached_property, lru_cache
from itertools import count
from operator import itemgetter
from typing import Any

from nbautograd.protocol import SourceLocator
from nbautograd.viz.escape import clean, one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import formulas, introspect
from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.source_text import SourceTexts
from nbautograd.viz.read.values import is_tensor
from nbautograd.viz.read.walk import GraphWalk, inside

__all__ = ["Names", "Resolve", "ResultNames", "SourceLines", "lines_of"]

MAX_TRANSPOSED_CHARACTERS = 40  # of a name that gets a sign for transposition

Resolve = Callable[[str, int], tuple[str, str]]
"""(filename, line number) -> (a label such as ``In [3]``, the text of the line)."""


def lines_of(filename: str) -> list[str]:
    """All lines of a file, or of a cell as they were typed; none where they are not known."""
    return getattr(SourceLocator.locate, "lines", linecache.getlines)(filename)


class SourceLines:
    """The lines of code in which operations ran, each asked for once."""

    def __init__(self, resolve: Resolve) -> None:
        self.resolve = cache(resolve)
        self._fields: dict[tuple[str, int], dict[str, Any]] = {}

    def of(self, trace: Any) -> tuple[str, str]:
        """Return the name of the file of a trace, and the text of the line."""
        return self.resolve(trace.filename, trace.lineno)

    def fields(self, trace: Any) -> dict[str, Any]:
        """Return the trace as fields of a node of the picture."""
        if trace is None:
            return {}
        place = trace.filename, trace.lineno
        if place not in self._fields:
            label, text = self.of(trace)
            cell, line, code = one_line(label, 60), int(trace.lineno), clean(text.strip())
            where = say("line_of", cell=cell, n=line)
            self._fields[place] = {"where": where, "cell": cell, "line": line, "source": code}
        return self._fields[place]


class Names:
    """Which variable names a tensor has: leaves by identity, results also by the node and output that made them."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.by_tensor: dict[int, list[str]] = {}
        self.by_name: dict[str, Any] = {}
        self.by_output: dict[tuple[Any, int], list[str]] = {}
        self.tensors: dict[tuple[Any, int], Any] = {}
        self.sequences: list[tuple[str, Any]] = []  # variables without a gradient, such as a loop's inputs
        for name, value in self._pairs(namespace):
            self.by_tensor.setdefault(id(value), []).append(name)
            self.by_name[name] = value
            node = attribute(value, "grad_fn")
            if node is not None:
                output = (node, attribute(value, "output_nr", 0) or 0)
                self.by_output.setdefault(output, []).append(name)
                self.tensors.setdefault(output, value)
            elif not attribute(value, "requires_grad", False) and not name.startswith("_"):
                self.sequences.append((name, value))

    @staticmethod
    def _pairs(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield tensors by name: those of variables first, then what is inside of other variables."""
        others: list[tuple[str, Any]] = []
        for name, value in list(namespace.items()):
            if not isinstance(name, str):
                continue
            if hasattr(type(value), "grad_fn") and is_tensor(value):
                yield name, value
            elif not name.startswith("_"):
                others.append((name, value))
        for name, value in others:
            yield from inside(name, value)

    def detached_from(self, tensor: Any) -> str:
        """The name of the leaf or result from which a constant was detached, so that they share memory; or nothing."""
        place = attribute(tensor, "data_ptr")
        if not callable(place) or attribute(tensor, "requires_grad", False):
            return ""
        try:
            start = place()
            known = self._at.get(start, ()) if start else ()
            return next((name for other, name in known if other is not tensor), "")
        except Exception:
            return ""

    @cached_property
    def _at(self) -> dict[int, list[tuple[Any, str]]]:
        """By its place in memory: each result and leaf that is known by a name, with that name; results first."""
        named = [(tensor, self.output(*output)) for output, tensor in self.tensors.items()]
        named += [(tensor, one_line(name, 40)) for name, tensor in self.by_name.items()
                  if attribute(tensor, "requires_grad", False) and is_tensor(tensor)]  # fmt: skip
        places: dict[int, list[tuple[Any, str]]] = {}
        for tensor, name in named:
            with suppress(Exception):  # what has no memory of its own
                places.setdefault(tensor.data_ptr(), []).append((tensor, name))
        return places

    @staticmethod
    @lru_cache(2000)
    def _public(names: tuple[str, ...]) -> list[str]:
        public = [name for name in names if not name.startswith("_")] or names[:1]
        shown = [name for name in public if name.isidentifier()]
        # A tensor without a variable of its own has all names that one module or object gives it.
        shown = shown or [name for name in public if name.partition(".")[0] == public[0].partition(".")[0]]
        return [one_line(name, 80 if "." in name else 40) for name in shown]

    def all_of(self, tensor: Any, node: Any = None, index: int = 0) -> str:
        """The names of a tensor, or of a result, that has several: ``y = h``; nothing for one.

        Return names without their module's name, which is the same: ``emb.weight = out.weight``.
        """
        names = self._public(tuple(self.by_output.get((node, index)) or self.by_tensor.get(id(tensor), [])))[:3]
        return " = ".join(name.partition(".")[2] or name for name in names) if len(names) > 1 else ""

    def whole(self, tensor: Any) -> str:
        """One name of a tensor; that of an element of a sequence for such, or nothing."""
        return self.tensor(tensor) or self.element(tensor)

    def tensor(self, tensor: Any) -> str:
        """Return the name of a tensor, or nothing."""
        names = self.by_tensor.get(id(tensor)) if tensor is not None else None
        return self._public(tuple(names))[0] if names else ""

    def element(self, array: Any) -> str:
        """Return ``xs[3]`` for an array that is one element of a variable's tensor along dimension 0, or nothing."""
        try:
            place, shape = array.__array_interface__["data"][0], tuple(array.shape)
        except Exception:
            return ""
        for name, tensor in self.sequences:
            try:
                step = tensor.stride()[0] * tensor.element_size()
                index, rest = divmod(place - tensor.data_ptr(), step)
                inner = tuple(stride * tensor.element_size() for stride in tensor.stride()[1:])
                if (shape, array.strides) == (tuple(tensor.shape[1:]), inner) and not rest and 0 <= index < len(tensor):
                    return f"{one_line(name, 36)}[{index}]"
            except Exception:
                continue
        return ""

    def reshaped(self, array: Any) -> str:
        """Return the variable without a gradient that has the elements of an array, in their order; or nothing."""
        try:
            place, size = array.__array_interface__["data"][0], array.size if array.flags.c_contiguous else 0
            for name, tensor in self.sequences:
                if size and tensor.data_ptr() == place and tensor.numel() == size and tensor.is_contiguous():
                    return one_line(name, 40)
        except Exception:
            pass
        return ""

    def output(self, node: Any, index: int) -> str:
        """Return the name of a result of a node, or nothing."""
        names = self.by_output.get((node, index))
        return self._public(tuple(names))[0] if names else ""


class ResultNames:
    """``results``: (node, output) -> its variable's name, that of the line's assignment, or the operation's.

    ``indices`` has for each node its used outputs, ``multiple`` the nodes with several outputs or another than the
    first, ``leaves`` the names of leaves by id(). A result without a variable is named by the text of its expression,
    if that is unambiguous. Others are called tanh₁, tanh₂, … as they ran, kᵀ where a matrix is transposed.

    :param identifiers: whether all names are to be identifiers: results without a variable are called t1, t2, …
    """

    def __init__(
        self, walk: GraphWalk, namespace: Mapping[str, Any], lines: SourceLines, *, identifiers: bool = False
    ) -> None:
        self.walk, self.lines, self.variables = walk, lines, Names(namespace)
        self.namespace, self.are_identifiers = namespace, identifiers
        self.root_tensors = {(node, index): tensor for node, index, tensor in walk.roots if node is not None}
        self.indices: dict[Any, list[int]] = {}
        for node, index in sorted(walk.used.union(self.root_tensors), key=itemgetter(1)):
            self.indices.setdefault(node, []).append(index)
        self.multiple = {node for node, indices in self.indices.items() if indices != [0]}
        self.leaves = self.name_leaves()
        outputs = [(node, i) for node in walk.order for i in (self.indices[node] if node in self.multiple else (0,))]
        named = self.variables
        self.own = {  # the names of the variables that hold results
            output: named.output(*output) or named.tensor(self.output_tensor(*output)) for output in outputs
        }
        self.name_results()

    @cached_property
    def texts(self) -> SourceTexts:
        """The texts of results and arguments in the code."""
        return SourceTexts(self.walk, self.namespace)

    def identifiers(self) -> ResultNames:
        """Return the names of a program, which are all identifiers."""
        named = copy(self)
        named.are_identifiers = True
        named.name_results()
        return named

    def name_leaves(self) -> dict[int, str]:
        """The names of leaves: their variables', or leaf1, leaf2, …."""
        distinct = {id(variable): variable for variable in self.walk.variables.values()}.values()
        return {id(leaf): self.variables.tensor(leaf) or f"leaf{i}" for i, leaf in enumerate(distinct, 1)}

    def name_results(self) -> None:
        """Give every result a name."""
        self.results: dict[tuple[Any, int], str] = {}
        taken = {*self.variables.by_name}
        lines = self.names_of_lines(taken)
        taken.update(self.leaves.values())
        self.by_text = {} if self.are_identifiers else self.names_of_texts({*taken, *lines.values()}, lines)
        for (node, index), name in self.own.items():
            if not name and (node, index) in self.root_tensors:
                name = "out" if len(self.walk.roots) == 1 else f"out{len(self.results)}"
            elif not name and index == 0:
                name = lines.get(node) or self.by_text.get(node, "")
            self.results[node, index] = name
        unnamed = [output for output, name in self.results.items() if not name]
        taken.update(self.results.values())
        name_unnamed = self.name_by_number if self.are_identifiers else self.name_by_operation
        name_unnamed(unnamed, taken)
        self.taken = taken.union(self.results.values())

    def name_by_number(self, unnamed: list[tuple[Any, int]], taken: set[str]) -> None:
        """Call results t1, t2, …"""
        free = (name for i in count(1) if (name := f"t{i}") not in taken)
        self.results.update(zip(unnamed, free, strict=False))

    def name_by_operation(self, unnamed: list[tuple[Any, int]], taken: set[str]) -> None:
        """Call results by their operations, numbered where there are several of one."""
        names = {node: formulas.called(self.walk.names[node]) for node, _ in unnamed}
        several, numbers = Counter([names[node] for node, _ in unnamed]), Counter[str]()
        for node, index in unnamed:
            name = transposed = ""
            if introspect.transposes(node, self.walk.names[node]):
                transposed = formulas.bracketed(self.slot_name(node, 0))
            if transposed and len(transposed) <= MAX_TRANSPOSED_CHARACTERS:
                self.results[node, index] = f"{transposed}ᵀ"
                continue
            made = names[node]
            while not name or name in taken:
                numbers[made] += 1
                name = made + introspect.subscript(numbers[made])
            self.results[node, index] = made if several[made] == 1 and made not in taken else name

    def names_of_lines(self, taken: set[str]) -> dict[Any, str]:
        """Names of results by the lines that assigned them; results of one name, as in a loop, are numbered."""
        assigned: dict[str, list[Any]] = {}
        for node in self.walk.order:
            if self.walk.traces[node] is None or node in self.multiple or self.own[node, 0]:
                continue
            if name := self.assigned_name(node):
                assigned.setdefault(name, []).append(node)
        return {node: one_line(name, 40) + (introspect.subscript(i) if len(nodes) > 1 or name in taken else "")
                for name, nodes in assigned.items() for i, node in enumerate(nodes, 1)}  # fmt: skip

    def assigned_name(self, node: Any) -> str:
        """The variable to which the code assigned a result; nothing if it is not certain."""
        name = "" if self.are_identifiers else self.texts.variable(node)
        told = None if name else introspect.assigned(self.lines.of(self.walk.traces[node])[1])
        if told is None or not introspect.same_operation(self.walk.names[node], told[1]):
            return name
        return told[0]

    def names_of_texts(self, taken: set[str], lines: Mapping[Any, str]) -> dict[Any, str]:
        """Names of results by the text of their expressions."""
        wanted = [node for node in self.walk.order if node not in self.multiple and (node, 0) not in self.root_tensors]
        told = self.texts.results([node for node in wanted if not self.own[node, 0] and node not in lines])
        return {node: text for node, text in told.items() if text not in taken}

    def spelled_out(self, node: Any, index: int) -> str:
        """Return ``out = a + 2*b`` for a root without a variable; nothing for others, or if the code is ambiguous."""
        name = self.results[node, index]
        made = None if self.own[node, index] else self.texts.made.get(node)
        text = "" if made is None else made.text()
        return f"{name} = {text}" if text and name.startswith("out") else ""

    def written_out(self, node: Any) -> str:
        """An operation as the code writes it, where its result is called by that; nothing where that says less."""
        made = self.texts.made.get(node) if node in self.by_text else None
        if made is None:
            return ""
        is_same = introspect.same_operation(self.walk.names[node], introspect.operation_of(made.tree))
        return made.text(most=60) if is_same else ""

    def operand_name(self, node: Any, operand: Any) -> str:
        """Return the code's text for an argument without a variable; empty if unknown, or if the text is taken.

        A variable of a function may have the name of another tensor in the picture. Without a text, it is the variable
        that an operation reshaped, as ``x @ W`` does.
        """
        text = self.texts.operand(node, operand)
        if text and text not in self.taken:
            return text
        return self.variables.reshaped(self.walk.saved(node)[2].get(operand.name)) if operand.shape else ""

    def output_tensor(self, node: Any, index: int) -> Any:
        """The tensor that holds a result, as long as it lives."""
        if (node, index) in self.root_tensors and self.root_tensors[node, index] is not None:
            return self.root_tensors[node, index]
        if (node, index) in self.variables.tensors:
            return self.variables.tensors[node, index]
        trace = self.walk.traces.get(node)
        return trace.output() if trace is not None and index == 0 else None

    def base_name(self, base: Any) -> str:
        """Return the name of the tensor under a view."""
        output = attribute(base, "grad_fn"), attribute(base, "output_nr", 0) or 0
        name = self.variables.tensor(base) or self.leaves.get(id(base))
        return name or self.results.get(output, say("another"))

    def slot_name(self, node: Any, slot: int) -> str:
        """Return the tensor in a slot by the name that the picture shows."""
        edges = self.walk.next[node]
        to, index = edges[slot] if slot < len(edges) else (None, 0)
        if to not in self.walk.next:
            return "" if to is None else "…"
        return self.leaves[id(self.walk.variables[to])] if to in self.walk.variables else self.results[to, index]
