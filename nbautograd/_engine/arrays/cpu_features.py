"""The processor features for which NumPy takes kernels of their own, such as AVX2: the only module that reads them."""

from __future__ import annotations

from numpy._core import _multiarray_umath as _core  # type: ignore[attr-defined]

__all__ = ["dispatched_features", "features", "has_kernels"]


def dispatched_features() -> list[str]:
    """The features that NumPy looks for when it is imported, and that are there; the environment can switch them off.

    The names are those of NumPy's version, and change: AVX-512 is ``AVX512_SKX`` in one and ``X86_V4`` in another.
    """
    return [feature for feature in _core.__cpu_dispatch__ if _core.__cpu_features__.get(feature, False)]


def has_kernels(*features: str) -> bool:
    """Whether NumPy uses kernels for one of these features; give the names of all its versions."""
    in_use = {*_core.__cpu_baseline__, *dispatched_features()}
    return not in_use.isdisjoint(features)


def features() -> dict[str, bool]:
    """By name, whether the processor has a feature, whether or not NumPy has kernels for it."""
    return dict(_core.__cpu_features__)
