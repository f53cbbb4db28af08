"""Transforms: values, inverses, Jacobians, shapes, composition, caches; and the transforms into constraints."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.networks.distributions.cases import SPD, TRIL, as_numpy, library_value

NUMBERS = [-2.0, -0.3, 0.0, 0.7, 3.0]
POSITIVE = [0.2, 1.0, 4.0]
VECTORS = [[0.5, -1.0, 2.0], [0.0, 0.1, -0.2]]
MATRICES = [[[0.5, -1.0], [2.0, 0.1]], [[0.0, 1.0], [-1.0, -0.5]]]
LONG = np.linspace(-1, 1, 12).reshape(2, 6)

Make = Callable[[Any, Any], Any]
TRANSFORMS: dict[str, tuple[Make, Any]] = {
    "exp": (lambda d, T: d.ExpTransform(), NUMBERS),
    "power": (lambda d, T: d.PowerTransform(T.tensor(2.5, dtype=T.float64)), POSITIVE),
    "power of a tensor": (lambda d, T: d.PowerTransform(library_value(T, [[2.0], [-1.0]])), POSITIVE),
    "power of a number": (lambda d, T: d.PowerTransform(0.5), POSITIVE),
    "sigmoid": (lambda d, T: d.SigmoidTransform(), [*NUMBERS, 100.0, -800.0]),
    "softplus": (lambda d, T: d.SoftplusTransform(), NUMBERS),
    "tanh": (lambda d, T: d.TanhTransform(), NUMBERS),
    "abs": (lambda d, T: d.AbsTransform(), NUMBERS),
    "affine": (lambda d, T: d.AffineTransform(1.0, -2.0), NUMBERS),
    "affine of tensors": (
        lambda d, T: d.AffineTransform(library_value(T, VECTORS), library_value(T, POSITIVE)),
        VECTORS,
    ),
    "affine of vectors": (lambda d, T: d.AffineTransform(0.5, library_value(T, POSITIVE), event_dim=1), VECTORS),
    "affine of matrices": (lambda d, T: d.AffineTransform(0.5, 3.0, event_dim=2), MATRICES),
    "composed": (lambda d, T: d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.TanhTransform()]), NUMBERS),
    "composed to a simplex": (
        lambda d, T: d.ComposeTransform([d.AffineTransform(0.1, 2.0), d.StickBreakingTransform(), d.ExpTransform()]),
        VECTORS,
    ),
    "composed of one twice": (lambda d, T: (lambda t: d.ComposeTransform([t, t]))(d.SoftplusTransform()), NUMBERS),
    "composed of none": (lambda d, T: d.ComposeTransform([]), NUMBERS),
    "identity": (lambda d, T: d.identity_transform, NUMBERS),
    "independent": (lambda d, T: d.IndependentTransform(d.ExpTransform(), 1), VECTORS),
    "reshape": (lambda d, T: d.ReshapeTransform((2, 3), (6,)), np.arange(24.0).reshape(4, 2, 3)),
    "softmax": (lambda d, T: d.SoftmaxTransform(), VECTORS),
    "stick breaking": (lambda d, T: d.StickBreakingTransform(), VECTORS),
    "lower cholesky": (lambda d, T: d.LowerCholeskyTransform(), MATRICES),
    "positive definite": (lambda d, T: d.PositiveDefiniteTransform(), MATRICES),
    "correlations": (lambda d, T: d.CorrCholeskyTransform(), LONG),
    "cat": (
        lambda d, T: d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 3.0)], dim=-1, lengths=[1, 2]),
        VECTORS,
    ),
    "cat of vectors": (
        lambda d, T: d.CatTransform([d.StickBreakingTransform(), d.StickBreakingTransform()], 0, [1, 1]),
        VECTORS,
    ),
    "stack": (lambda d, T: d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.identity_transform], 1), VECTORS),
    "distribution function": (lambda d, T: d.CumulativeDistributionTransform(d.Normal(0.5, 2.0)), NUMBERS),
}
"""The constructor of a transform, and its inputs."""

every_transform = pytest.mark.parametrize("name", TRANSFORMS)


def attempt(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except (NotImplementedError, ValueError, RuntimeError, AssertionError) as error:
        return type(error)


def made(T: Any, name: str) -> tuple[Any, Any]:
    """The transform and its input."""
    make, values = TRANSFORMS[name]
    return make(T.distributions, T), library_value(T, np.array(values, float))


@every_transform
def test_forward_and_back(name: str) -> None:
    def program(T: Any) -> Any:
        transform, x = made(T, name)
        y = transform(x)
        back = transform.inv(y)
        return y, back, transform(back) if transform.bijective else None

    oracle.check(program)


@every_transform
def test_jacobians(name: str) -> None:
    def program(T: Any) -> Any:
        transform, x = made(T, name)
        y = transform(x)
        return (
            attempt(lambda: transform.log_abs_det_jacobian(x, y)),
            attempt(lambda: transform.inv.log_abs_det_jacobian(y, x)),
        )

    oracle.check(program)


@pytest.mark.parametrize("name", ["exp", "softplus", "tanh", "sigmoid", "affine", "composed", "power"])
def test_a_jacobian_is_the_derivative(name: str) -> None:
    def program(T: Any, by_slope: bool = False) -> Any:
        transform, x = made(T, name)
        x = x[:5].clone().requires_grad_()
        y = transform(x)
        (slope,) = T.autograd.grad(y.sum(), x, retain_graph=True)
        return slope.abs().log() if by_slope else transform.log_abs_det_jacobian(x, y).detach()

    by_slope = oracle.answer(program, True)
    oracle.close(program(nb, True), by_slope)
    oracle.close(program(nb), by_slope)


@every_transform
def test_gradients(name: str) -> None:
    def program(T: Any) -> Any:
        transform, x = made(T, name)
        x.requires_grad_()
        y = transform(x)
        weights = library_value(T, np.linspace(0.5, 1.5, y.numel()).reshape(tuple(y.shape)))
        total = (y * weights).sum()
        slope = attempt(lambda: transform.log_abs_det_jacobian(x, y))
        if not isinstance(slope, type):
            total = total + slope.sum()
        return T.autograd.grad(total, x)[0]

    oracle.check(program)


@every_transform
def test_what_a_transform_says_of_itself(name: str) -> None:
    def program(T: Any) -> Any:
        transform, x = made(T, name)
        found = [bool(transform.bijective), attempt(lambda: transform.event_dim)]
        shape, forward = tuple(x.shape), tuple(transform(x).shape)
        for t, before, after in ((transform, shape, forward), (transform.inv, forward, shape)):
            found += [repr(t), attempt(lambda t=t: t.sign), bool(t.bijective)]
            found += [(repr(t.domain), t.domain.event_dim, repr(t.codomain), t.codomain.event_dim)]
            found += [tuple(t.forward_shape(before)), tuple(t.inverse_shape(after))]
        return found

    oracle.check(program)


@every_transform
def test_equality(name: str) -> None:
    def program(T: Any) -> Any:
        first, second = made(T, name)[0], made(T, name)[0]
        others = first, second, T.distributions.AffineTransform(9.0, 9.0)
        with pytest.raises(TypeError, match="unhashable"):
            hash(first)
        return [(bool(first == other), bool(first != other), bool(first.inv == other.inv)) for other in others]

    oracle.check(program)


@every_transform
def test_caches(name: str) -> None:
    def program(T: Any) -> Any:
        transform, x = made(T, name)
        cached = transform.with_cache()
        assert cached.with_cache() is cached and type(cached) is type(transform)
        assert transform.with_cache(0) is transform
        y = cached(x)
        if name not in ("composed of one twice",):  # the single cache holds the second pair only
            assert cached.inv(y) is x
        if not hasattr(cached, "parts"):
            assert cached(x) is y
        z = y.clone()
        found = cached.inv(z)
        assert found is not x or name in ("abs", "composed of none", "identity")
        return y, found

    oracle.check(program)


@every_transform
def test_inverses_and_copies(name: str) -> None:
    ours, x = made(nb, name)
    inverse = ours.inv
    assert ours.inv is inverse and inverse.inv is ours
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), copy.deepcopy(inverse).inv):
        np.testing.assert_array_equal(as_numpy(copied(x)), as_numpy(ours(x)))


def test_an_inverse_leaves_no_cycle_of_references() -> None:
    gc.disable()
    try:
        for make in (lambda d: d.ExpTransform(1), lambda d: d.ComposeTransform([d.ExpTransform()])):
            transform = make(nb.distributions)
            transform.inv(transform(nb.ones(2)))
            gone = weakref.ref(transform)
            del transform
            assert gone() is None
    finally:
        gc.enable()


def test_ones_own_transforms() -> None:
    def program(T: Any) -> Any:
        d = T.distributions

        class Cube(d.Transform):
            domain = codomain = d.constraints.real
            bijective = True
            sign = 1

            def _call(self, x):
                return x**3

            def _inverse(self, y):
                return y.sign() * y.abs() ** (1 / 3)

            def log_abs_det_jacobian(self, x, y):
                return (3 * x * x).log()

        class Scaled(Cube):
            def __init__(self, factor):
                super().__init__()
                self.factor = factor

        cube = Cube()
        assert isinstance(cube.with_cache(), Cube)
        with pytest.raises(NotImplementedError, match="with_cache is not implemented"):
            Scaled(2.0).with_cache()
        with pytest.raises(NotImplementedError):
            d.Transform()(T.ones(1))
        cubed = d.TransformedDistribution(d.Normal(0.0, 1.0), [cube, cube.inv, cube])
        return cubed.log_prob(T.tensor(8.0)), cubed.cdf(T.tensor(0.0))

    theirs = oracle.answer(program)
    expected = -2.0 - 0.5 * math.log(2 * math.pi) - math.log(12), 0.5
    oracle.close(program(nb), theirs)
    oracle.close(tuple(map(nb.tensor, expected)), theirs)


ERRORS = {
    "cache": (lambda d, T: d.ExpTransform(cache_size=2), "cache_size must be 0 or 1"),
    "reshape": (lambda d, T: d.ReshapeTransform((2,), (3,)), "in_shape, out_shape have different numbers of elements"),
    "few": (lambda d, T: d.ReshapeTransform((2, 3), (6,)).forward_shape((3,)), "Too few dimensions on input"),
    "other": (lambda d, T: d.ReshapeTransform((2, 3), (6,)).forward_shape((3, 2)), "Shape mismatch: expected"),
    "few back": (lambda d, T: d.ReshapeTransform((6,), (2, 3)).inverse_shape((3,)), "Too few dimensions on input"),
    "independent": (lambda d, T: d.IndependentTransform(d.ExpTransform(), 2)(T.ones(3)), "Too few dimensions on input"),
    "stick": (lambda d, T: d.StickBreakingTransform().forward_shape(()), "Too few dimensions on input"),
    "softmax": (lambda d, T: d.SoftmaxTransform().inverse_shape(()), "Too few dimensions on input"),
    "corr": (
        lambda d, T: d.CorrCholeskyTransform().forward_shape((4,)),
        "Input is not a flattened lower-diagonal number",
    ),
    "corr back": (lambda d, T: d.CorrCholeskyTransform().inverse_shape((4, 3)), "Input is not square"),
    "event_dim": (lambda d, T: d.CorrCholeskyTransform().event_dim, "Please use either .domain.event_dim or"),
    "cat": (lambda d, T: d.CatTransform([d.ExpTransform()], lengths=[1, 2]), "must match transforms (1)"),
    "cat of others": (lambda d, T: d.CatTransform([1]), "All elements of tseq must be Transform instances"),
    "cat size": (lambda d, T: d.CatTransform([d.ExpTransform()])(T.ones(3)), "x.size(0) = 3 must equal length 1"),
    "cat dim": (lambda d, T: d.CatTransform([d.ExpTransform()], 2)(T.ones(3)), "dim 2 out of range for tensor with 1"),
    "stack size": (lambda d, T: d.StackTransform([d.ExpTransform()])(T.ones(3)), "must equal len(transforms) 1"),
    "stack back": (lambda d, T: d.StackTransform([d.ExpTransform()]).inv(T.ones(3)), "y.size(0) = 3 must equal len"),
    "no slope": (lambda d, T: d.AbsTransform().log_abs_det_jacobian(T.ones(1), T.ones(1)), ""),
    "triangle": (lambda d, T: d.utils.vec_to_tril_matrix(T.ones(5)), "The size of last dimension is 5 which cannot be"),
    "diagonal": (lambda d, T: d.utils.tril_matrix_to_vec(T.ones(2, 2), 3), "diag (3) provided is outside [-2, 1]."),
    "registry": (lambda d, T: d.biject_to(d.constraints.boolean), "Cannot transform _Boolean constraints"),
    "register": (lambda d, T: d.biject_to.register(3, int), "Expected constraint to be either a Constraint subclass"),
    "no bijection": (lambda d, T: d.biject_to(d.constraints.lower_cholesky), "Cannot transform _LowerCholesky"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    function, words = ERRORS[name]
    oracle.check_raises(lambda T: function(T.distributions, T), says=words)


@pytest.mark.parametrize("diag", [-1, 0, 1])
def test_triangles_as_vectors(diag: int) -> None:
    def program(T: Any) -> Any:
        utils = T.distributions.utils
        vectors = utils.tril_matrix_to_vec(library_value(T, np.arange(32.0).reshape(2, 4, 4)), diag)
        return vectors, utils.vec_to_tril_matrix(vectors, diag)

    oracle.check(program, exact=True)


CONSTRAINTS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "real": (lambda c, T: c.real, NUMBERS),
    "real vector": (lambda c, T: c.real_vector, VECTORS),
    "positive": (lambda c, T: c.positive, NUMBERS),
    "nonnegative": (lambda c, T: c.nonnegative, NUMBERS),
    "greater than": (lambda c, T: c.greater_than(library_value(T, POSITIVE)), VECTORS),
    "at least": (lambda c, T: c.greater_than_eq(2), NUMBERS),
    "less than": (lambda c, T: c.less_than(-2.0), NUMBERS),
    "unit interval": (lambda c, T: c.unit_interval, NUMBERS),
    "interval": (lambda c, T: c.interval(-3.0, 5.0), NUMBERS),
    "interval of tensors": (lambda c, T: c.interval(library_value(T, POSITIVE), 5.0), VECTORS),
    "half open": (lambda c, T: c.half_open_interval(0, 2), NUMBERS),
    "simplex": (lambda c, T: c.simplex, VECTORS),
    "independent": (lambda c, T: c.independent(c.positive, 1), VECTORS),
    "lower cholesky": (lambda c, T: c.lower_cholesky, MATRICES),
    "correlations": (lambda c, T: c.corr_cholesky, LONG),
    "positive definite": (lambda c, T: c.positive_definite, MATRICES),
    "positive semidefinite": (lambda c, T: c.positive_semidefinite, MATRICES),
    "cat": (lambda c, T: c.cat([c.positive, c.unit_interval], -1, [1, 2]), VECTORS),
    "stack": (lambda c, T: c.stack([c.positive, c.real, c.less_than(1.0)], -1), VECTORS),
}


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_transforms_into_constraints(name: str, registry: str) -> None:
    make, values = CONSTRAINTS[name]

    def program(T: Any) -> Any:
        constraint = make(T.distributions.constraints, T)
        transform = attempt(lambda: getattr(T.distributions, registry)(constraint))
        if isinstance(transform, type):
            return transform
        y = transform(library_value(T, np.array(values, float)))
        assert constraint.check(y).all()
        return repr(transform), y, transform.bijective

    oracle.check(program)


CHECKS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    **CONSTRAINTS,
    "boolean": (lambda c, T: c.boolean, [0.0, 1.0, 0.5]),
    "one hot": (lambda c, T: c.one_hot, [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.5, 0.5, 0.0]]),
    "nonnegative integer": (lambda c, T: c.nonnegative_integer, [-1.0, 0.0, 0.5, 3.0]),
    "positive integer": (lambda c, T: c.positive_integer, [-1.0, 0.0, 0.5, 3.0]),
    "integer interval": (lambda c, T: c.integer_interval(0, 2), [-1.0, 0.0, 0.5, 2.0, 3.0]),
    "integer below": (lambda c, T: c._IntegerLessThan(2), [-1.0, 0.0, 0.5, 2.0, 3.0]),
    "multinomial": (lambda c, T: c.multinomial(3), [[1.0, 1.0], [2.0, 2.0], [-1.0, 1.0]]),
    "lower triangular": (lambda c, T: c.lower_triangular, [TRIL.tolist(), np.ones((2, 2)).tolist()]),
    "lower cholesky 2": (lambda c, T: c.lower_cholesky, [TRIL.tolist(), (-TRIL).tolist()]),
    "correlations 2": (lambda c, T: c.corr_cholesky, [np.eye(2).tolist(), TRIL.tolist()]),
    "square": (lambda c, T: c.square, np.ones((3, 2, 2))),
    "not square": (lambda c, T: c.square, np.ones((3, 2, 4))),
    "symmetric": (lambda c, T: c.symmetric, [SPD.tolist(), np.arange(9.0).reshape(3, 3).tolist()]),
    "not symmetric": (lambda c, T: c.symmetric, np.ones((3, 2, 4))),
    "positive definite 2": (lambda c, T: c.positive_definite, [SPD.tolist(), (-SPD).tolist()]),
    "positive semidefinite 2": (lambda c, T: c.positive_semidefinite, [np.zeros((3, 3)).tolist(), (-SPD).tolist()]),
    "mixture": (lambda c, T: c.MixtureSameFamilyConstraint(c.simplex), [[0.5, 0.5], [1.0, 1.0]]),
    "nan": (lambda c, T: c.real, [math.nan, math.inf]),
    "independent of 2": (lambda c, T: c.independent(c.interval(0, 1), 2), [[[0.5, 0.2]], [[2.0, 0.2]]]),
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks_of_constraints(name: str) -> None:
    make, values = CHECKS[name]

    def program(T: Any) -> Any:
        c = make(T.distributions.constraints, T)
        return c.check(library_value(T, np.array(values, float))), repr(c), c.event_dim, c.is_discrete

    oracle.check(program)


def test_the_constraints_are_pytorchs() -> None:
    def program(T: Any) -> Any:
        c = T.distributions.constraints
        found = {name: getattr(c, name) for name in sorted(c.__all__)}
        return {
            name: value if isinstance(value, type) else "a function" if callable(value) else repr(value)
            for name, value in found.items()
        }

    oracle.check(program)


def test_dependent_constraints() -> None:
    def program(T: Any) -> Any:
        c = T.distributions.constraints
        assert c.is_dependent(c.dependent) and not c.is_dependent(c.real)
        assert c.is_dependent(T.distributions.Uniform.support) and T.distributions.Uniform.support.event_dim == 0
        assert not c.is_dependent(T.distributions.Uniform(0.0, 1.0).support)
        known = c.dependent(is_discrete=True, event_dim=2)
        for constraint in (c.independent(c.real, 2), c.MixtureSameFamilyConstraint(c.independent(c.real, 2))):
            with pytest.raises((ValueError, IndexError)):
                constraint.check(T.ones(1))
        return known.is_discrete, known.event_dim, known(event_dim=1).is_discrete

    assert oracle.check(program) == (True, 2, True)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda c, T: c.dependent.is_discrete, "cannot be determined statically"),
        (lambda c, T: c.dependent.event_dim, "cannot be determined statically"),
        (lambda c, T: c.dependent.check(T.ones(1)), "Cannot determine validity of dependent constraint"),
        (lambda c, T: c.independent(3, 1), "base_constraint must be a Constraint, got int"),
        (lambda c, T: c.independent(c.real, 1.0), "reinterpreted_batch_ndims must be an int, got float"),
        (lambda c, T: c.independent(c.real, -1), "reinterpreted_batch_ndims must be >= 0, got -1"),
        (lambda c, T: c.MixtureSameFamilyConstraint(3), "base_constraint must be a Constraint, got int"),
        (lambda c, T: c.cat([3]), "All elements of cseq must be Constraint instances"),
        (lambda c, T: c.cat([c.real], lengths=[1, 2]), "lengths (2) must match cseq (1)"),
        (lambda c, T: c.stack([c.real], 3).check(T.ones(1)), "dim 3 out of range for value with 1 dimensions"),
    ],
)
def test_misuse_of_constraints(wrong: Any, words: str) -> None:
    oracle.check_raises(lambda T: wrong(T.distributions.constraints, T), says=words)
