"""Share the parts of programs about saved tensors."""

from __future__ import annotations

from typing import Any

__all__ = ["doubling", "identity", "leaf", "squares"]


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def doubling(torch: Any) -> Any:
    """Hooks that are no inverses."""
    return torch.autograd.graph.saved_tensors_hooks(lambda t: 2 * t, lambda t: t)


def identity(torch: Any, seen: list[Any]) -> Any:
    def pack(t: Any) -> Any:
        seen.append(t)
        return t

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)


def squares(torch: Any) -> Any:
    """A custom Function that saves its input and its output."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return 2 * g * x + 0 * y

    return Square
