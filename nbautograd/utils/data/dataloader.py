"""DataLoader: batches of a dataset, fetched in the main process or by workers."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import copy
from itertools import count, repeat
from types import GenericAlias
from typing import Any, NoReturn

from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.rng.generator import Generator
from nbautograd._names.docstrings.classes import composed
from nbautograd.errors import warn
from nbautograd.utils.data.collate import default_collate, default_convert
from nbautograd.utils.data.dataset import IterableDataset
from nbautograd.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed
from nbautograd.utils.data.worker import End, Job, WorkerFailure, fetcher, work

with suppress(ImportError):  # WebAssembly has no processes
    from multiprocessing import connection
    from multiprocessing.reduction import ForkingPickler

__all__ = ["DataLoader"]

FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
WITHOUT_PROCESSES = ("emscripten", "wasi")
"""Platforms, by their names in ``sys.platform``."""


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    """Raise ValueError for options of workers that are out of range or need workers."""
    if num_workers < 0:
        raise ValueError(
            f"num_workers option should be non-negative, not {num_workers}; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, not {timeout}")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing: let num_workers > 0, or leave "
            "prefetch_factor at None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"prefetch_factor option should be non-negative, not {prefetch_factor}")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_sampling(
    iterable: bool, batch_size: int | None, shuffle: bool | None, sampler: Iterable[Any] | None,
    batch_sampler: Iterable[Any] | None, drop_last: bool,
) -> None:  # fmt: skip
    """Raise ValueError for options of samplers and batches that exclude each other."""
    if iterable:
        for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                )
    if sampler is not None and shuffle:
        _exclusive("sampler option", "shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or any((shuffle, sampler is not None, drop_last)):
            _exclusive("batch_sampler option", "batch_size, shuffle, sampler, and drop_last")
    elif batch_size is None and drop_last:
        _exclusive("batch_size=None option disables auto-batching and", "drop_last")


def _exclusive(what: str, with_what: str) -> NoReturn:
    raise ValueError(f"{what} is mutually exclusive with {with_what}")


@composed
class DataLoader:
    """Iterate over a dataset in batches, in PyTorch's order for the same seed.

    :param dataset: a :class:`Dataset` or any object with ``len`` and indices, or an :class:`IterableDataset`.
    :param batch_size: samples per batch; None for single samples, not collated.
    :param shuffle: use a new random order each time.
    :param sampler: yields the indices in another order.
    :param batch_sampler: yields lists of indices; replaces ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``.
    :param num_workers: the number of fetching processes, which does not affect the order; 0 for the main process.
    :param collate_fn: collates a list of samples to a batch; :func:`default_collate` by default.
    :param pin_memory: ignored with a warning, as in PyTorch without an accelerator.
    :param drop_last: leave out an incomplete last batch.
    :param timeout: the seconds to wait for a batch from a worker before raising; 0 for no limit.
    :param worker_init_fn: called in each worker with its number.
    :param multiprocessing_context: the start method of workers: ``"fork"``, ``"spawn"``, ``"forkserver"`` or a context.
    :param generator: the source for shuffling and for the workers' seeds; the default one if None.
    :param prefetch_factor: the number of batches that each worker fetches in advance; 2 if None.
    :param persistent_workers: keep the workers between epochs.
    :param in_order: yield batches in order; otherwise as they arrive from the workers.
    :raises ValueError: arguments exclude each other or are out of range.

    >>> _ = torch.manual_seed(0)
    >>> [batch.tolist() for batch in torch.utils.data.DataLoader(range(5), batch_size=2, shuffle=True)]
    [[1, 4], [2, 3], [0]]
    """

    _ready = False

    __class_getitem__: Any = classmethod(GenericAlias)  # ``DataLoader[int]``, in annotations and as a base

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self._iterable = isinstance(dataset, IterableDataset)
        _check_sampling(self._iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            if self._iterable:
                sampler = repeat(None)
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.sampler, self.batch_sampler = dataset, sampler, batch_sampler
        self.batch_size, self.drop_last = batch_size, drop_last
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.multiprocessing_context = _checked_context(multiprocessing_context, num_workers)
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._told_length: int | None = None
        self._iterator: _Workers | None = None
        self._ready = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ready and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > most:
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {most}: more may make it slow."
            )

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory:
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used."
            )
        if self.num_workers == 0:
            return _Here(self)
        if sys.platform in WITHOUT_PROCESSES:
            warn(
                f"This DataLoader asks for {self.num_workers} worker processes, and WebAssembly has none: batches are "
                "fetched in this process."
            )
            return _Here(self)
        self.check_worker_number_rationality()
        if not self.persistent_workers:
            return _Workers(self)
        if self._iterator is None or self._iterator.closed:
            self._iterator = _Workers(self)
        else:
            self._iterator.loader._told_length = self._told_length
            self._iterator.begin()
        return self._iterator

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        samples = self._told_length = len(self.dataset)
        if self.batch_size is None:
            return samples
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)


def _checked_context(context: Any, num_workers: int) -> Any:
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            "num_workers=0"
        )
    if isinstance(context, str):
        known = multiprocessing.get_all_start_methods()
        if context not in known:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {known}, but got {context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got {context!r}"
        )
    return context


class _Batches:
    """An iterator over the batches of one epoch."""

    event = ""  # its name in profiles

    def __init__(self, loader: DataLoader) -> None:
        self.loader = copy(loader)  # not the one that keeps persistent workers: they end with it, and not as a cycle
        self.loader._iterator = None
        self.indices = iter(loader._index_sampler)
        self.fetched = 0
        seed = draw_seed(loader.generator)  # also drawn without workers, for equal random numbers
        self.job = Job(
            loader.dataset, loader._iterable, loader.batch_sampler is not None, loader.collate_fn, loader.drop_last,
            seed, loader.num_workers, loader.worker_init_fn,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self.loader._index_sampler)

    def __next__(self) -> Any:
        watch = dispatch_mode.watcher
        batch = self.next_batch() if watch is None else watch(f"{self.event}.__next__", self.next_batch, (), {})
        self.fetched += 1
        told = self.loader._told_length
        if told is not None and self.fetched > told:
            warn(
                f"Length of IterableDataset {self.loader.dataset} was reported to be {told} (when accessing "
                f"len(dataloader)), but {self.fetched} samples have been fetched."
            )
        return batch

    def next_batch(self) -> Any:
        raise NotImplementedError


class _Here(_Batches):
    """Batches fetched in the main process."""

    event = "enumerate(DataLoader)#_SingleProcessDataLoaderIter"

    def __init__(self, loader: DataLoader) -> None:
        if loader.timeout and not loader.num_workers:
            raise AssertionError(f"timeout={loader.timeout} needs num_workers > 0")
        super().__init__(loader)
        self.fetch = fetcher(self.job)

    def next_batch(self) -> Any:
        return self.fetch(next(self.indices))


class _Workers(_Batches):
    """Batches fetched by processes, which get tasks in turn, so that the order of batches does not depend on speed.

    A task goes through a queue, whose thread waits for a busy worker; an answer goes through the worker's own pipe.
    """

    closed = False
    event = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter"

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self.processes, self.tasks, self.pipes = [], [], []
        self.epoch = -1
        for number in range(loader.num_workers):
            queue, (ours, theirs) = context.Queue(), context.Pipe(duplex=False)
            process = context.Process(target=work, args=(self.job, number, queue, theirs), daemon=True)
            process.start()
            theirs.close()  # so that the end of the worker is the end of the pipe
            self.processes.append(process)
            self.tasks.append(queue)
            self.pipes.append(ours)
        _running.add(self)
        self.begin(first=True)

    def begin(self, first: bool = False) -> None:
        """Start from the beginning, with the same workers; answers to earlier tasks belong to another epoch."""
        self.epoch += 1
        if not first:
            self.indices, self.fetched = iter(self.loader._index_sampler), 0
        self.numbers = count()
        self.open: dict[int, int] = {}  # tasks that have not been sent, in order, and their workers
        self.answers: dict[int, Any] = {}
        self.active, self.turn = [True] * len(self.processes), 0
        for _ in range((self.loader.prefetch_factor or 1) * len(self.processes)):
            self._deal()

    def _deal(self) -> None:
        """Send the next task to the next worker in round-robin order."""
        workers = len(self.processes)
        for _ in range(workers):
            who, self.turn = self.turn, (self.turn + 1) % workers
            if self.active[who]:
                break
        else:
            return
        try:
            indices = next(self.indices)
        except StopIteration:
            return
        number = next(self.numbers)
        self.tasks[who].put(bytes(ForkingPickler.dumps((self.epoch, number, indices))))
        self.open[number] = who

    def next_batch(self) -> Any:
        while self.open:
            number = self._arrived()
            who, answer = self.open.pop(number), self.answers.pop(number)
            if isinstance(answer, End):
                if self.active[who]:
                    self.active[who] = False
                    self._deal()
                continue
            self._deal()
            if isinstance(answer, WorkerFailure):
                raise answer.error()  # no frame has it in a variable: that cycle would keep the processes
            return answer
        if not self.loader.persistent_workers:
            self.close()
        raise StopIteration

    def _arrived(self) -> int:
        """Wait for the next answered task, and return its number."""
        limit = time.monotonic() + self.loader.timeout if self.loader.timeout else None
        while True:
            for number in self.open:
                if number in self.answers:
                    return number
                if self.loader.in_order:
                    break
            left = None if limit is None else max(0.0, limit - time.monotonic())
            ready = connection.wait([pipe for pipe in self.pipes if not pipe.closed], left)
            if not ready:
                self.close()
                raise RuntimeError(f"DataLoader timed out after {self.loader.timeout} seconds")
            for pipe in ready:
                self._receive(pipe)

    def _receive(self, pipe: Any) -> None:
        try:
            epoch, number, answer = ForkingPickler.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            process = self.processes[self.pipes.index(pipe)]
            process.join(1)
            pid, code = process.pid, process.exitcode
            self.close()
            raise RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly with code {code}") from None
        if epoch == self.epoch:
            self.answers[number] = answer

    def close(self) -> None:
        """Shut down the workers."""
        if self.closed:
            return
        self.closed = True
        for pipe in self.pipes:
            pipe.close()  # ends a worker that is about to answer
        for queue in self.tasks:
            with suppress(ValueError, OSError, RuntimeError):  # the last: no thread can be started at exit
                queue.put(None)
            queue.close()
        for process in self.processes:
            process.join(0.2)
            if process.is_alive():
                process.terminate()
                process.join()
            process.close()
        for queue in self.tasks:
            queue.cancel_join_thread()

    def __del__(self) -> None:
        # While the interpreter is finalized, a thread that a queue starts never begins: atexit has closed it before.
        if not sys.is_finalizing():
            with suppress(Exception):
                self.close()


_running: weakref.WeakSet[Any] = weakref.WeakSet()
"""The iterators whose workers may run."""


@atexit.register  # after multiprocessing has registered its own, and so before that
def _close_all() -> None:
    for iterator in list(_running):
        with suppress(Exception):
            iterator.close()
