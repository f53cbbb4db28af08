"""``grid_sample`` and ``affine_grid``: images sampled at the positions of a grid."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.compiler.op import derivative_helper, no_method, op
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape.joining import stack_same
from nbautograd.errors import DtypeError, ShapeError, warn
from nbautograd.nn.functional._common import floating_only

__all__ = ["affine_grid", "grid_sample"]

Ints = tuple[int, ...]
Options = tuple[str, str, bool]
"""The mode, the padding mode, and whether corners are aligned."""


# -- positions -------------------------------------------------------------------------------------------------------


def _position(x: Any, size: int, align: bool) -> Any:
    """Return the position among ``size`` elements of a coordinate in [-1, 1]."""
    return (x + 1) * ((size - 1) / 2) if align else ((x + 1) * size - 1) / 2


def _reflected(x: Any, size: int, align: bool) -> tuple[Any, Any]:
    """Return a position reflected at the ends as often as needed, and the sign that its derivative gets."""
    low, high = (0, size - 1) if align else (-0.5, size - 0.5)
    if low == high:
        return x * 0, x * 0
    span = high - low
    sign = np.where(x < low, -1, 1)
    away = np.abs(x - low)
    rest = np.fmod(away, span)
    odd = np.floor(away / span) % 2 != 0
    return np.where(odd, span - rest, rest) + low, np.where(odd, -sign, sign)


def _clipped(x: Any, size: int) -> tuple[Any, Any]:
    """Clip a position to the ends, and return it with its derivative."""
    return np.minimum(np.maximum(x, 0), size - 1), (x > 0) & (x < size - 1)


def _kept(x: Any, size: int, outside: str, align: bool) -> tuple[Any, Any]:
    """Move a position inside if ``outside`` says so, and return it with its derivative."""
    if outside == "border":
        return _clipped(x, size)
    if outside == "reflection":
        x, sign = _reflected(x, size, align)
        x, inside = _clipped(x, size)
        return x, sign * inside
    return x, np.ones_like(x)


CUBIC = -0.75
_NEAR = [1, 0, -(CUBIC + 3), CUBIC + 2]  # coefficients, the constant first
_FAR = [-4 * CUBIC, 8 * CUBIC, -5 * CUBIC, CUBIC]


def _cubic(x: Any, offset: int, order: int) -> Any:
    """Return a derivative of Keys's kernel at the distance of a tap from a position ``x`` after the second of four."""
    sign = 1 if offset <= 0 else -1
    coefficients = _NEAR if offset in (0, 1) else _FAR
    for _ in range(order):
        coefficients = [power * c for power, c in enumerate(coefficients)][1:]
    distance = (x - offset) * sign
    result = distance * 0
    for c in reversed(coefficients):
        result = result * distance + c
    return result * sign**order


def _taps(x: Any, size: int, options: Options, order: int) -> list[tuple[Any, Any]]:
    """Return the elements around a position: their indices and their weights, or a derivative of the weights."""
    mode, outside, align = options
    if mode == "bicubic":
        low = np.floor(x)
        share = x - low
        return [(_kept(low + i, size, outside, align)[0], _cubic(share, i, order)) for i in (-1, 0, 1, 2)]
    x = _kept(x, size, outside, align)[0]
    if mode == "nearest":
        return [(np.rint(x), np.ones_like(x) if order == 0 else np.zeros_like(x))]
    low = np.floor(x)
    share = x - low
    if order > 1:
        return [(low, np.zeros_like(x))]
    return [(low, 1 - share), (low + 1, share)] if order == 0 else [(low, -np.ones_like(x)), (low + 1, np.ones_like(x))]


def _elements(grid: Any, size: Ints, options: Options, orders: Ints) -> Any:
    """Yield the flat indices of elements, (n, points), and their weights, for each combination of taps."""
    n = len(size)
    points = grid.reshape((grid.shape[0], -1, n))
    taps: list[list[tuple[Any, Any]]] = []
    for d, (m, order) in enumerate(zip(size, orders, strict=True)):
        taps.append([])
        for index, share in _taps(_position(points[..., n - 1 - d], m, options[2]), m, options, order):
            inside = (index >= 0) & (index <= m - 1)  # nan is not
            taps[d].append((np.where(inside, index, 0).astype(np.int64), np.where(inside, share, 0)))
    for (flat, weight), *others in itertools.product(*taps):
        for (index, share), m in zip(others, size[1:], strict=True):
            flat, weight = flat * m + index, weight * share
        yield flat, weight


