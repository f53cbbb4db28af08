"""``jvp`` of custom Functions: its arguments, its results, and the errors."""

from __future__ import annotations

from typing import Any

from tests.parity.differences.both import Raised, agrees, differs
from tests.parity.differences.test_forward_mode import dual, level, tangent


def applied(torch: Any, forward: Any, jvp: Any, **names: Any) -> Any:
    """Return the result of a Function of one dual tensor: its value, its tangent, and how they are views."""
    members = {"forward": staticmethod(forward), "jvp": staticmethod(jvp), **names}
    function = type("Function", (torch.autograd.Function,), members)
    with level(torch):
        t = torch.full((3,), 2.0)
        d = torch.autograd.forward_ad.make_dual(torch.ones(3), t)
        result = function.apply(d)
        own = tangent(torch, result)
        return result, own, own is t, result is d, result._is_view(), own is not None and own._base is t


def written(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def fixed(ctx: Any, x: Any) -> Any:
    result = x * 2
    ctx.mark_non_differentiable(result)
    return result


@agrees(says="is returning a view (or an input as-is) but the jvp is not returning a view")
def test_an_input_and_no_view(torch: Any) -> Any:
    return applied(torch, lambda ctx, x: x, lambda ctx, t: t)


@agrees(says="is returning a view (or an input as-is) but the jvp is not returning a view")
def test_a_view_and_no_view(torch: Any) -> Any:
    return applied(torch, lambda ctx, x: x[:2], lambda ctx, t: t[:2] * 2)


@agrees(says="A custom Function is returning a view but the jvp is not returning a view of the given grad input")
def test_a_view_of_something_else(torch: Any) -> Any:
    return applied(torch, lambda ctx, x: x[:2], lambda ctx, t: torch.ones(3)[:2])


@agrees
def test_views(torch: Any) -> Any:
    return [
        applied(torch, lambda ctx, x: x, lambda ctx, t: t.view_as(t)),
        applied(torch, lambda ctx, x: x[:2], lambda ctx, t: t[:2]),
    ]


@agrees(says="An inplace custom Function is not modifying the forward mode gradients inplace")
def test_a_write_without_that_of_the_tangent(torch: Any) -> Any:
    return applied(torch, written, lambda ctx, t: t * 2)


@agrees(says="An inplace custom Function is not modifying the forward mode gradients inplace")
def test_a_write_and_no_tangent(torch: Any) -> Any:
    return applied(torch, written, lambda ctx, t: None)


@agrees(says="An inplace custom Function is not")
def test_a_write_and_another_tangent(torch: Any) -> Any:
    return applied(torch, written, lambda ctx, t: t.mul_(2).clone())


@agrees
def test_a_write(torch: Any) -> Any:
    return applied(torch, written, lambda ctx, t: t.mul_(2))


@agrees
def test_a_write_to_a_view_without_tangent(torch: Any) -> Any:
    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(y)

        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any) -> Any:
            return a.add_(b * 3)

    with level(torch):
        base = torch.ones(2, 3)
        Times.apply(base[1], dual(torch, 3))
        return tangent(torch, base)


@agrees(says="expected Variable or None (got int) for grad output 0")
def test_a_number_as_tangent(torch: Any) -> Any:
    return applied(torch, lambda ctx, x: x * 2, lambda ctx, t: 5)


@agrees(says="expected Variable or None (got list) for grad output 0")
def test_a_list_as_tangent(torch: Any) -> Any:
    return applied(torch, lambda ctx, x: x * 2, lambda ctx, t: [t])


@agrees(says="Function's jvp returned an invalid number of forward gradients (expected 1 but got 0)")
def test_no_tangents(torch: Any) -> Any:
    return applied(torch, lambda ctx, x: x * 2, lambda ctx, t: ())


@agrees(says="that has a different size than that of the original Tensor")
def test_a_tangent_of_another_shape(torch: Any) -> Any:
    return applied(torch, lambda ctx, x: x * 2, lambda ctx, t: t[:2])


@agrees(says="Function's jvp returned a gradient at position 0, but")
def test_a_tangent_of_what_is_not_differentiable(torch: Any) -> Any:
    return applied(torch, fixed, lambda ctx, t: t * 2)


@agrees
def test_what_jvp_gets(torch: Any) -> Any:
    got: list[Any] = []

    def jvp(ctx: Any, *tangents: Any) -> Any:
        got.append([*tangents, torch.is_grad_enabled(), tangent(torch, tangents[0])])
        return tangents[0]

    def forward(ctx: Any, *args: Any) -> Any:
        return args[0] * 2

    def bare(ctx: Any, *args: Any) -> Any:
        ctx.set_materialize_grads(False)
        return args[0] * 2

    with level(torch):
        for function in (forward, bare):
            members = {"forward": staticmethod(function), "jvp": staticmethod(jvp)}
            result = type("Function", (torch.autograd.Function,), members).apply(
                dual(torch, 3), torch.ones(2), torch.ones(2).long(), 5, torch.ones(2, dtype=torch.complex64)
            )
            got.append(tangent(torch, result))
    return [[str(part) for part in parts] if isinstance(parts, list) else parts for parts in got]


@agrees
def test_nothing_to_differentiate(torch: Any) -> Any:
    return applied(torch, fixed, lambda ctx, t: None)


@differs("A Function's `jvp` may return None for a tangent of zeros", pytorch=Raised(RuntimeError), here=None)
def test_none_as_tangent(torch: Any) -> Any:
    return applied(torch, lambda ctx, x: x * 2, lambda ctx, t: None)[1]
