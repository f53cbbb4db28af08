"""Fetching batches, in the main process or in worker processes."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nbautograd._engine.ops.creation.random import manual_seed

with suppress(ImportError):  # WebAssembly has no processes
    from multiprocessing.reduction import ForkingPickler

__all__ = ["End", "Job", "WorkerFailure", "WorkerInfo", "fetcher", "get_worker_info", "work"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The worker process that runs the code."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return this worker's ``id``, ``num_workers``, ``seed`` and ``dataset``; None in the main process.

    :returns: a ``WorkerInfo``, or None.

    >>> import nbautograd as torch
    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _info


class End:
    """The answer of a worker whose part of an iterable dataset is exhausted."""


class WorkerFailure:
    """An exception to raise again in the main process."""

    def __init__(self, error: BaseException, where: str) -> None:
        text = "".join(traceback.format_exception(error))
        self.kind: type[BaseException] = type(error)
        self.message = f"Caught {self.kind.__name__} {where}.\nOriginal {text}"

    def error(self) -> BaseException:
        """Return an exception of the same type, or a RuntimeError if its constructor needs more than a message."""
        try:
            return self.kind(self.message)
        except Exception:
            return RuntimeError(self.message)


@dataclass(frozen=True, slots=True)
class Job:
    """The loader's options for its workers."""

    dataset: Any
    iterable: bool
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    seed: int
    workers: int
    prepare: Callable[[int], None] | None


def fetcher(job: Job) -> Callable[[Any], Any]:
    """Return a function from indices to a batch, or from an index to a sample; raises StopIteration at the end."""
    dataset, collate = job.dataset, job.collate
    if not job.iterable:
        together = getattr(dataset, "__getitems__", None)
        if not job.batched:
            return lambda index: collate(dataset[index])
        if callable(together):
            return lambda indices: collate(together(indices))
        return lambda indices: collate([dataset[i] for i in indices])

    samples, ended = iter(dataset), False

    def fetch(indices: Any) -> Any:
        nonlocal ended
        if not job.batched:
            return collate(next(samples))
        if ended:
            raise StopIteration
        batch = []
        for _ in indices:
            try:
                batch.append(next(samples))
            except StopIteration:
                ended = True
                break
        if not batch or job.drop_last and len(batch) < len(indices):
            raise StopIteration
        return collate(batch)

    return fetch


def work(job: Job, number: int, tasks: Any, results: Any) -> None:
    """Run a worker: seed all generators, then answer tasks until None arrives."""
    global _info
    seed = job.seed + number
    random.seed(seed)
    manual_seed(seed)
    _seed_numpy(job.seed, number)
    _info = WorkerInfo(number, job.workers, seed, job.dataset)
    where = f"in DataLoader worker process {number}"
    broken: WorkerFailure | None = None
    fetch: Callable[[Any], Any] | None = None
    with suppress(KeyboardInterrupt, BrokenPipeError):
        try:
            if job.prepare is not None:
                job.prepare(number)
        except Exception as error:
            broken = WorkerFailure(error, where)
        epoch, over = -1, False
        while (task := tasks.get()) is not None:
            its_epoch, index, indices = ForkingPickler.loads(task)
            if its_epoch != epoch:
                epoch, over, fetch = its_epoch, False, None
            answer: Any = broken
            if broken is None and not over:
                try:
                    fetch = fetch or fetcher(job)
                    answer = fetch(indices)
                except StopIteration as error:
                    answer = End() if job.iterable else WorkerFailure(error, where)
                    over = job.iterable
                except Exception as error:
                    answer = WorkerFailure(error, where)
            elif broken is None:
                answer = End()
            results.send_bytes(_pickled((epoch, index, answer), where))


def _pickled(message: tuple[int, int, Any], where: str) -> Any:
    try:
        return ForkingPickler.dumps(message)
    except Exception as error:  # an answer that cannot be pickled becomes a WorkerFailure
        failure = WorkerFailure(error, where)
        failure.kind = RuntimeError
        return ForkingPickler.dumps((*message[:2], failure))


def _seed_numpy(seed: int, number: int) -> None:
    from numpy import random as numpy_random  # imported late, because the import is slow

    words = numpy_random.SeedSequence([number, seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF, 0])
    numpy_random.seed(words.generate_state(4))
