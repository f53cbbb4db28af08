"""Kullback-Leibler divergences: every pair that PyTorch has, which function is chosen, and one's own."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.networks.distributions.cases import CASES, OF_TRIGAMMA, TRIL, Case, narrow

MORE = {  # in addition to the cases: parameters on both sides of an infinite divergence
    "Bernoulli": [Case("Bernoulli", {"probs": [0.0, 0.3, 1.0]}), Case("Bernoulli", {"probs": [0.5, 0.0, 1.0]})],
    "Binomial": [Case("Binomial", {"total_count": [4, 5, 6], "probs": [0.3, 0.4, 0.5]})],
    "Categorical": [Case("Categorical", {"probs": [0.0, 0.5, 0.5]}), Case("Categorical", {"probs": [0.5, 0.0, 0.5]})],
    "OneHotCategorical": [Case("OneHotCategorical", {"probs": [0.0, 0.5, 0.5]})],
    "MultivariateNormal": [Case("MultivariateNormal", {"loc": [0.5, -1.0], "scale_tril": TRIL})],
    "Poisson": [Case("Poisson", {"rate": [0.5, 1.0, 2.0]})],
    "Pareto": [Case("Pareto", {"scale": [0.5, 1.0, 2.0], "alpha": [0.7, 1.5, 3.5]})],
    "Uniform": [
        Case("Uniform", {"low": 0.0, "high": 1.0}),
        Case("Uniform", {"low": [-0.5, 0.2, 0.6], "high": [0.7, 0.9, 1.5]}),
        Case("Uniform", {"low": [1.0, 2.0, 3.0], "high": [7.0, 4.0, 5.0]}),
    ],
}


def registered(T: Any) -> Any:
    return sorted((p.__name__, q.__name__) for p, q in T.distributions.kl._KL_REGISTRY)


PAIRS = [tuple(pair.parts) for pair in oracle.shared("the pairs", registered)]
WRAPPERS = {"ExponentialFamily", "Independent", "TransformedDistribution"}


def of(name: str) -> list[Case]:
    return [case for case in CASES if case.name == name] + MORE.get(name, [])


def go_together(p: Case, q: Case) -> bool:
    """Return whether both have one precision and one shape: PyTorch marks infinite divergences by masks of p's
    shape.
    """
    shapes = [case.build(nb).batch_shape for case in (p, q)]
    return is_double(p) == is_double(q) and (shapes[0] == shapes[1] or not shapes[1] and len(shapes[0]) == 1)


def is_double(case: Case) -> bool:
    arrays = [np.asarray(value) for value in case.parameters.values() if isinstance(value, (list, np.ndarray))]
    return any(array.dtype == np.float64 for array in arrays)


def pairs_of(p: str, q: str) -> list[tuple[Case, Case]]:
    return [pair for pair in itertools.product(of(p), of(q)) if go_together(*pair)]


def divergence(T: Any, p: Case, q: Case, gradients: bool = False) -> Any:
    """KL(p || q), or its gradients by all parameters; an exception if PyTorch's parameters do not go together."""
    parameters = [case.tensors(T, requires_grad=gradients) for case in (p, q)]
    try:
        value = T.distributions.kl_divergence(
            *(case.build(T, tensors) for case, tensors in zip((p, q), parameters, strict=True))
        )
    except (RuntimeError, ValueError, NotImplementedError, IndexError) as error:
        return error
    if not gradients:
        return value
    leaves = [x for tensors in parameters for x in tensors.values() if getattr(x, "requires_grad", False)]
    if not leaves or not value.requires_grad:
        return []
    slopes = T.autograd.grad(T.where(T.isfinite(value), value, 0.0).sum(), leaves, allow_unused=True)
    return [T.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, slopes, strict=True)]


def test_the_pairs_are_pytorchs() -> None:
    oracle.check(registered)


