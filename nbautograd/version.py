"""Which version this is, by the names that PyTorch has for it: ``torch.version.cuda`` and the others."""

from __future__ import annotations

from typing import Any

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__: str
cuda: str | None
debug = False
git_version = "Unknown"
hip = rocm = xpu = None


def __getattr__(name: str) -> Any:
    import nbautograd

    if name == "__version__":
        return nbautograd.__version__
    if name == "cuda":  # of the GPU's runtime, where one can be used
        return nbautograd.cuda.devices.runtime_version() if nbautograd.cuda.is_available() else None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
