"""e, f, g, h: large arrays, where time is NumPy's; what is measured is how close to it the library stays."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from workloads import Maker, Program, Workload, lazy, makers, recorded


def normal(*shape: int, seed: int = 0) -> Any:
    """Standard normal numbers in float32."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def elementwise(count: int) -> dict[str, Maker]:
    """sum(sigmoid(tanh(exp(x)) · x)), forward and backward."""
    data = normal(count)

    def same(torch: Any) -> Program:
        x = torch.tensor(data, requires_grad=True)

        def program() -> tuple[Any, Any]:
            x.grad = None
            y = (x.exp().tanh() * x).sigmoid().sum()
            y.backward()
            return y, x.grad

        return program

    def hips() -> Program:
        autograd, numpy = import_module("autograd"), import_module("autograd.numpy")

        def function(x: Any) -> Any:
            return numpy.sum(1 / (1 + numpy.exp(-(numpy.tanh(numpy.exp(x)) * x))))

        return lambda: autograd.value_and_grad(function)(data)

    def mygrad() -> Program:
        mg, sigmoid = import_module("mygrad"), import_module("mygrad.nnet.activations").sigmoid

        def program() -> tuple[Any, Any]:
            x = mg.tensor(data, copy=False)
            y = sigmoid(mg.tanh(mg.exp(x)) * x).sum()
            y.backward()
            return y, x.grad

        return program

    def tinygrad() -> Program:
        x = lazy.library().Tensor(data).realize()

        def function() -> tuple[Any, ...]:
            x.grad = None
            y = (x.exp().tanh() * x).sigmoid().sum()
            y.backward()
            return lazy.computed(y, x.grad)

        return lazy.replayed(function)

    def numpy() -> Program:
        def program() -> tuple[Any, Any]:
            e = np.exp(data)
            t = np.tanh(e)
            s = t * data
            np.negative(s, out=s)
            np.exp(s, out=s)
            s += 1
            np.reciprocal(s, out=s)
            value = s.sum()
            g = 1 - s
            g *= s
            d = g * t
            g *= data
            t *= t
            np.subtract(1, t, out=t)
            g *= t
            g *= e
            d += g
            return value, d

        return program

    return makers(same, hips=hips, mygrad=mygrad, tinygrad=tinygrad, numpy=numpy)


def normalization(rows: int, columns: int) -> dict[str, Maker]:
    """A layer norm written with means and broadcasting, forward and backward for all its inputs."""
    data, weight, bias, cotangent = (
        normal(rows, columns),
        normal(columns, seed=1),
        normal(columns, seed=2),
        normal(rows, columns, seed=3),
    )

    def same(torch: Any) -> Program:
        x, w, b = (torch.tensor(array, requires_grad=True) for array in (data, weight, bias))
        v = torch.tensor(cotangent)

        def program() -> tuple[Any, ...]:
            x.grad = w.grad = b.grad = None
            centred = x - x.mean(1, keepdim=True)
            variance = (centred * centred).mean(1, keepdim=True)
            y = centred / (variance + 1e-5).sqrt() * w + b
            y.backward(v)
            return y, x.grad, w.grad, b.grad

        return program

    def hips() -> Program:
        autograd, numpy = import_module("autograd"), import_module("autograd.numpy")

        def function(parameters: tuple[Any, ...]) -> Any:
            x, w, b = parameters
            centred = x - numpy.mean(x, axis=1, keepdims=True)
            variance = numpy.mean(centred * centred, axis=1, keepdims=True)
            return centred / numpy.sqrt(variance + np.float32(1e-5)) * w + b

        def program() -> tuple[Any, ...]:
            back, y = autograd.make_vjp(function)((data, weight, bias))
            return y, *back(cotangent)

        return program

    def mygrad() -> Program:
        mg = import_module("mygrad")

        def program() -> tuple[Any, ...]:
            x, w, b = (mg.tensor(array, copy=False) for array in (data, weight, bias))
            centred = x - x.mean(axis=1, keepdims=True)
            variance = (centred * centred).mean(axis=1, keepdims=True)
            y = centred / mg.sqrt(variance + np.float32(1e-5)) * w + b
            y.backward(cotangent)
            return y, x.grad, w.grad, b.grad

        return program

    def tinygrad() -> Program:
        tensors = lazy.library().Tensor
        x, w, b, v = (tensors(array).realize() for array in (data, weight, bias, cotangent))

        def function() -> tuple[Any, ...]:
            x.grad = w.grad = b.grad = None
            centred = x - x.mean(1, keepdim=True)
            variance = (centred * centred).mean(1, keepdim=True)
            y = centred / (variance + 1e-5).sqrt() * w + b
            y.backward(v)
            return lazy.computed(y, x.grad, w.grad, b.grad)

        return lazy.replayed(function)

    def numpy() -> Program:
        def program() -> tuple[Any, ...]:
            ones = np.ones(rows, np.float32)
            centred = data - data.mean(1, keepdims=True)
            variance = np.einsum("ij,ij->i", centred, centred)[:, None] / np.float32(columns)
            scale = 1 / np.sqrt(variance + np.float32(1e-5))
            centred *= scale
            y = centred * weight
            y += bias
            g = cotangent * centred
            dw, db = ones @ g, ones @ cotangent
            np.multiply(cotangent, weight, out=g)
            inner = np.einsum("ij,ij->i", g, centred)[:, None] / np.float32(columns)
            g -= g.mean(1, keepdims=True)
            centred *= inner
            g -= centred
            g *= scale
            return y, g, dw, db

        return program

    return makers(same, hips=hips, mygrad=mygrad, tinygrad=tinygrad, numpy=numpy)


