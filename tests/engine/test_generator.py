"""Random numbers, against PyTorch's own streams."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.rng.generator import Generator
from tests import oracle
from tests.engine.random_streams import assert_same_numbers, drawn_by_mkl

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
IN_BLOCKS = [
    "randn(16)",
    "randn(20)",
    "randn(1000)",
    "randn(4, 5, 7)",
    "randn(16, dtype=T.float16)",
    "randn(20, dtype=T.float16)",
    "randn(1001, dtype=T.float16)",
    "randn(33, dtype=T.float64)",
    "normal(2., 3., (18,))",
    "empty(20).normal_(1.7, 2.3)",
    "empty(99, dtype=T.float64).normal_(1.7, 2.3)",
]


def drawn(library, expression, seed):
    library.manual_seed(seed)
    values = eval(expression, {"T": library, **{n: getattr(library, n) for n in dir(library) if not n.startswith("_")}})
    return values.numpy(), library.rand(3).numpy()


@pytest.mark.parametrize("seed", [0, 42, 2**63 + 1, -1])
@pytest.mark.parametrize("expression", EXACT)
def test_bit_for_bit(expression, seed):
    oracle.check(drawn, expression, seed, exact=True)  # and the same number of words was used


@pytest.mark.parametrize("expression", IN_BLOCKS)
def test_normal_numbers_in_blocks(expression):
    (ours, after), (theirs, after_theirs) = drawn(nb, expression, 42), oracle.answer(drawn, expression, 42).parts
    assert_same_numbers(ours, theirs)
    oracle.same(after, after_theirs)


SIZES = [(), (0,), (7,), (15,), (16,), (33,), (5, 7), (1001,)]
REAL = ("float16", "float32", "float64")
WHOLE = ("uint8", "int8", "int16", "int32", "int64")

# Each as our method of a shape and a dtype, PyTorch's method that fills a tensor, and the arguments of both.
FILLS = [
    ("uniform", "uniform_", (0.0, 1.0)),
    ("uniform", "uniform_", (-3.3, 7.7)),
    ("uniform", "uniform_", (1.0, 1.0 + 2e-6)),  # most results are rounded to one of the ends
    ("normal", "normal_", (0.317, 2.713)),
    ("log_normal", "log_normal_", (0.317, 1.713)),
    ("exponential", "exponential_", (0.317,)),
    ("geometric", "geometric_", (0.317,)),
    ("cauchy", "cauchy_", (0.317, 1.7)),
    ("random", "random_", ()),
    ("random", "random_", (-7, 900)),
    ("random", "random_", (3, None)),
]


def digest(generator):
    """From the bytes of a generator's state."""
    return hashlib.sha256(generator.get_state().numpy().tobytes()).hexdigest()


def same_stream(ours, theirs, seed=12345678901234):
    """Both callables draw from generators of the same seed: equal values, and equal states afterwards."""

    def program(T):
        reference = T.Generator().manual_seed(seed)
        return theirs(T, reference).numpy(), digest(reference)

    expected, state = oracle.answer(program).parts
    generator = Generator().manual_seed(seed)
    assert_same_numbers(ours(generator), expected)
    assert digest(generator) == state


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("ours", "theirs", "arguments"), FILLS)
def test_every_distribution_bit_for_bit(ours, theirs, arguments, dtype):
    if ours == "exponential" and drawn_by_mkl():
        pytest.skip("PyTorch draws these with Intel's library on this processor")
    for shape in SIZES:
        same_stream(
            lambda g, shape=shape: getattr(g, ours)(shape, np.dtype(dtype), *arguments),
            lambda T, g, shape=shape: getattr(T.empty(shape, dtype=getattr(T, dtype)), theirs)(*arguments, generator=g),
        )


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize(("ours", "theirs", "arguments"), [("geometric", "geometric_", (0.3,)), *FILLS[-3:]])
def test_integer_dtypes(ours, theirs, arguments, dtype):
    if -7 in arguments:
        arguments = (2, 100)
    same_stream(
        lambda g: getattr(g, ours)((50,), np.dtype(dtype), *arguments),
        lambda T, g: getattr(T.empty(50, dtype=getattr(T, dtype)), theirs)(*arguments, generator=g),
    )


