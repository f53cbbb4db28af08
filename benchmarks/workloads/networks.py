"""Networks that a learner trains, in PyTorch's language: a training step each, forward, backward and update.

A maker seeds the random stream, which is the same in both libraries, builds model, optimizer and a batch, and gives the
loss as a function; `trained` makes of it a step that returns the loss. So each step's loss depends on all before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

from workloads import Program, Workload, makers

Loss = Callable[[], Any]


def trained(optimizer: Any, loss_of: Loss) -> Program:
    """A training step that gives its loss."""

    def program() -> tuple[Any]:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return (loss.detach(),)

    return program


# -- perceptrons and convolutional networks --------------------------------------------------------------------------


def perceptron(torch: Any, normalized: bool = False) -> Program:
    """784-128-64-10 with ReLU, plain gradient descent; with LayerNorm before each ReLU."""
    nn = torch.nn
    torch.manual_seed(0)

    def hidden(inputs: int, outputs: int) -> list[Any]:
        return [nn.Linear(inputs, outputs), *([nn.LayerNorm(outputs)] if normalized else []), nn.ReLU()]

    model = nn.Sequential(*hidden(784, 128), *hidden(128, 64), nn.Linear(64, 10))
    images, classes = torch.randn(64, 784), torch.randint(0, 10, (64,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    return trained(optimizer, lambda: nn.functional.cross_entropy(model(images), classes))


def convolutional(torch: Any) -> Program:
    """The first convolutional network of most courses: two convolutions, a pooling, two linear layers."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)),
    )
    images, classes = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return trained(optimizer, lambda: nn.functional.cross_entropy(model(images), classes))