def recurrent(steps: int, hidden: int, size: int = 16, features: int = 32) -> dict[str, Maker]:
    """h = tanh(x W + h U + b), unrolled; forward and backward for W, U and b."""
    data = normal(steps, size, features)
    arrays = [normal(features, hidden, seed=1) / 8, normal(hidden, hidden, seed=2) / 16, normal(hidden, seed=3) / 8]
    start = np.zeros((size, hidden), np.float32)

    def same(torch: Any) -> Program:
        w, u, b = parameters = [torch.tensor(array, requires_grad=True) for array in arrays]
        inputs, first = list(torch.tensor(data)), torch.tensor(start)

        def program() -> tuple[Any, ...]:
            h = first
            for x in inputs:
                h = (x @ w + h @ u + b).tanh()
            loss = h.sum()
            loss.backward()
            gradients = [parameter.grad for parameter in parameters]
            for parameter in parameters:
                parameter.grad = None
            return loss, *gradients

        return program

    def traced(torch: Any, prepare: Any) -> Program:
        parameters = [torch.tensor(array, requires_grad=True) for array in arrays]
        inputs, first = list(torch.tensor(data)), torch.tensor(start)

        def loss_of(w: Any, u: Any, b: Any) -> Any:
            h = first
            for x in inputs:
                h = (x @ w + h @ u + b).tanh()
            return h.sum()

        function = prepare(loss_of, tuple(parameters))

        def program() -> tuple[Any, ...]:
            loss = function(*parameters)
            loss.backward()
            gradients = [parameter.grad for parameter in parameters]
            for parameter in parameters:
                parameter.grad = None
            return loss, *gradients

        return program

    def hips() -> Program:
        autograd, numpy = import_module("autograd"), import_module("autograd.numpy")

        def function(parameters: Any) -> Any:
            w, u, b = parameters
            h = start
            for x in data:
                h = numpy.tanh(numpy.dot(x, w) + numpy.dot(h, u) + b)
            return numpy.sum(h)

        def program() -> tuple[Any, ...]:
            loss, gradients = autograd.value_and_grad(function)(arrays)
            return loss, *gradients

        return program

    def mygrad() -> Program:
        mg = import_module("mygrad")

        def program() -> tuple[Any, ...]:
            w, u, b = parameters = [mg.tensor(array) for array in arrays]
            h = start
            for x in data:
                h = mg.tanh(mg.matmul(x, w) + mg.matmul(h, u) + b)
            loss = h.sum()
            loss.backward()
            return loss, *(parameter.grad for parameter in parameters)

        return program

    def tinygrad() -> Program:
        tensors = lazy.library().Tensor
        w, u, b = parameters = [tensors(array).realize() for array in arrays]
        first = tensors(start).realize()

        def function(*inputs: Any) -> tuple[Any, ...]:
            h = first
            for x in inputs:
                h = (x @ w + h @ u + b).tanh()
            loss = h.sum()
            loss.backward()
            results = lazy.computed(loss, *(parameter.grad for parameter in parameters))
            for parameter in parameters:
                parameter.grad = None
            return results

        return lazy.replayed(function, *(tensors(x).realize() for x in data))

    def numpy() -> Program:
        w, u, b = arrays

        def program() -> tuple[Any, ...]:
            kept = [start]
            for x in data:
                h = x @ w
                h += kept[-1] @ u
                h += b
                np.tanh(h, out=h)
                kept.append(h)
            dw, du, db = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
            g = np.ones_like(start)
            for index in range(steps - 1, -1, -1):
                h = kept[index + 1]
                g = g * (1 - h * h)
                dw += data[index].T @ g
                du += kept[index].T @ g
                db += g.sum(0)
                g = g @ u.T
            return kept[-1].sum(), dw, du, db

        return program

    return makers(same, hips=hips, mygrad=mygrad, tinygrad=tinygrad, numpy=numpy) | recorded(traced)


