"""Derivatives that raise errors or are wrong in PyTorch, against finite differences."""

from __future__ import annotations

import pytest

import nbautograd as nb

CALLS = {
    "scatter of part of src": (lambda x, y: x.scatter(1, nb.tensor([[2, 0]]), y), (3, 3), (2, 3)),
    "scatter_add of part of src": (lambda x, y: x.scatter_add(1, nb.tensor([[2, 0]]), y), (3, 3), (2, 3)),
    "scatter add": (lambda x, y: x.scatter(0, nb.tensor([[0, 0]]), y, reduce="add"), (2, 2), (1, 2)),
    "scatter multiply": (lambda x, y: x.scatter(0, nb.tensor([[0, 0]]), y, reduce="multiply"), (2, 2), (1, 2)),
    "vander": (lambda x: nb.vander(x, 4), (3,)),
    "as_strided_scatter": (lambda x, y: nb.as_strided_scatter(x, y, (2, 2), (3, 1), 1), (2, 3), (2, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name):
    call, *shapes = CALLS[name]
    generator = nb.Generator()
    generator.manual_seed(0)
    inputs = [nb.randn(shape, generator=generator, dtype=nb.float64, requires_grad=True) for shape in shapes]
    assert nb.autograd.gradcheck(call, inputs)
    assert nb.autograd.gradgradcheck(call, inputs)
