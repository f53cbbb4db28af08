import torch
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


@part
def rearrangements():
    x = random(2, 3, 8, 6, grad=True)
    patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=2)
    strips = repeat(x, "b c h w -> b c (h repeat) w", repeat=2)
    return gradients((patches.sin().sum() + (strips**2).mean()), x) | {"patches": patches, "strips": strips}


@part
def reductions():
    x = random(4, 3, 6, 6, grad=True)
    values = {kind: reduce(x, "b c (h 2) (w 3) -> b h w c", kind) for kind in ("mean", "max", "min", "sum", "prod")}
    return gradients(sum(value.pow(2).sum() for value in values.values()), x) | values


@part
def attention_by_einsum():
    q, k, v = (random(2, 4, 5, 3, grad=True) for _ in range(3))
    weights = einsum(q, k, "b h i d, b h j d -> b h i j").softmax(dim=-1)
    out = rearrange(einsum(weights, v, "b h i j, b h j d -> b h i d"), "b h i d -> b i (h d)")
    return gradients((out * random(2, 5, 12)).sum(), q, k, v) | {"out": out}


@part
def packing():
    parts = [random(2, 3), random(2, 4, 3), random(2, 2, 5, 3)]
    packed, shapes = pack(parts, "b * c")
    return {"packed": packed, "back": unpack(packed * 2, shapes, "b * c"), "axes": parse_shape(packed, "b n _")}


@part
def mixer_of_layers():
    model = nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
        EinMix("b n c -> b n d", weight_shape="c d", bias_shape="d", c=48, d=16),
        nn.GELU(),
        EinMix("b n d -> b m d", weight_shape="n m d", n=4, m=4, d=16),
        Reduce("b n d -> b d", "mean"),
        nn.Linear(16, 3),
    )
    x, y = random(8, 3, 8, 8), torch.randint(0, 3, (8,))
    return trained(model, lambda: nn.functional.cross_entropy(model(x), y))
