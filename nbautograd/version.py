"""The version, under PyTorch's names: ``torch.version.cuda`` and the others."""

from __future__ import annotations

import sys
from typing import Any

from nbautograd._names import absent

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__: str
cuda: str | None
debug = False
git_version = "Unknown"
hip = rocm = xpu = None


def __getattr__(name: str) -> Any:
    package = sys.modules[__name__.partition(".")[0]]
    if name == "__version__":
        return package.__version__
    if name == "cuda":  # of the GPU's runtime, if available
        return package.cuda.devices.runtime_version() if package.cuda.is_available() else None
    return absent.fail(__name__.partition(".")[2], name)
