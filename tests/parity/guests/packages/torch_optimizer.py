import torch
import torch_optimizer as optim
from torch import nn

from tests.parity.guests.parts import part, random, state, trained


def problem():
    model = nn.Sequential(nn.Linear(5, 8), nn.ELU(), nn.Linear(8, 2))
    x, y = random(16, 5), random(16, 2)
    return model, lambda: (model(x) - y).pow(2).mean()


def by(*names, **choice):
    return {name: trained(*problem(), lambda p, n=name: optim.get(n)(p, lr=1e-2, **choice), 6) for name in names}


@part
def adaptive_moments():
    return by("AdaBound", "AdaMod", "AdaBelief", "DiffGrad", "Yogi", "RAdam", "NovoGrad", "AdamP")


@part
def momenta():
    return by("SGDW", "SGDP", "AggMo", "AccSGD", "PID", "SWATS", "LARS")


@part
def for_large_batches():
    return by("Lamb", "MADGRAD", "QHAdam", "QHM", "Ranger")


@part
def shampoo_of_matrices():
    torch.set_default_dtype(torch.float64)  # it takes roots of singular values that are zero but for rounding
    return trained(*problem(), lambda p: optim.Shampoo(p, lr=1e-1, momentum=0.9, update_freq=2), 4)


@part
def adafactor():
    return trained(*problem(), lambda p: optim.Adafactor(p, lr=1e-2, relative_step=False, scale_parameter=False), 6)


@part
def adahessian():
    model, loss = problem()
    optimizer = optim.Adahessian(model.parameters(), lr=1e-1, seed=3)
    for _ in range(3):
        optimizer.zero_grad()
        loss().backward(create_graph=True)
        optimizer.step()
    return state(model)


@part
def lookahead():
    return trained(*problem(), lambda p: optim.Lookahead(optim.Yogi(p, lr=1e-1), k=3, alpha=0.5), 8)
