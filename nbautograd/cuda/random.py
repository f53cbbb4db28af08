"""Seeds of the random numbers of CUDA devices."""

from __future__ import annotations

from nbautograd._engine.rng.generator import default_generator
from nbautograd.cuda.devices import init, is_available

__all__ = ["initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all"]


def manual_seed(seed: int) -> None:
    """Seed the random numbers of the current CUDA device; do nothing without one, as in PyTorch.

    Tensors on CUDA get their numbers from the CPU's generator, so this seeds that generator if CUDA is available.
    """
    seed = int(seed)
    if is_available():
        default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all CUDA devices; see :func:`manual_seed`."""
    manual_seed(seed)


def seed() -> None:
    """Seed the random numbers of the current CUDA device with a number from the operating system.

    :returns: None; without a CUDA device it does nothing.
    """
    if is_available():
        default_generator.seed()


def seed_all() -> None:
    """Seed the random numbers of all CUDA devices with a number from the operating system."""
    seed()


def initial_seed() -> int:
    """Return the last seed of the random numbers of the current device.

    :returns: an int.
    :raises CudaUnavailableError: CUDA is not available.
    """
    init()
    return default_generator.initial_seed()
