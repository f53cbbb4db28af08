"""The short-time Fourier transform (STFT), of overlapping frames of a signal, and its inverse."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.compiler.op import check_option, composite, no_method
from nbautograd._engine.core.batched import elements
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import ones
from nbautograd._engine.ops.elementwise.complex import view_as_real
from nbautograd._engine.ops.indexing.gather import crop_like, pad_like
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape.broadcasting import expand
from nbautograd._engine.ops.shape.padding import constant_pad, pad
from nbautograd._engine.ops.shape.shape import reshape, squeezed
from nbautograd._engine.ops.shape.slicing import narrow
from nbautograd._engine.ops.shape.transpose import transpose
from nbautograd._engine.ops.signal.fourier import _fft_c2c, _fft_c2r, _fft_r2c
from nbautograd.errors import DtypeError, ShapeError, warn

# -- frames of a signal ----------------------------------------------------------------------------------------------


@no_method(node="AsStridedBackward0", symbol="frames", input="overlap_add(g, step, input.shape[-1])")
def frames(input: Tensor, size: int, step: int) -> Tensor:
    """Return the frames of ``size`` elements that start at every ``step``-th element: (..., frames, size)."""
    return np.lib.stride_tricks.sliding_window_view(input, size, -1)[..., ::step, :].copy()


@no_method(node="UnfoldBackwardBackward0", symbol="overlap +", input="frames_of(g, input.shape, step)")
def overlap_add(input: Tensor, step: int, length: int) -> Tensor:
    """Sum overlapping frames (..., frames, size), each ``step`` after the one before (overlap-add)."""
    *batch, pieces, size = input.shape
    blocks = -(-size // step)  # each frame as blocks of step elements, the last one zero-padded
    padded = pad_to(input, (*batch, pieces, blocks * step))
    total = np.zeros_like(input, shape=(*batch, pieces + blocks - 1, step))
    for i in range(blocks):
        total[..., i : i + pieces, :] += padded[..., i * step : (i + 1) * step]
    return pad_to(total.reshape((*batch, (pieces + blocks - 1) * step))[..., :length], (*batch, length))


@no_method(node="AsStridedBackward0", symbol="frames", input="overlap_add(g, step, input.shape[-1])")
def frames_of(input: Tensor, shape: tuple[int, ...], step: int) -> Tensor:
    """Compute the transpose of ``overlap_add``: the frames of ``input``; elements beyond its end are 0."""
    *batch, pieces, size = shape
    needed = (pieces - 1) * step + size
    return frames.__wrapped__(pad_to(input[..., :needed], (*batch, needed)), size, step)


def pad_to(a: Any, shape: tuple[int, ...]) -> Any:
    """Return an array zero-padded at the end of the last dimension."""
    if a.shape == shape:
        return a
    output = np.zeros_like(a, shape=shape)
    output[..., : a.shape[-1]] = a
    return output


def continued(x: Tensor, by: int, mode: str) -> Tensor:
    """Return a signal padded with ``by`` elements at each end."""
    batches = (1,) * (3 - x.ndim) + tuple(x.shape)  # pad() needs three dimensions for these modes
    return reshape(pad(reshape(x, batches), (by, by), mode), (*x.shape[:-1], x.shape[-1] + 2 * by))


def centered(x: Tensor, size: int, n: int) -> Tensor:
    """Return a signal of ``size`` elements zero-padded on both sides to ``n``."""
    left = (n - size) // 2
    return constant_pad(x, ((left, n - size - left),), 0)


# -- arguments -------------------------------------------------------------------------------------------------------


def _refuse(name: str, what: str) -> NoReturn:
    raise ShapeError(f"{name}(): {what}")


def _lengths(name: str, n_fft: Any, hop_length: Any, win_length: Any) -> tuple[int, int, int]:
    n = as_int(n_fft, f"{name}(): argument 'n_fft' (position 2)")
    hop = n // 4 if hop_length is None else as_int(hop_length, f"{name}(): argument 'hop_length'")
    return n, hop, n if win_length is None else as_int(win_length, f"{name}(): argument 'win_length'")


def _window(name: str, window: Any, size: int, n: int, like: Tensor) -> Tensor:
    """Return the window of ``n`` elements, zero-padded on both sides if it is shorter; ones by default."""
    if window is None:
        warn(
            f"{name}(): A window was not provided: a rectangular one is used, whose sharp edges leak into all "
            "frequencies. Pass window=torch.hann_window(...), or torch.ones(...) for a rectangular one."
        )
        window = ones(size, dtype=like.dtype.to_real(), device=like.device)
    check_tensors(name, window=window)
    if window.shape != (size,):
        raise ShapeError(
            f"{name}(): Invalid window shape: expected a 1D window tensor of size equal to win_length={size}, but got "
            f"window with size {list(window.shape)}"
        )
    return window if size == n else centered(window, size, n)


def _check_istft(
    input: Tensor, n: int, hop: int, size: int, window: Any, onesided: bool | None, return_complex: bool
) -> None:
    """Check that the spectrum and the sizes match."""
    if not input.dtype.is_complex:
        raise DtypeError(
            f"istft requires a complex-valued input tensor, from stft with return_complex=True, but got {input.dtype!r}"
        )
    if input.ndim not in (2, 3):
        kind = IndexError if input.ndim < 2 else RuntimeError
        raise kind(f"istft(): expected a tensor with 2 or 3 dimensions, but got shape {list(input.shape)}")
    if input.numel() == 0:
        _refuse("istft", f"input tensor cannot be empty, but its shape is {list(input.shape)}")
    half = input.shape[-2] != n if onesided is None else onesided
    if input.shape[-2] != (n // 2 + 1 if half else n):
        expected = "n_fft / 2 + 1" if half else "n_fft"
        raise ShapeError(
            f"istft(): expected the frequency dimension of the input tensor to match {expected} when onesided={half} "
            f"(n_fft={n}), but got {input.shape[-2]}"
        )
    if not 0 < hop <= size:
        _refuse("istft", f"expected 0 < hop_length <= win_length, but got hop_length={hop} and win_length={size}")
    if not 0 < size <= n:
        _refuse("istft", f"expected 0 < win_length <= n_fft, but got win_length={size} and n_fft={n}")
    if half and (return_complex or (isinstance(window, Tensor) and window.dtype.is_complex)):
        _refuse("istft", "Cannot have onesided output if window or input is complex")


# -- the transforms --------------------------------------------------------------------------------------------------


def _signal(x: Tensor, n: int, hop: int, size: int, align_to_window: bool | None) -> Tensor:
    """Return the batch of signals that ``stft`` cuts into frames."""
    if x.ndim == 1:
        x = x[None]
    if not 0 < size <= n:
        _refuse("stft", f"expected 0 < win_length <= n_fft, but got win_length={size} and n_fft={n}")
    if hop <= 0:
        _refuse("stft", f"expected hop_length > 0, but got hop_length={hop}")
    if align_to_window:
        x = centered(x, size, n)
    if not 0 < n <= x.shape[-1]:
        _refuse("stft", f"expected 0 < n_fft <= {x.shape[-1]}, the length of the signal, but got n_fft={n}")
    return x


def _check_stft(input: Tensor, center: Any, align_to_window: bool | None) -> None:
    """Check the input of ``stft``, and that the options fit each other."""
    if input.dtype.rank < 2:
        raise DtypeError(f"stft(): expected a tensor of floating point or complex values, but got {input.dtype!r}")
    if input.ndim not in (1, 2):
        _refuse("stft", f"expected a 1D or 2D tensor as input, but got shape {list(input.shape)}")
    if center and align_to_window is not None:
        _refuse("stft", f"align_to_window should only be set when center = false, but it is {align_to_window}")


def _is_onesided(onesided: bool | None, return_complex: bool | None, is_complex: bool) -> bool:
    """Check the options of the result, and return whether it has half of the frequencies."""
    if return_complex is None and not is_complex:
        _refuse("stft", "requires the return_complex parameter be given for real inputs: True, for a complex result")
    if onesided and is_complex:
        _refuse("stft", "Cannot have onesided output if window or input is complex")
    return not is_complex if onesided is None else onesided


@composite()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: Any = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Compute the short-time Fourier transform (STFT): the transforms of overlapping windowed frames of a signal.

    :param input: shape (time,) or (batch, time).
    :param n_fft: the size of the transform.
    :param hop_length: the distance between the starts of frames; by default ``n_fft // 4``.
    :param win_length: the size of the window, by default ``n_fft``; a shorter one is zero-padded on both sides.
    :param center: if True, the centers of frames instead of their starts are at multiples of the hop; the signal is
        padded on both sides in the mode ``pad_mode``.
    :param normalized: if True, divide by sqrt(n_fft).
    :param onesided: only the first ``n_fft // 2 + 1`` frequencies; by default for real signals and windows.
    :param return_complex: required for real signals; False, which is deprecated, returns a last dimension of real and
        imaginary part.
    :param align_to_window: with ``center=False``: if True, windows instead of frames start at the hops.
    :return: shape (batch, frequency, time).
    :raises RuntimeError: the sizes do not match.

    >>> torch.stft(torch.ones(2, 32), 8, window=torch.hann_window(8), return_complex=True).shape
    torch.Size([2, 5, 17])
    """
    check_tensors("stft", input=input)
    n, hop, size = _lengths("stft", n_fft, hop_length, win_length)
    _check_stft(input, center, align_to_window)
    x = _signal(continued(input, n // 2, pad_mode) if center else input, n, hop, size, align_to_window)
    is_complex = any(isinstance(each, Tensor) and each.dtype.is_complex for each in (input, window))
    onesided = _is_onesided(onesided, return_complex, is_complex)
    pieces = frames(x, n, hop) * _window("stft", window, size, n, input)
    if pieces.dtype.itemsize == 2:
        raise DtypeError(f"stft(): Unsupported dtype {dtypes.scalar_type(pieces.dtype)}: it takes float32 and wider")
    norm = "ortho" if normalized else "backward"
    last = (pieces.ndim - 1,)
    result = _fft_c2c(pieces, last, norm, True) if is_complex else _fft_r2c(pieces, last, norm, onesided)
    result = transpose(result, -1, -2)
    if input.ndim == 1:
        result = squeezed(result, 0)
    if return_complex is None or return_complex:
        return result
    warn("stft with return_complex=False is deprecated: use return_complex=True")
    return view_as_real(result)


def _overlap_add_normalized(pieces: Tensor, weights: Tensor, hop: int, start: int, length: int) -> Tensor:
    """Return ``length`` elements of the weighted sum of overlapping pieces, divided by the sum of squared weights."""
    count, n = pieces.shape[-2:]
    whole = n + hop * (count - 1)
    signal = narrow(overlap_add(pieces * weights, hop, whole), -1, start, length)
    envelope = narrow(overlap_add(expand(weights * weights, (count, n)), hop, whole), -1, start, length)
    if bool((np.abs(elements(envelope)) < 1e-11).any()):
        raise ShapeError(
            "istft(): window overlap add min is 0: some elements are covered by no window, so they cannot be computed. "
            "Use a smaller hop_length, another window, or center=True"
        )
    return signal / envelope


@composite()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Compute the inverse short-time Fourier transform: the signal from the result of :func:`stft`.

    It is the least-squares estimate where frames overlap (D. Griffin and J. Lim, "Signal estimation from modified
    short-time Fourier transform", 1984).

    :param input: complex, of shape (frequency, time) or (batch, frequency, time).
    :param length: the number of elements to return; by default that of the overlapped frames.
    :return: shape (time,) or (batch, time).
    :raises RuntimeError: the sizes do not match, or an element is covered by no window (the overlap-add condition).

    >>> x, window = torch.arange(32.), torch.hann_window(8)
    >>> y = torch.istft(torch.stft(x, 8, window=window, return_complex=True), 8, window=window)
    >>> torch.allclose(x, y, atol=1e-5)
    True
    """
    check_tensors("istft", input=input)
    for name, flag in (("center", center), ("normalized", normalized), ("return_complex", return_complex)):
        check_option("istft", name, flag, "bool")
    n, hop, size = _lengths("istft", n_fft, hop_length, win_length)
    _check_istft(input, n, hop, size, window, onesided, return_complex)
    weights = _window("istft", window, size, n, input)
    if weights.dtype.is_complex and not return_complex:
        _refuse("istft", "a complex window gives a complex signal. Pass return_complex=True")
    spectrum = transpose(input, -1, -2)
    norm = "ortho" if normalized else "backward"
    last = (input.ndim - 1,)
    if return_complex:
        pieces = _fft_c2c(spectrum, last, norm, False)
    else:
        pieces = _fft_c2r(crop_like(spectrum, (*spectrum.shape[:-1], n // 2 + 1)), last, norm, n)
    whole = n + hop * (input.shape[-1] - 1)
    start = n // 2 if center else 0
    stop = whole - start if length is None else start + as_int(length, "istft(): argument 'length'")
    if stop <= start:
        _refuse("istft", f"no elements are left: the pieces cover {whole}, center={center}, length={length}")
    signal = _overlap_add_normalized(pieces, weights, hop, start, min(stop, whole) - start)
    if stop <= whole:
        return signal
    warn("istft(): The length of signal is shorter than the length parameter: the result is padded with zeros")
    return pad_like(signal, (*signal.shape[:-1], stop - start))
