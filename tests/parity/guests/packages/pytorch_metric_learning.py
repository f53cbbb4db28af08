import torch
from pytorch_metric_learning import distances, losses, miners, reducers, regularizers
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


def batch():
    return random(16, 6, grad=True), torch.arange(16) % 4


def each(*chosen):
    values = {}
    for loss in chosen:
        x, labels = batch()
        values[type(loss).__name__] = gradients(loss(x, labels), x)
    return values


@part
def pairs():
    return each(losses.ContrastiveLoss(), losses.NTXentLoss(), losses.SupConLoss(), losses.MultiSimilarityLoss())


@part
def triplets():
    loss = losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.AvgNonZeroReducer())
    return each(loss, losses.CircleLoss(), losses.LiftedStructureLoss(), losses.AngularLoss(), losses.NPairsLoss())


@part
def proxies():
    values = {}
    chosen = [losses.ProxyAnchorLoss, losses.ArcFaceLoss, losses.CosFaceLoss, losses.NormalizedSoftmaxLoss]
    for kind in chosen:
        loss, (x, labels) = kind(num_classes=4, embedding_size=6), batch()
        values[kind.__name__] = gradients(loss(x, labels), loss, x)
    return values


@part
def mining():
    x, labels = batch()
    chosen = [
        miners.BatchHardMiner(),
        miners.MultiSimilarityMiner(),
        miners.TripletMarginMiner(type_of_triplets="hard"),
    ]
    return {type(miner).__name__: miner(x, labels) for miner in chosen}


@part
def training():
    model, x, labels = nn.Linear(10, 4), random(24, 10), torch.arange(24) % 3
    miner = miners.PairMarginMiner()
    loss = losses.ContrastiveLoss(embedding_regularizer=regularizers.LpRegularizer())

    def value():
        embedded = model(x)
        return loss(embedded, labels, miner(embedded, labels))

    return trained(model, value, steps=4)


@part
def memory():
    loss, (x, labels) = losses.CrossBatchMemory(losses.NTXentLoss(), 6, memory_size=32), batch()
    values = [loss(x * scale, labels) for scale in (1.0, 0.5, 2.0)]
    return {"values": values, "memory": loss.embedding_memory}
