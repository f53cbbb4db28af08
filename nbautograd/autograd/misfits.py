"""Gradients of tensors that were reshaped after they were used: rare, so imported late."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.compiler.promotion import broadcasts_to
from nbautograd._engine.core.sparse import stored, wrapped
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops._internal import sum_to
from nbautograd.errors import AutogradError

__all__ = ["check_added", "fitted"]


def fitted(g: Any, shape: tuple[int, ...]) -> Any:
    """Return a gradient in the shape that the tensor had before it was reshaped under ``no_grad``.

    :raises AutogradError: the gradient cannot be summed to it.
    """
    try:
        return sum_to(g, shape) if isinstance(g, Tensor) else stored(sum_to(wrapped(g, wrap=wrap_known), shape))
    except RuntimeError:
        raise AutogradError(
            f"invalid gradient at index 0 - got {list(g.shape)} but expected shape compatible with {list(shape)}, that "
            "of the tensor before it was reshaped under no_grad()"
        ) from None


def check_added(leaf: Tensor, held: Tensor, d: Any) -> None:
    """Check that a gradient broadcasts to the shape of ``.grad``."""
    if broadcasts_to(d.shape, held._a.shape):
        return
    raise AutogradError(
        f"Function AccumulateGrad returned an invalid gradient at index 0 - got {list(d.shape)} but expected shape "
        f"compatible with {list(held.shape)}, that of the existing .grad: the .data of the leaf, now of shape "
        f"{list(leaf.shape)}, has been exchanged. Set its .grad to None first."
    )
