"""Recurrent layers as one node: all steps of a sequence forward, and a backward pass that is written out.

Step by step (``recurrent.py``), a step of an LSTM is a dozen nodes, each weight's gradient is a product and a sum per
step, and a picture shows them all. Here the slopes of all steps are computed at once, what is left for the loop is what
depends on the step before, and the gradient of a weight is one product over all steps. Tensors differentiate the steps
themselves, so that derivatives have derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nbautograd.arrays import caching_allocator
from nbautograd.arrays.rows import repeated
from nbautograd.arrays.summation import pairwise_sum
from nbautograd.compiler.op import op
from nbautograd.core.tensor import Tensor
from nbautograd.nn.functional._common import gradients_of_steps, is_fusible
from nbautograd.nn.functional.recurrent import STEPS, State, run
from nbautograd.ops.shape.joining import stack

__all__ = ["fused", "is_fused"]

MIN_SIZE = 1 << 12
"""Minimum number of gate values of a fused layer; a smaller one is recorded step by step, as pictures show it."""
PART_SIZE = 1 << 15
"""About how many gate values of a backward pass are computed at a time."""


def is_fused(x: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None) -> bool:
    """Whether a layer is computed as one node: it is large, on the CPU, and nobody looks at its steps."""
    operands = (x, *state, w_hh) if b_hh is None else (x, *state, w_hh, b_hh)
    return x._a.size >= MIN_SIZE and is_fusible(*operands)


def fused(
    mode: str, x: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None, backwards: bool
) -> tuple[Tensor, State]:
    """The outputs of all steps, and the last state, of a layer for which ``is_fused`` holds.

    :param mode: a key of ``STEPS``.
    :param x: what the inputs of all steps contribute, shape (length, batch, gates * size).
    """
    if mode == "LSTM":
        output, cell, *_ = _lstm(x, *state, w_hh, b_hh, backwards)
    elif mode == "GRU":
        output, *_ = _gru(x, *state, w_hh, b_hh, backwards)
    else:
        output = _rnn(x, *state, w_hh, b_hh, mode, backwards)
    last = output[0 if backwards else -1]
    return output, (last, cell) if mode == "LSTM" else (last,)


def by_steps(
    g: Any, mode: str, x: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None, backwards: bool
) -> list[Tensor | None]:
    """The gradients of a layer's operands as tensors, recorded: its steps are computed anew and differentiated.

    :param g: the gradients of the outputs and, of an LSTM, of the last cell state; None for one that is missing.
    """

    def outputs(x: Tensor, *operands: Tensor | None) -> list[Tensor]:
        *first, weight, bias = operands
        steps, last = run(list(x.unbind(0)), tuple(first), STEPS[mode][1](weight, bias, None), backwards)
        return [stack(steps), *last[1:]]

    return gradients_of_steps(g, outputs, (x, *state, w_hh, b_hh))


# -- what the kinds have in common -----------------------------------------------------------------------------------


def _order(length: int, backwards: bool) -> range:
    return range(length - 1, -1, -1) if backwards else range(length)


def _parts(length: int, width: int, backwards: bool) -> Iterator[tuple[slice, range]]:
    """Some steps after the others: their slice, and their numbers within it in the order in which they come.

    :param width: the numbers of a step, of which those of a part fit into the cache.
    """
    count = max(1, PART_SIZE // max(width, 1))
    for first in range(0, length, count):
        steps = min(count, length - first)
        start = length - first - steps if backwards else first
        yield slice(start, start + steps), _order(steps, backwards)


def _before(values: Any, first: Any, part: slice, backwards: bool) -> Any:
    """What ``values`` are before each step of a part, as a new array; ``first`` before the first step."""
    result = np.empty((part.stop - part.start, *first.shape), first.dtype)
    if backwards:
        result[-1] = values[part.stop] if part.stop < len(values) else first
        result[:-1] = values[part.start + 1 : part.stop]
    else:
        result[0] = values[part.start - 1] if part.start else first
        result[1:] = values[part.start : part.stop - 1]
    return result


def _weight_back(slopes: Any, output: Any, h: Any, backwards: bool) -> Any:
    """The gradient of the recurrent weight: one product over all steps, and one for the first."""
    rows, before = (slopes[:-1], output[1:]) if backwards else (slopes[1:], output[:-1])
    result = slopes[-1 if backwards else 0].T.dot(h)
    if len(rows):
        result += rows.reshape(-1, rows.shape[-1]).T.dot(before.reshape(-1, before.shape[-1]))
    return result


def _bias_back(slopes: Any) -> Any:
    return pairwise_sum(slopes.reshape(-1, slopes.shape[-1]), (0,))


def _halved(sigmoids: list[bool], like: Any) -> tuple[Any, Any]:
    """The factor and the term by which tanh of half of a number becomes its logistic function; 1 and 0 for tanh itself.

    So one call computes all gates. The functions are NumPy's own, fast ones: what the BLAS multiplies before them is
    not the same on every processor either.

    :param sigmoids: of each gate, whether it is a logistic function.
    """
    pairs = [(0.5, 0.5) if is_sigmoid else (1.0, 0.0) for is_sigmoid in sigmoids]
    factor, term = np.repeat(np.array(pairs, like.dtype), like.shape[-1], 0).T
    return repeated(factor, len(like)), repeated(term, len(like))


# -- Elman's -----------------------------------------------------------------------------------------------------------


@op(
    node="RnnLayerBackward0",
    symbol="rnn",
    method=False,
    input="rnn_back(g, input, h, weight, bias, result, mode, backwards)[0]",
    h="rnn_back(g, input, h, weight, bias, result, mode, backwards)[1]",
    weight="rnn_back(g, input, h, weight, bias, result, mode, backwards)[2]",
    bias="rnn_back(g, input, h, weight, bias, result, mode, backwards)[3]",
)
def _rnn(input: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None, mode: str, backwards: bool) -> Tensor:
    """The states after all steps."""
    result = caching_allocator.empty(input.shape, input.dtype)
    w, product = np.ascontiguousarray(weight.T), np.empty_like(h, order="C")
    b = None if bias is None else repeated(bias, len(h))
    for t in _order(len(result), backwards):
        state = result[t]
        np.dot(h, w, product)
        np.add(input[t], product, state)
        if b is not None:
            np.add(state, b, state)
        if mode == "RNN_TANH":
            np.tanh(state, state)
        else:
            np.maximum(state, 0, out=state)
        h = state
    return result


def rnn_back(g: Any, x: Any, h: Any, weight: Any, bias: Any, result: Any, mode: str, backwards: bool) -> Any:
    """The gradients of input, state, weight and bias."""
    if isinstance(x, Tensor):
        return by_steps([g], mode, x, (h,), weight, bias, backwards)
    slopes = caching_allocator.empty(result.shape, result.dtype)
    carried = np.zeros_like(h, order="C")
    for part, steps in _parts(len(result), h.size, not backwards):
        slope, value, cotangent = slopes[part], result[part], g[part]
        if mode == "RNN_TANH":
            np.multiply(value, value, slope)
            np.subtract(1, slope, slope)
        else:
            np.greater(value, 0, slope, casting="unsafe")
        for t in steps:
            np.add(carried, cotangent[t], carried)
            np.multiply(slope[t], carried, slope[t])
            np.dot(slope[t], weight, carried)
    bias_grad = None if bias is None else _bias_back(slopes)
    return slopes, carried, _weight_back(slopes, result, h, backwards), bias_grad


# -- long short-term memory ------------------------------------------------------------------------------------------


@op(
    node="LstmLayerBackward0",
    symbol="lstm",
    method=False,
    many=True,
    input="lstm_back(g, input, h, c, weight, bias, result[0], result[2], result[3], backwards)[0]",
    h="lstm_back(g, input, h, c, weight, bias, result[0], result[2], result[3], backwards)[1]",
    c="lstm_back(g, input, h, c, weight, bias, result[0], result[2], result[3], backwards)[2]",
    weight="lstm_back(g, input, h, c, weight, bias, result[0], result[2], result[3], backwards)[3]",
    bias="lstm_back(g, input, h, c, weight, bias, result[0], result[2], result[3], backwards)[4]",
)
def _lstm(input: Tensor, h: Tensor, c: Tensor, weight: Tensor, bias: Tensor | None, backwards: bool) -> Any:
    """The outputs of all steps and the last cell state; then the gates and the cell states of all steps."""
    length, batch, size = len(input), *h.shape
    factor, term = _halved([True, True, False, True], h)
    gates = caching_allocator.empty(input.shape, input.dtype)
    output, cells = (caching_allocator.empty((length, batch, size), input.dtype) for _ in range(2))
    w, b = np.multiply(np.ascontiguousarray(weight.T), factor[0]), None if bias is None else bias * factor
    product, part = np.empty_like(gates[0]), np.empty_like(h, order="C")
    for t in _order(length, backwards):
        gate, cell = gates[t], cells[t]
        np.multiply(input[t], factor, gate)
        np.dot(h, w, product)
        np.add(gate, product, gate)
        if b is not None:
            np.add(gate, b, gate)
        np.tanh(gate, gate)
        np.multiply(gate, factor, gate)
        np.add(gate, term, gate)
        np.multiply(gate[:, size : 2 * size], c, cell)
        np.multiply(gate[:, :size], gate[:, 2 * size : 3 * size], part)
        np.add(cell, part, cell)
        np.tanh(cell, part)
        np.multiply(gate[:, 3 * size :], part, output[t])
        h, c = output[t], cell
    return output, c.copy(), gates, cells


def lstm_back(
    g: Any, x: Any, h: Any, c: Any, weight: Any, bias: Any, output: Any, gates: Any, cells: Any, backwards: bool
) -> Any:
    """The gradients of input, hidden state, cell state, weight and bias."""
    if isinstance(x, Tensor):
        return by_steps(g[:2], "LSTM", x, (h, c), weight, bias, backwards)
    length, batch, size = output.shape
    slopes = caching_allocator.empty(gates.shape, gates.dtype)
    carried, work = np.zeros_like(h, order="C"), np.empty_like(h, order="C")
    cell_grad = np.zeros_like(carried) if g[1] is None else g[1].copy()
    for part, steps in _parts(length, gates[0].size, not backwards):
        gate, slope = gates[part], slopes[part]
        np.subtract(1, gate, slope)  # of each gate: its own slope, times what it was multiplied by
        np.multiply(slope, gate, slope)
        gate, parts = (a.reshape(-1, batch, 4, size) for a in (gate, slope))
        candidate, through = gate[:, :, 2], np.tanh(cells[part])
        parts[:, :, 0] *= candidate
        parts[:, :, 1] *= _before(cells, c, part, backwards)
        parts[:, :, 2] = (1 - candidate * candidate) * gate[:, :, 0]
        parts[:, :, 3] *= through
        np.multiply(through, through, through)
        np.subtract(1, through, through)
        through *= gate[:, :, 3]  # from the output to the cell
        for t in steps:
            if g[0] is not None:
                np.add(carried, g[0][part.start + t], carried)
            np.multiply(carried, through[t], work)
            np.add(cell_grad, work, cell_grad)
            np.multiply(parts[t, :, :3], cell_grad[:, None], parts[t, :, :3])
            np.multiply(parts[t, :, 3], carried, parts[t, :, 3])
            np.multiply(cell_grad, gate[t, :, 1], cell_grad)
            np.dot(slope[t], weight, carried)
    bias_grad = None if bias is None else _bias_back(slopes)
    return slopes, carried, cell_grad, _weight_back(slopes, output, h, backwards), bias_grad


# -- gated recurrent units -------------------------------------------------------------------------------------------


@op(
    node="GruLayerBackward0",
    symbol="gru",
    method=False,
    many=True,
    input="gru_back(g, input, h, weight, bias, result[0], result[1], result[2], backwards)[0]",
    h="gru_back(g, input, h, weight, bias, result[0], result[1], result[2], backwards)[1]",
    weight="gru_back(g, input, h, weight, bias, result[0], result[1], result[2], backwards)[2]",
    bias="gru_back(g, input, h, weight, bias, result[0], result[1], result[2], backwards)[3]",
)
def _gru(input: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None, backwards: bool) -> Any:
    """The states after all steps; then the gates of all steps, and what the reset gate was multiplied by."""
    length, batch, size = len(input), *h.shape
    factor, term = _halved([True, True], h)
    gates = caching_allocator.empty(input.shape, input.dtype)
    output, hidden = (caching_allocator.empty((length, batch, size), input.dtype) for _ in range(2))
    w, b = np.ascontiguousarray(weight.T), None if bias is None else repeated(bias, batch)
    product, part = np.empty_like(gates[0]), np.empty_like(h, order="C")
    for t in _order(length, backwards):
        both, new, state = gates[t, :, : 2 * size], gates[t, :, 2 * size :], output[t]
        np.dot(h, w, product)
        if b is not None:
            np.add(product, b, product)
        np.add(input[t, :, : 2 * size], product[:, : 2 * size], both)
        np.multiply(both, factor, both)
        np.tanh(both, both)
        np.multiply(both, factor, both)
        np.add(both, term, both)
        hidden[t] = product[:, 2 * size :]
        np.multiply(hidden[t], both[:, :size], part)
        np.add(input[t, :, 2 * size :], part, new)
        np.tanh(new, new)
        np.subtract(h, new, state)
        np.multiply(state, both[:, size:], state)
        np.add(state, new, state)
        h = state
    return output, gates, hidden


def gru_back(
    g: Any, x: Any, h: Any, weight: Any, bias: Any, output: Any, gates: Any, hidden: Any, backwards: bool
) -> Any:
    """The gradients of input, state, weight and bias."""
    if isinstance(x, Tensor):
        return by_steps(g[:1], "GRU", x, (h,), weight, bias, backwards)
    length, batch, size = output.shape
    slopes, inner = (caching_allocator.empty(gates.shape, gates.dtype) for _ in range(2))
    carried, work = np.zeros_like(h, order="C"), np.empty_like(h, order="C")
    for part, steps in _parts(length, gates[0].size, not backwards):
        # By what the state's gradient is multiplied, of each gate: as the input sees it, and as the hidden state does.
        slope, gate, own = slopes[part], gates[part], inner[part]
        np.subtract(1, gate, slope)
        kept = slope[:, :, size : 2 * size].copy()
        np.multiply(slope, gate, slope)
        reset, update, new = (gate[:, :, i * size : (i + 1) * size] for i in range(3))
        kept *= 1 - new * new
        slope[:, :, :size] *= kept * hidden[part]
        slope[:, :, size : 2 * size] *= _before(output, h, part, backwards) - new
        slope[:, :, 2 * size :] = kept
        np.copyto(own[:, :, : 2 * size], slope[:, :, : 2 * size])
        np.multiply(kept, reset, own[:, :, 2 * size :])
        for t in steps:
            np.add(carried, g[0][part.start + t], carried)
            for array in (slope[t], own[t]):
                blocks = array.reshape(batch, 3, size)
                np.multiply(blocks, carried[:, None], blocks)
            np.multiply(carried, update[t], work)
            np.dot(own[t], weight, carried)
            np.add(carried, work, carried)
    bias_grad = None if bias is None else _bias_back(inner)
    return slopes, carried, _weight_back(inner, output, h, backwards), bias_grad
