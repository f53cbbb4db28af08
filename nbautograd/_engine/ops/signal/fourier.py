"""Discrete Fourier transforms along one or several dimensions, of complex, real and Hermitian signals.

All are built from three operations: complex to complex, real to complex, and Hermitian (half of it) to real. The
adjoint of a transform is the inverse transform with the opposite normalization, which gives all derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import as_int, dimension
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import check_option, composite, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.complex import conj
from nbautograd._engine.ops.indexing.gather import crop_like, pad_like
from nbautograd._engine.ops.queries import check_tensors
from nbautograd.errors import DtypeError

__all__: list[str] = []

Sizes = int | Sequence[int] | None
Dims = int | Sequence[int] | None
Ints = int | Sequence[int]

FLIPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""For each normalization, the one that gives the inverse transform the same factor."""


# -- the operations --------------------------------------------------------------------------------------------------


@no_method(symbol="ℱ", input="_fft_c2c(g, dims, FLIPPED[norm], not forward)")
def _fft_c2c(input: Tensor, dims: tuple[int, ...], norm: str, forward: bool) -> Tensor:
    """Return the complex-to-complex transform, forward or inverse."""
    if not dims:
        return input.copy()
    transform = np.fft.fftn if forward else np.fft.ifftn
    return _rows_first(transform(input, None, dims, norm), dims)


def _rows_first(a: Any, dims: tuple[int, ...]) -> Any:
    """Return a transformed array in row-major order if its rows (last dimension) were transformed."""
    return row_major(a) if a.ndim - 1 in dims else a


@no_method(symbol="ℱ", input="real(_fft_c2c(pad_like(g, input.shape) if onesided else g, dims, FLIPPED[norm], False))")
def _fft_r2c(input: Tensor, dims: tuple[int, ...], norm: str, onesided: bool) -> Tensor:
    """Return the real-to-complex forward transform; if ``onesided``, half of it along the last of ``dims``."""
    transform = np.fft.rfftn if onesided else np.fft.fftn
    return _rows_first(transform(input, None, dims, norm), dims)


@no_method(symbol="ℱ⁻¹", input="hermitian_twice(_fft_r2c(g, dims, FLIPPED[norm], True), dims[-1], length)")
def _fft_c2r(input: Tensor, dims: tuple[int, ...], norm: str, length: int) -> Tensor:
    """Transform half a Hermitian signal, complex to real, to ``length`` elements along ``dims[-1]``."""
    inner = np.fft.ifftn(input, None, dims[:-1], norm) if len(dims) > 1 else input
    return _rows_first(np.fft.irfft(inner, length, dims[-1], norm), dims)


@no_method(node="MulBackward0", symbol="×2", input="hermitian_twice(g, dim, length)")
def hermitian_twice(input: Tensor, dim: int, length: int) -> Tensor:
    """Double the elements of half a Hermitian signal of ``length`` elements that represent a conjugate pair."""
    output = input.copy()
    half = input.shape[dim]
    output[(slice(None),) * dim + (slice(1, 1 + length - half),)] *= 2
    return output


# -- arguments -------------------------------------------------------------------------------------------------------


def _mode(name: str, norm: Any) -> str:
    if check_option(name, "norm", norm, "str | None") not in (None, *FLIPPED):
        raise RuntimeError(f'{name}(): Invalid normalization mode: "{norm}"; expected one of {", ".join(FLIPPED)}')
    return norm or "backward"


def _signal(name: str, input: Any, real: bool = False) -> Tensor:
    """Return the input, integers cast to floats."""
    check_tensors(name, input=input)
    kind = input.dtype
    if kind.is_complex and real:
        raise DtypeError(f"{name} expects a real input tensor (a floating-point dtype), but got {kind!r}")
    if kind.is_floating_point and kind.itemsize < 4:
        raise DtypeError(
            f"{name}(): Unsupported dtype {dtypes.scalar_type(kind)}: Fourier transforms take float32 and wider"
        )
    return input.to(dtypes.get_default_dtype()) if kind.rank < 2 else input


