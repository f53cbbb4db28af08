import torch
from egnn_pytorch import EGNN, EGNN_Network

from tests.parity.guests.parts import gradients, part, random, trained


@part
def layer():
    model, features, places = EGNN(dim=8, edge_dim=3), random(2, 6, 8, grad=True), random(2, 6, 3, grad=True)
    out, moved = model(features, places, random(2, 6, 6, 3))
    return gradients(out.pow(2).mean() + moved.sin().sum(), model, features, places)


@part
def equivariance():
    torch.set_default_dtype(torch.float64)
    model, features, places = EGNN(dim=8, fourier_features=2, norm_coors=True), random(1, 5, 8), random(1, 5, 3)
    turn, _ = torch.linalg.qr(random(3, 3))
    (a, x), (b, y) = model(features, places), model(features, places @ turn)
    return {"features": [a, b], "places": [x @ turn, y]}


@part
def nearest_neighbours():
    model, mask = EGNN(dim=8, num_nearest_neighbors=3, norm_feats=True, m_pool_method="mean"), torch.ones(2, 6).bool()
    out, moved = model(random(2, 6, 8), random(2, 6, 3), mask=mask)
    return gradients(out.pow(2).mean() + moved.pow(2).mean(), model)


@part
def network():
    model = EGNN_Network(
        num_tokens=5, num_positions=6, dim=8, depth=2, num_nearest_neighbors=3, coor_weights_clamp_value=2.0
    )
    tokens, places, mask = torch.randint(0, 5, (2, 6)), random(2, 6, 3), torch.ones(2, 6).bool()
    return trained(model, lambda: sum(x.pow(2).mean() for x in model(tokens, places, mask=mask)), steps=2)
