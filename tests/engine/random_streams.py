"""Compare PyTorch's random numbers with ours: bit for bit, if both libraries' kernels allow it."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays.cpu_features import has_kernels
from tests import oracle
from tests.oracle.plugin import State

__all__ = ["assert_same_numbers", "drawn_by_mkl"]

# PyTorch's answers are from its kernels for AVX2. NumPy's other kernels differ in the last bits of logarithms and
# sines.
SAME_KERNELS = has_kernels("AVX2", "X86_V3") and not has_kernels("AVX512F", "AVX512_SKX", "X86_V4")


def drawn_by_mkl() -> bool:
    """Return whether PyTorch takes some distributions from Intel's library now, as it does on Intel's processors."""
    if State.mode == "stored":  # answers come from another machine
        return False
    torch = oracle.live()
    generator = torch.Generator().manual_seed(0)
    torch.empty(4).bernoulli_(0.5, generator=generator)
    return bool(generator.get_state()[16].item() != 8)  # four draws use eight words, if it draws itself


def assert_same_numbers(ours: np.ndarray[Any, Any], theirs: Any) -> None:
    """Equal; of floating-point numbers all but the last bits, where the kernels are not the same.

    :param theirs: an answer of the oracle's, or an array of PyTorch's that is asked live.
    """
    if isinstance(theirs, np.ndarray):
        largest = (
            float(np.max(np.abs(theirs), where=np.isfinite(theirs), initial=0)) if theirs.dtype.kind in "fc" else 0
        )
        eps = float(np.finfo(theirs.dtype).eps) if largest else 0.0
        theirs = oracle.Array("ndarray", str(theirs.dtype), False, theirs, eps * largest)
    oracle.close(ours, theirs, exact=SAME_KERNELS)
