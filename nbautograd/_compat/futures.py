"""``torch.futures``: a result that comes later, for threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar, cast

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that comes later: one thread sets it, others wait for it or have a function called with it.

    :param devices: devices on which results may live; accepted as in PyTorch, they change nothing here.
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
        """Whether there is a result, or an exception."""
        return self._done

    def wait(self) -> T:
        """The result, once it is there.

        :raises Exception: that which was set instead of a result.
        """
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """The result, which must be there: for callbacks.

        :raises RuntimeError: it is not there yet.
        :raises Exception: that which was set instead of a result.
        """
        if not self._done:
            raise RuntimeError("value(): this Future has not completed; wait() waits for it")
        if self._exception is not None:
            raise self._exception
        return cast(T, self._result)

    def set_result(self, result: T) -> None:
        """Set the result, wake up who waits for it, and call the callbacks.

        :raises RuntimeError: there is a result, or an exception, already.
        """
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Set an exception instead of a result: ``wait`` raises it.

        :raises AssertionError: it is no exception.
        :raises RuntimeError: there is a result, or an exception, already.
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
        """A future of what ``callback(self)`` gives, which is called once this future is done.

        :raises TypeError: it cannot be called.
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
        """Have ``callback(self)`` called once this future is done; its errors are only logged.

        :raises TypeError: it cannot be called.
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
    """A future of all the given ones, done when they are; it has the exception of the first that has one.

    :param futures: the futures, in a list or tuple.
    :returns: a future, whose result is the list of ``futures``.
    :raises TypeError: one is no future.

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
    """The results of all futures, once they are there.

    :param futures: the futures, in a list or tuple.
    :returns: a list of their results.
    :raises Exception: that of the first that has one.
    :raises TypeError: one is no future.

    >>> import nbautograd as torch
    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> a.set_result(1)
    >>> b.set_result(2)
    >>> torch.futures.wait_all([a, b])
    [1, 2]
    """
    return [each.wait() for each in collect_all(futures).wait()]
