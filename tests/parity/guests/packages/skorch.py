import numpy as np
import torch
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, LRScheduler
from torch import nn

from tests.parity.guests.parts import part, state


class Network(nn.Module):
    def __init__(self, outputs=2, hidden=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, outputs))

    def forward(self, x):
        return self.layers(x)


def data():
    x = np.random.randn(60, 5).astype(np.float32)
    return x, (x[:, 0] > 0).astype(np.int64)


@part
def classifier():
    x, y = data()
    net = NeuralNetClassifier(Network, criterion=nn.CrossEntropyLoss, max_epochs=3, lr=0.1, verbose=0).fit(x, y)
    return {
        "losses": net.history[:, "train_loss"],
        "p": net.predict_proba(x),
        "y": net.predict(x),
        **state(net.module_),
    }


@part
def regressor():
    x, _ = data()
    choice = {
        "module__outputs": 1,
        "module__hidden": 12,
        "optimizer": torch.optim.Adam,
        "iterator_train__shuffle": True,
    }
    net = NeuralNetRegressor(Network, max_epochs=3, lr=0.01, verbose=0, **choice).fit(x, x[:, :1] * 2)
    return {"losses": net.history[:, "valid_loss"], "y": net.predict(x)}


@part
def callbacks():
    x, y = data()
    stop, schedule = EarlyStopping(patience=2), LRScheduler("StepLR", step_size=1, gamma=0.5)
    net = NeuralNetClassifier(
        Network, criterion=nn.CrossEntropyLoss, max_epochs=6, lr=0.5, verbose=0, callbacks=[stop, schedule]
    ).fit(x, y)
    return {"epochs": len(net.history), "losses": net.history[:, "valid_loss"], "rates": net.history[:, "event_lr"]}


@part
def grid_search():
    from sklearn.model_selection import GridSearchCV

    x, y = data()
    net = NeuralNetClassifier(Network, criterion=nn.CrossEntropyLoss, max_epochs=2, verbose=0, train_split=None)
    search = GridSearchCV(net, {"lr": [0.01, 0.1], "module__hidden": [4]}, cv=2, refit=False).fit(x, y)
    return search.cv_results_["mean_test_score"]
