"""Counting and correlating: histograms, covariance."""

from __future__ import annotations

__all__: list[str] = []
