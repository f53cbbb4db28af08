"""Run lessons with distributions under both libraries after the same seed: the same losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests import oracle

Losses = list[Any]


def variational_autoencoder(torch: Any) -> Losses:
    d, nn = torch.distributions, torch.nn
    x = torch.rand(32, 20)
    encoder, decoder = nn.Linear(20, 8), nn.Linear(4, 20)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-2)
    prior = d.Independent(d.Normal(torch.zeros(4), 1.0), 1)
    losses = []
    for _ in range(10):
        mean, log_scale = encoder(x).chunk(2, -1)
        posterior = d.Independent(d.Normal(mean, log_scale.exp()), 1)
        likelihood = d.Independent(d.Bernoulli(logits=decoder(posterior.rsample())), 1)
        loss = (d.kl_divergence(posterior, prior) - likelihood.log_prob(x.round())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def policy_gradient(torch: Any) -> Losses:
    policy = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(policy.parameters(), 0.1)
    losses = []
    for _ in range(10):
        choice = torch.distributions.Categorical(logits=policy(torch.randn(16, 4)))
        action = choice.sample()
        reward = (action == 1).float()
        loss = -(choice.log_prob(action) * reward).mean() - 0.01 * choice.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def squashed_policy(torch: Any) -> Losses:
    """As in soft actor-critic: a normal distribution through tanh, with a cache."""
    d = torch.distributions
    policy = torch.nn.Linear(3, 4)
    optimizer = torch.optim.Adam(policy.parameters(), 0.01)
    losses = []
    for _ in range(10):
        mean, log_scale = policy(torch.randn(8, 3)).chunk(2, -1)
        squashed = d.TransformedDistribution(d.Normal(mean, log_scale.exp()), [d.TanhTransform(cache_size=1)])
        action = squashed.rsample()
        loss = (0.2 * squashed.log_prob(action).sum(-1) + (action - 0.5).pow(2).sum(-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def mixture_density(torch: Any) -> Losses:
    d = torch.distributions
    y = torch.cat([torch.randn(40, 2) + 3, torch.randn(40, 2) - 3])
    weights, means = torch.zeros(3, requires_grad=True), torch.randn(3, 2).requires_grad_()
    factors = torch.zeros(3, 2, 2, requires_grad=True)
    optimizer = torch.optim.Adam([weights, means, factors], 0.05)
    to_factor = d.transform_to(d.constraints.lower_cholesky)
    losses = []
    for _ in range(10):
        components = d.MultivariateNormal(means, scale_tril=to_factor(factors))
        loss = -d.MixtureSameFamily(d.Categorical(logits=weights), components).log_prob(y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def stochastic_variational_inference(torch: Any) -> Losses:
    """Fit a rate and shares, through samples of gamma and Dirichlet distributions."""
    d = torch.distributions
    counts = d.Poisson(4.0).sample((30,))
    groups = d.Categorical(torch.tensor([0.2, 0.3, 0.5])).sample((30,))
    free = torch.zeros(5, requires_grad=True)
    optimizer = torch.optim.Adam([free], 0.1)
    losses = []
    for _ in range(10):
        positive = d.biject_to(d.constraints.positive)(free)
        rate_guess, share_guess = d.Gamma(positive[0], positive[1]), d.Dirichlet(positive[2:])
        rate, shares = rate_guess.rsample((4,)), share_guess.rsample((4,))
        fit = d.Poisson(rate.unsqueeze(-1)).log_prob(counts).sum(-1) + shares.log()[:, groups].sum(-1)
        prior = d.kl_divergence(rate_guess, d.Gamma(1.0, 0.1)) + d.kl_divergence(
            share_guess, d.Dirichlet(torch.ones(3))
        )
        loss = prior - fit.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


@pytest.mark.parametrize(
    "lesson",
    [
        variational_autoencoder,
        policy_gradient,
        squashed_policy,
        mixture_density,
        stochastic_variational_inference,
    ],
)
def test_losses(lesson: Callable[[Any], Losses]) -> None:
    def program(T: Any) -> Losses:
        T.manual_seed(0)
        return lesson(T)

    losses = oracle.check(program)
    assert losses[0].item() != losses[-1].item()
