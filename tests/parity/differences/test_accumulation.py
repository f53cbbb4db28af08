"""Check the gradients that arrive at leaves: ``.grad``, its history and its memory, hooks, several threads."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from tests.parity.differences.both import agrees, differs
from tests.parity.differences.test_engine import engine_of, run_nested

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


@agrees
def test_hooks_that_remove_hooks_of_nodes_and_leaves(torch: Any) -> Any:
    log: list[str] = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    node, leaf_hooks, node_hooks = y.grad_fn, [], []

    def first(*gradients: Any) -> None:
        log.append("before")
        node_hooks[0].remove()

    def accumulated(leaf: Any) -> None:
        log.append("accumulated")
        leaf_hooks[0].remove()

    node.register_prehook(first)
    node_hooks.append(node.register_hook(lambda inputs, outputs: log.append("after")))
    x.register_post_accumulate_grad_hook(accumulated)
    leaf_hooks.append(x.register_post_accumulate_grad_hook(lambda leaf: log.append("second")))
    for _ in range(2):
        y.backward(retain_graph=True)
    return log


@agrees
def test_a_hook_added_to_what_is_still_to_come(torch: Any) -> Any:
    log: list[str] = []
    y = torch.ones(1, requires_grad=True) * 2
    z = y * 3
    z.register_hook(lambda g: y.register_hook(lambda g: log.append("added")) and None)
    z.backward()
    return log


@agrees
def test_a_node_called_in_a_hook(torch: Any) -> Any:
    log: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    y = x * x
    y.register_hook(lambda g: log.append([d.tolist() for d in y.grad_fn(g)]))
    y.sum().backward()
    return log, x.grad


@differs(
    "`grad` with respect to a tensor returns its gradient after hooks",
    pytorch=[[30.0, 30.0], [3.0, 3.0]],
    here=[[30.0, 30.0], [30.0, 30.0]],
)
def test_grad_by_a_tensor_with_a_hook(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    (alone,) = torch.autograd.grad((y * 3).sum(), y)
    _, beside_a_leaf = torch.autograd.grad((y * 3).sum(), (x, y))
    return [alone.tolist(), beside_a_leaf.tolist()]