def test_random_bools_and_the_whole_range_of_int64():
    same_stream(lambda g: g.random((50,), np.dtype(bool)), lambda T, g: T.empty(50, dtype=T.bool).random_(generator=g))
    same_stream(
        lambda g: g.random((50,), np.dtype(np.int64), -(2**63)),
        lambda T, g: T.empty(50, dtype=T.int64).random_(-(2**63), None, generator=g),
    )


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 10),
        (0, 2**28 - 1),
        (0, 2**28),  # from here on, two words per number
        (-5, 2**28 - 5),
        (-5, 2**28 - 6),
        (0, 2**32),
        (-(2**62), 2**62),
        (-(2**63), 2**63 - 1),
    ],
)
def test_randint(low, high):
    same_stream(lambda g: g.randint((40,), low, high), lambda T, g: T.randint(low, high, (40,), generator=g))


@pytest.mark.parametrize("n", [0, 1, 2, 10, 1000, 30_000])
def test_randperm(n):
    same_stream(lambda g: g.randperm(n), lambda T, g: T.randperm(n, generator=g))


@pytest.mark.parametrize("p_dtype", REAL)
@pytest.mark.parametrize("dtype", [*REAL, "int64"])
def test_bernoulli(dtype, p_dtype):
    chances = np.linspace(0, 1, 60, dtype=p_dtype)
    same_stream(
        lambda g: g.bernoulli(chances, (60,), np.dtype(dtype)),
        lambda T, g: T.empty(60, dtype=getattr(T, dtype)).bernoulli_(T.tensor(chances), generator=g),
    )
    if not drawn_by_mkl():
        same_stream(
            lambda g: g.bernoulli(0.317, (60,), np.dtype(dtype)),
            lambda T, g: T.empty(60, dtype=getattr(T, dtype)).bernoulli_(0.317, generator=g),
        )


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(
    ("weights", "count", "replacement"),
    [
        ([0.1, 0.2, 0.3, 0.4], 1, False),
        ([0.1, 0.2, 0.3, 0.4], 3, False),
        ([0.1, 0.2, 0.3, 0.4], 1, True),
        ([0.1, 0.2, 0.3, 0.4], 20, True),
        ([[0.1, 0.2, 0.3, 0.4], [4.0, 0.0, 0.0, 1.0]], 2, False),
        ([[0.1, 0.2, 0.3, 0.4], [4.0, 0.0, 0.0, 1.0]], 9, True),
    ],
)
def test_multinomial(weights, count, replacement, dtype):
    if drawn_by_mkl():
        pytest.skip("PyTorch draws these with Intel's library on this processor")
    array = np.array(weights, dtype)
    same_stream(
        lambda g: g.multinomial(array, count, replacement),
        lambda T, g: T.multinomial(T.tensor(array), count, replacement, generator=g),
    )


@pytest.mark.parametrize("words", [0, 1, 623, 624, 625, 1248])
@pytest.mark.parametrize("normals", [0, 1, 2])
def test_states_are_pytorchs_bytes(words, normals):
    def program(T):
        reference = T.Generator().manual_seed(9)
        T.empty(words, dtype=T.int32).random_(generator=reference)
        T.randn(normals, generator=reference)
        there, digests = T.Generator(), [digest(reference)]
        there.set_state(reference.get_state())
        draws = [(T.randn(3, generator=there, dtype=T.float64).numpy(), digests.append(digest(there))) for _ in "12"]
        return [draw for draw, _ in draws], digests

    generator, here = Generator().manual_seed(9), Generator()
    generator.words(words)
    generator.randn((normals,), np.dtype(np.float32))
    expected, (first, *others) = oracle.answer(program, exact=True).parts
    assert digest(generator) == first
    here.set_state(nb.from_numpy(generator.get_state().numpy()))
    for draw, after in zip(expected, others, strict=True):
        oracle.same(here.randn((3,), np.dtype(np.float64)), draw)
        assert digest(here) == after


def test_the_rounding_of_a_fused_multiplication_and_addition():
    from fractions import Fraction

    from nbautograd._engine.rng.box_muller import fma

    rng = np.random.default_rng(0)
    a, b, c = rng.random(2000), np.float64(11.000000000000002), np.float64(-3.3)
    exact = [float(Fraction(x) * Fraction(float(b)) + Fraction(float(c))) for x in a.tolist()]
    np.testing.assert_array_equal(fma(a, b, c), exact)


@pytest.mark.parametrize("draws", ["rand(5)", "randn(3)", "randn(100)", "randint(9, (624,))", "rand(623)"])
def test_states_travel_both_ways(draws):
    def program(T):
        drawn(T, draws, 5)
        return T.get_rng_state().numpy().copy(), T.randn(3).numpy(), T.rand(700).numpy()

    state, *expected = oracle.check(program, exact=True)  # so that PyTorch continues from our state as from its own
    theirs = oracle.answer(program, exact=True).parts[0]
    nb.manual_seed(0)
    nb.set_rng_state(nb.from_numpy(theirs.values))
    np.testing.assert_array_equal(state, theirs.values)
    np.testing.assert_array_equal(nb.randn(3).numpy(), expected[0])
    np.testing.assert_array_equal(nb.rand(700).numpy(), expected[1])


