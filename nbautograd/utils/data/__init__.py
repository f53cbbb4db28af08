"""``torch.utils.data``: datasets, the order in which they are gone through, and batches of them."""

from __future__ import annotations

from typing import Any

from nbautograd import _absent
from nbautograd.utils.data.collate import default_collate, default_convert
from nbautograd.utils.data.dataloader import DataLoader
from nbautograd.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from nbautograd.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from nbautograd.utils.data.worker import get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

ABSENT = dict.fromkeys(
    (
        "DFIterDataPipe",
        "DataChunk",
        "IterDataPipe",
        "MapDataPipe",
        "argument_validation",
        "functional_datapipe",
        "guaranteed_datapipes_determinism",
        "non_deterministic",
        "runtime_validation",
        "runtime_validation_disabled",
    ),
    "data pipes are deprecated in PyTorch: use Dataset and DataLoader",
) | {"DistributedSampler": "there is no torch.distributed: training runs in one process"}
"""What PyTorch has here and nbautograd has not, and why."""


def __getattr__(name: str) -> Any:
    if name in ABSENT:
        raise AttributeError(f"nbautograd has no torch.utils.data.{name}: {ABSENT[name]}")
    return _absent.fail("utils.data", name)
