"""Backward passes: inside one another, in several threads, with callbacks at their end, over batches of gradients."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from typing import Any

import pytest

import nbautograd
from nbautograd.autograd import reentrant
from tests.differences.both import Raised, agrees, differs

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
def test_nested_50000_deep() -> None:
    assert run_nested(nbautograd, 50_000).tolist() == 1.0


@agrees
def test_nested_grad(torch: Any) -> Any:
    """The same through ``grad``, whose results come back through the threads."""

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
    modes = []

    def look() -> None:
        modes.append((torch.is_grad_enabled(), torch.get_default_dtype(), str(torch.get_default_device())))

    x = torch.tensor(300.0, requires_grad=True)
    before = torch.get_default_device()
    torch.set_default_device("meta" if hasattr(torch, "_C") else "cpu")
    torch.set_default_device(before)
    nested(torch, look)(x).sum().backward(create_graph=False)
    return modes


def test_context_variables_and_the_default_device_reach_other_threads() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(5)
    seen = []
    run_nested(nbautograd, 300, lambda: seen.append((variable.get(), threading.current_thread().name)))
    assert seen == [(5, "nbautograd backward")]


def test_settings_of_a_thread() -> None:
    adopt = nbautograd.arrays.backend.thread_settings()
    kept = nbautograd.arrays.device.get_default()
    other = nbautograd.device("cuda:1")
    seen = []

    def elsewhere() -> None:
        nbautograd.arrays.device.set_default(other)
        seen.append(nbautograd.arrays.device.get_default())
        adopt()
        seen.append(nbautograd.arrays.device.get_default())

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

    monkeypatch.setattr(reentrant, "DEEP", 40)
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

    def interrupted(thread: Any) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(reentrant, "DEEP", 40)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_nested(nbautograd, 5, lambda: time.sleep(0.5))
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_deep_passes_where_the_recursion_limit_is_small() -> None:
    program = """
        import sys
        from tests.differences.test_engine import nbautograd, run_nested
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


# -- accumulation ------------------------------------------------------------------------------------------------------


@agrees
def test_warning_of_a_cycle(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)

    def count(run: Any) -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run()
        return sum("create_graph=True will create a reference cycle" in str(w.message) for w in caught)

    torch.set_warn_always(True)
    try:
        return [
            count(lambda: (x * x).sum().backward(create_graph=True)),
            count(lambda: (x * x).sum().backward(create_graph=True)),
            count(lambda: torch.autograd.backward((x * x).sum(), create_graph=True, inputs=[x])),
            count(lambda: torch.autograd.grad((x * x).sum(), x, create_graph=True)),
            count(lambda: (x * x).sum().backward()),
        ]
    finally:
        torch.set_warn_always(False)
        x.grad = None


