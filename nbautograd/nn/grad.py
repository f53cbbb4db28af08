"""The gradients of convolutions with respect to input and weight, as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.grad_mode import enable_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import zeros
from nbautograd.autograd.backward import grad
from nbautograd.nn.functional.convolution import conv1d, conv2d, conv3d

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradients(conv: Callable[..., Tensor]) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Return the functions of the gradients of a convolution's input and weight."""

    def of_input(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        with enable_grad():
            input = zeros(*input_size, dtype=weight.dtype, device=weight.device).requires_grad_()
            output = conv(input, weight.detach(), None, stride, padding, dilation, groups)
            return grad([output], [input], [grad_output])[0]

    def of_weight(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        with enable_grad():
            weight = zeros(*weight_size, dtype=input.dtype, device=input.device).requires_grad_()
            output = conv(input.detach(), weight, None, stride, padding, dilation, groups)
            return grad([output], [weight], [grad_output])[0]

    for of, function in (("input", of_input), ("weight", of_weight)):
        function.__name__ = function.__qualname__ = f"{conv.__name__}_{of}"
        function.__doc__ = (
            f"Compute the gradient of :func:`{conv.__name__}` with respect to its {of}.\n\n"
            f"    :param {of}_size: the shape of the {of}.\n"
            "    :param grad_output: the gradient of the output; the other arguments are the convolution's.\n    "
        )
    return of_input, of_weight


conv1d_input, conv1d_weight = _gradients(conv1d)
conv2d_input, conv2d_weight = _gradients(conv2d)
conv3d_input, conv3d_weight = _gradients(conv3d)
