"""``torch.__config__``: the libraries and settings of computation."""

from __future__ import annotations

import platform

import numpy as np

from nbautograd._engine.arrays.cpu_features import dispatched_features
from nbautograd._engine.arrays.late_packages import late
from nbautograd._engine.arrays.thread_pool import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def _blas() -> str:
    """Return the name and version of NumPy's library for matrix products."""
    blas = (np.show_config(mode="dicts") or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def show() -> str:
    """Return the libraries that the package uses, as text of several lines like PyTorch's.

    >>> import nbautograd as torch
    >>> print(torch.__config__.show().splitlines()[0])
    nbautograd computes with:
    """
    lines = [
        f"Python {platform.python_version()}",
        f"NumPy {np.__version__}",
        f"SciPy {late('scipy').__version__}",
        f"BLAS and LAPACK: {_blas()}",
        f"CPU capability usage: {' '.join(dispatched_features()) or 'baseline'}",
    ]
    return "\n".join(["nbautograd computes with:", *(f"  - {line}" for line in lines)]) + "\n"


def parallel_info() -> str:
    """Return the number of threads for computation, as text."""
    return (
        f"nbautograd parallelization text:\n\tget_num_threads() : {get_num_threads()}\n"
        f"\tget_num_interop_threads() : {get_num_interop_threads()}\nBLAS: {_blas()}\n"
    )
