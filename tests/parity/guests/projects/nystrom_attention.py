import torch
from nystrom_attention import NystromAttention, Nystromformer

from tests.parity.guests.parts import gradients, part, random, trained

SMALL = {"dim": 16, "dim_head": 8, "heads": 2, "num_landmarks": 4}


@part
def attention():
    layer, x = NystromAttention(**SMALL, pinv_iterations=6), random(2, 16, 16, grad=True)
    return gradients(layer(x).pow(2).mean(), layer, x)


@part
def masked():
    layer, mask = NystromAttention(**SMALL, residual=False), torch.arange(13).expand(2, 13) < torch.tensor([[13], [9]])
    out, weights = layer(random(2, 13, 16), mask=mask, return_attn=True)
    return {"out": out, "weights": weights}


@part
def training():
    model, x = Nystromformer(**SMALL, depth=2), random(2, 16, 16)
    return trained(model, lambda: model(x).pow(2).mean(), steps=2)
