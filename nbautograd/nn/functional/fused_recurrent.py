"""Recurrent layers as one node: all steps of a sequence forward, and a hand-written backward pass.

Step by step (``recurrent.py``), a step of an LSTM is a dozen nodes, each weight's gradient is a product and a sum per
step, and a picture shows them all. Here the products with the inputs of all steps are one, the slopes of all steps are
computed at once, the loop computes only the values that depend on the previous step, and the gradient of a weight is
one product over all steps. Tensors differentiate the steps themselves, so that higher derivatives exist.

Gates are stored in blocks, (gates, length, batch, size): a gate of a step is contiguous, a gate of all steps a matrix.
They are rolled by one, an LSTM's to o, i, f, g and a GRU's to n, r, z, so that gates of one function are neighbors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nbautograd._engine.arrays import caching_allocator
from nbautograd._engine.arrays.rows import repeated
from nbautograd._engine.arrays.summation import pairwise_sum
from nbautograd._engine.compiler.interception import is_intercepted
from nbautograd._engine.compiler.op import no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.joining import stack
from nbautograd.nn.functional._common import gradients_of_steps, is_fusible
from nbautograd.nn.functional.linear import linear
from nbautograd.nn.functional.recurrent import STEPS, State, run

__all__ = ["Weights", "fused", "is_fused"]

F = TypeVar("F", bound=Callable[..., Any])
MIN_SIZE = 1 << 12
"""Gate values of a fused layer; a smaller one is recorded step by step, as pictures show it."""
PART_SIZE = 1 << 15
"""Gate values that a backward pass computes at a time."""


class Weights(NamedTuple):
    """The parameters of a layer in one direction."""

    ih: Tensor
    hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None


def is_fused(x: Tensor, weights: Weights, state: State) -> bool:
    """Return whether a layer is computed as one node: it is large, on the CPU, and no observer watches its steps."""
    length, batch, _ = x._a.shape
    return (
        length * batch * len(weights.hh._a) >= MIN_SIZE
        and is_fusible(*(t for t in (x, *weights, *state) if t is not None))
        and not is_intercepted(linear)  # by autocast, which casts the operands of the steps' products
    )


def fused(mode: str, x: Tensor, weights: Weights, state: State, backwards: bool) -> tuple[Tensor, State]:
    """Return the outputs for ``x``, shape (length, batch, size), and the last state, where ``is_fused`` holds."""
    if mode == "LSTM":
        output, cell, *_ = _lstm(x, *weights, *state, backwards)
    elif mode == "GRU":
        output, *_ = _gru(x, *weights, *state, backwards)
    else:
        output = _rnn(x, *weights, *state, mode, backwards)
    last = output[0 if backwards else -1]
    return output, (last, cell) if mode == "LSTM" else (last,)


def by_steps(g: Any, mode: str, backwards: bool, *operands: Tensor | None) -> list[Tensor | None]:
    """Return recorded gradients of a layer's operands: run its steps again and differentiate them.

    :param g: the gradients of the outputs and, of an LSTM, of the last cell state; None for one that is missing.
    """

    def outputs(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, *state: Tensor) -> list[Tensor]:
        steps, last = run(list(linear(x, w_ih, b_ih).unbind(0)), state, STEPS[mode][1](w_hh, b_hh, None), backwards)
        return [stack(steps), *last[1:]]

    return gradients_of_steps(g, outputs, operands)


# -- shared by the kinds ---------------------------------------------------------------------------------------------


def _order(length: int, backwards: bool) -> range:
    return range(length - 1, -1, -1) if backwards else range(length)


def _parts(length: int, width: int, backwards: bool) -> Iterator[tuple[slice, range]]:
    """Yield groups of successive steps: their slice, and their indices within it in the order of computation.

    :param width: the number of values of a step; the values of a part fit into the cache.
    """
    count = max(1, PART_SIZE // max(width, 1))
    for first in range(0, length, count):
        steps = min(count, length - first)
        start = length - first - steps if backwards else first
        yield slice(start, start + steps), _order(steps, backwards)


def _before(values: Any, first: Any, part: slice, backwards: bool) -> Any:
    """Return ``values`` before each step of a part, as a new array; ``first`` before the first step."""
    result = np.empty((part.stop - part.start, *first.shape), first.dtype)
    if backwards:
        result[-1] = values[part.stop] if part.stop < len(values) else first
        result[:-1] = values[part.start + 1 : part.stop]
    else:
        result[0] = values[part.start - 1] if part.start else first
        result[1:] = values[part.start : part.stop - 1]
    return result


def _blocks(parameter: Any, size: int, sigmoids: slice = slice(0)) -> Any:
    """Return a copy of a parameter with a block for each gate, rolled by one; halve ``sigmoids`` for ``_logistic``."""
    blocks = np.roll(parameter.reshape(-1, size, *parameter.shape[1:]), 1, 0)
    blocks[sigmoids] *= 0.5
    return blocks


def _logistic(half: Any) -> None:
    """Replace x by the logistic function of 2 x, in place: (1 + tanh(x)) / 2, so one call computes all gates.

    tanh is NumPy's fast one: the BLAS products before it also differ between processors.
    """
    np.multiply(half, 0.5, half)
    np.add(half, 0.5, half)


def _products(x: Any, weight: Any) -> Any:
    """Return the contributions of all inputs to the gates: (gates, length, batch, size)."""
    result = caching_allocator.empty((len(weight), *x.shape[:2], weight.shape[1]), x.dtype)
    rows = x.reshape(-1, x.shape[2])
    for block, out in zip(weight, result, strict=True):
        np.dot(rows, block.T, out.reshape(len(rows), -1))
    return result


def _transposed(weight: Any) -> Any:
    """Compute the transposes of blocks, contiguous, as they are multiplied with at each step."""
    return np.ascontiguousarray(weight.swapaxes(1, 2))


def input_back(slopes: Any, weight: Any) -> Any:
    """Compute the gradient of all inputs from the gradients of their contributions to the gates."""
    if isinstance(slopes, Tensor):
        return slopes  # by_steps already returns the gradient of the inputs
    _, length, batch, size = slopes.shape
    result = caching_allocator.empty((length * batch, weight.shape[1]), weight.dtype)
    work = np.empty_like(result)
    for gate, (slope, block) in enumerate(zip(slopes, _blocks(weight, size), strict=True)):
        np.dot(slope.reshape(-1, size), block, work if gate else result)
        if gate:
            np.add(result, work, result)
    return result.reshape(length, batch, -1)


def _parameters_back(slopes: Any, inputs: Any, bias: Any, shift: int = -1) -> tuple[Any, Any]:
    """Compute the gradients of a weight, a product over all steps for each gate, and of its bias, unless that is None.

    :param inputs: the factors of the weight at all steps.
    :param shift: the roll of the blocks that gives the parameters' order.
    """
    rows, size = inputs.reshape(-1, inputs.shape[-1]), slopes.shape[-1]
    blocks = np.stack([slope.reshape(-1, size).T.dot(rows) for slope in slopes])
    weight = np.roll(blocks, shift, 0).reshape(-1, rows.shape[1])
    if bias is None:
        return weight, None
    return weight, np.roll(pairwise_sum(slopes.reshape(len(slopes), -1, size), (1,)), shift, 0).reshape(-1)


def _layer(node: str, symbol: str, gradients: str, state: str = "h", **options: Any) -> Callable[[F], F]:
    """Declare a layer, of which one call computes all gradients: of the gates, the parameters and the state."""
    formulas = {name: f"{gradients}[{i}]" for i, name in enumerate(("w_ih", "w_hh", "b_ih", "b_hh", *state), 1)}
    return no_method(node=node, symbol=symbol, input=f"input_back({gradients}[0], w_ih)", **formulas, **options)


# -- Elman's -----------------------------------------------------------------------------------------------------------


@_layer("RnnLayerBackward0", "rnn", "rnn_back(g, input, w_ih, w_hh, b_ih, b_hh, h, result, mode, backwards)")
def _rnn(
    input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None, h: Tensor, mode: str,
    backwards: bool,
) -> Tensor:  # fmt: skip
    """Return the states after all steps."""
    result = _products(input, w_ih[None])[0]
    w, product = np.ascontiguousarray(w_hh.T), np.empty_like(h, order="C")
    b = None if b_ih is None else repeated(b_ih + b_hh, len(h))
    for t in _order(len(result), backwards):
        state = result[t]
        np.dot(h, w, product)
        np.add(state, product, state)
        if b is not None:
            np.add(state, b, state)
        if mode == "RNN_TANH":
            np.tanh(state, state)
        else:
            np.maximum(state, 0, out=state)
        h = state
    return result


def rnn_back(
    g: Any, x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, h: Any, result: Any, mode: str, backwards: bool
) -> Any:
    """Compute the gradients of the gates, for ``input_back``, and of parameters and state."""
    if isinstance(x, Tensor):
        return by_steps([g], mode, backwards, x, w_ih, w_hh, b_ih, b_hh, h)
    slopes = caching_allocator.empty((1, *result.shape), result.dtype)
    carried = np.zeros_like(h, order="C")
    for part, steps in _parts(len(result), h.size, not backwards):
        slope, value, cotangent = slopes[0, part], result[part], g[part]
        if mode == "RNN_TANH":
            np.multiply(value, value, slope)
            np.subtract(1, slope, slope)
        else:
            np.greater(value, 0, slope, casting="unsafe")
        for t in steps:
            np.add(carried, cotangent[t], carried)
            np.multiply(slope[t], carried, slope[t])
            np.dot(slope[t], w_hh, carried)
    of_ih, of_bias = _parameters_back(slopes, x, b_ih)
    of_hh, _ = _parameters_back(slopes, _before(result, h, slice(0, len(result)), backwards), None)
    return slopes, of_ih, of_hh, of_bias, copy(of_bias), carried


# -- long short-term memory ------------------------------------------------------------------------------------------

LSTM_BACK = "lstm_back(g, input, w_ih, w_hh, b_ih, b_hh, h, c, result[0], result[2], result[3], backwards)"


@_layer("MkldnnRnnLayerBackward0", "lstm", LSTM_BACK, "hc", many=True)
def _lstm(
    input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None, h: Tensor, c: Tensor,
    backwards: bool,
) -> Any:  # fmt: skip
    """Return the outputs of all steps and the last cell state; then gates (o, i, f, g) and cell states of all steps."""
    length, batch, size = len(input), *h.shape
    gates = _products(input, _blocks(w_ih, size, slice(3)))
    output, cells = (caching_allocator.empty((length, batch, size), input.dtype) for _ in range(2))
    w = _transposed(_blocks(w_hh, size, slice(3)))
    b = None if b_ih is None else np.repeat(_blocks(b_ih + b_hh, size, slice(3))[:, None], batch, 1)
    product, part = np.empty((4, batch, size), h.dtype), np.empty_like(h, order="C")
    for t in _order(length, backwards):
        gate, cell, state = gates[:, t], cells[t], output[t]
        np.matmul(h, w, product)
        np.add(gate, product, gate)
        if b is not None:
            np.add(gate, b, gate)
        np.tanh(gate, gate)
        _logistic(gate[:3])
        np.multiply(gate[2], c, cell)
        np.multiply(gate[1], gate[3], part)
        np.add(cell, part, cell)
        np.tanh(cell, part)
        np.multiply(gate[0], part, state)
        h, c = state, cell
    return output, c.copy(), gates, cells


def lstm_back(
    g: Any, x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, h: Any, c: Any, output: Any, gates: Any, cells: Any,
    backwards: bool,
) -> Any:  # fmt: skip
    """Compute the gradients of the gates, for ``input_back``, and of parameters, hidden state and cell state."""
    if isinstance(x, Tensor):
        return by_steps(g[:2], "LSTM", backwards, x, w_ih, w_hh, b_ih, b_hh, h, c)
    length, batch, size = output.shape
    slopes = caching_allocator.empty(gates.shape, gates.dtype)
    w, products = _blocks(w_hh, size), np.empty((4, batch, size), h.dtype)
    carried, work = np.zeros_like(h, order="C"), np.empty_like(h, order="C")
    cell_grad = np.zeros_like(carried) if g[1] is None else g[1].copy()
    for part, steps in _parts(length, products.size, not backwards):
        gate, slope = gates[:, part], slopes[:, part]
        of_output, of_input, of_forget, candidate = gate
        through = np.tanh(cells[part])
        np.subtract(1, gate[:3], slope[:3])  # of each gate: its slope, times its factor
        np.multiply(slope[:3], gate[:3], slope[:3])
        np.multiply(candidate, candidate, slope[3])
        np.subtract(1, slope[3], slope[3])
        for own, factor in zip(slope, (through, candidate, _before(cells, c, part, backwards), of_input), strict=True):
            np.multiply(own, factor, own)
        np.multiply(through, through, through)
        np.subtract(1, through, through)
        np.multiply(through, of_output, through)  # from the output to the cell
        for t in steps:
            if g[0] is not None:
                np.add(carried, g[0][part.start + t], carried)
            np.multiply(carried, through[t], work)
            np.add(cell_grad, work, cell_grad)
            now = slope[:, t]
            np.multiply(now[0], carried, now[0])
            np.multiply(now[1:], cell_grad, now[1:])
            np.multiply(cell_grad, of_forget[t], cell_grad)
            np.matmul(now, w, products)
            np.add.reduce(products, 0, None, carried)
    of_ih, of_bias = _parameters_back(slopes, x, b_ih)
    of_hh, _ = _parameters_back(slopes, _before(output, h, slice(0, length), backwards), None)
    return slopes, of_ih, of_hh, of_bias, copy(of_bias), carried, cell_grad


# -- gated recurrent units -------------------------------------------------------------------------------------------

GRU_BACK = "gru_back(g, input, w_ih, w_hh, b_ih, b_hh, h, result[0], result[1], result[2], backwards)"


@_layer("GruLayerBackward0", "gru", GRU_BACK, many=True)
def _gru(
    input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None, h: Tensor, backwards: bool
) -> Any:
    """Return the states after all steps; then the gates (n, r, z) of all steps, and the factor of the reset gate."""
    length, batch, size = len(input), *h.shape
    sigmoids = slice(1, 3)
    gates = _products(input, _blocks(w_ih, size, sigmoids))
    output, hidden = (caching_allocator.empty((length, batch, size), input.dtype) for _ in range(2))
    w = _transposed(_blocks(w_hh, size, sigmoids))
    if b_ih is not None:
        b = _blocks(b_hh, size, sigmoids)
        b[1:] += _blocks(b_ih, size, sigmoids)[1:]
        b, b_new = np.repeat(b[:, None], batch, 1), repeated(b_ih[2 * size :], batch)
    product, part = np.empty((3, batch, size), h.dtype), np.empty_like(h, order="C")
    for t in _order(length, backwards):
        gate, state = gates[:, t], output[t]
        new, both = gate[0], gate[1:]
        np.matmul(h, w, product)
        if b_ih is not None:
            np.add(product, b, product)
            np.add(new, b_new, new)
        np.add(both, product[1:], both)
        np.tanh(both, both)
        _logistic(both)
        hidden[t] = product[0]
        np.multiply(product[0], gate[1], part)
        np.add(new, part, new)
        np.tanh(new, new)
        np.subtract(h, new, state)
        np.multiply(state, gate[2], state)
        np.add(state, new, state)
        h = state
    return output, gates, hidden


def gru_back(
    g: Any, x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, h: Any, output: Any, gates: Any, hidden: Any,
    backwards: bool,
) -> Any:  # fmt: skip
    """Compute the gradients of the gates, for ``input_back``, and of parameters and state."""
    if isinstance(x, Tensor):
        return by_steps(g[:1], "GRU", backwards, x, w_ih, w_hh, b_ih, b_hh, h)
    length, batch, size = output.shape
    # First the new gate as the input contributes to it, then reset and update, last the new gate as the state does.
    slopes = caching_allocator.empty((4, *output.shape), output.dtype)
    w, products = w_hh.reshape(3, size, size), np.empty((3, batch, size), h.dtype)
    carried, work = np.zeros_like(h, order="C"), np.empty_like(h, order="C")
    for part, steps in _parts(length, products.size, not backwards):
        slope, (new, reset, update) = slopes[:, part], gates[:, part]
        of_new, of_reset, of_update, of_hidden = slope
        np.multiply(new, new, of_new)
        np.subtract(1, of_new, of_new)
        np.subtract(1, update, of_update)
        np.multiply(of_new, of_update, of_new)
        np.multiply(of_new, reset, of_hidden)
        np.multiply(of_update, update, of_update)
        np.multiply(of_update, _before(output, h, part, backwards) - new, of_update)
        np.subtract(1, reset, of_reset)
        np.multiply(of_reset, of_hidden, of_reset)
        np.multiply(of_reset, hidden[part], of_reset)
        for t in steps:
            np.add(carried, g[0][part.start + t], carried)
            now = slope[:, t]
            np.multiply(now, carried, now)
            np.multiply(carried, update[t], work)
            np.matmul(now[1:], w, products)
            np.add.reduce(products, 0, None, carried)
            np.add(carried, work, carried)
    of_ih, of_b_ih = _parameters_back(slopes[:3], x, b_ih)
    of_hh, of_b_hh = _parameters_back(slopes[1:], _before(output, h, slice(0, length), backwards), b_hh, 0)
    return slopes[:3], of_ih, of_hh, of_b_ih, of_b_hh, carried
