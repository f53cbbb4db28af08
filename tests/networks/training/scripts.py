"""Four training scripts in PyTorch's language; ``torch`` is PyTorch or its replacement."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TEXT = (
    "the quick brown fox jumps over the lazy dog and the dog sleeps on while the fox runs home through the wood; "
    "when the sun goes down the dog wakes and barks at the moon until the fox comes back to ask for some quiet. "
)


@dataclass
class Training:
    """A model, its optimizer, the batches, a step that returns the loss, and perhaps a scheduler."""

    model: Any
    optimizer: Any
    batches: Any
    step: Callable[[], float]
    scheduler: Any = None
    losses: list[float] = field(default_factory=list)

    def run(self, steps: int) -> list[float]:
        """The losses of some steps."""
        found = [self.step() for _ in range(steps)]
        self.losses += found
        return found

    def parts(self) -> list[Any]:
        """Return the parts whose states are saved."""
        return [part for part in (self.model, self.optimizer, self.scheduler) if part is not None]


def forever(loader: Any) -> Any:
    """Batches without end, in a new order each time around."""
    while True:
        yield from loader


def mlp(torch: Any) -> Training:
    """A classifier of points on two spirals."""
    nn, data = torch.nn, torch.utils.data
    torch.manual_seed(0)
    turn = torch.rand(256) * 1.5 * math.pi
    side = torch.randint(0, 2, (256,))
    sign = side * 2.0 - 1
    points = torch.stack([turn.cos() * turn * sign, turn.sin() * turn * sign], 1) / 3 + 0.02 * torch.randn(256, 2)
    train, _ = data.random_split(data.TensorDataset(points, side), [0.9, 0.1])
    batches = forever(data.DataLoader(train, batch_size=32, shuffle=True))
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 40, 0.5)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

    def step() -> float:
        x, y = next(batches)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    return Training(model, optimizer, batches, step, scheduler)


def cnn(torch: Any) -> Training:
    """A small convolutional network that distinguishes pictures of bars from pictures of crosses and dots."""
    nn, functional, data = torch.nn, torch.nn.functional, torch.utils.data
    torch.manual_seed(1)

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(1, 8, 3, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(8)
            self.second = nn.Conv2d(8, 16, 3, stride=2, padding=1)
            self.pool = nn.MaxPool2d(2)
            self.head = nn.Linear(16 * 3 * 3, 3)

        def forward(self, x: Any) -> Any:
            x = self.pool(functional.relu(self.norm(self.first(x))))
            x = functional.gelu(self.second(x))
            return self.head(torch.flatten(x, 1))

    label = torch.randint(0, 3, (96,))
    image = torch.randn(96, 1, 12, 12) * 0.3
    for i in range(96):
        row = int(torch.randint(2, 10, (1,)))
        if label[i] < 2:
            image[i, 0, row] += 1
        if label[i] == 1:
            image[i, 0, :, row] += 1
    batches = forever(data.DataLoader(data.TensorDataset(image, label), batch_size=16, shuffle=True, drop_last=True))
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step() -> float:
        x, y = next(batches)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return Training(model, optimizer, batches, step)


def windows(torch: Any, length: int) -> tuple[Any, int]:
    """Pairs of pieces of the text, the second one character on, and the number of characters."""
    known = sorted(set(TEXT))
    codes = torch.tensor([known.index(c) for c in TEXT])
    pieces = codes.unfold(0, length + 1, 3)
    return torch.utils.data.TensorDataset(pieces[:, :-1], pieces[:, 1:]), len(known)


def char_rnn(torch: Any) -> Training:
    """An LSTM that learns which character comes next."""
    nn = torch.nn
    torch.manual_seed(2)
    pieces, size = windows(torch, 24)

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(size, 16)
            self.rnn = nn.LSTM(16, 32, num_layers=2, batch_first=True)
            self.head = nn.Linear(32, size)

        def forward(self, x: Any) -> Any:
            hidden, _ = self.rnn(self.embed(x))
            return self.head(hidden)

    batches = forever(torch.utils.data.DataLoader(pieces, batch_size=8, shuffle=True))
    model = Net()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)

    def step() -> float:
        x, y = next(batches)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return Training(model, optimizer, batches, step)


def transformer(torch: Any) -> Training:
    """A small transformer that learns which character comes next."""
    nn = torch.nn
    torch.manual_seed(3)
    length = 16
    pieces, size = windows(torch, length)

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(size, 32)
            self.place = nn.Parameter(torch.randn(length, 32) * 0.1)
            layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
            self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.norm = nn.LayerNorm(32)
            self.head = nn.Linear(32, size, bias=False)
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

        def forward(self, x: Any) -> Any:
            x = self.embed(x) + self.place
            return self.head(self.norm(self.body(x, mask=self.mask, is_causal=True)))

    batches = forever(torch.utils.data.DataLoader(pieces, batch_size=8, shuffle=True))
    model = Net()
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=400, cycle_momentum=False)

    def step() -> float:
        x, y = next(batches)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss.item()

    return Training(model, optimizer, batches, step, scheduler)


SCRIPTS: dict[str, Callable[[Any], Training]] = {
    "MLP": mlp,
    "CNN": cnn,
    "char-RNN": char_rnn,
    "transformer": transformer,
}
