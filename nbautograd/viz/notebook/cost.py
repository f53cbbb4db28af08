"""``%cost f(x)``: parameters, floating-point operations, milliseconds and memory, by operation, line and module."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from nbautograd.viz.capture.player_data import bytes_text
from nbautograd.viz.capture.torch_watch import TorchWatch, mode_of, pytorch, watching
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook.answers import Answer, marked, place_text
from nbautograd.viz.notebook.in_place import at_once, callers_names, name_in
from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.notebook.tables import Table
from nbautograd.viz.read import introspect
from nbautograd.viz.read.costs import flops, modules_of, parameters, read_kept
from nbautograd.viz.read.introspect import attribute, is_pytorchs_node, line_of, node_name, remarks, settle, trace_of
from nbautograd.viz.read.values import is_tensor
from nbautograd.viz.read.walk import GraphWalk, sequence

__all__ = ["Cost", "OperationCost", "Times", "cost", "timed"]

MAX_TABLE_ROWS = 8


@dataclass(slots=True)
class OperationCost:
    """The cost of an operation, or of several."""

    count: int = 0
    parameters: int = 0
    flops: int = 0
    """In the forward pass."""
    backward_flops: int = 0
    seconds: float = 0.0
    """In the forward pass."""
    backward_seconds: float = 0.0
    nbytes: int = 0
    """Memory that is kept for the backward pass."""

    def __iadd__(self, other: OperationCost) -> OperationCost:
        for name in OperationCost.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def texts(self) -> tuple[str, ...]:
        """The cells of a row of the table."""
        counts = [count_text(n) if n else "–" for n in (self.parameters, self.flops, self.backward_flops)]
        times = [time_text(seconds) if seconds else "–" for seconds in (self.seconds, self.backward_seconds)]
        return *counts, *times, bytes_text(self.nbytes) if self.nbytes else "–"

    def label(self) -> str:
        """The most of it in a few characters, for a box of the picture."""
        seconds, work = _seconds(self), _work(self)
        parts = [f"{time_text(seconds)} ms"] * bool(seconds) + [f"{count_text(work)} FLOP"] * bool(work)
        return " · ".join(parts)


class Cost(Answer):
    """The answer of :func:`cost`: a notebook shows it with the graph and tables, a terminal as text.

    :param label: the sums in one line.
    :param lines: what is to be said of them.
    :param picture: the graph with its costs; or None.
    :param table: by line, operation and module, the most expensive first.
    :ivar steps: the cost of each operation, in the order in which they ran, by its node.
    :returns: the answer.
    :raises TypeError: an argument is missing.

    >>> print(Cost("y: 10 FLOP", []))
    y: 10 FLOP
    """

    steps: Mapping[Any, OperationCost]

    @property
    def total(self) -> OperationCost:
        """The sum over all operations."""
        return summed(self.steps.values())


def _seconds(step: OperationCost) -> float:
    return step.seconds + step.backward_seconds


def _work(step: OperationCost) -> int:
    return step.flops + step.backward_flops


def summed(steps: Iterable[OperationCost]) -> OperationCost:
    """Return the sum of several costs."""
    total = OperationCost()
    for step in steps:
        total += step
    return total


def count_text(number: int) -> str:
    """Return a number with three digits and its power of a thousand.

    >>> [count_text(n) for n in (7, 999, 1000, 123_456, 2_000_000, 3_210_000_000)]
    ['7', '999', '1 k', '123 k', '2 M', '3.21 G']
    """
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{float(f'{number / size:.3g}'):g} {unit}"
    return str(number)


def time_text(seconds: float) -> str:
    """Return milliseconds with two digits.

    >>> [time_text(s) for s in (0.0000123, 0.00042, 0.0123, 1.5)]
    ['0.012', '0.42', '12', '1500']
    """
    return f"{float(f'{1e3 * seconds:.2g}'):.10g}"


@at_once
def cost(computation: Callable[[], Any] | Any, *, namespace: Mapping[str, Any] | None = None) -> Cost:
    """Measure parameters, floating-point operations, milliseconds and memory of a computation, from one run.

    They are listed by operation, line and module, the most expensive first, and as labels of the graph. Like PyTorch's
    own counter, floating-point operations count products, convolutions and attention. No ``.grad`` changes: the
    backward pass of the sum of the elements is computed separately.

    :param computation: a function without parameters that returns a tensor of nbautograd or of PyTorch, and is called
        once; or a tensor, of which the times of the forward pass are not known any more.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :returns: the answer.
    :raises TypeError: it is no tensor, or the function returns none.
    :raises RuntimeError: a profiler is on.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w, x = torch.ones(10, 20, requires_grad=True), torch.ones(5, 10)
    >>> answer = viz.cost(lambda: (x @ w).sum(), namespace={"w": w})
    >>> answer.total.parameters, answer.total.flops, answer.total.backward_flops
    (200, 2000, 2000)
    """
    names = namespace if namespace is not None else callers_names()
    times, given = Times(), is_tensor(computation)
    if not given and not callable(computation):
        raise TypeError(f"cost needs a tensor or a function, but was given {type(computation).__name__}")
    with timed(times):
        begin = time.perf_counter()
        root = computation if given else computation()
        whole = time.perf_counter() - begin
        if not is_tensor(root):
            raise TypeError(f"cost needs a function that returns a tensor, but it returned {type(root).__name__}")
        settle(names)
        walk = GraphWalk(root)
        untimed = _backward(root, walk)
    steps, unknown = _steps(walk, names, times)
    lines = [say("cost_unknown", n=unknown)] if unknown else []
    total = summed(steps.values())
    if total.seconds and not given:
        lines.append(say("cost_whole", whole=time_text(whole), inside=time_text(total.seconds)))
    elif steps:
        lines.append(say("cost_no_forward"))
    lines.append(say(untimed) if untimed else say("cost_backward", inside=time_text(total.backward_seconds)))
    name = one_line(name_in(names, root) or "out", 40)
    label = say(
        "cost_label", name=name, n=total.count,
        parameters=say("cost_weights", n=total.parameters, count=count_text(total.parameters)),
        forward=count_text(total.flops), backward=count_text(total.backward_flops),
    )  # fmt: skip
    lines.append(say("memory_kept", name=name, size=bytes_text(total.nbytes), n=total.count))
    lines += remarks(walk.ops)
    answer = Cost(label, lines, _picture(root, names, steps), _table(walk, steps, names))
    answer.steps = steps
    return answer


def _backward(root: Any, walk: GraphWalk) -> str:
    """Run the backward pass; return why it did not run."""
    leaves = [*walk.variables.values()]
    if root.grad_fn is None or not leaves:
        return "cost_no_graph"
    if any(introspect.saved_of(node)[1] for node in walk.order):
        return "cost_freed"
    traces = ((node, trace_of(node)) for node in walk.next)
    tensors = ((node, attribute(node, "variable") if trace is None else trace.output()) for node, trace in traces)
    if any(introspect.hooks_of(node, tensor) for node, tensor in tensors):
        return "cost_hooks"
    library = sys.modules[type(root).__module__.partition(".")[0]]
    ones = library.ones_like(root.detach())
    try:
        library.autograd.grad([root], leaves, [ones], retain_graph=True, allow_unused=True)
    except Exception:  # any error: the rest is still reported
        return "cost_failed"
    return ""


def _steps(walk: GraphWalk, names: Mapping[str, Any], times: Times) -> tuple[dict[Any, OperationCost], int]:
    """The cost of each operation, and the number of products whose shapes are not known."""
    unknown = 0
    kept, held = read_kept(walk, names).first, parameters(walk)
    steps = {}
    for node in walk.order:
        forward, backward = (seconds or 0.0 for seconds in times.of(node))
        work = flops(walk, node)
        unknown += work is None
        steps[node] = OperationCost(1, held.get(node, 0), *(work or (0, 0)), forward, backward, kept.get(node, 0))
    return steps, unknown


def _table(walk: GraphWalk, steps: dict[Any, OperationCost], names: Mapping[str, Any]) -> Table:
    """The costs by line, operation and module, in one table."""
    key = _seconds if any(s.seconds for s in steps.values()) else lambda step: _work(step) or step.nbytes
    lines: list[tuple[str, ...]] = []
    for title, found in _grouped(walk, steps, names).items():
        ranked = sorted(found.items(), key=lambda item: -key(item[1]))
        if ranked:
            lines.append((say(title), *[""] * 7))
            lines += [(one_line(what, 90), str(step.count), *step.texts()) for what, step in ranked[:MAX_TABLE_ROWS]]
            if len(ranked) > MAX_TABLE_ROWS:
                left = summed(step for _, step in ranked[MAX_TABLE_ROWS:])
                lines.append((say("memory_more", n=len(ranked) - MAX_TABLE_ROWS), str(left.count), *left.texts()))
    columns = ("count", "parameters", "flops", "backward_flops", "ms", "backward_ms", "bytes")
    return Table("", ("", *(say(f"cost_{column}") for column in columns)), tuple(lines)).without_empty_columns()


def _grouped(
    walk: GraphWalk, steps: dict[Any, OperationCost], names: Mapping[str, Any]
) -> dict[str, dict[str, OperationCost]]:
    """Return the sums of the costs by line, operation and module, each under its title."""
    groups: dict[str, dict[str, OperationCost]] = {"memory_line": {}, "memory_op": {}, "memory_module": {}}
    for node, module in zip(walk.order, modules_of(walk, names), strict=True):
        for rows, what in zip(groups.values(), (place_text(line_of(node)), node_name(node), module), strict=True):
            if what:
                rows.setdefault(what, OperationCost())
                rows[what] += steps[node]
    return groups


def _picture(root: Any, names: Mapping[str, Any], steps: dict[Any, OperationCost]) -> Picture | None:
    """The graph, each box with its share."""
    size, note = (_seconds, "mark_time") if any(map(_seconds, steps.values())) else (_work, "mark_flops")
    sizes = {node: size(step) for node, step in steps.items()}
    return marked(root, names, sizes, lambda nodes: summed(steps[node] for node in nodes).label(), say(note))


# -- seconds -----------------------------------------------------------------------------------------------------------


MAX_TIMED_OPS = 100_000


class Times:
    """Seconds by node; the two libraries count theirs separately.

    >>> times = Times()
    >>> times.add(3, 0.5, backward=False)
    >>> times.add(3, 0.25, backward=False)
    >>> times.forward
    {(False, 3): 0.75}
    """

    def __init__(self) -> None:
        self.forward: dict[tuple[bool, int], float] = {}
        self.backward: dict[tuple[bool, int], float] = {}

    def add(self, number: int, seconds: float, backward: bool, theirs: bool = False) -> None:
        """Add the time of an operation, or of a part of one.

        :param number: the sequence number of its node.
        :param theirs: whether it is PyTorch's.
        """
        times = self.backward if backward else self.forward
        times[theirs, number] = times.get((theirs, number), 0.0) + seconds

    def of(self, node: Any) -> tuple[float | None, float | None]:
        """The times of a node, forward and backward; None where it was not timed."""
        key = is_pytorchs_node(node), sequence(node) or 0
        return self.forward.get(key), self.backward.get(key)


@contextmanager
def timed(times: Times) -> Iterator[None]:
    """Note the lines and the times of all operations inside the block.

    :raises RuntimeError: a profiler is on.
    """
    torch, ours = pytorch(), sys.modules[__name__.partition(".")[0]]
    with ours.viz.traced(), nullcontext() if torch is None else _timed_by_a_mode(torch, times):
        with ours.autograd.profiler.profile() as recorded:
            yield
        for event in recorded.function_events:
            number = event.sequence_nr
            inner = any(child.sequence_nr == number for child in event.cpu_children)
            if number > 0 and not inner:
                times.add(number, event.cpu_time_total / 1e6, not event.name.startswith("aten::"))


@contextmanager
def _timed_by_a_mode(torch: Any, times: Times) -> Iterator[None]:
    """Put a mode that measures below the one that watches, so that the watch is not in the times."""
    with TorchWatch(MAX_TIMED_OPS):
        watch = watching()
        rested = watch is not None and watch.rest()
        try:
            with mode_of(_timed, _Stopwatch(torch, times)):
                if watch is not None and rested:
                    watch.resume()
                try:
                    yield
                finally:
                    if watch is not None:
                        watch.settle()
                        rested = watch.rest() or rested
        finally:
            if watch is not None and rested:
                watch.resume()


class _Stopwatch:
    """The clock of a mode, which tells PyTorch's operations by the nodes that they make, or run in."""

    def __init__(self, torch: Any, times: Times) -> None:
        self.times, self.peek = times, torch._C._autograd._get_sequence_nr
        self.last, self.running = self.peek(), torch._C._current_autograd_node
        self.wait = torch.cuda.synchronize if torch.cuda.is_initialized() else None


def _timed(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run one of PyTorch's operations, and note its time."""
    clock = mode.owner
    node, number = clock.running(), clock.peek()
    if clock.wait is not None:
        clock.wait()
    begin = time.perf_counter()
    result = func(*args, **(kwargs or {}))
    if clock.wait is not None:
        clock.wait()
    seconds = time.perf_counter() - begin
    if node is not None:
        clock.times.add(node._sequence_nr(), seconds, True, True)
    elif number != clock.last:  # a node was made for it
        clock.last = number
        clock.times.add(number - 1, seconds, False, True)
    return result
