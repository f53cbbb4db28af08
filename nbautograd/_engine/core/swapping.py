"""The exchange of two tensors."""

from __future__ import annotations

from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.tensor import Tensor


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
