"""Tracing and dispatch modes belong to a context: a thread that did not ask is neither traced nor diverted."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import nbautograd as nb
from nbautograd._engine.compiler.op import OPS
from nbautograd._engine.core import dispatch_mode, tracing


def in_a_thread(task: Callable[[], Any]) -> Any:
    """Return the result of ``task`` in another thread, which has a context of its own."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(task()))
    thread.start()
    thread.join()
    return answers[0]


def traced_nodes() -> list[bool]:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    results = x * 3, x.half() * 2, x.sum(), x.split(1)[0]
    return [y.grad_fn.trace is not None for y in results]


def test_a_thread_that_did_not_ask_is_not_traced() -> None:
    traced_nodes()
    code = OPS["mul"].function.__code__  # as compiled at the first call
    with tracing.traced():
        assert traced_nodes() == [True] * 4
        assert in_a_thread(traced_nodes) == [False] * 4
        assert in_a_thread(lambda: contextvars.Context().run(tracing.is_on)) is False
        assert traced_nodes() == [True] * 4
    assert traced_nodes() == [False] * 4 and OPS["mul"].function.__code__ is code


def test_two_threads_trace_at_once() -> None:
    """The one that ends first leaves the other traced."""
    entered, left = threading.Event(), threading.Event()
    nodes: list[bool] = []

    def other() -> None:
        with tracing.traced():
            entered.set()
            left.wait(60)
            nodes.extend(traced_nodes())

    thread = threading.Thread(target=other)
    with tracing.traced():
        thread.start()
        entered.wait(60)
    assert tracing.is_on_anywhere() and not tracing.is_on() and traced_nodes() == [False] * 4
    left.set()
    thread.join()
    assert nodes == [True] * 4 and not tracing.is_on_anywhere()


def test_an_operation_first_called_elsewhere_is_traced_here() -> None:
    """The function's code is generated at the first call, in a thread without tracing."""
    x = nb.ones(2, requires_grad=True)
    OPS["lgamma"].compiled = False
    with tracing.traced():
        in_a_thread(OPS["lgamma"].compile)
        assert x.lgamma().grad_fn.trace is not None


def test_the_setting_of_the_process_is_seen_by_all_threads() -> None:
    before = tracing.switch(True)
    try:
        assert in_a_thread(traced_nodes) == [True] * 4
        with tracing.traced(False):
            assert traced_nodes() == [False] * 4 and in_a_thread(traced_nodes) == [True] * 4
    finally:
        tracing.switch(before)
    assert not tracing.is_on_anywhere()


def test_writes_are_located_where_tracing_is_on() -> None:
    def message() -> str:
        x = nb.ones(2, requires_grad=True)
        y = x.exp()
        z = y.sin()
        y.add_(1)
        try:
            z.sum().backward()
        except RuntimeError as error:
            return str(error)
        return ""

    with tracing.traced():
        assert "The last write was in" in message()
        elsewhere = in_a_thread(message)
        assert "at version 1" in elsewhere and "The last write was in" not in elsewhere


def test_a_thread_that_did_not_ask_is_not_diverted() -> None:
    seen: list[str] = []

    def watch(op: Any, run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        seen.append(op.name)
        return run(*args, **kwargs)

    x = nb.ones(2)
    nb.mul(x, 2)
    code = OPS["mul"].function.__code__
    dispatch_mode.push(interpreter := dispatch_mode.Interpreter(run=watch))
    try:
        assert in_a_thread(lambda: ((x * 2).tolist(), dispatch_mode.is_on())) == ([2, 2], False)
        assert seen == [] and dispatch_mode.is_on()
        nb.mul(x, 2)
        assert seen == ["mul"]
    finally:
        dispatch_mode.pop(interpreter)
    assert not dispatch_mode.is_on_anywhere() and nb.mul(x, 2).tolist() == [2, 2]  # the next call ends the detour
    assert OPS["mul"].function.__code__ is code


def test_a_mode_that_acts_everywhere() -> None:
    created: list[Any] = []

    def watch(node: Any, call: Any) -> None:
        created.append((node, call.op.name, call.args[0] is x))

    x = nb.ones(2, requires_grad=True)
    dispatch_mode.push(interpreter := dispatch_mode.Interpreter(made=watch), everywhere=True)
    try:
        node = in_a_thread(lambda: (x * 2).grad_fn)
        assert created == [(node, "mul", True)]
    finally:
        dispatch_mode.pop(interpreter)
    assert not dispatch_mode.is_on_anywhere()


def test_hooks_on_saved_tensors_stay_in_their_thread() -> None:
    x = nb.ones(2, requires_grad=True)
    packed: list[Any] = []
    with nb.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        in_a_thread(lambda: x * x)
        assert not packed
        x * x
        assert len(packed) == 2
