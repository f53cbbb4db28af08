import normflows as nf
import torch

from tests.parity.guests.parts import gradients, part, random, trained


def flow_of(*layers, features=2):
    return nf.NormalizingFlow(nf.distributions.DiagGaussian(features), list(layers))


def fitted(model, x, steps=3):
    return trained(model, lambda: model.forward_kld(x), lambda p: torch.optim.Adam(p, lr=1e-2), steps)


@part
def real_nvp():
    layers = []
    for _ in range(3):
        layers += [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 2], init_zeros=True)), nf.flows.Permute(2, "swap")]
    model = flow_of(*layers)
    return fitted(model, nf.distributions.TwoMoons().sample(64)) | {"samples": model.sample(4)}


@part
def neural_splines():
    layers = [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8), nf.flows.LULinearPermute(2)]
    return fitted(flow_of(*layers), random(32, 2))


@part
def planar_and_radial():
    model = flow_of(nf.flows.Planar((2,), act="leaky_relu"), nf.flows.Radial((2,)), nf.flows.Planar((2,)))
    model.p = nf.distributions.TwoMoons()
    return trained(model, lambda: model.reverse_kld(32), steps=3)


@part
def residual_flow():
    net = nf.nets.LipschitzMLP([2, 16, 16, 2], init_zeros=True, lipschitz_const=0.9)
    model = flow_of(nf.flows.Residual(net, reduce_memory=False), nf.flows.ActNorm(2))
    return gradients(model.forward_kld(random(16, 2)), model)


@part
def glow():
    blocks = [nf.flows.GlowBlock(12, 8, split_mode="channel", scale=True), nf.flows.Squeeze()]
    base = nf.distributions.GlowBase((12, 4, 4), num_classes=2)
    model = nf.MultiscaleFlow([base], [blocks], [], class_cond=True)
    x, y = torch.rand(4, 3, 8, 8), torch.randint(0, 2, (4,))
    return trained(model, lambda: model.forward_kld(x, y), steps=2)


@part
def targets():
    x = random(10, 2)
    those = [nf.distributions.TwoMoons(), nf.distributions.CircularGaussianMixture(), nf.distributions.RingMixture()]
    return {type(d).__name__: d.log_prob(x) for d in those} | {"gaussians": nf.distributions.GaussianMixture(3, 2)(5)}
