import torch
from efficientnet_pytorch import EfficientNet
from efficientnet_pytorch.utils import BlockArgs, GlobalParams
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


def network(**choice):
    block = {"kernel_size": 3, "expand_ratio": 2, "id_skip": True, "se_ratio": 0.25}
    blocks = [
        BlockArgs(num_repeat=1, stride=[1], input_filters=32, output_filters=8, **block),
        BlockArgs(num_repeat=2, stride=[2], input_filters=8, output_filters=12, **block),
    ]
    rest = {"batch_norm_momentum": 0.99, "batch_norm_epsilon": 1e-3, "depth_divisor": 4, "min_depth": None}
    rest |= {"dropout_rate": 0.2, "drop_connect_rate": 0.2, "include_top": True} | choice
    scale = {"width_coefficient": 1.0, "depth_coefficient": 1.0, "image_size": 16, "num_classes": 3}
    return EfficientNet(blocks, GlobalParams(**scale, **rest))


@part
def training():
    model, x, y = network(), random(4, 3, 16, 16), torch.arange(4) % 3
    return trained(model, lambda: nn.functional.cross_entropy(model(x), y), steps=2)


@part
def features():
    model = network(drop_connect_rate=0.0).eval()
    return {**model.extract_endpoints(random(2, 3, 16, 16)), "features": model.extract_features(random(2, 3, 16, 16))}


@part
def plain_swish():
    model = network()
    model.set_swish(memory_efficient=False)
    return gradients(model(random(2, 3, 16, 16)).pow(2).mean(), model)


@part
def b0():
    model = EfficientNet.from_name("efficientnet-b0", num_classes=5).eval()
    return model(random(1, 3, 64, 64))
