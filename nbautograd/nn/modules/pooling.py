"""Pooling layers: each window of the input is reduced to one element of the output."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd.nn import functional as F  # noqa: N812
from nbautograd.nn.modules._options import Layer, tuples

__all__ = [
    *(f"{kind}Pool{n}d" for kind in ("AdaptiveAvg", "AdaptiveMax", "Avg", "LP", "Max") for n in (1, 2, 3)),
    *("FractionalMaxPool2d", "FractionalMaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"),
]

Ints = int | tuple[int, ...]
MAX, AVG = "kernel_size stride padding dilation ceil_mode", "kernel_size stride padding"
LP, SIZE = "norm_type kernel_size stride ceil_mode", "output_size"


class _Windows(Layer):
    """Base of pooling layers; the stride is the kernel size by default."""

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["stride"] is None:
            options["stride"] = options["kernel_size"]
        return options


class MaxPool1d(_Windows, function=F.max_pool1d, show=MAX):
    """The maximum of each window: input of shape (n, c, l) or (c, l).

    >>> import nbautograd as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1., 3., 2., 0.]]))
    tensor([[3., 2.]])
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    dilation: Ints = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool2d(_Windows, function=F.max_pool2d, show=MAX):
    """The maximum of each window: input of shape (n, c, h, w) or (c, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.MaxPool2d(2)(torch.arange(4.).expand(1, 1, 4, 4)).flatten()[:2]
    tensor([1., 3.])
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    dilation: Ints = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool3d(_Windows, function=F.max_pool3d, show=MAX):
    """The maximum of each window: input of shape (n, c, d, h, w) or (c, d, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.MaxPool3d(2)(torch.arange(4.).expand(1, 1, 4, 4, 4)).flatten()[:2]
    tensor([1., 3.])
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    dilation: Ints = 1
    return_indices: bool = False
    ceil_mode: bool = False


SINGLE = dict.fromkeys(("kernel_size", "stride", "padding"), tuples(1))


class AvgPool1d(_Windows, function=F.avg_pool1d, show=AVG, convert=SINGLE):
    """The mean of each window: input of shape (n, c, l) or (c, l).

    >>> import nbautograd as torch
    >>> torch.nn.AvgPool1d(2)(torch.arange(4.).expand(1, 1, 4)).flatten()[:2]
    tensor([0.5000, 2.5000])
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


class AvgPool2d(_Windows, function=F.avg_pool2d, show=AVG):
    """The mean of each window: input of shape (n, c, h, w) or (c, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.AvgPool2d(2)(torch.arange(4.).expand(1, 1, 4, 4)).flatten()[:2]
    tensor([0.5000, 2.5000])
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None


class AvgPool3d(_Windows, function=F.avg_pool3d, show=AVG):
    """The mean of each window: input of shape (n, c, d, h, w) or (c, d, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.AvgPool3d(2)(torch.arange(4.).expand(1, 1, 4, 4, 4)).flatten()[:2]
    tensor([0.5000, 2.5000])
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None


class LPPool1d(Layer, function=F.lp_pool1d, show=LP):
    """The p-norm of each window: input of shape (n, c, l) or (c, l).

    >>> import nbautograd as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.ones(1, 1, 4)).shape
    torch.Size([1, 1, 2])
    """

    norm_type: float
    kernel_size: Ints
    stride: Ints | None = None
    ceil_mode: bool = False


class LPPool2d(Layer, function=F.lp_pool2d, show=LP):
    """The p-norm of each window: input of shape (n, c, h, w) or (c, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.LPPool2d(2, 2)(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])
    """

    norm_type: float
    kernel_size: Ints
    stride: Ints | None = None
    ceil_mode: bool = False


class LPPool3d(Layer, function=F.lp_pool3d, show=LP):
    """The p-norm of each window: input of shape (n, c, d, h, w) or (c, d, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.LPPool3d(2, 2)(torch.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 1, 2, 2, 2])
    """

    norm_type: float
    kernel_size: Ints
    stride: Ints | None = None
    ceil_mode: bool = False


class AdaptiveAvgPool1d(Layer, function=F.adaptive_avg_pool1d, show=SIZE):
    """Average pooling to a result of a given size: input of shape (n, c, l) or (c, l).

    >>> import nbautograd as torch
    >>> torch.nn.AdaptiveAvgPool1d(1)(torch.arange(4.).expand(1, 1, 4)).flatten()
    tensor([1.5000])
    """

    output_size: Any


class AdaptiveAvgPool2d(Layer, function=F.adaptive_avg_pool2d, show=SIZE):
    """Average pooling to a result of a given size: input of shape (n, c, h, w) or (c, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.AdaptiveAvgPool2d(1)(torch.arange(4.).expand(1, 1, 4, 4)).flatten()
    tensor([1.5000])
    """

    output_size: Any


class AdaptiveAvgPool3d(Layer, function=F.adaptive_avg_pool3d, show=SIZE):
    """Average pooling to a result of a given size: input of shape (n, c, d, h, w) or (c, d, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.AdaptiveAvgPool3d(1)(torch.arange(4.).expand(1, 1, 4, 4, 4)).flatten()
    tensor([1.5000])
    """

    output_size: Any


class AdaptiveMaxPool1d(Layer, function=F.adaptive_max_pool1d, show=SIZE):
    """Max pooling to a result of a given size: input of shape (n, c, l) or (c, l).

    >>> import nbautograd as torch
    >>> torch.nn.AdaptiveMaxPool1d(1)(torch.arange(4.).expand(1, 1, 4)).flatten()
    tensor([3.])
    """

    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool2d(Layer, function=F.adaptive_max_pool2d, show=SIZE):
    """Max pooling to a result of a given size: input of shape (n, c, h, w) or (c, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.AdaptiveMaxPool2d(1)(torch.arange(4.).expand(1, 1, 4, 4)).flatten()
    tensor([3.])
    """

    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool3d(Layer, function=F.adaptive_max_pool3d, show=SIZE):
    """Max pooling to a result of a given size: input of shape (n, c, d, h, w) or (c, d, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.AdaptiveMaxPool3d(1)(torch.arange(4.).expand(1, 1, 4, 4, 4)).flatten()
    tensor([3.])
    """

    output_size: Any
    return_indices: bool = False


class _Unpool(_Windows):
    """The inverse of a pooling with ``return_indices=True``: elements in their original places, zeros elsewhere."""

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Any:
        """Return the unpooled input; ``output_size`` selects one of the possible sizes."""
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_Unpool, function=F.max_unpool1d, show=AVG, convert=SINGLE):
    """The partial inverse of :class:`MaxPool1d`: maxima in their original places, zeros elsewhere.

    >>> import nbautograd as torch
    >>> pool = torch.nn.MaxPool1d(2, return_indices=True)
    >>> values, places = pool(torch.arange(4.).reshape(1, 1, 4))
    >>> torch.nn.MaxUnpool1d(2)(values, places).count_nonzero()
    tensor(2)
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0


class MaxUnpool2d(
    _Unpool, function=F.max_unpool2d, show=AVG, convert=dict.fromkeys(("kernel_size", "stride", "padding"), tuples(2))
):
    """The partial inverse of :class:`MaxPool2d`: maxima in their original places, zeros elsewhere.

    >>> import nbautograd as torch
    >>> pool = torch.nn.MaxPool2d(2, return_indices=True)
    >>> values, places = pool(torch.arange(16.).reshape(1, 1, 4, 4))
    >>> torch.nn.MaxUnpool2d(2)(values, places).count_nonzero()
    tensor(4)
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0


class MaxUnpool3d(
    _Unpool, function=F.max_unpool3d, show=AVG, convert=dict.fromkeys(("kernel_size", "stride", "padding"), tuples(3))
):
    """The partial inverse of :class:`MaxPool3d`: maxima in their original places, zeros elsewhere.

    >>> import nbautograd as torch
    >>> pool = torch.nn.MaxPool3d(2, return_indices=True)
    >>> values, places = pool(torch.arange(64.).reshape(1, 1, 4, 4, 4))
    >>> torch.nn.MaxUnpool3d(2)(values, places).count_nonzero()
    tensor(8)
    """

    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0


def _or_none(n: int) -> Any:
    return lambda value: None if value is None else tuples(n)(value)


class _Fractional(Layer):
    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        name, ratio = type(self).__name__, options["output_ratio"]
        if (options["output_size"] is None) == (ratio is None):
            raise ValueError(f"{name} requires specifying one of output_size and output_ratio, and only one")
        if ratio is not None and not all(0 < r < 1 for r in tuples(1)(ratio)):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")
        return options


class FractionalMaxPool2d(
    _Fractional,
    function=F.fractional_max_pool2d,
    convert={"kernel_size": tuples(2), "output_size": _or_none(2), "output_ratio": _or_none(2)},
    buffers="_random_samples",
):
    """The maxima of windows at random steps (Graham, "Fractional max-pooling", 2015): shape (n, c, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.FractionalMaxPool2d(2, output_size=3)(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 3, 3])
    """

    kernel_size: Ints
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Tensor | None = None


class FractionalMaxPool3d(
    _Fractional,
    function=F.fractional_max_pool3d,
    convert={"kernel_size": tuples(3), "output_size": _or_none(3), "output_ratio": _or_none(3)},
    buffers="_random_samples",
):
    """The maxima of windows at random steps (Graham, 2015): input of shape (n, c, d, h, w).

    >>> import nbautograd as torch
    >>> torch.nn.FractionalMaxPool3d(2, output_size=2)(torch.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 1, 2, 2, 2])
    """

    kernel_size: Ints
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Tensor | None = None
