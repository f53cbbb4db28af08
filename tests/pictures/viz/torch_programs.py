"""Programs that run under either library: each takes the module ``torch`` and gives its variables, ``y`` among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], dict[str, Any]]


def _numbers(T: Any, *shape: int) -> Any:
    """Return equal numbers in both libraries."""
    count = 1
    for n in shape:
        count *= n
    return ((T.arange(count, dtype=T.float32) * 7 % 11 - 5) / 4).reshape(shape)


def _filled(T: Any, model: Any) -> Any:
    """Fill a model with equal parameters in both libraries."""
    with T.no_grad():
        for parameter in model.parameters():
            parameter.copy_(_numbers(T, *parameter.shape) / 4)
    return model


def tutorial(T: Any) -> dict[str, Any]:
    w, x = T.tensor([1.0], requires_grad=True), T.tensor([2.0], requires_grad=True)
    a, b = w + x, w + 1
    y = a * b
    return locals()


def layer(T: Any) -> dict[str, Any]:
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    W = T.tensor([[0.5, -1.0], [1.5, 2.0]], requires_grad=True)
    b = T.tensor([0.5, -0.5], requires_grad=True)
    h = T.relu(x @ W + b)
    y = (h * h).mean()
    return locals()


def functions(T: Any) -> dict[str, Any]:
    w = T.tensor([0.5, 2.0], requires_grad=True)
    y = (w.exp().log() - w.sin() * w.cos() / w.sqrt()).sum() + w.tanh().sigmoid().mean() + (-w).sum()
    return locals()


def numbers(T: Any) -> dict[str, Any]:
    w = T.tensor([0.5, 2.0], requires_grad=True)
    y = (3 - w * 2 + w / 4 - (w**3) + 2**w + 1 / w).sum()
    return locals()


def views(T: Any) -> dict[str, Any]:
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    t = x.t()
    row = t[0]
    y = (row * 2).sum()
    return locals()


def shapes(T: Any) -> dict[str, Any]:
    x = _numbers(T, 2, 6).requires_grad_()
    a = x.reshape(3, 4).transpose(0, 1)
    b = T.cat([a, a * 2], dim=1).unsqueeze(0).permute(2, 0, 1)
    c = T.stack([b.flatten(), b.reshape(-1)])
    y = c[:, 1:5].squeeze().sum(dim=1).max()
    return locals()


def several_outputs(T: Any) -> dict[str, Any]:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    first, second = x.unbind()
    y = first * second
    return locals()


def split(T: Any) -> dict[str, Any]:
    x = _numbers(T, 4, 3).requires_grad_()
    top, bottom = x.chunk(2)
    largest, place = bottom.max(dim=1)
    y = (top.sum(dim=1) * largest).sum()
    return locals()


def accumulated(T: Any) -> dict[str, Any]:
    w = T.tensor([3.0], requires_grad=True)
    (w * 2).backward()
    h = w * w
    h.retain_grad()
    y = h.sum()
    y.backward(retain_graph=True)
    return locals()


def hooked(T: Any) -> dict[str, Any]:
    w = T.tensor([3.0], requires_grad=True)
    w.register_hook(lambda grad: grad)
    h = w * 2
    h.register_hook(lambda grad: grad * 10)
    y = h * 3
    return locals()


def in_place(T: Any) -> dict[str, Any]:
    w = T.tensor([3.0, 4.0], requires_grad=True)
    h = w * 2
    h += 1
    h.mul_(w)
    y = h.sum()
    return locals()


def written_slice(T: Any) -> dict[str, Any]:
    w = T.tensor([3.0, 4.0], requires_grad=True)
    h = w * 2
    h[0] = w[1] * 5
    y = h.sum()
    return locals()


def loop(T: Any) -> dict[str, Any]:
    w, h = T.tensor([0.5], requires_grad=True), T.tensor([1.0])
    for _ in range(20):
        h = (h * w + w).tanh()
    y = h.sum()
    return locals()


def masked(T: Any) -> dict[str, Any]:
    x = _numbers(T, 3, 3).requires_grad_()
    a = T.where(x > 0, x, x * 0.1)
    b = a.masked_fill(x < -1, 0.0).clamp(-0.5, 1.0)
    y = (b * b.detach()).sum() + x[[0, 2]].prod() + x.abs().amax()
    return locals()


def constants(T: Any) -> dict[str, Any]:
    data = _numbers(T, 3, 2)
    w = T.tensor([[1.0], [2.0]], requires_grad=True)
    with T.no_grad():
        scale = data.std()
    target = data.sum(dim=1, keepdim=True)
    y = (((data / scale) @ w - target) ** 2).mean()
    return locals()


def helper(T: Any) -> dict[str, Any]:
    def square(value: Any) -> Any:
        return value * value

    w = T.tensor(1.5, requires_grad=True)
    a = square(w)
    b = square(a + 1)
    y = b + a
    return locals()


def second_order(T: Any) -> dict[str, Any]:
    x = T.tensor(2.0, requires_grad=True)
    f = x**3
    (y,) = T.autograd.grad(f, x, create_graph=True)
    return locals()


def complex_numbers(T: Any) -> dict[str, Any]:
    z = T.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = (z * z.conj()).real.sum()
    return locals()


def doubles(T: Any) -> dict[str, Any]:
    x = T.tensor([1.0, 2.0], dtype=T.float64, requires_grad=True)
    w = T.tensor(3.0, requires_grad=True)
    y = (x * w).float().sum()
    return locals()


def linear(T: Any) -> dict[str, Any]:
    net = _filled(T, T.nn.Linear(3, 2))
    x = _numbers(T, 4, 3)
    y = net(x).sum()
    return locals()


def mlp(T: Any) -> dict[str, Any]:
    net = _filled(T, T.nn.Sequential(T.nn.Linear(3, 4), T.nn.ReLU(), T.nn.Linear(4, 3)))
    x, target = _numbers(T, 5, 3), T.tensor([0, 1, 2, 1, 0])
    y = T.nn.functional.cross_entropy(net(x), target)
    return locals()


def convolution(T: Any) -> dict[str, Any]:
    net = _filled(T, T.nn.Sequential(T.nn.Conv2d(1, 2, 3, padding=1), T.nn.ReLU(), T.nn.MaxPool2d(2), T.nn.Flatten()))
    x = _numbers(T, 2, 1, 4, 4)
    y = net(x).sum()
    return locals()


def normalized(T: Any) -> dict[str, Any]:
    net = _filled(T, T.nn.Sequential(T.nn.LayerNorm(4), T.nn.GELU(), T.nn.Softmax(dim=-1)))
    x = _numbers(T, 2, 4).requires_grad_()
    y = (net(x) ** 2).sum()
    return locals()


def batch_norm(T: Any) -> dict[str, Any]:
    net = _filled(T, T.nn.Sequential(T.nn.Linear(3, 4), T.nn.BatchNorm1d(4), T.nn.Sigmoid()))
    y = net(_numbers(T, 5, 3)).square().mean()
    return locals()


def embedding(T: Any) -> dict[str, Any]:
    table = _filled(T, T.nn.Embedding(5, 3))
    y = table(T.tensor([1, 4, 1])).pow(2).sum()
    return locals()


def losses(T: Any) -> dict[str, Any]:
    F = T.nn.functional
    x, t = _numbers(T, 6).requires_grad_(), T.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    y = F.mse_loss(x, t) + F.l1_loss(x, t, reduction="sum") + F.binary_cross_entropy_with_logits(x, t)
    del F
    return locals()


def attention(T: Any) -> dict[str, Any]:
    q, k, v = (_numbers(T, 1, 3, 4).requires_grad_() for _ in range(3))
    scores = q @ k.transpose(1, 2) / 2
    weights = T.softmax(scores, dim=-1)
    y = (weights @ v).sum()
    return locals()


def rnn_cell(T: Any) -> dict[str, Any]:
    cell = _filled(T, T.nn.RNNCell(2, 3))
    h = T.zeros(1, 3)
    for step in range(3):
        h = cell(_numbers(T, 1, 2) + step, h)
    y = h.sum()
    return locals()


def residual(T: Any) -> dict[str, Any]:
    class Block(T.nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.first, self.second = T.nn.Linear(size, size), T.nn.Linear(size, size)

        def forward(self, x: Any) -> Any:
            hidden = T.relu(self.first(x))
            return x + self.second(hidden)

    net = _filled(T, T.nn.Sequential(Block(2), Block(2)))
    y = net(_numbers(T, 1, 2)).sum()
    return {"net": net, "y": y}


PROGRAMS: tuple[Program, ...] = (
    tutorial, layer, functions, numbers, views, shapes, several_outputs, split, accumulated, hooked, in_place,
    written_slice, loop, masked, constants, helper, second_order, complex_numbers, doubles, linear, mlp, convolution,
    normalized, batch_norm, embedding, losses, attention, rnn_cell, residual,
)  # fmt: skip
