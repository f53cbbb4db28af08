"""The recorder of a function's operations: an interpreter that also follows in-place writes.

A tensor that the recorder has not seen is an argument, a tensor from outside (read in each call), or created while
tracing: by ``wrap_known`` from shapes and numbers, which makes it a constant, or by ``wrap`` from the values of other
tensors without an operation, which raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from nbautograd._compat.traced import graph
from nbautograd._engine.arrays import version_counter
from nbautograd._engine.batching.mode import named
from nbautograd._engine.compiler.graph import CONSTANT, INPUT, RESULT, Array, mapped
from nbautograd._engine.core import tensor as core_tensor
from nbautograd._engine.core.dispatch_mode import Interpreter
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.inplace import check_writable, copy_into
from nbautograd._engine.core.pytree import tree_flatten, tree_unflatten
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import TracingError

current: ContextVar[TraceRecorder | None] = ContextVar("trace", default=None)
"""The recorder of the trace that runs in this context."""

WITHOUT_HISTORY = ("new", "permutation", "like", "rows", "distribution", "value")
"""Kinds of random functions whose results have no gradient."""


class _Entry:
    """The record of a tensor: its value, and the version of its memory."""

    __slots__ = ("array", "tensor", "value", "version")

    def __init__(self, tensor: Tensor, value: graph.Value, version: int = 0) -> None:
        self.tensor, self.value, self.version, self.array = tensor, value, version, tensor._a


class TraceRecorder(Interpreter):
    """The recorder of one run.

    :ivar graph: the recorded graph.
    :ivar beginnings: the values of arguments and of tensors from outside, by their ids.
    :ivar originals: tensors from outside that were written to, with their previous data.
    """

    follows = True

    def __init__(self, inputs: list[Tensor], about: str) -> None:
        self.graph, self.about = graph.FunctionGraph(), about
        self.entries: dict[int, _Entry] = {}
        self.arrays: dict[int, tuple[Any, graph.Value]] = {}
        self.born: dict[int, tuple[Tensor, bool]] = {}
        """Tensors that no operation computed, and whether their values are known."""
        self.memory: dict[int, tuple[Any, set[int]]] = {}
        self.originals: dict[int, tuple[Tensor, Any]] = {}
        self.blank: set[int] = set()
        self.beginnings: dict[int, graph.Value] = {}
        self.pauses = 0
        self.is_random = False
        for position, tensor in enumerate(inputs):
            self.check_place(tensor)
            value = graph.Value(INPUT, tensor._a, position=position)
            self.graph.inputs.append(value)
            self.beginnings[id(tensor)] = self.know(tensor, value)

    # -- tensors and their values --------------------------------------------------------------------------------------

    def know(self, tensor: Tensor, value: graph.Value) -> graph.Value:
        """Record the value of a tensor."""
        base = self.entries.get(id(tensor._view.base)) if tensor._view is not None else None
        self.entries[id(tensor)] = _Entry(tensor, value, 0 if base is None else base.version)
        self.arrays[id(tensor._a)] = (tensor._a, value)
        if isinstance(tensor._a, np.ndarray):
            root = tensor if tensor._view is None else tensor._view.base
            owner = version_counter.owner(tensor._a)
            self.memory.setdefault(id(owner), (owner, set()))[1].add(id(root))
        return value

    def step(self, step: graph.TraceStep, *like: Any) -> list[graph.Value]:
        """Add a step, with results like the given arrays."""
        step.results = [graph.Value(RESULT, array, step, position) for position, array in enumerate(like)]
        self.graph.steps.append(step)
        return step.results

    def value_of(self, tensor: Tensor) -> graph.Value:
        """Return the current value of a tensor."""
        entry = self.entries.get(id(tensor))
        if entry is None:
            return self.adopt(tensor)
        if tensor._a is not entry.array and not _same_place(tensor._a, entry.array):
            self.refuse("the data of a tensor is exchanged (x.data = ...)")
        if tensor._view is not None:
            base = self.entries.get(id(tensor._view.base))
            if base is not None and entry.version != base.version:
                if entry.version < 0:
                    self.refuse("memory is written to that tensors share by detach() or .data")
                (entry.value,) = self.step(graph.Part(base.value, about=tensor._view.steps()), tensor._a)
                entry.version = base.version
        elif entry.version < 0:
            self.refuse("memory is written to that tensors share by detach() or .data")
        return entry.value

    def adopt(self, tensor: Tensor) -> graph.Value:
        """Return the value of a tensor that has not been seen."""
        array = tensor._a
        self.check_place(tensor)
        known = self.arrays.get(id(array))
        if known is not None:  # such as a saved tensor, in a recorded backward pass
            return self.know(tensor, known[1])
        is_born = id(tensor) in self.born
        if is_born and not self.born[id(tensor)][1]:
            self.refuse("a tensor is made of values without an operation; make it outside of the traced function")
        if tensor._view is not None and id(tensor._view.base) in self.entries:
            base = self.value_of(tensor._view.base)
            return self.know(tensor, self.step(graph.Part(base, about=tensor._view.steps()), array)[0])
        if is_born:
            value = graph.Value(CONSTANT, np.array(array))
            value.name = "empty" if id(tensor) in self.blank else ""
            return self.know(tensor, value)
        if tensor.grad_fn is not None:
            self.refuse("a tensor with a history is used that is neither an argument nor a parameter")
        value = graph.Value(graph.CAPTURED, array, position=len(self.graph.captured))
        self.graph.captured.append((tensor, value))
        self.beginnings[id(tensor)] = value
        return self.know(tensor, value)

    def check_place(self, tensor: Tensor) -> None:
        """Check that a NumPy array holds the tensor."""
        if not isinstance(tensor._a, (np.ndarray, np.generic)):
            self.refuse(f"a tensor on {tensor.device}, of layout {tensor.layout}, takes part")

    def value(self, argument: Any) -> Any:
        """Return an argument with values for tensors."""
        if isinstance(argument, Tensor):
            return self.value_of(argument)
        if isinstance(argument, np.ndarray):
            known = self.arrays.get(id(argument))
            return Array(known[1] if known is not None else graph.Value(CONSTANT, np.array(argument)))
        return mapped(argument, self.value)

    def refuse(self, why: str) -> NoReturn:
        """Raise the error for an unsupported construct."""
        raise TracingError(f"{self.about} cannot be traced: {why}.")

    # -- operations ----------------------------------------------------------------------------------------------------

    def created(self, tensor: Tensor, known: bool) -> None:
        """Note a tensor that no operation made."""
        if current.get() is self and not self.pauses:
            self.born[id(tensor)] = (tensor, known)

    def run(self, op: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run an operation, and record it."""
        if self.pauses or kwargs.get("out") is not None:
            return call(*args, **kwargs)
        arguments = {name: self.value(value) for name, value in named(op, args, kwargs).items()}
        before = len(self.graph.steps)
        result = call(*args, **kwargs)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(self.graph.steps) > before and all(id(t) in self.entries for t in results):
            return result  # the operation has called itself, and the inner call is recorded
        arguments = {name: arguments[name] for name in (*op.positional, op.rest, *op.keywords) if name in arguments}
        step = graph.OpStep(op, arguments, is_grad_enabled(), _relays(op, call))
        self.is_random |= op.draws
        for tensor, value in zip(results, self.step(step, *(t._a for t in results)), strict=True):
            self.know(tensor, value)
        return result

    # -- writes --------------------------------------------------------------------------------------------------------

    def write(self, t: Tensor, result: Tensor, go: Callable[[], Tensor]) -> Tensor:
        """Make a write, and record it."""
        if current.get() is not self:
            return go()
        base = t if t._view is None else t._view.base
        if self.pauses:
            if id(t) in self.entries or id(base) in self.entries:
                self.refuse("a function that draws random numbers or reads values writes into its argument")
            return go()
        self.value_of(result)
        self.value_of(base)
        self.value_of(t)
        if self.entries[id(base)].value.kind in (INPUT, graph.CAPTURED):
            self.originals.setdefault(id(base), (base, np.array(base._a)))
        go()
        self.written(t, result)
        return t

    def written(self, t: Tensor, result: Tensor) -> None:
        """Record a write that is done."""
        entry, value = self.entries[id(t)], self.value_of(result)
        base = entry if t._view is None else self.entries[id(t._view.base)]
        if value.dtype != entry.value.dtype or not _is_fresh(value):
            (value,) = self.step(graph.Copied(value, about=entry.value.dtype), t._a)
        before = base.value
        if base is entry:
            base.value = value
        else:
            write = graph.RegionWrite(before, value, about=t._view.steps(), recorded=is_grad_enabled())
            (base.value,) = self.step(write, base.tensor._a)
        if not is_grad_enabled() and self.has_history(before):
            (base.value,) = self.step(graph.Rehistoried(base.value, before), base.tensor._a)
        base.version += 1
        base.array = base.tensor._a
        entry.array = t._a
        for tensor in (t, base.tensor):
            self.arrays[id(tensor._a)] = (tensor._a, self.entries[id(tensor)].value)
        self.outdate(base.tensor)

    def outdate(self, base: Tensor) -> None:
        """Mark tensors that share the memory of ``base`` but are not its views: they are not followed."""
        _, roots = self.memory.get(id(version_counter.owner(base._a)), (None, set()))
        for root in roots - {id(base)}:
            entry = self.entries.get(root)
            if entry is not None:
                entry.version = -1

    def has_history(self, value: graph.Value) -> bool:
        """Return whether gradients may flow through a value."""
        waiting, seen = [value], {value}
        while waiting:
            value = waiting.pop()
            if value.dtype.kind not in "fcV" or value.kind == CONSTANT:
                continue
            if value.kind != RESULT:
                return True
            assert value.step is not None
            edges = value.step.edges() if value.step.recorded else ()
            waiting += [edge for edge in dict.fromkeys(edges) if edge is not None and edge not in seen]
            seen.update(waiting)
        return False

    def change(self, name: str, t: Tensor, again: Any, result: Any) -> None:
        """Raise before a tensor gets other memory, or another shape: a value of a trace has one of each."""
        if current.get() is not self or self.pauses:
            return
        if result is None:
            self.refuse(f"{name}() gives a tensor another shape or other memory")
        if t._a.shape != result._a.shape:
            self.refuse(f"{name}(out=...) resizes a tensor")

    # -- random numbers, and checks of values --------------------------------------------------------------------------

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record nothing in the ``with`` block."""
        self.pauses += 1
        try:
            yield
        finally:
            self.pauses -= 1

    def draw(self, how: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a random function, and record the call."""
        self.is_random = True
        if how == "fill":
            return self.fill(function, args, kwargs)
        if how == "steps":
            return function(*args, **kwargs)
        if how in WITHOUT_HISTORY:
            arguments, keywords = self.value(args), self.value(kwargs)
            with self.paused():
                result = function(*args, **kwargs)
            self.know(result, self.step(graph.Drawn(function, arguments, keywords), result._a)[0])
            return result
        if len(args) > 2 and args[2] is True and how in ("elements", "channels"):  # in place
            return args[0].copy_(self.call(function, (*args[:2], False, *args[3:]), kwargs))
        return self.call(function, args, kwargs, True)

    def fill(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a function that fills its first argument with random numbers, and record the call."""
        t, *rest = args
        if is_grad_enabled() and t._fn is not None:
            self.refuse(f"{rest[0] if rest else 'a function'} fills a tensor that requires grad with random numbers")
        with self.paused():
            array = t._a
            is_scalar = not isinstance(array, np.ndarray)
            scratch = core_tensor.wrap(np.empty((), array.dtype) if is_scalar else np.empty_like(array))
            function(scratch, *rest, **kwargs)
        place = (t._a.shape, t._a.dtype, getattr(t._a, "strides", ()))
        step = graph.Drawn(function, (None, *self.value(tuple(rest))), self.value(kwargs), fills=place)
        self.know(scratch, self.step(step, scratch._a)[0])
        check_writable(t, "random numbers")
        return copy_into(t, scratch)

    def call(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], random: bool = False
    ) -> Any:
        """Return the result of an opaque function, and record the call."""
        arguments, keywords = self.value(args), self.value(kwargs)
        with self.paused():
            result = function(*args, **kwargs)
        leaves, spec = tree_flatten(result)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if not tensors and not kwargs:  # its result depends on values
            self.graph.steps.append(graph.ValueCheck(function, arguments, {}, said=result))
            return result
        if len(tensors) != len(leaves) or any(id(t) in self.entries for t in tensors):
            self.refuse(f"{function.__name__}() reads the values of its arguments")
        step = graph.Opaque(function, arguments, keywords, is_grad_enabled(), random)
        for tensor, value in zip(tensors, self.step(step, *(t._a for t in tensors)), strict=True):
            self.know(tensor, value)
        return tree_unflatten(leaves, spec)

    def say(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return the result of a function that checks values, and record the check."""
        arguments = self.value(args)
        with self.paused():
            said = function(*args)
        self.graph.steps.append(graph.ValueCheck(function, arguments, {}, said=said))
        return said

    def varies(self, t: Any) -> bool:
        """Return whether a tensor or array may differ in another call."""
        value = None
        if isinstance(t, Tensor):
            entry = self.entries.get(id(t))
            value = entry.value if entry is not None else None if id(t) in self.born else self.value_of(t)
        elif id(t) in self.arrays:
            value = self.arrays[id(t)][1]
        return value is not None and value.kind != CONSTANT

    def detach(self, tensor: Tensor, detached: Tensor) -> None:
        """Record a tensor of the same memory without history."""
        self.know(detached, self.step(graph.Detached(self.value_of(tensor), recorded=False), detached._a)[0])


def _relays(op: Any, call: Callable[..., Any]) -> bool:
    view = op._temporary_view if op.formulas else None
    return view is not None and view.__globals__ is getattr(call, "__globals__", None)


def _is_fresh(value: graph.Value) -> bool:
    """Return whether a value owns its array, which is not a view."""
    step = value.step
    return isinstance(step, graph.Copied) or isinstance(step, graph.OpStep) and step.op.kind == "pointwise"


def _same_place(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same elements in memory, or one replaced the other."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if isinstance(b, np.generic):
        return True  # a scalar that has become an array
    return isinstance(a, np.ndarray) and a.ctypes.data == b.ctypes.data and a.strides == b.strides
