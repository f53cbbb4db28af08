"""On a GPU: random numbers. They come from the CPU's generator, so that a seed gives the same on both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.cuda.on_device import host

needs.cuda_device()
pytestmark = pytest.mark.cuda
DRAWN = {
    "rand": lambda d: nb.rand(100, device=d),
    "randn": lambda d: nb.randn(10, 10, device=d),
    "randint": lambda d: nb.randint(0, 50, (100,), device=d),
    "randperm": lambda d: nb.randperm(100, device=d),
    "normal": lambda d: nb.normal(nb.zeros(100, device=d), 2.0),
    "bernoulli": lambda d: nb.bernoulli(nb.full((100,), 0.3, device=d)),
    "multinomial": lambda d: nb.multinomial(nb.ones(10, device=d), 50, replacement=True),
    "poisson": lambda d: nb.poisson(nb.full((100,), 4.0, device=d)),
    "exponential_": lambda d: nb.empty(100, device=d).exponential_(),
    "uniform_": lambda d: nb.empty(100, device=d).uniform_(-1, 1),
    "log_normal_": lambda d: nb.empty(100, device=d).log_normal_(),
    "cauchy_": lambda d: nb.empty(100, device=d).cauchy_(),
    "geometric_": lambda d: nb.empty(100, device=d).geometric_(0.5),
    "random_": lambda d: nb.empty(100, dtype=nb.int64, device=d).random_(10),
    "rand_like": lambda d: nb.rand_like(nb.ones(100, device=d)),
    "dropout": lambda d: nb.nn.functional.dropout(nb.ones(100, device=d), 0.4),
    "gumbel_softmax": lambda d: nb.nn.functional.gumbel_softmax(nb.ones(10, 4, device=d)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_gives_the_same_on_both(name: str) -> None:
    results = []
    for place in ("cpu", "cuda", "cuda"):
        nb.manual_seed(3)
        results.append(DRAWN[name](place))
    assert results[1].device.type == "cuda"
    np.testing.assert_allclose(host(results[1]), host(results[0]), rtol=1e-6)
    np.testing.assert_array_equal(host(results[1]), host(results[2]))


def test_seeds_of_the_device() -> None:
    for seed in (nb.manual_seed, nb.cuda.manual_seed, nb.cuda.manual_seed_all):
        seed(11)
        first = nb.rand(5, device="cuda")
        seed(11)
        assert (nb.rand(5, device="cuda") == first).all()
        assert (nb.rand(5, device="cuda") != first).any()
    assert nb.cuda.initial_seed() == 11


def test_generators_and_states() -> None:
    generator = nb.Generator().manual_seed(5)
    state = generator.get_state()
    first = nb.randn(10, device="cuda", generator=generator)
    generator.set_state(state)
    assert (nb.randn(10, device="cuda", generator=generator) == first).all()
    nb.manual_seed(0)
    kept = nb.get_rng_state()
    second = nb.rand(4, device="cuda")
    nb.set_rng_state(kept)
    assert (nb.rand(4, device="cuda") == second).all()
    with nb.random.fork_rng():
        nb.rand(100, device="cuda")
    nb.set_rng_state(kept)
    assert (nb.rand(4, device="cuda") == second).all()


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        (lambda n: nb.rand(n, device="cuda"), 0.5, 12**-0.5),
        (lambda n: nb.randn(n, device="cuda"), 0.0, 1.0),
        (lambda n: nb.empty(n, device="cuda").exponential_(2.0), 0.5, 0.5),
        (lambda n: nb.bernoulli(nb.full((n,), 0.25, device="cuda")), 0.25, (3 / 16) ** 0.5),
        (lambda n: nb.nn.functional.dropout(nb.ones(n, device="cuda"), 0.5), 1.0, 1.0),
    ],
)
def test_moments(draw: Any, mean: float, deviation: float) -> None:
    n = 200_000
    nb.manual_seed(0)
    x = draw(n).double()
    assert x.mean().item() == pytest.approx(mean, abs=5 * deviation / n**0.5)
    assert x.std().item() == pytest.approx(deviation, rel=0.02)


def test_distributions() -> None:
    D = nb.distributions
    for make in (
        lambda d: D.Normal(nb.zeros(4, device=d), nb.ones(4, device=d)),
        lambda d: D.Gamma(nb.ones(4, device=d) * 2, nb.ones(4, device=d)),
        lambda d: D.Categorical(logits=nb.arange(4.0, device=d)),
        lambda d: D.MultivariateNormal(nb.zeros(2, device=d), nb.eye(2, device=d)),
    ):
        samples = []
        for place in ("cpu", "cuda"):
            nb.manual_seed(1)
            distribution = make(place)
            x = distribution.sample((5,))
            samples.append((x, distribution.log_prob(x)))
        for ours, theirs in zip(samples[1], samples[0], strict=True):
            assert ours.device.type == "cuda"
            np.testing.assert_allclose(host(ours), host(theirs), rtol=1e-4, atol=1e-5)
