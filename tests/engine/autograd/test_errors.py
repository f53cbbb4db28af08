"""Check learners' mistakes: PyTorch's exception type, its key words in the message, and nothing left half changed."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle


class WrongCount(nb.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g


def second_backward(T):
    x = T.tensor([2.0], requires_grad=True)
    y = x * x
    y.backward()
    y.backward()


def second_grad(T):
    x = T.tensor([2.0], requires_grad=True)
    y = x.exp()
    T.autograd.grad(y, x)
    T.autograd.grad(y, x)


def non_scalar(T):
    (T.ones(2, requires_grad=True) * 2).backward()


def wrong_gradient_shape(T):
    (T.ones(2, 2, requires_grad=True) * 2).backward(T.ones(3))


def no_graph(T):
    T.ones(1).backward()


def under_no_grad(T):
    x = T.ones(1, requires_grad=True)
    with T.no_grad():
        y = x * 2
    y.backward()


def in_place_on_leaf(T):
    T.ones(2, requires_grad=True).add_(1)


def augmented_leaf(T):
    x = T.ones(2, requires_grad=True)
    x += 1


def in_place_on_view_of_leaf(T):
    T.ones(2, requires_grad=True)[0] = 5.0


def saved_then_changed(T):
    x = T.ones(2, requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    z.sum().backward()


def saved_result_changed(T):
    x = T.ones(2, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


def saved_scalar_changed(T):
    x = T.tensor(2.0, requires_grad=True)
    y = x * 1
    z = y**2
    y += 1
    z.backward()


def saved_view_changed(T):
    x = T.ones(2, 2, requires_grad=True)
    y = x * 2
    z = y * y
    y[0].zero_()
    z.sum().backward()


def saved_detached_changed(T):
    x = T.ones(2, requires_grad=True)
    z = x * x
    x.detach().add_(1)
    z.sum().backward()


def expanded_written(T):
    T.ones(1).expand(3).add_(1)


def integer_requires_grad(T):
    T.tensor([1, 2], requires_grad=True)


def integer_requires_grad_later(T):
    T.tensor([1, 2]).requires_grad_()


def unset_on_computed(T):
    (T.ones(1, requires_grad=True) * 2).requires_grad_(False)


def numpy_of_graph(T):
    T.ones(2, requires_grad=True).numpy()


def unused_input(T):
    x, y = (T.ones(1, requires_grad=True) for _ in range(2))
    T.autograd.grad(x * 2, y)


def input_without_grad(T):
    x = T.ones(1, requires_grad=True)
    T.autograd.grad(x * 2, T.ones(1))


def too_few_gradients(T):
    x = T.ones(2, requires_grad=True)
    T.autograd.backward([x * 2, x * 3], [T.ones(2)])


def out_with_grad(T):
    T.add(T.ones(2, requires_grad=True), 1, out=T.empty(2))


def retain_grad_without(T):
    T.ones(2).retain_grad()


def hook_without(T):
    T.ones(2).register_hook(print)


def grad_of_other_shape(T):
    T.ones(2, requires_grad=True).grad = T.ones(3)


def grad_of_no_tensor(T):
    T.ones(2, requires_grad=True).grad = 5


def item_of_many(T):
    T.ones(2).item()


def bool_of_many(T):
    bool(T.ones(2))


def deepcopy_of_computed(T):
    import copy

    copy.deepcopy(T.ones(2, requires_grad=True) * 2)


def empty_inputs(T):
    (T.ones(1, requires_grad=True) * 2).backward(inputs=[])


MISUSES = [
    (second_backward, "Trying to backward through the graph a second time.*retain_graph=True"),
    (second_grad, "Trying to backward through the graph a second time.*retain_graph=True"),
    (non_scalar, "grad can be implicitly created only for scalar outputs"),
    (
        wrong_gradient_shape,
        r"Mismatch in shape: grad_.*\[0\] has a shape of torch.Size\(\[3\]\).*torch.Size\(\[2, 2\]\)",
    ),
    (no_graph, "element 0 of tensors does not require grad and does not have a grad_fn"),
    (under_no_grad, "element 0 of tensors does not require grad and does not have a grad_fn"),
    (in_place_on_leaf, "a leaf Variable that requires grad is being used in an in-place operation"),
    (augmented_leaf, "a leaf Variable that requires grad is being used in an in-place operation"),
    (in_place_on_view_of_leaf, "a view of a leaf Variable that requires grad is being used in an in-place operation"),
    (saved_then_changed, r"modified by an inplace operation.*version 1; expected version 0"),
    (saved_result_changed, r"modified by an inplace operation.*version 1; expected version 0"),
    (saved_scalar_changed, r"modified by an inplace operation.*version 1; expected version 0"),
    (saved_view_changed, r"modified by an inplace operation.*version 1; expected version 0"),
    (saved_detached_changed, r"modified by an inplace operation.*version 1; expected version 0"),
    (expanded_written, "more than one element of the written-to tensor refers to a single memory location"),
    (integer_requires_grad, "(?i)only Tensors of floating point and complex dtype can require gradients"),
    (integer_requires_grad_later, "only Tensors of floating point .*dtype can require gradients"),
    (unset_on_computed, "you can only change requires_grad flags of leaf variables"),
    (numpy_of_graph, "Can't call numpy\\(\\) on Tensor that requires grad"),
    (unused_input, "appears to not have been used in the graph"),
    (input_without_grad, "does not require grad"),
    (too_few_gradients, "got 2 tensors and 1 gradients"),
    (out_with_grad, "out=... arguments don't support automatic differentiation"),
    (retain_grad_without, "can't retain_grad on Tensor that has requires_grad=False"),
    (hook_without, "cannot register a hook on a tensor that doesn't require gradient"),
    (grad_of_other_shape, "attempting to assign a gradient of size .*3.* to a tensor of size .*2"),
    (grad_of_no_tensor, "assigned grad expected to be a Tensor or None"),
    (item_of_many, "cannot be converted to Scalar"),
    (bool_of_many, "Boolean value of Tensor with more than one value is ambiguous"),
    (deepcopy_of_computed, "Only Tensors created explicitly by the user"),
    (empty_inputs, "cannot be empty"),
]


@oracle.both
@pytest.mark.parametrize(("misuse", "message"), MISUSES, ids=lambda value: getattr(value, "__name__", ""))
def test_message(T, misuse, message):
    with pytest.raises(Exception) as caught:
        misuse(T)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)
    return caught.value  # which compares the types


EXPRESSIONS = [
    (
        "T.ones(3) + T.ones(4)",
        "The size of tensor a \\(3\\) must match the size of tensor b \\(4\\) at non-singleton dimension 0",
    ),
    ("T.mm(T.ones(2, 3), T.ones(2, 3))", "mat1 and mat2 shapes cannot be multiplied \\(2x3 and 2x3\\)"),
    ("T.mm(T.ones(2), T.ones(2, 3))", "must be a matrix"),
    ("T.ones(2) @ T.ones(3)", "inconsistent tensor size"),
    ("T.ones(2, 3)[5]", "index 5 is out of bounds for dimension 0 with size 2"),
    ("T.ones(2, 3)[0, 0, 0]", "too many indices for tensor of dimension 2"),
    ("T.ones(2, 3)[T.tensor([5])]", "index 5 is out of bounds for dimension 0 with size 2"),
    ("T.ones(2, 3)[T.tensor([0.5])]", "tensors used as indices must be"),
    ("T.ones(2, 3)[::-1]", "step must be greater than zero"),
    ("T.ones(2, 3).sum(5)", "Dimension out of range"),
    ("T.ones(2, 3).transpose(0, 5)", "Dimension out of range"),
    ("T.ones(2, 3).permute(0)", "number of dimensions in the tensor input does not match"),
    ("T.ones(2, 3).view(7)", "shape '\\[7\\]' is invalid for input of size 6"),
    ("T.ones(2, 3).t().view(6)", "view size is not compatible with input tensor's size and stride"),
    ("T.ones(2, 3).expand(2, 4)", "must match the existing size"),
    ("T.cat([T.ones(2, 3), T.ones(2, 2)])", "Sizes of tensors must match except in dimension 0"),
    ("T.stack([T.ones(2), T.ones(3)])", "stack expects each tensor to be equal size"),
    ("T.mean(T.tensor([1, 2]))", "could not infer output dtype"),
    ("T.tensor([[1, 2], [3]])", "expected sequence of length 2 at dim 1 \\(got 1\\)"),
    ("T.tensor('a')", "invalid data type 'str'"),
    ("T.ones(2, dtype='a')", "must be torch.dtype, not str"),
    ("T.zeros(-1)", "negative"),
    ("T.eye(-1)", "must be greater or equal to 0"),
    ("T.arange(0, 5, -1)", "upper bound and lower bound inconsistent with step sign"),
    ("T.linspace(0, 1, -1)", "number of steps must be non-negative"),
    ("T.mul(T.ones(2), 'a')", "argument 'other' \\(position 2\\) must be Tensor, not str"),
    ("T.exp(2)", "argument 'input' \\(position 1\\) must be Tensor, not int"),
    ("T.ones(2) + 'a'", "unsupported operand"),
    ("T.tensor([1, 2]).add_(1.5)", "can't be cast to the desired output type"),
    ("T.ones(3).add_(T.ones(2, 3))", "doesn't match the broadcast shape"),
    ("T.from_numpy([1])", "expected np.ndarray"),
    ("T.nn.functional.conv2d(T.ones(1, 2, 4, 4), T.ones(1, 3, 2, 2))", "to have 3 channels, but got 2 channels"),
    (
        "T.nn.functional.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 3, 3))",
        "Kernel size can't be greater than actual input size",
    ),
    ("T.nn.functional.mse_loss(T.ones(2), T.ones(2), reduction='avg')", "avg is not a valid value for reduction"),
    ("T.einsum('ij,jk', T.ones(2, 3))", "operands were provided than specified"),
    ("T.einsum('ij', T.ones(3))", "does not match the number of dimensions"),
    ("T.zeros(3).scatter_(0, T.tensor([5]), T.ones(1))", "index 5 is out of bounds for dimension 0 with size 3"),
    ("T.gather(T.ones(2, 2), 0, T.tensor([0]))", "same number of dimensions"),
    ("T.clamp(T.ones(2))", "At least one of 'min' or 'max' must not be None"),
    ("T.randint(5, 5, (2,))", "from=5 >= to=5|'from' to be less than 'to'"),
    ("len(T.tensor(1.))", "len\\(\\) of a 0-d tensor"),
    ("iter(T.tensor(1.))", "iteration over a 0-d tensor"),
    ("int(T.ones(2))", "converted|Scalar"),
    ("T.ones(2).to('nowhere')", "nowhere"),
    ("T.set_default_dtype(T.int64)", "floating"),
]


@pytest.mark.parametrize(("expression", "message"), EXPRESSIONS)
def test_message_of_an_expression(expression, message):
    error = oracle.check_raises(lambda T: eval(expression, {"T": T}))
    assert re.search(message, str(error)), str(error)


def leaf(T, *shape):
    return T.ones(*(shape or (2,)), requires_grad=True)


MORE = [
    (lambda T: leaf(T, 2, 2).mul(1).unbind(0)[0].add_(1), "is a view and is being modified inplace.*multiple views"),
    (lambda T: leaf(T, 4).mul(1).split(2)[1].zero_(), "is a view and is being modified inplace.*multiple views"),
    (lambda T: leaf(T, 4).mul(1).chunk(2)[1].__setitem__(0, 1.0), "multiple views"),
    (lambda T: leaf(T).view(2).add_(1), "a view of a leaf Variable that requires grad is being used in an in-place"),
    (
        lambda T: leaf(T).mul(1)[:1].expand(3).add_(1),
        "more than one element of the written-to tensor refers to a single",
    ),
    (lambda T: leaf(T).mul(1)[:].detach_(), "Can't detach views in-place"),
    (lambda T: leaf(T).requires_grad_(None), "requires_grad"),
    (lambda T: setattr(leaf(T), "requires_grad", 3), "requires_grad"),
    (lambda T: setattr(leaf(T), "data", 3), "Variable data has to be a tensor"),
    (lambda T: setattr(leaf(T), "grad", T.ones(2).double()), "dtype|type"),
    (lambda T: T.autograd.grad(leaf(T).sum(), leaf(T), grad_outputs=3), "iterable|Tensors or None|sequence"),
    (lambda T: T.autograd.grad(leaf(T) * 2, leaf(T)), "grad can be implicitly created only for scalar outputs"),
    (lambda T: T.autograd.grad(leaf(T).sum(), 3), ""),
    (lambda T: T.autograd.grad(3, leaf(T)), ""),
    (
        lambda T: T.autograd.grad(leaf(T).sum(), leaf(T), allow_unused=False, materialize_grads=True),
        "Expected allow_unused to be True or not passed when materialize_grads=True",
    ),
    (lambda T: T.autograd.backward(leaf(T).sum(), 3), ""),
    (
        lambda T: T.autograd.backward(leaf(T).sum(), T.ones(()), grad_variables=T.ones(())),
        "both passed to .?backward",
    ),
    (lambda T: leaf(T).sum().backward(inputs=T.ones(2)), "require"),
    (lambda T: leaf(T).sum().backward(inputs=[3]), ""),
    (lambda T: (leaf(T) * (1 + 1j)).sum().backward(), "grad can be implicitly created only for real scalar outputs"),
    (lambda T: leaf(T).mul(1).backward(T.ones(2, dtype=T.complex64)), "For complex Tensors, both"),
    (lambda T: leaf(T).backward(T.ones(2, 1)), "Mismatch in shape"),
    (lambda T: (leaf(T) > 0).sum().backward(), "does not require grad and does not have a grad_fn"),
    (lambda T: leaf(T).argmax().backward(), "does not require grad and does not have a grad_fn"),
    (lambda T: leaf(T).long().requires_grad_(), "only Tensors of floating point .*dtype can require gradients"),
    (lambda T: T.set_grad_enabled(), "missing 1 required positional argument"),
    (lambda T: T.autograd.Function.apply(leaf(T)), "You must implement the forward function"),
    (lambda T: leaf(T).retain_grad().backward(), "NoneType"),
    (lambda T: leaf(T).grad.zero_(), "NoneType"),
    (lambda T: T.autograd.functional.hessian(lambda x: x, leaf(T)), "should contain a single element"),
    (lambda T: T.tensor(leaf(T) * 2).backward(), ""),
    (lambda T: leaf(T).mul(1).tolist().backward(), "'list' object has no attribute 'backward'"),
    (lambda T: T.from_numpy(leaf(T).mul(2).numpy()), "Can't call numpy\\(\\) on Tensor that requires grad"),
    (lambda T: leaf(T).copy_(T.ones(2)), "a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda T: leaf(T).zero_(), "a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda T: leaf(T).__setitem__(0, 1.0), "a view of a leaf Variable|a leaf Variable that requires grad"),
]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@oracle.both
@pytest.mark.parametrize(("call", "message"), MORE)
def test_more_messages(T, call, message):
    with pytest.raises(Exception) as caught:
        call(T)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)
    return caught.value


def test_a_function_that_returns_the_wrong_number_of_gradients():
    x, y = (nb.ones(2, requires_grad=True) for _ in range(2))
    out = WrongCount.apply(x, y).sum()
    with pytest.raises(RuntimeError, match="returned an incorrect number of gradients \\(expected 2, got 1\\)"):
        out.backward()
    assert x.grad is None and y.grad is None


def test_a_failed_pass_accumulates_nothing():
    x = nb.ones(2, requires_grad=True)
    w = nb.ones(2, requires_grad=True)
    y = x.exp()
    out = (w * 3).sum() + (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="inplace operation"):
        out.backward()
    assert x.grad is None and w.grad is None
    assert nb.is_grad_enabled()


def test_a_failed_write_changes_nothing():
    x = nb.arange(3.0)
    for call in (lambda: x.add_(nb.ones(2, 3)), lambda: x.__setitem__(0, nb.ones(2)), lambda: nb.add(x, "a", out=x)):
        with pytest.raises((RuntimeError, TypeError)):
            call()
    np.testing.assert_array_equal(x.numpy(), [0, 1, 2])
    assert x._version == 0


def test_data_is_not_watched():
    x = nb.ones(2, requires_grad=True)
    z = x * x
    x.data.add_(5)
    assert x._version == 0
    z.sum().backward()  # computed with the new values, silently, as in PyTorch
    np.testing.assert_array_equal(x.grad.numpy(), [12, 12])


def test_no_numpy_warning_leaks():
    x = nb.tensor([1e38, 0.0, -1.0], requires_grad=True)
    y = (x * 1e38).log() / 0 + x.sqrt() + nb.tensor(1e38) * nb.tensor(1e38)
    y.sum().backward()
    assert np.isnan(y.detach().numpy()).any()


@pytest.mark.parametrize(
    "call",
    [
        lambda: nb.rand(2, layout="sparse"),
        lambda: nb.zeros(2, layout="sparse"),
        lambda: nb.zeros_like(nb.ones(2), fill=3),
        lambda: nb.full_like(nb.ones(2), fill=3),
        lambda: nb.rand_like(nb.ones(2), memory_format="channels_last"),
        lambda: nb.ones(2).clone(memory_format="channels_last"),
        lambda: nb.ones(2, sharing=True),
        lambda: nb.ones(2, pin_memory=True),
        lambda: nb.ones(2).to(memory="shared"),
        lambda: nb.autograd.grad(nb.ones(1, requires_grad=True) * 2, nb.ones(1), is_grads_batched=True),
    ],
)
def test_what_is_not_supported_raises(call):
    with pytest.raises((NotImplementedError, TypeError, RuntimeError)):
        call()
