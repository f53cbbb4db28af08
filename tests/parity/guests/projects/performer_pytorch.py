import torch
from performer_pytorch import Performer, PerformerLM, SelfAttention

from tests.parity.guests.parts import gradients, part, random, trained


@part
def attention():
    layer, x = SelfAttention(dim=16, heads=2, dim_head=8, nb_features=12), random(2, 10, 16, grad=True)
    return gradients(layer(x).pow(2).mean(), layer, x) | {"projection": layer.fast_attention.projection_matrix}


@part
def generalized():
    model = Performer(dim=16, depth=2, heads=2, dim_head=8, generalized_attention=True, use_scalenorm=True)
    return gradients(model(random(2, 10, 16)).pow(2).mean(), model)


@part
def reversible():
    model = Performer(dim=16, depth=2, heads=2, dim_head=8, reversible=True, nb_features=12)
    return gradients(model(random(2, 10, 16, grad=True)).pow(2).mean(), model)


@part
def language_model():
    model = PerformerLM(num_tokens=20, max_seq_len=12, dim=16, depth=1, heads=2, dim_head=8, nb_features=12)
    x = torch.randint(0, 20, (2, 12))
    return trained(model, lambda: model(x).transpose(1, 2).logsumexp(1).mean(), steps=3)
