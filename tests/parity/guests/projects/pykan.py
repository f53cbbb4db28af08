import torch
from kan import KAN

from tests.parity.guests.parts import gradients, part, random, state

QUIET = {"auto_save": False, "seed": 1}


def function():
    x = 2 * torch.rand(40, 2) - 1
    y = torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2)
    return {"train_input": x[:30], "train_label": y[:30], "test_input": x[30:], "test_label": y[30:]}


def fitted(model, **choice):
    result = model.fit(function(), log=1, **choice)
    return {name: result[name] for name in ("train_loss", "test_loss", "reg")} | state(model)


@part
def forward_and_backward():
    model = KAN(width=[2, 4, 1], grid=4, k=3, **QUIET)
    return gradients(model(random(10, 2)).pow(2).mean(), model)


@part
def by_adam():
    return fitted(KAN(width=[2, 3, 1], grid=3, k=3, **QUIET), opt="Adam", steps=4, lr=0.01, lamb=0.01)


@part
def by_lbfgs():
    torch.set_default_dtype(torch.float64)
    return fitted(KAN(width=[2, 2, 1], grid=3, k=3, **QUIET), opt="LBFGS", steps=2, update_grid=False)


@part
def refined_grid():
    torch.set_default_dtype(torch.float64)
    model = KAN(width=[2, 2, 1], grid=3, k=3, **QUIET)
    model.update_grid_from_samples(function()["train_input"])
    return model.refine(5)(function()["test_input"])
