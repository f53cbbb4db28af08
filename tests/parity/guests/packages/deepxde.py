import deepxde as dde
import numpy as np
import torch

from tests.parity.guests.parts import part

dde.config.set_random_seed(0)


def solved(data, net, steps=5, **choice):
    model = dde.Model(data, net)
    model.compile("adam", lr=1e-3, verbose=0, **choice)
    history, _ = model.train(iterations=steps, display_every=1, verbose=0)
    return {"losses": np.array(history.loss_train), **dict(net.state_dict())}


def network(inputs, outputs):
    torch.manual_seed(0)
    np.random.seed(0)
    return dde.nn.FNN([inputs, 10, 10, outputs], "tanh", "Glorot normal")


@part
def poisson():
    line = dde.geometry.Interval(-1, 1)
    pde = lambda x, y: -dde.grad.hessian(y, x) - torch.exp(x) * torch.sin(np.pi * x)  # noqa: E731
    edge = dde.icbc.DirichletBC(line, lambda x: 0, lambda _, on: on)
    data = dde.data.PDE(line, pde, edge, 16, 2, train_distribution="uniform")
    return solved(data, network(1, 1))


@part
def heat():
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(0, 1), dde.geometry.TimeDomain(0, 1))
    pde = lambda x, y: dde.grad.jacobian(y, x, j=1) - 0.4 * dde.grad.hessian(y, x, j=0)  # noqa: E731
    edge = dde.icbc.DirichletBC(domain, lambda x: 0, lambda _, on: on)
    start = dde.icbc.IC(domain, lambda x: np.sin(np.pi * x[:, :1]), lambda _, on: on)
    data = dde.data.TimePDE(domain, pde, [edge, start], 20, 8, 8, train_distribution="uniform")
    return solved(data, network(2, 1))


@part
def inverse_problem():
    rate = dde.Variable(2.0)
    time = dde.geometry.TimeDomain(0, 1)
    ode = lambda t, y: dde.grad.jacobian(y, t) + rate * y  # noqa: E731
    start = dde.icbc.IC(time, lambda t: 1, lambda _, on: on)
    seen = np.linspace(0, 1, 5)[:, None]
    data = dde.data.PDE(
        time, ode, [start, dde.icbc.PointSetBC(seen, np.exp(-seen))], 8, 2, train_distribution="uniform"
    )
    return solved(data, network(1, 1), external_trainable_variables=[rate]) | {"rate": rate}


@part
def operator_network():
    x = (np.random.rand(6, 5).astype(np.float32), np.random.rand(4, 1).astype(np.float32))
    y = np.random.rand(6, 4).astype(np.float32)
    net = dde.nn.DeepONetCartesianProd([5, 8, 8], [1, 8, 8], "relu", "Glorot normal")
    return solved(dde.data.TripleCartesianProd(x, y, x, y), net)
