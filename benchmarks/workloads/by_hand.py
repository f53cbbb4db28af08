"""Training steps of `networks.py` by hand: NumPy's calls alone, forward, backward and update written out.

Parameters and data are those that nbautograd draws, taken out as arrays. A step costs what its products, its passes
over arrays and the interpreter's time for calling them cost: nothing is recorded or checked, whatever can write over an
array does, and statistics of rows are products with ones. So it is the limit of a library on NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from workloads import Program

Array = Any
Step = Callable[[], float]


def arrays(*tensors: Any) -> list[Array]:
    """Copies of tensors as arrays."""
    return [tensor.detach().numpy().copy() for tensor in tensors]


def ones(count: int) -> Array:
    """A row whose product with a matrix is the rows' means."""
    return np.full(count, 1 / count, np.float32)


# -- parts ------------------------------------------------------------------------------------------------------------


def normalized(x: Array, weight: Array, bias: Array) -> tuple[Array, Array, Array]:
    """Layer norm of rows; then what its gradient needs."""
    mean = ones(x.shape[1])
    unit = x - np.dot(x, mean)[:, None]
    rstd = 1 / np.sqrt(np.vecdot(unit, unit) / x.shape[1] + np.float32(1e-5))[:, None]
    unit *= rstd
    y = unit * weight
    y += bias
    return y, unit, rstd


def normalized_back(g: Array, unit: Array, rstd: Array, weight: Array) -> tuple[Array, Array, Array]:
    """The gradients of input, weight and bias."""
    mean, column = ones(g.shape[1]), np.ones(len(g), np.float32)
    along = g * unit
    of_weight, of_bias = column.dot(along), column.dot(g)
    result = g * weight
    unit *= (np.vecdot(result, unit) / g.shape[1])[:, None]
    result -= np.dot(result, mean)[:, None]
    result -= unit
    result *= rstd
    return result, of_weight, of_bias


def cross_entropy(scores: Array, classes: Array) -> tuple[float, Array]:
    """The loss, and the gradient of the scores, in their place."""
    rows = np.arange(len(classes))
    scores -= np.maximum.reduce(scores, 1)[:, None]
    chosen = scores[rows, classes]
    np.exp(scores, scores)
    sums = scores.dot(np.ones(scores.shape[1], np.float32))
    loss = float(np.mean(np.log(sums) - chosen))
    scores *= (1 / (sums * len(classes)))[:, None]
    scores[rows, classes] -= np.float32(1 / len(classes))
    return loss, scores


def adam(parameters: list[Array], rate: float, decay: float = 0.0) -> Callable[[list[Array]], None]:
    """An update by Adam, of gradients in the order of the parameters, in place."""
    means, squares = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    work, count = [np.empty_like(p) for p in parameters], 0

    def update(gradients: list[Array]) -> None:
        nonlocal count
        count += 1
        size, root = rate / (1 - 0.9**count), math.sqrt(1 - 0.999**count)
        for p, g, m, v, w in zip(parameters, gradients, means, squares, work, strict=True):
            if decay:
                p *= 1 - rate * decay
            np.subtract(g, m, w)
            w *= 0.1
            m += w
            np.multiply(g, g, w)
            w *= 0.001
            v *= 0.999
            v += w
            np.sqrt(v, w)
            w /= root
            w += 1e-8
            np.divide(m, w, w)
            w *= size
            p -= w

    return update


def gelu(x: Array) -> tuple[Array, Array]:
    """GELU and its slope, by an approximation of the error function (Abramowitz and Stegun, 7.1.26)."""
    bell = x * x
    bell *= -0.5
    np.exp(bell, bell)
    t = np.abs(x)
    t *= 0.3275911 / math.sqrt(2)
    t += 1
    np.divide(1, t, t)
    tail = t * 1.061405429
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += coefficient
        tail *= t
    tail *= bell
    np.subtract(1, tail, tail)
    np.copysign(tail, x, tail)
    tail += 1
    tail *= 0.5  # the distribution function
    bell *= 1 / math.sqrt(2 * math.pi)
    bell *= x
    bell += tail
    tail *= x
    return tail, bell


def step(loss: Step) -> Program:
    """A program of a step."""
    return lambda: (np.float64(loss()),)


# -- steps ------------------------------------------------------------------------------------------------------------


