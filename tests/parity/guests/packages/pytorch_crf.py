import torch
from torch import nn
from torchcrf import CRF

from tests.parity.guests.parts import gradients, part, random, trained

LENGTHS = torch.tensor([6, 4, 3])


def batch():
    emissions, tags = random(6, 3, 5, grad=True), torch.randint(0, 5, (6, 3))
    return emissions, tags, torch.arange(6)[:, None] < LENGTHS


@part
def likelihood():
    crf = CRF(5)
    emissions, tags, mask = batch()
    return gradients(-crf(emissions, tags, mask=mask), crf, emissions)


@part
def reductions():
    crf = CRF(5, batch_first=True)
    emissions, tags, mask = (x.transpose(0, 1) for x in batch())
    return {how: crf(emissions, tags, mask, reduction=how) for how in ("none", "sum", "mean", "token_mean")}


@part
def decoding():
    crf = CRF(5)
    emissions, _, mask = batch()
    return crf.decode(emissions, mask=mask)


@part
def tagger():
    words, tags = torch.randint(0, 20, (6, 3)), torch.randint(0, 5, (6, 3))
    model = nn.ModuleDict({"embed": nn.Embedding(20, 8), "lstm": nn.LSTM(8, 8), "out": nn.Linear(8, 5), "crf": CRF(5)})
    scores = lambda: model["out"](model["lstm"](model["embed"](words))[0])  # noqa: E731
    result = trained(model, lambda: -model["crf"](scores(), tags, reduction="mean"), steps=4)
    return result | {"decoded": model["crf"].decode(scores())}
