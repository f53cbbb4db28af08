"""A graph compiled for one kind of call: the arguments that require grad, and the memory layouts; and a call's node.

One function takes the tensors of a call, checks its kind, computes, and creates the results and the node; another
computes all gradients. ``forward_code`` and ``backward_code`` show their source.
"""

from __future__ import annotations

import ast
import threading
import types
from typing import Any

import numpy as np

from nbautograd._compat.traced.backward_code import Backward
from nbautograd._compat.traced.forward_code import Forward
from nbautograd._compat.traced.graph import Changed, FunctionGraph, Rehistoried, Value, replay
from nbautograd._compat.traced.memory import reusing
from nbautograd._compat.traced.namespace import Namespace
from nbautograd._engine.arrays import backend, version_counter
from nbautograd._engine.compiler.graph import CONSTANT
from nbautograd._engine.compiler.source import compiled
from nbautograd._engine.core.exchanged_data import latest
from nbautograd._engine.core.grad_mode import enable_grad, is_grad_enabled
from nbautograd._engine.core.node import FREED, LEAF, MULTIPLE, Node, OutputEdge, UnrecordedView
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.core.views import record_unrecorded_write, replay_view
from nbautograd._engine.fusion.lazy_gradient import materialize
from nbautograd._engine.ops.indexing.indexing import view_alias
from nbautograd.autograd import engine
from nbautograd.errors import TracingError


def layout(array: Any) -> Any:
    """Return the layout of an array: its strides, or the type of a scalar."""
    return array.strides if array.__class__ is np.ndarray and array.ndim else array.__class__


