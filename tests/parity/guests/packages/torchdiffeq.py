import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

from tests.parity.guests.parts import gradients, part, random, trained

SPAN = (0.0, 1.5, 9)


class Spiral(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3) - 0.1 * t * y


@part
def fixed_steps():
    f, y = Spiral(), random(4, 2)
    t = torch.linspace(*SPAN)
    return {name: odeint(f, y, t, method=name) for name in ("euler", "midpoint", "rk4", "heun3", "explicit_adams")}


@part
def adaptive_steps():
    torch.set_default_dtype(torch.float64)
    f, y = Spiral(), random(4, 2)
    t = torch.linspace(*SPAN)
    return {name: odeint(f, y, t, method=name) for name in ("dopri5", "dopri8", "bosh3", "adaptive_heun")}


@part
def through_the_solver():
    f, y = Spiral(), random(4, 2, grad=True)
    return gradients(odeint(f, y, torch.linspace(*SPAN)).pow(2).mean(), f, y)


@part
def adjoint():
    f, y = Spiral(), random(4, 2, grad=True)
    return gradients(odeint_adjoint(f, y, torch.linspace(*SPAN), rtol=1e-6, atol=1e-8).pow(2).mean(), f, y)


@part
def bouncing_ball():
    torch.set_default_dtype(torch.float64)
    start = torch.tensor([5.0], requires_grad=True), torch.tensor([0.0])
    fall = lambda t, state: (state[1], torch.full_like(state[1], -9.8))  # noqa: E731
    event = lambda t, state: state[0]  # noqa: E731
    t, (_, speed) = odeint_event(fall, start, torch.tensor(0.0), event_fn=event, atol=1e-8, rtol=1e-8)
    return gradients(t.sum(), start[0]) | {"t": t, "speed": speed}


@part
def training():
    f, y = Spiral(), random(8, 2)
    t = torch.linspace(0.0, 1.0, 5)
    wanted = torch.stack([y * (-k).exp() for k in t])
    return trained(f, lambda: (odeint(f, y, t, method="rk4") - wanted).abs().mean(), steps=5)
