import torch
import torchsde
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


class Drifting(nn.Module):
    def __init__(self, noise="diagonal", kind="ito"):
        super().__init__()
        self.noise_type, self.sde_type = noise, kind
        self.drift, self.diffusion = nn.Linear(3, 3), nn.Linear(3, 3 if noise == "diagonal" else 6)

    def f(self, t, y):
        return torch.tanh(self.drift(y)) - t * y

    def g(self, t, y):
        g = 0.3 * torch.sigmoid(self.diffusion(y))
        return g if self.noise_type == "diagonal" else g.view(-1, 3, 2)


def solved(sde, y, method, **choice):
    t = torch.linspace(0.0, 1.0, 5)
    columns = 3 if sde.noise_type == "diagonal" else 2
    motion = torchsde.BrownianInterval(0.0, 1.0, (y.shape[0], columns), entropy=7, levy_area_approximation="space-time")
    return torchsde.sdeint(sde, y, t, bm=motion, method=method, dt=0.1, **choice)


@part
def brownian_motion():
    motion = torchsde.BrownianInterval(0.0, 1.0, (3, 2), entropy=1, levy_area_approximation="space-time")
    return {"whole": motion(0.0, 1.0), "part": motion(0.2, 0.3), "tree": torchsde.BrownianPath(0.0, random(2))(0.5)}


@part
def ito():
    sde, y = Drifting(), random(4, 3)
    return {method: solved(sde, y, method) for method in ("euler", "milstein", "srk")}


@part
def stratonovich():
    sde, y = Drifting("general", "stratonovich"), random(4, 3)
    return {method: solved(sde, y, method) for method in ("midpoint", "heun", "euler_heun")}


@part
def through_the_solver():
    sde, y = Drifting(), random(4, 3, grad=True)
    return gradients(solved(sde, y, "euler").pow(2).mean(), sde, y)


@part
def adjoint():
    sde, y = Drifting("general", "stratonovich"), random(4, 3, grad=True)
    motion = torchsde.BrownianInterval(0.0, 1.0, (4, 2), entropy=7)
    out = torchsde.sdeint_adjoint(sde, y, torch.linspace(0.0, 1.0, 3), bm=motion, method="midpoint", dt=0.1)
    return gradients(out.pow(2).mean(), sde, y)


@part
def training():
    sde, y = Drifting(), random(6, 3)
    return trained(sde, lambda: (solved(sde, y, "euler")[-1] - 1).pow(2).mean(), steps=3)