def perceptron() -> Program:
    """784-128-64-10 with LayerNorm and ReLU, plain gradient descent."""
    torch = import_module("nbautograd")
    nn = torch.nn
    torch.manual_seed(0)
    layers = [nn.Linear(784, 128), nn.LayerNorm(128), nn.Linear(128, 64), nn.LayerNorm(64), nn.Linear(64, 10)]
    x, classes = arrays(torch.randn(64, 784), torch.randint(0, 10, (64,)))
    parameters = arrays(*(p for layer in layers for p in layer.parameters()))
    w1, b1, n1, s1, w2, b2, n2, s2, w3, b3 = parameters
    column = np.ones(64, np.float32)

    def loss() -> float:
        y = np.dot(x, w1.T)
        y += b1
        h1, unit1, rstd1 = normalized(y, n1, s1)
        np.maximum(h1, 0, out=h1)
        y = np.dot(h1, w2.T)
        y += b2
        h2, unit2, rstd2 = normalized(y, n2, s2)
        np.maximum(h2, 0, out=h2)
        y = np.dot(h2, w3.T)
        y += b3
        value, g3 = cross_entropy(y, classes)
        g = np.dot(g3, w3)
        g *= h2 > 0
        g2, *of_norm2 = normalized_back(g, unit2, rstd2, n2)
        g = np.dot(g2, w2)
        g *= h1 > 0
        g1, *of_norm1 = normalized_back(g, unit1, rstd1, n1)
        gradients = [np.dot(g1.T, x), column.dot(g1), *of_norm1, np.dot(g2.T, h1), column.dot(g2), *of_norm2]
        gradients += [np.dot(g3.T, h2), column.dot(g3)]
        for p, of_p in zip(parameters, gradients, strict=True):
            of_p *= 0.05
            p -= of_p
        return value

    return step(loss)


def lstm() -> Program:
    """Two LSTM layers that predict the next character; gates are in an order of their own, each in one piece."""
    torch = import_module("nbautograd")
    nn = torch.nn
    torch.manual_seed(0)
    embedding, layers, head = nn.Embedding(65, 64), nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 65)
    text = torch.randint(0, 65, (32, 51)).numpy()
    symbols, inputs, classes = *arrays(embedding.weight), text[:, :-1].T.reshape(-1).copy(), text[:, 1:].T.reshape(-1)
    cells = [[a.reshape(4, 128, *a.shape[1:]) for a in arrays(*layers.all_weights[i])] for i in range(2)]
    weight, bias = arrays(head.weight, head.bias)
    parameters = [symbols, *cells[0], *cells[1], weight, bias]
    update, column = adam(parameters, 2e-3), np.ones(1600, np.float32)
    length, batch, size = 50, 32, 128

    def forward(rows: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array) -> tuple[Array, ...]:
        gates = np.matmul(rows, w_ih.swapaxes(1, 2)).reshape(4, length, batch, size)
        gates += (b_ih + b_hh)[:, None, None]
        states, memory = (np.empty((length, batch, size), np.float32) for _ in range(2))
        w, product, work = (
            np.ascontiguousarray(w_hh.swapaxes(1, 2)),
            np.empty_like(gates[:, 0]),
            np.empty_like(states[0]),
        )
        h = c = np.zeros((batch, size), np.float32)
        for t in range(length):
            gate, cell, state = gates[:, t], memory[t], states[t]
            np.matmul(h, w, product)
            gate += product
            for part in (gate[:2], gate[3:]):
                part *= 0.5
            np.tanh(gate, gate)
            for part in (gate[:2], gate[3:]):
                part *= 0.5
                part += 0.5
            np.multiply(gate[1], c, cell)
            np.multiply(gate[0], gate[2], work)
            cell += work
            np.tanh(cell, work)
            np.multiply(gate[3], work, state)
            h, c = state, cell
        return states, memory, gates

    def backward(g: Array, rows: Array, w_ih: Array, w_hh: Array, states: Array, memory: Array, gates: Array) -> Any:
        slopes, through = np.empty_like(gates), np.tanh(memory)
        before = [np.concatenate([np.zeros_like(a[:1]), a[:-1]]) for a in (memory, states)]
        for number, factor in enumerate((gates[2], before[0], gates[0], through)):
            np.multiply(gates[number], gates[number], slopes[number])  # of tanh
            np.subtract(1 if number == 2 else gates[number], slopes[number], slopes[number])
            slopes[number] *= factor
        through *= through
        np.subtract(1, through, through)
        through *= gates[3]
        carried, of_cell, work = np.zeros_like(g[0]), np.zeros_like(g[0]), np.empty_like(g[0])
        products = np.empty_like(gates[:, 0])
        for t in range(length - 1, -1, -1):
            carried += g[t]
            np.multiply(carried, through[t], work)
            of_cell += work
            now = slopes[:, t]
            now[3] *= carried
            now[:3] *= of_cell
            of_cell *= gates[1, t]
            np.matmul(now, w_hh, products)
            np.add.reduce(products, 0, None, carried)
        flat = slopes.reshape(4, -1, size)
        turned, of_bias = flat.swapaxes(1, 2), np.matmul(column, flat)
        of_ih, of_hh = np.matmul(turned, rows), np.matmul(turned, before[1].reshape(-1, size))
        return np.add.reduce(np.matmul(flat, w_ih), 0), [of_ih, of_hh, of_bias, of_bias.copy()]

    def loss() -> float:
        rows = symbols[inputs]
        first = forward(rows, *cells[0])
        second = forward(first[0].reshape(-1, size), *cells[1])
        hidden = second[0].reshape(-1, size)
        scores = np.dot(hidden, weight.T)
        scores += bias
        value, scores = cross_entropy(scores, classes)
        g, of_second = backward(
            np.dot(scores, weight).reshape(length, batch, size), first[0].reshape(-1, size), *cells[1][:2], *second
        )
        g, of_first = backward(g.reshape(length, batch, size), rows, *cells[0][:2], *first)
        of_symbols = np.dot((np.arange(65)[:, None] == inputs).astype(np.float32), g)
        update([of_symbols, *of_first, *of_second, np.dot(scores.T, hidden), column.dot(scores)])
        return value

    return step(loss)


