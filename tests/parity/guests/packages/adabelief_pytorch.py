from adabelief_pytorch import AdaBelief
from torch import nn

from tests.parity.guests.parts import part, random, trained


def problem():
    model = nn.Sequential(nn.Linear(5, 8), nn.ELU(), nn.Linear(8, 2))
    x, y = random(16, 5), random(16, 2)
    return model, lambda: (model(x) - y).pow(2).mean()


@part
def rectified():
    return trained(*problem(), lambda p: AdaBelief(p, lr=1e-2, print_change_log=False), steps=10)


@part
def plain_with_amsgrad():
    choice = {"rectify": False, "amsgrad": True, "weight_decouple": False, "weight_decay": 1e-2}
    return trained(*problem(), lambda p: AdaBelief(p, lr=1e-2, print_change_log=False, **choice), steps=10)


@part
def degenerated_to_sgd():
    adabelief = lambda p: AdaBelief(p, lr=1e-2, degenerated_to_sgd=True, print_change_log=False)  # noqa: E731
    return trained(*problem(), adabelief, steps=3)
