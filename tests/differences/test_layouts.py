"""How gradients and results lie in memory."""

from __future__ import annotations

from typing import Any

from tests.differences.both import agrees, differs


def leaves(torch: Any) -> list[Any]:
    """Leaves that lie in memory in one way and another."""
    image = torch.ones(2, 3, 4, 5)
    return [
        t.detach().requires_grad_()
        for t in (
            image.contiguous(memory_format=torch.channels_last),
            image,
            image.permute(2, 0, 3, 1),
            torch.ones(3, 2).t(),
            torch.ones(4, 6)[:, ::2],
            torch.ones(1, 3).expand(2, 3),
            torch.ones(1, 5),
            torch.ones(()),
        )
    ]


@agrees
def test_a_gradient_lies_as_its_leaf(torch: Any) -> Any:
    strides = []
    for leaf in leaves(torch):
        leaf.sum().backward()
        strides.append(leaf.grad.stride())
        (leaf * torch.ones(leaf.shape)).sum().backward()
        strides.append(leaf.grad.stride())
    return strides


@agrees
def test_a_gradient_beside_an_operand_of_another_layout(torch: Any) -> Any:
    a, b, *_ = leaves(torch)
    (a * b).sum().backward()
    return [a.grad.stride(), b.grad.stride()]


@agrees
def test_a_gradient_of_a_product(torch: Any) -> Any:
    t = torch.ones(3, 2).t().requires_grad_()
    w = torch.ones(2, 3, requires_grad=True)
    (t @ torch.ones(3, 2)).sum().backward()
    (torch.ones(4, 3) @ w.t()).sum().backward()
    return [t.grad.stride(), w.grad.stride()]


@agrees
def test_a_gradient_that_is_recorded(torch: Any) -> Any:
    t = torch.ones(3, 2).t().requires_grad_()
    (t * t).sum().backward(create_graph=True)
    return t.grad.stride()


@agrees
def test_results_lie_as_their_operands_where_these_lie_alike(torch: Any) -> Any:
    t = torch.ones(4, 3, 2).permute(2, 0, 1)
    results = (t + 1, t.exp(), t * t, t * torch.ones(1), torch.ones(3) + t, t.clone(), torch.zeros_like(t))
    return [result.stride() for result in results]


@differs(
    "Where operands lie differently in memory, a result is row-major", pytorch=[(1, 2), (3, 1)], here=[(3, 1), (3, 1)]
)
def test_results_of_operands_of_several_layouts(torch: Any) -> Any:
    t, r = torch.ones(3, 2).t(), torch.ones(2, 3)
    return [(t * r).stride(), (r * t).stride()]
