"""Random tensors against PyTorch's: equal numbers, equal layout, and equal states of the generator afterwards."""

from __future__ import annotations

import hashlib
import warnings

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.rng import gamma, places
from tests import oracle
from tests.engine.random_streams import assert_same_numbers, drawn_by_mkl

pytestmark = pytest.mark.skipif(drawn_by_mkl(), reason="PyTorch draws these with Intel's library on this processor")

CALLS = """
rand(3, dtype=T.complex64)
rand(20, dtype=T.complex128)
rand(30, dtype=T.bfloat16)
rand((2, 3), generator=g)
rand(size=(2, 3))
rand([2, 3], pin_memory=False)
rand(2, 3, out=T.empty(0))
rand(2, 3, out=T.empty(3, 2).t())
rand(())
rand(0, 3)
randn(size=(2, 3), requires_grad=True)
randn(20, dtype=T.complex64)
randn(21, dtype=T.complex128)
randn(45, dtype=T.bfloat16)
randint(10, (3,))
randint(high=10, size=(3,))
randint(low=3, high=10, size=(3,))
randint(3, 10, (3,), dtype=T.float32, requires_grad=True)
randint(0, 2, (30,), dtype=T.bool)
randint(0, 2**12, (30,), dtype=T.float16)
randint(0, 10, (3,), out=T.empty(3))
randint(T.tensor(3), T.tensor(10), (3,))
randint(-(2**63), 2**63 - 1, (5,))
randint_like(T.ones(3, dtype=T.int32), 10)
randint_like(T.ones(3), low=3, high=10, dtype=T.int64)
randint_like(T.ones(3, 2).t(), 10)
rand_like(T.ones(3, 2).t())
rand_like(T.ones(3, 2, dtype=T.int64), dtype=T.float64, requires_grad=True)
rand_like(T.empty(3, 1, 4).expand(3, 5, 4).permute(1, 2, 0))
rand_like(T.empty(2, 5, 10).permute(2, 0, 1)[::2])
rand_like(T.empty(1, 5, 1, 10).permute(2, 0, 1, 3))
randn_like(T.ones(3, 2, dtype=T.complex64))
randn_like(T.empty(20, 2).t())
randn_like(T.empty(2, 5, 10)[:, ::2])
randn_like(T.empty(2, 5, 10).permute(2, 0, 1))
randperm(10, dtype=T.int32, generator=g)
randperm(100, dtype=T.float16)
randperm(10, out=T.empty(0, dtype=T.int64))
normal(0.0, 1.0, (30,), dtype=T.float16)
normal(1.0, 2.0, (20,), dtype=T.complex64)
normal(1.0, 2.0, (2, 3), out=T.empty(0))
normal(T.zeros(20, dtype=T.float64), T.ones(20))
normal(T.zeros(20), T.ones(20, dtype=T.float64))
normal(0.0, T.ones(20, dtype=T.float16))
normal(T.ones(20, dtype=T.bfloat16), T.ones(20, dtype=T.bfloat16))
normal(T.ones(20, dtype=T.float16), 0.3)
normal(T.zeros(4, 5), T.ones(5))
normal(T.zeros(5), T.ones(4, 5))
normal(T.zeros(4, 5).t(), T.ones(5, 4))
normal(T.zeros(20, dtype=T.complex64), 2.0)
normal(T.zeros(3), T.ones(3), out=T.empty(3))
normal(T.tensor(0.0), T.tensor(1.0))
bernoulli(T.rand(20), 0.3)
bernoulli(T.ones(20, dtype=T.int64), p=0.3, generator=g)
bernoulli(T.rand(20), out=T.empty(20, dtype=T.int64))
bernoulli(T.rand(4, 5).t())
rand(20).bernoulli(0.4)
poisson(T.rand(200) * 50)
poisson(T.rand(200, dtype=T.float64) * 500, generator=g)
poisson(T.rand(200, dtype=T.float16) * 20)
poisson(T.zeros(5))
poisson(T.rand(4, 5).t() * 5)
binomial(T.full((20,), 10.0), T.rand(20))
binomial(T.full((200,), 100.0), T.rand(200))
binomial(T.full((200,), 1000.0, dtype=T.float64), T.rand(200, dtype=T.float64), generator=g)
binomial(T.full((4, 1), 10.0), T.rand(5))
binomial(T.tensor([-10.0, 10.0, 10.0, 10.0]), T.tensor([0.5, 0.0, 1.0, 2.0]))
binomial(T.tensor([10.0]), T.tensor([float("nan")]))
_standard_gamma(T.rand(20))
_standard_gamma(T.rand(200) * 10)
_standard_gamma(T.rand(200, dtype=T.float64) * 10)
_standard_gamma(T.tensor([0.0, 1e-3, 1.0, 1e10]))
_sample_dirichlet(T.rand(20, 4) + 1)
multinomial(T.rand(5), 3)
multinomial(T.rand(5), 3, True)
multinomial(T.rand(4, 5), 3, replacement=True, generator=g)
multinomial(T.rand(4, 5), 1)
multinomial(T.rand(20, dtype=T.bfloat16), 5)
multinomial(T.rand(5), 3, out=T.empty(0, dtype=T.int64))
multinomial(T.rand(0, 5), 3)
multinomial(T.tensor([0.0, 1, 0]), 2)
rand(6, 5).t().multinomial(2)
rand(6, 5).t().multinomial(2, True)
""".strip().splitlines()

