"""Interpreters of operations, two inside each other: in both orders each sees, and computes, what PyTorch's does.

``docs/architecture.md`` has a table of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import permutations
from typing import Any

import pytest

from nbautograd._compat.traced.recorder import TraceRecorder
from nbautograd._engine.batching import transform
from nbautograd._engine.core.dispatch_mode import Interpreter
from nbautograd.autograd import anomaly_mode, bad_numbers, graph, inference, jvp, saved_tensors
from tests import oracle

NAMES = ("autocast", "mode", "class", "forward mode", "inference", "saved tensors", "anomaly", "no_grad", "profiler")
SEEN = ("linear", "mm", "mul", "mv")
Prepare = Callable[[Any], Any]


def interpreters(T: Any, log: list[Any]) -> dict[str, Any]:
    """Return context managers by name: they tell ``log`` of calls, and give the function that prepares the input."""

    def note(who: str, name: str, args: Any) -> None:
        with T._C.DisableTorchFunctionSubclass():
            if name.strip("_") in SEEN:
                log.append((who, name.strip("_"), [str(x.dtype) for x in args if isinstance(x, T.Tensor)]))

    class Mode(T.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            note("mode", func.__name__, args)
            return func(*args, **(kwargs or {}))

    def pack(x: Any) -> Any:
        with T._C.DisableTorchFunctionSubclass():
            log.append(("saved", str(x.dtype), list(x.shape)))
        return x

    @contextmanager
    def block(context: Any) -> Iterator[Prepare]:
        with context:
            yield lambda x: x

    @contextmanager
    def a_class() -> Iterator[Prepare]:
        class Class(T.Tensor):  # type: ignore[misc]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                note("class", func.__name__, args)
                return super().__torch_function__(func, types, args, kwargs or {})

        yield lambda x: x.as_subclass(Class)

    @contextmanager
    def forward_mode() -> Iterator[Prepare]:
        dual = T.autograd.forward_ad
        with dual.dual_level():
            yield lambda x: dual.make_dual(x, T.ones_like(x))

    @contextmanager
    def profiler() -> Iterator[Prepare]:
        with T.profiler.profile() as profile:
            yield lambda x: x
        log.append([name for name in ("mm", "mul") if any(event.name == f"aten::{name}" for event in profile.events())])

    return {
        "autocast": lambda: block(T.autocast("cpu", dtype=T.bfloat16)),
        "mode": lambda: block(Mode()),
        "class": a_class,
        "forward mode": forward_mode,
        "inference": lambda: block(T.inference_mode()),
        "saved tensors": lambda: block(T.autograd.graph.saved_tensors_hooks(pack, lambda x: x)),
        "anomaly": lambda: block(T.autograd.set_detect_anomaly(True)),
        "no_grad": lambda: block(T.no_grad()),
        "profiler": profiler,
    }


def run(T: Any, names: tuple[str, ...], function: Any) -> Any:
    """Return what the interpreters of these names saw of a function, its result, and its tangent."""
    log: list[Any] = []
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with ExitStack() as stack:
        for name in names:
            x = stack.enter_context(interpreters(T, log)[name]())(x)
        y = function(x)
        seen = len(log)
        tangent = T.autograd.forward_ad.unpack_dual(y).tangent if "forward mode" in names else None
        tangent = None if tangent is None else tangent.detach().as_subclass(T.Tensor)
        del log[seen:]
    facts = [str(y.dtype), y.requires_grad, type(y.grad_fn).__name__, y.is_inference(), type(y).__name__]
    return log, facts, y.detach().as_subclass(T.Tensor).clone(), tangent


def pairs(*without: str) -> list[tuple[str, ...]]:
    """Return the pairs of interpreters but for those that see PyTorch's formulas of tangents, which are operations."""
    chosen = [name for name in NAMES if name not in without]
    see_formulas = [{"forward mode", "saved tensors"}, {"forward mode", "profiler"}]
    return [pair for pair in permutations(chosen, 2) if {*pair} not in see_formulas]


@pytest.mark.parametrize("pair", pairs(), ids=" outside of ".join)
def test_one_inside_another(pair: tuple[str, ...]) -> None:
    def program(T: Any) -> Any:
        other = T.tensor([[1.0, 0.5], [0.25, 2.0]])
        return run(T, pair, lambda x: T.nn.functional.linear(T.mm(x, other) * other, x))

    oracle.check(program)


@pytest.mark.parametrize("pair", pairs("class", "profiler"), ids=" outside of ".join)
def test_vmap_inside_of_both(pair: tuple[str, ...]) -> None:
    """In PyTorch, a tensor loses its class in ``vmap``, and a profiler sees other operations."""

    def program(T: Any) -> Any:
        other = T.tensor([[1.0, 0.5], [0.25, 2.0]])
        return run(T, pair, T.vmap(lambda x: T.mv(other, x) * x))

    oracle.check(program)


def test_each_has_at_most_four_methods() -> None:
    single = [jvp.FORWARD, inference._INFERENCE, anomaly_mode._NOTE, saved_tensors._PACKING, *bad_numbers._STOP]
    classes = [TraceRecorder, transform._Level, graph._AllowMutationOnSavedContext]
    names = [*vars(Interpreter), "random", "elements", "assign"]
    methods = {name for name in names if name not in ("follows", "_none") and not name.startswith("__")}
    for each in [*single, *classes]:
        assert 1 <= sum(getattr(each, name, None) is not None for name in methods) <= 4, each
        writes = any(getattr(each, name, None) is not None for name in ("write", "prepare", "change", "random"))
        assert each.follows or not writes, each