@agrees
def test_grad_with_a_graph_is_added_to_in_place(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    before = first.grad_fn, first._version
    first.sum().backward()
    writes = first._version - before[1]
    result = x.grad is first, first.grad_fn is before[0], writes, first.requires_grad, first.tolist()
    x.grad = None
    return result


@agrees(says="modified by an inplace operation")
def test_what_saved_a_grad_notices_that_it_was_added_to(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    square = x.grad * x.grad
    (x * x).sum().backward()
    x.grad = None
    square.sum().backward()


@agrees
def test_recorded_accumulation_makes_a_new_tensor(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    result = x.grad is first, x.grad.grad_fn.name(), x.grad.tolist(), first.tolist()
    x.grad = None
    return result


@agrees
def test_node_of_a_recorded_grad(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    x.exp().sum().backward(create_graph=True)
    name, version, next_nodes = x.grad.grad_fn.name(), x.grad._version, x.grad.grad_fn.next_functions
    x.grad = None
    return name, version, [None if fn is None else fn.name() for fn, _ in next_nodes]


@agrees
def test_names_of_nodes_with_a_namespace(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    copied = torch.zeros(2).copy_(x)
    written = x * 1
    written[0] = x.sum()
    return [t.grad_fn.name() for t in (copied, written)], (x * 2).grad_fn.next_functions[0][0].name()


@agrees
def test_same_gradient_for_two_leaves(torch: Any) -> Any:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            g = g * 2
            address.append(g.data_ptr())
            return g, g

    address: list[int] = []
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    Both.apply(x, y).sum().backward()
    x.grad.add_(1)
    return address[0] in (x.grad.data_ptr(), y.grad.data_ptr()), x.grad, y.grad


# -- threads -----------------------------------------------------------------------------------------------------------


def in_threads(count: int, run: Any) -> None:
    start = threading.Barrier(count)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        start.wait()
        try:
            run(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@agrees
def test_threads_that_add_to_one_leaf(torch: Any) -> Any:
    x = torch.zeros(5, requires_grad=True)

    def run(number: int) -> None:
        for _ in range(200):
            (x * (number + 1)).sum().backward()

    in_threads(4, run)
    return x.grad


@agrees
def test_threads_that_run_one_graph(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()

    def run(number: int) -> None:
        for _ in range(50):
            y.backward(retain_graph=True)

    in_threads(4, run)
    return x.grad / 200


@agrees
def test_threads_with_hooks(torch: Any) -> Any:
    x = torch.zeros(2, requires_grad=True)
    seen: list[Any] = []
    x.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf is x))
    in_threads(4, lambda number: [(x * 3).sum().backward() for _ in range(50)])
    return x.grad, len(seen), all(seen)


@agrees
def test_threads_with_nested_passes(torch: Any) -> Any:
    grads: list[Any] = [None] * 4

    def run(number: int) -> None:
        grads[number] = run_nested(torch, 300)

    in_threads(4, run)
    return grads


@agrees
def test_each_thread_has_its_own_grad_mode_and_callbacks(torch: Any) -> Any:
    log: list[Any] = [None] * 3
    x = torch.ones(2, requires_grad=True)

    def run(number: int) -> None:
        with torch.set_grad_enabled(number != 1):
            y = x * 2
            log[number] = [y.requires_grad]
        if number != 1:
            y.register_hook(lambda g: engine_of(torch).queue_callback(lambda: log[number].append(number)))
            torch.autograd.grad(y.sum(), x)

    with torch.no_grad():
        in_threads(3, run)
    return log


# -- hooks while they run ----------------------------------------------------------------------------------------------


@agrees
def test_hooks_that_remove_and_add_hooks(torch: Any) -> Any:
    log: list[str] = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2

    def first(g: Any) -> None:
        log.append("first")
        handles[1].remove()
        y.register_hook(lambda g: log.append("added"))

    handles = [y.register_hook(first), y.register_hook(lambda g: log.append("second"))]
    y.backward(retain_graph=True)
    y.backward()
    return log


@agrees
def test_order_of_all_kinds_of_hooks(torch: Any) -> Any:
    log: list[str] = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_hook(lambda i, o: log.append("post"))
    y.grad_fn.register_prehook(lambda o: log.append("pre"))
    y.register_hook(lambda g: log.append(f"tensor {y.grad}"))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append(f"accumulated {leaf.grad.tolist()}"))
    x.register_hook(lambda g: log.append(f"leaf {x.grad}"))
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda o: log.append("before the leaf"))
    node.register_hook(lambda i, o: log.append("after the leaf"))
    y.backward()
    return log


# -- grad modes in generators and coroutines ---------------------------------------------------------------------------


@agrees
def test_decorated_generator(torch: Any) -> Any:
    log = []

    @torch.no_grad()
    def generate() -> Any:
        log.append(torch.is_grad_enabled())
        got = yield 1
        log.append((torch.is_grad_enabled(), got))
        try:
            yield 2
        except KeyError:
            log.append(torch.is_grad_enabled())
        with torch.enable_grad():
            yield 3
            log.append(torch.is_grad_enabled())
        log.append(torch.is_grad_enabled())
        return 4

    generator = generate()
    log.append((next(generator), torch.is_grad_enabled()))
    log.append((generator.send("sent"), torch.is_grad_enabled()))
    log.append((generator.throw(KeyError()), torch.is_grad_enabled()))
    try:
        next(generator)
    except StopIteration as stop:
        log.append((stop.value, torch.is_grad_enabled()))
    return log


@agrees
def test_generator_with_a_block_of_its_own(torch: Any) -> Any:
    """The mode of a block that a generator is in leaks to whoever resumes it, in both."""

    def generate() -> Any:
        with torch.no_grad():
            yield torch.is_grad_enabled()
            yield torch.is_grad_enabled()

    generator = generate()
    log = [next(generator), torch.is_grad_enabled(), next(generator), torch.is_grad_enabled()]
    generator.close()
    return [*log, torch.is_grad_enabled()]


@agrees
def test_generator_that_a_decorated_function_returns(torch: Any) -> Any:
    @torch.no_grad()
    def make() -> Any:
        return (torch.is_grad_enabled() for _ in range(2))

    return list(make())


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
def test_decorated_methods_and_generators(mode: str) -> None:
    def program(torch: Any) -> Any:
        class Thing:
            @getattr(torch, mode)()
            def method(self, x: Any) -> Any:
                return torch.is_grad_enabled(), (x * 2).requires_grad

            @classmethod
            @getattr(torch, mode)()
            def of_class(cls) -> Any:
                return torch.is_grad_enabled()

            @getattr(torch, mode)()
            def generator(self) -> Any:
                yield torch.is_grad_enabled()
                yield from (torch.is_grad_enabled() for _ in range(2))

        x = torch.ones(1, requires_grad=True)
        with torch.set_grad_enabled(mode == "no_grad"):
            thing = Thing()
            return thing.method(x), Thing.of_class(), list(thing.generator()), thing.method.__name__

    agrees(program)()


@agrees
def test_decorated_coroutine(torch: Any) -> Any:
    """The decorator is around the call, which makes the coroutine and runs nothing of it."""

    @torch.no_grad()
    async def work() -> Any:
        log = [torch.is_grad_enabled()]
        await asyncio.sleep(0)
        return [*log, torch.is_grad_enabled()]

    async def main() -> Any:
        other = asyncio.ensure_future(asyncio.sleep(0))
        return [*await work(), torch.is_grad_enabled(), *([] if await other is None else [0])]

    return asyncio.run(main())


@differs(
    "Tasks do not see each other's grad mode",
    pytorch=[False, True],
    here=[True, False],
)
def test_tasks_have_their_own_grad_mode(torch: Any) -> Any:
    log: list[bool] = []

    async def without() -> None:
        with torch.no_grad():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            log.append(torch.is_grad_enabled())

    async def other() -> None:
        await asyncio.sleep(0)
        log.append(torch.is_grad_enabled())
        with torch.enable_grad():
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(without(), other())

    try:
        asyncio.run(main())
    finally:
        torch.set_grad_enabled(True)
    return log


# -- batches of gradients ----------------------------------------------------------------------------------------------


def batched(torch: Any, outputs: Any, inputs: Any, gradients: Any, **options: Any) -> Any:
    return torch.autograd.grad(outputs, inputs, gradients, is_grads_batched=True, **options)


@agrees
def test_batch_of_gradients(torch: Any) -> Any:
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(3, requires_grad=True)
    y, z = x * x, w.sum() * x[0]
    eye = torch.eye(2)
    return [
        batched(torch, y, x, eye, retain_graph=True),
        batched(torch, (y, z), (x, w), (eye, torch.ones(2)), retain_graph=True),
        batched(torch, y, (x, w), eye, retain_graph=True, allow_unused=True),
        batched(torch, y, (x, w), eye, retain_graph=True, materialize_grads=True),
        batched(torch, y, x, eye.double(), retain_graph=True),
        batched(torch, (y, y), x, (eye, eye)),
    ]


@agrees
def test_batch_of_complex_gradients(torch: Any) -> Any:
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    return batched(torch, x * x.conj() * x, x, torch.eye(2).to(torch.complex64))


@agrees
def test_batch_can_be_differentiated(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    g = torch.eye(2).requires_grad_()
    (first,) = batched(torch, x**3, x, g, create_graph=True)
    return first.requires_grad, torch.autograd.grad(first.sum(), (x, g))


@agrees
def test_batch_by_computed_tensors_and_edges(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    m = x * x
    y = m * m
    edge = torch.autograd.graph.get_gradient_edge(m)
    eye = torch.eye(2)
    return (
        batched(torch, y, (m, x), eye, retain_graph=True),
        batched(torch, y, (edge,), eye, retain_graph=True),
        batched(torch, (edge,), (x,), (eye,)),
    )


REFUSED = {
    "shape": (lambda t, x, y: batched(t, y, x, t.ones(2, 3)), "but a mismatch was detected"),
    "no batch": (lambda t, x, y: batched(t, y, x, t.ones(2)), "If `is_grads_batched=True`, we interpret"),
    "number": (lambda t, x, y: batched(t, y.sum(), x, t.ones(())), "invalid index of a 0-dim tensor"),
    "empty": (lambda t, x, y: batched(t, y, x, t.ones(0, 2)), ""),
    "none": (lambda t, x, y: batched(t, y.sum(), x, None), "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0"),
    "none of many": (lambda t, x, y: batched(t, y, x, None), "grad can be implicitly created only for scalar outputs"),
    "sizes": (
        lambda t, x, y: batched(t, (y, y), x, (t.eye(2), t.ones(3, 2))),
        "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [2, 3]",
    ),
    "unused": (lambda t, x, y: batched(t, y, t.ones(1, requires_grad=True), t.eye(2)), "Set allow_unused=True"),
    "complex": (lambda t, x, y: batched(t, y, x, t.eye(2) * 1j), "For complex Tensors, both grad_output and output"),
    "list": (lambda t, x, y: batched(t, y, x, [[1.0, 2.0]]), "gradients can be either Tensors or None, but got list"),
    "list of numbers": (lambda t, x, y: y.backward([1.0, 1.0]), "gradients can be either Tensors or None, but got"),
    "shape of a gradient": (lambda t, x, y: y.backward(t.ones(3)), "Mismatch in shape: grad_output[0] has a shape of"),
    "no inputs": (lambda t, x, y: t.autograd.grad(y.sum(), ()), "`inputs` argument to `grad()` cannot be empty"),
    "twice": (lambda t, x, y: (batched(t, y, x, t.eye(2)), batched(t, y, x, t.eye(2))), "a second time"),
    "not differentiable": (lambda t, x, y: batched(t, y.detach(), x, t.eye(2)), "element 0 of tensors does not"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    program, says = REFUSED[case]

    def run(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        return program(torch, x, x * x)

    agrees(run, says=says)() if says else agrees(run)()


@agrees
def test_only_inputs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = torch.autograd.grad((x * x).sum(), x, only_inputs=False)
    return result, [(w.category.__name__, "only_inputs argument is deprecated" in str(w.message)) for w in caught]


@differs(
    "A batch of gradients is a loop over passes",
    pytorch=[1, Raised(RuntimeError), Raised(RuntimeError)],
    here=[2, [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
)
def test_a_batch_is_a_loop(torch: Any) -> Any:
    """How often a hook is called; what backward may do to the values of a gradient."""
    calls: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    y = x * x
    y.register_hook(lambda g: calls.append(g))
    batched(torch, y, x, torch.eye(2))

    def custom(formula: Any) -> Any:
        class Custom(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return formula(g)

        try:
            return batched(torch, Custom.apply(x), x, torch.eye(2))[0].tolist()
        except RuntimeError:
            return Raised(RuntimeError)

    return [len(calls), custom(lambda g: (g.sum().item(), g)[1]), custom(lambda g: torch.zeros(2).add_(g))]
