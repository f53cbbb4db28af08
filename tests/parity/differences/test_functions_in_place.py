"""Test functions in place, ``torch._foreach_*``, and the functions below ``nn.functional``, under both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbautograd
from tests import oracle
from tests.parity.differences.both import agrees


def test_every_function_in_place_of_pytorchs_is_there() -> None:
    def names(torch: Any) -> list[str]:
        in_place = [name for name in dir(torch) if name.endswith("_") and not name.startswith("_")]
        return in_place + [name for name in dir(torch) if name.startswith("_foreach_")]

    assert [name for name in oracle.answer(names) if not hasattr(nbautograd, name)] == ["resize_as_sparse_"]


UNARY = """
    abs_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_ conj_physical_
    cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fix_ floor_ frac_ i0_ log10_ log1p_ log2_ log_ nan_to_num_ neg_
    negative_ rad2deg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ detach_
    relu_ selu_ celu_ zero_"""


@agrees
def test_functions_of_one_tensor(torch: Any) -> Any:
    results = []
    for name in UNARY.split():
        x = torch.tensor([0.25, 0.75, 1.5])
        results += [getattr(torch, name)(x) is x, x]
    return results


@agrees
def test_functions_of_several_arguments(torch: Any) -> Any:
    def x() -> Any:
        return torch.arange(1.0, 4.0)

    return [
        torch.clamp_(x(), 1.5, 2),
        torch.clamp_(x(), max=2.5),
        torch.clip_(x(), 2),
        torch.clamp_min_(x(), 2),
        torch.clamp_max_(x(), max=2),
        torch.round_(x() / 3, decimals=1),
        torch.logit_(x() / 5, 0.3),
        torch.gcd_(x().long(), x().long() + 2),
        torch.lcm_(x().long(), x().long() + 2),
        torch.ldexp_(x(), x()),
        torch.xlogy_(x(), x()),
        torch.addmv_(torch.ones(2), torch.ones(2, 3), x(), beta=2, alpha=3),
        torch.embedding_renorm_(torch.ones(3, 2) * 3, torch.tensor([0, 2]), 1.0, 2.0),
        torch.threshold_(x(), 1.5, 9),
        torch.fill_(x(), 5),
        torch.spmm(torch.ones(2, 2), torch.ones(2, 1)),
        torch.dsmm(torch.ones(2, 2), torch.ones(2, 1)),
    ]


@agrees
def test_gradients_flow_through_them(torch: Any) -> Any:
    leaf = torch.tensor([0.5, 1.0], requires_grad=True)
    y = torch.exp_(torch.sin_(leaf * 1))
    y.sum().backward()
    return [y, leaf.grad, torch.detach(y).requires_grad, torch.detach_(leaf * 2).requires_grad]


@agrees(says="a leaf Variable that requires grad is being used in an in-place operation")
def test_leaves_are_not_written_to(torch: Any) -> Any:
    return torch.exp_(torch.ones(2, requires_grad=True))


@agrees(says="sigmoid_(): argument 'input' (position 1) must be Tensor, not int")
def test_a_number_is_no_tensor(torch: Any) -> Any:
    return torch.sigmoid_(3)


@agrees
def test_dropout_beneath_nn_functional(torch: Any) -> Any:
    names = "dropout dropout_ feature_dropout feature_dropout_ alpha_dropout_ feature_alpha_dropout"
    names = [*names.split(), "feature_alpha_dropout_"]
    trained = [getattr(torch, name)(torch.ones(2, 3, 2), 0.5, True) for name in names]
    return trained + [getattr(torch, name)(torch.ones(2, 3), p=0.5, train=False) for name in names]


@agrees(says="dropout probability has to be between 0 and 1, but got 1.5")
def test_an_impossible_probability(torch: Any) -> Any:
    return torch.dropout(torch.ones(2), 1.5, True)


# -- several tensors at once -------------------------------------------------------------------------------------------

FOREACH_UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
    rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"""


def lists(torch: Any) -> tuple[Any, Any]:
    return [torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])], [torch.tensor([4.0, 5.0]), torch.tensor([[6.0]])]


@agrees
def test_foreach_of_one_list(torch: Any) -> Any:
    results = []
    for name in FOREACH_UNARY.split():
        tensors = [torch.tensor([0.25, 0.5]), torch.tensor([[0.75]])]
        results += [getattr(torch, f"_foreach_{name}")(tensors), tensors]
        results += [getattr(torch, f"_foreach_{name}_")(tensors) is tensors, tensors]
    return results


