"""Samplers: the order of the indices of a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty
from nbautograd._engine.ops.creation.distributions import multinomial
from nbautograd._engine.ops.creation.from_data import as_tensor
from nbautograd._engine.ops.creation.random import randint, randperm
from nbautograd._engine.rng.generator import Generator
from nbautograd._names.docstrings.classes import composed

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
]  # fmt: skip

T_co = TypeVar("T_co", covariant=True)


def draw_seed(generator: Generator | None = None) -> int:
    """Draw a seed from a generator, or from the default one if None."""
    return int(empty((), dtype=dtypes.int64).random_(generator=generator).item())


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


@composed
class Sampler(Generic[T_co]):
    """The base class of samplers: a subclass yields indices, or lists of indices, in ``__iter__``.

    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    ...     def __len__(self):
    ...         return 3
    ...
    >>> [batch[0] for batch in torch.utils.data.DataLoader("abc", sampler=Backwards())]
    ['c', 'b', 'a']
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has to define __iter__")


@composed
class SequentialSampler(Sampler[int]):
    """Yield all indices in order.

    :raises TypeError: ``data_source`` has no length, at iteration.

    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


@composed
class RandomSampler(Sampler[int]):
    """Yield indices in random order: PyTorch's for the same seed.

    :param replacement: draw with replacement: some indices occur several times, others never.
    :param num_samples: the number of indices, by default all.
    :param generator: the random generator; by default a new one, seeded from the default one.
    :raises ValueError: ``num_samples`` is not a positive int.
    :raises TypeError: ``replacement`` is not a bool.

    >>> _ = torch.manual_seed(0)
    >>> list(torch.utils.data.RandomSampler(range(5)))
    [1, 3, 4, 2, 0]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of yielded indices."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, n, source = self.num_samples, len(self.data_source), self.generator
        if source is None:
            source = Generator().manual_seed(draw_seed())
        if self.replacement:  # 32 at a time, as PyTorch draws them
            for _ in range(count // 32):  # never listed in full: there may be 10^10
                yield from randint(n, (32,), generator=source).tolist()
            yield from randint(n, (count % 32,), generator=source).tolist()
            return
        for _ in range(count // n):
            yield from randperm(n, generator=source).tolist()
        yield from randperm(n, generator=source).tolist()[: count % n]

    def __len__(self) -> int:
        return self.num_samples


@composed
class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    :raises TypeError: ``indices`` has no length, at iteration.

    >>> sorted(torch.utils.data.SubsetRandomSampler([7, 8, 9]))
    [7, 8, 9]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


@composed
class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights, which need not sum to 1.

    :raises ValueError: the weights are not one-dimensional, or ``num_samples`` is not a positive int.

    >>> list(torch.utils.data.WeightedRandomSampler([0., 0., 1.], num_samples=3))
    [2, 2, 2]
    """

    weights: Tensor

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=dtypes.float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


@composed
class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices of another sampler.

    :param drop_last: leave out an incomplete last list.
    :raises ValueError: ``batch_size`` is not a positive int, or ``drop_last`` is not a bool.

    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
