"""Interpolation (resizing) of images, pixel shuffle and channel shuffle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays.size import MAX_INT64, as_int
from nbautograd._engine.arrays.strides import images_like
from nbautograd._engine.compiler.op import no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.signal.interpolate import Array, WeightTable, declare
from nbautograd.errors import ShapeError, UnsupportedDtypeError, kind_of, warn
from nbautograd.nn.functional.adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = [
    "channel_shuffle", "interpolate", "pixel_shuffle", "pixel_unshuffle", "upsample", "upsample_bilinear",
    "upsample_nearest",
]  # fmt: skip

_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
_SAMPLERS: dict[tuple[str, int], Any] = {("bicubic", 2): declare("UpsampleBicubic2DBackward0", "upsample_bicubic2d")}
for _n in (1, 2, 3):
    _SAMPLERS["nearest", _n] = declare(f"UpsampleNearest{_n}DBackward0", f"upsample_nearest{_n}d")
    _SAMPLERS["nearest-exact", _n] = declare(f"UpsampleNearestExact{_n}DBackward0", f"upsample_nearest_exact{_n}d")
    _name = _LINEAR[_n]
    _SAMPLERS[_name, _n] = declare(f"Upsample{_name.title()}{_n}DBackward0", f"upsample_{_name}{_n}d")
for _name in ("bilinear", "bicubic"):
    _SAMPLERS[_name + " aa", 2] = declare(f"Upsample{_name.title()}2DAaBackward0", f"upsample_{_name}2d_aa")


def _nearest(n: int, m: int, scale: float, exact: bool) -> Array:
    """Return the old element nearest to each of ``m`` new ones, in single precision as in PyTorch."""
    i = np.arange(m, dtype=np.float32) + np.float32(0.5 if exact else 0)
    return np.minimum((i * np.float32(scale)).astype(np.int64), n - 1)[:, None]


def _source(n: int, m: int, scale: float, align: bool, kind: Any) -> Array:
    """Return the source position of each new element, in units of old elements."""
    i = np.arange(m, dtype=kind)
    if align:
        return i * kind.type((n - 1) / (m - 1) if m > 1 else 0)
    return (i + kind.type(0.5)) * kind.type(scale) - kind.type(0.5)


def _linear(n: int, m: int, scale: float, align: bool, kind: Any) -> tuple[Array, Array]:
    """Return the two old elements around each new one, and their weights."""
    at = np.maximum(_source(n, m, scale, align, kind), 0)
    low = np.minimum(at.astype(np.int64), n - 1)
    share = np.clip(at - low, 0, 1)
    return np.stack([low, np.minimum(low + 1, n - 1)], 1), np.stack([1 - share, share], 1)


def cubic(x: Any, a: float = -0.75) -> Any:
    """Return Keys's cubic convolution kernel (1981) at distances ``x``."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _cubic(n: int, m: int, scale: float, align: bool, kind: Any) -> tuple[Array, Array]:
    """Return the four old elements around each new one, and their shares."""
    at = _source(n, m, scale, align, kind)
    low = np.floor(at)
    offsets = np.arange(-1, 3)
    weight = cubic((at - low)[:, None] - offsets.astype(kind))
    return np.clip(low.astype(np.int64)[:, None] + offsets, 0, n - 1), weight.astype(kind)


def _smooth(n: int, m: int, scale: float, kernel: Callable[[Any], Any], reach: int) -> tuple[Array, Array]:
    """Return all old elements within reach of each new one: the kernel widens for smaller images, against aliasing."""
    stretch = max(scale, 1.0)
    center = (np.arange(m) + 0.5) * scale
    start = np.maximum((center - reach * stretch + 0.5).astype(np.int64), 0)
    end = np.minimum((center + reach * stretch + 0.5).astype(np.int64), n)
    at = start[:, None] + np.arange(int((end - start).max()))
    weight = np.where(at < end[:, None], kernel((at - center[:, None] + 0.5) / stretch), 0)
    return np.minimum(at, n - 1), weight / weight.sum(1, keepdims=True)


def _table(mode: str, d: int, n: int, m: int, scale: float, align: bool, kind: Any) -> WeightTable:
    """Return the indices and weights that resize dimension ``d`` from ``n`` to ``m``."""
    if mode.startswith("nearest"):
        return WeightTable(d, _nearest(n, m, scale, mode == "nearest-exact"), None)
    smooth_scale = scale if not align else (n - 1) / (m - 1) if m > 1 else 0.0
    if mode == "bilinear aa":
        return WeightTable(d, *_smooth(n, m, smooth_scale, lambda x: np.maximum(1 - np.abs(x), 0), 1))
    if mode == "bicubic aa":
        return WeightTable(d, *_smooth(n, m, smooth_scale, lambda x: cubic(x, -0.5), 2))
    return WeightTable(d, *(_cubic if mode == "bicubic" else _linear)(n, m, scale, align, kind))


