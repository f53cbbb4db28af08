import torch
from mlp_mixer_pytorch import MLPMixer
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained

SMALL = {"channels": 3, "patch_size": 4, "dim": 16, "depth": 2, "num_classes": 3}


@part
def training():
    model, x = MLPMixer(image_size=16, **SMALL), random(3, 3, 16, 16)
    return trained(model, lambda: nn.functional.cross_entropy(model(x), torch.arange(3)), steps=3)


@part
def rectangles():
    model = MLPMixer(image_size=(16, 8), **SMALL)
    return gradients(model(random(2, 3, 16, 8)).pow(2).mean(), model)


@part
def with_dropout():
    model, x = MLPMixer(image_size=16, **SMALL, dropout=0.3), random(3, 3, 16, 16)
    return trained(model, lambda: model(x).exp().mean(), steps=2)
