"""Parametrizations: ``weight_norm``."""

from __future__ import annotations

from nbautograd.core.tensor import Tensor
from nbautograd.nn.modules.module import Module
from nbautograd.nn.utils.parametrize import register_parametrization
from nbautograd.ops.reduction.norms import linalg_vector_norm

__all__ = ["weight_norm"]


def _lengths(weight: Tensor, dim: int) -> Tensor:
    """The norms over all dimensions but one; over all for -1."""
    if dim == -1:
        return linalg_vector_norm(weight, 2)
    others = [d for d in range(weight.ndim) if d != dim % weight.ndim]
    return linalg_vector_norm(weight, 2, others, keepdim=True) if others else weight.abs()


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The direction of one, in the length of the other."""
        return weight_v * (weight_g / _lengths(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Length and direction of a weight."""
        return _lengths(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Have a weight computed from lengths and directions, ``g · v / |v|`` (Salimans and Kingma, 2016).

    :param dim: the dimension of which each element has a length of its own; None for one length.

    >>> import nbautograd as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
