import torch
from torch import nn

from tests.parity.guests.parts import part, random, trained, without_init

without_init("vit_pytorch")  # it imports torchvision for one of its models

from vit_pytorch.cct import CCT
from vit_pytorch.cross_vit import CrossViT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.simple_vit import SimpleViT
from vit_pytorch.vit import ViT

SMALL = {"image_size": 16, "patch_size": 8, "num_classes": 3, "dim": 16, "depth": 2, "heads": 2, "mlp_dim": 24}


def classified(model, channels=3, size=16):
    x, y = random(4, channels, size, size), torch.arange(4) % 3
    return trained(model, lambda: nn.functional.cross_entropy(model(x), y), steps=2)


@part
def vision_transformer():
    return classified(ViT(**SMALL, dim_head=8, dropout=0.1, emb_dropout=0.1))


@part
def simple():
    return classified(SimpleViT(**SMALL, dim_head=8))


@part
def deep():
    return classified(DeepViT(**SMALL, dim_head=8))


@part
def compact_convolutional():
    choice = {"num_layers": 2, "num_heads": 2, "mlp_ratio": 2, "n_conv_layers": 1, "kernel_size": 3}
    return classified(CCT(img_size=16, embedding_dim=16, num_classes=3, **choice))


@part
def two_scales():
    choice = {"sm_patch_size": 4, "lg_patch_size": 8, "sm_dim": 8, "lg_dim": 12, "depth": 1, "cross_attn_depth": 1}
    return classified(CrossViT(image_size=16, num_classes=3, **choice, sm_enc_heads=2, lg_enc_heads=2))
