"""The hooks of nodes and leaves: their storage, and the handle that removes one.

``autograd/hooks.py`` runs them. Two counters let the engine's fast loop skip the lookup if no hook is registered:
``alive`` counts the ``Hooks`` of all nodes and leaves, ``LeafHooks.alive`` those of leaves.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from nbautograd._engine.arrays.version_counter import next_sequence_nr
from nbautograd.errors import warn


class _Alive:
    """The number of live ``Hooks``; while it is 0, the engine does not look for hooks."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


alive = _Alive()


class Hooks:
    """The hooks of one node, each kind in the order of registration; the kinds run in the order of the fields."""

    __slots__ = ("accumulated", "outputs", "post", "pre", "retain", "shape", "tensor")

    def __init__(self) -> None:
        alive.count += 1
        self.shape: tuple[int, ...] | None = None  # of the gradient, if the output has another now: keep_shape
        self.tensor: dict[int, Callable[..., Any]] = {}  # of the output: Tensor.register_hook
        self.retain: weakref.ref[Any] | None = None  # the output that keeps its gradient: Tensor.retain_grad
        self.pre: dict[int, Callable[..., Any]] = {}  # Node.register_prehook
        self.accumulated: dict[int, Callable[..., Any]] = {}  # of a leaf: Tensor.register_post_accumulate_grad_hook
        self.post: dict[int, Callable[..., Any]] = {}  # Node.register_hook
        self.outputs: dict[int, Hooks] = {}  # of a node with several outputs: those of its outputs

    def __del__(self) -> None:
        alive.count -= 1


class LeafHooks(Hooks):
    """The hooks of a leaf. While any are alive, every backward pass takes the engine's full loop."""

    __slots__ = ()
    alive = 0

    def __init__(self) -> None:
        super().__init__()
        LeafHooks.alive += 1

    def __del__(self) -> None:
        super().__del__()
        LeafHooks.alive -= 1


class RemovableHandle:
    """A handle to a registered hook: ``remove()``, or the end of a ``with`` block, removes the hook.

    :param hooks: the dict of hooks by number, to which the new one is added.
    :param hook: the function.
    :returns: the handle.
    :raises TypeError: ``hook`` is not callable.

    >>> import nbautograd as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with x.register_hook(lambda grad: 10 * grad):
    ...     (2 * x).backward()
    >>> (2 * x).backward()
    >>> x.grad
    tensor(22.)
    """

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, and this {type(hook).__name__} is not")
        self.id = next_sequence_nr()
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def keep_shape(tensor: Any) -> None:
    """Note the shape of the gradient of a computed tensor before the tensor is reshaped unrecorded."""
    if not getattr(tensor._fn, "is_hidden", True):
        hooks = tensor._fn._own_hooks()
        hooks.shape = tensor._a.shape if hooks.shape is None else hooks.shape


def warn_of_hooks(hooks: Hooks | None) -> None:
    """Warn that the hooks of a tensor are not pickled or copied with it."""
    for hook in () if hooks is None else hooks.tensor.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning"
            )
