import torch
from mambapy.mamba import Mamba, MambaConfig
from mambapy.pscan import pscan

from tests.parity.guests.parts import gradients, part, random, trained


@part
def parallel_scan():
    a, x = torch.rand(2, 8, 4, 3).requires_grad_(), random(2, 8, 4, 3, grad=True)
    return gradients(pscan(a, x).pow(2).sum(), a, x)


@part
def blocks():
    model, x = Mamba(MambaConfig(d_model=8, n_layers=2, d_state=4)), random(2, 8, 8)
    return trained(model, lambda: model(x).pow(2).mean(), steps=3)


@part
def sequential():
    model = Mamba(MambaConfig(d_model=8, n_layers=1, d_state=4, pscan=False, inner_layernorms=True))
    return gradients(model(random(2, 7, 8)).pow(2).mean(), model)


@part
def step_by_step():
    config = MambaConfig(d_model=8, n_layers=2, d_state=4)
    model, x = Mamba(config).eval(), random(1, 5, 8)
    caches = [(None, torch.zeros(1, config.d_inner, config.d_conv - 1)) for _ in range(2)]
    outs = []
    for t in range(5):
        out, caches = model.step(x[:, t], caches)
        outs.append(out)
    return {"steps": outs, "whole": model(x)}
