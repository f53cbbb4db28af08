"""Layers that arrange or resample elements, and distances between rows."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.shape import flatten
from nbautograd.nn import functional as F  # noqa: N812
from nbautograd.nn.modules._options import Layer
from nbautograd.nn.modules.module import Module

__all__ = [
    "ChannelShuffle", "CosineSimilarity", "Flatten", "Fold", "PairwiseDistance", "PixelShuffle", "PixelUnshuffle",
    "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip


class Flatten(Layer, function=flatten, show="start_dim end_dim"):
    """Several dimensions as one; by default all but the first.

    >>> torch.nn.Flatten()(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    start_dim: int = 1
    end_dim: int = -1


class Unflatten(Module):
    """One dimension as several.

    :raises TypeError: a size is not an integer.

    >>> torch.nn.Unflatten(1, (2, 3))(torch.ones(4, 6)).shape
    torch.Size([4, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("Unflatten: named dimensions are not supported: invalid combination of arguments")
        if not isinstance(unflattened_size, (tuple, list)):
            kind = type(unflattened_size).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {kind}")
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                kind = type(size).__name__
                raise TypeError(f"unflattened_size must be tuple of ints, but found element of type {kind} at pos {i}")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """Return the input in the new shape."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the dimension and its new sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(Layer, function=F.pixel_shuffle, show="upscale_factor"):
    """Channels as pixels: (n, c r², h, w) to (n, c, h r, w r) (Shi et al., 2016)."""

    upscale_factor: int


class PixelUnshuffle(Layer, function=F.pixel_unshuffle, show="downscale_factor"):
    """Pixels as channels: (n, c, h r, w r) to (n, c r², h, w)."""

    downscale_factor: int


class ChannelShuffle(Layer, function=F.channel_shuffle, show="groups"):
    """The channels of all groups in turn (Zhang et al., "ShuffleNet", 2017)."""

    groups: int


class Unfold(Layer, function=F.unfold, show="kernel_size dilation padding stride"):
    """The windows of a batch of images as columns: (n, c, h, w) to (n, c k, windows)."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class Fold(Layer, function=F.fold, show="output_size kernel_size dilation padding stride"):
    """Columns added up as windows of images, the reverse of :class:`Unfold`."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class CosineSimilarity(Layer, function=F.cosine_similarity, inputs="x1 x2"):
    """The cosine of the angle between vectors along a dimension."""

    dim: int = 1
    eps: float = 1e-8


class PairwiseDistance(Module):
    """The p-norm of the differences between vectors.

    >>> torch.nn.PairwiseDistance()(torch.tensor([[3., 0.]]), torch.tensor([[0., 4.]]))
    tensor([5.])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the distances along the last dimension."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class Upsample(Module):
    """Resampling to another size.

    :param size: the sizes of the result after batch and channels.

    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1., 2.]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return the resampled input."""
        options = (self.mode, self.align_corners, self.recompute_scale_factor)
        return F.interpolate(input, self.size, self.scale_factor, *options)

    def extra_repr(self) -> str:
        """Return the size or the factor, and the mode."""
        about = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{about}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizing of images: each pixel is the nearest old one.

    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.tensor([[[[1., 2.]]]]))
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizing of images: each pixel interpolates four old ones; corners keep their values.

    >>> torch.nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1., 2.]]]]))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
