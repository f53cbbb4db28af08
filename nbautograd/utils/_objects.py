"""Swapping two tensors, and setting the module of an object."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.tensor import Tensor

__all__ = ["set_module", "swap_tensors"]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Swap two tensors: all references to one then refer to the other.

    :param t1: a tensor.
    :param t2: another tensor.
    :returns: None.
    :raises RuntimeError: a tensor is a view, has views, or has a graph.

    >>> import nbautograd as torch
    >>> x, y = torch.zeros(1), torch.nn.Parameter(torch.ones(2))
    >>> torch.utils.swap_tensors(x, y)
    >>> x, y
    (Parameter containing:
    tensor([1., 1.], requires_grad=True), tensor([0.]))
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if t._view is not None or t._views is not None or (t._fn is not None and t._fn is not LEAF):
            raise RuntimeError(
                f"Cannot swap {name}: it is a view, has views, or a node of a graph holds it; detach() it first"
            )
    t1._a, t2._a = t2._a, t1._a
    t1._fn, t2._fn = t2._fn, t1._fn
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__


def set_module(obj: Any, mod: str) -> None:
    """Set the module name of an object.

    :param obj: the object, such as a class or a function.
    :param mod: the name.
    :returns: None.
    :raises TypeError: the name is not a string.

    >>> class Point: ...
    >>> set_module(Point, "geometry")
    >>> Point
    <class 'geometry.Point'>
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
