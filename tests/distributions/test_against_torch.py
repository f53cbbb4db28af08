"""Every distribution does what PyTorch's does: shapes, moments, probabilities, samples, gradients, and its text."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.distributions.cases import CASES, Case, as_numpy, close, library_value

torch = needs.package("torch")
BITWISE = {
    *("Normal", "HalfNormal", "Uniform", "Gamma", "Chi2", "Beta", "Dirichlet", "Poisson", "Bernoulli", "Binomial"),
    *("Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Multinomial", "Geometric"),
    *("NegativeBinomial", "FisherSnedecor", "StudentT"),
}
BITWISE_IN_FLOAT32 = {"Exponential", "Cauchy", "HalfCauchy", "Laplace", "Pareto"}
"""All others' come from the same random numbers, through functions and sums whose last bit depends on the machine."""

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def outcome(function: Callable[[], Any]) -> Any:
    """What a function returns, or the class and the message of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except (NotImplementedError, ValueError, AttributeError, TypeError) as error:
            return type(error)


def both(case: Case, function: Callable[[Any, Any], Any], tolerance: float = 1e-9) -> None:
    """The function of the library and a distribution comes to the same."""
    ours, theirs = (outcome(lambda T=T: function(T, case.build(T))) for T in (nb, torch))
    if isinstance(theirs, type):
        assert ours is theirs
    else:
        close(ours, theirs, tolerance)


def drawn(case: Case, sample_shape: tuple[int, ...] = (4,)) -> Any:
    """Samples of PyTorch's, as an array of the case's dtype."""
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = case.build(torch).sample(sample_shape)
    return as_numpy(sample).astype(str(sample.dtype).rpartition(".")[2])


def test_every_distribution_has_cases() -> None:
    wrappers = {"Distribution", "ExponentialFamily", "Independent", "MixtureSameFamily", "TransformedDistribution"}
    classes = {name for name in torch.distributions.__all__ if isinstance(getattr(torch.distributions, name), type)}
    transforms = {name for name in classes if name.endswith("Transform")}
    assert {case.name for case in CASES} >= classes - transforms - wrappers
    assert nb.distributions.__all__ == sorted(torch.distributions.__all__)


@every_case
def test_shapes_and_texts(case: Case) -> None:
    ours, theirs = (case.build(T) for T in (nb, torch))
    for name in ("batch_shape", "event_shape"):
        assert tuple(getattr(ours, name)) == tuple(getattr(theirs, name))
    assert repr(ours) == repr(theirs)
    assert repr(ours.support) == repr(theirs.support)
    assert {key: repr(value) for key, value in ours.arg_constraints.items()} == {
        key: repr(value) for key, value in theirs.arg_constraints.items()
    }
    assert bool(ours.has_rsample) == bool(theirs.has_rsample)
    assert bool(ours.has_enumerate_support) == bool(theirs.has_enumerate_support)
    assert [cls.__name__ for cls in type(ours).__mro__ if hasattr(nb.distributions, cls.__name__)] == [
        cls.__name__ for cls in type(theirs).__mro__ if hasattr(torch.distributions, cls.__name__)
    ]


@every_case
def test_moments_entropy_and_perplexity(case: Case) -> None:
    for name in ("mean", "mode", "variance", "stddev"):
        both(case, lambda T, d, name=name: getattr(d, name))
    tolerance = 1e-6 if case.name == "Multinomial" else 1e-9  # of which PyTorch computes a part in float32
    both(case, lambda T, d: d.entropy(), tolerance)
    both(case, lambda T, d: d.perplexity(), 10 * tolerance)


@every_case
def test_attributes(case: Case) -> None:
    """Parameters that were given, and those that are computed from them, also of an expanded distribution."""
    ours, theirs = (case.build(T) for T in (nb, torch))
    for name in ours.arg_constraints:
        close(getattr(ours, name), getattr(theirs, name))
    assert repr(ours) == repr(theirs)
    names = ("param_shape", "total_count", "dim", "temperature", "loc", "scale", "df", "rate", "concentration")
    for name in (name for name in names if hasattr(theirs, name)):
        mine, other = (getattr(d, name) for d in (ours, theirs))
        if hasattr(other, "shape"):
            close(mine, other)
        else:
            assert mine == other or tuple(mine) == tuple(other)


@every_case
def test_samples_are_pytorchs_after_the_same_seed(case: Case) -> None:
    for sample_shape in ((), (5,), (2, 3)):
        samples = []
        for T in (nb, torch):
            T.manual_seed(3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                samples.append((case.build(T).sample(sample_shape), T.rand(1).item()))
        (ours, after), (theirs, their_after) = samples
        assert after == their_after  # the streams are where they were
        assert not ours.requires_grad
        close(ours, theirs, 1e-12)
        if case.name in BITWISE or case.name in BITWISE_IN_FLOAT32 and "32" in str(ours.dtype):
            assert ours.tolist() == theirs.tolist()


@every_case
def test_log_prob_cdf_icdf_and_enumerate_support(case: Case) -> None:
    value = drawn(case)
    both(case, lambda T, d: d.log_prob(library_value(T, value)))
    both(case, lambda T, d: d.cdf(library_value(T, value)))
    shape = np.broadcast_shapes((3,) + (1,) * len(value.shape[1:]), value.shape[1:])
    levels = np.broadcast_to(np.array([0.05, 0.5, 0.95], value.dtype).reshape((3,) + (1,) * (value.ndim - 1)), shape)
    tolerance = 1e-8 if value.dtype == np.float64 else 1e-5
    both(case, lambda T, d: d.icdf(library_value(T, levels)), tolerance)
    for expand in (True, False):
        both(case, lambda T, d, expand=expand: d.enumerate_support(expand))


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
    return dict(zip(leaves, slopes, strict=True))


def same_gradients(case: Case, function: Callable[[Any, Any], Any], second: bool = False) -> None:
    results = [outcome(lambda T=T: gradients(case, T, lambda d: function(T, d), second)) for T in (nb, torch)]
    ours, theirs = results
    if isinstance(theirs, type):
        assert ours is theirs
        return
    assert ours.keys() == theirs.keys()
    for key, gradient in theirs.items():
        if gradient is None:
            assert ours[key] is None or not as_numpy(ours[key]).any()
        else:
            close(ours[key], gradient, 1e-7)


def is_wide(case: Case) -> bool:
    return not any(getattr(value, "dtype", None) == np.float32 for value in case.parameters.values())


WIDE = [case for case in CASES if is_wide(case)]


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_derivatives_of_log_prob(case: Case) -> None:
    value = drawn(case)
    for second in (False, True):
        same_gradients(case, lambda T, d: d.log_prob(library_value(T, value)), second)


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_gradients_of_samples(case: Case) -> None:
    def sample(T: Any, d: Any) -> Any:
        T.manual_seed(5)
        if case.name == "Wishart" and T is torch:  # its rsample has no gradients, since it writes to its mask
            d._bartlett_sampling((3,))
            return d._bartlett_sampling((3,))
        return d.rsample((3,))

    same_gradients(case, sample)


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_gradients_of_moments(case: Case) -> None:
    for moment in (lambda T, d: d.mean, lambda T, d: d.variance, lambda T, d: d.entropy()):
        same_gradients(case, moment)


@every_case
def test_expand(case: Case) -> None:
    value = drawn(case)

    def expanded(T: Any, d: Any) -> Any:
        return d.expand((2, *d.batch_shape))

    ours, theirs = (expanded(T, case.build(T)) for T in (nb, torch))
    assert type(ours).__name__ == type(theirs).__name__
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape) and tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert repr(ours) == repr(theirs)
    assert ours._validate_args == theirs._validate_args
    two = np.stack([value, value], 1)
    for function in (
        lambda T, d: expanded(T, d).log_prob(library_value(T, two)),
        lambda T, d: expanded(T, d).mean,
        lambda T, d: expanded(T, d).variance,
    ):
        both(case, function)
    if case.name != "Multinomial":  # an expanded one has no entropy in PyTorch
        both(case, lambda T, d: expanded(T, d).entropy())

    def sample(T: Any, d: Any) -> Any:
        T.manual_seed(1)
        return expanded(T, d).sample((3,))

    both(case, sample)
    for name in ours.arg_constraints:
        both(case, lambda T, d, name=name: getattr(expanded(T, d), name))


@every_case
def test_an_expanded_distribution_is_expanded_after_its_lazy_attributes_were_asked_for(case: Case) -> None:
    for T in (nb, torch):
        d = case.build(T)
        for name in d.arg_constraints:
            getattr(d, name)
        outcome(lambda d=d: d.variance)
        wider = d.expand((2, *d.batch_shape))
        assert tuple(wider.batch_shape) == (2, *d.batch_shape)
        variance = outcome(lambda wider=wider: wider.variance)
        if not isinstance(variance, type) and case.name != "Wishart":
            assert tuple(variance.shape) == tuple(wider.batch_shape + wider.event_shape)


@every_case
def test_samples_are_in_the_support(case: Case) -> None:
    nb.manual_seed(0)
    d = case.build(nb)
    sample = d.sample((20,))
    assert d.support.check(sample).all()
    assert sample.shape == (20, *d.batch_shape, *d.event_shape)
