"""Checkpoints: with hooks around and inside, nested, differentiated twice, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.parity.differences.both import agrees
from tests.parity.differences.saving import identity, leaf


def inner(x: Any) -> Any:
    return (x * x).exp().sin() * x


def checkpointed(torch: Any, use_reentrant: bool, f: Callable[[Any], Any], x: Any) -> Any:
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    return checkpoint(f, x, use_reentrant=use_reentrant)


@agrees
def test_checkpoint_inside_hooks(torch: Any) -> Any:
    found = []
    for use_reentrant in (False, True):
        seen: list[Any] = []
        x = leaf(torch, 0.5, 1.0)
        with identity(torch, seen):
            y = checkpointed(torch, use_reentrant, inner, x).sum()
        y.backward()
        found.append(([t is x for t in seen], x.grad))
    return found


@agrees
def test_hooks_inside_checkpoints(torch: Any) -> Any:
    found = []
    for use_reentrant in (False, True):
        seen: list[Any] = []
        x = leaf(torch, 0.5, 1.0)

        def hooked(x: Any, seen: list[Any] = seen) -> Any:
            with identity(torch, seen):
                return inner(x)

        y = checkpointed(torch, use_reentrant, hooked, x).sum()
        before = len(seen)
        y.backward()
        found.append((before, len(seen), x.grad))
    return found


@agrees
def test_nested_checkpoints_twice_backward(torch: Any) -> Any:
    found = []
    for kind in (False, True):
        x = leaf(torch, 0.5, 1.0)

        def outer(x: Any, kind: bool = kind) -> Any:
            return checkpointed(torch, kind, inner, x * 2)

        y = checkpointed(torch, kind, outer, x).sum()
        y.backward(retain_graph=True)
        y.backward()
        found.append(x.grad)
    return found


@agrees
def test_second_derivatives_of_a_checkpoint_on_the_cpu(torch: Any) -> Any:
    x = leaf(torch, 0.5, 1.0)
    with torch.autograd.graph.save_on_cpu():
        y = checkpointed(torch, False, inner, x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)[0]


@agrees(says="torch.utils.checkpoint is incompatible with .grad()")
def test_grad_of_a_reentrant_checkpoint(torch: Any) -> Any:
    x = leaf(torch, 0.5, 1.0)
    return torch.autograd.grad(checkpointed(torch, True, inner, x).sum(), x)


@agrees(says="no hooks here")
def test_checkpoint_where_hooks_are_disabled(torch: Any) -> Any:
    with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
        checkpointed(torch, False, inner, leaf(torch, 0.5, 1.0))


@agrees(says="A different number of tensors was saved during the original forward and recomputation.")
def test_checkpoint_that_saves_fewer(torch: Any) -> Any:
    calls: list[int] = []

    def changing(x: Any) -> Any:
        calls.append(1)
        return inner(x) if len(calls) == 1 else x.exp()

    checkpointed(torch, False, changing, leaf(torch, 0.5, 1.0)).sum().backward()


@agrees(says="tensor at position 0:\nsaved metadata: {'shape': torch.Size([2]), 'dtype': torch.float32")
def test_checkpoint_that_saves_others(torch: Any) -> Any:
    calls: list[int] = []

    def changing(x: Any) -> Any:
        calls.append(1)
        return (x if len(calls) == 1 else x[:1]).exp().sum()

    checkpointed(torch, False, changing, leaf(torch, 0.5, 1.0)).backward()


@agrees
def test_allow_mutation_with_a_checkpoint(torch: Any) -> Any:
    x = leaf(torch, 0.5, 1.0)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = checkpointed(torch, False, inner, y).sum() + (y * y).sum()
        y.mul_(2)
        z.backward()
    return x.grad
