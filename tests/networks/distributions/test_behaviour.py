"""Check the common behavior of distributions: validation, ``expand``, wrappers, user classes, copies, imports."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import pkgutil
import subprocess
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.networks.distributions.cases import CASES, SPD, Case, as_numpy, library_value


def test_validation_can_be_switched_off() -> None:
    def program(T: Any) -> Any:
        d = T.distributions
        unchecked = d.Normal(0.0, -1.0, validate_args=False)
        try:
            d.Distribution.set_default_validate_args(False)
            scale = d.Normal(0.0, -1.0).scale
            with pytest.raises(ValueError, match="Expected parameter scale"):
                d.Normal(0.0, -1.0, validate_args=True)
        finally:
            d.Distribution.set_default_validate_args(True)
        with pytest.raises(ValueError, match="Expected parameter scale"):
            d.Normal(0.0, -1.0)
        return unchecked.log_prob(T.tensor(float("nan"))), unchecked.expand([2])._validate_args, scale

    assert oracle.check(program)[0].isnan()


def test_what_warns() -> None:
    def program(T: Any) -> Any:
        d = T.distributions

        class Bare(d.Distribution):
            pass

        with pytest.warns(UserWarning, match="does not define `arg_constraints`. Please set `arg_constraints = {}` or"):
            bare = Bare()
        with pytest.warns(
            UserWarning, match="does not define `support` to enable sample validation. Please initialize"
        ):
            bare._validate_sample(T.ones(()))
        with pytest.warns(FutureWarning, match=r"`sample_n\(n\)` will be deprecated. Use `sample\(\(n,\)\)` instead."):
            drawn = d.Normal(0.0, 1.0).sample_n(3)
        with pytest.warns(UserWarning, match="Low df values detected. Singular samples are highly likely to occur for"):
            d.Wishart(1.5, T.eye(2))
        return tuple(drawn.shape)

    oracle.check(program)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # PyTorch's check is inverted: it warns of regular samples
        nb.distributions.Wishart(5.0, nb.eye(3)).sample((10,))


def test_singular_wishart_samples_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    d = nb.distributions.Wishart(5.0, nb.eye(2))
    draws = [nb.eye(2).expand(3, 2, 2), nb.stack([nb.eye(2), nb.zeros(2, 2), nb.eye(2)]), 2 * nb.eye(2).expand(3, 2, 2)]
    monkeypatch.setattr(d, "_bartlett_sampling", lambda shape: draws.pop(0))
    with pytest.warns(UserWarning, match="Singular sample detected."):
        sample = d.rsample((3,))
    assert sample[:, 0, 0].tolist() == [1.0, 2.0, 1.0]


# -- one's own classes -------------------------------------------------------------------------------------------------


def test_ones_own_distributions() -> None:
    def program(T: Any) -> Any:
        d = T.distributions

        class Coin(d.Distribution):
            arg_constraints = {"heads": d.constraints.unit_interval}  # noqa: RUF012
            support = d.constraints.boolean

            def __init__(self, heads, validate_args=None):
                self.heads = heads
                super().__init__(heads.shape, validate_args=validate_args)

            def expand(self, batch_shape, _instance=None):
                new = self._get_checked_instance(Coin, _instance)
                new.heads = self.heads.expand(batch_shape)
                super(Coin, new).__init__(T.Size(batch_shape), validate_args=False)
                new._validate_args = self._validate_args
                return new

            @property
            def mean(self):
                return self.heads

            @property
            def variance(self):
                return self.heads * (1 - self.heads)

            def sample(self, sample_shape=()):
                return T.bernoulli(self.heads.expand(self._extended_shape(sample_shape)))

            def log_prob(self, value):
                if self._validate_args:
                    self._validate_sample(value)
                return T.where(value == 1, self.heads, 1 - self.heads).log()

        coin = Coin(T.tensor([0.5, 1.0]))
        assert repr(coin) == "Coin(heads: torch.Size([2]))"
        assert coin.stddev.tolist() == [0.5, 0.0]
        assert coin.expand([3, 2]).sample((4,)).shape == (4, 3, 2)
        both = d.Independent(coin, 1)
        with pytest.raises(ValueError, match="Expected value argument"):
            coin.log_prob(T.tensor([2.0, 1.0]))
        with pytest.raises(ValueError, match="Expected parameter heads"):
            Coin(T.tensor([2.0]))
        with pytest.raises(NotImplementedError):
            coin.entropy()
        return coin.stddev, both.log_prob(T.ones(2)), repr(coin)

    theirs = oracle.answer(program)
    oracle.close(program(nb), theirs)
    oracle.close(nb.tensor(np.log(0.5), dtype=nb.float32), theirs.parts[1])


def test_subclasses_of_distributions() -> None:
    def program(T: Any) -> Any:
        d = T.distributions

        class Same(d.Normal):
            pass

        class Shifted(d.Normal):
            def __init__(self, loc):
                super().__init__(loc + 1, T.ones(()))

        class Expanding(d.Normal):
            def __init__(self, loc):
                self.shift = T.ones(())
                super().__init__(loc + self.shift, T.ones(()))

            def expand(self, batch_shape, _instance=None):
                new = self._get_checked_instance(Expanding, _instance)
                new.shift = self.shift.expand(batch_shape)
                return super().expand(batch_shape, _instance=new)

        assert type(Same(0.0, 1.0).expand([2])) is Same
        with pytest.raises(NotImplementedError, match="Subclass Shifted of Normal that defines a custom"):
            Shifted(T.zeros(())).expand([2])
        wider = Expanding(T.zeros(())).expand([2])
        assert wider.mean.tolist() == [1.0, 1.0] and tuple(wider.shift.shape) == (2,)
        with pytest.raises(NotImplementedError):
            d.Distribution(validate_args=False).expand([2])
        return wider.mean, wider.shift

    oracle.check(program)


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Exponential", "Bernoulli", "Dirichlet"])
def test_an_exponential_family_has_an_entropy(name: str) -> None:
    """By differentiation of its log-normalizer."""
    case = next(case for case in CASES if case.name == name and len(np.shape(next(iter(case.parameters.values())))))
    family = nb.distributions.ExponentialFamily
    assert isinstance(case.build(nb), family)
    if name == "Dirichlet":  # it declares no carrier measure
        with pytest.raises(NotImplementedError):
            family._entropy(case.build(nb))
        return

    def program(T: Any) -> Any:
        base = T.distributions.ExponentialFamily
        return (base._entropy if T is nb else base.entropy)(case.build(T)).detach()

    oracle.check(program)


# -- distributions made of others --------------------------------------------------------------------------------------


def _made(d: Any, T: Any) -> dict[str, Any]:
    array = np.array
    normals = d.Normal(library_value(T, array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]])), 1.5)
    vectors = d.MultivariateNormal(library_value(T, array([[0.0, 1.0], [2.0, -1.0]])), T.eye(2, dtype=T.float64))
    weights = d.Categorical(library_value(T, array([0.2, 0.5, 0.3])))
    gamma = d.Gamma(library_value(T, array([1.0, 2.0])), 1.0)
    return {
        "independent": d.Independent(normals, 1),
        "independent of all": d.Independent(normals, 2),
        "independent of none": d.Independent(d.Bernoulli(library_value(T, array([0.5, 0.2]))), 0),
        "independent vectors": d.Independent(vectors, 1),
        "mixture": d.MixtureSameFamily(weights, d.Laplace(library_value(T, array([0.0, 1.0, 2.0])), 1.5)),
        "mixtures": d.MixtureSameFamily(
            d.Categorical(library_value(T, array([[1.0, 1.0, 2.0], [1.0, 0.5, 0.5]]))), normals
        ),
        "mixture of vectors": d.MixtureSameFamily(d.Categorical(library_value(T, array([1.0, 3.0]))), vectors),
        "mixture of counts": d.MixtureSameFamily(weights, d.Poisson(library_value(T, array([1.0, 5.0, 20.0])))),
        "transformed": d.TransformedDistribution(normals, [d.ExpTransform(), d.AffineTransform(1.0, 2.0)]),
        "decreasing": d.TransformedDistribution(
            normals, d.AffineTransform(1.0, library_value(T, array([-1.0, 1.0, -2.0])))
        ),
        "broadcasting": d.TransformedDistribution(
            d.Normal(0.0, 1.0), d.AffineTransform(library_value(T, array([0.0, 1.0])), 1.0)
        ),
        "vectors": d.TransformedDistribution(normals, d.StickBreakingTransform()),
        "vectors of vectors": d.TransformedDistribution(vectors, d.IndependentTransform(d.ExpTransform(), 1)),
        "reshaped": d.TransformedDistribution(d.Independent(normals, 2), d.ReshapeTransform((2, 3), (6,))),
        "of none": d.TransformedDistribution(gamma, []),
        "uniform": d.TransformedDistribution(gamma, d.CumulativeDistributionTransform(gamma)),
        "correlations": d.TransformedDistribution(
            d.Normal(T.zeros(3, dtype=T.float64), 1.0), d.CorrCholeskyTransform()
        ),
    }


@pytest.mark.parametrize("name", _made(nb.distributions, nb))
def test_distributions_made_of_others(name: str) -> None:
    def whole(T: Any, expanded: bool) -> Any:
        d = _made(T.distributions, T)[name]
        return d.expand((2, *d.batch_shape)) if expanded else d

    for expanded in (False, True):

        def about(T: Any, expanded: bool = expanded) -> Any:
            d = whole(T, expanded)
            T.manual_seed(0)
            texts = repr(d), repr(d.support), bool(d.has_rsample), bool(d.has_enumerate_support)
            return texts, tuple(d.batch_shape), tuple(d.event_shape), d.sample((3,))

        theirs = oracle.answer(about)
        oracle.close(about(nb), theirs)
        value = theirs.parts[-1].values

        def computed(T: Any, expanded: bool = expanded, value: Any = value) -> Any:
            d = whole(T, expanded)
            found = []
            for function in (
                lambda: d.mean,
                lambda: d.variance,
                lambda: d.stddev,
                lambda: d.entropy(),
                lambda: d.log_prob(library_value(T, value)),
                lambda: d.cdf(library_value(T, value)),
                lambda: d.icdf(library_value(T, np.full(tuple(d.batch_shape + d.event_shape), 0.3))),
                lambda: d.enumerate_support(),
            ):
                try:
                    found.append(function())
                except (NotImplementedError, ValueError) as error:
                    found.append(type(error))
            return found

        oracle.check(computed)


def test_one_mixture_of_many_components() -> None:
    """The weights broadcast to the components' batch; PyTorch cannot draw from it."""
    d = nb.distributions
    mixture = d.MixtureSameFamily(
        d.Categorical(nb.tensor([0.0, 1.0])), d.Normal(nb.tensor([[0.0, 9.0], [0.0, -9.0]]), 0.1)
    )
    assert mixture.sample((4,)).sign().tolist() == [[1.0, -1.0]] * 4
    assert mixture.mean.tolist() == [9.0, -9.0]


