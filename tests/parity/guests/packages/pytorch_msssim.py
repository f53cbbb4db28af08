import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim
from torch import nn

from tests.parity.guests.parts import gradients, part, trained


@part
def similarity():
    x, y = torch.rand(2, 3, 40, 40, requires_grad=True), torch.rand(2, 3, 40, 40)
    return gradients(1 - ssim(x, y, data_range=1, size_average=True), x) | {
        "each": ssim(x, y, data_range=1, win_size=7)
    }


@part
def several_scales():
    x, y = torch.rand(1, 1, 180, 180, requires_grad=True), torch.rand(1, 1, 180, 180)
    return gradients(1 - ms_ssim((x + y) / 2, y, data_range=1), x)


@part
def as_loss():
    loss, model = SSIM(data_range=1, channel=1, nonnegative_ssim=True), nn.Conv2d(1, 1, 3, padding=1)
    x = torch.rand(4, 1, 24, 24)
    return trained(model, lambda: 1 - loss(model(x).sigmoid(), x), steps=4)


@part
def volumes():
    x, y = torch.rand(1, 1, 12, 14, 13, requires_grad=True), torch.rand(1, 1, 12, 14, 13)
    return gradients(1 - SSIM(1, spatial_dims=3, channel=1)(x, y), x) | {"window": MS_SSIM().win}
