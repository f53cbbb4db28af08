"""Random numbers, against PyTorch's own streams."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

EXACT = [
    "rand(3)",
    "rand(2, 5)",
    "rand(1000)",
    "rand(5, dtype=T.float64)",
    "rand(9, dtype=T.float16)",
    "rand_like(T.ones(3))",
    "randn(1)",
    "randn(3)",
    "randn(15)",
    "randn(7, dtype=T.float64)",
    "randn(5, dtype=T.float16)",
    "randn_like(T.ones(3, dtype=T.float64))",
    "randint(3, 10, (2, 2))",
    "randint(7, (30,))",
    "randint(-5, 5, (30,))",
    "randint(0, 2**40, (3,))",
    "randint(0, 10, (4,), dtype=T.int32)",
    "randint_like(T.ones(4), 3)",
    "randint_like(T.ones(4), 3, 9)",
    "randperm(10)",
    "randperm(1)",
    "randperm(0)",
    "empty(50).uniform_(-2, 3)",
    "empty(50, dtype=T.float64).uniform_(-2, 3)",
    "empty(3, 3).uniform_(0, 1)",
    "bernoulli(T.rand(60))",
    "bernoulli(T.rand(60, dtype=T.float64))",
    "empty(60).bernoulli_(0.3)",
    "empty(60, dtype=T.float64).bernoulli_(0.3)",
    "empty(6).bernoulli_(T.tensor([.1, .5, .9, .2, .3, .4]))",
    "normal(T.arange(1., 5), T.arange(1, 0, -.25))",
    "normal(1., T.ones(9))",
    "normal(T.zeros(9), 2.)",
    "normal(2., 3., (4,))",
    "empty(5).normal_(1, 2)",
]
CLOSE = ["randn(16)", "randn(16, dtype=T.float16)", "randn(20)", "randn(1000)", "randn(33, dtype=T.float64)", "normal(2., 3., (18,))", "empty(20).normal_(1, 2)"]


def drawn(library, expression, seed):
    library.manual_seed(seed)
    values = eval(expression, {"T": library, **{n: getattr(library, n) for n in dir(library) if not n.startswith("_")}})
    return values.numpy(), library.rand(3).numpy()


@pytest.mark.parametrize("seed", [0, 42, 2**63 + 1, -1])
@pytest.mark.parametrize("expression", EXACT)
def test_bit_for_bit(expression, seed):
    (ours, after), (theirs, after_theirs) = drawn(nb, expression, seed), drawn(torch, expression, seed)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(after, after_theirs)  # and as many words were used


@pytest.mark.parametrize("expression", CLOSE)
def test_normal_numbers_in_blocks_to_a_few_units_in_the_last_place(expression):
    (ours, after), (theirs, after_theirs) = drawn(nb, expression, 42), drawn(torch, expression, 42)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=6 * np.finfo(ours.dtype).eps * np.abs(theirs).max())
    np.testing.assert_array_equal(after, after_theirs)


@pytest.mark.parametrize("draws", ["rand(5)", "randn(3)", "randn(100)", "randint(9, (624,))", "rand(623)"])
def test_states_travel_both_ways(draws):
    for first, second in ((nb, torch), (torch, nb)):
        drawn(first, draws, 5)
        state = first.get_rng_state().numpy()
        expected = first.randn(3).numpy(), first.rand(700).numpy()
        second.set_rng_state(second.from_numpy(state))
        np.testing.assert_array_equal(second.randn(3).numpy(), expected[0])
        np.testing.assert_array_equal(second.rand(700).numpy(), expected[1])


def test_seeds():
    nb.manual_seed(123)
    assert nb.initial_seed() == 123
    chosen = nb.seed()
    assert nb.initial_seed() == chosen and 0 <= chosen < 2**64
    g = nb.Generator().manual_seed(7)
    torch_g = torch.Generator().manual_seed(7)
    np.testing.assert_array_equal(nb.rand(4, generator=g).numpy(), torch.rand(4, generator=torch_g).numpy())
    assert nb.Generator().initial_seed() == torch.Generator().initial_seed()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nb.manual_seed(2**64), RuntimeError, "Overflow when unpacking long"),
        (lambda: nb.randint(5, 5, (2,)), RuntimeError, "from=5 >= to=5"),
        (lambda: nb.normal(nb.zeros(2), nb.tensor([1.0, -1.0])), RuntimeError, "std >= 0"),
        (lambda: nb.bernoulli(nb.tensor([0.5, 1.5])), RuntimeError, "0 <= p <= 1"),
        (lambda: nb.rand(2, dtype=nb.int64), RuntimeError, "floating-point dtype"),
        (lambda: nb.set_rng_state(nb.zeros(3)), RuntimeError, "RNG state is wrong size"),
        (lambda: nb.empty(2).uniform_(3, 1), RuntimeError, "from=3 > to=1"),
        (lambda: nb.randperm(-1), RuntimeError, "non-negative"),
        (lambda: nb.rand(-1), RuntimeError, "negative dimension"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
