"""Watch PyTorch's operations while they run, and note line, arguments, result and module of each with its node.

A ``TorchDispatchMode`` sees each operation below autograd, which is where one operation is one node: ``linear`` comes
as ``t`` and ``addmm``, with their arguments by name. The node is made before, so it has the latest
sequence number. The node itself appears when a later operation gets the result as an argument, or at the end of the
block; then the notes are stored in its ``metadata`` and live as long as the node. Small results and
arguments are copied, large results sampled; no tensor is kept alive.

Without a watched block, this module imports nothing from PyTorch and runs nothing.
"""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from nbautograd import protocol
from nbautograd.errors import is_pytorchs
from nbautograd.viz.capture.torch_notes import NotedCall, Parameters, dtype_name, parameter, trace_of_call
from nbautograd.viz.read import introspect, values
from nbautograd.viz.settings import settings

__all__ = ["TorchWatch", "mode_of", "pytorch", "watching", "writes"]

MAX_COPIED_BYTES = 4096  # of a tensor
MAX_LISTED_ELEMENTS = 32  # kept as numbers, which is faster than a copy
MAX_COPIES = 500  # of tensors, kept for the next operation
MAX_SUMMED_ELEMENTS = 20_000  # by NumPy, which starts sooner
SAMPLE_ROWS = 32  # and columns
PACKAGES = ("torch", "nbautograd", "contextlib")
"""Packages that are skipped in the search for an operation's caller."""


def pytorch() -> Any:
    """The module ``torch``, if it is imported and is PyTorch's; else None."""
    module = sys.modules.get("torch")
    core = getattr(module, "_C", None)
    return module if hasattr(getattr(core, "_autograd", None), "_get_sequence_nr") else None


writes: deque[tuple[weakref.ref[Any], int, str, int]] = deque(maxlen=500)
"""The last in-place writes: the tensor, its version after it, file and line."""


def watching() -> TorchWatch | None:
    """Return the current watcher, or None."""
    return next(iter(introspect.watchers), None)


