import torch
import torchquad

from tests.parity.guests.parts import gradients, part

torchquad.set_log_level("ERROR")
DOMAIN = [[0.0, 1.0], [-1.0, 2.0]]


def bump(x):
    return torch.exp(-(x**2).sum(dim=1)) * torch.cos(3 * x[:, 0])


@part
def grids():
    torch.set_default_dtype(torch.float64)
    rules = {"Trapezoid": 121, "Simpson": 121, "Boole": 289, "GaussLegendre": 121}
    return {r: getattr(torchquad, r)().integrate(bump, 2, n, DOMAIN, backend="torch") for r, n in rules.items()}


@part
def monte_carlo():
    return torchquad.MonteCarlo().integrate(bump, 2, 500, DOMAIN, seed=3, backend="torch")


@part
def vegas():
    return torchquad.VEGAS().integrate(bump, 2, 3000, DOMAIN, seed=3, backend="torch")


@part
def through_the_domain():
    domain = torch.tensor(DOMAIN, requires_grad=True)
    return gradients(torchquad.Simpson().integrate(bump, 2, 121, domain), domain)


@part
def through_the_integrand():
    scale = torch.tensor([0.5, 2.0], requires_grad=True)
    value = torchquad.Boole().integrate(lambda x: torch.sin(scale[0] * x[:, 0] ** scale[1]), 1, 41, [[0.1, 1.0]])
    return gradients(value, scale)
