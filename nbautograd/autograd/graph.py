"""``torch.autograd.graph``: nodes and gradient edges, hooks on saved tensors, hooks on several gradients at once."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nbautograd._engine.arrays import backend, version_counter
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.hooks import RemovableHandle
from nbautograd._engine.core.node import LEAF, Node, OutputEdge, accumulator
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.autograd import engine
from nbautograd.autograd.backward import GradientEdge
from nbautograd.autograd.saved_tensors import disable_saved_tensors_hooks, saved_tensors_hooks
from nbautograd.errors import AutogradError

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place in the graph where the gradient of ``tensor`` arrives.

    :param tensor: a tensor that requires grad.
    :returns: the node, and the index of the tensor among its outputs.
    :raises RuntimeError: the tensor does not require grad.

    >>> import nbautograd as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * 2
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> z = y * y
    >>> del y
    >>> torch.autograd.grad(z, edge)
    (tensor(12.),)
    """
    fn = tensor._fn
    if fn is None:
        raise AutogradError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if fn is LEAF:
        return GradientEdge(accumulator(tensor), 0)
    return GradientEdge(fn.next0, fn.index, fn) if fn.__class__ is OutputEdge else GradientEdge(fn, 0)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Record a write to the memory of one or more tensors that the library could not notice.

    :param tensor: a tensor, or several.
    :returns: None.
    :raises AttributeError: an element is not a tensor.
    :raises TypeError: the argument is neither a tensor nor a sequence.

    >>> import nbautograd as torch
    >>> x = torch.zeros(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        version_counter.record_write(t._shared_array())


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """A mode that keeps tensors saved for backward in the host's memory, and copies them back when backward needs them.

    :param pin_memory: accepted for compatibility; the memory is always pageable.
    :param device_type: has no effect: saved tensors return to their original device.
    :returns: a context manager.
    :raises RuntimeError: on entering, inside :class:`disable_saved_tensors_hooks`.

    >>> import nbautograd as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> tuple[Any, Any]:
            return backend.device_of(t._a), backend.fetch(t._a).copy()

        def unpack(packed: tuple[Any, Any]) -> Tensor:
            place, values = packed
            return wrap(backend.module(place).asarray(values))

        super().__init__(pack, unpack)


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` once per backward pass, when the gradients of all ``tensors``, or of any, have arrived.

    With ``mode="all"``, ``fn`` gets a list with the gradients of all tensors, None for those that the pass does not
    reach, as soon as it is complete. With ``mode="any"`` it gets the first gradient that arrives.

    :param tensors: tensors that require grad.
    :param fn: a function of the list of gradients, or of one gradient.
    :param mode: ``"all"`` or ``"any"``.
    :returns: a handle, whose ``remove()`` removes the hook.
    :raises RuntimeError: a tensor does not require grad.
    :raises ValueError: ``mode`` is unknown.

    >>> import nbautograd as torch
    >>> a, b = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), print)
    >>> (a * b).backward()
    [tensor(3.), tensor(2.)]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    state: weakref.WeakKeyDictionary[engine.GraphTask, Any] = weakref.WeakKeyDictionary()
    places = [
        t if t._fn is LEAF else (t._fn.next0 if t._fn.__class__ is OutputEdge else t._fn) for t in tensors if t._fn
    ]
    if len(places) != len(tensors):
        raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
    nodes = [weakref.ref(place) for place in places]

    def every(index: int, gradient: Tensor) -> None:
        current = engine.current_graph_task()
        assert current is not None
        with lock:
            if current not in state:
                expected = sum(current.visits(node) for node in (ref() for ref in nodes) if node is not None)
                state[current] = [expected, [None] * len(nodes)]
            progress = state[current]  # the number of missing gradients, and those that have arrived
            gradients = progress[1]
            progress[0] -= gradients[index] is None
            gradients[index] = gradient
            complete = progress[0] == 0
        if complete:
            del state[current]
            fn(gradients)

    def first(index: int, gradient: Tensor) -> None:
        current = engine.current_graph_task()
        assert current is not None
        with lock:
            seen, state[current] = current in state, True
        if not seen:
            fn(gradient)

    hook = every if mode == "all" else first
    return _Handles([tensor.register_hook(functools.partial(hook, index)) for index, tensor in enumerate(tensors)])


class _Handles(RemovableHandle):
    """Several handles as one."""

    __slots__ = ("handles",)

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self.handles, self.id = handles, version_counter.next_sequence_nr()

    def remove(self) -> None:
        """Remove all hooks."""
        for handle in self.handles:
            handle.remove()


# -- writing to saved tensors -----------------------------------------------------------------------------------------


class _Snapshot:
    """An array that a node has saved: itself until it is written to, then a copy."""

    __slots__ = ("__weakref__", "array", "context")

    def __init__(self, array: Any, context: _AllowMutationOnSavedContext) -> None:
        self.array, self.context = array, context


class _AllowMutationOnSavedContext(dispatch_mode.Interpreter):
    """The result of :func:`allow_mutation_on_saved_tensors`: the number of its copies, and a way to drop them."""

    follows = True

    def __init__(self) -> None:
        self.saved: weakref.WeakSet[_Snapshot] = weakref.WeakSet()
        self.cloned: weakref.WeakSet[_Snapshot] = weakref.WeakSet()
        self.closed = False

    def clear(self) -> None:
        """Drop all copies; their graphs can no longer run backward."""
        for snapshot in list(self.cloned):
            snapshot.array = None
        self.cloned.clear()

    def pack(self, t: Tensor) -> _Snapshot:
        snapshot = _Snapshot(t._a, self)
        self.saved.add(snapshot)
        return snapshot

    def unpack(self, snapshot: _Snapshot) -> Tensor:
        if self.closed:
            raise AutogradError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        if snapshot.array is None:
            raise AutogradError("the copy of a saved tensor that was written to has been dropped by clear()")
        return wrap(snapshot.array)

    def prepare(self, array: Any) -> None:
        for snapshot in list(self.saved):
            if version_counter.same_memory(snapshot.array, array):
                snapshot.array = snapshot.array.copy()
                self.saved.discard(snapshot)
                self.cloned.add(snapshot)


_mutation_allowed: ContextVar[bool] = ContextVar("mutation_allowed", default=False)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Allow in-place writes to tensors that operations have saved: the first write makes a copy for backward.

    Forward and backward must both run inside the ``with`` block.

    :returns: a context manager.
    :raises RuntimeError: the block is inside another.

    >>> import nbautograd as torch
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = torch.tensor([2.0, 3.0], requires_grad=True)
    ...     y = x.clone()
    ...     out = (y * y).sum()
    ...     z = y.zero_()
    ...     out.backward()
    >>> x.grad
    tensor([4., 6.])
    """
    if _mutation_allowed.get():
        raise AutogradError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    token = _mutation_allowed.set(True)
    dispatch_mode.push(context)
    try:
        with saved_tensors_hooks(context.pack, context.unpack):
            yield context
    finally:
        dispatch_mode.pop(context)
        _mutation_allowed.reset(token)
        context.clear()
        context.closed = True