# -- the operations --------------------------------------------------------------------------------------------------

# The map is linear in the image, and its derivative by a position is that map with the derivative of the weights.
# ``orders`` counts the differentiations of the weights along each dimension, so all higher derivatives exist.


def _sampler(input: Tensor, grid: Tensor, options: Options, orders: Ints) -> Tensor:
    """Sample (n, c, *size) at the positions (n, *out, dims): (n, c, *out)."""
    n, c, *size = input.shape
    image = input.reshape((n, c, -1))
    output = np.zeros_like(input, shape=(n, c, math.prod(grid.shape[1:-1])), order="C")
    for flat, weight in _elements(grid, tuple(size), options, orders):
        output += np.take_along_axis(image, flat[:, None], 2) * weight[:, None]
    return output.reshape((n, c, *grid.shape[1:-1]))


_FORMULAS = {
    "input": "grid_spread(g, grid, input.shape, options, orders)",
    "grid": "grid_slopes(g, input, grid, options, orders)",
}
_SAMPLERS = {
    n: op(node=f"GridSampler{n}DBackward0", symbol="grid sample", method=False, name=f"grid_sampler_{n}d", **_FORMULAS)(
        _sampler
    )
    for n in (2, 3)
}


@no_method(
    node="GridSamplerBackwardBackward0",
    symbol="grid sample",
    input="grid_sampler_2d(g, grid, options, orders)",
    grid="grid_slopes(input, g, grid, options, orders)",
)
def grid_spread(input: Tensor, grid: Tensor, shape: Any, options: Options, orders: Ints) -> Tensor:
    """Compute the transpose in the image: add (n, c, *out) to the sampled elements."""
    n, c, *size = shape
    width = math.prod(size)
    output = np.zeros_like(input, shape=(n * c * width,), order="C")
    values = input.reshape((n, c, -1))
    first = backend.module(backend.device_of(input)).arange(n * c).reshape((n, c, 1)) * width
    for flat, weight in _elements(grid, tuple(size), options, orders):
        backend.add_at(output, ((flat[:, None] + first).reshape((-1,)),), (values * weight[:, None]).reshape((-1,)))
    return output.reshape(shape)


@no_method()
def position_slope(grid: Tensor, axis: int, size: int, options: Options) -> Tensor:
    """Compute the derivative of a position by its coordinate; it is piecewise constant."""
    mode, outside, align = options
    x = grid[..., grid.shape[-1] - 1 - axis]
    factor = (size - 1) / 2 if align else size / 2
    slope = np.ones_like(x) if mode == "bicubic" else _kept(_position(x, size, align), size, outside, align)[1]
    return (slope * factor).astype(grid.dtype)


