"""Check errors' types, and PyTorch's own words in their messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.differences.both import agrees, compare

Call = Callable[[Any], Any]


def integers(torch: Any, *shape: int) -> Any:
    return torch.ones(*shape, dtype=torch.int64)


def doubles(torch: Any, *shape: int) -> Any:
    return torch.ones(*shape, dtype=torch.float64)


def true(torch: Any) -> Any:
    return torch.tensor([True])


TWO_BOOLS = "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()`"
A_BOOL = "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use"
NEGATION = "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use"
MISMATCH = "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}"
CAST = "result type {} can't be cast to the desired output type {}"
PRODUCT = "expected m1 and m2 to have the same dtype, but got: {} != {}"

CALLS: list[tuple[str, Call]] = [
    # names of dtypes
    (CAST.format("Float", "Long"), lambda T: integers(T, 2).add_(1.5)),
    (CAST.format("Float", "Long"), lambda T: integers(T, 2).mul_(T.ones(2))),
    (CAST.format("Float", "Long"), lambda T: integers(T, 2).div_(2)),
    (CAST.format("Float", "Int"), lambda T: T.ones(2).int().sigmoid_()),
    (CAST.format("Long", "Bool"), lambda T: true(T).add_(1)),
    (CAST.format("ComplexFloat", "Float"), lambda T: T.ones(2).add_(1j)),
    (CAST.format("Float", "Long"), lambda T: T.add(T.ones(2), T.ones(2), out=integers(T, 2))),
    ("Input dtype must be either a floating point or complex dtype. Got: Long", lambda T: integers(T, 2).mean()),
    ("Input dtype must be either a floating point or complex dtype. Got: Bool", lambda T: true(T).mean(0)),
    ("Expected a floating point or complex tensor as input. Got Long", lambda T: integers(T, 2).norm()),
    ("not implemented for 'Long'", lambda T: integers(T, 2).softmax(0)),
    ("not implemented for 'Float'", lambda T: T.bincount(T.ones(2))),
    (PRODUCT.format("double", "float"), lambda T: doubles(T, 2, 2) @ T.ones(2, 2)),
    (PRODUCT.format("float", "long int"), lambda T: T.mm(T.ones(2, 2), integers(T, 2, 2))),
    ("expected both vectors to have same dtype, but found Float and Long", lambda T: T.ones(2).dot(integers(T, 2))),
    ("expected scalar type Float but found Double", lambda T: T.ones(2, 2, 2) @ doubles(T, 2, 2, 2)),
    ("expected scalar type Float but found Double", lambda T: T.cdist(T.ones(2, 2), doubles(T, 2, 2))),
    ("mat1 and mat2 must have the same dtype, but got Double and Float", lambda T: T.nn.Linear(2, 2)(doubles(T, 2, 2))),
    (
        "Input type (double) and bias type (float) should be the same",
        lambda T: T.nn.Conv2d(1, 1, 1)(doubles(T, 1, 1, 2, 2)),
    ),
    ("expected dtype float for `end` but got dtype double", lambda T: T.ones(2).lerp(doubles(T, 2), 0.5)),
    (
        "expected target dtype to be Long or Byte, but got Float",
        lambda T: T.nn.functional.cross_entropy(T.ones(2, 3), T.ones(2)),
    ),
    (
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        "torch.FloatTensor instead",
        lambda T: T.nn.functional.embedding(T.ones(1), T.ones(2, 2)),
    ),
    (
        "masked_fill_ only supports boolean masks, but got mask with dtype float",
        lambda T: T.ones(2).masked_fill(T.ones(2), 1),
    ),
    ("masked_select: expected BoolTensor for mask", lambda T: T.ones(2).masked_select(T.ones(2))),
    (
        "multinomial only supports floating-point dtypes for input, got: Long",
        lambda T: T.multinomial(integers(T, 2), 1),
    ),
    ("but got a tensor of scalar type: Long", lambda T: T.view_as_complex(integers(T, 2, 2))),
    (
        "self (Float) and source (Double) must have the same scalar type",
        lambda T: T.ones(2).index_add(0, T.tensor([0]), doubles(T, 1)),
    ),
    ("dtype Long does not match dtype of out parameter (Float)", lambda T: T.ones(2, dtype=T.int64, out=T.ones(2))),
    (
        "dtype Double does not match dtype of out parameter (Float)",
        lambda T: T.randn(2, dtype=T.float64, out=T.ones(2)),
    ),
    ("for count, got: Long", lambda T: T.binomial(integers(T, 2), T.ones(2))),
    ("dtype must be a floating point but you specified Long", lambda T: integers(T, 2).exponential_()),
    ("dtype must be a floating point but you specified long int", lambda T: integers(T, 2).cauchy_()),
    ("not implemented for 'Long'", lambda T: T.randn(2, dtype=T.int64)),
    ("not implemented for 'Long'", lambda T: T.histc(integers(T, 2))),
    ("not implemented for 'Long'", lambda T: integers(T, 2).logcumsumexp(0)),
    ("expected input to have floating point or complex dtype but got Long", lambda T: integers(T, 2).nanmean()),
    (
        "expected fweights to have integral dtype but got fweights with Float dtype",
        lambda T: T.cov(T.ones(2, 2), fweights=T.ones(2)),
    ),
    (
        "sorter must be a tensor of long dtype but got dtype Float",
        lambda T: T.searchsorted(T.ones(2), T.ones(2), sorter=T.ones(2)),
    ),
    (
        "where expected condition to be a boolean tensor, but got a tensor with dtype Float",
        lambda T: T.where(T.ones(2), 1, 2),
    ),
    (
        "expected scalar type Float but found Double",
        lambda T: T.nn.functional.nll_loss(T.ones(2, 2), integers(T, 2), doubles(T, 2)),
    ),
    (
        "expected scalar type Float but found Double",
        lambda T: T.nn.functional.grid_sample(T.ones(1, 1, 2, 2), doubles(T, 1, 1, 1, 2), align_corners=False),
    ),
    (
        "but got query.dtype: float key.dtype: double and value.dtype: float instead.",
        lambda T: T.nn.functional.scaled_dot_product_attention(T.ones(1, 2, 2), doubles(T, 1, 2, 2), T.ones(1, 2, 2)),
    ),
    (
        "Found dtype Double but expected Float",
        lambda T: T.nn.functional.binary_cross_entropy(T.ones(2), doubles(T, 2)),
    ),
    (
        "mixed dtype (CPU): expect parameter to have scalar type of Float",
        lambda T: T.nn.functional.layer_norm(T.ones(2, 2), (2,), doubles(T, 2)),
    ),
    (
        "but got self.dtype = Float and source.dtype = Double",
        lambda T: T.ones(2).put_(T.tensor([0]), doubles(T, 1)),
    ),
    ("both inputs should have same dtype", lambda T: T.tensordot(T.ones(2, 2), doubles(T, 2, 2))),
    ("dot : expected both vectors to have same dtype, but found Float and", lambda T: T.vdot(T.ones(3), doubles(T, 3))),
    ("Unsupported dtype Half", lambda T: T.fft.fft(T.ones(4).half())),
    (
        "RNN input dtype (torch.float64) does not match weight dtype (torch.float32).",
        lambda T: T.nn.LSTM(2, 2)(doubles(T, 1, 1, 2)),
    ),
    ("~ (operator.invert) is only implemented on integer and Boolean-type tensors", lambda T: ~T.ones(1)),
    # shapes
    (MISMATCH.format(3, 2, 1), lambda T: T.ones(2, 3) * T.ones(3, 2)),
    (MISMATCH.format(3, 2, 1), lambda T: T.ones(2, 3) + T.ones(2)),
    (MISMATCH.format(4, 3, 2), lambda T: T.ones(2, 3, 4) + T.ones(5, 1, 3)),
    (MISMATCH.format(2, 3, 0), lambda T: T.ones(2).add_(T.ones(3))),
    (MISMATCH.format(2, 3, 0), lambda T: T.ones(2).copy_(T.ones(3))),
    (MISMATCH.format(2, 3, 0), lambda T: T.ones(2) == T.ones(3)),
    (MISMATCH.format(2, 3, 0), lambda T: T.where(T.ones(2) > 0, T.ones(3), T.ones(2))),
    (MISMATCH.format(2, 3, 0), lambda T: T.lerp(T.ones(2), T.ones(3), T.ones(2))),
    (MISMATCH.format(2, 3, 0), lambda T: T.broadcast_tensors(T.ones(2), T.ones(3))),
    (MISMATCH.format(2, 3, 0), lambda T: T.nn.functional.mse_loss(T.ones(2), T.ones(3))),
    (MISMATCH.format(2, 3, 1), lambda T: T.ones(4, 2, 2, 3) @ T.ones(3, 3, 2)),
    ("output with shape [2] doesn't match the broadcast shape [3, 2]", lambda T: T.ones(2).add_(T.ones(3, 2))),
    (
        "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.",
        lambda T: T.ones(2, 3)[0].__setitem__(slice(None), T.ones(2)),
    ),
    (
        "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 2].",
        lambda T: T.ones(2, 2, 3) @ T.ones(2, 2, 2),
    ),
    ("mat1 and mat2 shapes cannot be multiplied (4x3 and 2x3)", lambda T: T.ones(2, 2, 3) @ T.ones(2, 3)),
    ("size mismatch, got input (2), mat (2x3), vec (2)", lambda T: T.ones(2, 3) @ T.ones(2)),
    ("inconsistent tensor size, expected tensor [3] and src [2]", lambda T: T.ones(3) @ T.ones(2)),
    # bools
    (TWO_BOOLS, lambda T: true(T) - true(T)),
    (TWO_BOOLS, lambda T: true(T) - True),
    (TWO_BOOLS, lambda T: True - true(T)),
    (TWO_BOOLS, lambda T: true(T).sub_(true(T))),
    (A_BOOL, lambda T: true(T) - 1),
    (A_BOOL, lambda T: T.sub(T.tensor([1]), true(T))),
    (A_BOOL, lambda T: T.rsub(true(T), 1)),
    (NEGATION, lambda T: -true(T)),
    (NEGATION, lambda T: T.negative(true(T))),
    (NEGATION, lambda T: true(T).neg_()),
    ("The `+` operator, on a bool tensor is not supported.", lambda T: +true(T)),
]


@pytest.mark.parametrize(("says", "call"), CALLS, ids=[f"{i}: {says[:40]}" for i, (says, _) in enumerate(CALLS)])
def test_the_same_words(says: str, call: Call) -> None:
    compare(call, says)


def computed(torch: Any) -> tuple[Any, Any]:
    x = torch.ones(2, requires_grad=True)
    return x, x * 2


@agrees(says="gradients can be either Tensors or None, but got float")
def test_a_list_as_a_gradient(torch: Any) -> Any:
    computed(torch)[1].backward([1.0, 1.0])


@agrees(says="gradients can be either Tensors or None, but got")
def test_an_array_as_a_gradient(torch: Any) -> Any:
    computed(torch)[1].backward(np.ones(2))


@agrees(says="gradients can be either Tensors or None, but got float")
def test_a_number_as_a_gradient_of_grad(torch: Any) -> Any:
    x, y = computed(torch)
    return torch.autograd.grad(y, x, [1.0])


@agrees(says="grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2])")
def test_a_gradient_of_another_shape(torch: Any) -> Any:
    computed(torch)[1].backward(torch.ones(3))


@agrees(says="grad_output[0] has a shape of torch.Size([2, 1])")
def test_a_gradient_of_another_shape_to_grad(torch: Any) -> Any:
    x, y = computed(torch)
    return torch.autograd.grad(y, x, torch.ones(2, 1))


@agrees(says="grad can be implicitly created only for scalar outputs")
def test_backward_of_several_elements(torch: Any) -> Any:
    computed(torch)[1].backward()


@agrees(says="element 0 of tensors does not require grad and does not have a grad_fn")
def test_backward_of_what_does_not_require_grad(torch: Any) -> Any:
    torch.ones(2).sum().backward()


@agrees
def test_grad_of_nothing(torch: Any) -> Any:
    x, _ = computed(torch)
    return torch.autograd.grad(x.sum(), [])
