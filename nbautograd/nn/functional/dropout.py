"""Dropout: elements or whole channels set to 0 at random, with the same random numbers as PyTorch on the CPU."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.strides import dense, strides_of
from nbautograd._engine.compiler.argument_errors import check_option
from nbautograd._engine.core.batched import random_function
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.rng import generator
from nbautograd.errors import warn

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

SATURATION = 1.7580993408473766
"""Minus the limit of selu at minus infinity: its scale times its alpha."""


def _check(name: str, input: Tensor, p: float) -> None:
    check_tensors(name, input=input)
    check_option(name, "p", p, "float", 1)
    if not 0 <= p <= 1:
        raise (ValueError if p == p else RuntimeError)(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(input: Tensor, p: float, whole_channels: bool) -> Any:
    """Return a mask of 1 (kept) and 0 (dropped), drawn in memory order as PyTorch does."""
    a = input._a
    if input.dtype.rank < 2:
        kind = dtypes.scalar_type(input.dtype)
        raise RuntimeError(f"dropout(): result type Float can't be cast to the desired output type {kind}")
    if a.dtype.kind == "c":
        raise NotImplementedError(f'dropout(): "bernoulli_scalar_cpu_" not implemented for {input.dtype!r}')
    kind = np.dtype(np.float64 if a.dtype.char == "d" else np.float32)  # that of the factors of half types, too
    if whole_channels:
        if a.ndim < 2:
            raise RuntimeError(f"Feature dropout requires at least 2 dimensions in the input, got {a.ndim}")
        shape = (*a.shape[:2], *(1,) * (a.ndim - 2))
        if backend.is_bare(a):
            return np.empty_like(a, kind, shape=shape)
        return generator.default_generator.bernoulli(1 - p, shape, kind)
    if backend.is_bare(a):
        return np.empty_like(a, kind)
    steps = dense(a.shape, strides_of(a))
    order = sorted(range(a.ndim), key=lambda d: -steps[d])
    drawn = generator.default_generator.bernoulli(1 - p, [a.shape[d] for d in order], kind)
    return drawn.transpose(np.argsort(order)) if a.ndim > 1 else drawn


def _times(input: Tensor, factors: Any, inplace: bool) -> Tensor:
    array = wrap(backend.module(input.device).asarray(factors)).to(input.dtype)
    return input.mul_(array) if inplace else input * array


def _dropped(
    input: Tensor, p: float, training: bool, inplace: bool, whole_channels: bool = False, alpha: bool = False
) -> Tensor:
    """Drop elements or channels, unless nothing or all is dropped."""
    check_option("dropout", "train", training, "bool", 2)
    inplace = inplace if alpha else bool(inplace)
    if not training or p == 0 or not input._a.size:
        return input
    if p == 1:
        return _times(input, np.zeros(()), inplace)
    return _DROPS[alpha, whole_channels](input, p, inplace, whole_channels)


@random_function("distribution")
def _factors(input: Tensor, p: float, whole_channels: bool) -> Tensor:
    """Return a factor for each element: 0 where dropped, a number above 1 where kept."""
    kept = _kept(input, p, whole_channels)
    return wrap(backend.module(input.device).asarray(kept / kept.dtype.type(1 - p)))


def _dropped_at_random(input: Tensor, p: float, inplace: bool, whole_channels: bool) -> Tensor:
    factors = _factors(input, p, whole_channels).to(input.dtype)
    return input.mul_(factors) if inplace else input * factors


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to 0 with probability ``p``, and divide the others by ``1 - p``; do nothing when not training.

    :raises ValueError: ``p`` is not in [0, 1].

    >>> _ = torch.manual_seed(5)
    >>> torch.nn.functional.dropout(torch.ones(4), 0.5)
    tensor([0., 2., 2., 2.])
    """
    _check("dropout", input, p)
    return _dropped(input, p, training, inplace)


