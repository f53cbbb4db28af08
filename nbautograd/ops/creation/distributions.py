"""Samples of discrete and gamma distributions, bit for bit as PyTorch's on a CPU."""

from __future__ import annotations

import numpy as np

from nbautograd.arrays import backend, dtypes
from nbautograd.arrays.size import as_int
from nbautograd.compiler.op import NATIVE, composite, op
from nbautograd.core.batched import random_function
from nbautograd.core.grad_mode import is_grad_enabled
from nbautograd.core.inplace import copy_into
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.ops.creation.from_data import finish
from nbautograd.ops.creation.random import resized_out
from nbautograd.ops.creation.random_inplace import bernoulli_, check_dtype, common_shape, decided, source
from nbautograd.rng.generator import Generator

__all__ = ["_sample_dirichlet", "_standard_gamma", "bernoulli", "binomial", "multinomial", "poisson"]


@composite()
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Samples (0 or 1) of the Bernoulli distribution with the elements of ``input``, or ``p``, as probabilities of 1.

    :raises RuntimeError: a probability is not in [0, 1].

    >>> import nbautograd as torch
    >>> torch.bernoulli(torch.tensor([0., 1.]))
    tensor([0., 1.])
    """
    if p is None:
        check_dtype("bernoulli", input._a.dtype, "f")
    if out is not None:
        with resized_out(out, input._a.shape, "bernoulli"):
            return bernoulli_(out, input.detach() if p is None else p, generator=generator)
    return _bernoulli(input, p, source(generator))


@op(node="BernoulliBackward0", symbol="bernoulli", method=False, half=NATIVE, input="zeros_of(g)")
def _bernoulli(input: Tensor, p: float | None, generator: Generator) -> Tensor:
    """Bernoulli samples in the shape and dtype of ``input``."""
    drawn = decided(backend.fetch(input) if p is None else p, generator)(input.shape, input.dtype)
    return backend.module(backend.device_of(input)).asarray(drawn)


@op(node="PoissonBackward0", symbol="poisson", method=False, half=NATIVE, input="zeros_of(g)")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Samples of the Poisson distribution with the elements of ``input`` as rates.

    :raises RuntimeError: a rate is negative.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.poisson(torch.tensor([0., 2., 50.]))
    tensor([ 0.,  0., 36.])
    """
    check_dtype("poisson", input.dtype, "f")
    drawn = source(generator).poisson(backend.fetch(input), input.dtype)
    return backend.module(backend.device_of(input)).asarray(drawn)


@op(
    node="BinomialBackward0",
    symbol="binomial",
    method=False,
    half=NATIVE,
    count="sum_to(zeros_of(g), count.shape)",
    prob="sum_to(zeros_of(g), prob.shape)",
)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Samples of the binomial distribution: the number of successes in ``count`` trials of probability ``prob``.

    The gradient is zero; PyTorch has none.

    :raises ValueError: ``count`` is not of a floating dtype.
    :raises RuntimeError: ``prob`` is of another dtype, or the shapes do not broadcast.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.binomial(torch.tensor([5., 100.]), torch.tensor([1., 0.5]))
    tensor([ 5., 40.])
    """
    if count.dtype.kind not in "fV":
        raise ValueError(
            f"binomial only supports floating-point dtypes for count, got: {dtypes.scalar_type(count.dtype)}"
        )
    if prob.dtype.kind not in "fV":
        raise ValueError(
            f"binomial only supports floating-point dtypes for prob, got: {dtypes.scalar_type(prob.dtype)}"
        )
    if count.dtype.itemsize == 2:
        raise NotImplementedError(f"binomial() is not implemented for {dtypes.of(count.dtype)!r}")
    if count.dtype != prob.dtype:
        kinds, expected = dtypes.of(prob.dtype), dtypes.of(count.dtype)
        raise RuntimeError(f"binomial(): Found dtype {kinds!r} for prob but expected {expected!r}, that of count")
    shape = common_shape(count.shape, prob.shape)
    trials, chances = (np.broadcast_to(backend.fetch(a), shape) for a in (count, prob))
    drawn = source(generator).binomial(trials, chances, count.dtype)
    return backend.module(backend.device_of(count)).asarray(drawn)


def _check_wide(name: str, input: Tensor) -> None:
    """Raise for half precision, and for inputs that require grad: the derivative is not implemented."""
    if input.dtype in dtypes.HALVES:
        raise NotImplementedError(f"{name}() is not implemented for {input.dtype!r}, but for float32 and float64")
    if input._fn is not None and is_grad_enabled():
        raise NotImplementedError(f"{name}(): the derivative is not implemented; use input.detach()")


@composite(method=False)
@random_function("distribution")
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Samples of the gamma distribution with the elements of ``input`` as shape parameters and scale 1.

    :raises NotImplementedError: ``input`` requires grad (there is no derivative with respect to the shape
        parameter), or is not of dtype float32 or float64.
    """
    check_dtype("_standard_gamma", input._a.dtype, "f")
    _check_wide("_standard_gamma", input)
    drawn = source(generator).gamma(backend.fetch(input._a), input._a.dtype)
    return finish(backend.module(input.device).asarray(drawn))


@composite(method=False)
@random_function("distribution")
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Samples of the Dirichlet distribution whose concentrations are in the last dimension of ``input``.

    :raises NotImplementedError: ``input`` is of half precision.
    """
    check_dtype("_sample_dirichlet", input._a.dtype, "f")
    _check_wide("_sample_dirichlet", input)
    drawn = source(generator).dirichlet(backend.fetch(input._a), input._a.dtype)
    return finish(backend.module(input.device).asarray(drawn))


@composite()
@random_function("rows")
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """``num_samples`` indices drawn from the multinomial distribution whose weights are the rows of ``input``.

    :param input: one or two dimensions; the weights of a row need not sum to 1.
    :returns: int64, shape (num_samples,) or (rows, num_samples).
    :raises RuntimeError: weights that are negative, not finite or all zero; more samples than weights without
        replacement.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.multinomial(torch.tensor([0., 10., 3., 0.]), 2)
    tensor([1, 2])
    """
    count = as_int(num_samples, "multinomial(): argument 'num_samples'")
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype!r}")
    drawn = source(generator).multinomial(backend.fetch(input._a), count, bool(replacement))
    result = wrap(backend.module(input.device).asarray(drawn))
    if out is None:
        return result
    with resized_out(out, result._a.shape, "multinomial"):
        return copy_into(out, result)
