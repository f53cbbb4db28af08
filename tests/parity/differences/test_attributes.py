"""Attributes of tensors, and constructors of PyTorch's early days."""

from __future__ import annotations

import contextlib
import contextvars
import math
from typing import Any

import numpy as np
import pytest

from tests import oracle
from tests.parity.differences.both import agrees, differs


def messages(library: Any, programs: Any) -> list[str]:
    """The exception of each program, and the words of its message up to the first punctuation."""
    lines = []
    for program in programs:
        with pytest.raises(Exception) as caught:
            program()
        kind = next(cls for cls in type(caught.value).__mro__ if cls.__module__ == "builtins")
        lines.append(kind.__name__)
    return lines


@agrees
def test_variable(torch: Any) -> Any:
    t = torch.ones(2)
    leaf = torch.autograd.Variable(t, requires_grad=True)
    plain = torch.autograd.Variable(t * 2)
    (leaf * 3).sum().backward()
    return [leaf.requires_grad, t.requires_grad, leaf.data_ptr() == t.data_ptr(), leaf.is_leaf, leaf.grad, plain]


@agrees
def test_variable_of_nothing_and_of_a_parameter(torch: Any) -> Any:
    Variable = torch.autograd.Variable
    return [Variable(), Variable(None), Variable(data=torch.nn.Parameter(torch.ones(1))).requires_grad]


@agrees
def test_variable_is_no_tensor_but_tensors_are_variables(torch: Any) -> Any:
    Variable = torch.autograd.Variable
    return [
        Variable is torch.Tensor,
        isinstance(torch.ones(1), Variable),
        isinstance(torch.nn.Parameter(torch.ones(1)), Variable),
        isinstance(1.0, Variable),
        Variable.__module__.endswith("autograd.variable"),
    ]


@agrees(says="Variable data has to be a tensor, but got float")
def test_variable_of_a_number(torch: Any) -> Any:
    return torch.autograd.Variable(5.0)


@agrees(says="Variable data has to be a tensor, but got list")
def test_variable_of_a_list(torch: Any) -> Any:
    return torch.autograd.Variable([1.0])


@agrees
def test_volatile_warns(torch: Any) -> Any:
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        return torch.autograd.Variable(torch.ones(1), volatile=True).requires_grad


@agrees(says="Variable can't be volatile and require_grad at the same time!")
def test_volatile_that_requires_grad(torch: Any) -> Any:
    return torch.autograd.Variable(torch.ones(1), requires_grad=True, volatile=True)


@agrees
def test_new(torch: Any) -> Any:
    t, n, other = torch.ones(2, dtype=torch.float64), torch.ones(1, dtype=torch.int64), torch.ones(3).double()
    return [
        (t.new(3).shape, t.new(2, 3).dtype, t.new().shape, t.new(torch.Size([2, 1])).shape),
        (t.new([1, 2]), t.new((2, 3)), t.new(np.ones(2, "float32")), n.new([1.7, 2]), t.new(data=[1])),
        (torch.ones(1).bool().new([0, 2]), torch.ones(1, dtype=torch.complex64).new([1j])),
        (t.new(other).data_ptr() == other.data_ptr(), t.new(other) is other),
        (torch.ones(1, requires_grad=True).new([1]).requires_grad, type(torch.nn.Parameter(t).new([1])).__name__),
        t.new([1], device="cpu"),
    ]


@agrees
def test_what_new_refuses(torch: Any) -> Any:
    t = torch.ones(2)
    return messages(
        torch,
        [
            lambda: t.new(5.0),
            lambda: t.new("a"),
            lambda: t.new(None),
            lambda: t.new(True),
            lambda: t.new(-1),
            lambda: t.new(2.5, 3),
            lambda: t.new(torch.ones(2).double()),
            lambda: t.new([[1, 2], [3]]),
            lambda: t.new(requires_grad=True),
            lambda: torch.ones(1, dtype=torch.uint8).new([300]),
        ],
    )


@agrees
def test_tensor_types_as_constructors(torch: Any) -> Any:
    refused = [
        lambda: torch.Tensor(5.0),
        lambda: torch.Tensor(None),
        lambda: torch.Tensor("a"),
        lambda: torch.Tensor(True),
        lambda: torch.Tensor({1: 2}),
        lambda: torch.Tensor([[1, 2], [3]]),
        lambda: torch.Tensor([1.0], requires_grad=True),
        lambda: torch.LongTensor(torch.ones(1)),
        lambda: torch.FloatTensor(2.5),
    ]
    return [
        torch.Tensor(data=[1.0]),
        torch.Tensor(np.int64(3)).shape,
        torch.Tensor(torch.tensor([1])),
        torch.FloatTensor(torch.Size([2])).shape,
        torch.Tensor(range(3)),
        messages(torch, refused),
    ]


@agrees(says="new(): data must be a sequence (got float)")
def test_new_of_a_float(torch: Any) -> Any:
    return torch.ones(1).new(5.0)


