"""c, d, i, j: multilayer perceptrons; a training step, a gradient of a gradient, a forward pass alone."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from workloads import Maker, Program, Workload, lazy, makers, recorded

Arrays = list[np.ndarray[Any, Any]]
RATE = 0.01


def weights(sizes: tuple[int, ...]) -> Arrays:
    """Weight (out, in) and bias of every layer, in float32."""
    random = np.random.default_rng(0)
    made = []
    for before, after in pairwise(sizes):
        made += [
            random.standard_normal((after, before), np.float32) / np.float32(before**0.5),
            np.zeros(after, np.float32),
        ]
    return made


def batch(size: int, features: int, classes: int) -> tuple[Any, Any]:
    """Inputs in float32 and classes in int64."""
    random = np.random.default_rng(1)
    return random.standard_normal((size, features), np.float32), random.integers(0, classes, size)


def pairs(parameters: Any) -> list[tuple[Any, Any]]:
    """(weight, bias) of every layer."""
    return list(zip(parameters[::2], parameters[1::2], strict=True))


def step(sizes: tuple[int, ...], size: int) -> dict[str, Maker]:
    """Forward, cross entropy, backward and plain gradient descent; gives loss and the last weight's gradient."""
    inputs, classes = batch(size, sizes[0], sizes[-1])

    def same(torch: Any) -> Program:
        linear, cross_entropy = torch.nn.functional.linear, torch.nn.functional.cross_entropy
        parameters = [torch.tensor(array, requires_grad=True) for array in weights(sizes)]
        *hidden, (last, bias) = pairs(parameters)
        x, target = torch.tensor(inputs), torch.tensor(classes)

        def program() -> tuple[Any, Any]:
            h = x
            for w, b in hidden:
                h = linear(h, w, b).relu()
            loss = cross_entropy(linear(h, last, bias), target)
            loss.backward()
            gradient = last.grad
            with torch.no_grad():
                for parameter in parameters:
                    parameter.sub_(parameter.grad, alpha=RATE)
                    parameter.grad = None
            return loss, gradient

        return program

    def traced(torch: Any, prepare: Any) -> Program:
        linear, cross_entropy = torch.nn.functional.linear, torch.nn.functional.cross_entropy
        parameters = [torch.tensor(array, requires_grad=True) for array in weights(sizes)]
        x, target = torch.tensor(inputs), torch.tensor(classes)

        def loss_of(x: Any, target: Any, *parameters: Any) -> Any:
            *hidden, (last, bias) = pairs(parameters)
            for w, b in hidden:
                x = linear(x, w, b).relu()
            return cross_entropy(linear(x, last, bias), target)

        function = prepare(loss_of, (x, target, *parameters))

        def program() -> tuple[Any, Any]:
            loss = function(x, target, *parameters)
            loss.backward()
            gradient = parameters[-2].grad
            with torch.no_grad():
                for parameter in parameters:
                    parameter.sub_(parameter.grad, alpha=RATE)
                    parameter.grad = None
            return loss, gradient

        return program

    def hips() -> Program:
        autograd, numpy = import_module("autograd"), import_module("autograd.numpy")
        logsumexp = import_module("autograd.scipy.special").logsumexp
        parameters, rows = weights(sizes), np.arange(size)

        def loss_of(parameters: Arrays) -> Any:
            *hidden, (last, bias) = pairs(parameters)
            h = inputs
            for w, b in hidden:
                h = numpy.maximum(numpy.dot(h, w.T) + b, 0)
            scores = numpy.dot(h, last.T) + bias
            return numpy.mean(logsumexp(scores, axis=1) - scores[rows, classes])

        whole = autograd.value_and_grad(loss_of)

        def program() -> tuple[Any, Any]:
            loss, gradients = whole(parameters)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= np.float32(RATE) * gradient
            return loss, gradients[-2]

        return program

    def mygrad() -> Program:
        mg, crossentropy = import_module("mygrad"), import_module("mygrad.nnet.losses").softmax_crossentropy
        relu = import_module("mygrad.nnet.activations").relu
        parameters = [mg.tensor(array) for array in weights(sizes)]
        *hidden, (last, bias) = pairs(parameters)

        def program() -> tuple[Any, Any]:
            h = inputs
            for w, b in hidden:
                h = relu(mg.matmul(h, w.T) + b)
            loss = crossentropy(mg.matmul(h, last.T) + bias, classes)
            loss.backward()
            gradient = last.grad
            for parameter in parameters:
                parameter.data -= np.float32(RATE) * parameter.grad
                parameter.null_grad()
            return loss, gradient

        return program

    def tinygrad() -> Program:
        tensors = lazy.library().Tensor
        parameters = [tensors(array).realize() for array in weights(sizes)]
        *hidden, (last, bias) = pairs(parameters)

        def function(x: Any, target: Any) -> tuple[Any, ...]:
            h = x
            for w, b in hidden:
                h = h.linear(w.T, b).relu()
            loss = h.linear(last.T, bias).sparse_categorical_crossentropy(target)
            loss.backward()
            gradient = last.grad
            for parameter in parameters:
                parameter.assign(parameter.detach() - RATE * parameter.grad)
                parameter.grad = None
            return lazy.computed(loss, gradient, *parameters)[:2]

        program = lazy.replayed(function, tensors(inputs).realize(), tensors(classes).realize())
        for parameter, array in zip(parameters, weights(sizes), strict=True):  # undo its steps
            parameter.assign(tensors(array)).realize()
        return program

    def numpy() -> Program:
        parameters, rows = weights(sizes), np.arange(size)
        layers = pairs(parameters)
        *hidden, (last, bias) = layers

        def program() -> tuple[Any, Any]:
            kept = [inputs]
            for w, b in hidden:
                h = kept[-1] @ w.T
                h += b
                np.maximum(h, 0, out=h)
                kept.append(h)
            scores = kept[-1] @ last.T
            scores += bias
            scores -= scores.max(1, keepdims=True)
            p = np.exp(scores)
            sums = p.sum(1, keepdims=True)
            loss = (np.log(sums[:, 0]) - scores[rows, classes]).mean()
            p /= sums
            p[rows, classes] -= 1
            p /= size
            g, first = p, None
            for index in range(len(layers) - 1, -1, -1):
                w, b = layers[index]
                dw, db = g.T @ kept[index], g.sum(0)
                first = dw if first is None else first
                if index:
                    g = g @ w
                    g *= kept[index] > 0
                dw_step = np.multiply(dw, np.float32(RATE))
                w -= dw_step
                b -= np.float32(RATE) * db
            return loss, first

        return program

    return makers(same, hips=hips, mygrad=mygrad, tinygrad=tinygrad, numpy=numpy) | recorded(traced)


