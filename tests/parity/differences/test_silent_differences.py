"""Calls that once gave another result than PyTorch, without an error, and the sweeps that find their kind."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests import oracle
from tests.parity.differences.both import agrees


def attempt(program: Callable[[], Any]) -> str:
    """Return the result of a call as text, or the first words of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(program())
    except Exception as error:
        words = re.sub(r"^\w+\(\): ", "", str(error))  # our message begins with the operation's name
        return words.partition(":")[0].partition(" (")[0].partition(". Please")[0]


FLOATING = (
    *("exp", "log", "sin", "cos", "tan", "tanh", "sigmoid", "sqrt", "rsqrt", "reciprocal", "erf", "expm1", "log1p"),
    *("atan", "asinh", "sinh", "log2", "log10", "exp2", "deg2rad", "rad2deg", "logit", "sinc"),
)


@agrees
def test_integers_become_the_default_dtype(torch: Any) -> Any:
    """Results are rounded to three digits: how exactly they are computed is tested elsewhere."""
    texts = []
    for name in ("float16", "bfloat16", "float64"):
        torch.set_default_dtype(getattr(torch, name))
        try:
            for x in (torch.tensor([1, 2, 5]), torch.tensor(3), torch.tensor([True, False]), torch.zeros(0).long()):
                for function in FLOATING:
                    result = getattr(torch, function)(x)
                    texts.append(
                        f"{function} {result.dtype} {[f'{value:.2g}' for value in result.reshape(-1).tolist()]}"
                    )
                texts += [
                    str((x / 2).dtype),
                    str((x * 1.5).dtype),
                    repr(x / 2),
                    repr(2 / (x + 1)),
                    str(x.double().dtype),
                ]
        finally:
            torch.set_default_dtype(torch.float32)
    return texts


@agrees
def test_operations_of_two_numbers(torch: Any) -> Any:
    names = [
        "add",
        "subtract",
        "sub",
        "multiply",
        "mul",
        "divide",
        "div",
        "true_divide",
        "floor_divide",
        "remainder",
        "maximum",
        "eq",
        "pow",
        "atan2",
    ]
    pairs = ((1.5, 2.5), (3, 2), (True, False), (2, 0.5), (1, 2j))
    results = []
    for name in names:
        for pair in pairs:
            try:
                results.append(f"{name}{pair} {getattr(torch, name)(*pair)!r}")
            except (RuntimeError, TypeError) as error:
                results.append(f"{name}{pair} {'TypeError' if isinstance(error, TypeError) else 'RuntimeError'}")
    return results


@agrees
def test_numbers_that_a_dtype_cannot_hold(torch: Any) -> Any:
    def fillings(value: Any, dtype: Any) -> list[Callable[[], Any]]:
        def zeros(*shape: int) -> Any:
            return torch.zeros(*(shape or (2,)), dtype=dtype)

        def assigned(key: Any) -> Any:
            x = zeros()
            x[key] = value
            return x

        first = torch.tensor([0])
        return [
            lambda: zeros().masked_fill_(torch.tensor([True, False]), value),
            lambda: zeros().masked_fill(torch.tensor([True, False]), value),
            lambda: zeros().fill_(value),
            lambda: torch.full((2,), value, dtype=dtype),
            lambda: zeros().index_fill_(0, first, value),
            lambda: zeros().scatter_(0, first, value),
            lambda: zeros(2, 2).fill_diagonal_(value),
            lambda: assigned(0),
            lambda: assigned(torch.tensor([True, False])),
            lambda: assigned(slice(None)),
            lambda: zeros().clamp(max=value),
            lambda: zeros().clamp(min=value),
        ]

    values = (-2, 256, -300, 1.7, float("nan"), float("inf"), 300.5, True)
    kinds = ("uint8", "int8", "int32", "bool", "float32")
    return [
        f"{value} {kind} {number} {attempt(program)}"
        for value in values
        for kind in kinds
        for number, program in enumerate(fillings(value, getattr(torch, kind)))
        if not (number >= 10 and kind == "bool")
    ]


