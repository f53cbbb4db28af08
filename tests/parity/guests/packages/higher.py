import higher
import torch
from torch import nn

from tests.parity.guests.parts import gradients, part, random


def network():
    return nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))


def task():
    x = random(10, 1)
    return x, (2 * x).sin()


@part
def maml():
    model = network()
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    (x, y), (u, v) = task(), task()
    with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, steps):
        for _ in range(3):
            steps.step((functional(x) - y).pow(2).mean())
        return gradients((functional(u) - v).pow(2).mean(), model)


@part
def learned_rate():
    model, (x, y) = network(), task()
    rate = torch.tensor(0.1, requires_grad=True)
    inner = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    with higher.innerloop_ctx(model, inner, override={"lr": [rate]}) as (functional, steps):
        for _ in range(3):
            steps.step((functional(x) - y).pow(2).mean())
        return gradients((functional(x) - y).pow(2).mean(), rate)


@part
def through_adam():
    model, (x, y) = network(), task()
    inner = torch.optim.Adam(model.parameters(), lr=0.01)
    with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, steps):
        for _ in range(2):
            steps.step((functional(x) - y).pow(2).mean())
        return gradients((functional(x) - y).pow(2).mean(), model)


@part
def functional_module():
    model, x = network(), random(4, 1)
    functional = higher.patch.monkeypatch(model, copy_initial_weights=False)
    weights = [2 * p.detach() for p in model.parameters()]
    return {"patched": functional(x, params=weights), "own": model(x)}