def _unbatched(input: Tensor, p: float, training: bool, inplace: bool, ndim: int) -> Tensor:
    """Apply dropout to channels, with a temporary batch dimension if it is missing."""
    if input._a.ndim == ndim:
        return _dropped(input, p, training, inplace, True)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _dropped(batch, p, training, inplace, True)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each channel to 0 with probability ``p``, and divide the others by ``1 - p``.

    :param input: shape (n, c, l), or (c, l).
    :raises ValueError: ``p`` is not in [0, 1].
    :raises RuntimeError: the number of dimensions is wrong.

    >>> _ = torch.manual_seed(5)
    >>> torch.nn.functional.dropout1d(torch.ones(2, 3), 0.5)
    tensor([[0., 0., 0.],
            [2., 2., 2.]])
    """
    _check("dropout1d", input, p)
    if input._a.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input._a.ndim}D input: it drops channels of inputs "
            "(n, c, l) or (c, l)"
        )
    return _unbatched(input, p, training, inplace, 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each channel to 0 with probability ``p``, and divide the others by ``1 - p``.

    :param input: shape (n, c, h, w).
    :raises ValueError: ``p`` is not in [0, 1].
    :raises RuntimeError: ``input`` has fewer than two dimensions.

    >>> _ = torch.manual_seed(5)
    >>> torch.nn.functional.dropout2d(torch.ones(1, 2, 1, 3), 0.5)
    tensor([[[[0., 0., 0.]],
    <BLANKLINE>
             [[2., 2., 2.]]]])
    """
    _check("dropout2d", input, p)
    if input._a.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired: its shape is taken as (n, c, l). dropout1d does the same without this warning."
        )
    elif input._a.ndim != 4:
        warn(f"dropout2d: Received a {input._a.ndim}-D input to dropout2d, which is deprecated: expected (n, c, h, w)")
    return _dropped(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each channel to 0 with probability ``p``, and divide the others by ``1 - p``.

    :param input: shape (n, c, d, h, w), or (c, d, h, w).
    :raises ValueError: ``p`` is not in [0, 1].

    >>> _ = torch.manual_seed(5)
    >>> torch.nn.functional.dropout3d(torch.ones(1, 2, 1, 1, 3), 0.5).sum()
    tensor(6.)
    """
    _check("dropout3d", input, p)
    if input._a.ndim not in (4, 5):
        warn(
            f"dropout3d: Received a {input._a.ndim}-D input to dropout3d, which is deprecated: expected "
            "(n, c, d, h, w) or (c, d, h, w)"
        )
    return _unbatched(input, p, training, inplace, 5)


def _alpha_dropped_at_random(input: Tensor, p: float, inplace: bool, whole_channels: bool) -> Tensor:
    """Set dropped elements to selu's lower bound; then scale and shift all to mean 0 and variance 1."""
    kept = _kept(input, p, whole_channels)
    one = kept.dtype.type
    scale = 1 / math.sqrt((SATURATION * SATURATION * p + 1) * (1 - p))
    shift = (kept - one(1)) * one(SATURATION * scale) + one(SATURATION * scale * p)
    result = _times(input, kept * one(scale), inplace)
    added = wrap(backend.module(input.device).asarray(shift)).to(input.dtype)
    return result.add_(added) if inplace else result + added


_alpha_dropped = partial(_dropped, alpha=True)
_DROPS = {
    (False, False): random_function("elements", traced="steps")(_dropped_at_random),
    (False, True): random_function("channels", traced="steps")(_dropped_at_random),
    (True, False): random_function("elements")(_alpha_dropped_at_random),
    (True, True): random_function("channels")(_alpha_dropped_at_random),
}


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply dropout that keeps mean 0 and variance 1 after :func:`selu` (Klambauer et al., 2017).

    :raises ValueError: ``p`` is not in [0, 1].

    >>> _ = torch.manual_seed(5)
    >>> torch.nn.functional.alpha_dropout(torch.ones(3), 0.5, training=True)
    tensor([-0.7792,  1.6656,  1.6656])
    """
    _check("alpha_dropout", input, p)
    return _alpha_dropped(input, p, training, inplace, False)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply :func:`alpha_dropout` to whole channels.

    :param input: shape (n, c, ...).
    :raises ValueError: ``p`` is not in [0, 1].
    :raises RuntimeError: ``input`` has fewer than two dimensions.

    >>> _ = torch.manual_seed(5)
    >>> torch.nn.functional.feature_alpha_dropout(torch.ones(1, 2, 2), 0.5, training=True)
    tensor([[[-0.7792, -0.7792],
             [ 1.6656,  1.6656]]])
    """
    _check("feature_alpha_dropout", input, p)
    return _alpha_dropped(input, p, training, inplace, True)