def convolution() -> dict[str, Maker]:
    """conv2d of 16×16×32×32 with 32 filters of 3×3, forward and backward for input, filters and bias."""
    data, filters, bias, cotangent = (
        normal(16, 16, 32, 32),
        normal(32, 16, 3, 3, seed=1) / 12,
        normal(32, seed=2),
        normal(16, 32, 30, 30, seed=3),
    )

    def same(torch: Any) -> Program:
        x, w, b = (torch.tensor(array, requires_grad=True) for array in (data, filters, bias))
        v = torch.tensor(cotangent)

        def program() -> tuple[Any, ...]:
            x.grad = w.grad = b.grad = None
            y = torch.nn.functional.conv2d(x, w, b)
            y.backward(v)
            return y, x.grad, w.grad, b.grad

        return program

    def mygrad() -> Program:
        mg, conv = import_module("mygrad"), import_module("mygrad.nnet.layers").conv_nd

        def program() -> tuple[Any, ...]:
            x, w, b = (mg.tensor(array, copy=False) for array in (data, filters, bias.reshape(1, 32, 1, 1)))
            y = conv(x, w, stride=1) + b
            y.backward(cotangent)
            return y, x.grad, w.grad, b.grad.reshape(-1)

        return program

    def tinygrad() -> Program:
        tensors = lazy.library().Tensor
        x, w, b, v = (tensors(array).realize() for array in (data, filters, bias, cotangent))

        def function() -> tuple[Any, ...]:
            x.grad = w.grad = b.grad = None
            y = x.conv2d(w, b)
            y.backward(v)
            return lazy.computed(y, x.grad, w.grad, b.grad)

        return lazy.replayed(function)

    def numpy() -> Program:
        windows = np.lib.stride_tricks.sliding_window_view

        def program() -> tuple[Any, ...]:  # plain im2col
            patches = windows(data, (3, 3), (2, 3)).transpose(0, 2, 3, 1, 4, 5).reshape(16 * 30 * 30, 144)
            flat = filters.reshape(32, 144)
            y = patches @ flat.T
            y += bias
            g = np.ascontiguousarray(cotangent.transpose(0, 2, 3, 1)).reshape(-1, 32)
            dw, db = (g.T @ patches).reshape(filters.shape), g.sum(0)
            columns = (g @ flat).reshape(16, 30, 30, 16, 3, 3)
            dx = np.zeros_like(data)
            for i in range(3):
                for j in range(3):
                    dx[:, :, i : i + 30, j : j + 30] += columns[..., i, j].transpose(0, 3, 1, 2)
            return np.ascontiguousarray(y.reshape(16, 30, 30, 32).transpose(0, 3, 1, 2)), dx, dw, db

        return program

    return makers(same, mygrad=mygrad, tinygrad=tinygrad, numpy=numpy)


WORKLOADS = [
    Workload(
        "e", "exp, tanh, mul, sigmoid of 10⁷ float32", elementwise(10_000_000),
        {"PyTorch": 0.3, "NumPy by hand": 1.1, "others": 0.7},
    ),
    Workload(
        "f", "means and broadcasting, 4096×1024", normalization(4096, 1024),
        {"PyTorch": 0.6, "NumPy by hand": 2.0, "others": 0.5}, tolerance=2e-3,
    ),
    Workload(
        "g", "recurrent network, 100 steps, hidden 128", recurrent(100, 128),
        {"PyTorch": 0.65, "NumPy by hand": 1.25, "others": 0.5}, tolerance=2e-3,
    ),
    Workload(
        "h", "conv2d 16×16×32×32, 32 filters 3×3", convolution(),
        {"PyTorch": 1.5, "NumPy by hand": 0.9, "others": 0.4}, tolerance=2e-3,
    ),
]  # fmt: skip