def forward(sizes: tuple[int, ...], size: int) -> dict[str, Maker]:
    """The forward pass of the same perceptron with gradients switched off."""
    inputs, _ = batch(size, sizes[0], sizes[-1])

    def same(torch: Any) -> Program:
        linear = torch.nn.functional.linear
        *hidden, (last, bias) = pairs([torch.tensor(array, requires_grad=True) for array in weights(sizes)])
        x = torch.tensor(inputs)

        def program() -> tuple[Any]:
            with torch.no_grad():
                h = x
                for w, b in hidden:
                    h = linear(h, w, b).relu()
                return (linear(h, last, bias),)

        return program

    def traced(torch: Any, prepare: Any) -> Program:
        linear = torch.nn.functional.linear
        parameters = [torch.tensor(array, requires_grad=True) for array in weights(sizes)]
        x = torch.tensor(inputs)

        def scores(x: Any, *parameters: Any) -> Any:
            *hidden, (last, bias) = pairs(parameters)
            for w, b in hidden:
                x = linear(x, w, b).relu()
            return linear(x, last, bias)

        function = prepare(scores, (x, *parameters))

        def program() -> tuple[Any]:
            with torch.no_grad():
                return (function(x, *parameters),)

        return program

    def mygrad() -> Program:
        mg, relu = import_module("mygrad"), import_module("mygrad.nnet.activations").relu
        *hidden, (last, bias) = pairs([mg.tensor(array) for array in weights(sizes)])

        def program() -> tuple[Any]:
            with mg.no_autodiff:
                h = inputs
                for w, b in hidden:
                    h = relu(mg.matmul(h, w.T) + b)
                return (mg.matmul(h, last.T) + bias,)

        return program

    def tinygrad() -> Program:
        tensors = lazy.library().Tensor
        *hidden, (last, bias) = pairs([tensors(array).realize() for array in weights(sizes)])

        def function(h: Any) -> tuple[Any, ...]:
            for w, b in hidden:
                h = h.linear(w.T, b).relu()
            return lazy.computed(h.linear(last.T, bias))

        return lazy.replayed(function, tensors(inputs).realize())

    def numpy() -> Program:
        *hidden, (last, bias) = pairs(weights(sizes))

        def program() -> tuple[Any]:
            h = inputs
            for w, b in hidden:
                h = h @ w.T
                h += b
                np.maximum(h, 0, out=h)
            h = h @ last.T
            h += bias
            return (h,)

        return program

    return makers(same, mygrad=mygrad, tinygrad=tinygrad, numpy=numpy) | recorded(traced)