METHODS = """
uniform_()
uniform_(2, 3)
uniform_(to=3)
uniform_(-3, 3, generator=g)
normal_(1, 2)
normal_(mean=1, std=0)
exponential_()
exponential_(lambd=2.5)
cauchy_(1, 2)
cauchy_(median=1, sigma=2)
log_normal_()
log_normal_(mean=0.3, std=0.2)
geometric_(0.3)
geometric_(p=0.9)
random_()
random_(10)
random_(to=10, generator=g)
random_(5, 120)
random_(3, None)
bernoulli_()
bernoulli_(0.3)
bernoulli_(T.tensor(0.3))
""".strip().splitlines()

TARGETS = [
    "T.empty(0)",
    "T.empty(())",
    "T.empty(15)",
    "T.empty(20)",
    "T.empty(4, 5).t()",
    "T.empty(4, 10)[:, ::2]",
    "T.empty(2, 5, 10).permute(2, 0, 1)[::2]",
]


def evaluated(T, expression, seed=0, g=None):
    """The tensor that an expression gives."""
    T.manual_seed(seed)
    names = {"T": T, "g": T.Generator().manual_seed(seed + 1) if g is None else g}
    names |= {name: getattr(T, name) for name in dir(T) if not name.startswith("__")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, names)


def outcome(library, expression, seed):
    """The tensor that an expression gives, and the state of the generators afterwards; or its error."""
    g = library.Generator().manual_seed(seed + 1)
    try:
        t = evaluated(library, expression, seed, g)
    except Exception as error:
        return error
    values = t.detach()
    values = values.float() if t.dtype == library.bfloat16 else values
    what = (str(t.dtype), tuple(t.shape), t.stride(), t.requires_grad)
    return what, digest(library.default_generator), digest(g), values.numpy()


def digest(generator):
    """From the bytes of a generator's state."""
    return hashlib.sha256(generator.get_state().numpy().tobytes()).hexdigest()


def same(expression, seed):
    ours, theirs = outcome(nb, expression, seed), oracle.answer(outcome, expression, seed)
    if isinstance(theirs, oracle.Raised):
        oracle.close(ours, theirs)
        return
    assert not isinstance(ours, Exception), ours
    *facts, values = theirs.parts
    oracle.same([expression, *ours[:-1]], [expression, *facts])
    assert_same_numbers(ours[-1], values)


@pytest.mark.parametrize("expression", CALLS)
def test_bit_for_bit(expression):
    same(expression, 0)
    same(expression, 42)


@pytest.mark.parametrize("method", METHODS)
def test_filling_in_place(method):
    for target in TARGETS:
        same(f"{target}.{method}", 7)
    for dtype in ("float64", "float16", "bfloat16", "complex64", "int64", "uint8", "bool"):
        same(f"T.empty(20, dtype=T.{dtype}).{method}", 7)


@pytest.mark.parametrize("method", METHODS)
def test_any_seed_shape_dtype_and_layout(method):
    rng = np.random.RandomState(0)
    for _ in range(7):
        seed, shape = rng.randint(2**63 - 1), rng.randint(0, 8, rng.randint(4)).tolist()
        dtype = rng.choice(["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"])
        layout = rng.choice(["", ".t()", "[::2]", ".unsqueeze(1)"])
        if layout == ".t()" and len(shape) > 2 or layout == "[::2]" and not shape:
            layout = ""
        if 0 in shape and "float" not in dtype:
            dtype = "float32"  # PyTorch ignores the dtype then
        same(f"T.zeros({shape}, dtype=T.{dtype}){layout}.{method}", int(seed))


