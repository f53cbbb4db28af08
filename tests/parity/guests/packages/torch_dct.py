import torch
import torch_dct as dct
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


@part
def transforms():
    x = random(3, 4, 6, 8, grad=True)
    values = {f.__name__: f(x) for f in (dct.dct, dct.idct, dct.dct1, dct.idct1, dct.dct_2d, dct.idct_2d, dct.dct_3d)}
    return gradients(sum(value.pow(3).sum() for value in values.values()), x) | values


@part
def orthonormal():
    x = random(5, 8)
    return {"dct": dct.dct(x, norm="ortho"), "back": dct.idct_2d(dct.dct_2d(x, norm="ortho"), norm="ortho")}


@part
def linear_layer():
    layer = dct.LinearDCT(8, "dct", norm="ortho")
    x = random(4, 8)
    return {"weight": layer.weight, "y": layer(x), "2d": dct.apply_linear_2d(random(2, 8, 8), layer)}


@part
def training():
    model, x = nn.Linear(16, 16), random(8, 16)
    return trained(model, lambda: (dct.dct(model(x)) - torch.ones(16)).abs().mean(), steps=4)
