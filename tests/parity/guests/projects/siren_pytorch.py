import torch
from siren_pytorch import SirenNet, SirenWrapper

from tests.parity.guests.parts import gradients, part, random, trained


def grid(n=6):
    line = torch.linspace(-1, 1, n)
    return torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).view(-1, 2)


@part
def fitting():
    model, x = SirenNet(2, 16, 1, num_layers=3), grid()
    y = (3 * x).sin().prod(-1, keepdim=True)
    return trained(model, lambda: (model(x) - y).pow(2).mean(), lambda p: torch.optim.Adam(p, lr=1e-3), steps=4)


@part
def derivatives_of_the_field():
    torch.set_default_dtype(torch.float64)
    model, x = SirenNet(2, 16, 1, num_layers=2, w0_initial=5.0), grid().requires_grad_()
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope[:, 0].sum(), x, create_graph=True)
    return gradients(bend.pow(2).mean(), model) | {"slope": slope}


@part
def modulated():
    net = SirenNet(2, 12, 3, num_layers=2, final_activation=torch.nn.Sigmoid())
    model = SirenWrapper(net, image_width=6, image_height=6, latent_dim=8)
    image, latent = torch.rand(1, 3, 6, 6), random(8, grad=True)
    return gradients(model(image, latent=latent), model, latent) | {"image": model(latent=latent)}
