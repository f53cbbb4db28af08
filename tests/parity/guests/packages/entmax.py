import entmax
import torch

from tests.parity.guests.parts import gradients, part, random


def mapped(*functions):
    values = []
    for function in functions:
        x = random(4, 7, grad=True)
        y = function(x)
        values.append({"y": y, **gradients((y * random(4, 7)).sum(), x)})
    return values


@part
def exact_maps():
    return mapped(entmax.sparsemax, entmax.entmax15, lambda x: entmax.entmax15(x, dim=0, k=3))


@part
def maps_by_bisection():
    return mapped(
        entmax.sparsemax_bisect, lambda x: entmax.entmax_bisect(x, 1.3), lambda x: entmax.normmax_bisect(x, 2)
    )


@part
def budgets():
    return mapped(lambda x: entmax.budget_bisect(x, budget=2))


@part
def learned_alpha():
    x, alpha = random(3, 5, grad=True), torch.tensor([[1.2], [1.5], [1.9]], requires_grad=True)
    return gradients((entmax.entmax_bisect(x, alpha) * random(3, 5)).sum(), x, alpha)


@part
def losses():
    y, values = torch.randint(0, 7, (4,)), {}
    for loss in (entmax.SparsemaxLoss, entmax.Entmax15Loss, entmax.SparsemaxBisectLoss, entmax.EntmaxBisectLoss):
        x = random(4, 7, grad=True)
        values[loss.__name__] = gradients(loss(reduction="sum")(x, y), x)
    return values
