"""``torch.func`` beside PyTorch."""

from __future__ import annotations

import pytest

from tests import oracle

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def f(x, y):
    return (x * y).sin().sum() + (x**3).sum()


CALLS = [
    lambda F, x, y: F.grad(f)(x, y),
    lambda F, x, y: F.grad(f, argnums=(0, 1))(x, y),
    lambda F, x, y: F.grad(f, argnums=-1)(x, y),
    lambda F, x, y: F.grad(lambda x: (x.exp().sum(), x), has_aux=True)(x),
    lambda F, x, y: F.grad_and_value(f)(x, y),
    lambda F, x, y: F.grad(lambda x: F.grad(f)(x, y).sum())(x),
    lambda F, x, y: F.grad(lambda x: F.grad(lambda x: F.grad(f)(x, y).sum())(x).sum())(x),
    lambda F, x, y: F.vjp(lambda x, y: x * y, x, y)[1](y * x),
    lambda F, x, y: F.vjp(lambda x: (x.sin(), x.sum()), x)[0],
    lambda F, x, y: F.jvp(lambda x, y: x * y, (x, y), (x, y)),
    lambda F, x, y: F.jvp(F.grad(lambda x: f(x, y)), (x,), (x,)),
    lambda F, x, y: F.jacrev(lambda x: (x * y, x.sum()))(x),
    lambda F, x, y: F.jacrev(lambda x, y: x * y, argnums=(0, 1))(x, y),
    lambda F, x, y: F.jacfwd(lambda x: x * y)(x),
    lambda F, x, y: F.jacfwd(lambda x, y: (x * y, y), argnums=(0, 1))(x, y),
    lambda F, x, y: F.hessian(f)(x, y),
    lambda F, x, y: F.hessian(f, argnums=(0, 1))(x, y),
    lambda F, x, y: F.jacrev(F.jacrev(lambda x: f(x, y)))(x),
    lambda F, x, y: F.jacrev(F.jacfwd(lambda x: f(x, y)))(x),
]


@pytest.mark.parametrize("index", range(len(CALLS)))
def test_results(index):
    def program(T):
        x = T.tensor([[0.5, 2.0], [1.0, -1.0]], dtype=T.float64)
        return CALLS[index](T.func, x, T.tensor([1.5, 0.25], dtype=T.float64))

    oracle.check(program)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda T, F: F.grad(lambda x: x)(T.ones(2)), "to return a scalar Tensor"),
        (lambda T, F: F.grad(lambda x: 3)(T.ones(2)), "to return a Tensor"),
        (lambda T, F: F.grad(lambda x: x.sum(), argnums=2)(T.ones(2)), "argnum"),
        (lambda T, F: F.jvp(T.sin, (T.ones(2),), ()), "primals and tangents"),
    ],
)
@oracle.both
def test_misuse(T, call, message):
    with pytest.raises(RuntimeError, match=message):
        call(T, T.func)
