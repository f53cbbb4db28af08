"""``torch.utils.data``: datasets, their order of iteration, and batches."""

# ruff: noqa: F403

from __future__ import annotations

from nbautograd._names import absent
from nbautograd.utils.data import collate, dataset, sampler
from nbautograd.utils.data.collate import *
from nbautograd.utils.data.dataloader import DataLoader
from nbautograd.utils.data.dataset import *
from nbautograd.utils.data.distributed import DistributedSampler
from nbautograd.utils.data.sampler import *
from nbautograd.utils.data.worker import get_worker_info

__all__ = ["DataLoader", "DistributedSampler", "get_worker_info", *collate.__all__, *dataset.__all__, *sampler.__all__]
__all__.sort()

absent.answer(__name__)
