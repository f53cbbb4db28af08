"""Convolutions and transposed convolutions over one, two and three dimensions."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd.nn import functional as F, init  # noqa: N812
from nbautograd.nn.modules._options import differing
from nbautograd.nn.modules.linear import new_parameter
from nbautograd.nn.modules.module import Module
from nbautograd.nn.modules.utils import _ntuple as tuples, _reverse_repeat_tuple

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

MODES = ("zeros", "reflect", "replicate", "circular")
Ints = int | tuple[int, ...]


class _ConvNd(Module):
    """Base of all convolutions; ``function`` and the number ``n`` of dimensions come from the class statement.

    :param in_channels: channels of the input, shape (batch, in_channels, ...) or without batch.
    :param out_channels: channels of the result.
    :param kernel_size: the size of the window, an int or one int per dimension; likewise below.
    :param stride: the step of the window.
    :param padding: elements added at both ends; also ``"valid"`` (none) or ``"same"`` (the size stays).
    :param dilation: the step inside the window.
    :param groups: the number of groups of channels, each with its own convolution.
    :param padding_mode: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
    :raises ValueError: a number or a mode is invalid.
    """

    _n: int
    _function: Any
    transposed = False

    def __init_subclass__(cls, function: Any = None, n: int = 0, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if n:
            cls._n, cls._function = n, staticmethod(function)

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints | str = 0,
        dilation: Ints = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        full = tuples(self._n)
        strides: tuple[int, ...] = full(stride)
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {groups}")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups, got {channels} and {groups}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.dilation = full(kernel_size), strides, full(dilation)
        self.padding: Any = padding
        # A transposed convolution has set it before.
        self.output_padding: tuple[int, ...] = self.__dict__.pop("output_padding", (0,) * self._n)
        self.groups, self.padding_mode = groups, padding_mode
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and strides.count(1) < len(strides):
                raise ValueError(f"padding='same' is not supported for strided convolutions, got stride {strides}")
            totals = [d * (k - 1) * (padding == "same") for k, d in zip(self.kernel_size, self.dilation, strict=False)]
            sides = [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
        else:
            self.padding = full(padding)
            sides = list(_reverse_repeat_tuple(self.padding, 2))
        if padding_mode not in MODES:
            raise ValueError(f"padding_mode must be one of {set(MODES)}, but got padding_mode='{padding_mode}'")
        self._reversed_padding_repeated_twice = sides
        self.weight = new_parameter(*self._weight_shape(), device=device, dtype=dtype)
        self.register_parameter("bias", new_parameter(out_channels, device=device, dtype=dtype, wanted=bias))
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw new parameters, uniformly within ``1 / sqrt(fan_in)`` of zero."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Compute the convolution with the weight."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            padding = 0
        output: Tensor = self._function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)
        return output

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from the default."""
        zeros, ones = (0,) * self._n, (1,) * self._n
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += differing(self, {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1})
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class Conv1d(_ConvNd, function=F.conv1d, n=1):
    """Convolution over one dimension: input of shape (n, c, l) or (c, l)."""


class Conv2d(_ConvNd, function=F.conv2d, n=2):
    """Convolution over images: input of shape (n, c, h, w) or (c, h, w)."""


class Conv3d(_ConvNd, function=F.conv3d, n=3):
    """Convolution over volumes: input of shape (n, c, d, h, w) or (c, d, h, w)."""


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution, as a layer.

    :param output_padding: elements added at one end of the result, where several output sizes are possible.
    """

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0,
        output_padding: Ints = 0, groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self.__dict__["output_padding"] = tuples(self._n)(output_padding)
        options = (stride, padding, dilation, groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel_size, *options)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Return the transposed convolution; ``output_size`` selects one of the possible sizes of the result.

        :raises ValueError: ``output_size`` is not possible.
        """
        extra = self.output_padding if output_size is None else self._output_padding(input, list(output_size))
        options = (self.stride, self.padding, extra, self.groups, self.dilation)
        output: Tensor = self._function(input, self.weight, self.bias, *options)
        return output

    def _output_padding(self, input: Tensor, size: list[int]) -> tuple[int, ...]:
        n = self._n
        others = input.ndim - n
        if len(size) == others + n:
            size = size[others:]
        if len(size) != n:
            sizes = f"output_size must have {n} or {others + n} elements (got {len(size)})"
            raise ValueError(f"{type(self).__name__}: for {input.ndim}D input, {sizes}")
        results = []
        for i, wanted in enumerate(size):
            least = (input.shape[others + i] - 1) * self.stride[i] - 2 * self.padding[i]
            least += self.dilation[i] * (self.kernel_size[i] - 1) + 1
            if not least <= wanted < least + self.stride[i]:
                raise ValueError(
                    f"requested an output size of {size}, but valid sizes of dimension {i} range from {least} to "
                    f"{least + self.stride[i] - 1} (for an input of {list(input.shape[others:])})"
                )
            results.append(wanted - least)
        return tuple(results)


class ConvTranspose1d(_ConvTransposeNd, function=F.conv_transpose1d, n=1):
    """Transposed convolution over one dimension: input of shape (n, c, l) or (c, l)."""


class ConvTranspose2d(_ConvTransposeNd, function=F.conv_transpose2d, n=2):
    """Transposed convolution over images: input of shape (n, c, h, w) or (c, h, w)."""


class ConvTranspose3d(_ConvTransposeNd, function=F.conv_transpose3d, n=3):
    """Transposed convolution over volumes: input of shape (n, c, d, h, w) or (c, d, h, w)."""
