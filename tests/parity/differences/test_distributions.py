"""Distributions: cases that raise or are wrong in PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

from tests.parity.differences.both import Raised, TensorValue, agrees, differs


@differs("A Wishart distribution warns of singular samples only", pytorch=["Singular sample detected."], here=[])
def test_regular_wishart_samples(torch: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.distributions.Wishart(5.0, torch.eye(2)).sample()
    return [str(each.message) for each in caught]


@differs("Samples of a Wishart distribution have gradients", pytorch=Raised(RuntimeError), here=True)
def test_gradients_of_wishart_samples(torch: Any) -> Any:
    df = torch.tensor(5.0, requires_grad=True)
    torch.distributions.Wishart(df, torch.eye(2)).rsample((3,)).sum().backward()
    return bool(df.grad > 0)


@differs("`GeneralizedPareto` takes float64", pytorch=Raised(RuntimeError), here=TensorValue("float64", (1,), [-1.0]))
def test_a_generalized_pareto_distribution_of_float64(torch: Any) -> Any:
    zero = torch.zeros(1, dtype=torch.float64)
    return torch.distributions.GeneralizedPareto(zero, 1.0, zero).log_prob(zero + 1)


@differs("Infinite divergences broadcast", pytorch=[[True, True], [False, False]], here=[[True, False], [True, False]])
def test_divergences_from_pareto_distributions(torch: Any) -> Any:
    d = torch.distributions
    p, q = d.Pareto(1.0, torch.tensor([0.5, 3.0])), d.Exponential(torch.ones(2, 1))
    return d.kl_divergence(p, q).isinf().tolist()


@differs(
    "An expanded `Multinomial` has an entropy",
    pytorch=Raised(AttributeError),
    here=TensorValue("float32", (2,), [0.6931472, 0.6931472]),
)
def test_the_entropy_of_an_expanded_multinomial_distribution(torch: Any) -> Any:
    return torch.distributions.Multinomial(1, torch.ones(2)).expand([2]).entropy()


@differs(
    "One set of weights can be that of many mixtures",
    pytorch=Raised(RuntimeError),
    here=TensorValue("float32", (2,), [1.0, -1.0]),
)
def test_a_sample_of_two_mixtures_with_the_same_weights(torch: Any) -> Any:
    d = torch.distributions
    components = d.Normal(torch.tensor([[0.0, 9.0], [0.0, -9.0]]), 0.1)
    return d.MixtureSameFamily(d.Categorical(torch.tensor([0.0, 1.0])), components).sample().sign()


@differs("A gradient flows through `torch._sample_dirichlet`", pytorch=Raised(RuntimeError), here=True)
def test_the_gradient_of_a_dirichlet_sample(torch: Any) -> Any:
    concentration = torch.ones(3, requires_grad=True)
    torch._sample_dirichlet(concentration)[0].backward()
    return bool(concentration.grad[0] > 0)


@agrees
def test_the_second_derivative_of_a_dirichlet_sample(torch: Any) -> Any:
    concentration = torch.ones(3, requires_grad=True)
    sample = torch.distributions.Dirichlet(concentration).rsample()
    (slope,) = torch.autograd.grad(sample[0], concentration, create_graph=True)
    try:
        slope.sum().backward()
    except RuntimeError:
        return "no derivative"
    return slope
