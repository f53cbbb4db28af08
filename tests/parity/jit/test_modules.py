"""Test traced modules in training loops: parameters, optimizers, dropout, running statistics; and their attributes."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as torch
from nbautograd import nn
from tests.parity.jit.comparing import same, silently

F = nn.functional


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.dropout, self.linear = nn.Dropout(0.3), nn.Linear(4 * 6 * 6, 5)

    def forward(self, x: Any) -> Any:
        return self.linear(self.dropout(self.norm(self.convolution(x)).relu()).flatten(1))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.output = nn.Linear(16, 5)

    def forward(self, i: Any) -> Any:
        return self.output(self.layer(self.embedding(i)))[:, 0]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.output = nn.LSTMCell(4, 6), nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        state = None
        for t in range(20):
            state = self.cell(x[:, t], state)
        assert state is not None
        return self.output(state[0])


def perceptron() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 5))


NETS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "perceptron": (perceptron, lambda: torch.randn(6, 4)),
    "convolutional": (Convolutional, lambda: torch.randn(6, 1, 8, 8)),
    "recurrent": (Recurrent, lambda: torch.randn(6, 20, 4)),
    "transformer": (Transformer, lambda: torch.randint(0, 11, (6, 7))),
}


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("name", NETS)
def test_training_a_traced_module_is_training_the_module(name: str, optimizer: str) -> None:
    make, inputs = NETS[name]
    torch.manual_seed(1)
    eager, x, target = make(), inputs(), torch.randint(0, 5, (6,))
    other = copy.deepcopy(eager)
    torch.manual_seed(2)
    eager(x)  # a trace runs the module once
    after = torch.rand(3)
    torch.manual_seed(2)
    traced = silently(other, x)
    same(after, torch.rand(3))
    losses: list[list[Any]] = []
    for net in (eager, traced):
        step = getattr(torch.optim, optimizer)(net.parameters(), 0.05)
        losses.append([])
        for number in range(4):
            torch.manual_seed(number)
            step.zero_grad()
            loss = F.cross_entropy(net(x), target)
            loss.backward()
            step.step()
            losses[-1] += [loss, torch.rand(2)]
    for a, b in zip(*losses, strict=True):
        same(a, b)
    for (key, a), (own, b) in zip(eager.state_dict().items(), traced.state_dict().items(), strict=True):
        assert key == own
        same(a, b)
    for p, q in zip(eager.parameters(), traced.parameters(), strict=True):
        same(p.grad, q.grad)


def test_what_a_traced_module_has() -> None:
    net = Convolutional()
    traced = silently(net, torch.randn(2, 1, 8, 8))
    assert [name for name, _ in traced.named_parameters()] == [name for name, _ in net.named_parameters()]
    assert traced.linear.weight is net.linear.weight
    assert traced.state_dict().keys() == net.state_dict().keys()
    assert traced.original_name == "Convolutional"
    assert "(norm): BatchNorm2d(original_name=BatchNorm2d)" in repr(traced)
    assert "self.linear" not in traced.code
    assert "linear_weight" in traced.code
    traced.eval()
    assert (traced.training, traced.norm.training, net.training) == (False, False, True)
    with pytest.raises(AttributeError):
        _ = traced.what_nobody_has
    with pytest.raises(RuntimeError, match="part of a traced module"):
        traced.linear(torch.ones(1, 144))
    traced.load_state_dict({key: torch.zeros_like(value) for key, value in net.state_dict().items()})
    assert not net.linear.weight.any()


def test_a_copy_has_parameters_of_its_own() -> None:
    traced = silently(nn.Linear(2, 2), torch.ones(1, 2))
    other = copy.deepcopy(traced)
    same(other(torch.ones(1, 2)), traced(torch.ones(1, 2)))
    with torch.no_grad():
        other.weight.zero_()
        other.bias.fill_(3.0)
    assert other(torch.ones(1, 2)).tolist() == [[3.0, 3.0]]
    assert traced(torch.ones(1, 2)).tolist() != [[3.0, 3.0]]
    other(torch.ones(1, 2)).sum().backward()
    assert other.weight.grad is not None
    assert traced.weight.grad is None
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(traced)


def test_modes_are_frozen() -> None:
    net = nn.Dropout(0.5)
    x = torch.ones(100)
    in_training = silently(net, x)
    in_evaluation = silently(net.eval(), x)
    assert in_training.eval()(x).eq(0).any()
    assert in_evaluation.train()(x).eq(1).all()


def test_several_methods() -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([2.0]))

        def forward(self, x: Any) -> Any:
            return x * self.weight

        def plus(self, x: Any, y: Any) -> Any:
            return x + y * self.weight

    net = Pair()
    one = torch.ones(1)
    traced = torch.jit.trace_module(net, {"forward": one, "plus": (one, one)})
    assert (traced(one).item(), traced.plus(one, y=one * 3).item()) == (2.0, 7.0)
    assert torch.jit.trace(net.forward, one)(one).item() == 2.0
    with pytest.raises(AttributeError, match="trace doesn't support compiling individual module's functions"):
        torch.jit.trace(net.plus, (one, one))


def test_a_parameter_of_another_shape() -> None:
    net = nn.Linear(2, 2)
    traced = silently(net, torch.ones(1, 2))
    net.weight.data = torch.ones(3, 2)
    with pytest.raises(RuntimeError, match=r"traced with weight of shape \[2, 2\] .* which is of shape \[3, 2\]"):
        traced(torch.ones(1, 2))


def test_a_call_leaves_nothing_behind() -> None:
    traced = silently(nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64)), torch.ones(8, 64))
    gc.collect()
    gc.disable()
    try:
        y = traced(torch.ones(8, 64))
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        array = weakref.ref(y._a)
        del y
        assert node() is None
        assert array() is None
    finally:
        gc.enable()


def test_memory_is_used_again() -> None:
    import tracemalloc

    def function(x: Any) -> Any:
        for _ in range(20):
            x = (x * 2 + 1).relu() - 1
        return x

    x = torch.ones(50_000)
    traced = silently(function, x)
    peaks = []
    for call in (function, traced):
        call(x)
        tracemalloc.start()
        call(x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= peaks[0]
    assert peaks[1] < 1.5 * np.zeros(50_000, np.float32).nbytes
