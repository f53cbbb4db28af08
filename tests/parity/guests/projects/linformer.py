import torch
from linformer import Linformer, LinformerLM, LinformerSelfAttention

from tests.parity.guests.parts import gradients, part, random, trained


@part
def attention():
    layer, x = LinformerSelfAttention(16, seq_len=10, k=4, heads=2, share_kv=True), random(2, 10, 16, grad=True)
    return gradients(layer(x).pow(2).mean(), layer, x)


@part
def cross_attention():
    layer, x = LinformerSelfAttention(16, seq_len=12, k=4, heads=2, one_kv_head=True), random(2, 10, 16)
    return gradients(layer(x, context=random(2, 12, 16)).pow(2).mean(), layer)


@part
def reversible():
    model = Linformer(16, seq_len=10, depth=2, heads=2, k=4, reversible=True)
    return gradients(model(random(2, 10, 16, grad=True)).pow(2).mean(), model)


@part
def language_model():
    model, x = LinformerLM(20, 16, seq_len=10, depth=1, heads=2, k=4), torch.randint(0, 20, (2, 10))
    return trained(model, lambda: model(x).logsumexp(-1).mean(), steps=3)
