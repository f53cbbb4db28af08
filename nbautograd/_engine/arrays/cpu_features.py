"""Processor features for which NumPy has its own kernels, such as AVX2: the only module that reads them."""

from __future__ import annotations

from numpy._core import _multiarray_umath as _core  # type: ignore[attr-defined]


def dispatched_features() -> list[str]:
    """Return the features that NumPy detects on import and that are present; the environment can disable them.

    The names depend on NumPy's version: AVX-512 is ``AVX512_SKX`` in one and ``X86_V4`` in another.
    """
    return [feature for feature in _core.__cpu_dispatch__ if _core.__cpu_features__.get(feature, False)]


def has_kernels(*features: str) -> bool:
    """Return whether NumPy uses kernels for one of these features; pass the names of all its versions."""
    return not {*_core.__cpu_baseline__, *dispatched_features()}.isdisjoint(features)


def features() -> dict[str, bool]:
    """Return, by name, whether the processor has a feature, even if NumPy has no kernels for it."""
    return dict(_core.__cpu_features__)