def test_caches_of_transformed_distributions() -> None:
    """With a cache the density of a sample is that of the sample, however badly the inverse rounds."""

    def program(T: Any) -> Any:
        d = T.distributions
        squashed = d.TransformedDistribution(d.Normal(T.full((3,), 30.0), 1.0), d.TanhTransform(cache_size=1))
        uncached = d.TransformedDistribution(d.Normal(T.full((3,), 30.0), 1.0, False), d.TanhTransform(), False)
        return [x.log_prob(x.rsample()).isfinite() for x in (squashed, uncached)]

    assert [t.tolist() for t in oracle.check(program)] == [[True] * 3, [False] * 3]


def test_gradients_learn_a_distribution() -> None:
    """By maximum likelihood, and by the reparameterized evidence bound: both find the parameters."""
    d = nb.distributions
    nb.manual_seed(0)
    data = d.Gamma(3.0, 2.0).sample((500,))
    log_a, log_b = (nb.zeros((), requires_grad=True) for _ in range(2))
    optimizer = nb.optim.Adam([log_a, log_b], lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        loss = -d.Gamma(log_a.exp(), log_b.exp()).log_prob(data).mean()
        loss.backward()
        optimizer.step()
    assert abs(log_a.exp().item() - 3) < 0.5 and abs(log_b.exp().item() - 2) < 0.4
    mean = nb.zeros((), requires_grad=True)
    optimizer = nb.optim.Adam([mean], lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        (-d.Normal(2.0, 1.0).log_prob(d.Normal(mean, 1.0).rsample((16,))).mean()).backward()
        optimizer.step()
    assert abs(mean.item() - 2) < 0.3


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("Gamma", (2.5, 1.5)), ("Beta", (2.0, 3.5)), ("StudentT", (4.0,)), ("Chi2", (3.0,)), ("InverseGamma", (4.0, 2.0))],
)
def test_gradients_of_samples_are_those_of_expectations(name: str, parameters: tuple[float, ...]) -> None:
    """E[x²] has a closed form, whose derivatives samples have on average."""
    nb.manual_seed(1)
    leaves = [nb.tensor(value, dtype=nb.float64, requires_grad=True) for value in parameters]
    d = getattr(nb.distributions, name)(*leaves)
    exact = nb.autograd.grad(d.variance + d.mean**2, leaves, retain_graph=True)
    estimated = nb.autograd.grad((d.rsample((20_000,)) ** 2).mean(), leaves)
    for a, b in zip(estimated, exact, strict=True):
        assert abs(a - b) < 0.15 * abs(b) + 0.02


