"""Programs as they were written for PyTorch 0.1 to 0.4: functions of the library that print as they train.

``say`` gets a line, and the tensors that are behind its numbers.
"""

# ruff: noqa: UP008, UP031, UP032

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Say = Callable[..., None]


def gan(torch: Any, say: Say) -> None:
    """A generator of normal numbers against a discriminator: ``Variable``, ``FloatTensor``, ``.data``, ``volatile``."""
    from importlib import import_module

    nn, optim = torch.nn, torch.optim
    Variable, F = torch.autograd.Variable, import_module(f"{torch.__name__}.nn.functional")

    class Generator(nn.Module):
        def __init__(self, size: int) -> None:
            super(Generator, self).__init__()
            self.map1 = nn.Linear(1, size)
            self.map2 = nn.Linear(size, 1)

        def forward(self, x: Any) -> Any:
            return self.map2(F.elu(self.map1(x)))

    class Discriminator(nn.Module):
        def __init__(self, size: int) -> None:
            super(Discriminator, self).__init__()
            self.map1, self.map2 = nn.Linear(10, size), nn.Linear(size, 1)

        def forward(self, x: Any) -> Any:
            return torch.nn.functional.sigmoid(self.map2(F.relu(self.map1(x))))

    G, D, criterion = Generator(8), Discriminator(8), nn.BCELoss()
    for p in list(G.parameters()) + list(D.parameters()):
        if p.data.dim() > 1:
            nn.init.xavier_uniform(p.data)
    d_optimizer = optim.Adam(D.parameters(), lr=2e-3, betas=(0.9, 0.999))
    g_optimizer = optim.Adam(G.parameters(), lr=2e-3, betas=(0.9, 0.999))
    for step in range(6):
        D.zero_grad()
        real = Variable(torch.Tensor(1, 10).normal_(4, 1.25))
        d_real = D(real)
        d_real_error = criterion(d_real, Variable(torch.ones(1, 1)))
        d_real_error.backward()
        fake = G(Variable(torch.rand(10, 1))).detach()
        d_fake_error = criterion(D(fake.t()), Variable(torch.zeros(1, 1)))
        d_fake_error.backward()
        d_optimizer.step()
        G.zero_grad()
        fake = G(Variable(torch.rand(10, 1)))
        g_error = criterion(D(fake.t()), Variable(torch.ones(1, 1)))
        g_error.backward()
        g_optimizer.step()
        errors = [e.data.item() for e in (d_real_error, d_fake_error, g_error)]
        say(f"{step}: " + " ".join("%.5f" % e for e in errors) + " %.5f" % fake.data[0][0],
            d_real_error.data, d_fake_error.data, g_error.data, fake.data)  # fmt: skip
    look = G(Variable(torch.FloatTensor([[0.5], [1.0]]), volatile=True))
    say(str(look.data.numpy().round(4).tolist()), look.data)


def char_rnn(torch: Any, say: Say) -> None:
    """A recurrent network over letters: one-hot ``torch.zeros``, ``p.data.add_(-lr, p.grad.data)``, ``topk``."""
    nn, Variable = torch.nn, torch.autograd.Variable
    letters, names = "abcdefgh", [("bad", 0), ("cafe", 1), ("head", 0), ("face", 1), ("deaf", 0)]

    class RNN(nn.Module):
        def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
            super(RNN, self).__init__()
            self.hidden_size = hidden
            self.i2h = nn.Linear(inputs + hidden, hidden)
            self.i2o = nn.Linear(inputs + hidden, outputs)
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, input: Any, hidden: Any) -> Any:
            combined = torch.cat((input, hidden), 1)
            return self.softmax(self.i2o(combined)), self.i2h(combined)

        def init_hidden(self) -> Any:
            return Variable(torch.zeros(1, self.hidden_size))

    def line_to_tensor(line: str) -> Any:
        tensor = torch.zeros(len(line), 1, len(letters))
        for li, letter in enumerate(line):
            tensor[li][0][letters.find(letter)] = 1
        return tensor

    rnn, criterion, learning_rate, current = RNN(len(letters), 12, 2), nn.NLLLoss(), 0.05, 0.0
    for epoch in range(4):
        losses = []
        for line, category in names:
            category_tensor = Variable(torch.LongTensor([category]))
            line_tensor, hidden = Variable(line_to_tensor(line)), rnn.init_hidden()
            rnn.zero_grad()
            for i in range(line_tensor.size()[0]):
                output, hidden = rnn(line_tensor[i], hidden)
            loss = criterion(output, category_tensor)
            loss.backward()
            for p in rnn.parameters():
                p.data.add_(-learning_rate, p.grad.data)
            current += loss.data.item()
            losses.append(loss.data)
        top_n, top_i = output.data.topk(1)
        say("%d %.4f %s %d" % (epoch, current / len(names), tuple(top_n.size()), int(top_i[0][0])), *losses, top_n)
        current = 0