def gpt() -> Program:
    """A language model of two layers over 64 characters."""
    torch = import_module("nbautograd")
    nn = torch.nn
    torch.manual_seed(0)
    tables, head = [nn.Embedding(65, 128), nn.Embedding(64, 128)], nn.Linear(128, 65, bias=False)
    layers = []
    for _ in range(2):
        layers += [nn.LayerNorm(128), nn.LayerNorm(128), nn.Linear(128, 384), nn.Linear(128, 128)]
        layers += [nn.Linear(128, 512), nn.Linear(512, 128)]
    layers.append(nn.LayerNorm(128))
    text = torch.randint(0, 65, (16, 65)).numpy()
    parameters = arrays(*(p for layer in (*tables, *layers, head) for p in layer.parameters()))
    symbols, places, *inner, last_weight, last_bias, scores_weight = parameters
    blocks = [inner[:12], inner[12:]]
    inputs, classes = text[:, :-1].reshape(-1), text[:, 1:].reshape(-1)
    mask, scale = np.triu(np.full((64, 64), -np.inf, np.float32), 1), np.float32(32**-0.5)
    update, column, row = adam(parameters, 1e-3, 0.01), np.ones(1024, np.float32), np.ones(64, np.float32)

    def forward(x: Array, block: list[Array]) -> tuple[Array, ...]:
        n1, s1, n2, s2, project, of_project, out, of_out, wide, of_wide, narrow, of_narrow = block
        y, *norm1 = normalized(x, n1, s1)
        parts = np.dot(y, project.T)
        parts += of_project
        q, k, v = np.ascontiguousarray(parts.reshape(16, 64, 3, 4, 32).transpose(2, 0, 3, 1, 4))
        q *= scale
        shares = np.matmul(q, k.swapaxes(2, 3))
        shares += mask
        np.exp(shares, shares)
        shares *= (1 / np.dot(shares, row))[..., None]
        z = np.matmul(shares, v).transpose(0, 2, 1, 3).reshape(1024, 128)
        x2 = np.dot(z, out.T)
        x2 += of_out
        x2 += x
        y2, *norm2 = normalized(x2, n2, s2)
        hidden = np.dot(y2, wide.T)
        hidden += of_wide
        hidden, slope = gelu(hidden)
        result = np.dot(hidden, narrow.T)
        result += of_narrow
        result += x2
        return result, y, norm1, q, k, v, shares, z, y2, norm2, hidden, slope

    def backward(g: Array, block: list[Array], kept: tuple[Array, ...]) -> tuple[Array, list[Array]]:
        n1, _, n2, _, project, _, out, _, wide, _, narrow, _ = block
        _, y, norm1, q, k, v, shares, z, y2, norm2, hidden, slope = kept
        of_narrow = [np.dot(g.T, hidden), column.dot(g)]
        h = np.dot(g, narrow)
        h *= slope
        of_wide = [np.dot(h.T, y2), column.dot(h)]
        h, *of_norm2 = normalized_back(np.dot(h, wide), *norm2, n2)
        h += g
        of_out = [np.dot(h.T, z), column.dot(h)]
        of_z = np.ascontiguousarray(np.dot(h, out).reshape(16, 64, 4, 32).transpose(0, 2, 1, 3))
        of_parts = np.empty((16, 64, 3, 4, 32), np.float32)
        of_q, of_k, of_v = of_parts.transpose(2, 0, 3, 1, 4)
        of_v[...] = np.matmul(shares.swapaxes(2, 3), of_z)
        powers = np.matmul(of_z, v.swapaxes(2, 3))
        powers -= np.vecdot(powers, shares)[..., None]
        powers *= shares
        np.multiply(np.matmul(powers, k), scale, of_q)
        of_k[...] = np.matmul(powers.swapaxes(2, 3), q)
        of_parts = of_parts.reshape(1024, 384)
        of_project = [np.dot(of_parts.T, y), column.dot(of_parts)]
        result, *of_norm1 = normalized_back(np.dot(of_parts, project), *norm1, n1)
        result += h
        return result, [*of_norm1, *of_norm2, *of_project, *of_out, *of_wide, *of_narrow]

    def loss() -> float:
        x = symbols[inputs]
        x.reshape(16, 64, 128)[...] += places
        first = forward(x, blocks[0])
        second = forward(first[0], blocks[1])
        y, *norm = normalized(second[0], last_weight, last_bias)
        value, scores = cross_entropy(np.dot(y, scores_weight.T), classes)
        g, *of_norm = normalized_back(np.dot(scores, scores_weight), *norm, last_weight)
        g, of_second = backward(g, blocks[1], second)
        g, of_first = backward(g, blocks[0], first)
        of_symbols = np.dot((np.arange(65)[:, None] == inputs).astype(np.float32), g)
        of_places = np.add.reduce(g.reshape(16, 64, 128), 0)
        update([of_symbols, of_places, *of_first, *of_second, *of_norm, np.dot(scores.T, y)])
        return value

    return step(loss)


