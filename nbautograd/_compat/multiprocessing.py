"""``torch.multiprocessing``: Python's own ``multiprocessing``; tensors are pickled: each process has its own copy."""

from __future__ import annotations

import contextlib
import multiprocessing as _python
import multiprocessing.connection
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 - what PyTorch's has, too
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NoReturn

__all__ = [
    *_python.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes",
]  # fmt: skip

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """Return PyTorch's names of memory sharing strategies, the arguments of ``set_sharing_strategy``.

    :returns: a set of strings.

    >>> sorted(get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return the setting of ``set_sharing_strategy``, initially ``"file_descriptor"``.

    :returns: a string.

    >>> get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Store the strategy, which has no effect: tensors are always pickled.

    :param new_strategy: ``"file_descriptor"`` or ``"file_system"``.
    :returns: None.
    :raises AssertionError: the strategy is unknown.

    >>> set_sharing_strategy("file_system")
    >>> get_sharing_strategy()
    'file_system'
    >>> set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_STRATEGIES}")
    _strategy = new_strategy


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """A process of ``start_processes`` has failed.

    :ivar error_index: the index of the process.
    :ivar error_pid: its process id.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception, whose traceback is the message."""


class ProcessExitedException(ProcessException):
    """The process ended with an exit code that is not 0, or by a signal.

    :ivar exit_code: the code, negative for a signal.
    :ivar signal_name: the signal's name, or None.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], error_file: str) -> None:
    """Run the function in a process, and write its traceback into a file."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # of the parent, which also ends the others
    except Exception:
        Path(error_file).write_text(traceback.format_exc(), encoding="utf-8")
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that run the same function, each with its index.

    :ivar processes: the processes.
    :ivar error_files: the files for their tracebacks.
    """

    def __init__(self, processes: list[BaseProcess], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int | None]:
        """Return their process ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one fails or all have ended.

        :param timeout: the maximum seconds to wait.
        :param grace_period: the seconds for the others to end by themselves after a failure.
        :returns: whether all have ended.
        :raises ProcessRaisedException: a process raised an exception; the others have been ended.
        :raises ProcessExitedException: a process exited with an error code or by a signal; the others have been ended.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait([*self.sentinels], timeout=timeout):
            index = self.sentinels.pop(sentinel)  # type: ignore[arg-type]
            self.processes[index].join()
            if self.processes[index].exitcode and failed is None:
                failed = index
        if failed is None:
            if not self.sentinels:
                self._remove_files()
            return not self.sentinels
        self._end(grace_period)
        try:
            self._raise(failed)
        finally:
            self._remove_files()

    def _end(self, grace_period: float | None) -> None:
        """End the running processes."""
        until = time.monotonic() + (grace_period or 0)
        for process in self.processes:
            if grace_period:
                process.join(max(until - time.monotonic(), 0))
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(30)
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, index: int) -> NoReturn:
        process = self.processes[index]
        code, pid = process.exitcode or 0, process.pid or 0
        if os.path.getsize(self.error_files[index]):
            text = Path(self.error_files[index]).read_text(encoding="utf-8")
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index, pid
            )
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, pid, code, name)
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, pid, code)

    def _remove_files(self) -> None:
        for path in self.error_files:
            with contextlib.suppress(OSError):
                os.unlink(path)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in ``nprocs`` processes, where ``i`` is the process index.

    :param join: wait for all of them.
    :param start_method: ``"spawn"``, ``"fork"`` or ``"forkserver"``.
    :returns: the processes, unless ``join``.
    :raises ProcessException: a process failed; see ``ProcessContext.join``.
    """
    context = _python.get_context(start_method)
    processes: list[BaseProcess] = []
    error_files: list[str] = []
    for index in range(nprocs):
        handle, path = tempfile.mkstemp(prefix="nbautograd-", suffix=".error")
        os.close(handle)
        process = context.Process(target=_run, args=(fn, index, args, path), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
        error_files.append(path)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in ``nprocs`` processes; see ``start_processes``.

    As with Python's own processes, ``fn`` must be importable: a function of a file, not of a notebook's cell.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