MODES = ("nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic", "trilinear")


def _check_mode(mode: str, n: int, antialias: bool, align_corners: Any) -> None:
    if antialias and (mode not in ("bilinear", "bicubic") or n != 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input, got "
            f"mode {mode!r} and {n + 2}-D"
        )
    if n not in (1, 2, 3) or mode not in MODES:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {n + 2}D) for the modes: "
            f"{' | '.join(MODES)} (got {mode})"
        )
    wanted = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode, n)
    if n != wanted:
        raise NotImplementedError(f"Got {n + 2}D input, but {mode} mode needs {wanted + 2}D input")
    if not isinstance(align_corners, (bool, type(None))):
        raise TypeError(f"interpolate(): argument 'align_corners' must be bool, not {kind_of(align_corners)}")


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Resize an image, a row or a volume.

    :param size: the new size; or pass ``scale_factor``, a factor of the old size, rounded down.
    :param mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` (one dimension), ``"bilinear"``, ``"bicubic"`` (two),
        ``"trilinear"`` (three) or ``"area"``.
    :param align_corners: whether the centers of the corners' elements keep their positions, not their edges.
    :param recompute_scale_factor: compute positions from the rounded sizes instead of the scale factor.
    :param antialias: for ``"bilinear"`` and ``"bicubic"``, smooth before shrinking.
    :raises ValueError: sizes and options do not fit each other.

    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 3.]]]), size=3, mode="linear", align_corners=True)
    tensor([[[1., 2., 3.]]])
    """
    check_tensors("interpolate", input=input)
    n = input._a.ndim - 2
    old = input._a.shape[2:]
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
            f"trilinear, got mode {mode!r}"
        )
    align = bool(align_corners)
    new, scales = _sizes(old, size, scale_factor, recompute_scale_factor)
    _check_mode(mode, n, antialias, align_corners)
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1](input, new)
    if not input._a.shape[1]:
        raise RuntimeError(
            f"interpolate(): Non-empty {n + 2}D data tensor expected but got a tensor with sizes {list(input._a.shape)}"
        )
    if min(*old, *new) < 1:
        raise RuntimeError(f"interpolate(): Input and output sizes should be greater than 0, but got {old} and {new}")
    kind = input._a.dtype
    if not input.is_floating_point() and not (kind == np.uint8 and mode.startswith("nearest")):
        raise UnsupportedDtypeError("interpolate", input.dtype, "f")
    name = mode + " aa" * bool(antialias)
    options = enumerate(zip(old, new, scales, strict=True), 2)
    kind = np.dtype(np.float64 if kind == np.float64 else np.float32)
    tables = tuple(_table(name, d, a, b, a / b if s is None else 1 / s, align, kind) for d, (a, b, s) in options)
    return _SAMPLERS[name, n](input, tables)


def _sizes(
    old: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """Return the new size, and for each dimension the scale for positions; None means the ratio of the sizes."""
    if (size is None) == (scale_factor is None):
        which = "either" if size is None else "only one of"
        raise ValueError(f"interpolate(): {which} size or scale_factor should be defined")
    ratios = (None,) * len(old)
    if scale_factor is None:
        items = _per_dimension(old, "output", "size", size, (str, bool))
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if any(isinstance(m, float) for m in items):
            raise TypeError(f"interpolate(): argument 'size' must be int or tuple of ints, got {size!r}")
        return tuple(int(m) for m in items), ratios
    items = _per_dimension(old, "scale_factor", "scale_factor", scale_factor, (str,))
    if not all(map(math.isfinite, items)):
        raise RuntimeError("interpolate(): value cannot be converted to type int64_t without overflow")
    new = tuple(math.floor(m * s) for m, s in zip(old, items, strict=True))
    return new, ratios if recompute else tuple(float(s) for s in items)


def _per_dimension(
    old: tuple[int, ...], what: str, label: str, value: Any, unlike: tuple[type, ...]
) -> tuple[Any, ...]:
    """Return a number for each dimension of ``old``, none of the types ``unlike``."""
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(old)
    if any(isinstance(item, unlike) for item in items):
        raise TypeError(f"interpolate(): argument '{label}' must be tuple of numbers, not {kind_of(items[0])}")
    if len(items) != len(old):
        raise ValueError(
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(old)} and {label} of {items}"
        )
    return items


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Call :func:`interpolate`; deprecated name.

    >>> import nbautograd as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    _warn_former("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Call :func:`interpolate` with mode ``"nearest"``; deprecated name.

    >>> import nbautograd as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), 4)
    tensor([[[1., 1., 2., 2.]]])
    """
    _warn_former("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Call :func:`interpolate` with mode ``"bilinear"`` and aligned corners; deprecated name.

    >>> import nbautograd as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.nn.functional.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), (1, 3))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    _warn_former("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)


def _warn_former(name: str) -> None:
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


# -- channels and space ----------------------------------------------------------------------------------------------


@no_method(symbol="pixel shuffle", input="pixel_unshuffle(g, factor)", name="pixel_shuffle")
def _pixel_shuffle(input: Tensor, factor: int) -> Tensor:
    """Reshape (..., c r², h, w) to (..., c, h r, w r)."""
    *lead, c, h, w = input.shape
    n = len(lead)
    cells = input.reshape((*lead, c // factor**2, factor, factor, h, w))
    moved = cells.transpose((*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return images_like(moved.reshape((*lead, c // factor**2, h * factor, w * factor)).copy(), input)


@no_method(symbol="pixel unshuffle", input="pixel_shuffle(g, factor)", name="pixel_unshuffle")
def _pixel_unshuffle(input: Tensor, factor: int) -> Tensor:
    """Reshape (..., c, h r, w r) to (..., c r², h, w)."""
    *lead, c, h, w = input.shape
    n = len(lead)
    cells = input.reshape((*lead, c, h // factor, factor, w // factor, factor))
    moved = cells.transpose((*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return images_like(moved.reshape((*lead, c * factor**2, h // factor, w // factor)).copy(), input)


@no_method(symbol="channel shuffle", input="channel_shuffle(g, input.shape[1] // groups)", name="channel_shuffle")
def _channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Reorder channels: (n, groups c, ...) to (n, c groups, ...)."""
    n, c, *rest = input.shape
    return images_like(input.reshape((n, groups, c // groups, *rest)).swapaxes(1, 2).reshape(input.shape).copy(), input)


def _factor(name: str, input: Tensor, value: Any, label: str) -> int:
    """Return the factor of a shuffle of pixels, which is positive."""
    check_tensors(name, input=input)
    factor = as_int(value, f"{name}(): argument '{label}'")
    if (n := input._a.ndim) < 3:
        raise ShapeError(f"{name} expects input to have at least 3 dimensions, but got input with {n} dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {label}, but got {factor}")
    return factor


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Move channels into space: (..., c r², h, w) to (..., c, h r, w r) (Shi et al., 2016).

    :raises RuntimeError: the channels are not divisible by the square of the factor.

    >>> torch.nn.functional.pixel_shuffle(torch.arange(4).reshape(4, 1, 1), 2)
    tensor([[[0, 1],
             [2, 3]]])
    """
    upscale_factor = _factor("pixel_shuffle", input, upscale_factor, "upscale_factor")
    if upscale_factor**2 > MAX_INT64:
        raise ValueError(f"pixel_shuffle(): upscale factor is too large, its square overflowed: {upscale_factor=}")
    if input._a.shape[-3] % upscale_factor**2:
        raise ShapeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={input._a.shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return _pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Move space into channels: the inverse of :func:`pixel_shuffle`.

    :raises RuntimeError: height or width is not divisible by the factor.

    >>> torch.nn.functional.pixel_unshuffle(torch.arange(4).reshape(1, 2, 2), 2).shape
    torch.Size([4, 1, 1])
    """
    downscale_factor = _factor("pixel_unshuffle", input, downscale_factor, "downscale_factor")
    for label, d in (("height", -2), ("width", -1)):
        if input._a.shape[d] % downscale_factor:
            raise ShapeError(
                f"pixel_unshuffle expects {label} to be divisible by downscale_factor, but input.size({d})="
                f"{input._a.shape[d]} is not divisible by {downscale_factor}"
            )
    return _pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input: Tensor, groups: Any) -> Tensor:
    """Interleave the groups' channels: the first of each group, then the second of each (Zhang et al., 2018).

    :param input: shape (n, c, ...).
    :raises RuntimeError: ``groups`` does not divide the channels.

    >>> torch.nn.functional.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    check_tensors("channel_shuffle", input=input)
    groups = as_int(groups, "channel_shuffle(): argument 'groups' (position 2)")
    if input._a.ndim < 3:
        raise ShapeError(f"channel_shuffle expects input with > 2 dims, but got sizes {list(input._a.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if (c := input._a.shape[1]) % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return _channel_shuffle(input, groups)