def physics_informed() -> Program:
    """Burgers' equation: value and derivatives go forward together, in one product a layer, and backward likewise."""
    torch = import_module("nbautograd")
    nn = torch.nn
    torch.manual_seed(0)
    layers = [nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 1)]
    t, x = arrays(*(torch.rand(256, 1) for _ in range(2)))
    (start,) = arrays(torch.rand(64, 1) * 2 - 1)
    parameters = arrays(*(p for layer in layers for p in layer.parameters()))
    update = adam(parameters, 1e-3)
    points = np.zeros((4 * 256 + 64, 2), np.float32)  # values, derivatives by t and x, second by x; initial points
    points[:256] = np.concatenate([t, x], 1)
    points[256:512, 0] = points[512:768, 1] = 1
    points[1024:, 1:] = start
    wanted, scale = np.sin(np.float32(math.pi) * start), np.float32(0.01 / math.pi)
    plain = np.r_[0:256, 1024:1088]

    def loss() -> float:
        kept, h = [], points
        for w, b in zip(parameters[:6:2], parameters[1:6:2], strict=True):
            z = np.dot(h, w.T)
            z[:256] += b
            z[1024:] += b
            y = np.empty_like(z)
            np.tanh(z[:256], y[:256])
            np.tanh(z[1024:], y[1024:])
            value = y[:256]
            slope = 1 - value * value
            curve = -2 * value * slope
            np.multiply(z[256:1024].reshape(3, 256, -1), slope, y[256:1024].reshape(3, 256, -1))
            squared = z[512:768] * z[512:768]
            y[768:1024] += curve * squared
            kept.append((h, z, y, slope, curve, squared))
            h = y
        w, b = parameters[6:]
        z = np.dot(h, w.T)
        u, u_t, u_x, u_xx = z[:1024].reshape(4, 256, 1)
        u += b
        initial = z[1024:]
        initial += b
        residual = u_t + u * u_x
        residual -= scale * u_xx
        off = initial + wanted
        value = float(np.mean(residual * residual) + np.mean(off * off))
        g = np.empty_like(z)
        residual *= np.float32(2 / 256)
        g[:256], g[256:512], g[512:768] = residual * u_x, residual, residual * u
        g[768:1024] = -scale * residual
        np.multiply(off, np.float32(2 / 64), g[1024:])
        gradients = [np.dot(g.T, h), g[plain].sum(0)]
        g = np.dot(g, w)
        for (h, z, y, slope, curve, squared), w in zip(kept[::-1], parameters[4::-2], strict=True):
            value_, result = y[:256], np.empty_like(g)
            np.multiply(g[256:1024].reshape(3, 256, -1), slope, result[256:1024].reshape(3, 256, -1))
            result[512:768] += 2 * curve * z[512:768] * g[768:1024]
            of_slope = np.add.reduce((g[256:1024] * z[256:1024]).reshape(3, 256, -1), 0)
            of_slope *= curve
            bend = slope * (4 * value_ * value_ - 2 * slope)
            bend *= squared
            bend *= g[768:1024]
            np.multiply(g[:256], slope, result[:256])
            result[:256] += of_slope
            result[:256] += bend
            np.multiply(g[1024:], 1 - y[1024:] * y[1024:], result[1024:])
            gradients[:0] = [np.dot(result.T, h), result[:256].sum(0) + result[1024:].sum(0)]
            g = np.dot(result, w)
        update(gradients)
        return value

    return step(loss)
