import torch
from product_key_memory import PKM

from tests.parity.guests.parts import gradients, part, random, trained

SMALL = {"dim": 12, "heads": 2, "num_keys": 8, "topk": 4, "dim_head": 8}


@part
def memory():
    model, x = PKM(**SMALL), random(2, 6, 12, grad=True)
    return gradients(model(x).pow(2).mean(), model, x)


@part
def masked():
    model, mask = PKM(**SMALL), torch.arange(6).expand(2, 6) < 4
    return gradients(model(random(2, 6, 12), input_mask=mask).sum(), model)


@part
def training():
    model, x = PKM(**SMALL, input_dropout=0.2), random(4, 6, 12)
    return trained(model, lambda: (model(x) - x).pow(2).mean(), steps=3)