@pytest.mark.parametrize(("p", "q"), [pair for pair in PAIRS if not {*pair} & WRAPPERS])
def test_every_pair(p: str, q: str) -> None:
    found = oracle.answer(lambda T: [divergence(T, *pair) for pair in pairs_of(p, q)])
    assert any(isinstance(theirs, oracle.Array) for theirs in found)
    for pair, theirs in zip(pairs_of(p, q), found, strict=True):
        ours = divergence(nb, *pair)
        if not isinstance(theirs, oracle.Raised) or isinstance(ours, Exception):  # ours may broadcast to more shapes
            oracle.close(ours, theirs)


@pytest.mark.parametrize(("p", "q"), [pair for pair in PAIRS if not {*pair} & WRAPPERS])
def test_gradients_of_every_pair(p: str, q: str) -> None:
    pairs = pairs_of(p, q)
    if p in OF_TRIGAMMA:
        pairs = [(narrow(p), narrow(q)) for p, q in pairs]
    found = oracle.answer(lambda T: [divergence(T, *pair, gradients=True) for pair in pairs])
    for pair, theirs in zip(pairs, found, strict=True):
        if isinstance(theirs, oracle.Raised):
            continue
        ours = divergence(nb, *pair, gradients=True)
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            if np.isfinite(other.values).all():
                oracle.close(mine, other)


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Exponential", "Beta", "Bernoulli", "Dirichlet", "Geometric"])
def test_a_divergence_from_itself_is_zero(name: str) -> None:
    for case in of(name)[:2]:
        d = case.build(nb)
        assert nb.distributions.kl_divergence(d, d).abs().max() < 1e-6


@pytest.mark.parametrize(
    ("p", "q"),
    [("Normal", "Gumbel"), ("Gamma", "Normal"), ("Beta", "Gamma"), ("Uniform", "Normal"), ("Laplace", "Normal")],
)
def test_a_divergence_is_the_mean_of_the_difference_of_logarithms(p: str, q: str) -> None:
    """By Monte Carlo, without a formula."""
    nb.manual_seed(0)
    d = nb.distributions
    distributions = {
        "Normal": d.Normal(0.5, 0.7),
        "Gumbel": d.Gumbel(0.2, 1.1),
        "Gamma": d.Gamma(2.0, 1.5),
        "Beta": d.Beta(2.0, 3.0),
        "Uniform": d.Uniform(0.1, 0.8),
        "Laplace": d.Laplace(0.3, 0.5),
    }
    x = distributions[p].sample((50_000,))
    estimate = (distributions[p].log_prob(x) - distributions[q].log_prob(x)).mean()
    assert abs(d.kl_divergence(distributions[p], distributions[q]) - estimate) < 0.05


def test_what_is_made_of_others() -> None:
    def program(T: Any) -> Any:
        d = T.distributions
        p, q = (d.Normal(T.tensor([0.0, loc]), 1.0) for loc in (1.0, 3.0))
        exp = d.ExpTransform()
        for other in (d.TransformedDistribution(q, d.TanhTransform()), d.Independent(q, 0), d.Laplace(0.0, 1.0)):
            mine = d.TransformedDistribution(p, exp) if not isinstance(other, d.Independent) else d.Independent(p, 1)
            with pytest.raises(NotImplementedError):
                d.kl_divergence(mine, other)
        of_transformed = d.kl_divergence(d.TransformedDistribution(p, exp), d.TransformedDistribution(q, [exp]))
        return d.kl_divergence(d.Independent(p, 1), d.Independent(q, 1)), of_transformed

    found = oracle.check(program, exact=True)
    assert [t.tolist() for t in found] == [2.0, [0.0, 2.0]]


