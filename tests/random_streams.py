"""How PyTorch's random numbers are compared with ours: bit for bit, where both libraries' kernels allow it."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd.arrays.cpu_features import has_kernels
from tests import needs

torch = needs.package("torch")

__all__ = ["assert_same_numbers", "drawn_by_mkl"]

# conftest.py has PyTorch take its AVX2 kernels. NumPy's for AVX-512 give other last bits of logarithms and sines.
SAME_KERNELS = torch.backends.cpu.get_cpu_capability() == "AVX2" and not has_kernels("AVX512F", "X86_V4")


def drawn_by_mkl() -> bool:
    """Whether PyTorch takes some distributions from Intel's library, as it does on Intel's processors."""
    generator = torch.Generator().manual_seed(0)
    torch.empty(4).bernoulli_(0.5, generator=generator)
    return generator.get_state()[16].item() != 8  # four draws take eight words, if it draws itself


def assert_same_numbers(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> None:
    """Equal; of floating-point numbers all but the last bits, where the kernels are not the same."""
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if SAME_KERNELS or ours.dtype.kind not in "fc" or not ours.size:
        np.testing.assert_array_equal(ours, theirs)
    else:
        finite = np.abs(theirs[np.isfinite(theirs)])
        bound = 6 * np.finfo(ours.dtype).eps * max(finite, default=0)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound)
