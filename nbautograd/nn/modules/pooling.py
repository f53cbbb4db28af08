"""Pooling layers: each window of the input is reduced to one element of the output."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd.nn import functional as F  # noqa: N812
from nbautograd.nn.modules._options import Layer
from nbautograd.nn.modules.utils import _ntuple as tuples

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip

Ints = int | tuple[int, ...]


def _windows_of(n: int) -> dict[str, Any]:
    """Return the conversions of the options of windows to tuples of ``n`` numbers."""
    return dict.fromkeys(("kernel_size", "stride", "padding"), tuples(n))


class _Windows(Layer):
    """Base of pooling layers; the stride is the kernel size by default."""

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["stride"] is None:
            options["stride"] = options["kernel_size"]
        return options


class _MaxPoolNd(_Windows, shared=True, show="kernel_size stride padding dilation ceil_mode"):
    """The maximum of each window."""

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    dilation: Ints = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d):
    """The maximum of each window: input of shape (n, c, l) or (c, l)."""


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d):
    """The maximum of each window: input of shape (n, c, h, w) or (c, h, w)."""


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d):
    """The maximum of each window: input of shape (n, c, d, h, w) or (c, d, h, w)."""


class _AvgPoolNd(_Windows, shared=True, show="kernel_size stride padding"):
    """The mean of each window."""

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


class AvgPool1d(_AvgPoolNd, function=F.avg_pool1d, convert=_windows_of(1)):
    """The mean of each window: input of shape (n, c, l) or (c, l)."""


class AvgPool2d(_AvgPoolNd, function=F.avg_pool2d):
    """The mean of each window: input of shape (n, c, h, w) or (c, h, w)."""

    divisor_override: int | None = None


class AvgPool3d(_AvgPoolNd, function=F.avg_pool3d):
    """The mean of each window: input of shape (n, c, d, h, w) or (c, d, h, w)."""

    divisor_override: int | None = None


class _LPPoolNd(Layer, shared=True, show="norm_type kernel_size stride ceil_mode"):
    """The p-norm of each window."""

    norm_type: float
    kernel_size: Ints
    stride: Ints | None = None
    ceil_mode: bool = False


class LPPool1d(_LPPoolNd, function=F.lp_pool1d):
    """The p-norm of each window: input of shape (n, c, l) or (c, l)."""


class LPPool2d(_LPPoolNd, function=F.lp_pool2d):
    """The p-norm of each window: input of shape (n, c, h, w) or (c, h, w)."""


class LPPool3d(_LPPoolNd, function=F.lp_pool3d):
    """The p-norm of each window: input of shape (n, c, d, h, w) or (c, d, h, w)."""


class _AdaptiveAvgPoolNd(Layer, shared=True, show="output_size"):
    """Average pooling to a result of a given size."""

    output_size: Any


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool1d):
    """Average pooling to a result of a given size: input of shape (n, c, l) or (c, l)."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool2d):
    """Average pooling to a result of a given size: input of shape (n, c, h, w) or (c, h, w)."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool3d):
    """Average pooling to a result of a given size: input of shape (n, c, d, h, w) or (c, d, h, w)."""


class _AdaptiveMaxPoolNd(Layer, shared=True, show="output_size"):
    """Max pooling to a result of a given size."""

    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool1d):
    """Max pooling to a result of a given size: input of shape (n, c, l) or (c, l)."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool2d):
    """Max pooling to a result of a given size: input of shape (n, c, h, w) or (c, h, w)."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool3d):
    """Max pooling to a result of a given size: input of shape (n, c, d, h, w) or (c, d, h, w)."""


class _MaxUnpoolNd(_Windows, shared=True, show="kernel_size stride padding"):
    """The inverse of a pooling with ``return_indices=True``: elements in their original places, zeros elsewhere."""

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Any:
        """Return the unpooled input; ``output_size`` selects one of the possible sizes."""
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd, function=F.max_unpool1d, convert=_windows_of(1)):
    """The partial inverse of :class:`MaxPool1d`: maxima in their original places, zeros elsewhere."""


class MaxUnpool2d(_MaxUnpoolNd, function=F.max_unpool2d, convert=_windows_of(2)):
    """The partial inverse of :class:`MaxPool2d`: maxima in their original places, zeros elsewhere."""


class MaxUnpool3d(_MaxUnpoolNd, function=F.max_unpool3d, convert=_windows_of(3)):
    """The partial inverse of :class:`MaxPool3d`: maxima in their original places, zeros elsewhere."""


def _results_of(n: int) -> dict[str, Any]:
    """Return the conversions of the options of fractional pooling, of which one is None."""
    sizes = dict.fromkeys(("output_size", "output_ratio"), lambda size: None if size is None else tuples(n)(size))
    return {"kernel_size": tuples(n), **sizes}


class _FractionalMaxPoolNd(Layer, shared=True, buffers="_random_samples"):
    kernel_size: Ints
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Tensor | None = None

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        name, ratio = type(self).__name__, options["output_ratio"]
        if (options["output_size"] is None) == (ratio is None):
            raise ValueError(f"{name} requires specifying one of output_size and output_ratio, and only one")
        if ratio is not None and not all(0 < r < 1 for r in tuples(1)(ratio)):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")
        return options


class FractionalMaxPool2d(_FractionalMaxPoolNd, function=F.fractional_max_pool2d, convert=_results_of(2)):
    """The maxima of windows at random steps (Graham, "Fractional max-pooling", 2015): shape (n, c, h, w)."""


class FractionalMaxPool3d(_FractionalMaxPoolNd, function=F.fractional_max_pool3d, convert=_results_of(3)):
    """The maxima of windows at random steps (Graham, 2015): input of shape (n, c, d, h, w)."""