def residual(torch: Any) -> Program:
    """Three stages of two residual blocks with batch norm (He et al., 2016), for pictures of 32×32."""
    nn, relu = torch.nn, torch.nn.functional.relu
    torch.manual_seed(0)

    def convolution(before: int, after: int, stride: int) -> Any:
        return nn.Conv2d(before, after, 3, stride, padding=1, bias=False)

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.first, self.first_norm = convolution(before, after, stride), nn.BatchNorm2d(after)
            self.second, self.second_norm = convolution(after, after, 1), nn.BatchNorm2d(after)
            same = before == after and stride == 1
            shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            self.shortcut = nn.Identity() if same else shortcut

        def forward(self, x: Any) -> Any:
            h = relu(self.first_norm(self.first(x)))
            return relu(self.second_norm(self.second(h)) + self.shortcut(x))

    model = nn.Sequential(
        *(convolution(3, 16, 1), nn.BatchNorm2d(16), nn.ReLU()),
        *(Block(16, 16, 1), Block(16, 16, 1), Block(16, 32, 2), Block(32, 32, 1), Block(32, 64, 2), Block(64, 64, 1)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    )
    images, classes = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    return trained(optimizer, lambda: nn.functional.cross_entropy(model(images), classes))


# -- sequences -------------------------------------------------------------------------------------------------------


def recurrent(torch: Any, kind: str) -> Program:
    """Two recurrent layers that predict the next character."""
    nn = torch.nn
    torch.manual_seed(0)
    embedding, layers, head = nn.Embedding(65, 64), getattr(nn, kind)(64, 128, 2, batch_first=True), nn.Linear(128, 65)
    text = torch.randint(0, 65, (32, 51))
    model = nn.ModuleList([embedding, layers, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss() -> Any:
        hidden, _ = layers(embedding(text[:, :-1]))
        return nn.functional.cross_entropy(head(hidden).flatten(0, 1), text[:, 1:].flatten())

    return trained(optimizer, loss)


def transformer_block(torch: Any, width: int, heads: int, causal: bool) -> Any:
    """Attention and a perceptron, each behind a layer norm and around which the input is added."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.perceptron = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            n, length, _ = x.shape
            parts = self.project(self.first(x)).view(n, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            y = nn.functional.scaled_dot_product_attention(*parts.unbind(0), is_causal=causal)
            x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
            return x + self.perceptron(self.second(x))

    return Block()


def gpt(torch: Any) -> Program:
    """A language model of two layers over 64 characters (Radford et al., 2018)."""
    nn = torch.nn
    torch.manual_seed(0)
    symbols, places, head = nn.Embedding(65, 128), nn.Embedding(64, 128), nn.Linear(128, 65, bias=False)
    blocks = nn.Sequential(*(transformer_block(torch, 128, 4, True) for _ in range(2)), nn.LayerNorm(128))
    text, place = torch.randint(0, 65, (16, 65)), torch.arange(64)
    model = nn.ModuleList([symbols, places, blocks, head])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss() -> Any:
        scores = head(blocks(symbols(text[:, :-1]) + places(place)))
        return nn.functional.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())

    return trained(optimizer, loss)


def vision_transformer(torch: Any) -> Program:
    """Two layers over the 64 patches of a picture (Dosovitskiy et al., 2021), built from PyTorch's encoder layers."""
    nn = torch.nn
    torch.manual_seed(0)
    patches = nn.Conv2d(3, 128, 4, 4)
    layer = nn.TransformerEncoderLayer(128, 4, 256, 0.0, "gelu", batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(128), enable_nested_tensor=False)
    places, head = nn.Parameter(torch.randn(1, 64, 128) * 0.02), nn.Linear(128, 10)
    images, classes = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    parameters = [*nn.ModuleList([patches, encoder, head]).parameters(), places]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)

    def loss() -> Any:
        tokens = encoder(patches(images).flatten(2).transpose(1, 2) + places)
        return nn.functional.cross_entropy(head(tokens.mean(1)), classes)

    return trained(optimizer, loss)


def word2vec(torch: Any) -> Program:
    """Skip-gram with negative samples (Mikolov et al., 2013): 10,000 words, 64 numbers each."""
    nn = torch.nn
    torch.manual_seed(0)
    words, contexts = nn.Embedding(10_000, 64), nn.Embedding(10_000, 64)
    centre, context = torch.randint(0, 10_000, (512,)), torch.randint(0, 10_000, (512, 6))
    optimizer = torch.optim.SGD([*words.parameters(), *contexts.parameters()], lr=0.1)
    target = torch.zeros(512, 6)
    target[:, 0] = 1  # the target is the neighbor; five random words follow

    def loss() -> Any:
        scores = (contexts(context) * words(centre).unsqueeze(1)).sum(-1)
        return nn.functional.binary_cross_entropy_with_logits(scores, target)

    return trained(optimizer, loss)


# -- generative models -----------------------------------------------------------------------------------------------


def autoencoder(torch: Any) -> Program:
    """A variational autoencoder of 784-400-20 (Kingma and Welling, 2014)."""
    nn = torch.nn
    torch.manual_seed(0)
    encoder, moments = nn.Sequential(nn.Linear(784, 400), nn.ReLU()), nn.Linear(400, 40)
    decoder = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))
    images, noise = torch.rand(64, 784), torch.randn(64, 20)
    optimizer = torch.optim.Adam(nn.ModuleList([encoder, moments, decoder]).parameters(), lr=1e-3)

    def loss() -> Any:
        mean, log_variance = moments(encoder(images)).chunk(2, -1)
        pixels = decoder(mean + (0.5 * log_variance).exp() * noise)
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum()
        return (nn.functional.binary_cross_entropy_with_logits(pixels, images, reduction="sum") + divergence) / 64

    return trained(optimizer, loss)


def adversarial(torch: Any) -> Program:
    """A step of the discriminator and one of the generator (Goodfellow et al., 2014), perceptrons for 784 pixels."""
    nn = torch.nn
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 784), nn.Tanh())
    critic = nn.Sequential(nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))
    images, noise = torch.randn(64, 784), torch.randn(64, 64)
    real, fake = torch.ones(64, 1), torch.zeros(64, 1)
    criterion = nn.BCEWithLogitsLoss()
    of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def told_apart() -> Any:
        return criterion(critic(images), real) + criterion(critic(generator(noise).detach()), fake)

    first = trained(of_critic, told_apart)
    second = trained(of_generator, lambda: criterion(critic(generator(noise)), real))
    return lambda: (*first(), *second())


