"""Dropout: elements or channels set to zero at random while training."""

from __future__ import annotations

from typing import Any

from nbautograd.nn import functional as F  # noqa: N812
from nbautograd.nn.modules._options import Layer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(Layer, shared=True, show="p={0.p}, inplace={0.inplace}", training=True):
    """Base of dropout layers, with the probability that an element or a channel is set to zero."""

    p: float = 0.5
    inplace: bool = False

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        p = options["p"]
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        return options


class Dropout(_Dropout, function=F.dropout):
    """Set elements to zero with probability ``p``, and scale the others to keep the mean (Hinton et al., 2012)."""


class Dropout1d(_Dropout, function=F.dropout1d):
    """Set whole channels to zero: input of shape (n, c, l) or (c, l)."""


class Dropout2d(_Dropout, function=F.dropout2d):
    """Set whole channels to zero: input of shape (n, c, h, w)."""


class Dropout3d(_Dropout, function=F.dropout3d):
    """Set whole channels to zero: input of shape (n, c, d, h, w) or (c, d, h, w)."""


class AlphaDropout(_Dropout, function=F.alpha_dropout, unused="inplace"):
    """Dropout that keeps the mean and variance of a SELU's output (Klambauer et al., 2017).

    >>> torch.nn.AlphaDropout().eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """


class FeatureAlphaDropout(_Dropout, function=F.feature_alpha_dropout, unused="inplace"):
    """Alpha dropout of whole channels.

    >>> torch.nn.FeatureAlphaDropout().eval()(torch.ones(1, 3))
    tensor([[1., 1., 1.]])
    """
