"""What there is of CUDA: whether it can be used, and why not."""

from __future__ import annotations

from nbautograd import backend

__all__ = ["device_count", "is_available", "manual_seed", "manual_seed_all", "why_not"]


def why_not() -> str | None:
    """None when CUDA can be used, otherwise why it cannot, with the command that installs what is missing."""
    return backend.cuda.why_not()


def is_available() -> bool:
    """Whether tensors can live on CUDA devices here."""
    return why_not() is None


def device_count() -> int:
    """How many CUDA devices can be used."""
    return int(backend.cuda.load().cuda.runtime.getDeviceCount()) if is_available() else 0


def manual_seed(seed: int) -> None:
    """Seed the random numbers of the current CUDA device; nothing where there is none, as in PyTorch.

    Random tensors on CUDA are drawn from the CPU's generator here, so this seeds nothing of its own.
    """


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all CUDA devices; see :func:`manual_seed`."""
