"""Calls of the hooks of nodes and leaves, with checks of the gradients that they return."""

from __future__ import annotations

from typing import Any

from nbautograd import protocol
from nbautograd._engine.core.hooks import Hooks
from nbautograd._engine.core.node import Node, OutputGrads, public_edge
from nbautograd._engine.core.sparse import stored, wrapped
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops._internal import sum_to
from nbautograd.errors import AutogradError


def as_tensor(g: Any) -> Tensor:
    """Return a gradient as a tensor, even if the pass is not recorded."""
    return g if isinstance(g, Tensor) else wrapped(g, wrap=wrap_known)


def name_of(hook: Any) -> str:
    """Return the name of a hook, for messages."""
    return f"'{getattr(hook, '__name__', hook)}'"


def _shown(g: Any) -> Any:
    """Copy a gradient for a hook, so that an in-place write in the hook changes nothing else."""
    return g if g is None or isinstance(g, Tensor) else wrapped(g.copy(), wrap=wrap_known)


def _answer(hook: Any, g: Any, shown: Tensor, new: Any) -> Any:
    """Return the gradient after a hook: the returned one, checked for shape and type; or, if None, the original."""
    if new is None:
        return shown if isinstance(g, Tensor) else stored(shown)
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}' (hook {name_of(hook)})")
    if stored(new).shape != g.shape:
        raise RuntimeError(
            f"hook {name_of(hook)} has changed the size of value: it returned shape {list(new.shape)} for a gradient "
            f"of shape {list(g.shape)}"
        )
    if new.dtype is not shown.dtype or new.device != shown.device:
        raise RuntimeError(
            f"hook {name_of(hook)} has changed the type of value (was {shown.dtype!r} on {shown.device}, "
            f"got {new.dtype!r} on {new.device})"
        )
    return new if isinstance(g, Tensor) else stored(new)


def _answers(hook: Any, old: list[Any], shown: tuple[Any, ...], answer: Any) -> list[Any]:
    """Return the gradients after a hook on tuples: one gradient per input or output of the node."""
    if answer is None:
        answer = [None] * len(old)
    elif isinstance(answer, Tensor) and len(old) == 1:
        answer = [answer]
    elif not isinstance(answer, (tuple, list)):
        raise TypeError(f"expected tuple, but hook returned '{type(answer).__name__}' (hook {name_of(hook)})")
    if len(answer) != len(old):
        raise RuntimeError(
            f"hook {name_of(hook)} has returned an incorrect number of values (got {len(answer)}, but expected "
            f"{len(old)})"
        )
    replaced = []
    for g, tensor, new in zip(old, shown, answer, strict=True):
        if g is None and new is not None:
            raise RuntimeError(f"can't replace a None gradient with a non-None value (hook {name_of(hook)})")
        replaced.append(None if g is None else _answer(hook, g, tensor, new))
    return replaced


def tensor_hooks(node: Node, g: Any) -> Any:
    """Return the gradient of a tensor after its hooks; it is stored in ``.grad`` if the tensor retains it."""
    hooks = node.hooks
    if hooks is None:
        return g
    if hooks.shape is not None and g.shape != hooks.shape:
        g = _fitted(g, hooks.shape)
    if isinstance(g, OutputGrads):
        _tell_of_none(hooks, g)
    observers = protocol.observers.get()
    shown: Any = _shown(g) if hooks.tensor else None
    for hook in list(hooks.tensor.values()):  # all get one object, which may carry a note from one hook to the next
        returned = hook(shown)
        new = _answer(hook, g, shown, returned)
        for observer in observers:
            observer(protocol.HookCalled(public_edge(node)[0], "tensor", g, new))
        g, shown = new, shown if returned is None else returned
    tensor = None if hooks.retain is None else hooks.retain()
    if tensor is not None:
        retain(tensor, g)
    return g


def _fitted(g: Any, shape: tuple[int, ...]) -> Any:
    """Return a gradient in the shape that the tensor had before it was reshaped under ``no_grad``."""
    try:
        return sum_to(g, shape) if isinstance(g, Tensor) else stored(sum_to(wrapped(g, wrap=wrap_known), shape))
    except RuntimeError:
        raise AutogradError(
            f"invalid gradient at index 0 - got {list(g.shape)} but expected shape compatible with {list(shape)}, that "
            "of the tensor before it was reshaped under no_grad()"
        ) from None


def _tell_of_none(hooks: Hooks, g: OutputGrads) -> None:
    """Call the hooks of outputs without a gradient with None."""
    for index, own in hooks.outputs.items():
        if index not in g.by_index:
            for hook in list(own.tensor.values()):
                if hook(None) is not None:
                    raise RuntimeError(f"can't replace a None gradient with a non-None value (hook {name_of(hook)})")


def retain(tensor: Tensor, g: Any) -> None:
    """Add to the ``.grad`` of a computed tensor."""
    if tensor._grad is None:
        tensor._grad = g.clone() if isinstance(g, Tensor) else wrapped(g.copy(), wrap=wrap_known)
    else:
        tensor._grad = tensor._grad + as_tensor(g)


def pre_hooks(node: Node, g: Any) -> Any:
    """Return the gradients of a node's outputs after the hooks that run before the node."""
    hooks = node.hooks
    if hooks is None:
        return g
    for hook in list(hooks.pre.values()):
        many = isinstance(g, OutputGrads)
        incoming = g.take(node.outputs()) if many else [g]
        shown = tuple(map(_shown, incoming))
        values = _answers(hook, incoming, shown, hook(shown))
        new = OutputGrads({i: v for i, v in enumerate(values) if v is not None}) if many else values[0]
        for observer in protocol.observers.get():
            observer(protocol.HookCalled(node, "pre", g, new))
        g = new
    return g


def post_hooks(node: Node, gradients: list[Any], g: Any) -> list[Any]:
    """Return the gradients of a node's inputs after the hooks that run after the node."""
    hooks = node.hooks
    if hooks is None or not hooks.post:
        return gradients
    outputs = g.take(node.outputs()) if isinstance(g, OutputGrads) else [g]
    for hook in list(hooks.post.values()):
        shown = tuple(map(_shown, gradients))
        answer = hook(shown, tuple(map(_shown, outputs)))
        new = _answers(hook, gradients, shown, answer)
        for observer in protocol.observers.get() if answer is not None else ():
            observer(protocol.HookCalled(node, "post", tuple(gradients), tuple(new)))
        gradients = new
    return gradients
