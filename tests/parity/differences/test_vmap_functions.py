"""Custom ``Function``s inside of ``vmap``: with a rule of their own, a generated one, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.differences.both import agrees, numbers


def cube(torch: Any, generated: bool) -> Any:
    """The cube times a factor, and twice the argument; with a rule of its own or a generated one."""

    class Cube(torch.autograd.Function):
        generate_vmap_rule = generated

        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x**3 * w, x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            ctx.three = 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, w = ctx.saved_tensors
            return ctx.three * x**2 * w * g + 2 * h, x**3 * g

        @staticmethod
        def jvp(ctx: Any, t: Any, u: Any) -> Any:
            x, w = ctx.saved_tensors
            return ctx.three * x**2 * w * t + x**3 * u, 2 * t

    if generated:
        return Cube

    class Own(Cube):
        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            moved = [
                a.expand(info.batch_size, *a.shape) if d is None else a.movedim(d, 0)
                for a, d in zip(args, in_dims, strict=True)
            ]
            return Own.apply(*moved), (0, 0)

    return Own


@pytest.mark.parametrize("generated", [True, False], ids=["generated", "own"])
def test_functions(generated: bool) -> None:
    def program(torch: Any) -> Any:
        function, F = cube(torch, generated), torch.func
        x, w = numbers(torch, 3, 2), numbers(torch, 2)

        def loss(x: Any, w: Any) -> Any:
            cubes, doubles = function.apply(x, w)
            return cubes.sin().sum() + doubles.sum()

        leaves = x.clone().requires_grad_(), w.clone().requires_grad_()
        first = torch.autograd.grad(torch.vmap(loss, (0, None))(*leaves).sum(), leaves, create_graph=True)
        return [
            torch.vmap(function.apply, (0, None))(x, w),
            torch.vmap(function.apply, (1, None))(x, torch.ones(3, dtype=torch.float64)),
            torch.vmap(F.grad(loss, (0, 1)), (0, None))(x, w),
            torch.vmap(F.grad(loss, (0, 1)), (None, 0))(w, x),
            first,
            torch.autograd.grad(first[0].sum(), leaves),
            F.jacrev(loss)(x[0], w),
            F.jacfwd(loss)(x[0], w),
            F.jacrev(lambda x: torch.vmap(loss, (0, None))(x, w))(x),
            torch.vmap(torch.vmap(loss, (0, None)), (None, 0))(x, torch.stack([w, w * 2])),
            torch.vmap(lambda x, t: F.jvp(lambda x: function.apply(x, w), (x,), (t,)))(x, x),
        ]

    agrees(program)()


def wrong(torch: Any, **members: Any) -> Any:
    base: dict[str, Any] = {
        "forward": staticmethod(lambda a: a * 2),
        "setup_context": staticmethod(lambda ctx, inputs, output: None),
        "backward": staticmethod(lambda ctx, g: g * 2),
    }
    return type("Wrong", (torch.autograd.Function,), base | members)


OLD_STYLE = {"forward": staticmethod(lambda ctx, a: a * 2)}
FUNCTIONS: list[tuple[str, Any, str]] = [
    ("no rule", lambda T: wrong(T), "does not have vmap support. Please override and implement the vmap staticmethod"),
    (
        "old style",
        lambda T: type("Old", (T.autograd.Function,), OLD_STYLE),
        "it must override the setup_context staticmethod",
    ),
    (
        "both rules",
        lambda T: wrong(T, generate_vmap_rule=True, vmap=staticmethod(lambda info, in_dims, a: (a, 0))),
        "it has both generate_vmap_rule=True and an overridden vmap staticmethod",
    ),
    (
        "one return",
        lambda T: wrong(T, vmap=staticmethod(lambda info, in_dims, a: a)),
        "Expected the vmap staticmethod to have two returns",
    ),
]


@pytest.mark.parametrize(("function", "says"), [case[1:] for case in FUNCTIONS], ids=[case[0] for case in FUNCTIONS])
def test_wrong_functions(function: Any, says: str) -> None:
    agrees(lambda torch: torch.vmap(function(torch).apply)(torch.ones(3)), says=says)()


@agrees
def test_what_a_rule_is_told(torch: Any) -> Any:
    told = []

    def rule(info: Any, in_dims: Any, a: Any, k: Any) -> Any:
        told.append((info.batch_size, info.randomness, in_dims, a.shape, k))
        return a * k, in_dims[0]

    members = {
        "forward": staticmethod(lambda a, k: a * k),
        "setup_context": staticmethod(lambda ctx, inputs, output: None),
        "vmap": staticmethod(rule),
    }
    function = type("Told", (torch.autograd.Function,), members)
    result = torch.vmap(lambda a: function.apply(a, 3), in_dims=1, randomness="same")(torch.ones(2, 5))
    return told, result


TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda torch, f: torch.func.grad(lambda a: f(a).sum()),
    "grad_and_value": lambda torch, f: torch.func.grad_and_value(lambda a: f(a).sum()),
    "vjp": lambda torch, f: lambda a: torch.func.vjp(f, a),
    "jvp": lambda torch, f: lambda a: torch.func.jvp(f, (a,), (a,)),
    "jacrev": lambda torch, f: torch.func.jacrev(f),
    "jacfwd": lambda torch, f: torch.func.jacfwd(f),
    "functionalize": lambda torch, f: torch.func.functionalize(f),
    "vmap of another argument": lambda torch, f: torch.vmap(lambda a: f(torch.ones(2)) + a),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_old_style(name: str) -> None:
    def program(torch: Any) -> Any:
        members = {**OLD_STYLE, "backward": staticmethod(lambda ctx, g: g * 2)}
        function = type("Old", (torch.autograd.Function,), members)
        return TRANSFORMS[name](torch, function.apply)(torch.ones(2))

    agrees(program, says="must override the setup_context staticmethod")()
