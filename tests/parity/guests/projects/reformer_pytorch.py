import torch
from reformer_pytorch import LSHSelfAttention, Reformer, ReformerLM

from tests.parity.guests.parts import gradients, part, random, trained


@part
def hashed_attention():
    layer, x = LSHSelfAttention(dim=16, heads=2, bucket_size=4, n_hashes=2), random(2, 16, 16, grad=True)
    return gradients(layer(x).pow(2).mean(), layer, x)


@part
def reversible():
    model = Reformer(dim=16, depth=2, heads=2, bucket_size=4, n_hashes=2, ff_chunks=2)
    return gradients(model(random(2, 16, 16, grad=True)).pow(2).mean(), model)


@part
def language_model():
    model = ReformerLM(num_tokens=20, dim=16, depth=1, max_seq_len=16, heads=2, bucket_size=4, n_hashes=2, causal=True)
    x = torch.randint(0, 20, (2, 16))
    return trained(model, lambda: model(x).logsumexp(-1).mean(), steps=2)