@agrees
def test_numpy_where_nothing_is_recorded(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        shared = x.numpy()
        means = float(np.mean(np.asarray(y)))
    with torch.inference_mode():
        inside = y.numpy().tolist()
    shared[0] = 5
    return [means, inside, x.tolist()]


@agrees(says="Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
def test_numpy_of_what_requires_grad(torch: Any) -> Any:
    return np.asarray(torch.ones(2, requires_grad=True))


@agrees(says="Can't export tensors that require gradient")
def test_dlpack_of_what_requires_grad_without_recording(torch: Any) -> Any:
    with torch.no_grad():
        return np.from_dlpack(torch.ones(2, requires_grad=True))


@agrees(says="Deleting tensor data is not allowed. Delete tensor instead!")
def test_data_cannot_be_deleted(torch: Any) -> Any:
    del torch.ones(1).data


@agrees(says="requires_grad must be a bool")
def test_requires_grad_cannot_be_deleted(torch: Any) -> Any:
    del torch.ones(1).requires_grad


@agrees
def test_other_attributes_cannot_be_deleted(torch: Any) -> Any:
    t = torch.ones(1)
    names = ("shape", "dtype", "grad_fn", "is_leaf", "_version", "device", "nothing")
    return messages(torch, [lambda name=name: delattr(t, name) for name in names])


@agrees
def test_what_dir_lists_on_the_cpu(torch: Any) -> Any:
    names = dir(torch.ones(1))
    return ["__cuda_array_interface__" in names, "grad_fn" in names, names == sorted(names)]


@agrees(says="Can't get __cuda_array_interface__ on non-CUDA tensor type: torch.FloatTensor")
def test_the_array_interface_of_cuda_on_the_cpu(torch: Any) -> Any:
    return torch.ones(1).__cuda_array_interface__


@agrees(says="you can only change requires_grad flags of leaf variables.")
def test_requires_grad_of_what_was_computed(torch: Any) -> Any:
    y = torch.ones(1, requires_grad=True) * 2
    y.requires_grad = True


@agrees
def test_requires_grad_as_a_method_of_what_was_computed(torch: Any) -> Any:
    y = torch.ones(1, requires_grad=True) * 2
    return y.requires_grad_() is y


@agrees
def test_requires_grad_is_a_bool(torch: Any) -> Any:
    t = torch.ones(1)
    return messages(
        torch,
        [
            lambda: setattr(t, "requires_grad", 1),
            lambda: t.requires_grad_(1),
            lambda: torch.tensor([1.0], requires_grad=2),
            lambda: torch.ones(1, requires_grad="a"),
        ],
    )


@agrees(says="attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'.")
def test_a_grad_of_another_dtype(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).grad = torch.ones(2, dtype=torch.float64)


@agrees(says="attempting to assign a gradient with dtype 'int' to a tensor with grad_dtype 'Long'.")
def test_a_grad_of_another_integer_dtype(torch: Any) -> Any:
    torch.ones(2, dtype=torch.int64).grad = torch.ones(2, dtype=torch.int32)


@agrees(says="of size '[2, 1]' to a tensor of size '[2]'. Please ensure that the gradient and the tensor are the same")
def test_a_grad_of_another_shape(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).grad = torch.ones(2, 1)


# -- gradient modes ----------------------------------------------------------------------------------------------------


def closing(mode: Any, state: Any, way: str) -> list[bool]:
    """Return the states that a generator decorated with a mode finds when it is closed, and the states afterwards."""
    log = []

    @mode
    def numbers() -> Any:
        try:
            yield 1
            yield 2
        finally:
            log.append(state())

    generator = numbers()
    next(generator)
    if way == "close":
        generator.close()
    elif way == "throw":
        with contextlib.suppress(KeyError):
            generator.throw(KeyError)
    del generator
    return [*log, state()]


@agrees
def test_a_generator_that_is_closed_is_in_its_mode(torch: Any) -> Any:
    return [
        closing(mode(), state, way)
        for mode, state in (
            (torch.no_grad, torch.is_grad_enabled),
            (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
            (torch.inference_mode, torch.is_inference_mode_enabled),
        )
        for way in ("close", "drop", "throw")
    ]


@agrees
def test_a_generator_that_records_inside_no_grad(torch: Any) -> Any:
    with torch.no_grad():
        return closing(torch.enable_grad(), torch.is_grad_enabled, "close")


@agrees
def test_what_modes_refuse(torch: Any) -> Any:
    return messages(
        torch,
        [
            lambda: torch.set_grad_enabled(0),
            lambda: torch.set_grad_enabled(None),
            lambda: torch.autograd.set_multithreading_enabled(0),
            lambda: torch.autograd.set_detect_anomaly(0),
            lambda: torch.autograd.set_detect_anomaly(True, 1),
        ],
    )


@agrees(says="set_grad_enabled(): argument 'enabled' (position 1) must be bool, not int")
def test_a_mode_that_is_no_bool(torch: Any) -> Any:
    return torch.set_grad_enabled(0)


@agrees
def test_a_decorated_class_warns(torch: Any) -> Any:
    found = []
    for mode in (torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(False), torch.inference_mode()):
        with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

            @mode
            class Model:
                def __init__(self) -> None:
                    self.recorded = torch.is_grad_enabled()

        found.append(Model().recorded)
    return found


@differs("The same `no_grad()` object may be entered twice, one inside the other", pytorch=False, here=True)
def test_one_object_entered_twice(torch: Any) -> Any:
    mode = torch.no_grad()
    with mode, mode:
        pass
    recorded = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return recorded


@differs("A fresh `contextvars.Context()` sees the modes as they are at first", pytorch=False, here=True)
def test_a_fresh_context(torch: Any) -> Any:
    with torch.no_grad():
        return contextvars.Context().run(torch.is_grad_enabled)


@agrees
def test_the_history_as_an_attribute(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y, z = x * 2, x * 3
    same = y._grad_fn is y.grad_fn
    y._grad_fn = None

    def deleted() -> None:
        del z._grad_fn

    def assigned() -> None:
        z._grad_fn = z.grad_fn

    return same, y.grad_fn, y.requires_grad, messages(torch, [deleted, assigned]), x._grad_fn


def test_volatile_of_a_tensor_warns() -> None:
    def program(T: Any) -> Any:
        x = T.ones(2)
        x.volatile = True
        return x.volatile

    oracle.check_warns(program)


# -- products of vectors, which are no views, and the nodes of methods in place ----------------------------------------


@agrees
def test_products_of_vectors_are_no_views(torch: Any) -> Any:
    answers = []
    vectors = [((3,), (3, 2)), ((3,), (4, 3, 2)), ((3,), (0, 3, 2)), ((2, 3), (3,)), ((4, 2, 3), (3,))]
    for shapes in (*vectors, ((0, 2, 3), (3,)), ((5, 4, 2, 3), (3,))):
        a, b = (torch.arange(1.0 * math.prod(shape)).reshape(shape).requires_grad_() for shape in shapes)
        product = a @ b
        answers += [product.grad_fn.name(), product._is_view(), product._base is None, product.stride()]
        product += 1
        product.sum().backward()
        answers += [product.grad_fn.name(), product.detach(), a.grad, b.grad]
    return answers


@agrees
def test_results_without_a_dimension_are_no_views(torch: Any) -> Any:
    x = torch.arange(8.0, requires_grad=True)
    w = torch.ones(2, 8, requires_grad=True)
    window = torch.ones(4)
    results = [
        torch.nn.functional.linear(x, w),
        torch.quantile(x, 0.5),
        torch.nanquantile(x, 0.5),
        torch.stft(x, 4, window=window, return_complex=True),
    ]
    return [(t.grad_fn.name(), t._is_view(), t._base is None) for t in results]


@agrees
def test_nodes_of_methods_in_place(torch: Any) -> Any:
    answers = []
    squeezes = ["squeeze_()", "squeeze_(0)", "squeeze_((0,))", "unsqueeze_(0)", "view(2).unsqueeze_(0)"]
    for method in (
        *squeezes,
        "t_()",
        "transpose_(0, 1)",
        "swapaxes_(0, 1)",
        "swapdims_(0, 1)",
        "as_strided_((2,), (1,))",
    ):
        leaf = torch.tensor([[1.0, 2.0]], requires_grad=True)
        x = eval(f"y.{method}", {"y": leaf * 1})
        (x * x).sum().backward()
        answers += [x.grad_fn.name(), x.grad_fn.next_functions[0][0].name(), x.detach(), leaf.grad]
    return answers


@agrees
def test_tensors_of_the_joint_shape_are_broadcast_to_themselves(torch: Any) -> Any:
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3)
    same, other = torch.broadcast_tensors(a, b)
    return [same is a, other is b, other.shape, other.stride(), torch.broadcast_tensors(b)[0] is b]


SHAPES = """
(4,) + s; s + (4,); s * 2; 2 * o; sum([s, o], ()); s[::-1]; () + s; (4,) + s + (5,); T.Size(range(2)); T.Size()
T.Size([np.int64(2), T.tensor(3)])"""
NO_SHAPES = "T.Size([1.5]); T.Size(['a']); T.Size([[1]]); T.Size([None]); o + (1.5,); ('a',) + o"


@agrees
def test_arithmetic_of_shapes(torch: Any) -> Any:
    names = {"T": torch, "np": np, "s": torch.ones(2, 3).shape, "o": torch.Size([1])}
    shapes = [eval(each, names) for each in SHAPES.replace("\n", ";").split(";") if each.strip()]
    return [(type(each).__name__, str(each)) for each in shapes]


@agrees
def test_shapes_are_of_integers(torch: Any) -> Any:
    answers = []
    for wrong in NO_SHAPES.split(";"):
        with pytest.raises(TypeError) as caught:
            eval(wrong.strip(), {"T": torch, "o": torch.Size([1])})
        answers.append(str(caught.value))
    return answers
