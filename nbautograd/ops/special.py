"""Special functions: gamma, error, Bessel and zeta functions, orthogonal polynomials."""

from __future__ import annotations

__all__: list[str] = []
