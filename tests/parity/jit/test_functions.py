"""Compare traced functions with eager: operations, writes in place, views, random numbers, inner gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbautograd as torch
from tests.parity.jit.comparing import compare, copies, same, silently

F = torch.nn.functional


def matrix(*shape: int, grad: bool = True) -> Any:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).requires_grad_(grad)


def in_place(x: Any, y: Any) -> Any:
    a = x * 2
    a.add_(y)
    a.mul_(a)
    return a


def views_written(x: Any, y: Any) -> Any:
    a = x * 2
    a[0] = y[0]
    b = a[1]
    b.mul_(3)
    return a * b


def fresh_written(x: Any, y: Any) -> Any:
    a = torch.zeros(3, 4)
    a[:, 1] = x[:, 0]
    a.t()[2].add_(y[:, 0])
    return a, a.sum()


def base_written(x: Any, y: Any) -> Any:
    a = x * 1
    part = a[1:]
    a.mul_(y)
    return part * 2, a


def argument_written(x: Any, y: Any) -> Any:
    z = y.detach()
    z = z * 1
    z[1:3].mul_(2)
    return x + z, z


def under_no_grad(x: Any, y: Any) -> Any:
    a = x * y
    with torch.no_grad():
        a.clamp_(0, 1)
        scale = x.std()
    return a * 2 / scale


def gradient_inside(x: Any, y: Any) -> Any:
    (slope,) = torch.autograd.grad((x**3 * y).sum(), x, create_graph=True)
    return (slope * slope).sum()


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * g * ctx.saved_tensors[0]


def view_under_no_grad(x: Any, y: Any) -> Any:
    a = x * y
    with torch.no_grad():
        a[0] = 1.5
        a[:, 1:].mul_(0.5)
    return a * 2


BINARY: dict[str, Callable[..., Any]] = {
    "in place": in_place,
    "views written": views_written,
    "fresh written": fresh_written,
    "base written": base_written,
    "argument written": argument_written,
    "no_grad": under_no_grad,
    "view under no_grad": view_under_no_grad,
    "gradient inside": gradient_inside,
    "custom function": lambda x, y: Squared.apply(x) * y,
    "matmul": lambda x, y: (x @ y.t()).softmax(1).logsumexp(0),
    "broadcast": lambda x, y: ((x - x.mean(1, keepdim=True)) * y[0] + y[:, :1]).tanh(),
    "cat split": lambda x, y: torch.cat([x, y]).split(2)[1] * torch.stack([x, y]).unbind(0)[0][:2],
    "where": lambda x, y: torch.where(x > 0, x, y).relu(),
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y),
    "two dtypes": lambda x, y: (x.double() * y).sum() + x.sum(),
    "half": lambda x, y: (x.half() * y.half()).float() + x.bfloat16().float(),
    "complex": lambda x, y: torch.view_as_real(torch.fft.fft(torch.complex(x, y))) * 2,
    "several results": lambda x, y: (*x.sort(1), x.max(1)[0], y.topk(2)[0]),
    "an argument": lambda x, y: (x, y[0], x.t() * 1),
    "detached": lambda x, y: x.detach() * y + x.data * x,
    "constants": lambda x, y: x * torch.tensor(2.0) + torch.arange(4) - torch.eye(3, 4) * y,
    "powers": lambda x, y: x.abs() ** y + x**2 + 2**y,
    "filled": lambda x, y: (x * 1).zero_() + (y * 2).fill_(3.0) * x,
    "copied": lambda x, y: torch.empty(3, 4).copy_(y) * x,
    "out": lambda x, y: torch.add(x.detach(), 1, out=torch.empty(3, 4)) * y,
    "mask": lambda x, y: x.masked_fill(x > 0, 0.0) + y.masked_fill(y > 0, 1.0),
    "linalg": lambda x, y: torch.linalg.solve(x[:, :3], y[:, :2]) + torch.linalg.svdvals(x)[:2],
    "norms": lambda x, y: F.layer_norm(x, (4,)) + F.group_norm(y.reshape(1, 4, 3), 2).reshape(3, 4),
    "pools": lambda x, y: F.max_pool2d(x.reshape(1, 1, 3, 4), 2) + F.avg_pool2d(y.reshape(1, 1, 3, 4), 2),
    "attention": lambda x, y: F.scaled_dot_product_attention(x[None], y[None], x[None], is_causal=True),
    "convolution": lambda x, y: F.conv1d(x[None], y[None, :, :2].expand(2, 3, 2), padding=1),
    "losses": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()) + F.mse_loss(x, y) + F.huber_loss(x, y),
    "quantile": lambda x, y: x.quantile(0.3) + y.median(),
    "strided": lambda x, y: x.as_strided((2, 2), (1, 2)) * y.unfold(1, 2, 1).sum(-1)[:2, :2],
    "checkpoint": lambda x, y: torch.utils.checkpoint.checkpoint(lambda a: a.tanh() * y, x, use_reentrant=False),
    "dropout": lambda x, y: F.dropout(x, 0.5) + F.dropout(y * 1, 0.3, True, True),
    "kinds of dropout": lambda x, y: F.alpha_dropout(x, 0.5, True) + F.dropout2d(y.reshape(1, 3, 2, 2)).reshape(3, 4),
    "random": lambda x, y: x * torch.rand(3, 4) + torch.randn_like(x) * y + torch.empty(3, 4).normal_(),
    "drawn": lambda x, y: torch.bernoulli(x.sigmoid()) * y + F.gumbel_softmax(x) + F.rrelu(y, training=True),
    "permuted": lambda x, y: x[:, torch.randperm(4)] + y[torch.multinomial(torch.ones(3), 3)],
}


@pytest.mark.parametrize("name", BINARY)
def test_a_traced_function_is_the_function(name: str) -> None:
    compare(BINARY[name], matrix(3, 4), matrix(4, 3).detach().t().contiguous().requires_grad_())


INDEXED: dict[str, Callable[..., Any]] = {
    "index": lambda x, i: x[i] * 2,
    "written": lambda x, i: (x * 2).index_put((i,), torch.tensor(1.5)),
    "gather": lambda x, i: x.gather(1, i[:, None]),
    "scatter": lambda x, i: torch.zeros(3, 4).scatter_add(0, i[:, None].expand(3, 4), x),
    "embedding": lambda x, i: F.embedding(i, x),
    "one hot": lambda x, i: F.one_hot(i, 3).float() @ x,
    "cross entropy": F.cross_entropy,
    "weighted": lambda x, i: F.cross_entropy(x, i, torch.ones(4), label_smoothing=0.1),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices_are_those_of_the_call(name: str) -> None:
    other = [(matrix(3, 4), torch.tensor([1, 1, 0])), (matrix(3, 4) * 2, torch.tensor([2, 0, 2]))]
    compare(INDEXED[name], matrix(3, 4), torch.tensor([0, 2, 1]), more=other)


def test_what_a_function_asks_of_values_is_asked_again() -> None:
    """A target that is to be ignored: that takes another way through the loss."""
    compare(F.cross_entropy, matrix(3, 4), torch.tensor([1, 0, 3]), more=[(matrix(3, 4), torch.tensor([1, -100, 2]))])
    traced = silently(F.embedding, torch.tensor([0, 1]), matrix(3, 2))
    with pytest.raises(IndexError, match="index out of range in self: 5"):
        traced(torch.tensor([0, 5]), matrix(3, 2))


def test_arguments_that_lie_in_memory_in_another_way() -> None:
    compare(lambda x: (x.t().contiguous() @ x).sum(0), matrix(3, 4), more=[(matrix(4, 3).detach().t(),)])
    compare(lambda x: x.sum() * x, matrix(4, 4), more=[(matrix(8, 8).detach()[::2, 1::2],)])


def test_large_arrays() -> None:
    x, z = matrix(600, 400), matrix(400)
    compare(lambda x: ((x * 2 + 1).tanh() * x).sigmoid().sum(0), x)
    compare(lambda x, z: ((x - x.mean(1, keepdim=True)) * z).relu().sum(), x, z)
    compare(lambda x, z: (x * z + z).exp().clamp(0, 5).mean(), x, z)


def test_numbers_and_integers() -> None:
    compare(lambda a, b: (a * b).sin() + a, torch.tensor(2.0, requires_grad=True), torch.tensor(3.0))
    compare(lambda i: (i * 2 + 1) // 2, torch.tensor([1, 2, 3]))


def test_writes_into_arguments_are_made() -> None:
    def function(x: Any, z: Any) -> Any:
        z.add_(1)
        return x * z

    compare(function, matrix(3, 4), matrix(4, grad=False))
    total = torch.zeros(4)

    def counting(x: Any) -> Any:
        total.add_(x)
        return total * 2

    traced = silently(counting, torch.ones(4))
    assert total.tolist() == [1.0] * 4  # once, independent of the number of checks of the trace
    version = total._version
    assert traced(torch.ones(4)).tolist() == [4.0] * 4
    assert (total.tolist(), total._version) == ([2.0] * 4, version + 1)


def test_buffers_may_be_written_to_in_part() -> None:
    buffer = torch.zeros(3)

    def function(x: Any) -> Any:
        with torch.no_grad():
            buffer[0] += x.detach().sum()
        return x * buffer

    traced = silently(function, torch.ones(3, requires_grad=True))
    x = torch.full((3,), 2.0, requires_grad=True)
    traced(x).sum().backward()
    assert (buffer.tolist(), x.grad.tolist()) == ([9.0, 0.0, 0.0], [9.0, 0.0, 0.0])


@pytest.mark.parametrize(("grad", "steps", "slope"), [(False, 600, 3.0), (True, 3, 3.5)])
def test_an_unrecorded_write_after_many_steps(grad: bool, steps: int, slope: float) -> None:
    def function(x: Any) -> Any:
        y = x * 1 if grad else x.detach() + torch.ones(2)
        for _ in range(steps):  # twice as many ways back in each step, and more of them than Python's stack holds
            y = y - y / 2
        with torch.no_grad():
            y.add_(3)
        return y * x

    traced = silently(function, torch.ones(2, requires_grad=True))
    x = torch.full((2,), 2.0, requires_grad=True)
    traced(x).sum().backward()
    assert x.grad.tolist() == [slope, slope]


def test_results_that_are_views_and_arguments() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        return y, y[0], x, x[1]

    x = matrix(3, 4, grad=False)
    whole, part, argument, row = silently(function, x)(x)
    assert argument is x
    assert part._base is whole
    assert row._base is x
    whole.zero_()
    row.fill_(7)
    assert part.sum() == 0
    assert x[1, 0] == 7


def test_tensors_from_before_are_read_anew() -> None:
    w = torch.ones(2, requires_grad=True)
    traced = silently(lambda x: x * w, torch.ones(2))
    with torch.no_grad():
        w.mul_(3)
    y = traced(torch.ones(2))
    y.sum().backward()
    assert (y.tolist(), w.grad.tolist()) == ([3.0, 3.0], [1.0, 1.0])
    w.data = torch.tensor([5.0, 6.0])
    assert traced(torch.ones(2)).tolist() == [5.0, 6.0]
    w.requires_grad_(False)
    assert not traced(torch.ones(2)).requires_grad


def test_gradients_of_gradients() -> None:
    def function(x: Any, w: Any) -> Any:
        return ((x @ w).tanh() ** 2).sum()

    def second(function: Any) -> list[Any]:
        x, w = copies([matrix(3, 4), matrix(4, 2)])
        (slope,) = torch.autograd.grad(function(x, w), x, create_graph=True)
        (slope * slope).sum().backward()
        return [slope, x.grad, w.grad]

    traced = silently(function, matrix(3, 4), matrix(4, 2))
    for a, b in zip(second(function), second(traced), strict=True):
        same(a, b)
    wide = [t.detach().double().requires_grad_() for t in (matrix(3, 4), matrix(4, 2))]
    assert torch.autograd.gradgradcheck(silently(function, *wide), wide)


def test_gradients_of_gradients_of_what_was_drawn() -> None:
    def second(function: Any) -> Any:
        torch.manual_seed(4)
        x = matrix(3, 4)
        (slope,) = torch.autograd.grad(function(x), x, create_graph=True)
        return torch.autograd.grad((slope * slope).sum(), x)[0]

    def function(x: Any) -> Any:
        return F.dropout(x**3, 0.5).sum()

    same(second(function), second(silently(function, matrix(3, 4))))


def test_transforms_of_a_traced_function() -> None:
    def function(x: Any, w: Any) -> Any:
        return (x @ w).sin().sum()

    x, w, many = matrix(3, 4, grad=False), matrix(4, 2, grad=False), matrix(5, 3, 4, grad=False)
    traced = silently(function, x, w)
    same(torch.func.vmap(traced, (0, None))(many, w), torch.func.vmap(function, (0, None))(many, w))
    same(torch.func.jvp(traced, (x, w), (x, w))[1], torch.func.jvp(function, (x, w), (x, w))[1])
    same(torch.func.grad(traced)(x, w), torch.func.grad(function)(x, w))
    nested = silently(lambda x: traced(x, w) * 2, x)
    same(nested(x), function(x, w) * 2)


def test_some_of_the_outputs() -> None:
    def function(x: Any, y: Any) -> Any:
        return x * y, x.sum(), (y * 2).detach(), x.argmax()

    traced = silently(function, matrix(3, 4), matrix(3, 4))
    for pick in (0, 1):
        x, y = copies([matrix(3, 4), matrix(3, 4)])
        u, v = copies([x, y])
        traced(x, y)[pick].sum().backward()
        function(u, v)[pick].sum().backward()
        same(x.grad, u.grad)
        same(y.grad, v.grad) if pick == 0 else None


def test_the_tape_has_one_node() -> None:
    def cube(x: Any, w: Any) -> Any:
        return (x * w * x).sum()

    traced = silently(cube, matrix(3), matrix(3))
    x, w = copies([matrix(3), matrix(3)])
    y = traced(x, w)
    assert y.grad_fn.name() == "cubeBackward"
    assert [node.variable is t for (node, _), t in zip(y.grad_fn.next_functions, (x, w), strict=True)] == [True, True]
    seen: list[Any] = []
    y.register_hook(seen.append)
    y.backward(retain_graph=True)
    y.backward()
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_a_changed_argument_is_noticed() -> None:
    traced = silently(lambda x, w: (x * w).sum(), matrix(3), matrix(3))
    x, w = copies([matrix(3), matrix(3)])
    y = traced(x, w)
    with torch.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.backward()


def test_threads_may_call_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    traced = silently(lambda x: (x @ x).tanh().sum(), matrix(8, 8))

    def gradient(seed: int) -> Any:
        x = (matrix(8, 8).detach() * (1 + seed % 5)).requires_grad_()
        traced(x).backward()
        return x.grad

    expected = [gradient(seed) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        for a, b in zip(expected, pool.map(gradient, range(40)), strict=True):
            same(a, b)
