"""``torch.optim.lr_scheduler``: learning rate schedules.

Most schedules have two forms: a recursive one, which multiplies the current learning rate (so that schedules can be
chained and a rate set by hand is kept), and a closed one, which computes it from the initial learning rate. ``step()``
uses the recursive form, as in PyTorch.
"""

# ruff: noqa: F403

from __future__ import annotations

from nbautograd.optim import composite_schedules, cyclic_schedules, schedules
from nbautograd.optim.composite_schedules import *
from nbautograd.optim.cyclic_schedules import *
from nbautograd.optim.schedule import LRScheduler as LRScheduler, _LRScheduler as _LRScheduler
from nbautograd.optim.schedules import *

__all__ = sorted(["LRScheduler", *composite_schedules.__all__, *cyclic_schedules.__all__, *schedules.__all__])
