"""``inference_mode``: like ``no_grad``, and what is made in it can never get into a recorded computation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from itertools import count
from typing import Any

from nbautograd.arrays import version_counter
from nbautograd.core import dispatch_mode
from nbautograd.core.grad_mode import (
    grad_enabled,
    inference,
    is_inference_mode_enabled,
    run_generator,
    warn_of_class,
)
from nbautograd.core.node import Node, OutputEdge
from nbautograd.core.tensor import Tensor, on_wrap
from nbautograd.errors import AutogradError

__all__ = ["inference_mode", "is_inference_mode_enabled"]

_calls = count(1)
_watching = False  # of the process: inference tensors may be used in any thread, for as long as there are any


class inference_mode:  # noqa: N801 - PyTorch's name
    """Record nothing; what is made in the block is an inference tensor, which cannot be saved for backward later.

    >>> import nbautograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    >>> x * y
    Traceback (most recent call last):
        ...
    nbautograd.errors.AutogradError: Inference tensors cannot be saved for backward: MulBackward0 needs one that was \
made in inference mode; clone() it, or make it under torch.no_grad() instead of torch.inference_mode().
    """

    def __new__(cls, mode: Any = True) -> Any:
        """A context manager, or the decorated function where one is given."""
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode
        self._tokens: list[Any] = []

    def __enter__(self) -> None:
        self._tokens.append((inference.set(self.mode), grad_enabled.set(not self.mode)))
        if self.mode:
            _watch()

    def __exit__(self, *exception: object) -> None:
        outer, grad = self._tokens.pop()
        grad_enabled.reset(grad)
        inference.reset(outer)
        _relax()

    def clone(self) -> inference_mode:
        """A fresh one of the same mode."""
        made: inference_mode = type(self)(self.mode)
        return made

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function or a generator function."""
        if inspect.isgeneratorfunction(function):
            return run_generator(self, function)
        if inspect.isclass(function):
            warn_of_class(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapper


def _watch() -> None:
    global _watching
    if not _watching:
        on_wrap(_created)
        dispatch_mode.push(_around, around=True, everywhere=True)  # whole or, after an interrupt, not at all
        _watching = True


def _relax() -> None:
    """Stop watching once no inference tensor is left."""
    global _watching
    if _watching and not inference.get() and not version_counter.inferred:
        _watching = False
        dispatch_mode.pop(_around)
        on_wrap(None)


def _created(t: Tensor) -> None:
    """A tensor of a new array, made by whatever is no operation."""
    if inference.get() and getattr(t._a, "base", None) is None:
        version_counter.mark_inference(t.shared_array())


def _around(op: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The dispatch mode: run the operation and mark its results, or check what a recorded one has saved."""
    if not inference.get():
        result = call(*args, **kwargs)
        _check_saved(result)
        if next(_calls) % 1024 == 0:
            _relax()
        return result
    token = grad_enabled.set(False)  # enable_grad() has no effect here
    try:
        result = call(*args, **kwargs)
    finally:
        grad_enabled.reset(token)
    if op.kind != "view":
        for t in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(t, Tensor) and t._view is None:
                version_counter.mark_inference(t.shared_array())
    return result


def _check_saved(result: Any) -> None:
    t = result[0] if isinstance(result, tuple) and result else result
    node = t._fn if isinstance(t, Tensor) else None
    if not isinstance(node, Node):
        return
    node = node.next0 if node.__class__ is OutputEdge else node
    for slot in node.saved:
        value = getattr(node, slot)
        for array in value if isinstance(value, (list, tuple)) else (value,):
            if hasattr(array, "dtype") and version_counter.is_inference(array):
                raise AutogradError(
                    f"Inference tensors cannot be saved for backward: {node.name()} needs one that was made in "
                    "inference mode; clone() it, or make it under torch.no_grad() instead of torch.inference_mode()."
                )