@derivative_helper
def grid_slopes(g: Any, input: Any, grid: Any, options: Options, orders: Ints) -> Any:
    """Compute the gradient of the grid."""
    parts = []
    for d in range(len(orders) - 1, -1, -1):
        raised = tuple(order + (e == d) for e, order in enumerate(orders))
        along = grid_sampler_2d(input, grid, options, raised)  # type: ignore[name-defined]  # noqa: F821
        parts.append((g * along).sum(1) * position_slope(grid, d, input.shape[2 + d], options))
    return stack_same(parts, len(parts[0].shape))


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Sample an image, or a volume, at the positions of a grid.

    :param input: shape (n, c, h, w), or (n, c, d, h, w).
    :param grid: shape (n, oh, ow, 2), positions (x, y) from -1 to 1; or (n, od, oh, ow, 3) with (x, y, z).
    :param mode: ``"bilinear"``, ``"nearest"`` or, for images, ``"bicubic"``.
    :param padding_mode: the values outside: ``"zeros"``, ``"border"`` or ``"reflection"``.
    :param align_corners: whether -1 and 1 are the centers of the corners' elements, not their outer edges.
    :raises ValueError: a mode is invalid.

    >>> image, centre = torch.tensor([[[[1., 2.], [3., 4.]]]]), torch.zeros(1, 1, 1, 2)
    >>> torch.nn.functional.grid_sample(image, centre, align_corners=False)
    tensor([[[[2.5000]]]])
    """
    check_tensors("grid_sample", input=input, grid=grid)
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: {padding_mode!r}"
        )
    if align_corners is None:
        _warn_corners("grid_sample")
        align_corners = False
    a, at = input._a.shape, grid._a.shape
    if not a or not at:
        raise IndexError("grid_sampler(): Dimension specified as 0 but tensor has no dimensions")
    if len(a) not in (4, 5) or len(at) != len(a):
        raise ShapeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions (and grid to have size "
            f"{len(a) - 2} in last dimension), but got input with sizes {list(a)} and grid with sizes {list(at)}"
        )
    if at[0] != a[0]:
        sizes = f"input with sizes {list(a)} and grid with sizes {list(at)}"
        raise ShapeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    n = len(a) - 2
    if at[-1] != n:
        raise ShapeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes {list(at)}"
        )
    if 0 in a[2:]:
        raise ShapeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but got {list(a)}")
    if mode == "bicubic" and n == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    floating_only("grid_sample", input)
    if input._a.dtype != grid._a.dtype:
        kinds = f"{dtypes.scalar_type(input.dtype)} but found {dtypes.scalar_type(grid.dtype)}"
        raise DtypeError(f"grid_sample(): expected scalar type {kinds} for grid")
    return _SAMPLERS[n](input, grid, (mode, padding_mode, bool(align_corners)), (0,) * n)


def _warn_corners(name: str) -> None:
    warn(f"{name}(): the default of align_corners is False (it was True before PyTorch 1.3.0); give it to be clear.")


@no_method(
    node="AffineGridGeneratorBackward0",
    symbol="affine grid",
    theta="bmm(transpose(g.reshape((g.shape[0], -1, theta.shape[1])), 1, 2), expanded_base(g, base))",
)
def _affine_grid(theta: Tensor, base: Tensor, out: Ints) -> Tensor:
    """Map points (p, dims + 1) by matrices (n, dims, dims + 1)."""
    return np.matmul(base, theta.swapaxes(1, 2)).reshape((theta.shape[0], *out, theta.shape[1]))


@derivative_helper
def expanded_base(g: Any, base: Any) -> Any:
    """Return the points once for each matrix."""
    return spread(base.reshape((1, *base.shape)), (g.shape[0], *base.shape), 0, True)  # type: ignore[name-defined]  # noqa: F821


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Return the grid of affine maps for :func:`grid_sample`.

    :param theta: matrices, shape (n, 2, 3), or (n, 3, 4) for volumes.
    :param size: the size of the result of :func:`grid_sample`: (n, c, h, w), or (n, c, d, h, w).
    :param align_corners: whether -1 and 1 are the centers of the corners' elements, not their outer edges.
    :returns: shape (n, h, w, 2), or (n, d, h, w, 3).
    :raises ValueError: the shapes or dtypes do not fit.
    :raises NotImplementedError: the length of ``size`` is neither 4 nor 5.

    >>> torch.nn.functional.affine_grid(torch.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    check_tensors("affine_grid", theta=theta)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype!r}")
    size = tuple(int(n) for n in size)
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms. Got size {size}."
        )
    dims = len(size) - 2
    if theta._a.ndim != 3 or theta._a.shape[1:] != (dims, dims + 1):
        shape = f"Nx{dims}x{dims + 1} for size {size}. Got {list(theta._a.shape)}"
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape {shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners is None:
        _warn_corners("affine_grid")
    axes = []
    for m in size[2:]:
        points = np.linspace(-1, 1, m) if m > 1 else np.zeros(1)
        axes.append(points if align_corners else points * ((m - 1) / m))
    columns = [a.ravel() for a in np.meshgrid(*axes, indexing="ij")][::-1]
    base = np.stack([*columns, np.ones(len(columns[0]))], 1)
    on_device = wrap_known(backend.module(theta.device).asarray(base)).to(theta.dtype)
    return _affine_grid(theta, on_device, size[2:])
