import torch
from pytorch_tabnet.multiclass_utils import infer_output_dim
from pytorch_tabnet.sparsemax import entmax15, sparsemax
from pytorch_tabnet.tab_network import TabNet, TabNetPretraining
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained

SMALL = {"n_d": 4, "n_a": 4, "n_steps": 2, "virtual_batch_size": 8}


def groups(inputs):
    return torch.eye(inputs)


@part
def classifier():
    model, x = TabNet(6, 3, **SMALL, group_attention_matrix=groups(6)), random(16, 6)
    y = torch.arange(16) % 3

    def loss():
        logits, sparsity = model(x)
        return nn.functional.cross_entropy(logits, y) - 1e-3 * sparsity

    return trained(model, loss, steps=3)


@part
def with_categories():
    choice = {"cat_idxs": [0, 2], "cat_dims": [5, 3], "cat_emb_dim": [2, 2], "mask_type": "entmax"}
    model, x = TabNet(6, 1, **SMALL, **choice, group_attention_matrix=groups(6)), random(16, 6)
    x[:, 0], x[:, 2] = torch.randint(0, 5, (16,)).float(), torch.randint(0, 3, (16,)).float()
    return gradients(model(x)[0].pow(2).mean(), model)


@part
def masks():
    x, y = random(4, 6, grad=True), random(4, 6, grad=True)
    values = {"sparsemax": sparsemax(x, -1), "entmax": entmax15(y, -1)}
    return (
        gradients(sum(v.pow(2).sum() for v in values.values()), x, y)
        | values
        | {"classes": infer_output_dim([0, 1])[0]}
    )


@part
def pretraining():
    model = TabNetPretraining(6, **SMALL, group_attention_matrix=groups(6))
    rebuilt, embedded, hidden = model(random(16, 6))
    return gradients(((rebuilt - embedded) * hidden).pow(2).mean(), model) | {"hidden": hidden}