# -- functions and their derivatives ---------------------------------------------------------------------------------


def physics_informed(torch: Any) -> Program:
    """A perceptron that solves Burgers' equation (Raissi et al., 2019): its loss has second derivatives."""
    nn, grad = torch.nn, torch.autograd.grad
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    )
    t, x = (torch.rand(256, 1, requires_grad=True) for _ in range(2))
    start = torch.rand(64, 1) * 2 - 1
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss() -> Any:
        u = model(torch.cat([t, x], 1))
        u_t, u_x = grad(u.sum(), (t, x), create_graph=True)
        (u_xx,) = grad(u_x.sum(), x, create_graph=True)
        residuals = u_t + u * u_x - 0.01 / math.pi * u_xx
        initial = model(torch.cat([torch.zeros_like(start), start], 1)) + (math.pi * start).sin()
        return residuals.pow(2).mean() + initial.pow(2).mean()

    return trained(optimizer, loss)


def gaussian_process(torch: Any) -> Program:
    """The marginal likelihood of 200 points under a Gaussian process, by a Cholesky decomposition."""
    torch.manual_seed(0)
    x = torch.linspace(0, 4, 200).unsqueeze(1)
    y = (3 * x).sin() + 0.1 * torch.randn(200, 1)
    logarithms = torch.zeros(3, requires_grad=True)  # of length scale, amplitude and noise
    optimizer = torch.optim.Adam([logarithms], lr=0.01)

    def loss() -> Any:
        scale, amplitude, noise = logarithms.exp().unbind()
        covariance = amplitude * (-0.5 * ((x - x.t()) / scale).pow(2)).exp() + (noise + 1e-3) * torch.eye(200)
        factor = torch.linalg.cholesky(covariance)
        whitened = torch.linalg.solve_triangular(factor, y, upper=False)
        return (0.5 * whitened.pow(2).sum() + factor.diagonal().log().sum()) / 200

    return trained(optimizer, loss)


def model(
    key: str, title: str, program: Callable[[Any], Program], goal: float | None = None, by_hand: str = ""
) -> Workload:
    """A row of the table of models.

    :param by_hand: the function of ``by_hand.py`` that writes the same step out.
    """
    goals = {} if goal is None else {"PyTorch": goal}
    written = {"numpy": lambda: getattr(import_module("workloads.by_hand"), by_hand)()} if by_hand else {}
    return Workload(key, title, makers(program, **written), goals, repeats=1000, tolerance=1e-4)


WORKLOADS = [
    model("mlp", "perceptron 784-128-64-10, batch 64", perceptron, 0.7),
    model("norm", "the same with LayerNorm", lambda torch: perceptron(torch, True), 0.8, "perceptron"),
    model("cnn", "CNN for MNIST, batch 32", convolutional, 1.2),
    model("resnet", "ResNet of 6 blocks, 16×3×32×32", residual, 1.5),
    model("lstm", "char-LSTM 2×128, 32×50", lambda torch: recurrent(torch, "LSTM"), 0.9, "lstm"),
    model("gru", "char-GRU 2×128, 32×50", lambda torch: recurrent(torch, "GRU"), 0.9),
    model("gpt", "GPT 2×128, 16×64", gpt, 0.9, "gpt"),
    model("vit", "ViT 2×128, 16 pictures of 64 patches", vision_transformer, 0.9),
    model("vae", "VAE 784-400-20, batch 64", autoencoder, 0.9),
    model("gan", "GAN step, perceptrons, batch 64", adversarial, 0.9),
    model("word2vec", "word2vec, 10⁴ words, batch 512×6", word2vec, 0.9),
    model("pinn", "PINN, second derivatives, 256 points", physics_informed, 0.6, "physics_informed"),
    model("gp", "Gaussian process, Cholesky of 200×200", gaussian_process),
]
