import torch
from geomloss import SamplesLoss

from tests.parity.guests.parts import gradients, part, random


def clouds():
    return random(20, 2, grad=True), random(15, 2) * 0.5 + 1


@part
def sinkhorn():
    x, y = clouds()
    return gradients(SamplesLoss("sinkhorn", p=2, blur=0.1, backend="tensorized")(x, y), x)


@part
def unbalanced():
    x, y = clouds()
    return gradients(SamplesLoss("sinkhorn", p=1, blur=0.1, reach=0.5, backend="tensorized")(x, y), x)


@part
def kernels():
    values = {}
    for name in ("gaussian", "laplacian", "energy"):
        x, y = clouds()
        values[name] = gradients(SamplesLoss(name, blur=0.5, backend="tensorized")(x, y), x)
    return values


@part
def potentials():
    (x, y), weights = clouds(), torch.rand(20).softmax(0)
    loss = SamplesLoss("sinkhorn", potentials=True, debias=False, backend="tensorized")
    return loss(weights, x.detach(), torch.full((15,), 1 / 15), y)


@part
def flow():
    x, y = clouds()
    loss = SamplesLoss("sinkhorn", blur=0.2, scaling=0.7, backend="tensorized")
    for _ in range(3):
        (slope,) = torch.autograd.grad(loss(x, y), [x])
        x = (x - 5 * slope).detach().requires_grad_()
    return x
