"""Test hooks: of modules in double backward, of outputs without a gradient, of pickled tensors."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from tests.parity.differences.both import agrees, differs


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def note(calls: list[Any], name: str) -> Callable[..., None]:
    """A full backward hook of a module that notes the gradients that it gets."""
    return lambda module, grad_input, grad_output: calls.append((name, grad_input, grad_output))


# -- modules ---------------------------------------------------------------------------------------------------------


@agrees
def test_gradient_penalty_through_a_hooked_loss(torch: Any) -> Any:
    calls: list[Any] = []
    loss = torch.nn.MSELoss()
    loss.register_full_backward_hook(note(calls, "loss"))
    x = leaf(torch, 1.0, 2.0)
    (g,) = torch.autograd.grad(loss(x, torch.tensor([0.0, 1.0])), x, create_graph=True)
    before = len(calls)
    return g, torch.autograd.grad((g**2).sum(), x), before, calls


@agrees
def test_gradients_of_inputs_that_want_none(torch: Any) -> Any:
    calls: list[Any] = []
    loss = torch.nn.CrossEntropyLoss()
    loss.register_full_backward_hook(note(calls, "loss"))
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    loss(x, torch.tensor([0, 1])).backward()
    loss(x.detach() + 0 * leaf(torch, 1.0), torch.tensor([[0.0, 1.0], [0.5, 0.5]])).backward()

    class First(torch.nn.Module):
        def forward(self, a: Any, b: Any, c: Any) -> Any:
            return a * 2

    first = First()
    first.register_full_backward_hook(note(calls, "first"))
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    first(a, b, 3).backward()
    return calls, x.grad, a.grad, b.grad


@agrees
def test_gradient_penalty_through_hooked_layers(torch: Any) -> Any:
    calls: list[Any] = []
    layers = [torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)]
    model = torch.nn.Sequential(*layers)
    for i, layer in enumerate([*layers, model]):
        layer.register_full_backward_hook(note(calls, str(i)))
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    (g,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    calls.append("penalty")
    ((g.norm() - 1) ** 2).backward()
    return calls, x.grad, [p.grad for p in model.parameters()]


@agrees
def test_hooks_that_replace_gradients_in_double_backward(torch: Any) -> Any:
    found = []
    for kind in ("hook", "pre_hook"):
        module = torch.nn.Tanh()
        if kind == "hook":
            module.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 2,))
        else:
            module.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
        x = leaf(torch, 1.0, 2.0)
        (g,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
        found.append((g, torch.autograd.grad(g.sum(), x)[0]))
    return found


@agrees
def test_hooked_modules_of_several_outputs(torch: Any) -> Any:
    calls: list[Any] = []

    class Both(torch.nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return a * b, a + b

    module = Both()
    module.register_full_backward_hook(note(calls, "both"))
    a, b = leaf(torch, 2.0), leaf(torch, 3.0)
    module(a, b)[0].backward()
    module(a, b)[1].backward()
    product, _ = module(a, b)
    (g,) = torch.autograd.grad(product, a, create_graph=True)
    torch.autograd.grad(g, b)
    return calls


# -- outputs without gradient ----------------------------------------------------------------------------------------


@agrees
def test_hooks_of_outputs_without_gradient(torch: Any) -> Any:
    found = []
    for make in (lambda x: x.unbind(), lambda x: x.split(1), lambda x: torch.linalg.svd(torch.outer(x, x))):
        calls: list[Any] = []
        x = leaf(torch, 1.0, 2.0)
        first, second, *_ = make(x * 1)
        first.register_hook(calls.append)
        first.retain_grad()
        second.sum().backward()
        found.append((calls, first.grad, x.grad))
    return found


@agrees
def test_hooks_of_function_outputs_without_gradient(torch: Any) -> Any:
    calls: list[Any] = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            calls.append((a, b))
            return b

    p, q = Two.apply(leaf(torch, 1.0, 2.0))
    p.register_hook(calls.append)
    q.sum().backward()
    return calls


@agrees
def test_such_a_hook_before_those_of_the_node(torch: Any) -> Any:
    calls: list[Any] = []
    x = leaf(torch, 1.0, 2.0)
    first, second = (x * 1).unbind()
    first.grad_fn.register_prehook(calls.append)
    handle = first.register_hook(lambda g: calls.append(("tensor", g)))
    removed = first.register_hook(calls.append)
    removed.remove()
    del first
    got = torch.autograd.grad(second, x, retain_graph=True)
    handle.remove()
    second.backward()
    return calls, got


@agrees(says="can't replace a None gradient with a non-None value")
def test_such_a_hook_that_returns_a_gradient(torch: Any) -> Any:
    first, second = (leaf(torch, 1.0, 2.0) * 1).unbind()
    first.register_hook(lambda g: torch.ones(()))
    second.backward()


# -- tensors that are pickled ----------------------------------------------------------------------------------------


def warned(do: Callable[[Any], Any], x: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        do(x)
    return [str(w.message).partition("<")[0] + str(w.message).rpartition(">")[2] for w in caught]


@agrees
def test_hooks_that_pickling_loses(torch: Any) -> Any:
    def hook(g: Any) -> None:
        pass

    @torch.utils.hooks.unserializable_hook
    def known(g: Any) -> None:
        pass

    found = []
    for do in (pickle.dumps, copy.copy, copy.deepcopy):
        x, y, z = leaf(torch, 1.0), leaf(torch, 1.0), torch.nn.Parameter(torch.ones(1))
        x.register_hook(hook)
        x.register_post_accumulate_grad_hook(hook)
        y.register_hook(known)
        z.register_hook(hook)
        found.append([warned(do, t) for t in (x, y, z)])
        x.register_hook(hook).remove()
    return found


# -- ours ------------------------------------------------------------------------------------------------------------


@differs("A hook that cannot be called raises when it is registered", pytorch="in backward", here="at once")
def test_hooks_that_are_not_callable(torch: Any) -> Any:
    y = leaf(torch, 1.0) * 2
    try:
        y.register_hook(5)
    except TypeError:
        return "at once"
    try:
        y.backward()
    except TypeError:
        return "in backward"


@differs("Hooks get copies of gradients, and results share no memory", pytorch=[10.0, 0.0], here=[1.0, 1.0])
def test_hooks_that_write_to_gradients(torch: Any) -> Any:
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    g = torch.ones(1)
    y = a * 2
    y.register_hook(lambda gradient: gradient.mul_(10) and None)
    y.backward(gradient=g)
    of_a, of_b = torch.autograd.grad(a + b, (a, b), torch.ones(1))
    of_a.zero_()
    return [g.item(), of_b.item()]


@differs("A pass that fails changes no `.grad`", pytorch=[2.0, None], here=[None, None])
def test_pass_that_fails_half_way(torch: Any) -> Any:
    def fail(g: Any) -> None:
        raise ValueError("half way")

    a, b = leaf(torch, 1.0), leaf(torch, 1.0)
    c = b * 3
    c.register_hook(fail)
    try:
        (c + a * 2).backward()
    except ValueError:
        return [None if t.grad is None else t.grad.item() for t in (a, b)]
