"""``torch.optim``: optimizers and schedules of their learning rate."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbautograd._names import absent
from nbautograd.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from nbautograd.optim.lbfgs import LBFGS
from nbautograd.optim.matrices import Adafactor, Muon
from nbautograd.optim.optimizer import Optimizer
from nbautograd.optim.sgd_family import ASGD, SGD, Adadelta, Adagrad, RMSprop, Rprop
from nbautograd.optim.sparse_adam import SparseAdam

if TYPE_CHECKING:
    from nbautograd.optim import lr_scheduler, optimizer, swa_utils

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "optimizer",
    "swa_utils",
]


def __getattr__(name: str) -> Any:
    if name in ("lr_scheduler", "swa_utils"):  # imported at their first use
        return import_module(f"nbautograd.optim.{name}")
    return absent.fail("optim", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
