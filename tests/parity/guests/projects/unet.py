import torch
from torch import nn
from unet import UNet, UNet2D, UNet3D

from tests.parity.guests.parts import gradients, part, random, trained

SMALL = {"num_encoding_blocks": 3, "out_channels_first_layer": 4, "padding": 1}


@part
def segmentation():
    model, x, y = UNet2D(**SMALL, normalization="batch"), random(2, 1, 16, 16), torch.randint(0, 2, (2, 16, 16))
    return trained(model, lambda: nn.functional.cross_entropy(model(x), y), steps=2)


@part
def volumes():
    model = UNet3D(**SMALL, normalization="instance", upsampling_type="linear", activation="LeakyReLU")
    return gradients(model(random(1, 1, 8, 8, 8)).pow(2).mean(), model)


@part
def residual_with_preactivation():
    model = UNet(**SMALL, in_channels=2, preactivation=True, residual=True, normalization="batch", pooling_type="avg")
    return gradients(model(random(1, 2, 16, 16)).pow(2).mean(), model)


@part
def monte_carlo_dropout():
    model = UNet2D(**SMALL, dropout=0.2, monte_carlo_dropout=0.3, activation="PReLU")
    return [model(random(1, 1, 16, 16)) for _ in range(2)]
