from madgrad import MADGRAD, MirrorMADGRAD
from torch import nn

from tests.parity.guests.parts import part, random, trained


def problem():
    model = nn.Sequential(nn.Linear(5, 8), nn.Softplus(), nn.Linear(8, 2))
    x, y = random(16, 5), random(16, 2)
    return model, lambda: (model(x) - y).pow(2).mean()


@part
def madgrad():
    return trained(*problem(), lambda p: MADGRAD(p, lr=1e-2), steps=8)


@part
def with_weight_decay():
    return trained(*problem(), lambda p: MADGRAD(p, lr=1e-2, momentum=0.5, weight_decay=1e-2), steps=8)


@part
def mirror():
    return trained(*problem(), lambda p: MirrorMADGRAD(p, lr=1e-2, weight_decay=1e-2), steps=8)
