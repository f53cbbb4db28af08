"""``torch.optim``: optimizers and schedules of their learning rate."""

# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbautograd._names import absent
from nbautograd.optim import adam, lbfgs, matrices, sgd_family, sparse_adam
from nbautograd.optim.adam import *
from nbautograd.optim.lbfgs import *
from nbautograd.optim.matrices import *
from nbautograd.optim.optimizer import Optimizer
from nbautograd.optim.sgd_family import *
from nbautograd.optim.sparse_adam import *

if TYPE_CHECKING:
    from nbautograd.optim import lr_scheduler, optimizer, swa_utils

FAMILIES = (adam, lbfgs, matrices, sgd_family, sparse_adam)
__all__ = ["Optimizer", "lr_scheduler", "optimizer", "swa_utils"]
__all__ += [name for family in FAMILIES for name in family.__all__]
__all__.sort()


def __getattr__(name: str) -> Any:
    if name in ("lr_scheduler", "swa_utils"):  # imported at their first use
        return import_module(f"nbautograd.optim.{name}")
    return absent.fail("optim", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
