import torch
from perceiver_pytorch import Perceiver, PerceiverIO

from tests.parity.guests.parts import gradients, part, random, trained

LATENTS = {"num_latents": 6, "latent_dim": 12, "latent_heads": 2, "cross_dim_head": 8, "latent_dim_head": 8}


@part
def images():
    model = Perceiver(num_freq_bands=3, max_freq=8.0, depth=2, num_classes=4, **LATENTS)
    x = random(2, 8, 8, 3)
    return trained(model, lambda: model(x).logsumexp(-1).mean(), steps=2)


@part
def tied_weights():
    model = Perceiver(num_freq_bands=2, max_freq=4.0, depth=3, input_axis=1, weight_tie_layers=True, **LATENTS)
    mask = torch.arange(10).expand(2, 10) < 7
    return gradients(model(random(2, 10, 3), mask=mask)[:, :5].pow(2).mean(), model)


@part
def any_output():
    model = PerceiverIO(depth=2, dim=5, queries_dim=7, logits_dim=3, decoder_ff=True, **LATENTS)
    return gradients(model(random(2, 10, 5), queries=random(4, 7)).pow(2).mean(), model)
