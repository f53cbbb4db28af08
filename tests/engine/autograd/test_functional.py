"""``autograd.functional`` beside PyTorch."""

from __future__ import annotations

import re

import pytest

from tests import oracle

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def inputs(T):
    return (
        T.tensor([[0.5, 2.0], [1.0, -1.0]], dtype=T.float64, requires_grad=True),
        T.tensor([1.5, 0.25], dtype=T.float64, requires_grad=True),
    )


CALLS = [
    lambda T, f, x, y: f.jacobian(lambda x: x.exp(), x),
    lambda T, f, x, y: f.jacobian(lambda x, y: (x * y, (x @ y).sum()), (x, y)),
    lambda T, f, x, y: f.jacobian(lambda x, y: (x * y).sum(), (x, y), create_graph=True),
    lambda T, f, x, y: f.jacobian(lambda x: T.ones(2, dtype=T.float64), x),
    lambda T, f, x, y: f.jacobian(lambda x, y: x * y, (x, y), vectorize=True),
    lambda T, f, x, y: f.jacobian(lambda x, y: (x * y, x.sum()), (x, y), vectorize=True, strategy="forward-mode"),
    lambda T, f, x, y: f.jacobian(lambda x: x * 2, x, strict=True),
    lambda T, f, x, y: f.hessian(lambda x: (x**3).sum(), x),
    lambda T, f, x, y: f.hessian(lambda x, y: (x @ y).sin().sum(), (x, y)),
    lambda T, f, x, y: f.hessian(lambda x, y: (x @ y).sin().sum(), (x, y), create_graph=True),
    lambda T, f, x, y: f.hessian(lambda x: x.sum(), x),
    lambda T, f, x, y: f.vjp(lambda x: x @ y, x, y),
    lambda T, f, x, y: f.vjp(lambda x, y: (x * y).sum(), (x, y)),
    lambda T, f, x, y: f.vjp(lambda x, y: (x * 2).sum(), (x, y)),
    lambda T, f, x, y: f.vjp(lambda x, y: (x * y, y), (x, y), (x, y), create_graph=True),
    lambda T, f, x, y: f.jvp(lambda x: x @ y, x, x),
    lambda T, f, x, y: f.jvp(lambda x, y: (x * y, y.exp()), (x, y), (x, y)),
    lambda T, f, x, y: f.jvp(lambda x, y: (x * y, y.exp()), (x, y), (x, y), create_graph=True),
    lambda T, f, x, y: f.hvp(lambda x, y: (x @ y).exp().sum(), (x, y), (x, y)),
    lambda T, f, x, y: f.vhp(lambda x, y: (x @ y).exp().sum(), (x, y), (x, y)),
    lambda T, f, x, y: f.vhp(lambda x: (x**3).sum(), x, x, create_graph=True),
    lambda T, f, x, y: f.hvp(lambda x: (x**3).sum(), x, x, create_graph=True),
]


@pytest.mark.parametrize("index", range(len(CALLS)))
def test_results(index):
    def program(T):
        found = CALLS[index](T, T.autograd.functional, *inputs(T))
        if index == 5:  # PyTorch returns lists here, and keeps a useless graph
            return [[t.detach() for t in row] for row in found]
        return found

    oracle.check(program)


MISUSES = [
    (
        lambda T, f, x: f.jacobian(lambda x: 3, x),
        "outputs of the user-provided function given to jacobian must be either",
    ),
    (lambda T, f, x: f.jacobian(lambda x: x, 3), "inputs given to jacobian must be either a Tensor or a tuple"),
    (lambda T, f, x: f.jacobian(lambda x: x, [x]), "inputs given to jacobian must be either a Tensor or a tuple"),
    (lambda T, f, x: f.jacobian(lambda *x: x[0], (x, 3)), "value at index 1 has type"),
    (lambda T, f, x: f.vjp(lambda x: x * 2, x), "The vector v can only be None if the user-provided function returns"),
    (lambda T, f, x: f.vjp(lambda x: x * 2, x, T.ones(3)), "v has invalid size: should be"),
    (lambda T, f, x: f.vjp(lambda x: x * 2, x, (T.ones(2), T.ones(2))), "given v should contain a single Tensor"),
    (lambda T, f, x: f.vjp(lambda x: (x, x), x, (T.ones(2),)), "v is a tuple of invalid length: should be 2 but got 1"),
    (lambda T, f, x: f.jvp(lambda x: x * 2, x), "The vector v can only be None if the input to"),
    (lambda T, f, x: f.jvp(lambda x: x * 2, x, T.ones(3)), "v has invalid size: should be"),
    (
        lambda T, f, x: f.jacobian(lambda x: T.ones(2), x, strict=True),
        "Output 0 of the user-provided function does not",
    ),
    (
        lambda T, f, x: f.jacobian(lambda x: T.ones(2, requires_grad=True) * 1, x, strict=True),
        "Output 0 of the user-provided function is independent of input 0",
    ),
    (
        lambda T, f, x: f.vjp(lambda x, y: x * 2, (x, x), T.ones(2), strict=True),
        "The output of the user-provided function is independent of input 1",
    ),
    (
        lambda T, f, x: f.jvp(lambda x: T.ones(2, requires_grad=True) * 1, x, T.ones(2), strict=True),
        "The output of the user-provided function is independent of input 0",
    ),
    (
        lambda T, f, x: f.jacobian(lambda x: x * 2, x, strict=True, create_graph=True),
        "jacobian of the user-provided function is independent of input 0",
    ),
    (lambda T, f, x: f.hessian(lambda x: x * 2, x), "given to hessian should contain a single element"),
    (lambda T, f, x: f.hessian(lambda x: (x.sum(), x.sum()), x), "given to hessian should return a single Tensor"),
    (
        lambda T, f, x: f.hessian(lambda x: x.sum(), x, strict=True),
        "jacobian of the user-provided function with respect",
    ),
    (lambda T, f, x: f.hvp(lambda x: x.sum(), x, T.ones(2), strict=True), "with respect to input 0 is independent"),
    (lambda T, f, x: f.vhp(lambda x: x.sum(), x, T.ones(2), strict=True), "with respect to input 0 is independent"),
    (lambda T, f, x: f.vhp(lambda x: x.sum(), x), "The vector v can only be None"),
    (lambda T, f, x: f.jacobian(lambda x: x, x, strict=True, vectorize=True), "are not supported together"),
    (lambda T, f, x: f.jacobian(lambda x: x, x, strategy="both"), 'Expected strategy to be either "forward-mode" or'),
    (lambda T, f, x: f.jacobian(lambda x: x, x, strategy="forward-mode"), "only implemented for `vectorize=True`"),
    (
        lambda T, f, x: f.jacobian(lambda x: x, x, strategy="forward-mode", vectorize=True, create_graph=True),
        "are not supported together",
    ),
    (
        lambda T, f, x: f.jacobian(lambda x: x, x, strategy="forward-mode", vectorize=True, strict=True),
        "are not supported together",
    ),
]


@pytest.mark.parametrize(("call", "message"), MISUSES)
def test_misuse(call, message):
    error = oracle.check_raises(lambda T: call(T, T.autograd.functional, T.ones(2, requires_grad=True)))
    assert re.search(message, str(error))
