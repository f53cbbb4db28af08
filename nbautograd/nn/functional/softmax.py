"""Softmax, softmin, their logarithms, and Gumbel-softmax."""

from __future__ import annotations

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.compiler.argument_errors import check_option
from nbautograd._engine.core.batched import random_function
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.reduction.softmax import log_softmax_over, refuse_integers, softmax_over
from nbautograd._engine.rng import generator
from nbautograd.errors import warn

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]


def _implicit_dim(name: str, dim: int | None, ndim: int) -> int:
    if dim is None:
        warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
            "argument."
        )
        return 0 if ndim in (0, 1, 3) else 1
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return ``exp(input)`` divided by its sum over ``dim``, without overflow.

    >>> torch.nn.functional.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    check_tensors("softmax", input=input)
    x = input if dtype is None else input.to(check_option("softmax", "dtype", dtype, "dtypes.dtype"))
    return softmax_over(x, _implicit_dim("softmax", dim, x._a.ndim))


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return :func:`softmax` of ``-input``.

    >>> torch.nn.functional.softmin(torch.tensor([0., 1000.]), dim=0)
    tensor([1., 0.])
    """
    check_tensors("softmin", input=input)
    x = -input if dtype is None else (-input).to(dtype)
    return softmax_over(x, _implicit_dim("softmin", dim, x._a.ndim))


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the logarithm of :func:`softmax`, without computing softmax.

    >>> torch.nn.functional.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    check_tensors("log_softmax", input=input)
    x = input if dtype is None else input.to(check_option("log_softmax", "dtype", dtype, "dtypes.dtype"))
    return log_softmax_over(x, _implicit_dim("log_softmax", dim, x._a.ndim))


@random_function("elements", traced="value")
def _exponential_like(logits: Tensor) -> Tensor:
    """Return exponential numbers in the shape and dtype of ``logits``."""
    drawn = generator.default_generator.exponential(logits._a.shape, logits._a.dtype)
    return wrap(backend.module(logits.device).asarray(drawn))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw samples of a categorical distribution, relaxed so that they have a gradient (Jang et al., 2017).

    :param tau: the temperature: the nearer to 0, the nearer to one-hot vectors.
    :param hard: return one-hot vectors, with the gradient of the relaxed ones.

    >>> torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(1)
    tensor([1., 1.])
    """
    check_tensors("gumbel_softmax", logits=logits)
    refuse_integers("gumbel_softmax", logits._a)
    check_option("softmax", "dim", dim, "int", 1)
    soft = softmax((logits - _exponential_like(logits).log()) / tau, dim)
    if not hard:
        return soft
    one_hot = (soft.detach() * 0).scatter(dim, soft.detach().argmax(dim, True), 1.0)
    return one_hot - soft.detach() + soft