class TorchWatch:
    """Watches a block: ``start``, then ``stop``; or as a ``with`` block. Inside of another one it renews the budget.

    :param budget: the number of operations to note.
    """

    def __init__(self, budget: int = introspect.MAX_NOTED_OPS) -> None:
        self.budget, self.left = budget, budget
        self.waiting: dict[int, list[NotedCall]] = {}  # by sequence number of the node
        self.troubles = 0
        self._copies: dict[int, tuple[Any, ...]] = {}  # by id() of the tensor
        self._mode: Any = None
        self._rests: Any = None
        self._torch: Any = None
        self._on, self._thread = False, 0
        self.full: int | None = None  # the sequence number at which notes stopped because the limit was reached
        self._hooks, self._scopes = list[Any](), list[Any]()
        self.sequence = -1
        self.helped = False  # True if the last operation may only prepare the operation of the last node

    # -- beginning and end -------------------------------------------------------------------------------------------

    def start(self) -> bool:
        """Watch from now on; False if PyTorch is not imported, or another mode is active."""
        torch = pytorch()
        if torch is None or self._mode is not None:
            return False
        if (watcher := watching()) is not None:
            watcher.renew(self.budget)
            return True
        if torch._C._len_torch_dispatch_stack():  # other code left a mode open, and will close it elsewhere
            return False
        self._torch, self._thread = torch, threading.get_ident()
        self.peek = torch._C._autograd._get_sequence_nr
        self._apply = torch.autograd.Function.apply.__func__.__code__
        self.sequence = self.peek()
        modules = torch.nn.modules.module
        self._hooks = [
            modules.register_module_forward_pre_hook(self._enter_module),
            modules.register_module_forward_hook(self._left, always_call=True),
        ]
        self._mode = mode_of(_called, self)
        introspect.watchers.append(self)
        from nbautograd.viz.capture.torch_rest import Rests  # at the first use of PyTorch

        self._rests = Rests(torch, self.rest, self.resume, self._written)
        self._switch(True)
        return True

    def stop(self, namespace: Mapping[str, Any] | None = None) -> None:
        """Stop watching, and attach notes to the objects that the block left in ``namespace``."""
        if self._mode is None:
            introspect.settle(namespace)
            return
        self._switch(False)
        self._mode = None
        introspect.watchers.remove(self)
        for hook in self._hooks:
            hook.remove()
        self._rests.end()
        for scope in self._scopes[:1]:
            protocol.scopes.set(scope)
        self._hooks, self._scopes = [], []
        if self.full is not None:
            introspect.passed_over.append((self.full, self.peek()))
        self.settle(namespace)
        self.waiting.clear()
        self._copies.clear()

    def renew(self, budget: int) -> None:
        """Note this many operations more."""
        self.left = max(self.left, budget)
        if self.full is not None:
            introspect.passed_over.append((self.full, self.peek()))
            self.full = None
        self._switch(True)

    def _switch(self, on: bool) -> None:
        """Be among PyTorch's modes or not."""
        if on != self._on:
            self._on = on
            if on:
                self._mode.__enter__()
            else:
                _taken_off(self._mode, self._torch.utils._python_dispatch)

    def rest(self) -> bool:
        """Leave the mode for a while, if it is the innermost one; the mode that stops at a NaN stays."""
        current = self._torch.utils._python_dispatch._get_current_dispatch_mode
        if not self._on or _stops or threading.get_ident() != self._thread or current() is not self._mode:
            return False
        self._switch(False)
        return True

    def resume(self) -> None:
        """Enter the mode again."""
        if self._mode is not None:
            self._switch(True)

    def __enter__(self) -> TorchWatch:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def settle(self, namespace: Mapping[str, Any] | None = None) -> None:
        """Give the nodes of results that are alive their notes."""
        calls = [noted for calls in list(self.waiting.values()) for noted in calls]
        alive = [tensor for noted in calls for ref in noted.outputs if (tensor := ref()) is not None]
        for tensor in alive:
            self.met(tensor)
        for value in list(namespace.values()) if namespace is not None and self.waiting else ():
            if is_pytorchs(value) and hasattr(type(value), "grad_fn"):
                self.met(value)

    # -- modules -----------------------------------------------------------------------------------------------------

    def _enter_module(self, module: Any, args: Any) -> None:
        if threading.get_ident() == self._thread:
            if self.full is not None and not _stops:  # inside an operation no mode can be left
                self._switch(False)
            before = protocol.scopes.get()
            self._scopes.append(before)
            protocol.scopes.set((*before, protocol.entry(type(module).__name__, module)))

    def _left(self, module: Any, args: Any, result: Any) -> None:
        if threading.get_ident() == self._thread and self._scopes:
            protocol.scopes.set(self._scopes.pop())

    # -- operations --------------------------------------------------------------------------------------------------

    def checked(self, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run it, and stop if the result is not finite."""
        from nbautograd.viz.capture import torch_stop

        given = torch_stop.before(parameters, args)
        result = parameters.run(*args, **kwargs) if self.full is not None else self.noted(parameters, args, kwargs, 3)
        torch_stop.check(self._torch, parameters, given, kwargs, result)
        return result

    def noted(self, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any], deep: int = 2) -> Any:
        """Run it, and note it; the caller's frame is the one at ``deep``, where this one is at 0."""
        noted = None
        sequence = self.peek()
        if (sequence != self.sequence or self.helped) and threading.get_ident() == self._thread:
            self.sequence, self.helped = sequence, False
            try:
                noted = self._note_call(parameters, args, kwargs, sequence - 1, sys._getframe(deep))
            except Exception:  # any error: the user's operation must not fail because of its picture
                self.troubles += 1
        result = parameters.run(*args, **kwargs) if kwargs else parameters.run(*args)
        if noted is not None or parameters.writes:
            try:
                if parameters.writes:
                    self._written(result, sys._getframe(deep), 1)
                if noted is not None:
                    self._note_result(noted, result, sequence - 1)
            except Exception:
                self.troubles += 1
        return result

    def _note_call(
        self, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any], sequence: int, frame: Any
    ) -> NotedCall | None:
        if not self._torch.is_grad_enabled():
            self._inside_function(sequence, frame)
            return None
        wanted, tensor_class = False, self._torch.Tensor
        for value in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(value, tensor_class):
                if value.requires_grad:
                    wanted = True
                    self.met(value)
            elif isinstance(value, (list, tuple)):
                for one in value:
                    if isinstance(one, tensor_class) and one.requires_grad:
                        wanted = True
                        self.met(one)
        if not wanted or not self._affordable():
            return None
        given = [self._about(value) for value in args]
        named = {parameter(name): self._about(value) for name, value in kwargs.items()} if kwargs else None
        return NotedCall(parameters, given, named, _place(frame), protocol.current_scope())

    def _affordable(self) -> bool:
        if self.left <= 0:
            self.full = self.sequence - 1 if self.full is None else self.full
            return False
        self.left -= 1
        return True

    def _inside_function(self, sequence: int, frame: Any) -> None:
        """Note the call of ``Function.apply`` that created the node and has called the user's ``forward``."""
        while frame is not None and frame.f_code is not self._apply:
            frame = frame.f_back
        if frame is None or sequence in self.waiting or not self._affordable():
            return
        given = frame.f_locals["args"]
        for value in given:
            if isinstance(value, self._torch.Tensor):
                self.met(value)
        arguments = {f"input {i}": self._about(value) for i, value in enumerate(given)}
        self.waiting[sequence] = [NotedCall(None, [], arguments, _place(frame), protocol.current_scope())]

    def _written(self, tensor: Any, frame: Any, more: int = 0) -> None:
        """Note where a tensor was written to, for errors of a pass; ``more`` is still to be added to its version."""
        if isinstance(tensor, self._torch.Tensor):
            code, line, _ = _place(frame)
            writes.append((weakref.ref(tensor), tensor._version + more, code.co_filename, line))

    def met(self, tensor: Any) -> None:
        """A tensor appears: if the node that created it is awaited, attach its notes."""
        node = tensor.grad_fn
        if node is None:
            return
        number = node._sequence_nr()
        for noted in reversed(self.waiting.get(number, ())):
            if noted.made(tensor):
                del self.waiting[number]
                if noted.parameters is None:
                    self._conclude(noted, [tensor])
                node.metadata[introspect.KEY] = partial(trace_of_call, noted)
                return

    def _about(self, value: Any) -> tuple[Any, ...]:
        """A Python value; of a tensor the values if it is small, shape and dtype, and itself as long as it lives."""
        if isinstance(value, self._torch.Tensor):
            known = self._copies.get(id(value))
            # a leaf's .data may have been written to
            if known is None or known[1]() is not value or known[0] != value._version or value.is_leaf:
                known = self._copied(value)
            return known[2:]
        if isinstance(value, (list, tuple)) and any(isinstance(one, self._torch.Tensor) for one in value):
            return [self._about(one) for one in value], "tensors"
        if value is None or isinstance(value, (bool, int, float, complex, str, list, tuple)):
            return (value,)
        return (getattr(value, "__name__", None) or str(value)[:40],)  # do not keep a user's object alive

    def _copied(self, tensor: Any) -> tuple[Any, ...]:
        """(the version, the tensor while it lives, and what ``_about`` gives), kept for the next operation."""
        if len(self._copies) > MAX_COPIES:
            self._copies.clear()
        ref, shape = weakref.ref(tensor), tensor.shape
        value = None
        if tensor.layout is self._torch.strided:
            if tensor.numel() <= MAX_LISTED_ELEMENTS and tensor.is_cpu:
                value = tensor.tolist()
            elif tensor.nbytes <= MAX_COPIED_BYTES:
                value = self._small(tensor)
        known = tensor._version, ref, value, "tensor", shape, tensor.dtype, ref
        self._copies[id(tensor)] = known
        return known

    def _small(self, tensor: Any) -> Any:
        """A copy of a small tensor, on its own device."""
        if tensor.is_cpu:
            try:
                return tensor.detach().numpy().copy()
            except Exception:  # a dtype unknown to NumPy, a lazy conjugate, a tensor without memory
                pass
        return tensor.detach().clone()

    def _note_result(self, noted: NotedCall, result: Any, sequence: int) -> None:
        if isinstance(result, self._torch.Tensor):
            tensors: Any = (result,)
        else:
            tensors = result if isinstance(result, (list, tuple)) else ()
            tensors = [one for one in tensors if isinstance(one, self._torch.Tensor)]
            if not tensors:
                return
        assert noted.parameters is not None
        self._conclude(noted, tensors)
        self.waiting.setdefault(sequence, []).append(noted)
        if noted.parameters.writes:  # a written tensor may have been copied in between, with a node
            self.waiting.setdefault(sequence - 1, []).append(noted)
        self.helped = noted.parameters.helps
        if len(self.waiting) > 4 * self.budget:
            self.waiting.pop(next(iter(self.waiting)))

    def _conclude(self, noted: NotedCall, tensors: Any) -> None:
        version, ref, value, _, shape, dtype, _ = self._copied(tensors[0])
        if noted.parameters is not None and noted.parameters.writes:
            version += 1  # counted only after this line
        noted.result = self._digest(tensors[0]) if value is None else value, version, shape, dtype
        noted.outputs = [ref] if len(tensors) == 1 else [ref, *(weakref.ref(one) for one in tensors[1:])]

    def _digest(self, tensor: Any) -> Any:
        """Return the digest that is kept of a large result."""
        if not tensor.is_floating_point() or tensor.layout is not self._torch.strided or not tensor.ndim:
            return None
        shape, name = tuple(tensor.shape), dtype_name(tensor.dtype)
        down, across = (-(-size // SAMPLE_ROWS) for size in (math.prod(shape[:-1]), shape[-1]))
        is_small = tensor.numel() <= MAX_SUMMED_ELEMENTS
        if is_small and tensor.is_cpu and tensor.dtype is self._torch.float32 and not tensor.is_neg():
            array = tensor.detach().numpy().reshape(-1, shape[-1])
            line = array.reshape(-1)
            with np.errstate(all="ignore"):
                numbers = np.add.reduce(line) / line.size, np.sqrt(line.dot(line))
            return values.Digest(shape, name, array[::down, ::across].copy(), numbers)
        flat = tensor.detach().reshape(-1, shape[-1])
        sample = flat[::down, ::across].to(self._torch.float32, copy=True)
        numbers = flat.mean(), self._torch.linalg.vector_norm(flat)
        return values.Digest(shape, name, sample.numpy() if tensor.is_cpu else sample, numbers)


_parameters: dict[int, Parameters] = {}
"""By id() of the function, which its parameters keep alive: hashing one takes ten times as long."""


def _parameters_of(function: Any) -> Parameters:
    known = _parameters[id(function)] = Parameters(function)
    return known


_stops = settings.stop != "off"


def _set_stops(change: Any) -> None:
    global _stops
    _stops = change.new != "off"


settings.observe(_set_stops, "stop")


def _called(mode: Any, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
    """Run one of PyTorch's operations, and note it if it has a node.

    Most operations of a training step have none: those of the backward pass and of the optimizer.
    """
    parameters = _parameters.get(id(function)) or _parameters_of(function)
    watch = mode.owner
    if _stops:
        return watch.checked(parameters, args, kwargs or {})
    if watch.full is None and (watch.helped or parameters.writes or watch.peek() != watch.sequence):
        return watch.noted(parameters, args, kwargs or {})
    return parameters.run(*args, **kwargs) if kwargs else parameters.run(*args)


_modes: dict[Any, type] = {}


def mode_of(called: Callable[..., Any], owner: Any) -> Any:
    """Return a mode of PyTorch's that hands each operation to ``called(mode, function, types, args, kwargs)``.

    :param owner: the object that the calls serve, which is ``mode.owner``.
    """
    base = sys.modules["torch.utils._python_dispatch"].TorchDispatchMode
    if (base, called) not in _modes:

        class Calling(base):  # type: ignore[misc, valid-type]
            supports_higher_order_operators = True

            def __init__(self, owner: Any) -> None:
                super().__init__()
                self.owner = owner

            __torch_dispatch__ = called

            @classmethod
            def _should_skip_dynamo(cls) -> bool:  # its first call loads the module that wraps methods: one second
                return False

            @classmethod
            def ignore_compile_internals(cls) -> bool:  # compiled functions run compiled
                return True

        _modes[base, called] = Calling
    return _modes[base, called](owner)


def _taken_off(mode: Any, stack: Any) -> None:
    """Leave a mode; those that the block has entered above it and not left are put back.

    :param stack: PyTorch's module of modes, which ``sys.modules`` no longer has where nbautograd has taken its place.
    """
    above: list[Any] = []
    current: Any = stack._get_current_dispatch_mode
    try:
        while current() not in (None, mode):
            above.append(stack._pop_mode())
        if current() is mode:
            mode.__exit__(None, None, None)
    finally:
        for one in reversed(above):
            stack._push_mode(one)


@cache
def _is_inside(name: str) -> bool:
    """Return whether a module is skipped in the search for an operation's caller."""
    return name.partition(".")[0] in PACKAGES


def _place(frame: Any) -> tuple[Any, int, int]:
    """The code outside of PyTorch that called the operation: its line and its instruction."""
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__") or "torch"):
        frame = frame.f_back
    return frame.f_code, frame.f_lineno, frame.f_lasti
