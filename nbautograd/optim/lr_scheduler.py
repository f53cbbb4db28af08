"""``torch.optim.lr_scheduler``: learning rate schedules.

Most schedules have two forms: a recursive one, which multiplies the current learning rate (so that schedules can be
chained and a rate set by hand is kept), and a closed one, which computes it from the initial learning rate. ``step()``
uses the recursive form, as in PyTorch.
"""

from __future__ import annotations

from nbautograd.optim.composite_schedules import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from nbautograd.optim.cyclic_schedules import CyclicLR, OneCycleLR
from nbautograd.optim.schedule import LRScheduler, _LRScheduler as _LRScheduler
from nbautograd.optim.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
