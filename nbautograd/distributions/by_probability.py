"""What distributions share that take either probabilities or logits."""

from __future__ import annotations

from typing import Any, ClassVar

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ByProbability", "WithCategorical"]


class ByProbability:
    """``probs`` and ``logits``, one of which is given; the other is computed when it is asked for."""

    _binary: ClassVar[bool] = True
    """Whether the probabilities are of single events, so that logits are log-odds; otherwise of a choice."""

    @staticmethod
    def _probs_or_logits(probs: Any, logits: Any) -> dict[str, Any]:
        """The one that is specified, by name.

        :raises ValueError: both are, or none.
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
        """The one that was given: the other has the same shape and dtype."""
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @property
    def param_shape(self) -> Size:
        """The shape of ``probs`` and of ``logits``."""
        return self._param.shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class WithCategorical:
    """What distributions have that keep a categorical one, ``_categorical``: its parameters are theirs."""

    _categorical: Any

    @property
    def probs(self) -> Tensor:
        """Probabilities of the choices, in the last dimension."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        """The shape of ``probs`` and of ``logits``."""
        return self._param.shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)