@agrees
def test_images_keep_their_memory_format(torch: Any) -> Any:
    functional = torch.nn.functional
    x = torch.arange(2 * 4 * 6 * 6.0).reshape(2, 4, 6, 6).contiguous(memory_format=torch.channels_last)
    volume = torch.arange(2 * 4 * 4 * 4 * 4.0).reshape(2, 4, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    weight, transposed = torch.ones(8, 4, 3, 3), torch.ones(4, 8, 3, 3)
    zeros, ones = torch.zeros(4), torch.ones(4)
    results = [
        functional.conv2d(x, weight),
        functional.conv2d(x.contiguous(), weight.contiguous(memory_format=torch.channels_last)),
        functional.conv2d(x, torch.ones(8, 2, 3, 3), groups=2),
        functional.conv2d(x, torch.ones(8, 4, 1, 1), torch.ones(8)),
        functional.conv_transpose2d(x, transposed),
        functional.conv_transpose2d(x, transposed, stride=2),
        *functional.max_pool2d(x, 2, return_indices=True),
        functional.max_pool2d(x, 3, 1, 1),
        functional.avg_pool2d(x, 2),
        functional.adaptive_avg_pool2d(x, 2),
        functional.adaptive_avg_pool2d(x, 4),
        functional.adaptive_avg_pool2d(x, 1),
        *functional.adaptive_max_pool2d(x, 2, return_indices=True),
        functional.max_unpool2d(*functional.max_pool2d(x, 2, return_indices=True), 2),
        functional.lp_pool2d(x, 2, 2),
        *(functional.interpolate(x, scale_factor=2, mode=mode) for mode in ("nearest", "bilinear", "bicubic")),
        functional.interpolate(x, size=3, mode="area"),
        functional.batch_norm(x, zeros, ones),
        functional.group_norm(x, 2),
        functional.instance_norm(x),
        functional.layer_norm(x, (6,)),
        functional.pixel_shuffle(x, 2),
        functional.channel_shuffle(x, 2),
        *(functional.pad(x, (1, 1, 1, 1), mode=mode) for mode in ("constant", "reflect", "replicate", "circular")),
        functional.conv3d(volume, torch.ones(8, 4, 3, 3, 3)),
        functional.max_pool3d(volume, 2),
        functional.avg_pool3d(volume, 2),
        functional.adaptive_avg_pool3d(volume, 2),
        functional.interpolate(volume, scale_factor=2),
        functional.group_norm(volume, 2),
        torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.GroupNorm(2, 8))(
            x
        ),
    ]
    return [(list(each.shape), list(each.stride())) for each in results]


@agrees
def test_dropout_after_a_convolution_of_channels_last_images(torch: Any) -> Any:
    """The mask is drawn in the order of memory."""
    torch.manual_seed(0)
    x = torch.ones(1, 2, 4, 4).contiguous(memory_format=torch.channels_last)
    return torch.nn.functional.dropout(torch.nn.functional.conv2d(x, torch.ones(3, 2, 2, 2)), 0.5).tolist()


@agrees
def test_out_that_overlaps_an_operand(torch: Any) -> Any:
    lists = ["cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack"]
    pairs, dims = ["add", "mul", "maximum", "outer", "ger", "pow"], ["sum", "mean", "nanmean", "cumsum", "quantile"]

    def overlaps(kind: str, name: str) -> bool:
        x, function = torch.arange(1.0, 7.0), getattr(torch, name)
        try:
            if kind == "lists":
                function([x[:2], x[2:4]], out=x[1:5])
            else:
                function(x[:4], torch.ones(4) if kind == "pairs" else 0, out=x[1:5])
        except RuntimeError as error:
            return "single memory location" in str(error)
        return False

    return [
        f"{name} {overlaps(kind, name)}"
        for kind, names in {"lists": lists, "pairs": pairs, "dims": dims}.items()
        for name in names
    ]


