import torch
from opt_einsum import contract, contract_expression, contract_path
from opt_einsum.sharing import shared_intermediates

from tests.parity.guests.parts import gradients, part, random


@part
def chain_of_matrices():
    a, b, c = random(8, 20, grad=True), random(20, 5, grad=True), random(5, 9, grad=True)
    return gradients(contract("ij,jk,kl->il", a, b, c).pow(2).sum(), a, b, c)


@part
def many_tensors():
    x, cores = random(6, 6), [random(3, 6, 3, grad=True) for _ in range(4)]
    value = contract("ab,iaj,jbk,kal,lbi->ab", x, *cores, optimize="dp")
    return gradients(value.sum(), *cores) | {"value": value}


@part
def paths():
    tensors = [random(4, 5), random(5, 6), random(6, 7), random(7, 4)]
    path, info = contract_path("ab,bc,cd,da->", *tensors, optimize="optimal")
    return {"path": [list(pair) for pair in path], "cost": float(info.opt_cost)}


@part
def compiled_expression():
    expression = contract_expression("ij,jk,kl->il", (3, 4), random(4, 4), (4, 5), constants=[1])
    return [expression(random(3, 4), random(4, 5)) for _ in range(3)]


@part
def shared():
    x, y, z = random(5, 5), random(5, 5), random(5, 5)
    with shared_intermediates():
        return [contract("ab,bc,cd->ad", x, y, z), contract("ab,bc,cd->da", x, y, z), torch.dot(x[0], y[0])]