def _complex(x: Tensor) -> Tensor:
    return x if x.dtype.is_complex else x.to(x.dtype.to_complex())


def _one(name: str, x: Tensor, n: Any, dim: Any) -> tuple[list[int | None], tuple[int, ...]]:
    """Check ``n`` (None for all points) and ``dim`` of a 1-d transform, and return them."""
    if x.ndim == 0:
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    d = dimension(dim, x.ndim)
    return [None if n is None else _points(name, as_int(n, f"{name}(): argument 'n'"))], (d,)


def _points(name: str, n: int) -> int:
    if n < 1:
        raise RuntimeError(f"{name}(): Invalid number of data points ({n}) specified: at least 1 is needed")
    return n


def _given_dims(name: str, x: Tensor, dim: Any) -> tuple[int, ...]:
    if dim != () and dim != [] and not x.ndim:
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    dims = tuple(dimension(d, x.ndim) for d in ([dim] if isinstance(dim, int) else dim))
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"{name}(): FFT dims must be unique, but got {list(dims)}")
    return dims


def _several(name: str, x: Tensor, s: Sizes, dim: Dims) -> tuple[list[int | None], tuple[int, ...]]:
    """Check ``s`` (None for all points) and ``dim`` of an n-d transform, and return them."""
    s = s if s is None else check_option(name, "s", s, "Ints", 1)
    points = None if s is None else [s] if isinstance(s, int) else list(s)
    dims = _given_dims(name, x, dim) if dim is not None else tuple(range(x.ndim))
    if points is None:
        return [None] * len(dims), dims
    if dim is not None and len(points) != len(dims):
        raise RuntimeError(
            f"{name}(): When given, dim and shape arguments must have the same length, but got s={points} and "
            f"dim={list(dims)}"
        )
    if len(points) > x.ndim:
        raise RuntimeError(
            f"{name}(): Got shape with {len(points)} values but input tensor only has {x.ndim} dimensions."
        )
    dims = dims[len(dims) - len(points) :]
    wanted = [as_int(n, f"{name}(): argument 's'") for n in points]
    return [None if n == -1 else _points(name, n) for n in wanted], dims


def _resized(name: str, x: Tensor, points: Sequence[int | None], dims: Sequence[int]) -> Tensor:
    """Return the signal trimmed or zero-padded to the given numbers of points."""
    shape = list(x.shape)
    if not shape and dims:
        raise IndexError(f"{name}(): Dimension specified as {dims[0]} but tensor has no dimensions")
    for n, d in zip(points, dims, strict=True):
        shape[d] = _points(name, shape[d] if n is None else n)
    low = tuple(map(min, shape, x.shape))
    if low != x.shape:
        x = crop_like(x, low)
    return x if tuple(shape) == low else pad_like(x, tuple(shape))


