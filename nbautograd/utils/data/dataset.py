"""Datasets: map-style, by index, and iterable-style."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.random import randperm
from nbautograd._engine.rng.generator import Generator
from nbautograd._names.docstrings.classes import composed
from nbautograd.errors import warn

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
    "random_split",
]  # fmt: skip

T_co = TypeVar("T_co", covariant=True)


@composed
class Dataset(Generic[T_co]):
    """The base class of map-style datasets: a subclass defines ``__getitem__`` and ``__len__``.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __getitem__(self, index):
    ...         return index * index
    ...     def __len__(self):
    ...         return 4
    ...
    >>> [batch.tolist() for batch in torch.utils.data.DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4, 9]]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


@composed
class IterableDataset(Dataset[T_co]):
    """The base class of iterable-style datasets, of samples from a file or a stream: a subclass defines ``__iter__``.

    With several workers, each has its own copy: use :func:`get_worker_info` to select its part.

    >>> class Countdown(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    ...
    >>> [batch.tolist() for batch in torch.utils.data.DataLoader(Countdown(), batch_size=2)]
    [[3, 2], [1]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


@composed
class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of equal length; a sample is a tuple of their elements at one index of the first dimension.

    :raises AssertionError: their first dimensions differ.

    >>> data = torch.utils.data.TensorDataset(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 1]))
    >>> len(data), data[1]
    (2, (tensor([3, 4]), tensor(1)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [t.size(0) for t in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(f"Size mismatch between tensors: their first dimensions are {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


@composed
class StackDataset(Dataset[Any]):
    """Zipped datasets: a sample is a tuple, or a dictionary, of one sample of each.

    :raises ValueError: the lengths differ, no dataset is given, or both kinds of argument are given.

    >>> torch.utils.data.StackDataset(image=[7, 8], text=["a", "b"])[1]
    {'image': 8, 'text': 'b'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("Supported either tuple- (via args) or dict- (via kwargs) like datasets, not both.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        sizes = [len(d) for d in args or kwargs.values()]
        if len(set(sizes)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {sizes}")
        self._length = sizes[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: d[index] for key, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return several samples at once, by the datasets' ``__getitems__`` if defined."""
        named = self.datasets if isinstance(self.datasets, dict) else dict(enumerate(self.datasets))
        columns = [_several(d, indices) for d in named.values()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        rows = zip(*columns, strict=True)
        if isinstance(self.datasets, dict):
            return [dict(zip(named, row, strict=True)) for row in rows]
        return list(rows)

    def __len__(self) -> int:
        return self._length


def _several(dataset: Any, indices: list[int]) -> list[Any]:
    together = getattr(dataset, "__getitems__", None)
    result: list[Any] = together(indices) if callable(together) else [dataset[i] for i in indices]
    return result


@composed
class ConcatDataset(Dataset[Any]):
    """Concatenated datasets; ``a + b`` also creates one.

    :raises AssertionError: no dataset is given, or one is an :class:`IterableDataset`.

    >>> both = torch.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2], both[-3]
    (3, 3, 1)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset: use ChainDataset")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < -len(self):
            raise ValueError(f"absolute value of index should not exceed dataset length: {idx} and {len(self)} samples")
        idx += len(self) if idx < 0 else 0
        which = bisect_right(self.cumulative_sizes, idx)
        if which == len(self.datasets):
            raise IndexError(f"index {idx} is out of range of a ConcatDataset of {len(self)} samples")
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


@composed
class ChainDataset(IterableDataset[Any]):
    """A sequence of :class:`IterableDataset` objects.

    :raises AssertionError: an item is not an :class:`IterableDataset`, at iteration.

    >>> class Countdown(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    ...
    >>> list(torch.utils.data.ChainDataset([Countdown(), Countdown()]))
    [3, 2, 1, 3, 2, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _each(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"ChainDataset only supports IterableDataset, not {type(dataset).__name__}")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._each():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._each())


@composed
class Subset(Dataset[T_co]):
    """The samples of a dataset at given indices.

    :raises NotImplementedError: a subclass overrides only ``__getitem__``, which :class:`DataLoader` does not call.

    >>> torch.utils.data.Subset("abcdef", [1, 3])[1]
    'd'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__, which is what a DataLoader calls: define "
                "it too, for example as [self[i] for i in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return several samples at once."""
        return _several(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[Any]]:
    """Split a dataset into random parts without overlap: PyTorch's for the same seed.

    :param dataset: a map-style dataset.
    :param lengths: the number of samples of each part; or fractions that sum to 1: the first parts share the rest.
    :param generator: the random generator; the default one if None.
    :returns: a list of :class:`Subset`.
    :raises ValueError: the lengths do not sum to the dataset's length, or a fraction is not between 0 and 1.

    >>> import nbautograd as torch
    >>> parts = torch.utils.data.random_split(range(10), [0.8, 0.2], torch.Generator().manual_seed(1))
    >>> [len(part) for part in parts]
    [8, 2]
    """
    count = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for index, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise ValueError(f"Fraction at index {index} is not between 0 and 1: {part}")
        sizes = [math.floor(count * part) for part in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for index, size in enumerate(sizes):
            if size == 0:
                warn(f"Length of split at index {index} is 0. This might result in an empty dataset.")
    else:
        sizes = list(lengths)  # type: ignore[arg-type]
    if sum(sizes) != count:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"They sum to {sum(sizes)}, and it has {count} samples"
        )
    order = randperm(count, generator=generator).tolist()
    return [Subset(dataset, order[end - size : end]) for end, size in zip(accumulate(sizes), sizes, strict=True)]
