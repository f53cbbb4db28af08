"""Check the memory layout of gradients and results."""

from __future__ import annotations

from typing import Any

from tests.parity.differences.both import agrees, differs


def leaves(torch: Any) -> list[Any]:
    """Leaves of two memory layouts."""
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


def permuted(torch: Any) -> tuple[Any, Any, Any]:
    """A matrix, a batch of matrices and images that are not contiguous."""
    images = torch.arange(96.0).reshape(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    return torch.arange(6.0).reshape(3, 2).t(), torch.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0), images


@agrees
def test_results_that_are_contiguous_whatever_the_operands(torch: Any) -> Any:
    f = torch.nn.functional
    a, b, c = permuted(torch)
    results = [
        torch.cat([a, a]), torch.stack([a, a]), torch.hstack([a, a]), torch.block_diag(a, a), torch.softmax(a, 1),
        torch.log_softmax(b, 1), torch.softmax(c, 1), f.layer_norm(b, (4,)), f.batch_norm(b, None, None, training=True),
        f.rms_norm(a, (3,)), b.sum(1), b.mean(0), b.std(1), b.amax(1), b.norm(dim=1), b.logsumexp(1), c.sum(1),
        a.cumsum(0), a.cummax(1).values, a.topk(2).values, a.topk(2).indices, b.topk(2, 1).values, a.tril(),
        a.roll(1, 0), a.gather(0, torch.zeros(3, 2, dtype=torch.int64).t()), a[:, torch.tensor([0, 2])],
        a.masked_fill(a > 2, 0), torch.fft.fft(a), torch.linalg.norm(b, dim=(0, 1)), 2**a, f.rrelu(a),
        a.renorm(2, 0, 1.0),
    ]  # fmt: skip
    return [(t.stride(), t.view(-1)) for t in results]


@agrees
def test_results_that_keep_the_order_of_their_operand(torch: Any) -> Any:
    a, b, c = permuted(torch)
    at = torch.tensor([0, 1])
    results = [
        a.flip(0), b.flip(1), torch.rot90(b), torch.rot90(b, 2), torch.rot90(b, 3), *a.sort(0), a.argsort(1),
        a.index_fill(0, at, 5), a.put(at, at + 0.5), a.index_put((at,), at[:1] + 0.5), b[:, at], b[..., at],
        a.select_scatter(at + 0.5, 1, 1), torch.cat([c, c], 1), torch.stack([c, c], 2), c.roll(1, 1), c[at],
        torch.nn.functional.pad(c, (1, 1)), torch.nn.functional.group_norm(c, 3), c.double(),
        torch.arange(3.0).expand(2, 3).double(),
    ]  # fmt: skip
    return [(t.stride(), t) for t in results]


@agrees
def test_indexing_a_contiguous_tensor_gives_one(torch: Any) -> Any:
    x = torch.arange(24.0).reshape(2, 3, 4)
    at = torch.tensor([2, 0])
    results = [
        x[:, at],
        x[..., at],
        x[:, :, at],
        x[:, torch.tensor([True, False, True])],
        x[:, at, at],
        x[:, at[:, None]],
    ]
    return [(t.stride(), t.view(-1)) for t in results]


@agrees
def test_view_copy_of_what_has_no_such_view(torch: Any) -> Any:
    return torch.view_copy(torch.arange(6.0).reshape(3, 2).t(), (6,))


@differs(
    "Factorizations and Fourier transforms give row-major results",
    pytorch=[(1, 3), (1, 3), (1, 4), (1, 3)],
    here=[(3, 1), (3, 1), (3, 1), (3, 1)],
)
def test_results_that_are_row_major_here(torch: Any) -> Any:
    matrix = torch.eye(3) * 2
    results = [
        torch.linalg.inv(matrix), torch.linalg.cholesky(matrix), torch.fft.fft(torch.ones(4, 3), dim=0),
        torch.linalg.solve(matrix, matrix),
    ]  # fmt: skip
    return [t.stride() for t in results]


@differs("`logsigmoid` keeps the layout of its operand", pytorch=(3, 1), here=(1, 2))
def test_logsigmoid_of_a_transposed_matrix(torch: Any) -> Any:
    return torch.nn.functional.logsigmoid(torch.ones(3, 2).t()).stride()


@differs(
    "The result of operands with different memory layouts is row-major", pytorch=[(1, 2), (3, 1)], here=[(3, 1), (3, 1)]
)
def test_results_of_operands_of_several_layouts(torch: Any) -> Any:
    t, r = torch.ones(3, 2).t(), torch.ones(2, 3)
    return [(t * r).stride(), (r * t).stride()]
