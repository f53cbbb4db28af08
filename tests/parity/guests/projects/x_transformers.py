import torch
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    XTransformer,
)

from tests.parity.guests.parts import gradients, part, random, trained


def decoder(**choice):
    layers = Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **choice)
    return AutoregressiveWrapper(TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=layers))


def words(length=10):
    return torch.randint(0, 20, (2, length))


@part
def language_model():
    model, x = decoder(), words()
    return trained(model, lambda: model(x), steps=3)


@part
def rotary_and_gated():
    model, x = decoder(rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True, attn_one_kv_head=True), words()
    return gradients(model(x), model)


@part
def biased_positions():
    models = [decoder(alibi_pos_bias=True), decoder(rel_pos_bias=True), decoder(dynamic_pos_bias=True)]
    return [gradients(model(words()), model) for model in models]


@part
def generation():
    return decoder(rotary_pos_emb=True).eval().generate(words(3), 6, temperature=1.0, cache_kv=True)


@part
def encoder_and_decoder():
    side = {"num_tokens": 20, "depth": 1, "heads": 2, "max_seq_len": 12}
    model = XTransformer(dim=16, **{f"{s}_{k}": v for s in ("enc", "dec") for k, v in side.items()})
    source, target = words(8), words(6)
    return gradients(model(source, target, mask=torch.ones(2, 8).bool()), model)


@part
def continuous():
    layers = Encoder(dim=16, depth=1, heads=2, attn_dim_head=8)
    model = ContinuousTransformerWrapper(dim_in=5, dim_out=3, max_seq_len=9, attn_layers=layers)
    return gradients(model(random(2, 9, 5)).pow(2).mean(), model)
