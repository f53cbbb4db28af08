"""Base classes of distributions that accept either probabilities or logits."""

from __future__ import annotations

from typing import Any, ClassVar

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd.distributions.utils import attribute, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ByProbability", "WithCategorical"]


class ByProbability:
    """``probs`` and ``logits``: one is given, the other is computed on first use.

    :param probs: the probability of 1.
    :param logits: its log-odds, instead.
    :raises ValueError: both or neither are given.
    """

    _binary: ClassVar[bool] = True
    """True if each probability is of one event and logits are log-odds; otherwise they are of a choice."""
    param_shape: Size = attribute(lambda d: d._param.shape, "The shape of ``probs`` and of ``logits``.")

    @staticmethod
    def _probs_or_logits(probs: Any, logits: Any) -> dict[str, Any]:
        """Return the given one, by name.

        :raises ValueError: both or neither are given.
        """
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return {"logits": logits} if probs is None else {"probs": probs}

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds, or logarithms of probabilities up to a constant."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self) -> Tensor:
        """The given one; the other has the same shape and dtype."""
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class WithCategorical(ByProbability):
    """The base of distributions that share the parameters of a categorical distribution, ``_categorical``.

    :param probs: weights in the last dimension, which are normalized.
    :param logits: logarithms of weights, instead.
    :raises ValueError: both or neither are given, or they have no dimension.
    """

    _categorical: Any
    _param = attribute(lambda d: d._categorical._param)
    probs: Tensor = attribute(lambda d: d._categorical.probs, "Probabilities of the choices, in the last dimension.")
    logits: Tensor = attribute(lambda d: d._categorical.logits, "Logarithms of the probabilities.")
