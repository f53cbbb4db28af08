"""One processor for all: a plugin of pytest that has every library compute as on any processor with AVX2.

NumPy, OpenBLAS, PyTorch, oneDNN and MKL choose their kernels by the processor, and kernels differ in last digits. Each
reads its level from the environment when it is first imported, so ``addopts`` loads this before anything else. Kernels,
workers and all other processes that tests start inherit it. Without AVX2, or on another architecture, nothing is set.

A variable that is set already is left alone; ``NBAUTOGRAD_ONE_CPU``, empty, switches the whole plugin off.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

__all__ = ["given_environment"]

OWN = "NBAUTOGRAD_ONE_CPU"
"""Names the variables set here, for child processes."""
LEVELS = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_CBWR": "COMPATIBLE",  # the only level of MKL for all processors
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
NUMPY = ("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES")  # NumPy accepts only one of them
ASKED = (
    "from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__\n"
    "if __cpu_features__.get('AVX2'):\n"
    "    print('AVX2', *(name for name in __cpu_dispatch__ if name.startswith(('AVX512', 'X86_V4'))))"
)
"""NumPy's names change from version to version, and the process that imports it has chosen: another one asks."""


def given_environment() -> dict[str, str]:
    """The environment without the variables of this plugin."""
    own = {OWN, *os.environ.get(OWN, "").split()}
    return {name: value for name, value in os.environ.items() if name not in own}


def _set() -> None:
    if OWN in os.environ or platform.machine().lower() not in ("amd64", "i686", "x86_64"):
        return
    answer = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=False)
    has_avx2, *wider = answer.stdout.split() or [""]
    levels = dict(LEVELS) if has_avx2 else {}
    if wider and not any(name in os.environ for name in NUMPY):
        levels[NUMPY[0]] = " ".join(wider)
    levels = {name: value for name, value in levels.items() if name not in os.environ}
    os.environ.update(levels, **{OWN: " ".join(levels)})


_set()
