"""The sampler of one of several processes, which selects its part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nbautograd._engine.ops.creation.random import randperm
from nbautograd._engine.rng.generator import Generator
from nbautograd._names.docstrings.classes import composed
from nbautograd.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


@composed
class DistributedSampler(Sampler[int]):
    """Yield every ``num_replicas``-th index of a dataset, in the same random order in each process.

    :param dataset: the dataset; only its length is used.
    :param num_replicas: the number of processes.
    :param rank: the number of this process.
    :param shuffle: use a random order, which ``set_epoch`` changes.
    :param seed: the seed of the order, the same in each process.
    :param drop_last: leave out a remainder that cannot be divided evenly; otherwise read some indices twice.
    :raises ValueError: ``num_replicas`` or ``rank`` is missing, because there is no process group; or ``rank`` is out
        of range.

    >>> [list(torch.utils.data.DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group; "
                "nbautograd has none: DistributedSampler() needs num_replicas= and rank="
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = randperm(size, generator=generator).tolist()
        else:
            order = list(range(size))
        if size:
            order = (order * math.ceil(self.total_size / size))[: self.total_size]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        """Return the number of indices of this process."""
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Select the random order of an epoch; call it before each epoch."""
        self.epoch = epoch