@agrees
def test_a_tensor_of_a_storage_shares_its_memory(torch: Any) -> Any:
    texts = []
    for make in (lambda a: a.storage(), lambda a: a.untyped_storage()):
        a = torch.tensor([1.0, 2.0, 3.0])
        b = torch.Tensor(make(a))
        b[0] = 5
        texts += [repr(a), repr(b), b.shape == a.shape, torch.Tensor(make(a[1:])).shape]
    texts.append(attempt(lambda: torch.DoubleTensor(torch.ones(2).storage())).partition("type")[0])
    return list(map(str, texts))


@agrees
def test_logical_methods_keep_the_history(torch: Any) -> Any:
    texts = []
    for name in ("logical_not_", "logical_and_", "logical_or_", "logical_xor_"):
        arguments = [] if name == "logical_not_" else [torch.tensor([1.0, 0.0])]
        leaf = torch.tensor([1.0, 0.0], requires_grad=True)
        result = (torch.tensor([1.0, 0.0], requires_grad=True) * 2).clone()
        for x in (leaf, result):
            getattr(x, name)(*arguments)
            texts += [repr(x.tolist()), str(x.requires_grad), type(x.grad_fn).__name__, str(x._version)]
    return texts


@agrees
def test_numpys_numbers_in_powers(torch: Any) -> Any:
    x, yes = torch.tensor([1.0, 2.0]), torch.tensor(True)
    numbers = (np.float32(2), np.float64(2), np.int64(2), np.uint8(3))
    return [repr(each) for n in numbers for each in (x**n, x.pow(n), n**x, yes**n)]


@agrees
def test_small_calls(torch: Any) -> Any:
    x, scalar = torch.ones(2, 3), torch.tensor(2.0)
    return [
        attempt(program)
        for program in (
            lambda: torch.einsum("ii->i", torch.ones(1, 2)),
            lambda: torch.einsum("ii->i", torch.ones(2, 2)),
            lambda: torch.tensor(3, dtype=torch.uint8).cumsum(0).dtype,
            lambda: torch.tensor(True).cumsum(0).dtype,
            lambda: torch.tensor(True).cumprod(0).dtype,
            lambda: torch.mean(x, None, keepdim=True, dtype=torch.float64),
            lambda: x.mean(None, keepdim=True),
            lambda: (scalar.mT, scalar.mH, scalar.H, scalar.adjoint()),
            lambda: torch.tensor(1 + 2j).mH,
            lambda: torch.ones(2).mT,
            lambda: torch.zeros(2).copy_(1),
            lambda: torch.zeros(2, dtype=torch.int64).copy_(1.7),
            lambda: torch.zeros(2, requires_grad=True).mul(1).copy_(3),
            lambda: torch.nn.functional.kl_div(torch.tensor([1, 2]), torch.tensor([1, 2])),
            lambda: torch.nn.functional.kl_div(torch.zeros(2), torch.tensor([1, 2])),
        )
    ]


@agrees
def test_a_tensor_assigned_to_itself_with_one_more_dimension(torch: Any) -> Any:
    v = torch.arange(3.0)
    v[None] = v
    return v.tolist()


class TestFunctions:
    """Custom Functions whose backward or context PyTorch rejects."""

    @staticmethod
    def test_a_complex_gradient_of_a_real_input() -> None:
        def program(torch: Any) -> Any:
            class Twice(torch.autograd.Function):  # type: ignore[misc]
                @staticmethod
                def forward(ctx: Any, x: Any) -> Any:
                    return x * 2

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    return g * (1 + 2j)

            x = torch.ones(2, requires_grad=True)
            return Twice.apply(x).sum().backward()

        oracle.check_raises(program, says="isFloatingType(grad.scalar_type())")

    @staticmethod
    def test_an_input_that_is_returned_and_saved() -> None:
        def program(torch: Any) -> Any:
            class Same(torch.autograd.Function):  # type: ignore[misc]
                @staticmethod
                def forward(x: Any) -> Any:
                    return x

                @staticmethod
                def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                    ctx.save_for_backward(inputs[0])

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    return g

            return Same.apply(torch.ones(2, requires_grad=True))

        oracle.check_raises(program, says="returned as-is as output is being saved for backward")


