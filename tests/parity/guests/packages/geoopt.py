import geoopt
import torch
from torch import nn

from tests.parity.guests.parts import gradients, part, random, state


def points(manifold, *shape):
    return manifold.projx(0.3 * random(*shape))


@part
def hyperbolic_ball():
    torch.set_default_dtype(torch.float64)
    ball = geoopt.PoincareBall()
    x, y = points(ball, 4, 3).requires_grad_(), points(ball, 4, 3).requires_grad_()
    values = {"sum": ball.mobius_add(x, y), "log": ball.logmap(x, y), "exp": ball.expmap(x, random(4, 3))}
    return gradients(ball.dist(x, y).sum(), x, y) | values


@part
def manifolds():
    torch.set_default_dtype(torch.float64)
    values = {}
    for manifold in (geoopt.Sphere(), geoopt.Stiefel(), geoopt.Lorentz(), geoopt.SymmetricPositiveDefinite()):
        x = manifold.projx(random(4, 4) @ random(4, 4).T)
        u = manifold.proju(x, random(4, 4))
        values[type(manifold).__name__] = {"x": x, "u": u, "moved": manifold.retr(x, 0.1 * u)}
    return values


def optimized(optimizer, **choice):
    torch.set_default_dtype(torch.float64)
    manifold = geoopt.Sphere()
    model = nn.ParameterList([geoopt.ManifoldParameter(points(manifold, 5, 3), manifold=manifold)])
    wanted, chosen = points(manifold, 5, 3), optimizer(model.parameters(), **choice)
    for _ in range(5):
        chosen.zero_grad()
        manifold.dist(model[0], wanted).pow(2).sum().backward()
        chosen.step()
    return state(model)


@part
def riemannian_sgd():
    return optimized(geoopt.optim.RiemannianSGD, lr=0.1, momentum=0.9)


@part
def riemannian_adam():
    return optimized(geoopt.optim.RiemannianAdam, lr=0.05, amsgrad=True)


@part
def layers():
    torch.set_default_dtype(torch.float64)
    ball = geoopt.PoincareBall()
    x, weight = points(ball, 6, 4).requires_grad_(), random(3, 4, grad=True)
    y = ball.mobius_matvec(weight, x)
    middle = ball.weighted_midpoint(y)
    return gradients(ball.dist0(y).sum() + ball.dist0(middle), x, weight) | {"y": y, "middle": middle}