def penalty(sizes: tuple[int, ...], size: int) -> dict[str, Maker]:
    """Double backward: the gradient, with respect to the weights, of the squared norm of the gradient of the inputs."""
    inputs, _ = batch(size, sizes[0], 1)

    def same(torch: Any) -> Program:
        linear = torch.nn.functional.linear
        parameters = [torch.tensor(array, requires_grad=True) for array in weights(sizes)]
        *hidden, (last, bias) = pairs(parameters)

        def program() -> tuple[Any, Any]:
            x = torch.tensor(inputs, requires_grad=True)
            h = x
            for w, b in hidden:
                h = linear(h, w, b).tanh()
            (slope,) = torch.autograd.grad(linear(h, last, bias).sum(), x, create_graph=True)
            value = (slope * slope).sum()
            value.backward()
            gradient = parameters[0].grad
            for parameter in parameters:
                parameter.grad = None
            return value, gradient

        return program

    def traced(torch: Any, prepare: Any) -> Program:
        linear = torch.nn.functional.linear
        parameters = [torch.tensor(array, requires_grad=True) for array in weights(sizes)]

        def value_of(x: Any, *parameters: Any) -> Any:
            *hidden, (last, bias) = pairs(parameters)
            h = x
            for w, b in hidden:
                h = linear(h, w, b).tanh()
            (slope,) = torch.autograd.grad(linear(h, last, bias).sum(), x, create_graph=True)
            return (slope * slope).sum()

        function = prepare(value_of, (torch.tensor(inputs, requires_grad=True), *parameters))

        def program() -> tuple[Any, Any]:
            x = torch.tensor(inputs, requires_grad=True)
            value = function(x, *parameters)
            value.backward()
            gradient = parameters[0].grad
            for parameter in parameters:
                parameter.grad = None
            return value, gradient

        return program

    def hips() -> Program:
        autograd, numpy = import_module("autograd"), import_module("autograd.numpy")
        parameters = weights(sizes)

        def outputs(x: Any, parameters: Arrays) -> Any:
            *hidden, (last, bias) = pairs(parameters)
            for w, b in hidden:
                x = numpy.tanh(numpy.dot(x, w.T) + b)
            return numpy.sum(numpy.dot(x, last.T) + bias)

        def squared(parameters: Arrays) -> Any:
            slope = autograd.grad(outputs)(inputs, parameters)
            return numpy.sum(slope * slope)

        whole = autograd.value_and_grad(squared)

        def program() -> tuple[Any, Any]:
            value, gradients = whole(parameters)
            return value, gradients[0]

        return program

    def tinygrad() -> Program:
        tensors = lazy.library().Tensor
        parameters = [tensors(array).realize() for array in weights(sizes)]
        *hidden, (last, bias) = pairs(parameters)

        def function(x: Any) -> tuple[Any, ...]:
            h = x
            for w, b in hidden:
                h = h.linear(w.T, b).tanh()
            (slope,) = h.linear(last.T, bias).sum().gradient(x)
            value = (slope * slope).sum()
            value.backward()
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            x.grad = None
            for parameter in parameters:
                parameter.grad = None
            return lazy.computed(value, *gradients)[:2]

        return lazy.replayed(function, tensors(inputs).realize())

    return makers(same, hips=hips, tinygrad=tinygrad) | recorded(traced)


SMALL, LARGE = (64, 128, 128, 10), (784, 1024, 1024, 10)
WORKLOADS = [
    Workload(
        "c", "perceptron 64-128-128-10, batch 32, step", step(SMALL, 32),
        {"PyTorch": 0.65, "NumPy by hand": 1.25, "others": 0.5}, repeats=10, tolerance=1e-3,
    ),
    Workload(
        "d", "perceptron 784-1024-1024-10, batch 256, step", step(LARGE, 256),
        {"PyTorch": 0.85, "NumPy by hand": 1.05, "others": 1.0}, tolerance=1e-2,
    ),
    Workload(
        "i", "double backward, perceptron 16-32-32-1, batch 32", penalty((16, 32, 32, 1), 32),
        {"PyTorch": 0.45, "others": 0.2}, repeats=10, tolerance=1e-3,
    ),
    Workload(
        "j", "forward of c under `no_grad`", forward(SMALL, 32),
        {"PyTorch": 0.95, "NumPy by hand": 1.15, "others": 0.7}, repeats=30,
    ),
]  # fmt: skip
