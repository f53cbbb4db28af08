"""Misuse of special functions, Fourier transforms and windows: the exception types and key words of PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from tests import oracle


def complex_ones(T: Any, *shape: int) -> Any:
    return T.ones(*shape, dtype=T.complex64)


CALLS = {
    "erf of a number": (lambda T: T.erf(2), "Tensor"),
    "erf of complex numbers": (lambda T: T.erf(complex_ones(T, 2)), "not implemented for"),
    "log_ndtr of complex numbers": (lambda T: T.special.log_ndtr(complex_ones(T, 2)), "not implemented for"),
    "legendre of complex numbers": (
        lambda T: T.special.legendre_polynomial_p(complex_ones(T, 2), T.ones(2)),
        "not implemented for",
    ),
    "erf_ of integers": (lambda T: T.ones(2, dtype=T.int64).erf_(), "can't be cast to"),
    "polygamma negative": (lambda T: T.polygamma(-1, T.ones(2)), "negative n"),
    "polygamma of an order that is no int": (lambda T: T.polygamma(1.5, T.ones(2)), "argument 'n'"),
    "polygamma with arguments exchanged": (lambda T: T.polygamma(T.ones(2), 1), "must be"),
    "mvlgamma p": (lambda T: T.mvlgamma(T.ones(2), 0), "p has to be greater than or equal to 1"),
    "igamma of integers": (lambda T: T.igamma(T.tensor([1]), T.tensor([2])), "not implemented for"),
    "igamma by its first argument": (
        lambda T: T.igamma(T.ones(2, requires_grad=True), T.ones(2)).sum().backward(),
        "derivative for 'igamma: input' is not implemented",
    ),
    "zeta by its first argument": (
        lambda T: T.special.zeta(T.full((2,), 2.0, requires_grad=True), T.ones(2)).sum().backward(),
        "derivative for 'zeta' is not implemented",
    ),
    "logit eps": (lambda T: T.logit(T.ones(2), "a"), "argument 'eps'"),
    "shapes": (lambda T: T.xlogy(T.ones(2), T.ones(3)), "must match"),
    "fft n": (lambda T: T.fft.fft(T.ones(4), n=0), "Invalid number of data points"),
    "fft n float": (lambda T: T.fft.fft(T.ones(4), n=2.5), "must be int"),
    "fft dim": (lambda T: T.fft.fft(T.ones(4), dim=1), "Dimension out of range"),
    "fft norm": (lambda T: T.fft.fft(T.ones(4), norm="x"), "Invalid normalization mode"),
    "fft norm int": (lambda T: T.fft.fft(T.ones(4), norm=3), "argument 'norm' must be str"),
    "fft of a 0-d tensor": (lambda T: T.fft.fft(T.tensor(1.0)), "no dimensions"),
    "fft of half precision": (lambda T: T.fft.fft(T.ones(4, dtype=T.float16)), "Unsupported dtype"),
    "fft out": (lambda T: T.fft.fft(T.ones(4), out=T.empty(4)), ""),
    "rfft of complex numbers": (lambda T: T.fft.rfft(complex_ones(T, 4)), "real"),
    "ihfftn of complex numbers": (lambda T: T.fft.ihfftn(complex_ones(T, 4)), "floating-point dtype"),
    "irfft of one element": (lambda T: T.fft.irfft(T.ones(3, 1)), "Invalid number of data points"),
    "fftn s": (lambda T: T.fft.fftn(T.ones(4), s=(2, 3)), "but input tensor only has 1 dimensions"),
    "fftn s and dim": (lambda T: T.fft.fftn(T.ones(4, 4), s=(2,), dim=(0, 1)), "must have the same length"),
    "fftn dim twice": (lambda T: T.fft.fftn(T.ones(4, 4), dim=(0, -2)), "unique"),
    "rfftn of nothing": (lambda T: T.fft.rfftn(T.ones(4), dim=()), "must transform at least one axis"),
    "fft2 of one dimension": (lambda T: T.fft.fft2(T.ones(4)), "Dimension out of range"),
    "fftfreq negative": (lambda T: T.fft.fftfreq(-1), "negative dimension -1"),
    "fftfreq of integers": (lambda T: T.fft.fftfreq(3, dtype=T.int64), "floating point"),
    "fftshift of a 0-d tensor": (lambda T: T.fft.fftshift(T.tensor(1.0)), "`shifts` required"),
    "stft without return_complex": (lambda T: T.stft(T.ones(32), 8, window=T.ones(8)), "return_complex"),
    "stft hop": (lambda T: T.stft(T.ones(32), 8, 0, window=T.ones(8), return_complex=True), "hop_length > 0"),
    "stft window": (lambda T: T.stft(T.ones(32), 8, window=T.ones(5), return_complex=True), "win_length=8"),
    "stft win_length": (
        lambda T: T.stft(T.ones(32), 8, win_length=9, window=T.ones(9), return_complex=True),
        "0 < win_length <= n_fft",
    ),
    "stft n_fft": (
        lambda T: T.stft(T.ones(32), 40, window=T.ones(40), center=False, return_complex=True),
        "n_fft=40",
    ),
    "stft of integers": (
        lambda T: T.stft(T.ones(32, dtype=T.int64), 8, window=T.ones(8), center=False, return_complex=True),
        "floating point or complex",
    ),
    "stft of a short signal": (
        lambda T: T.stft(T.ones(4), 8, window=T.ones(8), return_complex=True),
        "Padding size should be less than the corresponding input dimension",
    ),
    "stft pad_mode": (
        lambda T: T.stft(T.ones(32), 8, window=T.ones(8), pad_mode="x", return_complex=True),
        "Unrecognised padding mode",
    ),
    "stft onesided complex": (
        lambda T: T.stft(complex_ones(T, 32), 8, window=T.ones(8), onesided=True, return_complex=True),
        "Cannot have onesided output if window or input is complex",
    ),
    "stft align_to_window": (
        lambda T: T.stft(T.ones(32), 8, window=T.ones(8), align_to_window=True, return_complex=True),
        "align_to_window should only be set when center = false",
    ),
    "stft of three dimensions": (
        lambda T: T.stft(T.ones(1, 2, 32), 8, window=T.ones(8), return_complex=True),
        "expected a 1D or 2D tensor",
    ),
    "istft of real numbers": (lambda T: T.istft(T.ones(5, 4), 8, window=T.ones(8)), "complex-valued input"),
    "istft frequencies": (
        lambda T: T.istft(complex_ones(T, 6, 4), 8, window=T.ones(8)),
        "frequency dimension",
    ),
    "istft hop": (
        lambda T: T.istft(complex_ones(T, 5, 4), 8, 9, window=T.ones(8)),
        "0 < hop_length <= win_length",
    ),
    "istft of nothing": (lambda T: T.istft(complex_ones(T, 5, 0), 8, window=T.ones(8)), "cannot be empty"),
    "istft not covered": (
        lambda T: T.istft(complex_ones(T, 5, 4), 8, window=T.hann_window(8), center=False),
        "window overlap add min",
    ),
    "istft onesided complex": (
        lambda T: T.istft(complex_ones(T, 5, 4), 8, window=T.ones(8), return_complex=True),
        "Cannot have onesided output",
    ),
    "hann_window negative": (lambda T: T.hann_window(-1), "non-negative window_length"),
    "hann_window of integers": (lambda T: T.hann_window(4, dtype=T.int64), "floating point dtypes"),
    "hann_window of complex numbers": (lambda T: T.hann_window(4, dtype=T.complex64), "not implemented for"),
    "hann_window length": (lambda T: T.hann_window(2.5), "must be int"),
    "windows.hann negative": (lambda T: T.signal.windows.hann(-1), "non-negative window length"),
    "windows.hann dtype": (lambda T: T.signal.windows.hann(4, dtype=T.float16), "expects float32 or float64"),
    "windows.exponential center": (lambda T: T.signal.windows.exponential(4, center=1), "Center must be None"),
    "windows.exponential tau": (lambda T: T.signal.windows.exponential(4, tau=0), "Tau must be positive"),
    "windows.gaussian": (lambda T: T.signal.windows.gaussian(4, std=-1), "Standard deviation must be positive"),
    "windows.kaiser": (lambda T: T.signal.windows.kaiser(4, beta=-1), "beta must be non-negative"),
    "windows.general_cosine": (lambda T: T.signal.windows.general_cosine(4, a=[]), "Coefficients cannot be empty"),
    "windows.general_cosine a": (lambda T: T.signal.windows.general_cosine(4, a=3), "Coefficients must be a list"),
}


@pytest.mark.parametrize("name", CALLS)
def test_same_refusal(name: str) -> None:
    call, words = CALLS[name]
    oracle.check_raises(call, says=words)