@agrees
def test_backward_hooks_of_the_former_kind(torch: Any) -> Any:
    class Product(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any, b: Any) -> Any:
            return a * b

    class Pair(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any) -> Any:
            return a * 2, a * 3

    def shapes(gradients: Any) -> list[Any]:
        return [None if g is None else list(g.shape) for g in gradients]

    def passed(module: Any, *inputs: Any, factor: float = 1.0) -> list[Any]:
        seen: list[Any] = []

        def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
            seen.append([type(module).__name__, shapes(grad_input), shapes(grad_output)])
            return None if factor == 1.0 else tuple(None if g is None else g * factor for g in grad_input)

        handle = module.register_backward_hook(hook)
        inputs = tuple(x.requires_grad_() for x in inputs)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            output = module(*inputs)
        (output[0] if isinstance(output, tuple) else output).sum().backward()
        handle.remove()
        module(*inputs)
        words = [str(each.message).partition(" is deprecated")[0] for each in caught]
        return [seen, words, [x.grad.tolist() for x in inputs]]

    layer = torch.nn.Linear(2, 3)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(0.5)
    both = torch.nn.ReLU()
    both.register_backward_hook(lambda *arguments: None)
    return [
        passed(layer, torch.ones(4, 2)),
        passed(torch.nn.ReLU(), torch.ones(2), factor=10.0),
        passed(Product(), torch.ones(2), torch.full((2,), 3.0)),
        passed(Pair(), torch.ones(2)),
        passed(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sigmoid()), torch.zeros(2)),
        attempt(lambda: both.register_full_backward_hook(lambda *arguments: None)),
    ]


@agrees
def test_comparisons_in_place(torch: Any) -> Any:
    """Their derivative is 0, and the result has a history where an operand has one."""
    results = []
    for name in ("eq_", "ne_", "lt_", "gt_", "le_", "ge_", "less_", "not_equal_", "greater_equal_"):
        for is_leaf in (True, False):
            for other in (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0], requires_grad=True), 3):
                for requires_grad in (True, False):
                    x = torch.tensor([1.0, -2.0], requires_grad=requires_grad)
                    y = x if is_leaf else x * 2
                    if is_leaf and requires_grad:
                        refused = attempt(lambda name=name, y=y, other=other: getattr(y, name)(other))  # type: ignore[misc]
                        results.append(refused.rstrip("."))
                        continue
                    result = getattr(y, name)(other)
                    results.append((result, type(result.grad_fn).__name__))
                    if result.requires_grad:
                        leaves = [
                            t for t in (x, other) if isinstance(t, torch.Tensor) and t.is_leaf and t.requires_grad
                        ]
                        results.append(torch.autograd.grad(result.sum(), leaves, allow_unused=True) if leaves else None)
    return results


@agrees
def test_vectors_taken_from_scalars_in_vmap(torch: Any) -> Any:
    def taken(function: Any) -> Any:
        return torch.vmap(function)(torch.arange(3.0))

    zeros = [torch.tensor(0), torch.tensor([0]), torch.tensor([0, 0]), torch.zeros(0, dtype=torch.int64)]
    selected = [taken(lambda x, i=i: x.index_select(0, i)) for i in zeros]
    gathered = [taken(lambda x, i=i: x.gather(0, i)) for i in zeros[:2]]
    gradient = torch.vmap(torch.func.grad(lambda x: x.index_select(-1, zeros[2]).sum()))(torch.arange(3.0))
    return selected, gathered, gradient
