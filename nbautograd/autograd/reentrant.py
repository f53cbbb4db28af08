"""Reentrant backward passes: a pass that begins inside another one, to any depth.

Each nested pass needs about ten frames of Python's stack, so about a hundred would overflow it. A pass that begins with
the stack half full runs on a new thread, as in PyTorch, while the calling thread waits.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from nbautograd._engine.arrays import backend

MAX_STACK_FRAMES = 500
"""A pass that begins deeper in the stack than this, or half the recursion limit, gets a new thread."""


def run_nested(function: Callable[..., Any], *args: Any) -> Any:
    """Call ``function(*args)`` in a copy of the context, on its own thread if the stack is deep."""
    context = copy_context()
    if not _is_deep():
        return context.run(function, *args)
    thread = _PassThread(context, function, args)
    try:
        thread.start()
    except RuntimeError:  # no thread can be started: try it on this stack
        return context.run(function, *args)
    except BaseException as interrupt:
        thread.interrupt(type(interrupt))
        raise
    return thread.result()


def _is_deep() -> bool:
    try:
        sys._getframe(min(MAX_STACK_FRAMES, sys.getrecursionlimit() // 2))
    except ValueError:
        return False
    return True


class _PassThread(threading.Thread):
    """A thread for one call, with the settings of the calling thread."""

    def __init__(self, context: Context, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        super().__init__(name="nbautograd backward", daemon=True)
        self.call: Any = (context, function, args)
        self.settings = backend.thread_settings()
        self.value: Any = None
        self.error: BaseException | None = None
        self.inner: _PassThread | None = None  # the thread that this one waits for
        self.running = threading.Lock()  # an interrupted join() may return before the thread has ended
        self.running.acquire()

    def run(self) -> None:
        """Run the call, and store its result or error."""
        try:
            (context, function, args), self.call = self.call, None
            self.settings()
            self.value = context.run(function, *args)
        except BaseException as error:
            self.error = error
        finally:
            self.running.release()

    def result(self) -> Any:
        """Wait for the thread, and return the result of the call or raise its error.

        A KeyboardInterrupt reaches only the main thread, and is passed on to the running thread.
        """
        waiting = threading.current_thread()
        # Signal handlers run in the main thread. A signal to another thread does not wake it up, so it polls.
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
            self.error = self.value = interrupt = None  # no reference cycle through the traceback and this frame

    def _wait(self, patience: float) -> BaseException | None:
        """Wait until the call has ended; return the last interrupt."""
        last: BaseException | None = None
        while True:
            try:
                if self.running.acquire(timeout=patience):
                    return last
            except BaseException as interrupt:
                last = interrupt
                self.interrupt(type(interrupt))

    def interrupt(self, error: type[BaseException]) -> None:
        """Raise an error in the innermost thread, from which it propagates through all outer ones."""
        from ctypes import c_ulong, py_object, pythonapi

        running = self
        while running.inner is not None:
            running = running.inner
        pythonapi.PyThreadState_SetAsyncExc(c_ulong(running.ident or 0), py_object(error))