FOREACH_BINARY = "add sub mul div pow clamp_min clamp_max maximum minimum"
FOREACH: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda f, a, b: f("add", a, b),
    lambda f, a, b: f("add", a, b, alpha=2),
    lambda f, a, b: f("sub", a, b, alpha=3),
    lambda f, a, b: f("addcmul", a, b, b),
    lambda f, a, b: f("addcmul", a, b, b, 2),
    lambda f, a, b: f("addcdiv", a, b, b, value=2),
    lambda f, a, b: f("addcdiv", a, b, b, [1, 2]),
    lambda f, a, b: f("addcmul", a, b, b, a[0].clone()),
    lambda f, a, b: f("lerp", a, b, 0.25),
    lambda f, a, b: f("lerp", a, b, [0.5, 0.1]),
    lambda f, a, b: f("lerp", a, b, [x / 8 for x in a]),
    *(
        lambda f, a, b, name=name, other=other: f(name, a, b if other is None else other)
        for name in FOREACH_BINARY.split()
        for other in (None, 1.5, [2, 3])
    ),
    *(lambda f, a, b, name=name: f(name, a, a[0][1].clone()) for name in ("add", "mul", "div", "sub")),
)


@agrees
def test_foreach_of_several_lists(torch: Any) -> Any:
    results = []
    for program in FOREACH:
        results.append(
            program(lambda name, *args, **kw: getattr(torch, f"_foreach_{name}")(*args, **kw), *lists(torch))
        )
        a, b = lists(torch)
        program(lambda name, *args, **kw: getattr(torch, f"_foreach_{name}_")(*args, **kw), a, b)
        results.append(a)
    return results


@agrees
def test_other_foreach(torch: Any) -> Any:
    a, b = lists(torch)
    copied, zeroed = lists(torch)
    return [
        *(torch._foreach_norm(a), torch._foreach_norm(a, 1), torch._foreach_norm(a, float("inf"), torch.float64)),
        *(torch._foreach_max(a), torch._foreach_pow(2, a), torch._foreach_clone(a), torch._foreach_powsum(a, 3)),
        torch._foreach_mm([torch.ones(2, 2)], [torch.ones(2, 1)]),
        *(torch._foreach_copy_(copied, b), copied, torch._foreach_zero_(zeroed), zeroed),
        *(torch._foreach_add(self=a, scalar=1), torch._foreach_add(self=a, other=b)),
    ]


REFUSED: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda torch, a, b: torch._foreach_add(a, b[:1]),
    lambda torch, a, b: torch._foreach_add(a, [1]),
    lambda torch, a, b: torch._foreach_sqrt([]),
    lambda torch, a, b: torch._foreach_sqrt(3),
    lambda torch, a, b: torch._foreach_sqrt(a[0]),
    lambda torch, a, b: torch._foreach_sqrt([3]),
    lambda torch, a, b: torch._foreach_add(a, torch.tensor([2.0])),
    lambda torch, a, b: torch._foreach_add(a, [2.0, 3.0], alpha=2),
)


@agrees
def test_foreach_refuses(torch: Any) -> Any:
    messages = []
    for program in REFUSED:
        with pytest.raises((RuntimeError, TypeError)) as error:
            program(torch, *lists(torch))
        messages.append(f"{error.type.__name__}: {error.value}")
    return messages


# -- memory formats ----------------------------------------------------------------------------------------------------

LIKE = "empty_like zeros_like ones_like full_like rand_like randn_like randint_like"


@agrees
def test_every_like_takes_a_memory_format(torch: Any) -> Any:
    results = []
    for order in (None, torch.preserve_format, torch.contiguous_format, torch.channels_last):
        x = torch.ones(2, 3, 4, 5).permute(1, 0, 3, 2)
        for name in LIKE.split():
            value = (3,) if name in ("full_like", "randint_like") else ()
            y = getattr(torch, name)(x, *value, memory_format=order, layout=torch.strided, pin_memory=False)
            results += [y.stride(), 0 if name == "empty_like" else y]
    return results


@agrees
def test_copy_by_name(torch: Any) -> Any:
    x, y = torch.zeros(2), torch.ones(2, requires_grad=True)
    x.copy_(other=y, non_blocking=True)
    with pytest.raises(TypeError):
        x.copy_(src=y)
    return x, type(x.grad_fn).__name__
