"""Test nested backward passes, callbacks at their end, and calls of nodes."""

from __future__ import annotations

import contextlib
import contextvars
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest

import nbautograd
from nbautograd.autograd import reentrant
from tests.parity.differences.both import agrees
from tests.waiting import wait_until

# -- passes inside passes ----------------------------------------------------------------------------------------------


def nested(torch: Any, innermost: Any) -> Any:
    """A function whose backward runs a pass through itself, one level less deep, and ``innermost()`` at 0."""

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.x < 0:
                innermost()
                return g
            with torch.enable_grad():
                Nested.apply(ctx.x).sum().backward()
            return g

    return Nested.apply


def run_nested(torch: Any, depth: int, innermost: Any = lambda: None) -> Any:
    x = torch.tensor(float(depth), requires_grad=True)
    nested(torch, innermost)(x).sum().backward()
    return x.grad


@agrees
def test_nested_150_deep(torch: Any) -> Any:
    return run_nested(torch, 150)


@agrees
def test_nested_3000_deep(torch: Any) -> Any:
    return run_nested(torch, 3000)


@pytest.mark.sweep
def test_nested_20000_deep() -> None:
    assert run_nested(nbautograd, 20_000).tolist() == 1.0


@agrees
def test_nested_grad(torch: Any) -> Any:
    """Nest ``grad``, whose results pass back through the threads."""

    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: int) -> Any:
            ctx.save_for_backward(x)
            ctx.n = n
            return x * n

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            if ctx.n == 0:
                return g, None
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                (inner,) = torch.autograd.grad(Power.apply(x, ctx.n - 1), x)
            return g + inner, None

    x = torch.tensor(1.0, requires_grad=True)
    Power.apply(x, 300).backward()
    return x.grad


@agrees(says="deep down")
def test_an_error_comes_back_from_any_depth(torch: Any) -> Any:
    def fail() -> None:
        raise ValueError("deep down")

    run_nested(torch, 400, fail)


@agrees
def test_a_pass_works_after_a_nested_one_failed(torch: Any) -> Any:
    def fail() -> None:
        raise KeyError

    with contextlib.suppress(KeyError):
        run_nested(torch, 400, fail)
    return run_nested(torch, 10)


@agrees
def test_modes_reach_nested_passes(torch: Any) -> Any:
    modes: list[Any] = []

    def look() -> None:
        modes.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()))

    run_nested(torch, 300, look)
    with torch.autograd.set_detect_anomaly(True):
        run_nested(torch, 80, look)
    return modes


def test_context_variables_and_the_default_device_reach_other_threads() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(5)
    seen = []
    run_nested(nbautograd, 300, lambda: seen.append((variable.get(), threading.current_thread().name)))
    assert seen == [(5, "nbautograd backward")]


def test_settings_of_a_thread() -> None:
    adopt = nbautograd._engine.arrays.backend.thread_settings()
    kept = nbautograd._engine.arrays.device.get_default()
    other = nbautograd.device("cuda:1")
    seen = []

    def elsewhere() -> None:
        nbautograd._engine.arrays.device.set_default(other)
        seen.append(nbautograd._engine.arrays.device.get_default())
        adopt()
        seen.append(nbautograd._engine.arrays.device.get_default())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [other, kept]


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    run_nested(nbautograd, 500)
    assert threading.active_count() == before


def test_a_nested_pass_is_on_the_same_thread_where_the_stack_is_not_deep() -> None:
    seen = []
    run_nested(nbautograd, 3, lambda: seen.append(threading.current_thread()))
    assert seen == [threading.current_thread()]


def test_without_threads_it_runs_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(reentrant, "MAX_STACK_FRAMES", 40)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert run_nested(nbautograd, 10).tolist() == 1.0


def test_an_interrupt_reaches_the_innermost_pass() -> None:
    def wait() -> None:
        assert threading.current_thread() is not threading.main_thread()
        signal.raise_signal(signal.SIGINT)
        while True:
            time.sleep(0.01)

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_nested(nbautograd, 300, wait)
    assert threading.active_count() == before


