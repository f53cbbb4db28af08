"""Samples of discrete and gamma distributions, bit for bit as in PyTorch on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.compiler.op import NATIVE, composite, no_method
from nbautograd._engine.core.batched import random_function
from nbautograd._engine.core.inplace import copy_into
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops.creation.random import resized_out
from nbautograd._engine.ops.creation.random_inplace import (
    bernoulli_,
    check_dtype,
    common_shape,
    decided,
    seeded,
    source,
)
from nbautograd._engine.ops.creation.reparameterization import _dirichlet_grad, _standard_gamma_grad  # noqa: F401
from nbautograd._engine.ops.queries import example
from nbautograd._engine.ops.reduction.softmax import sum_along  # noqa: F401 - a formula names it
from nbautograd._engine.rng.generator import Generator


@composite()
@example("bernoulli([0., 1.]) -> [0., 1.]")
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Sample the Bernoulli distribution (0 or 1) with the elements of ``input``, or ``p``, as probabilities of 1.

    :raises RuntimeError: a probability is not in [0, 1].
    """
    if p is None:
        check_dtype("bernoulli", input._a.dtype, "f")
    if out is not None:
        with resized_out(out, input._a.shape, "bernoulli", input):
            return bernoulli_(out, input.detach() if p is None else p, generator=generator)
    return _bernoulli(input, p, source(generator))


@no_method(symbol="bernoulli", half=NATIVE, input="zeros_of(g)")
def _bernoulli(input: Tensor, p: float | None, generator: Generator) -> Tensor:
    """Return Bernoulli samples in the shape and dtype of ``input``."""
    if backend.is_bare(input):
        return np.empty_like(input)
    drawn = decided(backend.fetch(input) if p is None else p, generator)(input.shape, input.dtype)
    return backend.module(backend.device_of(input)).asarray(drawn)


def _drawn(distribution: str, parameters: Any, generator: Generator | None) -> Any:
    """Return a sample for each parameter, or row of parameters, on their device."""
    if backend.is_bare(parameters):
        return np.empty_like(parameters)
    drawn = getattr(source(generator), distribution)(backend.fetch(parameters), parameters.dtype)
    return backend.module(backend.device_of(parameters)).asarray(drawn)


@no_method(symbol="poisson", half=NATIVE, input="zeros_of(g)")
@seeded("poisson([0., 2., 50.]) -> [ 0.,  0., 36.]")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Sample the Poisson distribution with the elements of ``input`` as rates.

    :raises RuntimeError: a rate is negative.
    """
    check_dtype("poisson", input.dtype, "f")
    return _drawn("poisson", input, generator)


@no_method(
    symbol="binomial", half=NATIVE, count="sum_to(zeros_of(g), count.shape)", prob="sum_to(zeros_of(g), prob.shape)"
)
@seeded("binomial([5., 100.], [1., 0.5]) -> [ 5., 40.]")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Sample the binomial distribution: the number of successes in ``count`` trials of probability ``prob``.

    The gradient is zero; PyTorch does not have one.

    :raises ValueError: ``count`` is not of a floating dtype.
    :raises RuntimeError: ``prob`` is of another dtype, or the shapes do not broadcast.
    """
    for name, a in (("count", count), ("prob", prob)):
        if a.dtype.kind not in "fV":
            kind = dtypes.scalar_type(a.dtype)
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {kind}")
    if count.dtype.itemsize == 2:
        raise NotImplementedError(f"binomial() is not implemented for {dtypes.of(count.dtype)!r}")
    if count.dtype != prob.dtype:
        kinds, expected = dtypes.of(prob.dtype), dtypes.of(count.dtype)
        raise RuntimeError(f"binomial(): Found dtype {kinds!r} for prob but expected {expected!r}, that of count")
    shape = common_shape(count.shape, prob.shape)
    if backend.is_bare(count):
        return np.empty_like(count, shape=shape)
    trials, chances = (np.broadcast_to(backend.fetch(a), shape) for a in (count, prob))
    drawn = source(generator).binomial(trials, chances, count.dtype)
    return backend.module(backend.device_of(count)).asarray(drawn)


def _check_wide(name: str, dtype: np.dtype[Any]) -> None:
    """Raise for half precision."""
    check_dtype(name, dtype, "f")
    if dtype.itemsize == 2:
        raise NotImplementedError(f"{name}() is not implemented for {dtypes.of(dtype)!r}. Use float32 or float64")


@no_method(symbol="Γ", half=NATIVE, input="g * _standard_gamma_grad(input, result)")
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Sample the gamma distribution with the elements of ``input`` as shape parameters and scale 1.

    The gradient is that of implicit reparameterization, :func:`_standard_gamma_grad`.

    :raises NotImplementedError: ``input`` is not of dtype float32 or float64.
    """
    _check_wide("_standard_gamma", input.dtype)
    return _drawn("gamma", input, generator)


@no_method(
    symbol="Dir",
    half=NATIVE,
    input="_dirichlet_grad(result, input, sum_along(input, -1)) * (g - sum_along(g * result, -1))",
)
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Sample the Dirichlet distribution whose concentrations are in the last dimension of ``input``.

    The gradient is that of implicit reparameterization, by :func:`_dirichlet_grad`; PyTorch has it only in
    ``torch.distributions``.

    :raises NotImplementedError: ``input`` is of half precision.
    """
    _check_wide("_sample_dirichlet", input.dtype)
    return _drawn("dirichlet", input, generator)


@composite()
@random_function("rows")
@seeded("multinomial([0., 10., 3., 0.], 2) -> [1, 2]")
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Draw ``num_samples`` indices from the multinomial distribution whose weights are the rows of ``input``.

    :param input: one or two dimensions; the weights of a row need not sum to 1.
    :returns: int64, shape (num_samples,) or (rows, num_samples).
    :raises RuntimeError: weights are negative, not finite or all zero; or there are more samples than weights, without
        replacement.
    """
    count = as_int(num_samples, "multinomial(): argument 'num_samples'")
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype!r}")
    if backend.is_bare(input._a):
        drawn = np.empty_like(input._a, np.int64, shape=(*input._a.shape[:-1], count))
    else:
        drawn = source(generator).multinomial(backend.fetch(input._a), count, bool(replacement))
    result = wrap_known(backend.module(input.device).asarray(drawn))
    if out is None:
        return result
    with resized_out(out, result._a.shape, "multinomial"):
        return copy_into(out, result)
