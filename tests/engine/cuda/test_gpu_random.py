"""On a GPU: test random numbers. They come from the CPU's generator, so a seed gives the same on both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.engine.cuda.on_device import agree, host

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
    def drawn(place: str) -> Any:
        nb.manual_seed(3)
        return [DRAWN[name](place)]

    agree(drawn)
    np.testing.assert_array_equal(host(drawn("cuda")[0]), host(drawn("cuda")[0]))


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
    "draw",
    [
        lambda n, place: nb.rand(n, device=place),
        lambda n, place: nb.randn(n, device=place),
        lambda n, place: nb.empty(n, device=place).exponential_(2.0),
        lambda n, place: nb.bernoulli(nb.full((n,), 0.25, device=place)),
        lambda n, place: nb.nn.functional.dropout(nb.ones(n, device=place), 0.5),
    ],
)
def test_many_numbers_are_those_of_the_cpu(draw: Any) -> None:
    def drawn(place: str) -> Any:
        nb.manual_seed(0)
        return [draw(200_000, place)]

    agree(drawn)


def test_distributions() -> None:
    D = nb.distributions
    for make in (
        lambda *given: D.Normal(*given),
        lambda *given: D.Gamma(given[1] * 2, given[1]),
        lambda *given: D.Categorical(logits=given[0]),
        lambda *given: D.MultivariateNormal(given[0], nb.diag(given[1])),
    ):

        def program(place: str, *given: Any, make: Any = make) -> Any:
            nb.manual_seed(1)
            distribution = make(*(nb.tensor(each, device=place) for each in given))
            x = distribution.sample((5,))
            return x, distribution.log_prob(x)

        agree(program, np.arange(4, dtype=np.float32), np.ones(4, np.float32))
