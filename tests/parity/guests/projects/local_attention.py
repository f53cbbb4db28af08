import torch
from local_attention import LocalAttention, LocalMHA, LocalTransformer

from tests.parity.guests.parts import gradients, part, random, trained


@part
def windows():
    q, k, v = (random(2, 2, 16, 8, grad=True) for _ in range(3))
    attend = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1, look_forward=0, exact_windowsize=True)
    return gradients(attend(q, k, v).pow(2).sum(), q, k, v)


@part
def both_directions():
    q, k, v = (random(2, 2, 13, 8, grad=True) for _ in range(3))
    attend = LocalAttention(dim=8, window_size=4, autopad=True)
    return gradients(attend(q, k, v, mask=torch.ones(2, 13).bool()).pow(2).sum(), q, k, v)


@part
def heads():
    layer = LocalMHA(
        dim=12, window_size=4, dim_head=8, heads=2, causal=True, prenorm=True, use_xpos=True, xpos_scale_base=4
    )
    return gradients(layer(random(2, 16, 12)).pow(2).mean(), layer)


@part
def language_model():
    model = LocalTransformer(
        num_tokens=20, dim=16, depth=1, max_seq_len=16, local_attn_window_size=4, dim_head=8, heads=2, causal=True
    )
    x = torch.randint(0, 20, (2, 17))
    return trained(model, lambda: model(x, return_loss=True), steps=2)