def test_an_interrupt_while_the_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start
    begun = threading.Event()
    caught = []

    def interrupted(thread: Any) -> None:
        start(thread)
        assert begun.wait(60)  # an exception raised elsewhere may land in a callback of the interpreter, which drops it
        raise KeyboardInterrupt

    def innermost() -> None:
        begun.set()
        try:
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            caught.append(threading.current_thread().name)
            raise

    monkeypatch.setattr(reentrant, "MAX_STACK_FRAMES", 40)
    monkeypatch.setattr(reentrant._PassThread, "start", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_nested(nbautograd, 1, innermost)
    wait_until(lambda: threading.active_count() <= before, 60)
    assert (threading.active_count(), caught) == (before, ["nbautograd backward"])


@pytest.mark.sweep
def test_deep_passes_where_the_recursion_limit_is_small() -> None:
    program = """
        import sys
        from tests.parity.differences.test_engine import nbautograd, run_nested
        sys.setrecursionlimit(200)
        print(run_nested(nbautograd, 1000).item())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1.0\n", "")


@agrees
def test_backward_in_a_hook_after_accumulation(torch: Any) -> Any:
    x, other = (torch.ones(2, requires_grad=True) for _ in range(2))
    left = [40]

    def again(leaf: Any) -> None:
        if left[0]:
            left[0] -= 1
            with torch.enable_grad():
                (other * 2).sum().backward()
                loss = (other * other).sum()
            loss.backward()

    x.register_post_accumulate_grad_hook(again)
    (x * 3).sum().backward()
    return x.grad, other.grad


# -- callbacks ---------------------------------------------------------------------------------------------------------


def engine_of(torch: Any) -> Any:
    return torch.autograd.Variable._execution_engine


@agrees(says="Final callbacks can only be installed during backward pass")
def test_callback_outside(torch: Any) -> Any:
    engine_of(torch).queue_callback(lambda: None)


def callbacks(torch: Any, inner: bool, run: Any) -> list[Any]:
    log: list[Any] = []
    x = torch.ones(2, requires_grad=True)

    def queue(g: Any) -> None:
        log.append("hook")

        def outer() -> None:
            log.append((torch.is_grad_enabled(), None if x.grad is None else x.grad.tolist()))
            engine_of(torch).queue_callback(lambda: log.append("from a callback"))

        engine_of(torch).queue_callback(outer)
        engine_of(torch).queue_callback(lambda: log.append("second"))
        if inner:
            with torch.enable_grad():
                a = torch.ones(1, requires_grad=True)
                b = a * 3
            b.register_hook(lambda g: engine_of(torch).queue_callback(lambda: log.append("of the nested pass")))
            b.backward()
            log.append("nested pass is done")

    y = x * x
    y.register_hook(queue)
    run(torch, y.sum(), x)
    return log


RUNS = {
    "backward": lambda torch, y, x: y.backward(),
    "recorded": lambda torch, y, x: y.backward(create_graph=True),
    "grad": lambda torch, y, x: torch.autograd.grad(y, x),
    "inputs": lambda torch, y, x: y.backward(inputs=[x]),
}


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("run", RUNS)
def test_order_of_callbacks(run: str, inner: bool) -> None:
    agrees(lambda torch: callbacks(torch, inner, RUNS[run]))()


@agrees
def test_callbacks_of_a_pass_that_fails(torch: Any) -> Any:
    log: list[str] = []
    y = torch.ones(2, requires_grad=True) * 2

    def fail(g: Any) -> None:
        engine_of(torch).queue_callback(lambda: log.append("called"))
        raise KeyError

    y.register_hook(fail)
    with contextlib.suppress(KeyError):
        y.sum().backward()
    return log


@agrees
def test_callback_that_fails(torch: Any) -> Any:
    def fail() -> None:
        raise ValueError

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: engine_of(torch).queue_callback(fail))
    try:
        y.sum().backward()
    except ValueError:
        return x.grad


@agrees
def test_callback_that_runs_a_pass(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)

    @torch.enable_grad()
    def again() -> None:
        (x * 5).sum().backward()

    y = x * 2
    y.register_hook(lambda g: engine_of(torch).queue_callback(again))
    y.sum().backward()
    return x.grad


@agrees
def test_run_backward(torch: Any) -> Any:
    run = engine_of(torch).run_backward
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    captured = run((y,), (torch.ones(()),), True, False, (x,))
    nothing = run((y,), (torch.ones(()),), True, False, (), False, True)
    return captured, nothing, x.grad, engine_of(torch).is_checkpoint_valid()


@agrees
def test_whether_checkpoints_are_valid(torch: Any) -> Any:
    log = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: log.append(engine_of(torch).is_checkpoint_valid()))
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x)
    return log


# -- a node called -----------------------------------------------------------------------------------------------------


@agrees(says="expected 1 arguments, got 2 instead")
def test_node_with_too_many_gradients(torch: Any) -> Any:
    (torch.ones(2, requires_grad=True) * 2).grad_fn(torch.ones(2), torch.ones(2))


@agrees(says="expected 2 arguments, got 1 instead")
def test_node_with_too_few_gradients(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).unbind()[0].grad_fn(torch.ones(()))


@agrees(says="expected 1 arguments, got 0 instead")
def test_node_without_a_gradient(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).exp().grad_fn()


@agrees(says="expected 1 arguments, got 0 instead")
def test_leaf_without_a_gradient(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).exp().grad_fn.next_functions[0][0]()


@agrees(says="argument 0 is not a Variable")
def test_node_with_a_number(torch: Any) -> Any:
    (torch.ones(2, requires_grad=True) * 2).grad_fn(3)


@agrees(says="keyword arguments are not supported")
def test_node_with_a_keyword(torch: Any) -> Any:
    (torch.ones(2, requires_grad=True) * 2).grad_fn(torch.ones(2), x=3)


@agrees
def test_node_with_none(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    parts = x.unbind()[0].grad_fn
    return parts(torch.ones(()), None), parts(None, None), (x * 2).grad_fn(None), (x * x).grad_fn(None)


@agrees
def test_results_of_a_node_require_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    recorded = (x * x).grad_fn(torch.ones(2))[0]
    with torch.enable_grad():
        fn = (x * x).grad_fn
    with torch.no_grad():
        plain = fn(torch.ones(2))[0]
    return recorded.requires_grad, plain.requires_grad, torch.autograd.grad(recorded.sum(), x)


@agrees
def test_leaf_called(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    accumulate = (x * 2).grad_fn.next_functions[0][0]
    return accumulate(torch.ones(2)), accumulate(torch.ones(2)), accumulate(None), x.grad
