"""The thread pool for large arrays, and its number of threads.

NumPy releases the GIL while it computes, so tiles of one array can be computed in parallel. No thread exists before the
first array that is large enough, and none when the process forks.
"""

from __future__ import annotations

import os
from _thread import RLock, _local
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from nbautograd._engine.arrays import backend
from nbautograd.errors import kind_of

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


def _available() -> int:
    """Return the initial number of threads: ``OMP_NUM_THREADS``, or the cores that the process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(asked), cores) if asked.isdecimal() and int(asked) else cores


class _Threads(_local):
    """The process's thread pool and its settings; ``inside`` is per thread: True for a worker of the pool."""

    count = _available()
    interop: int | None = None
    executor: ThreadPoolExecutor | None = None
    inside = False


def _stop() -> None:
    """Shut the pool down before a fork: the child would inherit locks, but no threads."""
    executor, _Threads.executor = _Threads.executor, None
    if executor is not None:
        executor.shutdown()


process_lock = RLock()
"""Held while a thread changes what all threads see; a fork waits for it, so that a child finds no half of a change."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=process_lock.acquire, after_in_parent=process_lock.release, after_in_child=process_lock.release
    )
_threads = _Threads()


def get_num_threads() -> int:
    """Return the number of threads for a large array; initially, the cores that the process may use.

    >>> import nbautograd as torch
    >>> torch.get_num_threads() >= 1
    True
    """
    return _Threads.count


def set_num_threads(num: int) -> None:
    """Set the number of threads for large arrays; results are the same, bit for bit.

    NumPy's matrix products have their own threads: this also sets their number if ``threadpoolctl`` is installed (extra
    ``threads``); otherwise set ``OMP_NUM_THREADS`` before the program starts.

    :raises RuntimeError: ``num`` is not a positive int.

    >>> import nbautograd as torch
    >>> before = torch.get_num_threads()
    >>> torch.set_num_threads(1)
    >>> torch.get_num_threads()
    1
    >>> torch.set_num_threads(before)
    """
    _Threads.count = _positive("set_num_threads", num)
    _stop()
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return
    threadpool_limits(num, "blas")


def get_num_interop_threads() -> int:
    """Return the value of ``set_num_interop_threads``; initially the number of cores. Operations never run in parallel.

    >>> import nbautograd as torch
    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return _available() if _Threads.interop is None else _Threads.interop


def set_num_interop_threads(num: int) -> None:
    """Store the number of threads once, as in PyTorch: operations here run one after another.

    :raises RuntimeError: ``num`` is not a positive int, or this has been called before.
    """
    _positive("set_num_interop_threads", num)
    if _Threads.interop is not None:
        raise RuntimeError("Error: cannot set number of interop threads after set_num_interop_threads called")
    _Threads.interop = num


def _positive(name: str, num: Any) -> int:
    if num.__class__ is not int:
        raise RuntimeError(f"{name} expects an int, but got {kind_of(num)}")
    if num < 1:
        raise RuntimeError(f"{name} expects a positive integer")
    return int(num)


def parallel_for(task: Callable[[int], None], count: int) -> None:
    """Call ``task`` with each number below ``count``, in several threads if available; without NumPy's warnings.

    An exception is raised after the calls that have begun; the others do not begin.
    """
    numbers = iter(range(count))  # shared by all threads
    tasks = [task]  # emptied at the end, so that a late thread does not keep the task's arrays alive

    def work() -> None:
        before = backend.get_quiet()
        try:
            backend.set_quiet(backend.SILENT)
            for number in numbers:
                tasks[0](number)
        finally:
            backend.set_quiet(before)

    others: list[Future[None]] = []
    try:
        others = _submitted(work, min(_Threads.count, count) - 1)
        work()
        for future in others:
            if not future.cancel():
                future.result()
    except BaseException:
        for _ in numbers:
            pass
        for future in others:  # calls in other threads end before the caller uses their results
            if not future.cancel():
                future.exception()
        raise
    finally:
        del task, tasks[:]


def for_each_tile(
    length: int, step: int, per_task: int, scratch: Callable[[], Any], evaluate: Callable[[slice, Any], None]
) -> None:
    """Call ``evaluate(tile, buffers)`` for each slice of ``step`` below ``length``, in several threads.

    :param per_task: the range that a thread takes at a time, a multiple of ``step``.
    :param scratch: a function that makes the buffers of a thread for all its tiles.
    """

    def task(number: int) -> None:
        stop = min(per_task * (number + 1), length)
        buffers = scratch()
        for start in range(per_task * number, stop, step):
            evaluate(slice(start, min(start + step, stop)), buffers)

    parallel_for(task, -(-length // per_task))


@cache
def _pool_class() -> type[ThreadPoolExecutor]:
    """Load the class of the pool; from now on a fork stops the pool first.

    What is registered last runs first: the pool is stopped before its module takes the lock without which a thread
    that computes can neither submit a call nor let the pool be stopped.
    """
    from concurrent.futures import ThreadPoolExecutor

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_stop, after_in_child=lambda: setattr(_Threads, "executor", None))
    return ThreadPoolExecutor


def _submitted(work: Callable[[], None], count: int) -> list[Future[None]]:
    """Submit ``work`` to ``count`` further threads, or to fewer if threads are not available."""
    if count < 1 or _threads.inside:
        return []
    executor = _Threads.executor
    if executor is None:
        executor = _Threads.executor = _pool_class()(_Threads.count - 1, "nbautograd", _enter)
    futures = []
    try:
        for _ in range(count):
            futures.append(executor.submit(work))
    except RuntimeError:  # the interpreter exits, or the system has no more threads
        pass
    return futures


def _enter() -> None:
    _threads.inside = True
