import torch
from lion_pytorch import Lion
from torch import nn

from tests.parity.guests.parts import part, random, state, trained


def network():
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))


@part
def training():
    model, x, y = network(), random(16, 5), random(16, 1)
    return trained(model, lambda: (model(x) - y).pow(2).mean(), lambda p: Lion(p, lr=1e-2), steps=8)


@part
def decoupled_decay():
    model, x = network(), random(16, 5)
    lion = lambda p: Lion(p, lr=1e-2, weight_decay=0.1, decoupled_weight_decay=True)  # noqa: E731
    return trained(model, lambda: model(x).square().mean(), lion, steps=8)


@part
def resumed():
    model, x = network(), random(16, 5)
    optimizer = Lion(model.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).exp().mean().backward()
        optimizer.step()
    other = Lion(model.parameters(), lr=1.0)
    other.load_state_dict(optimizer.state_dict())
    other.step()
    return {"momenta": [s["exp_avg"] for s in other.state.values()], **state(model), "dtype": str(torch.float32)}
