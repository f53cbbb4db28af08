import torch
from pytorch_optimizer import SAM, create_optimizer, load_lr_scheduler, load_optimizer
from torch import nn

from tests.parity.guests.parts import part, random, state, trained


def problem():
    model = nn.Sequential(nn.Linear(5, 8), nn.ELU(), nn.Linear(8, 2))
    x, y = random(16, 5), random(16, 2)
    return model, lambda: (model(x) - y).pow(2).mean()


def by(*names, steps=5):
    return {name: trained(*problem(), lambda p, n=name: load_optimizer(n)(p, lr=1e-2), steps) for name in names}


@part
def adaptive_moments():
    return by("adabelief", "adamp", "adan", "adanorm", "adapnm", "diffgrad", "radam", "yogi", "novograd", "stableadamw")


@part
def signs_and_momenta():
    return by("lion", "tiger", "signsgd", "pnm", "qhm", "aggmo", "sgdp", "asgd", "accsgd", "lars")


@part
def without_a_rate():
    return by("prodigy", "dadaptadam", "dadaptsgd", "dadaptlion")


@part
def second_order():
    torch.set_default_dtype(torch.float64)
    return by("shampoo", "scalableshampoo", steps=3)


@part
def sharpness_aware():
    model, loss = problem()
    optimizer = SAM(model.parameters(), load_optimizer("lion"), rho=0.05, lr=1e-2)
    for _ in range(3):
        loss().backward()
        optimizer.first_step(zero_grad=True)
        loss().backward()
        optimizer.second_step(zero_grad=True)
    return state(model)


@part
def lookahead():
    model, loss = problem()
    made = create_optimizer(model, "adamw", lr=1e-2, weight_decay=1e-3, use_lookahead=True)
    return trained(model, loss, lambda p: made, 7)


@part
def schedules():
    model, _ = problem()
    rates = {}
    choices = {"cosine_annealing": {"T_max": 5}, "one_cycle": {"max_lr": 0.1, "total_steps": 8}}
    choices |= {"rex": {"total_steps": 8}, "poly": {"t_max": 8, "max_lr": 0.1}}
    for name, choice in choices.items():
        optimizer = load_optimizer("sgd")(model.parameters(), lr=0.1)
        schedule = load_lr_scheduler(name)(optimizer, **choice)
        rates[name] = []
        for _ in range(6):
            optimizer.step()
            schedule.step()
            rates[name].append(optimizer.param_groups[0]["lr"])
    return rates