def _half(
    name: str, input: Tensor, sizes: Sizes, dim: Dims, chosen: Callable[..., Any]
) -> tuple[Tensor, tuple[int, ...], int]:
    """Return half a Hermitian signal of the sizes that ``chosen`` checks, its dimensions, and its last real size."""
    x = _complex(_signal(name, input))
    points, dims = chosen(name, x, sizes, dim)
    last = _points(name, 2 * (x.shape[dims[-1]] - 1)) if points[-1] is None else points[-1]
    return _resized(name, x, [*points[:-1], last // 2 + 1], dims), dims, last


# -- along one dimension ---------------------------------------------------------------------------------------------


def _transform(name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    x, mode = _signal(name, input), _mode(name, norm)
    points, dims = _one(name, x, n, dim)
    x = _resized(name, x, points, dims)
    if x.dtype.is_complex:
        return _fft_c2c(x, dims, mode, forward)
    return _fft_r2c(x, dims, mode, False) if forward else conj(_fft_r2c(x, dims, FLIPPED[mode], False))


@composite(method=False, out=True)
def fft_fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along one dimension: the sum of ``input[j] * exp(-2πi j k / n)`` over j.

    :param n: the number of points; the signal is trimmed or zero-padded.
    :param norm: ``"forward"`` divides by n, ``"ortho"`` by sqrt(n), ``"backward"`` (None) not at all.
    :raises RuntimeError: ``n`` is less than 1, or the normalization is unknown.

    >>> torch.fft.fft(torch.tensor([1., 0., 0., 0.]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _transform("fft_fft", input, n, dim, norm, True)


@composite(method=False, out=True)
def fft_ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of :func:`fft_fft`.

    :param norm: ``"backward"`` (None) divides by n, ``"ortho"`` by sqrt(n), ``"forward"`` not at all.

    >>> torch.fft.ifft(torch.tensor([4., 0., 0., 0.])).real
    tensor([1., 1., 1., 1.])
    """
    return _transform("fft_ifft", input, n, dim, norm, False)


@composite(method=False, out=True)
def fft_rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the transform of a real signal: its ``n // 2 + 1`` non-negative frequencies.

    :raises RuntimeError: the input is complex.

    >>> torch.fft.rfft(torch.tensor([1., 0., 0., 0.])).shape
    torch.Size([3])
    """
    x, mode = _signal("fft_rfft", input, real=True), _mode("fft_rfft", norm)
    points, dims = _one("fft_rfft", x, n, dim)
    return _fft_r2c(_resized("fft_rfft", x, points, dims), dims, mode, True)


@composite(method=False, out=True)
def fft_ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of :func:`fft_hfft`: half of the inverse transform of a real signal.

    >>> torch.fft.ihfft(torch.tensor([4., 0., 0., 0.])).real
    tensor([1., 1., 1.])
    """
    x, mode = _signal("fft_ihfft", input, real=True), _mode("fft_ihfft", norm)
    points, dims = _one("fft_ihfft", x, n, dim)
    return conj(_fft_r2c(_resized("fft_ihfft", x, points, dims), dims, FLIPPED[mode], True))


@composite(method=False, out=True)
def fft_irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of :func:`fft_rfft`: a real signal from half of its transform.

    :param n: the length of the result; by default ``2 * (m - 1)`` for an input of m elements.

    >>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1., 2., 3.])), 3)
    tensor([1., 2., 3.])
    """
    mode = _mode("fft_irfft", norm)
    x, dims, points = _half("fft_irfft", input, n, dim, _one)
    return _fft_c2r(x, dims, mode, points)


@composite(method=False, out=True)
def fft_hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the real transform of a Hermitian signal given as its first half.

    :param n: the length of the result; by default ``2 * (m - 1)`` for an input of m elements.

    >>> torch.fft.hfft(torch.tensor([1., 1., 1.]))
    tensor([4., 0., 0., 0.])
    """
    mode = _mode("fft_hfft", norm)
    x, dims, points = _half("fft_hfft", input, n, dim, _one)
    return _fft_c2r(conj(x), dims, FLIPPED[mode], points)


# -- along several dimensions ----------------------------------------------------------------------------------------


def _transform_several(name: str, input: Tensor, s: Sizes, dim: Dims, norm: str | None, forward: bool) -> Tensor:
    x, mode = _signal(name, input), _mode(name, norm)
    points, dims = _several(name, x, s, dim)
    return _fft_c2c(_complex(_resized(name, x, points, dims)), dims, mode, forward)


def _some(name: str, x: Tensor, s: Sizes, dim: Dims) -> tuple[list[int | None], tuple[int, ...]]:
    points, dims = _several(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return points, dims


@composite(method=False, out=True)
def fft_fftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along several dimensions, all by default.

    :param s: the number of points along each (-1: all); the signal is trimmed or zero-padded.
    :param dim: the dimensions; by default as many of the last as ``s`` has elements.
    :raises RuntimeError: the lengths of ``s`` and ``dim`` differ, or a dimension is repeated.

    >>> torch.fft.fftn(torch.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return _transform_several("fft_fftn", input, s, dim, norm, True)


@composite(method=False, out=True)
def fft_ifftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Return the inverse of :func:`fft_fftn`.

    >>> torch.fft.ifftn(torch.fft.fftn(torch.ones(2, 2))).real
    tensor([[1., 1.],
            [1., 1.]])
    """
    return _transform_several("fft_ifftn", input, s, dim, norm, False)


@composite(method=False, out=True)
def fft_rfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Return the transform of a real signal along several dimensions: non-negative frequencies along the last one.

    :raises RuntimeError: the input is complex, or it has no dimensions to transform.

    >>> torch.fft.rfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    x, mode = _signal("fft_rfftn", input, real=True), _mode("fft_rfftn", norm)
    points, dims = _some("fft_rfftn", x, s, dim)
    return _fft_r2c(_resized("fft_rfftn", x, points, dims), dims, mode, True)


@composite(method=False, out=True)
def fft_ihfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Return the inverse of :func:`fft_hfftn`.

    >>> torch.fft.ihfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    x, mode = _signal("fft_ihfftn", input, real=True), _mode("fft_ihfftn", norm)
    points, dims = _some("fft_ihfftn", x, s, dim)
    half = conj(_fft_r2c(_resized("fft_ihfftn", x, points, dims), dims[-1:], FLIPPED[mode], True))
    return _fft_c2c(half, dims[:-1], mode, False) if len(dims) > 1 else half


@composite(method=False, out=True)
def fft_irfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Return the inverse of :func:`fft_rfftn`.

    :param s: the sizes of the result; by default ``2 * (m - 1)`` along the last dimension.

    >>> torch.fft.irfftn(torch.fft.rfftn(torch.ones(2, 4))).shape
    torch.Size([2, 4])
    """
    mode = _mode("fft_irfftn", norm)
    x, dims, last = _half("fft_irfftn", input, s, dim, _some)
    return _fft_c2r(x, dims, mode, last)


@composite(method=False, out=True)
def fft_hfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Return the real transform of a Hermitian signal, given as its first half along the last dimension.

    >>> torch.fft.hfftn(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """
    mode = _mode("fft_hfftn", norm)
    x, dims, last = _half("fft_hfftn", input, s, dim, _some)
    if len(dims) > 1:
        x = _fft_c2c(x, dims[:-1], mode, True)
    return _fft_c2r(conj(x), dims[-1:], FLIPPED[mode], last)


def _along_two(of_several: Callable[..., Tensor], columns: int, result: int) -> Any:
    """Declare a transform along two dimensions; an example has a size along the last one, and that of its result."""

    def transform(input: Tensor, s: Sizes = None, dim: Ints = (-2, -1), norm: str | None = None) -> Tensor:
        return of_several(input, s, dim, norm)

    several = of_several.__name__
    transform.__name__ = transform.__qualname__ = f"{several[:-1]}2"
    transform.__doc__ = f"""Compute :func:`{several}` along two dimensions, the last two by default.

    >>> torch.fft.{several[4:-1]}2(torch.ones(3, 2, {columns})).shape
    torch.Size([3, 2, {result}])
    """
    return composite(method=False, out=True)(transform)


fft_fft2 = _along_two(fft_fftn, 2, 2)
fft_ifft2 = _along_two(fft_ifftn, 2, 2)
fft_rfft2 = _along_two(fft_rfftn, 4, 3)
fft_irfft2 = _along_two(fft_irfftn, 3, 4)
fft_hfft2 = _along_two(fft_hfftn, 3, 4)
fft_ihfft2 = _along_two(fft_ihfftn, 4, 3)
