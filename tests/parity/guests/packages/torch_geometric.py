import torch
from torch import nn
from torch_geometric import nn as gnn, utils
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from tests.parity.guests.parts import gradients, part, random, trained

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4, 4, 5, 2, 0], [1, 0, 2, 1, 4, 3, 5, 4, 0, 2]])


def convolved(*layers):
    values = []
    for layer in layers:
        x = random(6, 4, grad=True)
        y = layer(x, EDGES)
        values.append(gradients((y * random(*y.shape)).sum(), layer, x) | {"y": y})
    return values


@part
def convolutions():
    return convolved(
        gnn.GCNConv(4, 5), gnn.SAGEConv(4, 5), gnn.GraphConv(4, 5), gnn.ChebConv(4, 5, 3), gnn.SGConv(4, 5, 2)
    )


@part
def attention():
    return convolved(gnn.GATConv(4, 3, heads=2), gnn.GATv2Conv(4, 3, heads=2), gnn.TransformerConv(4, 3, heads=2))


@part
def message_passing():
    return convolved(gnn.GINConv(nn.Linear(4, 4)), gnn.EdgeConv(nn.Linear(8, 4)), gnn.TAGConv(4, 3), gnn.GENConv(4, 4))


@part
def structure():
    values = {"laplacian": utils.get_laplacian(EDGES, normalization="sym"), "dense": utils.to_dense_adj(EDGES)}
    values |= {
        "degree": utils.degree(EDGES[0]),
        "loops": utils.add_self_loops(EDGES)[0],
        "undirected": utils.is_undirected(EDGES),
    }
    values |= {"subgraph": utils.subgraph([0, 1, 2], EDGES, relabel_nodes=True)[0]}
    return values | {
        "scattered": utils.scatter(random(10, 3), EDGES[0], reduce="max"),
        "soft": utils.softmax(random(10), EDGES[1]),
    }


def graphs():
    return [Data(x=random(n, 4), edge_index=EDGES[:, :4], y=torch.tensor([n % 2])) for n in (3, 5, 4, 6)]


@part
def batches():
    batch = Batch.from_data_list(graphs())
    pooled = [pool(batch.x, batch.batch) for pool in (gnn.global_mean_pool, gnn.global_max_pool, gnn.global_add_pool)]
    shuffled = [b.y for b in DataLoader(graphs(), batch_size=2, shuffle=True)]
    return {"edges": batch.edge_index, "batch": batch.batch, "ptr": batch.ptr, "pooled": pooled, "shuffled": shuffled}


@part
def node_classification():
    model, x, y = gnn.GCN(4, 8, 2, 3), random(6, 4), torch.arange(6) % 3
    return trained(model, lambda: nn.functional.cross_entropy(model(x, EDGES), y), steps=4)


@part
def graph_classification():
    model, head, batch = gnn.GIN(4, 8, 2), nn.Linear(8, 2), Batch.from_data_list(graphs())
    both = nn.ModuleList([model, head])
    logits = lambda: head(gnn.global_add_pool(model(batch.x, batch.edge_index), batch.batch))  # noqa: E731
    return trained(both, lambda: nn.functional.cross_entropy(logits(), batch.y), steps=3)


@part
def normalization():
    x, batch = random(6, 4, grad=True), torch.tensor([0, 0, 0, 1, 1, 1])
    norms = [gnn.GraphNorm(4), gnn.LayerNorm(4), gnn.PairNorm(), gnn.InstanceNorm(4), gnn.BatchNorm(4)]
    values = [norm(x) if isinstance(norm, gnn.BatchNorm) else norm(x, batch) for norm in norms]
    return gradients(sum(value.pow(3).sum() for value in values), x) | {"values": values}