class TracedBackward(Node):
    """The base of nodes; each traced function has its own subclass, with its name.

    :cvar compilation: the compiled functions.
    :ivar arguments: the arrays of all inputs and captured tensors, for derivatives of higher order.
    :ivar kept: the inputs of the backward function; ``FREED`` after it has run.
    """

    __slots__ = ("arguments", "kept")
    compilation: Any
    arguments: Any
    kept: Any
    graph: Any
    count: int

    def outputs(self) -> int:
        """Return the number of outputs with gradients."""
        return self.count

    def saves(self) -> bool:
        """Return whether a backward pass frees saved values."""
        return True

    def saved_values(self) -> dict[str, Any]:
        """Return the inputs of the backward function, by the names in its code."""
        if self.kept is FREED:
            self.raise_freed()
        names = self.compilation.saved
        return {n: a for n, a in zip(names, self.kept, strict=True) if isinstance(a, (np.ndarray, np.generic))}

    def check_saved(self) -> None:
        """Check that other code has not written to its saved values."""
        if self.kept is FREED:
            return
        for index in self.compilation.visible:
            array = self.kept[index]
            now, time = latest(array, self._seq)
            if now is not array and now.shape == array.shape:
                if version_counter.changed_since(now, time):
                    self.report_changed(f"s_{self.compilation.saved[index]}", now)
                self.kept[index] = now
            elif version_counter.changed_since(array, self._seq):
                self.report_changed(f"s_{self.compilation.saved[index]}", array)

    def _made_by(self, what: str) -> str:
        return ""

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Compute the gradients of the arguments, by the compiled backward pass."""
        if self.kept is FREED:
            self.raise_freed()
        return self.several([g] if self.count == 1 else g.take(self.count), retain_graph)

    def several(self, parts: list[Any], retain_graph: bool) -> tuple[Any, Any]:
        """Compute the gradients of the arguments from all outputs' gradients, some of which may be None."""
        parts = [materialize(part) for part in parts]
        function = self.compilation.backward(parts, self.kept)
        return self.finished(function(self.kept, *[part for part in parts if part is not None]), retain_graph)

    def finished(self, gradients: list[Any], retain_graph: bool) -> tuple[Any, Any]:
        """Free the saved values, and return the gradients."""
        if not retain_graph:
            self.kept = self.arguments = FREED
        if self.arity > 2:
            return MULTIPLE, gradients
        first, second = [*gradients, None][:2]
        return first, second

    def vjp_graph(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Compute the gradients over tensors, by calling the operations again: this allows higher derivatives."""
        if self.kept is FREED:
            self.raise_freed()
        parts = [g] if self.count == 1 else g.take(self.count)
        compilation, graph = self.compilation, self.graph
        tensors = self.tensors()
        with enable_grad():
            aliases = {value: view_alias(t) if t._fn is not None else t for value, t in tensors.items()}
            names = dict(zip(compilation.saved, self.kept, strict=True))
            drawn = {
                step: [names[compilation.code.names[v]] for v in step.results] for step in graph.random if step.results
            }
            outputs = replay(graph.needed, aliases, drawn)
            pairs = zip(compilation.differentiable, parts, strict=True)
            roots = [(outputs[value]._fn, part) for value, part in pairs if part is not None]
            keys: list[Any] = [_key(aliases[value]) for value in compilation.edges]
            by_key = engine.capture(roots, True, True, keys)
        return self.finished(list(map(by_key.get, keys)), retain_graph)

    def tensors(self) -> dict[Any, Tensor]:
        """Return the arguments as tensors, which depend on the next nodes."""
        compilation, edges = self.compilation, self.next_nodes()
        places = {value: index for index, value in enumerate(compilation.edges)}
        result = {}
        for value, array in zip(compilation.arguments, self.arguments, strict=True):
            edge = edges[places[value]] if value in places else None
            if edge.__class__ is UnrecordedView:
                edge = None
            if version_counter.changed_since(array, self._seq) and value in self.graph.read:
                self.report_changed(f"s_{compilation.code.names[value]}", array)
            result[value] = wrap(array, edge)
        return result


def _key(t: Tensor) -> tuple[Any, int]:
    fn = t._fn
    return (fn.next0, fn.index) if fn.__class__ is OutputEdge else (fn, 0)


class Compilation:
    """The functions for calls in which ``wanted`` require grad.

    :param arrays: the arrays of all arguments and captured tensors, of the compiling call.
    :ivar entry: from the tensors of a call to its result; other calls go to ``slow``.
    :ivar differentiable: the values that are outputs of the node.
    :ivar edges: the arguments that get gradients.
    """

    def __init__(
        self,
        graph: FunctionGraph,
        name: str,
        arrays: dict[Value, Any],
        wanted: set[Value],
        captured: list[Any],
        result: Any,
    ) -> None:
        self.graph, self.name, self.result = graph, name, result
        self.space = Namespace()
        self.code = Forward(graph, arrays, wanted, self.space)
        self.arguments, self.captured, self.wanted = list(arrays), captured, wanted
        self.layouts = {value: layout(array) for value, array in arrays.items()}
        self.lock = threading.RLock()
        with backend.quiet():
            self.code.write()
        self.computed = list(dict.fromkeys(o.value for o in graph.outputs if o.value not in arrays))
        self.differentiable = [value for value in self.computed if self.code.flow(value)]
        self.edges = [value for value in arrays if value in wanted] if self.differentiable else []
        self.check_effects()
        self.backwards: dict[Any, Any] = {}
        self.sources: dict[str, str] = {}
        self.variables = {n for n in self.space.values if n not in self.space.globals and n != "__builtins__"}
        self.saved = self.names_to_save()
        self.unpack = [f"{', '.join(self.saved)}, = saved"] * bool(self.saved)
        self.visible = self.visible_names()
        self.node_class: Any = self.make_node_class()
        self.write_entry()
        self.release()

    def check_effects(self) -> None:
        """Check that no value with a history is written into an argument."""
        for _, end in self.graph.effects:
            if self.code.flow(end) and not isinstance(end.step, Rehistoried):
                raise TracingError(
                    f"{self.name}() writes into its argument what requires grad: in a traced function that is not "
                    "possible. Return the new value instead."
                )

    def names_to_save(self) -> list[str]:
        """Return the variables of the backward function."""
        if not self.differentiable:
            return []
        given = [_ones(value) for value in self.differentiable]
        with backend.quiet():
            self.lines, self.ends = self.write_backward((True,) * len(given), given)
        used = {part.id for part in ast.walk(ast.parse("\n".join(self.lines))) if isinstance(part, ast.Name)}
        drawn = {self.code.names[v] for step in self.graph.random for v in step.results}
        return sorted(used & self.variables | drawn)

    def visible_names(self) -> list[int]:
        """Return the variables that other code can write to: arguments, results, and arrays that share their memory."""
        seen = [self.code.array(value) for value in (*self.arguments, *self.computed)]
        owners = {id(version_counter.owner(array)) for array in seen if isinstance(array, np.ndarray)}
        arrays = [self.space.values[name] for name in self.saved]
        return [
            index
            for index, array in enumerate(arrays)
            if isinstance(array, np.ndarray) and id(version_counter.owner(array)) in owners
        ]

    # -- forward -------------------------------------------------------------------------------------------------------

    def write_entry(self) -> None:
        """Write the function that takes tensors."""
        code, space = self.code, self.space
        returned = {code.names[value] for value in self.computed} | {code.names[end] for _, end in self.graph.effects}
        lines = reusing(code.lines, space, {*self.saved, *returned}, {code.names[v] for v in self.arguments})
        tensors = {value: f"t_{code.names[value]}" for value in self.graph.inputs}
        for value, tensor in zip(self.arguments[len(self.graph.inputs) :], self.captured, strict=True):
            tensors[value] = space.constant(tensor, f"t_{code.names[value]}")
        space.globals.update(LEAF=LEAF, is_grad_enabled=is_grad_enabled, Changed=Changed)
        body = [
            *self.load(tensors),
            "old_errstate = get_quiet()",
            "try:",
            "    set_quiet(SILENT)",
            *(f"    {line}" for line in lines or ["pass"]),
            "except Changed: return changed(args)",
            "finally: set_quiet(old_errstate)",
            *self.finish(tensors),
        ]
        source = "\n".join([f"def {_plain(self.name)}(args, checked=False):", *(f"    {line}" for line in body)])
        self.sources["forward"] = source

    def link(self, slow: Any, changed: Any, busy: Any) -> None:
        """Create the entry.

        :param slow: called with the arguments for another kind of call.
        :param changed: called if a check of values has another result.
        :param busy: true while an observer watches each operation.
        """
        self.space.globals.update(slow=slow, changed=changed, busy=busy)
        self.entry = self.function(self.sources["forward"], _plain(self.name), "forward")
        self.entry.__defaults__ = (False,)

    def load(self, tensors: dict[Value, str]) -> list[str]:
        """Return lines that get the arrays, and check the kind of the call."""
        code = self.code
        names = [tensors[value] for value in self.graph.inputs]
        lines = ["if busy: return slow(args)", f"{', '.join(names)}, = args" if names else ""]
        lines.append(
            "try: " + "; ".join(f"{code.names[v]} = {tensors[v]}._a" for v in self.arguments) if tensors else ""
        )
        lines.append("except AttributeError: return slow(args)")
        checks = []
        for value in self.arguments:
            array, place = code.names[value], self.layouts[value]
            if isinstance(place, tuple):
                checks.append(f"{array}.shape != {value.shape!r} or {array}.strides != {place!r}")
            else:
                checks.append(f"{array}.__class__ is not {self.space.constant(place)} or {array}.shape")
            checks.append(f"{array}.dtype is not {self.space.constant(value.dtype)}")
        if self.edges:
            checks.append("not is_grad_enabled()")
        lines.append(f"if not checked and ({' or '.join(checks)}): return slow(args)" if checks else "")
        lines += self.edge_lines(tensors)
        return [line for line in lines if line]

    def edge_lines(self, tensors: dict[Value, str]) -> list[str]:
        """Return lines that get the edges, and check that the same arguments have one."""
        lines, edges = [], [f"e_{self.code.names[value]}" for value in self.edges]
        for value, edge in zip(self.edges, edges, strict=True):
            lines.append(f"{edge} = {tensors[value]}._fn")
            lines.append(f"if {edge} is LEAF: {edge} = {tensors[value]}")
        unwanted = [tensors[v] for v in self.arguments if v not in self.wanted and v.dtype.kind in "fcV"]
        checks = [f"{edge} is None" for edge in edges] + [f"{tensor}._fn is not None" for tensor in unwanted]
        if checks:
            recorded = "" if edges else " and is_grad_enabled()"
            lines.append(f"if not checked and ({' or '.join(checks)}){recorded}: return slow(args)")
        return lines

    def node_lines(self) -> list[str]:
        """Return lines that create the node."""
        names = self.code.names
        self.space.globals.update(NodeClass=self.node_class, next_sequence_nr=version_counter.next_sequence_nr)
        edges = [f"e_{names[value]}" for value in self.edges]
        first, second = [*edges, "None"][:2]
        arrays = ", ".join(names[value] for value in self.arguments)
        return [
            "node = new(NodeClass); node.extras = None; node._seq = next_sequence_nr()",
            f"node.kept = [{', '.join(self.saved)}]; node.arguments = ({arrays},)",
            f"node.next0 = {first}; node.next1 = {second}"
            if len(edges) <= 2
            else f"node.all_edges = ({', '.join(edges)})",
        ]

    def effect_lines(self, tensors: dict[Value, str]) -> list[str]:
        """Return lines that do the function's writes."""
        self.space.globals.update(record_write=record_unrecorded_write)
        ends = [self.owned(end, True) for _, end in self.graph.effects]
        lines = [f"end{number} = {end}" for number, end in enumerate(ends) if not end.isidentifier()]
        for number, ((begin, _), end) in enumerate(zip(self.graph.effects, ends, strict=True)):
            written = end if end.isidentifier() else f"end{number}"
            lines.append(f"{tensors[begin]}._shared_array()[...] = {written}; record_write({tensors[begin]})")
        return lines

    def finish(self, tensors: dict[Value, str]) -> list[str]:
        """Return lines that create the results, with the node and the function's writes."""
        space = self.space
        lines, results = [], {}
        if self.differentiable:
            lines += self.node_lines()
        for number, value in enumerate(self.computed):
            result = results[value] = f"y{number}"
            fn = "None"
            if value in self.differentiable:
                index = self.differentiable.index(value)
                fn = "node" if len(self.differentiable) == 1 else f"OutputEdge(node, {index})"
            lines.append(f"{result} = new(Tensor); {result}._a = {self.owned(value)}; {result}._fn = {fn}")
        if self.graph.effects:
            lines += self.effect_lines(tensors)
        parts = []
        for output in self.graph.outputs:
            part = results.get(output.value) or tensors[output.value]
            if output.steps:
                part = f"{space.constant(replay_view)}({part}, {space.constant(output.steps)})"
            parts.append(part)
        return [*lines, f"return {self.nested(parts)}"]

    def nested(self, parts: list[str]) -> str:
        """Return the results in their structure."""
        if self.result.is_leaf():
            return parts[0]
        if self.result.type is tuple and self.result.num_children == self.result.num_leaves:
            return f"({', '.join(parts)},)"
        return f"{self.space.constant(self.result.unflatten)}([{', '.join(parts)}])"

    def owned(self, value: Value, effect: bool = False) -> str:
        """Return the array of a result: a copy if it is shared, a view if it is an argument's."""
        name = self.code.names[value]
        array = self.space.values[name]
        if value.kind == CONSTANT:
            return f"{name}.copy()" if isinstance(array, np.ndarray) else name
        arguments = [self.code.array(v) for v in self.arguments]
        others = [self.code.array(v) for v in self.graph.constants()] + (arguments if effect else [])
        if any(isinstance(a, np.ndarray) and np.may_share_memory(a, array) for a in others):
            return f"{name}.copy()"
        return f"{name}.view()" if any(array is a for a in arguments) and isinstance(array, np.ndarray) else name

    def function(self, source: str, name: str, kind: str) -> Any:
        """Return a function from generated code."""
        code = compiled(source, f"<nbautograd traced {self.name} {kind} {id(self)}>", name)
        return types.FunctionType(code, self.space.globals, name)

    def release(self) -> None:
        """Release the arrays of the compiling call, and keep their shapes and dtypes."""
        values = self.space.values
        values.pop("__builtins__", None)
        for name in values.keys() - self.space.globals.keys():
            value = values[name]
            if isinstance(value, np.ndarray):
                values[name] = np.broadcast_to(np.empty((), value.dtype), value.shape)
            elif not isinstance(value, np.generic):
                values[name] = None

    # -- backward ------------------------------------------------------------------------------------------------------

    def make_node_class(self) -> Any:
        """Return the class of nodes, with the backward function for the usual gradient as its ``vjp``."""
        if not self.differentiable:
            return None
        few = len(self.edges) <= 2
        members: dict[str, Any] = {
            "__slots__": () if few else ("all_edges",),
            "__module__": "builtins",
            "symbol": self.name,
            "compilation": self,
            "graph": self.graph,
            "count": len(self.differentiable),
            "arity": len(self.edges),
            "input_meta": None,
        }
        if not few:
            members |= {"next0": None, "next1": None, "next_nodes": lambda node: node.all_edges}
        if len(self.differentiable) == 1:
            self.space.globals.update(FREED=FREED)
            place = layout(_ones(self.differentiable[0]))
            check = f"g0.strides != {place!r}"
            if not isinstance(place, tuple):
                check = f"g0.__class__ is not {self.space.constant(place)}"
            ends = [*self.ends, "None"][:2] if few else ["MULTIPLE", f"[{', '.join(self.ends)}]"]
            body = [
                "saved = node.kept",
                "if saved is FREED: node.raise_freed()",
                f"if {check}: return node.several([g0], retain_graph)",
                *self.unpack,
                *self.lines,
                "if not retain_graph: node.kept = node.arguments = FREED",
                f"return {', '.join(ends)}",
            ]
            head = "def vjp(node, g0, retain_graph, needed=None):"
            self.sources["backward"] = "\n".join([head, *(f"    {line}" for line in body)])
            members["vjp"] = self.function(self.sources["backward"], "vjp", "backward")
            members["vjp"].__defaults__ = (None,)
        else:
            self.sources["backward"] = self.backward_source(len(self.differentiable), self.lines, self.ends)
        return type(f"{self.name}Backward", (TracedBackward,), members)

    def backward_source(self, count: int, lines: list[str], ends: list[str]) -> str:
        """Return the source of a backward function for a number of gradients."""
        arguments = "".join(f", g{number}" for number in range(count))
        body = [*self.unpack, *lines, f"return [{', '.join(ends)}]"]
        return "\n".join([f"def backward(saved{arguments}):", *(f"    {line}" for line in body)])

    def backward(self, given: list[Any], kept: list[Any]) -> Any:
        """Return the backward function for such gradients, from these and the saved values to the edges' gradients."""
        key = tuple([None if g is None else layout(g) for g in given])
        known = self.backwards.get(key)
        if known is None:
            with self.lock:
                self.space.values.update(zip(self.saved, kept, strict=True))
                present = [g for g in given if g is not None]
                lines, ends = self.write_backward(tuple([g is not None for g in given]), present)
                source = self.backward_source(len(present), lines, ends)
                known = self.backwards[key] = self.function(source, "backward", f"backward {len(self.backwards)}")
                self.release()
        return known

    def write_backward(self, given: tuple[bool, ...], gradients: list[Any]) -> tuple[list[str], list[str]]:
        """Return the lines of a backward function, and the names of the edges' gradients."""
        outputs = [value for value, is_given in zip(self.differentiable, given, strict=True) if is_given]
        writer = Backward(self.graph, self.code, outputs, gradients)
        writer.write()
        ends = [writer.gradient.get(value, "None") for value in self.edges]
        parameters = {f"g{number}" for number in range(len(outputs))}
        return reusing(writer.specializer.lines, self.space, {*ends}, {*self.variables, *parameters}), ends


def _ones(value: Value) -> Any:
    """Compute the gradient that a pass starts with."""
    return np.ones(value.shape, value.dtype) if value.shape else value.dtype.type(1)


def _plain(name: str) -> str:
    name = "".join(c if c.isalnum() else "_" for c in name)
    return name if name.isidentifier() else f"f_{name.strip('_')}"
