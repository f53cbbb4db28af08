"""``torch._vmap_internals``: the former ``vmap``, which packages still import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.batching.transform import vmap as transform

__all__ = ["_vmap", "vmap"]


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """Map a function over batches, as :func:`nbautograd.func.vmap` does.

    :param allow_none_pass_through: has no effect.

    >>> import nbautograd as torch
    >>> _vmap(torch.sum)(torch.ones(2, 3))
    tensor([3., 3.])
    """
    return transform(func, in_dims, out_dims)


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """Map a function over batches, as :func:`nbautograd.func.vmap` does.

    >>> import nbautograd as torch
    >>> vmap(torch.sum)(torch.ones(2, 3))
    tensor([3., 3.])
    """
    return transform(func, in_dims, out_dims)
