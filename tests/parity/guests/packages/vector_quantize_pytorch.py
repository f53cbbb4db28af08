from torch import nn
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

from tests.parity.guests.parts import gradients, part, random, trained


@part
def codebook():
    quantize, x = VectorQuantize(dim=8, codebook_size=16, decay=0.8), random(2, 20, 8, grad=True)
    y, indices, loss = quantize(x)
    return gradients(loss.sum() + y.pow(2).sum(), x) | {"indices": indices, "embed": quantize.codebook}


@part
def cosine_similarity():
    quantize, x = VectorQuantize(dim=8, codebook_size=16, use_cosine_sim=True, kmeans_init=True), random(2, 20, 8)
    return [quantize(x) for _ in range(2)]


@part
def residual():
    quantize, x = ResidualVQ(dim=8, num_quantizers=3, codebook_size=8), random(2, 10, 8, grad=True)
    y, indices, loss = quantize(x)
    return gradients(loss.sum() + y.sum(), x) | {"indices": indices, "back": quantize.get_output_from_indices(indices)}


@part
def finite_scalars():
    quantize, x = FSQ([8, 5, 5], dim=6), random(2, 10, 6, grad=True)
    y, indices = quantize(x)
    return gradients(y.pow(2).sum(), quantize, x) | {"indices": indices}


@part
def lookup_free():
    quantize, x = (
        LFQ(codebook_size=32, dim=8, entropy_loss_weight=0.1, diversity_gamma=1.0),
        random(2, 10, 8, grad=True),
    )
    y, indices, loss = quantize(x)
    return gradients(loss + y.sum(), x) | {"indices": indices}


@part
def autoencoder():
    model = nn.ModuleDict({"in": nn.Linear(6, 8), "vq": VectorQuantize(dim=8, codebook_size=8), "out": nn.Linear(8, 6)})
    x = random(4, 12, 6)

    def loss():
        y, _, commit = model["vq"](model["in"](x))
        return (model["out"](y) - x).pow(2).mean() + commit.sum()

    return trained(model, loss, steps=3)
