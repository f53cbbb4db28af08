"""Fourier transforms, over whole signals and over short pieces of them."""

from __future__ import annotations

__all__: list[str] = []
