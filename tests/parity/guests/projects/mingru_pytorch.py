import torch
from minGRU_pytorch.minGRU import minGRU
from minGRU_pytorch.minLM import minLM

from tests.parity.guests.parts import gradients, part, random, trained


@part
def layer():
    model, x = minGRU(6, expansion_factor=1.5), random(2, 9, 6, grad=True)
    return gradients(model(x).pow(2).mean(), model, x)


@part
def step_by_step():
    model, x, hidden, outs = minGRU(6), random(2, 9, 6), None, []
    for t in range(9):
        out, hidden = model(x[:, t : t + 1], hidden, return_next_prev_hidden=True)
        outs.append(out)
    return {"steps": outs, "whole": model(x)}


@part
def language_model():
    model, x = minLM(num_tokens=20, dim=12, depth=2, conv_kernel_size=3), torch.randint(0, 20, (2, 10))
    return trained(model, lambda: model(x, return_loss=True), steps=3)
