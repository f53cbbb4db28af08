"""``torch.optim``: optimizers and schedules of their learning rate."""

# ruff: noqa: F403

from __future__ import annotations

from typing import TYPE_CHECKING

from nbautograd._names import lazy
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


__getattr__ = lazy.attributes(__name__, {"lr_scheduler": "lr_scheduler", "swa_utils": "swa_utils"})[0]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
