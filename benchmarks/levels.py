"""The processors that NumPy can pretend to be on this machine: it chooses its kernels by the processor's features."""

from __future__ import annotations

import json
import os

from nbautograd._engine.arrays.cpu_features import dispatched_features

__all__ = ["levels"]


def levels() -> dict[str, dict[str, str]]:
    """Return the environment variables that set each level of NumPy's kernels.

    The first is this process's own level. Names of features are those of the installed NumPy.
    """
    off = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").replace(",", " ").split()
    usable = dispatched_features()
    wide = [name for name in usable if name.startswith(("AVX512", "X86_V4"))]
    disabled = {"all": off}
    if wide:
        disabled["no AVX-512"] = [*off, *wide]
    if len(usable) > len(wide):
        disabled["baseline"] = [*off, *usable]
    return {name: {"NPY_DISABLE_CPU_FEATURES": " ".join(names)} if names else {} for name, names in disabled.items()}


if __name__ == "__main__":
    print(json.dumps(levels()))
