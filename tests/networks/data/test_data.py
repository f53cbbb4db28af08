"""Datasets, samplers and loaders next to PyTorch's: the same samples in the same order."""

from __future__ import annotations

import collections
import itertools
import os
import random
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._names import absent
from tests import oracle
from tests.waiting import wait_until

data = nb.utils.data
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one processor


def plain(value: Any) -> Any:
    """Tensors as numbers, with their dtype."""
    if hasattr(value, "detach"):
        return "tensor", str(value.dtype).split(".")[-1], value.tolist()
    if isinstance(value, dict):
        return {type(value).__name__: {k: plain(v) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    return value


# -- samplers ----------------------------------------------------------------------------------------------------------

SAMPLERS: dict[str, Any] = {
    "sequential": lambda D, g: D.SequentialSampler(range(7)),
    "random": lambda D, g: D.RandomSampler(range(7), generator=g),
    "more": lambda D, g: D.RandomSampler(range(7), num_samples=17, generator=g),
    "fewer": lambda D, g: D.RandomSampler(range(7), num_samples=3, generator=g),
    "replaced": lambda D, g: D.RandomSampler(range(7), True, 70, generator=g),
    "subset": lambda D, g: D.SubsetRandomSampler([5, 3, 8, 1], generator=g),
    "weighted": lambda D, g: D.WeightedRandomSampler([0.1, 0.9, 0.4, 2.0], 20, generator=g),
    "weighted once": lambda D, g: D.WeightedRandomSampler([0.1, 0.9, 0.4, 2.0], 3, replacement=False, generator=g),
    "batches": lambda D, g: D.BatchSampler(D.RandomSampler(range(7), generator=g), 3, False),
    "full batches": lambda D, g: D.BatchSampler(D.RandomSampler(range(7), generator=g), 3, True),
}


@pytest.mark.parametrize("own", [False, True], ids=["default generator", "own generator"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name: str, own: bool) -> None:
    def program(T: Any) -> Any:
        T.manual_seed(5)
        sampler = SAMPLERS[name](T.utils.data, T.Generator().manual_seed(7) if own else None)
        return len(sampler), list(sampler), list(sampler), T.rand(2).tolist()

    oracle.check(program, exact=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("RandomSampler", ([],)),
        ("RandomSampler", ([1], 1)),
        ("RandomSampler", ([1], False, 0)),
        ("WeightedRandomSampler", ([1.0], 0)),
        ("WeightedRandomSampler", ([1.0], True)),
        ("WeightedRandomSampler", ([1.0], 2, 1)),
        ("WeightedRandomSampler", ([[1.0]], 2)),
        ("BatchSampler", ([1], 0, False)),
        ("BatchSampler", ([1], True, False)),
        ("BatchSampler", ([1], 2, 0)),
    ],
    ids=str,
)
def test_bad_samplers(name: str, arguments: Any) -> None:
    def program(T: Any) -> Any:
        with pytest.raises((TypeError, ValueError)) as info:
            getattr(T.utils.data, name)(*arguments)
        return info.type, str(info.value)

    oracle.check(program, exact=True)


# -- datasets ----------------------------------------------------------------------------------------------------------


def numbered(T: Any, kind: Any = None, count: int = 10) -> Any:
    class Numbered(T.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return count

        def __getitem__(self, i: int) -> Any:
            return kind(T, i) if kind else i

    return Numbered()


def stream(T: Any, count: int) -> Any:
    class Stream(T.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            info = T.utils.data.get_worker_info()
            return iter(range(count)) if info is None else iter(range(info.id, count + 2 * info.id, info.num_workers))

    return Stream()


def test_datasets() -> None:
    def program(T: Any) -> Any:
        D = T.utils.data
        pair = D.TensorDataset(T.arange(6).reshape(3, 2), T.arange(3))
        assert len(pair) == 3 and plain(pair[1]) == ["tuple", ("tensor", "int64", [2, 3]), ("tensor", "int64", 1)]
        both = numbered(T) + [7, 8]  # noqa: RUF005 - what datasets make of it
        assert isinstance(both, D.ConcatDataset) and len(both) == 12 and both[10] == 7 and both[-1] == 8
        assert both.cumulative_sizes == [10, 12]
        with pytest.raises(ValueError, match="absolute value of index"):
            both[-13]
        with pytest.raises(IndexError):
            both[12]
        chain = stream(T, 3) + stream(T, 2)
        assert isinstance(chain, D.ChainDataset) and list(chain) == [0, 1, 2, 0, 1]
        subset = D.Subset(numbered(T), [3, 5, 7])
        assert len(subset) == 3 and subset[1] == 5 and subset.__getitems__([0, 2]) == [3, 7]
        stacked = D.StackDataset(numbered(T), list(range(10, 20)))
        assert stacked[2] == (2, 12) and stacked.__getitems__([1, 3]) == [(1, 11), (3, 13)]
        named = D.StackDataset(a=subset, b=[1, 2, 3])
        assert named[0] == {"a": 3, "b": 1} and named.__getitems__([2]) == [{"a": 7, "b": 3}] and len(named) == 3
        with pytest.raises(NotImplementedError):
            D.Dataset()[0]

    oracle.check(program, exact=True)


def test_bad_datasets() -> None:
    def program(T: Any) -> Any:
        D = T.utils.data
        with pytest.raises(AssertionError, match="Size mismatch between tensors"):
            D.TensorDataset(T.ones(2), T.ones(3))
        with pytest.raises(AssertionError, match="empty iterable"):
            D.ConcatDataset([])
        with pytest.raises(AssertionError, match="does not support IterableDataset"):
            D.ConcatDataset([stream(T, 1)])
        with pytest.raises(AssertionError, match="only supports IterableDataset"):
            list(D.ChainDataset([[1]]))
        with pytest.raises(ValueError, match="Size mismatch between datasets"):
            D.StackDataset([1], [2, 3])
        with pytest.raises(ValueError, match="At least one dataset"):
            D.StackDataset()
        with pytest.raises(ValueError, match="Supported either"):
            D.StackDataset([1], a=[2])
        with pytest.raises(NotImplementedError, match="__getitems__"):
            type("Own", (D.Subset,), {"__getitem__": lambda self, i: 0})([1], [0])

    oracle.check(program, exact=True)


@pytest.mark.parametrize(
    "lengths", [[3, 7], [10], [4, 4, 2], [0.3, 0.7], [0.33, 0.33, 0.34], [0.5, 0.25, 0.25]], ids=str
)
@pytest.mark.parametrize("own", [False, True])
def test_random_split(lengths: list[float], own: bool) -> None:
    def program(T: Any) -> Any:
        T.manual_seed(11)
        options = {"generator": T.Generator().manual_seed(3)} if own else {}
        parts = T.utils.data.random_split(numbered(T), lengths, **options)
        return [list(part.indices) for part in parts], T.rand(1).item()

    oracle.check(program, exact=True)


def test_bad_splits() -> None:
    def program(T: Any) -> Any:
        with pytest.raises(ValueError, match="does not equal the length"):
            T.utils.data.random_split(range(5), [2, 2])
        with pytest.raises(ValueError, match="Fraction at index 0"):
            T.utils.data.random_split(range(5), [-0.5, 1.5])
        with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
            T.utils.data.random_split(range(1), [0.5, 0.5])

    oracle.check(program, exact=True)


# -- batches -----------------------------------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")
KINDS: dict[str, Any] = {
    "int": lambda T, i: i,
    "float": lambda T, i: i / 2,
    "bool": lambda T, i: i % 2 == 0,
    "text": lambda T, i: str(i),
    "bytes": lambda T, i: b"x",
    "tensor": lambda T, i: T.arange(3) + i,
    "0-d tensor": lambda T, i: T.tensor(i / 2),
    "array": lambda T, i: np.arange(3.0) + i,
    "0-d array": lambda T, i: np.array(i),
    "float32 number": lambda T, i: np.float32(i),
    "bool number": lambda T, i: np.bool_(i % 2),
    "int16 array": lambda T, i: np.array([i, 2], np.int16),
    "tuple": lambda T, i: (T.ones(2) * i, i),
    "list": lambda T, i: [i, [i, str(i)]],
    "named tuple": lambda T, i: Point(i, T.ones(1) * i),
    "dict": lambda T, i: {"a": i, "b": (T.ones(2), {"c": 1.5})},
    "ordered dict": lambda T, i: collections.OrderedDict(a=i, b=2),
    "default dict": lambda T, i: collections.defaultdict(int, a=i),
    "range": lambda T, i: range(i, i + 2),
}


@pytest.mark.parametrize("name", KINDS)
def test_collate_and_convert(name: str) -> None:
    def program(T: Any) -> Any:
        D = T.utils.data
        samples = [KINDS[name](T, i) for i in range(3)]
        return plain(D.default_collate(samples)), plain(D.default_convert(samples[1]))

    oracle.check(program, exact=True)


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        ([object()], TypeError),
        ([None, None], TypeError),
        ([np.array(["a"])], TypeError),
        ([[1], [1, 2]], RuntimeError),
        ([np.ones(2), np.ones(3)], RuntimeError),
    ],
    ids=lambda value: re.sub(r" at 0x\w+", "", str(value)),
)
def test_what_cannot_be_collated(batch: Any, error: Any) -> None:
    def program(T: Any) -> Any:
        with pytest.raises(error):
            T.utils.data.default_collate(batch)

    oracle.check(program, exact=True)


def epochs(T: Any, loader: Any, count: int = 2) -> list[Any]:
    return [[plain(batch) for batch in loader] for _ in range(count)]


LOADERS: list[dict[str, Any]] = [
    {},
    {"batch_size": 3},
    {"batch_size": 3, "drop_last": True},
    {"batch_size": 4, "shuffle": True},
    {"batch_size": 4, "shuffle": True, "generator": 9},
    {"batch_size": None},
    {"batch_size": None, "shuffle": True},
    {"batch_sampler": [[1, 2], [3], [4, 5, 6]]},
    {"sampler": [3, 1, 4, 1, 5], "batch_size": 2},
    {"batch_size": 3, "collate_fn": list},
]


def loader_of(T: Any, dataset: Any, options: dict[str, Any]) -> Any:
    options = dict(options)
    if "generator" in options:
        options["generator"] = T.Generator().manual_seed(options["generator"])
    return T.utils.data.DataLoader(dataset, **options)


@pytest.mark.parametrize("options", LOADERS, ids=str)
def test_loaders(options: dict[str, Any]) -> None:
    def program(T: Any) -> Any:
        T.manual_seed(2)
        loader = loader_of(T, numbered(T, KINDS["tuple"]), options)
        return len(loader), epochs(T, loader), T.rand(1).item()

    oracle.check(program, exact=True)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", [LOADERS[1], LOADERS[4], LOADERS[6]], ids=str)
def test_workers_change_nothing(options: dict[str, Any], workers: int) -> None:
    def program(T: Any, count: int = 0) -> Any:
        T.manual_seed(2)
        loader = loader_of(T, numbered(T, KINDS["tuple"]), options | {"num_workers": count})
        return epochs(T, loader), T.rand(1).item()

    oracle.same(program(nb, workers), oracle.answer(program, exact=True))


def test_workers_are_seeded_as_pytorchs() -> None:
    def draw(T: Any, i: int) -> Any:
        return T.rand(1).item(), random.random(), np.random.rand(), T.utils.data.get_worker_info().seed

    def program(T: Any) -> Any:
        T.manual_seed(3)
        loader = T.utils.data.DataLoader(numbered(T, draw, 4), num_workers=2, collate_fn=list)
        return epochs(T, loader, 1)

    oracle.check(program, exact=True)


@pytest.mark.sweep
@pytest.mark.parametrize("persistent", [False, True])
def test_streams(persistent: bool) -> None:
    def program(T: Any, options: dict[str, Any]) -> Any:
        loader = T.utils.data.DataLoader(stream(T, 11), **options)
        both = T.utils.data.DataLoader(stream(T, 11), num_workers=2, persistent_workers=persistent, **options)
        with pytest.raises(TypeError, match="len"):
            len(loader)
        return epochs(T, loader), epochs(T, both)

    for options in ({"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}):
        oracle.check(program, options, exact=True)


def test_persistent_workers_are_the_same_processes() -> None:
    loader = data.DataLoader(numbered(nb, lambda T, i: os.getpid()), num_workers=1, persistent_workers=True)
    first, second = epochs(nb, loader)
    assert first == second
    for _ in loader:  # left halfway
        break
    assert len(list(loader)) == 10
    loader = data.DataLoader(numbered(nb, lambda T, i: os.getpid()), num_workers=1)
    first, second = epochs(nb, loader)
    assert first != second


def test_worker_init_fn_and_info() -> None:
    told: list[int] = []

    def init(number: int) -> None:
        told.append(number)

    def look(T: Any, i: int) -> Any:
        info = T.utils.data.get_worker_info()
        return info.id, info.num_workers, told[0], len(info.dataset)

    loader = data.DataLoader(numbered(nb, look, 4), num_workers=2, worker_init_fn=init, collate_fn=list)
    assert list(loader) == [[(0, 2, 0, 4)], [(1, 2, 1, 4)], [(0, 2, 0, 4)], [(1, 2, 1, 4)]]
    assert data.get_worker_info() is None and told == []


def failing(T: Any, i: int) -> Any:
    if i == 1:
        raise KeyError("the second is missing")
    return i


def test_errors_in_workers() -> None:
    loader = data.DataLoader(numbered(nb, failing, 3), num_workers=1)
    batches = iter(loader)
    assert next(batches).item() == 0
    with pytest.raises(KeyError, match="in DataLoader worker process 0"):
        next(batches)
    assert next(batches).item() == 2
    with pytest.raises(StopIteration):
        next(batches)
    with pytest.raises(KeyError, match="missing"):
        list(data.DataLoader(numbered(nb, failing, 3)))

    def broken(number: int) -> None:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        list(data.DataLoader(numbered(nb), num_workers=1, worker_init_fn=broken))
    with pytest.raises(RuntimeError, match=r"pickle|local object"):
        list(data.DataLoader(numbered(nb, lambda T, i: lambda: i), batch_size=None, num_workers=1))


def test_workers_that_die_or_take_too_long() -> None:
    with pytest.raises(RuntimeError, match="exited unexpectedly with code 3"):
        list(data.DataLoader(numbered(nb, lambda T, i: os._exit(3)), num_workers=1))
    with pytest.raises(RuntimeError, match=r"timed out after 0.2 seconds"):
        list(data.DataLoader(numbered(nb, lambda T, i: time.sleep(30)), num_workers=1, timeout=0.2))


def test_batches_larger_than_a_pipe() -> None:
    big = numbered(nb, lambda T, i: T.full((300, 300), float(i)), 6)
    loader = data.DataLoader(big, batch_sampler=[[i % 6 for i in range(20_000)][:3] for _ in range(8)], num_workers=2)
    assert [tuple(batch.shape) for batch in loader] == [(3, 300, 300)] * 8
    indices = [list(range(6)) * 30_000] * 5
    loader = data.DataLoader(numbered(nb), batch_sampler=indices, num_workers=1, collate_fn=list)
    assert [len(batch) for batch in loader] == [180_000] * 5


@pytest.mark.parametrize("in_order", [True, False])
def test_out_of_order(tmp_path: Path, in_order: bool) -> None:
    """One worker is held up by its first sample until the other has sent two of its own."""
    flag = tmp_path / "third"

    def slow(T: Any, i: int) -> Any:
        if i == 0:
            wait_until(flag.exists)
        if i == 5:  # after 1 and 3
            flag.touch()
        return i

    options = {"batch_size": None, "num_workers": 2, "prefetch_factor": 4, "in_order": in_order}
    found = list(data.DataLoader(numbered(nb, slow), **options))
    assert sorted(found) == list(range(10)) and (found[0] == 0) is in_order


BAD: list[dict[str, Any]] = [
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"persistent_workers": True},
    {"batch_size": 0},
    {"sampler": [1], "shuffle": True},
    {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_sampler": [[1]], "drop_last": True},
    {"batch_size": None, "drop_last": True},
    {"multiprocessing_context": "fork"},
    {"multiprocessing_context": "thread", "num_workers": 1},
    {"num_workers": 1, "prefetch_factor": -1},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_loaders(options: dict[str, Any]) -> None:
    def program(T: Any) -> Any:
        with pytest.raises(ValueError) as info:
            T.utils.data.DataLoader(numbered(T), **options)
        return str(info.value).split()[:3]

    oracle.check(program, exact=True)


def test_more_bad_loaders() -> None:
    def program(T: Any) -> Any:
        D = T.utils.data
        for name, value in (("shuffle", True), ("sampler", [1]), ("batch_sampler", [[1]])):
            with pytest.raises(ValueError, match=f"expected unspecified {name} option"):
                D.DataLoader(stream(T, 3), **{name: value})
        with pytest.raises(ValueError, match="num_samples should be a positive integer"):
            D.DataLoader([], shuffle=True)
        assert list(D.DataLoader([])) == []
        loader = D.DataLoader([1, 2])
        with pytest.raises(ValueError, match="batch_size attribute should not be set"):
            loader.batch_size = 3
        with pytest.raises(TypeError, match="unexpected keyword"):
            D.DataLoader([1], workers=2)
        with pytest.warns(UserWarning, match="pin_memory"):
            assert len(list(D.DataLoader([1, 2], pin_memory=True))) == 2
        with pytest.warns(UserWarning, match="worker processes in total"):
            D.DataLoader([1], num_workers=(os.cpu_count() or 1) + 1)
        with pytest.raises(AssertionError):
            iter(D.DataLoader([1], timeout=1))

    oracle.check(program, exact=True)


def test_a_stream_that_lied_about_its_length() -> None:
    def program(T: Any) -> Any:
        lying = type("Lying", (type(stream(T, 3)),), {"__len__": lambda self: 2})()
        loader = T.utils.data.DataLoader(lying)
        assert len(loader) == 2
        with pytest.warns(UserWarning, match="was reported to be 2"):
            list(loader)

    oracle.check(program, exact=True)


def test_names() -> None:
    theirs = oracle.answer(lambda T: list(T.utils.data.__all__))
    missing = {n for n in theirs if not n.startswith("_") and not hasattr(data, n)}
    assert missing <= absent.names("utils.data")
    with pytest.raises(AttributeError, match="data pipes are deprecated"):
        _ = data.IterDataPipe


def test_the_import_stays_cheap() -> None:
    code = """
import sys, nbautograd
print([m for m in ("nbautograd.utils.data", "nbautograd.optim") if m in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_iterators_have_no_end_but_the_samplers() -> None:
    def forever() -> Any:
        return itertools.cycle([0, 1])

    class Forever(data.Sampler[int]):
        def __iter__(self) -> Any:
            return forever()

    with warnings.catch_warnings():
        batches = iter(data.DataLoader([5, 6], sampler=Forever(), batch_size=3, num_workers=1))
        assert [next(batches).tolist() for _ in range(3)] == [[5, 6, 5], [6, 5, 6], [5, 6, 5]]


def test_without_processes_batches_are_fetched_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "emscripten")
    loader = nb.utils.data.DataLoader(nb.arange(6), 4, num_workers=2, timeout=5)
    with pytest.warns(UserWarning, match="WebAssembly has none"):
        assert [batch.tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5]]
