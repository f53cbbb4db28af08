import torch
from nbeats_pytorch.model import NBeatsNet

from tests.parity.guests.parts import gradients, part, random


def network(*stacks, **choice):
    thetas = tuple(4 for _ in stacks)
    sizes = {"forecast_length": 3, "backcast_length": 8, "hidden_layer_units": 12, "nb_blocks_per_stack": 2}
    return NBeatsNet(stack_types=stacks, thetas_dim=thetas, **sizes, **choice)


@part
def forecasting():
    model, x, y = network(NBeatsNet.GENERIC_BLOCK, NBeatsNet.GENERIC_BLOCK), random(10, 8, grad=True), random(10, 3)
    return gradients((model(x)[1] - y).abs().mean(), x, *list(torch.nn.Module.parameters(model)))


@part
def trend_and_seasonality():
    model = network(NBeatsNet.TREND_BLOCK, NBeatsNet.SEASONALITY_BLOCK, share_weights_in_stack=True)
    x = random(10, 8, grad=True)
    backcast, forecast = model(x)
    return gradients(forecast.pow(2).mean() + backcast.pow(2).mean(), x) | {"forecast": forecast}


@part
def stepped():
    model, x = network(NBeatsNet.TREND_BLOCK, NBeatsNet.GENERIC_BLOCK), random(16, 8)
    optimizer = torch.optim.SGD(list(torch.nn.Module.parameters(model)), lr=1e-2)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        losses.append((model(x)[1] - x[:, :3]).abs().mean())
        losses[-1].backward()
        optimizer.step()
    return {"losses": losses, **model.state_dict()}
