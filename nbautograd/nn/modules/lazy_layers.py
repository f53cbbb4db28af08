"""Layers that learn the number of their input's features or channels from the first input."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays.dtypes import int64
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd.nn.modules import conv, normalization as norms
from nbautograd.nn.modules.conv import Ints, _ConvNd
from nbautograd.nn.modules.lazy import LazyModuleMixin
from nbautograd.nn.modules.linear import Linear
from nbautograd.nn.modules.normalization import _BatchNorm, _InstanceNorm, _NormBase
from nbautograd.nn.parameter import UninitializedBuffer, UninitializedParameter

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d", "LazyLinear",
]  # fmt: skip


class _Lazy(LazyModuleMixin):
    """Base of lazy layers, which become another class; ``_size`` is the option that is 0 until the first input."""

    weight: Any
    bias: Any
    _size: str

    def __init_subclass__(cls, becomes: Any = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if becomes is not None:
            cls.cls_to_become = becomes

    def _forget_parameters(self, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, if they are initialized."""
        if not self.has_uninitialized_params() and getattr(self, self._size) != 0:
            super().reset_parameters()  # type: ignore[misc]


class LazyLinear(_Lazy, Linear, becomes=Linear):
    """:class:`Linear`, whose ``in_features`` are those of the first input.

    >>> layer = torch.nn.LazyLinear(2)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(torch.ones(1, 5)).shape, layer
    (torch.Size([1, 2]), Linear(in_features=5, out_features=2, bias=True))
    """

    _size = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._forget_parameters(bias, device, dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        """Create the parameters for an input."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the parameters were loaded
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]


class _LazyConv(_Lazy, _ConvNd):
    """Base of lazy convolutions: all options except the number of input channels are given."""

    _size = "in_channels"

    def __init__(
        self, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self.out_channels = out_channels
        self._forget_parameters(bias, device, dtype)

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Create the parameters for an input."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        if input.ndim not in (self._n + 1, self._n + 2):
            dims = f"{self._n + 1}D (unbatched) or {self._n + 2}D (batched)"
            raise RuntimeError(f"Expected {dims} input to {type(self).__name__}, but got input of size: {input.shape}")
        return int(input.shape[1] if input.ndim == self._n + 2 else input.shape[0])


class LazyConv1d(_LazyConv, conv.Conv1d, becomes=conv.Conv1d):
    """:class:`Conv1d`, whose ``in_channels`` are those of the first input."""


class LazyConv2d(_LazyConv, conv.Conv2d, becomes=conv.Conv2d):
    """:class:`Conv2d`, whose ``in_channels`` are those of the first input."""


class LazyConv3d(_LazyConv, conv.Conv3d, becomes=conv.Conv3d):
    """:class:`Conv3d`, whose ``in_channels`` are those of the first input."""


class _LazyConvTranspose(_LazyConv):
    """Base of lazy transposed convolutions."""

    def __init__(
        self, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
        groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        options = (output_padding, groups, False, dilation, padding_mode, device, dtype)
        super(_LazyConv, self).__init__(0, 0, kernel_size, stride, padding, *options)
        self.out_channels = out_channels
        self._forget_parameters(bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTranspose, conv.ConvTranspose1d, becomes=conv.ConvTranspose1d):
    """:class:`ConvTranspose1d`, whose ``in_channels`` are those of the first input."""


class LazyConvTranspose2d(_LazyConvTranspose, conv.ConvTranspose2d, becomes=conv.ConvTranspose2d):
    """:class:`ConvTranspose2d`, whose ``in_channels`` are those of the first input."""


class LazyConvTranspose3d(_LazyConvTranspose, conv.ConvTranspose3d, becomes=conv.ConvTranspose3d):
    """:class:`ConvTranspose3d`, whose ``in_channels`` are those of the first input."""


class _LazyNorm(_Lazy, _NormBase):
    """Base of lazy normalization: all options except the number of features are given."""

    _size = "num_features"
    running_mean: Any
    running_var: Any

    def __init_subclass__(cls, becomes: type[_NormBase] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(becomes, **kwargs)
        if becomes is not None:
            cls._dims = becomes._dims

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self._forget_parameters(bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:
        """Create the parameters and statistics for an input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for _, value in self._own_tensors():
            if isinstance(value, (UninitializedParameter, UninitializedBuffer)):
                value.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, _BatchNorm, becomes=norms.BatchNorm1d):
    """:class:`BatchNorm1d`, whose ``num_features`` are those of the first input."""


class LazyBatchNorm2d(_LazyNorm, _BatchNorm, becomes=norms.BatchNorm2d):
    """:class:`BatchNorm2d`, whose ``num_features`` are those of the first input."""


class LazyBatchNorm3d(_LazyNorm, _BatchNorm, becomes=norms.BatchNorm3d):
    """:class:`BatchNorm3d`, whose ``num_features`` are those of the first input."""


class LazyInstanceNorm1d(_LazyNorm, _InstanceNorm, becomes=norms.InstanceNorm1d):
    """:class:`InstanceNorm1d`, whose ``num_features`` are those of the first input."""


class LazyInstanceNorm2d(_LazyNorm, _InstanceNorm, becomes=norms.InstanceNorm2d):
    """:class:`InstanceNorm2d`, whose ``num_features`` are those of the first input."""


class LazyInstanceNorm3d(_LazyNorm, _InstanceNorm, becomes=norms.InstanceNorm3d):
    """:class:`InstanceNorm3d`, whose ``num_features`` are those of the first input."""
