"""``torch.futures``: results that are set later, for threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar, cast

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that is set later: one thread sets it, others wait for it or add callbacks.

    :param devices: devices of the results; accepted and ignored.
    :returns: a future that is not done.
    :raises ValueError: a device has no index.

    >>> import nbautograd as torch, threading
    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> threading.Thread(target=future.set_result, args=(torch.ones(2),)).start()
    >>> doubled.wait()
    tensor([2., 2.])
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        for each in devices or []:
            if not isinstance(each, int) and ":" not in str(each):
                raise ValueError(f"Expected devices to have indices, got {each}")
        self._changed = threading.Condition()
        self._done = False
        self._result: Any = None
        self._exception: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], object]] = []

    def done(self) -> bool:
        """Return whether a result or an exception is set."""
        return self._done

    def wait(self) -> T:
        """Wait for the result, and return it.

        :raises Exception: the exception that was set.
        """
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """Return the result, which must be set; for callbacks.

        :raises RuntimeError: the result is not set yet.
        :raises Exception: the exception that was set.
        """
        if not self._done:
            raise RuntimeError("value(): this Future has not completed; wait() waits for it")
        if self._exception is not None:
            raise self._exception
        return cast(T, self._result)

    def set_result(self, result: T) -> None:
        """Set the result, wake the waiting threads, and call the callbacks.

        :raises RuntimeError: a result or an exception is already set.
        """
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Set an exception instead of a result: ``wait`` raises it.

        :raises AssertionError: ``result`` is not an exception.
        :raises RuntimeError: a result or an exception is already set.
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, result: Any, exception: Exception | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. "
                    "Note that a Future can only be marked completed once."
                )
            self._result, self._exception, self._done = result, exception, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return a future of the result of ``callback(self)``, which is called once this future is done.

        :raises TypeError: ``callback`` is not callable.
        """
        following: Future[S] = Future()

        def call(done: Future[T]) -> None:
            try:
                following.set_result(callback(done))
            except Exception as error:
                text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                chained = RuntimeError(text)
                chained.__cause__ = error
                following.set_exception(chained)

        self._when_done("then", callback, call)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` once this future is done; its errors are only logged.

        :raises TypeError: ``callback`` is not callable.
        """

        def call(done: Future[T]) -> None:
            try:
                callback(done)
            except Exception:
                import logging

                logging.getLogger(__name__).exception("Got the following error when running the callback:")

        self._when_done("add_done_callback", callback, call)

    def _when_done(self, method: str, callback: object, call: Callable[[Future[T]], object]) -> None:
        if not callable(callback):
            raise TypeError(f"{method}(): argument 'callback' must be callable, not {type(callback).__name__}")
        with self._changed:
            if not self._done:
                self._callbacks.append(call)
                return
        call(self)

    def __reduce__(self) -> NoReturn:
        raise RuntimeError("Can not pickle torch.futures.Future")


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future that is done when all given ones are; it has the first exception among them.

    :param futures: the futures, in a list or tuple.
    :returns: a future, whose result is the list of ``futures``.
    :raises TypeError: an item is not a future.

    >>> import nbautograd as torch
    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([a, b])
    >>> b.set_result(2), both.done(), a.set_result(1), [each.wait() for each in both.wait()]
    (None, False, None, [1, 2])
    """
    for each in futures:
        if not isinstance(each, Future):
            raise TypeError(f"collect_all(): each argument in 'futures' must be a Future, got {type(each).__name__}")
    result: Future[list[Future[Any]]] = Future()
    awaited, lock = [len(futures)], threading.Lock()

    def count(done: Future[Any]) -> None:
        with lock:
            awaited[0] -= 1
        if not awaited[0]:
            finish()

    def finish() -> None:
        failed = next((each._exception for each in futures if each._exception is not None), None)
        result._complete(None if failed else list(futures), cast("Exception | None", failed))

    for each in futures:
        each.add_done_callback(count)
    if not futures:
        finish()
    return result


def wait_all(futures: Sequence[Future[T]]) -> list[T]:
    """Wait for all futures, and return their results.

    :param futures: the futures, in a list or tuple.
    :returns: a list of their results.
    :raises Exception: the first exception among the futures.
    :raises TypeError: an item is not a future.

    >>> import nbautograd as torch
    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> a.set_result(1)
    >>> b.set_result(2)
    >>> torch.futures.wait_all([a, b])
    [1, 2]
    """
    return [each.wait() for each in collect_all(futures).wait()]
