"""``torch.fft``: discrete Fourier transforms."""

from __future__ import annotations

from nbautograd._names import namespaces

__all__ = namespaces.fill(__name__, "fft_", "signal.fftfreq signal.fourier")
