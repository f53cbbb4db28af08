"""Normalization over batches, instances, groups of channels and layers."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays.dtypes import int64
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty, ones, zeros
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd.nn import functional as F, init  # noqa: N812
from nbautograd.nn.modules._options import Layer
from nbautograd.nn.modules.linear import new_parameter
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LayerNorm", "LocalResponseNorm", "RMSNorm",
]  # fmt: skip


class _NormBase(Module):
    """Normalization of the channels by running or batch statistics.

    :param num_features: the number of channels.
    :param eps: a number added to the variances.
    :param momentum: the weight of a new mean in the running mean; None for the mean of all batches.
    :param affine: whether the layer has a weight and a bias.
    :param track_running_stats: whether to keep means and variances for evaluation.
    """

    _version = 2
    _dims: tuple[int, ...]

    def __init_subclass__(cls, dims: tuple[int, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if dims:
            cls._dims = dims

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, new_parameter(num_features, device=device, dtype=dtype, wanted=wanted))
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running means and variances."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the weight to ones, the bias to zeros, and the running statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._dims:
            raise ValueError(f"expected {' or '.join(f'{n}D' for n in self._dims)} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        """Return the options."""
        text = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
        return f"{text}bias={self.bias is not None}, track_running_stats={self.track_running_stats}"

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any, **kwargs: Any
    ) -> None:
        version = local_metadata.get("version")
        if self.track_running_stats and (version is None or version < 2):  # num_batches_tracked was not saved
            count = self.num_batches_tracked
            state_dict.setdefault(prefix + "num_batches_tracked", tensor(0, dtype=int64) if count is None else count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args, **kwargs)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input; in training, also update the running means and variances."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        own = self.training or self.running_mean is None and self.running_var is None
        kept = not self.training or self.track_running_stats
        statistics: tuple[Any, Any] = (self.running_mean, self.running_var) if kept else (None, None)
        return F.batch_norm(input, *statistics, self.weight, self.bias, own, factor, self.eps)


class BatchNorm1d(_BatchNorm, dims=(2, 3)):
    """Normalize the channels over a batch (Ioffe and Szegedy, 2015): input of shape (n, c) or (n, c, l)."""


class BatchNorm2d(_BatchNorm, dims=(4,)):
    """Normalize the channels over a batch (Ioffe and Szegedy, 2015): input of shape (n, c, h, w)."""


class BatchNorm3d(_BatchNorm, dims=(5,)):
    """Normalize the channels over a batch (Ioffe and Szegedy, 2015): input of shape (n, c, d, h, w)."""


class _InstanceNorm(_NormBase):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input."""
        self._check_input_dim(input)
        batched = input.ndim == self._dims[-1]
        channels = input.shape[1 if batched else 0]
        if channels != self.num_features and self.affine:
            wanted = f"dim={1 if batched else 0} to match num_features ({self.num_features})"
            raise ValueError(f"expected input's size at {wanted}, but got: {channels}.")
        x, own = input if batched else input.unsqueeze(0), self.training or not self.track_running_stats
        factor = 0.0 if self.momentum is None else self.momentum
        result = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, factor, self.eps)
        return result if batched else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm, dims=(2, 3)):
    """Normalize each channel of each element (Ulyanov et al., 2017): input of shape (n, c, l) or (c, l)."""


class InstanceNorm2d(_InstanceNorm, dims=(3, 4)):
    """Normalize each channel of each element (Ulyanov et al., 2017): input of shape (n, c, h, w) or (c, h, w)."""


class InstanceNorm3d(_InstanceNorm, dims=(4, 5)):
    """Normalize each channel of each element (Ulyanov et al., 2017): input (n, c, d, h, w) or (c, d, h, w)."""


class _Affine(Module):
    """Base of norms with an elementwise affine map: a weight of ones and a bias of zeros, each optional."""

    def _make(self, shape: tuple[int, ...], device: Any, dtype: Any, **wanted: bool) -> None:
        for name, is_wanted in wanted.items():
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if is_wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.__dict__["_parameters"].get("bias") is not None:
            init.zeros_(self.bias)


class GroupNorm(_Affine):
    """Normalize over groups of channels (Wu and He, 2018): input of shape (n, c, ...).

    :raises ValueError: the groups do not divide the channels.

    >>> torch.nn.GroupNorm(2, 4)(torch.arange(4.).reshape(1, 4)).detach()
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_groups <= 0:
            raise ValueError(f"num_groups must be positive, got {num_groups}")
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make((num_channels,), device, dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        text = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{text}, bias={self.bias is not None}"


def _as_shape(normalized_shape: Any) -> tuple[int, ...]:
    return tuple(normalized_shape) if hasattr(normalized_shape, "__iter__") else (normalized_shape,)


class LayerNorm(_Affine):
    """Normalize over the last dimensions (Ba et al., 2016).

    >>> torch.nn.LayerNorm(2)(torch.tensor([[1., 3.], [10., 30.]])).detach()
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        wanted = {"weight": elementwise_affine, "bias": elementwise_affine and bias}
        self._make(self.normalized_shape, device, dtype, **wanted)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        text = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return f"{text}, bias={self.bias is not None}"


class RMSNorm(_Affine):
    """Divide by the root of the mean square over the last dimensions (Zhang and Sennrich, 2019).

    :param eps: a number added to the mean square; the dtype's epsilon by default.

    >>> torch.nn.RMSNorm(2)(torch.tensor([[3., 4.]])).detach()
    tensor([[0.8485, 1.1314]])
    """

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make(self.normalized_shape, device, dtype, weight=elementwise_affine)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized input."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(
    Layer, function=F.local_response_norm, show="{0.size}, alpha={0.alpha}, beta={0.beta}, k={0.k}"
):
    """Divide by a power of the squares of the neighboring channels (Krizhevsky et al., 2012)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