# -- copies, lifetimes, imports ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for i, case in enumerate(CASES) if i % 3 == 0], ids=str)
def test_copies(case: Case) -> None:
    d = case.build(nb)
    d.sample()  # cached values are copied as well
    for copied in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert repr(copied) == repr(d)
        nb.manual_seed(0)
        sample = d.sample((2,))
        nb.manual_seed(0)
        np.testing.assert_array_equal(as_numpy(copied.sample((2,))), as_numpy(sample))


def test_no_cycles_of_references() -> None:
    gc.disable()
    try:
        for build in (
            lambda d: d.Normal(0.0, 1.0),
            lambda d: d.LogNormal(0.0, 1.0),
            lambda d: d.Gumbel(0.0, 1.0),
            lambda d: d.Categorical(logits=nb.zeros(3)),
            lambda d: d.MultivariateNormal(nb.zeros(2), nb.eye(2)),
        ):
            d = build(nb.distributions)
            d.log_prob(d.sample())
            gone = weakref.ref(d)
            del d
            assert gone() is None
    finally:
        gc.enable()


def test_pytorchs_modules_are_there() -> None:
    code = """
import nbautograd
nbautograd.standing_in().start()
import torch.distributions as D
from torch.distributions import Normal, constraints, kl_divergence
from torch.distributions.normal import Normal as same
from torch.distributions.kl import register_kl
from torch.distributions.utils import broadcast_all, lazy_property, _standard_normal, euler_constant
from torch.distributions.transforms import ExpTransform, identity_transform
from torch.distributions.relaxed_categorical import ExpRelaxedCategorical
from torch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
from torch.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from torch.distributions.constraint_registry import ConstraintRegistry
import torch.distributions.studentT, torch.distributions.mixture_same_family
assert Normal is same is D.Normal
print(Normal.__name__, len(D.__all__), torch.distributions.von_mises.VonMises.__name__)
"""
    root = Path(nb.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False)
    assert done.stdout.split() == ["Normal", "67", "VonMises"], done.stderr


