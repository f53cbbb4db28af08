"""Compare every distribution with PyTorch's: shapes, moments, probabilities, samples, gradients, and its text."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.networks.distributions.cases import CASES, OF_TRIGAMMA, Case, is_wide, library_value, narrow

BITWISE = {
    *("Normal", "HalfNormal", "Uniform", "Gamma", "Chi2", "Beta", "Dirichlet", "Poisson", "Bernoulli", "Binomial"),
    *("Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Multinomial", "Geometric"),
    *("NegativeBinomial", "FisherSnedecor", "StudentT"),
}
BITWISE_IN_FLOAT32 = {"Exponential", "Cauchy", "HalfCauchy", "Laplace", "Pareto"}
"""All others use the same random numbers, with functions and sums whose last bit depends on the machine."""

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def outcome(function: Callable[[], Any]) -> Any:
    """Return the result of a function, or the class of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except (NotImplementedError, ValueError, AttributeError, TypeError) as error:
            return type(error)


def both(case: Case, *functions: Callable[[Any, Any], Any]) -> None:
    """Functions of the library and a distribution agree."""
    oracle.check(lambda T: [outcome(lambda f=f: f(T, case.build(T))) for f in functions])


def drawn(case: Case) -> Any:
    """Samples of PyTorch's, as an array of the case's dtype."""

    def program(T: Any) -> Any:
        T.manual_seed(7)
        return outcome(lambda: case.build(T).sample((4,)))

    return oracle.answer(program).values


def test_every_distribution_has_cases() -> None:
    def classes(T: Any) -> Any:
        d = T.distributions
        return sorted(d.__all__), {name for name in d.__all__ if isinstance(getattr(d, name), type)}

    wrappers = {"Distribution", "ExponentialFamily", "Independent", "MixtureSameFamily", "TransformedDistribution"}
    _, found = oracle.check(classes)
    transforms = {name for name in found if name.endswith("Transform")}
    assert {case.name for case in CASES} >= found - transforms - wrappers
    assert nb.distributions.__all__ == sorted(nb.distributions.__all__)


@every_case
def test_shapes_and_texts(case: Case) -> None:
    def program(T: Any) -> Any:
        d = case.build(T)
        texts = repr(d), repr(d.support), {key: repr(value) for key, value in sorted(d.arg_constraints.items())}
        flags = bool(d.has_rsample), bool(d.has_enumerate_support)
        bases = [cls.__name__ for cls in type(d).__mro__ if hasattr(T.distributions, cls.__name__)]
        return tuple(d.batch_shape), tuple(d.event_shape), texts, flags, bases

    oracle.check(program)


@every_case
def test_moments_entropy_and_perplexity(case: Case) -> None:
    both(case, *(lambda T, d, name=name: getattr(d, name) for name in ("mean", "mode", "variance", "stddev")))
    case = narrow(case) if case.name == "Multinomial" else case  # PyTorch computes part of its entropy in float32
    both(case, lambda T, d: d.entropy(), lambda T, d: d.perplexity())


@every_case
def test_attributes(case: Case) -> None:
    """Parameters that the caller passed, and those that are computed from them."""
    names = ("param_shape", "total_count", "dim", "temperature", "loc", "scale", "df", "rate", "concentration")

    def program(T: Any) -> Any:
        d = case.build(T)
        return {name: getattr(d, name) for name in sorted({*d.arg_constraints, *theirs})}, repr(d)

    theirs = oracle.answer(lambda T: [name for name in names if hasattr(case.build(T), name)])
    oracle.check(program)


@every_case
def test_samples_are_pytorchs_after_the_same_seed(case: Case) -> None:
    for sample_shape in ((), (5,), (2, 3)):

        def program(T: Any, sample_shape: Any = sample_shape) -> Any:
            T.manual_seed(3)
            sample = outcome(lambda: case.build(T).sample(sample_shape))
            return sample, T.rand(1).item().hex()  # the streams are at their former positions

        bitwise = case.name in BITWISE or case.name in BITWISE_IN_FLOAT32 and not is_wide(case)
        sample, _ = oracle.check(program, exact=bitwise)
        assert not sample.requires_grad