def classifier(torch: Any, say: Say) -> None:
    """A convolutional network: guarded ``cuda()``, ``torch.randperm``, ``Variable``, ``torch.max(out.data, 1)``."""
    nn, Variable = torch.nn, torch.autograd.Variable
    use_cuda = torch.cuda.is_available() and torch.cuda.device_count() > 99

    class Net(nn.Module):
        def __init__(self) -> None:
            super(Net, self).__init__()
            self.conv = nn.Conv2d(1, 4, 3)
            self.drop = nn.Dropout2d()
            self.fc = nn.Linear(4 * 3 * 3, 3)

        def forward(self, x: Any) -> Any:
            x = torch.nn.functional.relu(torch.nn.functional.max_pool2d(self.drop(self.conv(x)), 2))
            return self.fc(x.view(-1, 4 * 3 * 3))

    data, target = torch.randn(24, 1, 8, 8), torch.LongTensor(24).random_(0, 3)
    net, criterion = Net(), nn.CrossEntropyLoss(size_average=True)
    nn.init.kaiming_normal(net.conv.weight)
    nn.init.constant(net.fc.bias, 0.1)
    if use_cuda:
        net = net.cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
    for epoch in range(3):
        net.train()
        order, total, losses = torch.randperm(24), 0.0, []
        for start in range(0, 24, 8):
            batch = order[start : start + 8]
            x, y = Variable(data[batch]), Variable(target[batch])
            if use_cuda:
                x, y = x.cuda(), y.cuda()
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            total += loss.data.item() * len(batch)
            losses.append(loss.data)
        net.eval()
        output = net(Variable(data, volatile=True))
        predicted = torch.max(output.data, 1)[1]
        correct = predicted.eq(target.view_as(predicted)).cpu().sum()
        say("%d %.4f %d/%d" % (epoch, total / 24, correct, len(target)), *losses, output.data)


def by_hand(torch: Any, say: Say) -> None:
    """Gradients by hand, then by autograd with ``w.grad.data.zero_()``: ``torch.FloatTensor`` as ``dtype``."""
    Variable, dtype = torch.autograd.Variable, torch.FloatTensor
    x, y = torch.randn(16, 10).type(dtype), torch.randn(16, 3).type(dtype)
    w1, w2 = torch.randn(10, 8).type(dtype), torch.randn(8, 3).type(dtype)
    for t in range(3):
        h = x.mm(w1)
        h_relu = h.clamp(min=0)
        y_pred = h_relu.mm(w2)
        say("%d %.4f" % (t, (y_pred - y).pow(2).sum()), y_pred)
        grad_y_pred = 2.0 * (y_pred - y)
        grad_h = grad_y_pred.mm(w2.t()).clone()
        grad_h[h < 0] = 0
        w1 -= 1e-3 * x.t().mm(grad_h)
        w2 -= 1e-3 * h_relu.t().mm(grad_y_pred)
    v1, v2 = Variable(w1, requires_grad=True), Variable(w2, requires_grad=True)
    for t in range(3):
        loss = (Variable(x).mm(v1).clamp(min=0).mm(v2) - Variable(y, requires_grad=False)).pow(2).sum()
        loss.backward()
        say("%d %.4f" % (t, loss.data.item()), loss.data)
        for v in (v1, v2):
            v.data -= 1e-3 * v.grad.data
            v.grad.data.zero_()
    try:
        loss.data[0]
    except IndexError as error:
        say(str(error)[:45])
    added = torch.addcmul(torch.zeros(2), 0.5, v2.data[0, :2], v2.data[1, :2])
    say(f"{v1.data.new(2, 3).fill_(7).tolist()} {added}", added, v1.data, v2.data)


def autoencoder(torch: Any, say: Say) -> None:
    """A variational autoencoder: ``normal_()`` noise, ``mul_``, ``exp_``, KL by hand, ``torch.save`` of its state."""
    import io

    nn, Variable, F = torch.nn, torch.autograd.Variable, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self) -> None:
            super(VAE, self).__init__()
            self.encode1, self.mu, self.logvar = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 2)
            self.decode1, self.decode2 = nn.Linear(2, 8), nn.Linear(8, 6)
            self.sigmoid = nn.Sigmoid()

        def reparametrize(self, mu: Any, logvar: Any) -> Any:
            std = logvar.mul(0.5).exp_()
            return Variable(torch.FloatTensor(std.size()).normal_()).mul(std).add_(mu)

        def forward(self, x: Any) -> Any:
            h = F.relu(self.encode1(x))
            mu, logvar = self.mu(h), self.logvar(h)
            z = self.reparametrize(mu, logvar)
            return self.sigmoid(self.decode2(F.tanh(self.decode1(z)))), mu, logvar

    model, data = VAE(), torch.bernoulli(torch.Tensor(20, 6).uniform_(0, 1))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data, data), batch_size=5, shuffle=True)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    for epoch in range(3):
        total, losses = 0.0, []
        for _batch, (x, _) in enumerate(loader):
            recon, mu, logvar = model(Variable(x))
            bce = F.binary_cross_entropy(recon, Variable(x), size_average=False)
            kld = torch.sum(mu.pow(2).add_(logvar.exp()).mul_(-1).add_(1).add_(logvar)).mul_(-0.5)
            loss = bce + kld
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.data.item()
            losses.append(loss.data)
        say("Train Epoch: {} {:.4f}".format(epoch, total / len(loader.dataset)), *losses)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    again = VAE()
    again.load_state_dict(torch.load(file))
    same = all((a == b).all() for a, b in zip(again.state_dict().values(), model.state_dict().values(), strict=True))
    say(f"{same} {float(model.mu.weight.data.norm()) == float(again.mu.weight.data.norm())}")


SCRIPTS = {each.__name__: each for each in (gan, char_rnn, classifier, by_hand, autoencoder)}