def test_every_module_of_pytorchs_has_its_public_names() -> None:
    def names(T: Any) -> Any:
        found = pkgutil.iter_modules(T.distributions.__path__)
        return {info.name: importlib.import_module(f"{T.__name__}.distributions.{info.name}").__all__ for info in found}

    for module, theirs in oracle.answer(names).parts:
        ours = getattr(nb.distributions, module)
        assert [name for name in theirs if not hasattr(ours, name)] == [], module


def test_nothing_is_loaded_by_the_package() -> None:
    code = "import sys, nbautograd; print([name for name in sys.modules if 'distributions' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_positive_definite_case() -> None:
    """Three ways to give one distribution: each is PyTorch's."""

    def program(T: Any, way: int) -> Any:
        d = T.distributions
        covariance = library_value(T, SPD)
        loc = T.zeros(3, dtype=T.float64)
        given = (
            {"covariance_matrix": covariance},
            {"precision_matrix": covariance.inverse()},
            {"scale_tril": T.linalg.cholesky(covariance)},
        )[way]
        normal = d.MultivariateNormal(loc, **given)
        value = library_value(T, np.array([0.3, -1.0, 2.0]))
        return normal.log_prob(value), normal.covariance_matrix, normal.precision_matrix

    expected = [oracle.answer(program, way) for way in range(3)]
    for way, theirs in enumerate(expected):
        oracle.close(program(nb, way), theirs)
        oracle.close(program(nb, 0), theirs)


@pytest.mark.parametrize(
    "case",
    [
        Case("Normal", {"loc": [0.0, 1.0, 2.0], "scale": [1.0, 2.0, 3.0]}),
        Case("Bernoulli", {"probs": [0.2, 0.5, 0.7]}),
        Case("Gamma", {"concentration": [0.5, 1.0, 2.0], "rate": [1.0, 2.0, 3.0]}),
        Case("Categorical", {"logits": [[0.0, 1.0], [2.0, 0.0], [0.5, 0.5]]}),
        Case("Dirichlet", {"concentration": [[0.5, 1.0], [2.0, 1.0], [0.5, 0.5]]}),
        Case("MultivariateNormal", {"loc": np.ones((3, 3)), "covariance_matrix": [SPD.tolist()] * 3}),
        Case("Weibull", {"scale": [0.5, 1.0, 2.0], "concentration": [1.0, 2.0, 3.0]}),
        Case("StudentT", {"df": [0.5, 1.0, 2.0]}),
    ],
    ids=str,
)
def test_distributions_inside_of_vmap(case: Case) -> None:
    """With their checks, which read all samples of the batch at once."""

    def sample(T: Any) -> Any:
        T.manual_seed(0)
        return case.build(T).sample()

    value = oracle.answer(sample).values
    theirs = oracle.answer(lambda T: case.build(T).log_prob(library_value(T, value)))

    def log_prob(value: Any, *values: Any) -> Any:
        return case.build(nb, dict(zip(parameters, values, strict=True))).log_prob(value)

    parameters = case.tensors(nb)
    oracle.close(nb.vmap(log_prob)(library_value(nb, value), *parameters.values()), theirs)
    if case.name == "Normal":
        with pytest.raises((ValueError, RuntimeError)):
            nb.vmap(log_prob)(library_value(nb, value), parameters["loc"], -parameters["scale"])