@pytest.mark.parametrize(
    "call",
    [
        "rand({s}, dtype=T.{d})",
        "randn({s}, dtype=T.{d})",
        "randint(-5, 90, {s}, dtype=T.{d})",
        "bernoulli(T.rand({s}, dtype=T.{d}))",
        "poisson(T.rand({s}, dtype=T.{d}) * 15)",
        "normal(T.rand({s}, dtype=T.{d}), 0.7)",
        "normal(0.3, T.rand({s}, dtype=T.{d}))",
        "rand_like(T.empty({s}, dtype=T.{d}))",
        "binomial(T.full({s}, 25.0, dtype=T.{d}), T.rand({s}, dtype=T.{d}))",
        "_standard_gamma(T.rand({s}, dtype=T.{d}) * 3)",
    ],
)
def test_any_seed_shape_and_dtype(call):
    rng = np.random.RandomState(0)
    for dtype in ["float64", "float32", "float16", "bfloat16"] * 4:
        seed, shape = rng.randint(2**63 - 1), rng.randint(0, 10, rng.randint(4)).tolist()
        same(call.format(s=shape, d=dtype), int(seed))


GAMMA = [
    "T.full((2000,), 2.0)",
    "T.ones(1999)",
    "T.full((2000,), 0.3)",
    "T.arange(2000) / 256 + 1",
    "T.full((500, 4), 1e9).double()",
    "T.arange(3000) / 1000",
    "T.arange(3000).double() / 1000",
    "T.rand(100000) * 3",
]


@pytest.mark.parametrize("alphas", GAMMA)
def test_many_numbers_of_the_gamma_distribution_are_pytorchs(alphas):
    def program(T):
        *facts, values = outcome(T, f"_standard_gamma({alphas})", 1)
        return [*facts, hashlib.sha256(values.tobytes()).hexdigest()]

    oracle.same(program(nb), oracle.answer(program))


@pytest.mark.parametrize("alphas", ["T.rand(50000, 2) * 3", "T.rand(50000, 2) + 1", "T.ones(50000, 2)"])
def test_many_points_of_the_dirichlet_distribution_are_pytorchs(alphas):
    def program(T):
        *facts, values = outcome(T, f"_sample_dirichlet({alphas})", 1)
        return [*facts, hashlib.sha256(values.tobytes()).hexdigest()]

    oracle.same(program(nb), oracle.answer(program))


@pytest.mark.sweep
@pytest.mark.parametrize("first", [0, 1, 2])
def test_gamma_numbers_made_at_once_are_those_made_one_by_one(monkeypatch, first):
    """With and without a normal number that is left from before, up to the state that they leave."""
    rng = np.random.RandomState(first)

    def drawn(alphas, seed):
        g = nb.Generator().manual_seed(seed)
        nb.empty(first).normal_(generator=g)
        values = [nb._standard_gamma(nb.tensor(part), generator=g).numpy() for part in (alphas, alphas[:50])]
        return np.concatenate(values).tolist(), digest(g)

    for seed in range(30):
        n = int(rng.randint(128, 3000))
        equal = np.full(n, rng.choice([1, 1.3, 9])), np.full(n, rng.uniform(0.01, 1))
        for alphas in (*equal, rng.uniform(1, 4, n), rng.uniform(0, 3, n), np.exp(4 * rng.standard_normal(n))):
            with monkeypatch.context() as patch:
                patch.setattr(places, "TILE_SIZE", int(rng.choice([150, 700, 4000])))
                at_once = drawn(alphas, seed)
                patch.setattr(gamma, "_MIN_AT_ONCE", n + 1)
                assert drawn(alphas, seed) == at_once, (n, alphas[:2])


def test_a_dirichlet_point_up_to_the_order_of_its_sum():
    expression = "_sample_dirichlet(T.rand(30, 20, dtype=T.float64) + 1)"
    oracle.check(evaluated, expression, 3)
    oracle.check(lambda T: outcome(T, expression, 3)[:-1], exact=True)


def test_dropout_masks():
    """Dropout is a product with such a mask, divided by the chance to be kept."""
    for shape in [(20,), (4, 5)]:

        def program(T, shape=shape):
            T.manual_seed(3)
            return T.nn.functional.dropout(T.ones(shape), 0.3)

        expected = oracle.answer(program)
        nb.manual_seed(3)
        oracle.same(nb.empty_like(nb.ones(shape)).bernoulli_(0.7).div_(0.7), expected)


