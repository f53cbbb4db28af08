"""``torch.utils``: data loading, checkpointing and allocator settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbautograd import _lazy

if TYPE_CHECKING:
    from nbautograd.utils import allocator, checkpoint, collect_env, data, deterministic, dlpack, hooks, model_zoo

__all__ = [
    "allocator",
    "checkpoint",
    "collect_env",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "model_zoo",
]

__getattr__, _ = _lazy.attributes(__name__, {name: name for name in [*__all__, "tensorboard"]})


def __dir__() -> list[str]:
    return __all__  # ``tensorboard`` is only there to say why it is not
