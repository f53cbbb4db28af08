import torch
from torch import nn
from torchinfo import summary

from tests.parity.guests.parts import part, random


def network():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))


def counted(model, **choice):
    said = summary(model, verbose=0, **choice)
    return {"text": str(said), "parameters": said.total_params, "mult_adds": said.total_mult_adds}


@part
def table():
    return counted(network(), input_size=(2, 1, 8, 8))


@part
def columns():
    names = ["input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable", "params_percent"]
    return counted(network(), input_size=(2, 1, 8, 8), col_names=names, row_settings=["var_names", "depth"])


@part
def recurrent():
    return counted(nn.LSTM(3, 5, num_layers=2), input_data=random(4, 2, 3), depth=2)


@part
def transformer():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False)
    return counted(model.train(), input_size=(2, 5, 8), mode="train", dtypes=[torch.float32])
