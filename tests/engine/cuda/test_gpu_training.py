"""On a GPU: networks train as PyTorch's do on the same device; optimizers, mixed precision, states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.engine.cuda.on_device import REHEARSAL, agree, host, pytorch, real

needs.cuda_device()
pytestmark = pytest.mark.cuda


def mlp(T: Any) -> tuple[Any, Any, Any]:
    nn = T.nn
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.BatchNorm1d(16), nn.Linear(16, 3))
    return model, T.randn(32, 8), T.arange(32) % 3


def cnn(T: Any) -> tuple[Any, Any, Any]:
    nn = T.nn
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3))
    return model, T.randn(8, 1, 8, 8), T.arange(8) % 3


def sequence(T: Any, kind: str) -> tuple[Any, Any, Any]:
    nn = T.nn

    class Last(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.head = nn.Embedding(7, 6), nn.Linear(6, 3)
            recurrent = kind in ("LSTM", "GRU", "RNN")
            self.layer = (
                getattr(nn, kind)(6, 6, batch_first=True)
                if recurrent
                else nn.TransformerEncoderLayer(6, 2, 12, 0.0, batch_first=True)
            )
            self.recurrent = recurrent

        def forward(self, x: Any) -> Any:
            h = self.layer(self.embedding(x))
            return self.head((h[0] if self.recurrent else h)[:, -1])

    return Last(), T.arange(40).reshape(8, 5) % 7, T.arange(8) % 3


MODELS = {
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lambda T: sequence(T, "LSTM"),
    "gru": lambda T: sequence(T, "GRU"),
    "transformer": lambda T: sequence(T, "transformer"),
}


def losses(T: Any, place: str, name: str, optimizer: str, steps: int = 8) -> list[float]:
    T.manual_seed(0)
    model, data, classes = MODELS[name](T)
    model, data, classes = model.to(place), data.to(place), classes.to(place)
    chosen = getattr(T.optim, optimizer)(model.parameters(), lr=0.05)
    found = []
    for _ in range(steps):
        chosen.zero_grad()
        loss = T.nn.functional.cross_entropy(model(data), classes)
        loss.backward()
        T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        chosen.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("name", MODELS)
def test_models_as_pytorch(name: str) -> None:
    torch, place = pytorch()
    ours, theirs = losses(nb, "cuda", name, "SGD"), losses(torch, place, name, "SGD")
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)
    assert ours[-1] < ours[0]


OPTIMIZERS = ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_as_pytorch(name: str) -> None:
    torch, place = pytorch()
    np.testing.assert_allclose(
        losses(nb, "cuda", "mlp", name, 6), losses(torch, place, "mlp", name, 6), rtol=2e-3
    )  # fmt: skip


def test_an_optimizers_state_moves_with_it() -> None:
    w = nb.ones(3, device="cuda", requires_grad=True)
    optimizer = nb.optim.Adam([w])
    w.sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    assert state["state"][0]["exp_avg"].device.type == "cuda"
    other = nb.ones(3, device="cuda", requires_grad=True)
    fresh = nb.optim.Adam([other])
    moved = {**state, "state": {0: {k: v.cpu() if nb.is_tensor(v) else v for k, v in state["state"][0].items()}}}
    fresh.load_state_dict(moved)
    assert fresh.state_dict()["state"][0]["exp_avg"].device.type == "cuda"


def test_lbfgs() -> None:
    def program(place: str, start: Any) -> Any:
        x = nb.tensor(start, device=place, requires_grad=True)
        optimizer = nb.optim.LBFGS([x], max_iter=20)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((x - 1) ** 2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return [x]

    agree(program, np.array([2.0, -1.0], np.float32))


def test_mixed_precision() -> None:
    nb.manual_seed(0)
    model = nb.nn.Sequential(nb.nn.Linear(8, 16), nb.nn.ReLU(), nb.nn.Linear(16, 1)).cuda()
    optimizer, scaler = nb.optim.SGD(model.parameters(), lr=0.1), nb.amp.GradScaler("cuda")
    x, y = nb.rand(32, 8).cuda(), nb.rand(32, 1).cuda()
    found = []
    for _ in range(10):
        optimizer.zero_grad()
        with nb.autocast("cuda", dtype=nb.float16):
            out = model(x)
            assert out.dtype == nb.float16
            loss = nb.nn.functional.mse_loss(out.float(), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append(loss.item())
    assert found[-1] < found[0]
    assert model[0].weight.grad.dtype == nb.float32
    model[0].weight.grad[0, 0] = float("inf")
    before, scale = host(model[0].weight).copy(), scaler.get_scale()
    scaler._per_optimizer_states.clear() if REHEARSAL else None
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_array_equal(host(model[0].weight), before)  # a step with infinities is skipped
    assert scaler.get_scale() < scale


def test_modules_move_as_a_whole() -> None:
    model = nb.nn.ModuleDict({"a": nb.nn.BatchNorm2d(3), "b": nb.nn.LSTM(3, 4), "c": nb.nn.MultiheadAttention(4, 2)})
    model.register_buffer("table", nb.arange(3))
    before = [id(parameter) for parameter in model.parameters()]
    assert model.cuda() is model
    assert {t.device.type for t in (*model.parameters(), *model.buffers())} == {"cuda"}
    assert [id(parameter) for parameter in model.parameters()] == before
    assert {t.device.type for t in model.cpu().state_dict().values()} == {"cpu"}
    assert nb.nn.Linear(2, 2, device="cuda").weight.is_leaf
    assert model.half().cuda()["b"].weight_ih_l0.dtype == nb.float16


@real
def test_a_step_waits_only_where_it_is_asked_to() -> None:
    """Behind a kernel of a second, a step without indices returns before that kernel has ended."""
    import cupy

    model = nb.nn.Sequential(nb.nn.Linear(64, 64), nb.nn.LayerNorm(64), nb.nn.GELU(), nb.nn.Linear(64, 1)).cuda()
    optimizer = nb.optim.AdamW(model.parameters())
    x, y = nb.rand(128, 64).cuda(), nb.rand(128, 1).cuda()

    def step() -> None:
        optimizer.zero_grad()
        nb.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    step()
    step()
    code = 'extern "C" __global__ void spin(long long n) { long long s = clock64(); while (clock64() - s < n) {} }'
    spin = cupy.RawKernel(code, "spin")
    spin((1,), (1,), (1,))
    nb.cuda.synchronize()
    done = cupy.cuda.Event(disable_timing=True)
    spin((1,), (1,), (2_000_000_000,))
    done.record()
    step()
    early = not done.done
    nb.cuda.synchronize()
    assert early
