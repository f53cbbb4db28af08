import torch
from nflows import distributions, flows, transforms
from nflows.nn import nets
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


def there_and_back(transform, x):
    y, logabsdet = transform(x)
    back, _ = transform.inverse(y)
    return gradients(y.sin().sum() + logabsdet.sum(), x) | {"y": y, "logabsdet": logabsdet, "back": back}


@part
def masked_autoregressive_flow():
    transform = transforms.CompositeTransform(
        [
            transforms.RandomPermutation(features=4),
            transforms.MaskedAffineAutoregressiveTransform(features=4, hidden_features=12),
            transforms.ReversePermutation(features=4),
            transforms.MaskedAffineAutoregressiveTransform(features=4, hidden_features=12),
        ]
    )
    flow, x = flows.Flow(transform, distributions.StandardNormal([4])), random(32, 4)
    trace = trained(flow, lambda: -flow.log_prob(x).mean(), lambda p: torch.optim.Adam(p, lr=1e-2), steps=3)
    return trace | {"samples": flow.sample(5)}


@part
def spline_coupling():
    net = lambda i, o: nets.ResidualNet(i, o, hidden_features=8, num_blocks=1)  # noqa: E731
    mask = torch.tensor([1, 0, 1, 0])
    coupling = transforms.PiecewiseRationalQuadraticCouplingTransform(
        mask, net, num_bins=5, tails="linear", tail_bound=3.0
    )
    return there_and_back(coupling, random(6, 4, grad=True))


@part
def affine_coupling():
    net = lambda i, o: nets.ResidualNet(i, o, hidden_features=8, activation=nn.functional.elu)  # noqa: E731
    return there_and_back(transforms.AffineCouplingTransform(torch.tensor([0, 1, 0, 1]), net), random(6, 4, grad=True))


@part
def linear_maps():
    torch.set_default_dtype(torch.float64)
    maps = [transforms.LULinear(4), transforms.QRLinear(4, 4), transforms.SVDLinear(4, 4)]
    return [there_and_back(linear, random(5, 4, grad=True)) for linear in maps]


@part
def glow_step():
    step = transforms.CompositeTransform(
        [transforms.SqueezeTransform(), transforms.ActNorm(12), transforms.OneByOneConvolution(12)]
    )
    x = random(2, 3, 4, 4, grad=True)
    step(x)
    return there_and_back(step.eval(), x)


@part
def conditional():
    base = distributions.ConditionalDiagonalNormal([3], context_encoder=nn.Linear(2, 6))
    transform = transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
        features=3, hidden_features=8, context_features=2, tails="linear", num_bins=4
    )
    flow, x, context = flows.Flow(transform, base), random(16, 3), random(16, 2)
    return trained(flow, lambda: -flow.log_prob(x, context=context).mean()) | {"s": flow.sample(2, context=context[:3])}