def test_exponential_families_by_their_log_normalizers() -> None:
    """PyTorch's own formulas take precedence; Wishart has none."""
    oracle.check(lambda T: [T.distributions.kl_divergence(c.build(T), c.build(T)) for c in of("Wishart")[:2]])
    for p, q in (("Normal", "Poisson"), ("Gamma", "Dirichlet")):
        with pytest.raises(NotImplementedError, match="The cross KL-divergence between different exponential families"):
            nb.distributions.kl_divergence(of(p)[0].build(nb), of(q)[0].build(nb))


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Exponential", "Beta", "Dirichlet"])
def test_the_general_formula_is_the_special_one(name: str) -> None:
    """Formulas of exponential families, and the one by Bregman divergences."""

    def program(T: Any) -> Any:
        family = T.distributions.ExponentialFamily
        p = of(name)[1].build(T) if len(of(name)) > 1 else of(name)[0].build(T)
        return T.distributions.kl._KL_REGISTRY[family, family](p, p.expand(p.batch_shape)).detach()

    theirs = oracle.answer(program)
    ours = program(nb)
    oracle.close(ours, theirs)
    oracle.close(nb.zeros_like(ours), theirs)


def test_infinite_divergences_broadcast() -> None:
    """Check a p without a moment with every shape of q; PyTorch marks rows instead of columns."""
    d = nb.distributions
    p = d.Pareto(1.0, nb.tensor([0.5, 1.5, 3.0]))
    q = d.Normal(nb.zeros(3, 1), 1.0)
    assert d.kl_divergence(p, q).isinf().tolist() == [[True, True, False]] * 3
    assert d.kl_divergence(p, d.Exponential(nb.ones(3, 1))).isinf().tolist() == [[True, False, False]] * 3


def test_ones_own_divergences() -> None:
    def program(T: Any) -> Any:
        d = T.distributions

        class Left(d.Normal):
            pass

        class Right(Left):
            pass

        calls = []
        registry, before = d.kl._KL_REGISTRY, dict(d.kl._KL_REGISTRY)
        try:
            d.register_kl(Left, d.Normal)(lambda p, q: calls.append("left") or T.zeros(()))
            d.register_kl(d.Normal, Left)(lambda p, q: calls.append("right") or T.zeros(()))
            d.kl_divergence(Right(0.0, 1.0), d.Normal(0.0, 1.0))
            d.kl_divergence(d.Normal(0.0, 1.0), Right(0.0, 1.0))
            with pytest.warns(
                RuntimeWarning, match=r"Ambiguous kl_divergence\(Right, Right\). Please register_kl\(Left"
            ):
                d.kl_divergence(Right(0.0, 1.0), Right(0.0, 1.0))
        finally:
            registry.clear()
            registry.update(before)
            d.kl._KL_MEMOIZE.clear()
        return calls

    assert oracle.check(program) == ["left", "right", "left"]


def test_what_cannot_be_registered() -> None:
    for wrong in (3, "Normal"):  # PyTorch accepts any class
        with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass"):
            nb.distributions.register_kl(wrong, nb.distributions.Normal)
        with pytest.raises(TypeError, match="Expected type_q to be a Distribution subclass"):
            nb.distributions.register_kl(nb.distributions.Normal, wrong)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (lambda d, T: (d.StudentT(3.0), d.Cauchy(0.0, 1.0)), "No KL(p || q) is implemented for p type StudentT and q"),
        (
            lambda d, T: (d.Binomial(3, T.tensor(0.5)), d.Binomial(4, T.tensor(0.5))),
            "KL between Binomials where q.total_count > p.total_count is not",
        ),
        (
            lambda d, T: (d.MultivariateNormal(T.zeros(n), T.eye(n)) for n in (2, 3)),
            "KL-divergence between two Multivariate Normals with",
        ),
    ],
)
def test_what_is_not_implemented(pair: Any, words: str) -> None:
    oracle.check_raises(lambda T: T.distributions.kl_divergence(*pair(T.distributions, T)), says=words)


def test_nothing_warns() -> None:
    """Includes an infinite divergence, with logarithms of zero in between."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        divergences = [
            nb.distributions.kl_divergence(of(p)[0].build(nb), of(q)[0].build(nb))
            for p, q in itertools.product(("Normal", "Uniform", "Pareto"), ("Normal", "Uniform", "Gamma"))
            if (p, q) in PAIRS
        ]
    assert caught == [] and any(value.isinf().any() for value in divergences)
    assert all((value >= 0).all() for value in divergences)
