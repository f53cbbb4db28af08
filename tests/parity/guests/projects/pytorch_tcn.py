from pytorch_tcn import TCN, TemporalConv1d, TemporalConvTranspose1d

from tests.parity.guests.parts import gradients, part, random, trained


@part
def causal():
    model, x = TCN(3, [8, 8], kernel_size=3, dropout=0.0), random(4, 3, 20)
    return trained(model, lambda: (model(x)[..., -1] - 1).pow(2).mean(), steps=3)


@part
def gated_with_norms():
    choices = [{"use_norm": "layer_norm", "use_gate": True}, {"use_norm": "batch_norm", "causal": False}]
    models = [TCN(3, [6, 6], kernel_size=3, use_skip_connections=True, output_projection=2, **c) for c in choices]
    return [gradients(model(random(4, 3, 16)).pow(2).mean(), model) for model in models]


@part
def streaming():
    model = TCN(2, [4, 4], kernel_size=3, dropout=0.0).eval()
    model.reset_buffers()
    return [model(random(1, 2, 3), inference=True) for _ in range(4)]


@part
def convolutions():
    layers = [TemporalConv1d(2, 4, 3, dilation=2, causal=True), TemporalConvTranspose1d(2, 4, 4, stride=2)]
    return [gradients(layer(random(2, 2, 10)).sin().sum(), layer) for layer in layers]
