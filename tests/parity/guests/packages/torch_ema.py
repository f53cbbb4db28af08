from torch import nn
from torch_ema import ExponentialMovingAverage

from tests.parity.guests.parts import part, random, state, trained


def averaged(**choice):
    model, x, y = nn.Linear(4, 2), random(10, 4), random(10, 2)
    ema = ExponentialMovingAverage(model.parameters(), **choice)

    def loss():
        ema.update()
        return (model(x) - y).pow(2).mean()

    trained(model, loss, steps=6)
    return model, ema, x, y


@part
def averages():
    _, ema, _, _ = averaged(decay=0.9)
    return {"shadow": ema.shadow_params, "updates": ema.num_updates}


@part
def validation():
    model, ema, x, y = averaged(decay=0.99, use_num_updates=False)
    with ema.average_parameters():
        inside = (model(x) - y).pow(2).mean()
    return {"inside": inside, "outside": (model(x) - y).pow(2).mean()}


@part
def saved():
    model, ema, _, _ = averaged(decay=0.5)
    other = ExponentialMovingAverage(model.parameters(), decay=0.1)
    other.load_state_dict(ema.state_dict())
    other.copy_to()
    return state(model)