def test_a_clone_and_a_copy_go_their_own_ways():
    import copy
    import pickle

    g = nb.Generator().manual_seed(3)
    nb.randn(3, generator=g)  # keeps a number for the next draw
    for other in (g.clone_state(), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        state = g.get_state()
        assert nb.randn(20, generator=other).equal(nb.randn(20, generator=g.clone_state()))
        assert g.get_state().equal(state)
    assert g.device == nb.device("cpu")


def test_fork_rng_leaves_no_trace():
    nb.manual_seed(0)
    state = nb.get_rng_state()
    with nb.random.fork_rng():
        nb.rand(5)
    assert nb.get_rng_state().equal(state)
    with nb.random.fork_rng(enabled=False):
        nb.rand(5)
    assert not nb.get_rng_state().equal(state)

    @nb.random.fork_rng()
    def draws():
        return nb.rand(5)

    first = draws()
    assert first.equal(draws())
    with pytest.raises(RuntimeError, match="'xla'"), nb.random.fork_rng(device_type="xla"):
        pass


def test_seeds():
    nb.manual_seed(123)
    assert nb.initial_seed() == 123
    chosen = nb.seed()
    assert nb.initial_seed() == chosen and 0 <= chosen < 2**64

    def program(T):
        return T.rand(4, generator=T.Generator().manual_seed(7)), T.Generator().initial_seed()

    oracle.check(program, exact=True)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nb.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
        (lambda: nb.randint(5, 5, (2,)), RuntimeError, "from=5 >= to=5"),
        (lambda: nb.normal(nb.zeros(2), nb.tensor([1.0, -1.0])), RuntimeError, "std >= 0"),
        (lambda: nb.bernoulli(nb.tensor([0.5, 1.5])), RuntimeError, "p_in >= 0 && p_in <= 1"),
        (lambda: nb.rand(2, dtype=nb.int64), NotImplementedError, "not implemented for 'Long'"),
        (lambda: nb.set_rng_state(nb.zeros(3)), TypeError, "RNG state must be a torch.ByteTensor"),
        (lambda: nb.set_rng_state(nb.zeros(3, dtype=nb.uint8)), RuntimeError, "state of size 5056 .* to be 3"),
        (lambda: nb.set_rng_state(nb.zeros(5056, dtype=nb.uint8)), RuntimeError, "Invalid mt19937 state"),
        (lambda: nb.Generator("cuda"), RuntimeError, "only device='cpu' is supported, got 'cuda'"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda g: g.exponential((2,), np.float32, 0.0), "exponential_ expects lambda > 0.0, but found lambda=0.0"),
        (lambda g: g.geometric((2,), np.float32, 1.0), "geometric_ expects p to be in (0, 1), but got p=1.0"),
        (lambda g: g.cauchy((2,), np.float32, 0.0, -1.0), "cauchy_ expects sigma > 0.0, but found sigma=-1.0"),
        (lambda g: g.log_normal((2,), np.float32, 0.0, 0.0), "log_normal_ expects std > 0.0, but found std=0.0"),
        (lambda g: g.random((2,), np.uint8, 0, 300), "to - 1 is out of bounds for uint8: random_ got from=0, to=300"),
        (lambda g: g.random((2,), np.uint8, -1, 3), "from is out of bounds for uint8: random_ got from=-1, to=3"),
        (lambda g: g.random((2,), np.int64, 5, 5), "expects 'from' to be less than 'to', but got from=5 >= to=5"),
        (lambda g: g.multinomial(np.ones((2, 2, 2)), 1), "prob_dist must be 1 or 2 dim, got 3 dimensions"),
        (lambda g: g.multinomial(np.ones(2, int), 1), "only supports floating-point dtypes for input, got: Long"),
        (lambda g: g.multinomial(np.ones(2), 0), "cannot sample n_sample <= 0 samples, got 0"),
        (lambda g: g.multinomial(np.ones(2), 3), "n_sample > prob_dist.size(-1) samples without replacement, got 3"),
        (lambda g: g.multinomial(np.array([1.0, -1.0]), 1), "contains either `inf`, `nan` or element < 0"),
        (lambda g: g.multinomial(np.zeros(2), 1), "invalid multinomial distribution (sum of probabilities <= 0)"),
    ],
)
def test_bad_parameters_of_a_distribution(draw, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        draw(Generator())
