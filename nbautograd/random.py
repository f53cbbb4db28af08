"""``torch.random``: the default generator's seed and state."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from nbautograd._engine.ops.creation.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from nbautograd._engine.rng.generator import default_generator
from nbautograd._names import absent

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str | None = None
) -> Iterator[None]:
    """Restore the generator's state at the end of the ``with`` block, or of the decorated function.

    :param devices: accepted as in PyTorch; all devices share one generator, whose state is always restored.
    :param enabled: if False, do nothing.
    :param device_type: ``"cuda"`` or ``"cpu"``.
    :raises RuntimeError: the device type is not supported.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     _ = torch.rand(100)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    if device_type not in (None, "cpu", "cuda"):
        raise RuntimeError(f"fork_rng(): devices of type {device_type!r} are not supported, only 'cpu' and 'cuda'")
    state = default_generator.get_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            default_generator.set_state(state)


absent.answer(__name__)