@every_case
def test_log_prob_cdf_icdf_and_enumerate_support(case: Case) -> None:
    value = drawn(case)
    shape = np.broadcast_shapes((3,) + (1,) * len(value.shape[1:]), value.shape[1:])
    levels = np.broadcast_to(np.array([0.05, 0.5, 0.95], value.dtype).reshape((3,) + (1,) * (value.ndim - 1)), shape)
    both(
        case,
        lambda T, d: d.log_prob(library_value(T, value)),
        lambda T, d: d.cdf(library_value(T, value)),
        lambda T, d: d.icdf(library_value(T, levels)),
        lambda T, d: d.enumerate_support(True),
        lambda T, d: d.enumerate_support(False),
    )


def gradients(case: Case, T: Any, function: Callable[[Any], Any], second: bool = False) -> dict[str, Any]:
    """The gradients of a function of the distribution by each parameter, or those of their squares."""
    parameters = case.tensors(T, requires_grad=True)
    leaves = {key: value for key, value in parameters.items() if getattr(value, "requires_grad", False)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(case.build(T, parameters))
    if not leaves or not result.requires_grad:
        return {}
    finite = T.where(T.isfinite(result), result, T.zeros_like(result))
    slopes = T.autograd.grad(finite.sum(), list(leaves.values()), allow_unused=True, create_graph=second)
    if second:
        total = sum((g * g).sum() for g in slopes if g is not None)
        if not total.requires_grad:
            return {}
        slopes = T.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return {key: T.zeros_like(leaf) if g is None else g for (key, leaf), g in zip(leaves.items(), slopes, strict=True)}


def same_gradients(case: Case, function: Callable[[Any, Any], Any], second: bool = False) -> None:
    oracle.check(lambda T: outcome(lambda: gradients(case, T, lambda d: function(T, d), second)))


WIDE = [case for case in CASES if is_wide(case)]


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_derivatives_of_log_prob(case: Case) -> None:
    for second in (False, True):
        case = narrow(case) if second and case.name in OF_TRIGAMMA else case
        value = drawn(case)
        same_gradients(case, lambda T, d, value=value: d.log_prob(library_value(T, value)), second)


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_gradients_of_samples(case: Case) -> None:
    def sample(T: Any, d: Any) -> Any:
        T.manual_seed(5)
        if case.name == "Wishart" and T is not nb:  # its rsample has no gradients, since it writes to its mask
            d._bartlett_sampling((3,))
            return d._bartlett_sampling((3,))
        return d.rsample((3,))

    same_gradients(case, sample)


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_gradients_of_moments(case: Case) -> None:
    for moment in (lambda T, d: d.mean, lambda T, d: d.variance):
        same_gradients(case, moment)
    same_gradients(narrow(case) if case.name in OF_TRIGAMMA else case, lambda T, d: d.entropy())


def expanded(d: Any) -> Any:
    return d.expand((2, *d.batch_shape))


@every_case
def test_expand(case: Case) -> None:
    def about(T: Any) -> Any:
        d = expanded(case.build(T))
        return type(d).__name__, tuple(d.batch_shape), tuple(d.event_shape), repr(d), d._validate_args

    def sample(T: Any, d: Any) -> Any:
        T.manual_seed(1)
        return expanded(d).sample((3,))

    oracle.check(about)
    value = drawn(case)
    two = np.stack([value, value], 1)
    entropy = [] if case.name == "Multinomial" else [lambda T, d: expanded(d).entropy()]  # PyTorch lacks all of it
    both(
        case,
        lambda T, d: expanded(d).log_prob(library_value(T, two)),
        lambda T, d: expanded(d).mean,
        lambda T, d: expanded(d).variance,
        *entropy,
        sample,
        lambda T, d: {name: getattr(expanded(d), name) for name in sorted(d.arg_constraints)},
    )


@every_case
def test_an_expanded_distribution_is_expanded_after_its_lazy_attributes_were_asked_for(case: Case) -> None:
    def program(T: Any) -> Any:
        d = case.build(T)
        for name in d.arg_constraints:
            getattr(d, name)
        outcome(lambda: d.variance)
        wider = expanded(d)
        assert tuple(wider.batch_shape) == (2, *d.batch_shape)
        variance = outcome(lambda: wider.variance)
        if not isinstance(variance, type) and case.name != "Wishart":
            assert tuple(variance.shape) == tuple(wider.batch_shape + wider.event_shape)
        return tuple(wider.batch_shape), tuple(wider.event_shape)

    oracle.check(program)


@every_case
def test_samples_are_in_the_support(case: Case) -> None:
    nb.manual_seed(0)
    d = case.build(nb)
    sample = d.sample((20,))
    assert d.support.check(sample).all()
    assert sample.shape == (20, *d.batch_shape, *d.event_shape)
