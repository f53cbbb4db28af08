"""Test gradcheck and gradgradcheck: options, findings and reports."""

from __future__ import annotations

import pytest

import nbautograd as nb
from nbautograd.autograd.gradcheck import GradcheckError
from tests import oracle
from tests.engine.autograd.test_function import made

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def point(T, *shape, dtype=None):
    n = 1
    for length in shape:
        n *= length
    values = T.arange(1, n + 1, dtype=dtype or T.float64).reshape(shape) * 0.3
    return values.requires_grad_()


OPTIONS = [
    {},
    {"fast_mode": True},
    {"check_forward_ad": True},
    {"check_forward_ad": True, "check_backward_ad": False},
    {"check_forward_ad": True, "fast_mode": True},
    {"check_grad_dtypes": True, "nondet_tol": 1e-9},
    {"check_undefined_grad": False, "eps": 1e-5, "atol": 1e-4, "rtol": 1e-4},
]


@oracle.both
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_right_gradients_pass(T, options):
    assert T.autograd.gradcheck(lambda x, y: (x.sin() @ y, y.exp()), (point(T, 2, 3), point(T, 3)), **options)
    z = point(T, 2, dtype=T.float64).detach().to(T.complex128).requires_grad_()
    assert T.autograd.gradcheck(lambda z: (z * z.conj()).exp(), (z,), **options)


@oracle.both
@pytest.mark.parametrize(
    "options", [{}, {"fast_mode": True}, {"check_fwd_over_rev": True}, {"gen_non_contig_grad_outputs": True}], ids=str
)
def test_right_second_gradients_pass(T, options):
    assert T.autograd.gradgradcheck(lambda x, y: (x.sin() @ y, y.exp()), (point(T, 2, 3), point(T, 3)), **options)


@oracle.both
@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"raise_exception": False}], ids=str)
def test_wrong_gradients_do_not(T, options):
    wrong = made(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2.01)
    if "raise_exception" in options:
        assert T.autograd.gradcheck(wrong.apply, (point(T, 2),), **options) is False
        return
    with pytest.raises(RuntimeError, match=r"(?s)Jacobian.*numerical.*analytical"):
        T.autograd.gradcheck(wrong.apply, (point(T, 2),), **options)


@oracle.both
def test_wrong_tangents_do_not(T):
    wrong = made(
        T, lambda ctx, x: x * 2, lambda ctx, g: g * 2, jvp=lambda ctx, t: t * 2.01,
    )  # fmt: skip
    assert T.autograd.gradcheck(wrong.apply, (point(T, 2),))
    with pytest.raises(
        RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"
    ):
        T.autograd.gradcheck(wrong.apply, (point(T, 2),), check_forward_ad=True)


@oracle.both
def test_a_backward_that_is_not_repeatable(T):
    count = []
    wrong = made(T, lambda ctx, x: x * 2, lambda ctx, g: (count.append(1), g * (2 + 1e-7 * len(count)))[1])
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        T.autograd.gradcheck(wrong.apply, (point(T, 2),))
    assert T.autograd.gradcheck(wrong.apply, (point(T, 2),), nondet_tol=1e-3)


@oracle.both
def test_a_backward_that_does_not_multiply(T):
    wrong = made(T, lambda ctx, x: x * 1, lambda ctx, g: T.ones(2, dtype=T.float64) if not g.any() else g)
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        T.autograd.gradcheck(wrong.apply, (point(T, 2),))


@oracle.both
def test_an_output_without_gradient_that_depends_on_its_input(T):
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        T.autograd.gradcheck(lambda x: x.detach() * 2, (point(T, 2),))
    assert T.autograd.gradcheck(lambda x: T.ones(2, dtype=T.float64), (point(T, 2),))


@oracle.both
def test_inputs_that_will_not_do(T):
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        T.autograd.gradcheck(T.exp, (T.ones(2, dtype=T.float64),))
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        T.autograd.gradcheck(T.exp, (T.ones(1, dtype=T.float64).expand(2).requires_grad_(),))
    with pytest.warns(UserWarning, match="not a double precision floating point"):
        T.autograd.gradcheck(T.exp, (T.ones(2, requires_grad=True),), raise_exception=False)
    with pytest.raises(AssertionError):
        T.autograd.gradcheck(T.exp, (point(T, 2),), check_backward_ad=False)


def test_the_report():
    wrong = made(nb, lambda ctx, x: x * 2, lambda ctx, g: g * nb.tensor([2.0, 2.5], dtype=g.dtype))
    with pytest.raises(RuntimeError) as caught:
        nb.autograd.gradcheck(wrong.apply, (point(nb, 2),))
    text = str(caught.value)
    for part in (
        "output 0 with respect to input 0",
        "numerical:",
        "analytical:",
        "largest difference is 0.5",
        "row 1, column 1",
    ):
        assert part in text
    with pytest.raises(RuntimeError, match="finite differences need float64"), pytest.warns(UserWarning):
        nb.autograd.gradcheck(nb.exp, (nb.ones(2, requires_grad=True),))


@oracle.both
def test_the_former_functions(T):
    from importlib import import_module

    module = import_module(f"{T.__name__}.autograd.gradcheck")
    x = point(T, 2)
    (found,) = module.get_numerical_jacobian(lambda xs: xs[0] ** 2, (x,))
    computed, repeatable, _, _ = module.get_analytical_jacobian((x,), x**2)
    assert repeatable
    return found, computed


def test_gradcheck_finds_wrong_gradients():
    class Wrong(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2.01

    x = nb.tensor([1.0, 2.0], dtype=nb.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match=r"(?s)numerical:.*2\..*analytical:.*2\.01"):
        nb.autograd.gradcheck(Wrong.apply, (x,))
    assert nb.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False) is False
    with pytest.warns(UserWarning, match="not a double precision"):
        nb.autograd.gradcheck(nb.exp, (nb.tensor([1.0], requires_grad=True),), raise_exception=False)
