"""Fourier transforms, by the names that they have in ``torch.fft``."""

from __future__ import annotations

__all__: list[str] = []
