"""Check ``torch.utils`` and ``nn.parallel`` under both libraries."""

from __future__ import annotations

import copy
import gc
from importlib import import_module
from typing import Any

import pytest

from tests.parity.differences.both import agrees


def module(torch: Any, path: str) -> Any:
    return import_module(f"{torch.__name__}.{path}")


@agrees
def test_weak_dictionaries(torch: Any) -> Any:
    weak = module(torch, "utils.weak")
    x, y, z = (torch.full((2,), value) for value in (1.0, 1.0, 2.0))
    names = weak.WeakTensorKeyDictionary({x: "x", y: "y"})
    answers = [names[x], names[y], len(names), x in names, z in names, 3 in names, names.get(z, "none")]
    names[z] = "z"
    answers += [sorted(names.values()), len(list(names.keys())), len(names.keyrefs()), len(list(names.items()))]
    other = names.copy()
    answers += [names == other, other is names, names != {}, len(names | {}), len(copy.deepcopy(names))]
    del names[y]
    answers += [names.setdefault(y, "again"), names.pop(y), names.pop(y, "gone"), names.popitem()[1]]
    names.update({y: "new"})
    names |= {z: "last"}
    del x
    gc.collect()
    return [*answers, sorted(names.values()), sorted(other.values())]


@agrees
def test_weak_references(torch: Any) -> Any:
    weak = module(torch, "utils.weak")
    x, y = torch.ones(1), torch.ones(1)
    first, second = weak.WeakIdRef(x), weak.WeakIdRef(x)
    tensor = weak.TensorWeakRef(x)
    answers = [first == second, hash(first) == hash(second), first == weak.WeakIdRef(y), tensor() is x, first() is x]
    del x
    gc.collect()
    return [*answers, tensor() is None, first() is None, first == second]


@agrees
def test_decorators(torch: Any) -> Any:
    contexts = module(torch, "utils._contextlib")
    log: list[str] = []

    class Logged(contexts._DecoratorContextManager):
        def __init__(self, name: str = "plain") -> None:
            self.name = name

        def __enter__(self) -> None:
            log.append(f"enter {self.name}")

        def __exit__(self, *exception: object) -> None:
            log.append(f"exit {self.name}")

        def clone(self) -> Any:
            return type(self)(self.name)

    class Bare(contexts._NoParamDecoratorContextManager):
        def __enter__(self) -> None:
            log.append("enter bare")

        def __exit__(self, *exception: object) -> None:
            log.append("exit bare")

    @Logged("f")
    def f(x: int) -> int:
        log.append("f")
        return x + 1

    @Bare
    def g() -> str:
        return "g"

    @Bare()
    def h() -> Any:
        received = yield 1
        log.append(f"received {received}")
        yield 2

    numbers = h()
    answers = [f(1), f(2), g(), next(numbers), numbers.send("it"), f.__name__]
    with Logged("block"):
        pass
    answers.append(contexts.context_decorator(lambda: Logged("made"), lambda: 5)())
    answers.append(contexts.context_decorator(Logged("itself").__class__, lambda: 6)())
    return [answers, log]


@agrees(says="ambiguous")
def test_decorating_what_could_be_either(torch: Any) -> Any:
    module(torch, "utils._contextlib").context_decorator(torch.no_grad(), lambda: 1)


@agrees(says="Cannot decorate classes")
def test_decorating_a_class(torch: Any) -> Any:
    module(torch, "utils._contextlib").context_decorator(lambda: torch.no_grad(), type("A", (), {}))


@agrees
def test_tensors_are_swapped(torch: Any) -> Any:
    x, y = torch.zeros(2), torch.nn.Parameter(torch.ones(3))
    x.note = "x"
    torch.utils.swap_tensors(x, y)
    (2 * x).sum().backward()
    return [x, y, type(x).__name__, type(y).__name__, y.note, hasattr(x, "note"), x.grad, x.requires_grad]


@agrees
def test_a_tensor_of_a_graph_is_not_swapped(torch: Any) -> Any:
    x = torch.zeros(2, requires_grad=True)
    y = x * 2
    y.pow(2).sum()
    keep = y.view(2)
    torch.utils.swap_tensors(y, torch.ones(2))
    return keep


@agrees
def test_modules_of_objects(torch: Any) -> Any:
    def f() -> None:
        pass

    torch.utils.set_module(f, "somewhere")
    with pytest.raises(TypeError, match="should be a string"):
        torch.utils.set_module(f, 3)
    return f.__module__


@agrees
def test_hooks_that_pickles_lose(torch: Any) -> Any:
    hooks = module(torch, "utils.hooks")
    x = torch.ones(1, requires_grad=True)
    hooks.warn_if_has_hooks(x)
    x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="will not be serialized"):
        hooks.warn_if_has_hooks(x)


@agrees
def test_parts_of_checkpoints(torch: Any) -> Any:
    checkpoint = module(torch, "utils.checkpoint")
    x, y = torch.ones(2, requires_grad=True), torch.zeros(1)
    detached = checkpoint.detach_variable((x * 2, y, 3))
    checkpoint.check_backward_validity((x, y))
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad"):
        checkpoint.check_backward_validity([y, 3])
    states = checkpoint.get_device_states(x, y)
    checkpoint.set_device_states(*states)
    with checkpoint.noop_context_fn()[0]:
        pass
    return [detached[0].is_leaf, detached[0].requires_grad, detached[1].requires_grad, detached[2], states]


@agrees(says="Only tuple of tensors is supported")
def test_parts_of_checkpoints_refuse(torch: Any) -> Any:
    module(torch, "utils.checkpoint").detach_variable([torch.ones(1)])


@agrees
def test_multithreading_is_told(torch: Any) -> Any:
    with torch.autograd.set_multithreading_enabled(False):
        inside = torch.autograd.is_multithreading_enabled()
    return [inside, torch.autograd.is_multithreading_enabled()]


# -- nn.parallel -------------------------------------------------------------------------------------------------------


def model(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))


@agrees
def test_data_parallel_is_the_module(torch: Any) -> Any:
    plain = model(torch)
    wrapped = torch.nn.DataParallel(plain)
    out = wrapped(torch.ones(5, 3))
    out.sum().backward()
    state = {key: value.clone() for key, value in wrapped.state_dict().items()}
    other = torch.nn.DataParallel(model(torch))
    other.load_state_dict(state)
    return [
        out, state, wrapped.module is plain, str(wrapped), [p.grad for p in wrapped.parameters()],
        [name for name, _ in wrapped.named_modules()], wrapped.train(False).module.training, wrapped.device_ids,
        other(torch.ones(5, 3)),
    ]  # fmt: skip


@agrees
def test_data_parallel_passes_keywords(torch: Any) -> Any:
    class Scaled(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, *, scale: float = 1.0) -> Any:
            return {"scaled": x * scale}

    return torch.nn.DataParallel(Scaled())(torch.ones(2), scale=3.0)["scaled"]


@agrees(says="not equal to the number of inputs")
def test_modules_without_inputs(torch: Any) -> Any:
    torch.nn.parallel.parallel_apply([torch.nn.Linear(1, 1)], [])
