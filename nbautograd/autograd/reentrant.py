"""Backward passes that begin inside another one, to any depth: where the stack is deep, on a thread with its own.

A pass inside a pass inside a pass ... takes some ten frames of Python's stack each, which has room for a hundred. So a
pass that finds the stack half full runs on a new thread, as PyTorch's do, while the thread that wants its result waits.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from nbautograd.arrays import backend

__all__ = ["run_nested"]

DEEP = 500
"""Frames on a stack that leaves no room for another pass; fewer where ``sys.setrecursionlimit`` has made it smaller."""


def run_nested(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)`` in a copy of the context, on a thread of its own if the stack is deep."""
    context = copy_context()
    if not _is_deep():
        return context.run(function, *args)
    thread = _PassThread(context, function, args)
    try:
        thread.start()
    except RuntimeError:  # no more threads can be started: there may be room here, still
        return context.run(function, *args)
    except BaseException as interrupt:
        thread.interrupt(type(interrupt))
        raise
    return thread.result()


def _is_deep() -> bool:
    try:
        sys._getframe(min(DEEP, sys.getrecursionlimit() // 2))
    except ValueError:
        return False
    return True


class _PassThread(threading.Thread):
    """One call, on a stack of its own, with the settings of the thread that makes it."""

    def __init__(self, context: Context, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        super().__init__(name="nbautograd backward", daemon=True)
        self.call: Any = (context, function, args)
        self.settings = backend.thread_settings()
        self.value: Any = None
        self.error: BaseException | None = None
        self.inner: _PassThread | None = None  # the thread that this one waits for
        self.running = threading.Lock()  # join() may take a thread to have ended if it is interrupted
        self.running.acquire()

    def run(self) -> None:
        """What the thread does."""
        try:
            (context, function, args), self.call = self.call, None
            self.settings()
            self.value = context.run(function, *args)
        except BaseException as error:
            self.error = error
        finally:
            self.running.release()

    def result(self) -> Any:
        """Wait for the thread, and return or raise what the call did.

        An interrupt, which reaches the main thread only, is passed on to the thread that runs.
        """
        waiting = threading.current_thread()
        # Handlers of signals run in the main thread. If another one got the signal, it does not wake the main one up.
        patience = 0.1 if waiting is threading.main_thread() else -1
        if isinstance(waiting, _PassThread):
            waiting.inner = self
        try:
            interrupt = self._wait(patience)
            self.join()
            if self.error is not None or interrupt is not None:
                raise self.error or interrupt  # type: ignore[misc]
            return self.value
        finally:
            if isinstance(waiting, _PassThread):
                waiting.inner = None
            self.error = self.value = interrupt = None  # the traceback leads back to this frame

    def _wait(self, patience: float) -> BaseException | None:
        """Wait for the call's end; returns the interrupt that came meanwhile."""
        last: BaseException | None = None
        while True:
            try:
                if self.running.acquire(timeout=patience):
                    return last
            except BaseException as interrupt:
                last = interrupt
                self.interrupt(type(interrupt))

    def interrupt(self, error: type[BaseException]) -> None:
        """Raise an error in the innermost thread, from which it comes back through all others."""
        from ctypes import c_ulong, py_object, pythonapi

        running = self
        while running.inner is not None:
            running = running.inner
        pythonapi.PyThreadState_SetAsyncExc(c_ulong(running.ident or 0), py_object(error))
