"""``torch.utils``: data loading, checkpointing, benchmarks, containers and allocator settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbautograd._names import lazy

if TYPE_CHECKING:
    from nbautograd.utils import (
        allocator,
        benchmark,
        checkpoint,
        collect_env,
        data,
        deterministic,
        dlpack,
        hooks,
        model_zoo,
        weak,
    )
    from nbautograd.utils._objects import set_module, swap_tensors

__all__ = [
    "allocator", "benchmark", "checkpoint", "collect_env", "data", "deterministic", "dlpack", "hooks", "model_zoo",
    "set_module", "swap_tensors", "weak",
]  # fmt: skip

LATE = {name: name for name in [*__all__, "_contextlib", "_pytree", "cpp_extension", "tensorboard"]}
LATE.update(set_module="_objects", swap_tensors="_objects")
__getattr__, _ = lazy.attributes(__name__, LATE)


def __dir__() -> list[str]:
    return __all__  # ``tensorboard`` needs a package that may not be installed
