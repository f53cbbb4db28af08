"""``torch.utils.hooks``: the handle that removes a hook, and a mark for hooks that pickling may drop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nbautograd._engine.core.hooks import RemovableHandle, warn_of_hooks
from nbautograd._engine.core.tensor import Tensor

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

Hook = TypeVar("Hook", bound=Callable[..., object])


def unserializable_hook(f: Hook) -> Hook:
    """Decorate a tensor's hook, so that pickling or copying the tensor, which drops hooks, does not warn.

    :param f: the hook.
    :returns: the hook itself.

    >>> import nbautograd as torch, pickle
    >>> x = torch.ones(2, requires_grad=True)
    >>> @torch.utils.hooks.unserializable_hook
    ... def double(grad):
    ...     return 2 * grad
    >>> handle = x.register_hook(double)
    >>> pickle.loads(pickle.dumps(x))
    tensor([1., 1.], requires_grad=True)
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn if a tensor has hooks that pickling would drop."""
    warn_of_hooks(tensor._hooks)
