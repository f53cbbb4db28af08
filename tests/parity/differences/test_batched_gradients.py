"""Passes over batches of gradients, and the errors of ``grad``."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.parity.differences.both import Raised, agrees, differs


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
    "With hooks or custom Functions, batched gradients take one pass per element",
    pytorch=[1, Raised(RuntimeError), Raised(RuntimeError)],
    here=[2, [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
)
def test_a_batch_is_a_loop(torch: Any) -> Any:
    """Count the calls of a hook, and write to the values of a gradient in backward."""
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