NODES = {
    "bernoulli(x)": "BernoulliBackward0",
    "normal(x, 1.0)": "NormalBackward1",
    "normal(0.0, x)": "NormalBackward2",
    "normal(x, x)": "NormalBackward3",
    "poisson(x)": "PoissonBackward0",
    "(x * 1).uniform_()": "UniformBackward0",
    "(x * 1).normal_()": "NormalBackward0",
    "(x * 1).exponential_()": "ExponentialBackward0",
    "(x * 1).cauchy_()": "CauchyBackward0",
    "(x * 1).geometric_(0.3)": "GeometricBackward0",
    "(x * 1).log_normal_()": "LogNormalBackward0",
    "(x * 1).random_()": "RandomBackward2",
    "(x * 1).random_(3)": "RandomBackward1",
    "(x * 1).random_(1, 3)": "RandomBackward0",
    "(x * 1).bernoulli_(0.3)": "BernoulliBackward2",
    "(x * 1).bernoulli_(x)": "BernoulliBackward1",
}


@pytest.mark.parametrize("expression", NODES)
def test_gradients_are_zero_and_nodes_are_named_as_in_pytorch(expression):
    def program(T):
        x = T.full((5,), 0.5, requires_grad=True)
        names = {name: getattr(T, name) for name in ("bernoulli", "normal", "poisson")}
        result = eval(expression, {"x": x, **names})
        result.sum().backward()
        return result.grad_fn.name(), x.grad

    assert oracle.check(program, exact=True)[0] == NODES[expression]


def test_multinomial_has_no_gradient():
    assert not nb.multinomial(nb.ones(3, requires_grad=True), 2).requires_grad


BAD = """
rand(2, 3, dtype=T.int64)
randn(2, dtype=T.int32)
rand(-1)
rand(2.5)
rand(2, dtype="float32")
rand(3, generator=3)
rand_like([1, 2])
rand_like(T.ones(3, dtype=T.int64))
rand(2, out=T.ones(2, requires_grad=True))
randint(3, 300, (3,), dtype=T.uint8)
randint(-3, 30, (3,), dtype=T.uint8)
randint(0, 10, (3,), dtype=T.complex64)
randint(2.5, (3,))
randint(10)
randint(10, 3)
randint(5, 5, (2,))
randint(0, 2**64, (2,))
randperm(-1)
randperm(5.0)
randperm(300, dtype=T.uint8)
randperm(3000, dtype=T.float16)
normal(0.0, 1.0)
normal(0.0, -1.0, (3,))
normal(T.zeros(3), -1.0)
normal(0.0, T.tensor([-1.0, 2]))
normal(T.zeros(5), T.ones(4))
normal(T.arange(5), T.ones(5))
bernoulli(T.tensor([2.0]))
bernoulli(T.tensor([float("nan")]))
bernoulli(T.rand(3), 1.5)
bernoulli(T.ones(3, dtype=T.int64))
bernoulli(T.rand(3, dtype=T.complex64))
poisson(-T.ones(5))
poisson(T.ones(5, dtype=T.int64))
binomial(T.full((4,), 10), T.rand(4))
binomial(T.full((4,), 10.0), T.rand(4, dtype=T.float64))
multinomial(T.rand(5), 6)
multinomial(T.rand(5), 0)
multinomial(T.rand(5), 3, out=T.empty(0))
multinomial(T.tensor([1, 2]), 1)
multinomial(T.rand(2, 2, 2), 1)
multinomial(T.zeros(3), 1)
multinomial(T.tensor([-1.0, 0]), 1)
_standard_gamma(T.ones(3, dtype=T.float16))
empty(20).uniform_(3, 2)
empty(20).uniform_(0, 1e39)
empty(20).uniform_(-3e38, 3e38)
empty(20).uniform_(float("nan"), 1)
empty(3).uniform_(0, 1, 2)
empty(5).normal_(std=-2)
empty(20).exponential_(0)
empty(20, dtype=T.int64).exponential_()
empty(20).cauchy_(1, -2)
empty(20).geometric_(1)
empty(20).geometric_()
empty(20).log_normal_(1, 0)
empty(20).random_(5, 3)
empty(20).random_(2.5)
empty(20, dtype=T.bool).random_(3)
empty(20, dtype=T.float16).random_(0, 70000)
empty(3).random_(1, 2, 3)
empty(3).bernoulli_(2)
empty(3).bernoulli_(T.tensor([0.1, 2, 0.3]))
empty(4, 5).bernoulli_(T.rand(4))
ones(3, requires_grad=True).uniform_()
ones(3).expand(4, 3).uniform_()
""".strip().splitlines()


