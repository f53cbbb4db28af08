"""``inference_mode``: like ``no_grad``, but tensors created in it cannot be used in recorded computations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from nbautograd._engine.arrays import version_counter
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.grad_mode import (
    grad_enabled,
    inference,
    is_inference_mode_enabled,
    run_in,
    unrecorded,
)
from nbautograd._engine.core.node import Node, OutputEdge
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import AutogradError

__all__ = ["inference_mode", "is_inference_mode_enabled"]

_COPIES = {"cast", "clone", "move"}
_watching = False  # process-wide: inference tensors may be used in any thread, while they exist


class inference_mode:  # noqa: N801 - PyTorch's name
    """A mode that records nothing; tensors created in the block are inference tensors, which cannot be saved for
    backward.

    >>> import nbautograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    >>> x * y
    Traceback (most recent call last):
        ...
    nbautograd.errors.AutogradError: Inference tensors cannot be saved for backward: MulBackward0 needs an inference \
tensor. clone() it, or create it under torch.no_grad() instead of torch.inference_mode().
    """

    def __new__(cls, mode: Any = True) -> Any:
        """Return a context manager, or the decorated function if ``mode`` is one."""
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode
        self._tokens: list[Any] = []

    def __enter__(self) -> None:
        self._tokens.append((inference.set(self.mode), grad_enabled.set(not self.mode)))
        if self.mode:
            _open.add(self)
            _watch()

    def __exit__(self, *exception: object) -> None:
        outer, grad = self._tokens.pop()
        grad_enabled.reset(grad)
        inference.reset(outer)
        if not self._tokens:
            _open.discard(self)
        _relax()

    def clone(self) -> inference_mode:
        """Return a new object of the same mode."""
        fresh: inference_mode = type(self)(self.mode)
        return fresh

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function or a generator function."""
        return run_in(self, function)


_open: WeakSet[inference_mode] = WeakSet()
"""Blocks open in some thread; one whose start was interrupted is freed, and so removed from this set."""


def _watch() -> None:
    global _watching
    if not _watching:
        dispatch_mode.push(_INFERENCE, everywhere=True)  # atomic: an interrupt leaves no half-pushed mode
        _watching = True


def _relax() -> None:
    """Stop watching once no inference tensors exist, and no thread is in a block that may create some."""
    global _watching
    if _watching and not _open and not inference.get() and not version_counter.inferred:
        _watching = False
        dispatch_mode.pop(_INFERENCE)


def _created(t: Tensor, known: bool) -> None:
    """Mark a new tensor that did not come from an operation."""
    if inference.get() and getattr(t._a, "base", None) is None:
        version_counter.mark_inference(t._shared_array())


def _around(op: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run the operation and mark its results; if it was recorded, check the saved tensors of its node."""
    inputs = [t for value in (*args, *kwargs.values()) for t in _tensors(value)]
    inferred = [t for t in inputs if t.is_inference()]
    if inference.get():
        result = unrecorded(call, *args, **kwargs)  # enable_grad() has no effect here
        if op.kind != "view" and kwargs.get("out") is None:
            _mark(result)
    elif not inferred:
        result = call(*args, **kwargs)
    elif op.name in _COPIES:  # the copy is an ordinary tensor
        result = call(*args, **kwargs)
        version_counter.record_write(result._shared_array())
    elif dispatch_mode.forward_ad_below.get() == 0:  # forward mode computes a tangent with the node of this call
        result = call(*args, **kwargs)
    elif len(inferred) == len(inputs):
        result = unrecorded(call, *args, **kwargs)
    else:
        result = call(*args, **kwargs)
        _check_saved(op, args, kwargs, result)
    if inferred and op.kind == "view":
        _untrack(result)
    if not version_counter.inferred:  # the last of them has been freed since
        _relax()
    return result


_INFERENCE = dispatch_mode.Interpreter(run=_around, created=_created)


def _mark(result: Any) -> None:
    """Mark the new tensors in a result."""
    for t in _tensors(result):
        if t._view is None:
            version_counter.mark_inference(t._shared_array())


def _tensors(value: Any) -> list[Tensor]:
    """Return the tensors in an argument or a result."""
    return [t for t in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(t, Tensor)]


def _untrack(result: Any) -> None:
    """Unregister views of inference tensors, so that autograd does not treat them as views."""
    for view in _tensors(result):
        if view._view is not None:
            view._view.base._views = None
            view._view = view._fn = None


def _check_saved(op: Any, args: Any, kwargs: Any, result: Any) -> None:
    """Raise AutogradError if the node of a result has saved an inference tensor."""
    outputs = _tensors(result)
    node = outputs[0]._fn if outputs else None
    if not isinstance(node, Node):
        return
    node = node.next0 if node.__class__ is OutputEdge else node
    tensors = {name: value for name, value in kwargs.items() if name in op.tensors}
    inputs = op.signature.bind_partial(*args, **tensors).arguments
    for slot in filter(node.needs, node.saved):
        value, before = getattr(node, slot), inputs.get(slot.removeprefix("s_"))  # which may have been cast
        arrays = [*value, *before] if isinstance(value, (list, tuple)) and before else [value, before]
        if value is not None and any(version_counter.is_inference(getattr(a, "_a", a)) for a in arrays):
            raise AutogradError(
                f"Inference tensors cannot be saved for backward: {node.name()} needs an inference tensor. "
                "clone() it, or create it under torch.no_grad() instead of torch.inference_mode()."
            )
