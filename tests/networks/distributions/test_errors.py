"""Check that distributions' messages on wrong arguments are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests import oracle

Program = Callable[[Any, Any], Any]

ERRORS: dict[str, tuple[Program, str]] = {
    "parameter": (
        lambda d, T: d.Normal(T.zeros(3), T.tensor([1.0, -1.0, 2.0])),
        "Expected parameter scale (Tensor of shape (3,)) of distribution Normal(loc: torch.Size([3]), scale: "
        "torch.Size([3])) to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values:\n"
        "tensor([ 1., -1.,  2.])",
    ),
    "number": (lambda d, T: d.Normal("a", 1.0), "Input arguments must all be instances of Number, torch.Tensor or"),
    "dependent": (lambda d, T: d.Uniform(1.0, 0.0), "to satisfy the constraint LessThan(upper_bound=0.0)"),
    "concentration": (lambda d, T: d.Beta(-1.0, 2.0), "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)"),
    "no tensor": (lambda d, T: d.Normal(0.0, 1.0).log_prob(2), "The value argument to log_prob must be a Tensor"),
    "support": (
        lambda d, T: d.Bernoulli(0.5).log_prob(T.tensor([0.5])),
        "Expected value argument (Tensor of shape (1,)) to be within the support (Boolean()) of the distribution "
        "Bernoulli(probs: 0.5), but found invalid values:\ntensor([0.5000])",
    ),
    "event": (
        lambda d, T: d.MultivariateNormal(T.zeros(2), T.eye(2)).log_prob(T.zeros(3)),
        "The right-most size of value must match event_shape: torch.Size([3]) vs torch.Size([2]).",
    ),
    "batch": (
        lambda d, T: d.Normal(T.zeros(3), 1.0).log_prob(T.zeros(2)),
        "Value is not broadcastable with batch_shape+event_shape: torch.Size([2]) vs torch.Size([3]).",
    ),
    "cdf": (lambda d, T: d.Exponential(1.0).cdf(T.tensor(-1.0)), "to be within the support (GreaterThanEq("),
    "neither": (lambda d, T: d.Bernoulli(), "Either `probs` or `logits` must be specified, but not both."),
    "both": (lambda d, T: d.Categorical(T.ones(2), T.ones(2)), "Either `probs` or `logits` must be specified"),
    "no dimension": (lambda d, T: d.Categorical(T.tensor(1.0)), "`probs` parameter must be at least one-dimensional."),
    "no logits": (lambda d, T: d.Categorical(logits=T.tensor(1.0)), "`logits` parameter must be at least one-dim"),
    "simplex": (lambda d, T: d.Categorical(T.tensor([-1.0, 2.0])), "to satisfy the constraint Simplex(), but found"),
    "dirichlet": (lambda d, T: d.Dirichlet(T.tensor(1.0)), "`concentration` parameter must be at least one-dim"),
    "geometric": (
        lambda d, T: d.Geometric(T.tensor([0.0, 0.5])),
        "to be positive but found invalid values:\ntensor([0.])",
    ),
    "continuous": (
        lambda d, T: d.ContinuousBernoulli(2.0, validate_args=True),
        "The parameter probs has invalid values",
    ),
    "binomial": (
        lambda d, T: d.Binomial(-1, T.tensor(0.5)),
        "to satisfy the constraint IntegerGreaterThan(lower_bound=0)",
    ),
    "binomial entropy": (
        lambda d, T: d.Binomial(T.tensor([2, 3]), T.tensor(0.5)).entropy(),
        "Inhomogeneous total count not supported by `entropy`.",
    ),
    "binomial values": (
        lambda d, T: d.Binomial(T.tensor([2, 3]), T.tensor(0.5)).enumerate_support(),
        "Inhomogeneous total count not supported by `enumerate_support`.",
    ),
    "multinomial": (lambda d, T: d.Multinomial(2.5, T.ones(2)), "inhomogeneous total_count is not supported"),
    "counts": (lambda d, T: d.Multinomial(3, T.ones(2)).log_prob(T.tensor([2.0, 2.0])), "the support (Multinomial())"),
    "mvn loc": (lambda d, T: d.MultivariateNormal(T.tensor(1.0), T.eye(2)), "loc must be at least one-dimensional."),
    "mvn none": (
        lambda d, T: d.MultivariateNormal(T.ones(2)),
        "Exactly one of covariance_matrix or precision_matrix or",
    ),
    "mvn two": (lambda d, T: d.MultivariateNormal(T.ones(2), T.eye(2), T.eye(2)), "Exactly one of covariance_matrix"),
    "mvn vector": (
        lambda d, T: d.MultivariateNormal(T.ones(2), precision_matrix=T.ones(2)),
        "precision_matrix must be at least two-dimensional, with optional leading batch dimensions",
    ),
    "mvn factor": (
        lambda d, T: d.MultivariateNormal(T.ones(2), scale_tril=T.ones(2)),
        "scale_tril matrix must be at least two-dimensional, with optional leading batch dimensions",
    ),
    "mvn indefinite": (lambda d, T: d.MultivariateNormal(T.ones(2), -T.eye(2)), "the constraint PositiveDefinite()"),
    "low rank loc": (
        lambda d, T: d.LowRankMultivariateNormal(T.tensor(1.0), T.eye(2), T.ones(2)),
        "loc must be at least",
    ),
    "low rank vector": (
        lambda d, T: d.LowRankMultivariateNormal(T.ones(2), T.ones(2), T.ones(2)),
        "cov_factor must be at",
    ),
    "low rank size": (
        lambda d, T: d.LowRankMultivariateNormal(T.ones(2), T.ones(3, 1), T.ones(2)),
        "cov_factor must be a batch of matrices with shape 2 x m",
    ),
    "low rank diagonal": (
        lambda d, T: d.LowRankMultivariateNormal(T.ones(2), T.ones(2, 1), T.ones(3)),
        "cov_diag must be a batch of vectors with shape torch.Size([2])",
    ),
    "low rank batch": (
        lambda d, T: d.LowRankMultivariateNormal(T.ones(3, 2), T.ones(2, 2, 1), T.ones(2)),
        "Incompatible batch shapes: loc torch.Size([3, 2]), cov_factor torch.Size([2, 2, 1]), cov_diag torch.Size([2])",
    ),
    "lkj": (lambda d, T: d.LKJCholesky(1), "Expected dim to be an integer greater than or equal to 2. Found dim=1."),
    "wishart none": (lambda d, T: d.Wishart(3.0), "Exactly one of covariance_matrix or precision_matrix or scale_tril"),
    "wishart df": (lambda d, T: d.Wishart(1.0, T.eye(3)), "Value of df=1.0 expected to be greater than ndim - 1 = 2."),
    "wishart vector": (lambda d, T: d.Wishart(3.0, T.ones(3)), "scale_tril must be at least two-dimensional"),
    "independent": (
        lambda d, T: d.Independent(d.Normal(T.zeros(2), 1.0), 2),
        "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual 2 vs 1",
    ),
    "independent values": (
        lambda d, T: d.Independent(d.Bernoulli(T.ones(2)), 1).enumerate_support(),
        "Enumeration over cartesian product is not implemented",
    ),
    "transforms": (
        lambda d, T: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
        "transforms must be a Transform or list,",
    ),
    "transforms in list": (
        lambda d, T: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
        "transforms must be a Transform or a list of Transforms",
    ),
    "transformed shape": (
        lambda d, T: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
        "base_distribution needs to have shape with size at least 1, but got torch.Size([]).",
    ),
    "mixture": (
        lambda d, T: d.MixtureSameFamily(d.Bernoulli(0.5), d.Normal(T.zeros(2), 1.0)),
        " The Mixture distribution needs to be an  instance of torch.distributions.Categorical",
    ),
    "component": (
        lambda d, T: d.MixtureSameFamily(d.Categorical(T.ones(2)), 3),
        "The Component distribution needs to be an instance of torch.distributions.Distribution",
    ),
    "mixture batch": (
        lambda d, T: d.MixtureSameFamily(d.Categorical(T.ones(3, 2)), d.Normal(T.zeros(4, 2), 1.0)),
        "`mixture_distribution.batch_shape` (torch.Size([3])) is not compatible with `component_distribution",
    ),
    "mixture size": (
        lambda d, T: d.MixtureSameFamily(d.Categorical(T.ones(3)), d.Normal(T.zeros(2), 1.0)),
        "`mixture_distribution component` (3) does not equal `component_distribution.batch_shape[-1]` (2)",
    ),
    "mode": (
        lambda d, T: d.MixtureSameFamily(d.Categorical(T.ones(2)), d.Normal(T.zeros(2), 1.0)).mode,
        "MixtureSameFamily'> does not implement mode",
    ),
    "no rsample": (lambda d, T: d.Poisson(1.0).rsample(), ""),
    "no cdf": (lambda d, T: d.Poisson(1.0).cdf(T.tensor(1.0)), ""),
    "no entropy": (lambda d, T: d.Poisson(1.0).entropy(), ""),
    "no values": (lambda d, T: d.Normal(0.0, 1.0).enumerate_support(), ""),
    "no moments": (lambda d, T: d.relaxed_bernoulli.LogitRelaxedBernoulli(T.ones(1), 0.5).mean, ""),
    "abstract": (lambda d, T: d.Distribution(validate_args=False).log_prob(T.ones(1)), ""),
    "default": (lambda d, T: d.Distribution.set_default_validate_args(3), ""),
    "straight through": (lambda d, T: d.OneHotCategorical(T.ones(3)).rsample(), ""),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_pytorchs_say(name: str) -> None:
    program, words = ERRORS[name]
    oracle.check_raises(lambda T: program(T.distributions, T), says=words)
