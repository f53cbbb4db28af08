import torch
from backpack import backpack, extend, extensions
from torch import nn

from tests.parity.guests.parts import part, random


def quantities(model, x, *chosen):
    model, loss = extend(model), extend(nn.CrossEntropyLoss())
    y = torch.arange(len(x)) % 3
    with backpack(*chosen):
        loss(model(x), y).backward()
    names = [extension.savefield for extension in chosen]
    return {f"{name}.{field}": getattr(p, field) for name, p in model.named_parameters() for field in ["grad", *names]}


def network():
    return nn.Sequential(nn.Linear(4, 6), nn.Sigmoid(), nn.Linear(6, 3))


@part
def first_order():
    chosen = [extensions.BatchGrad(), extensions.BatchL2Grad(), extensions.Variance(), extensions.SumGradSquared()]
    return quantities(network(), random(7, 4), *chosen)


@part
def diagonals_of_curvature():
    return quantities(network(), random(7, 4), extensions.DiagGGNExact(), extensions.DiagHessian())


@part
def kronecker_factors():
    return quantities(network(), random(7, 4), extensions.KFLR(), extensions.KFRA())


@part
def convolutions():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3))
    return quantities(model, random(5, 1, 8, 8), extensions.BatchGrad(), extensions.DiagGGNExact(), extensions.KFLR())


@part
def sampled():
    return quantities(network(), random(7, 4), extensions.DiagGGNMC(mc_samples=2), extensions.KFAC(mc_samples=2))