@pytest.mark.parametrize("expression", BAD)
def test_bad_arguments_raise_what_pytorch_raises(expression):
    oracle.check_raises(evaluated, expression)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("rand(2, dtype=T.int64)", "not implemented for"),
        ("randint(5, 5, (2,))", "random_ expects 'from' to be less than 'to', but got from=5 >= to=5"),
        ("randint(3, 300, (3,), dtype=T.uint8)", "to - 1 is out of bounds for"),
        ("empty(2).uniform_(3, 2)", "uniform_ expects to return a [from, to) range, but found from=3"),
        ("empty(2).normal_(0, -1)", "expects std >= 0.0, but found std -1"),
        ("empty(2).exponential_(0)", "exponential_ expects lambda > 0.0, but found lambda=0"),
        ("bernoulli(T.rand(3), 1.5)", "expects p to be in [0, 1]"),
        ("poisson(-T.ones(5))", "invalid Poisson rate, expected rate to be non-negative"),
        ("binomial(T.full((4,), 10), T.rand(4))", "binomial only supports floating-point dtypes for count"),
        ("multinomial(T.rand(5), 6)", "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
        ("multinomial(T.rand(2, 2, 2), 1)", "prob_dist must be 1 or 2 dim"),
        ("normal(T.zeros(3), T.tensor(1j))", "normal expects standard deviation to be non-complex"),
    ],
)
def test_messages_name_what_pytorch_names(expression, words):
    oracle.check_raises(evaluated, expression, says=words)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_of_the_gamma_distribution_have_pytorchs_gradients(dtype):
    shapes = np.random.default_rng(0).uniform(-3, 5, 500)

    def program(T):
        T.manual_seed(0)
        alpha = T.tensor(np.exp(shapes), dtype=getattr(T, dtype), requires_grad=True)
        samples = T._standard_gamma(alpha)
        samples.sum().backward()
        return alpha.grad, samples.detach().numpy()

    (grad, samples), (their_grad, their_samples) = program(nb), oracle.answer(program).parts
    oracle.close(grad, their_grad)
    assert_same_numbers(samples, their_samples)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_dirichlet_samples_are_pytorchs_in_every_region(dtype):
    """In float32 PyTorch computes the tails in float32, which loses digits for large parameters: not compared."""
    rng = np.random.default_rng(0)
    alpha, beta = np.exp(rng.uniform(-3, 5, (2, 2000)))
    x = np.clip(rng.beta(alpha, beta), 1e-30, 1 - 1e-6)
    operands = (a[np.argsort(x, kind="stable")].astype(dtype) for a in (x, alpha, alpha + beta))
    parts = [*zip(*(np.split(a, 40) for a in operands), strict=True)]  # each has its own bound

    def program(T):
        wide = [T._dirichlet_grad(*(T.tensor(a, dtype=T.float64) for a in part)) for part in parts]
        return [t.to(getattr(T, dtype)) for t in wide]

    oracle.close([nb._dirichlet_grad(*map(nb.tensor, part)) for part in parts], oracle.answer(program))


def test_the_gradient_of_a_dirichlet_sample_keeps_it_on_the_simplex():
    concentration = nb.tensor([[0.3, 2.0, 9.0], [50.0, 1.0, 5.0]], dtype=nb.float64, requires_grad=True)
    samples = nb._sample_dirichlet(concentration)
    (gradient,) = nb.autograd.grad(samples.sum(), concentration, retain_graph=True)
    assert gradient.abs().max() < 1e-12
    samples[..., 0].sum().backward()
    assert (concentration.grad[:, 0] > 0).all() and (concentration.grad[:, 1:] < 0).all()


@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet"])
def test_gradients_of_samples_have_no_derivative(name):
    alpha = nb.tensor([1.0, 2.0], requires_grad=True)
    (gradient,) = nb.autograd.grad(getattr(nb, name)(alpha)[0], alpha, create_graph=True)
    with pytest.raises(NotImplementedError, match=r"the derivative for '_(standard_gamma|dirichlet)_grad' is not"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        "cauchy_(1e308, 1.7e308)",
        "exponential_(1e-320)",
        "geometric_(1e-320)",
        "log_normal_(1e6)",
        "normal_(1e308, 1.7e308)",
    ],
)
def test_numbers_that_are_too_large_are_infinite_without_a_warning(call):
    nb.manual_seed(0)
    filled = eval(f"x.{call}", {"x": nb.zeros(200, dtype=nb.float64)})
    assert filled.isinf().any()
