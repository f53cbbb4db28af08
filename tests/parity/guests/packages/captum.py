import torch
from captum import attr
from torch import nn

from tests.parity.guests.parts import part, random


def network():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)).eval()


def explained(*methods, **choice):
    model, x = network(), random(4, 5)
    return {m.__name__: m(model).attribute(x.clone().requires_grad_(), target=1, **choice) for m in methods}


@part
def by_gradients():
    return explained(
        attr.Saliency, attr.InputXGradient, attr.IntegratedGradients, attr.GuidedBackprop, attr.Deconvolution
    )


@part
def by_propagation():
    return explained(attr.DeepLift, baselines=torch.zeros(4, 5))


@part
def layerwise_relevance():
    return explained(attr.LRP)


@part
def by_perturbation():
    model, x = network(), random(4, 5)
    shapley = attr.ShapleyValueSampling(model).attribute(x, target=0, n_samples=4)
    return explained(attr.FeatureAblation, attr.FeaturePermutation) | {"shapley": shapley}


@part
def with_noise():
    model, x = network(), random(4, 5)
    tunnel = attr.NoiseTunnel(attr.Saliency(model)).attribute(x, nt_samples=5, stdevs=0.1, target=0)
    shap = attr.GradientShap(model).attribute(x, random(6, 5), n_samples=4, target=0)
    return {"tunnel": tunnel, "shap": shap}


@part
def layers():
    model, x = network(), random(4, 5)
    activation = attr.LayerActivation(model, model[1]).attribute(x)
    conductance = attr.LayerConductance(model, model[2]).attribute(x, target=0, n_steps=10)
    return {"activation": activation, "conductance": conductance}


@part
def images():
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 2)).eval()
    x = random(2, 1, 8, 8)
    cam = attr.LayerGradCam(model, model[0]).attribute(x, target=1)
    occluded = attr.Occlusion(model).attribute(x, (1, 3, 3), target=1, strides=2)
    return {"cam": cam, "upsampled": attr.LayerAttribution.interpolate(cam, (8, 8)), "occluded": occluded}
