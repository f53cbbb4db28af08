import torch
from g_mlp_pytorch import gMLP, gMLPVision
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


@part
def language_model():
    model, x = gMLP(num_tokens=20, dim=16, depth=2, seq_len=10, causal=True), torch.randint(0, 20, (2, 10))
    return trained(model, lambda: nn.functional.cross_entropy(model(x[:, :]).transpose(1, 2), x), steps=3)


@part
def circulant():
    model = gMLP(dim=16, depth=1, seq_len=10, heads=2, circulant_matrix=True, act=nn.Tanh())
    return gradients(model(random(2, 10, 16)).pow(2).mean(), model)


@part
def vision():
    model, x = gMLPVision(image_size=16, patch_size=4, num_classes=3, dim=16, depth=2), random(3, 3, 16, 16)
    return trained(model, lambda: nn.functional.cross_entropy(model(x), torch.arange(3)), steps=2)


@part
def stochastic_depth():
    model = gMLPVision(image_size=16, patch_size=4, num_classes=3, dim=16, depth=4, prob_survival=0.6)
    return gradients(model(random(2, 3, 16, 16)).pow(2).mean(), model)
