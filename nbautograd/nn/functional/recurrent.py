"""Recurrent layers step by step: one step of each kind, and the loop over steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.selection import relu
from nbautograd._engine.ops.elementwise.trigonometric import tanh
from nbautograd._engine.ops.shape.joining import cat
from nbautograd.nn.functional.linear import linear

__all__ = ["STEPS", "State", "Step", "run"]

State = tuple[Tensor, ...]  # the hidden state; for an LSTM, also the cell state
Step = Callable[[Tensor, State], State]  # from the input's contribution and the state to the next state


def _elman(nonlinearity: Callable[[Tensor], Tensor]) -> Any:
    """Return ``tanh(w_ih x + b_ih + w_hh h + b_hh)``, or with ReLU (Elman, 1990)."""

    def maker(w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Step:
        def step(x: Tensor, state: State) -> State:
            return (nonlinearity(x + linear(state[0], w_hh, b_hh)),)

        return step

    return maker


def _lstm(w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Step:
    """Return a step of long short-term memory (Hochreiter and Schmidhuber, 1997; projections: Sak et al., 2014)."""

    def step(x: Tensor, state: State) -> State:
        h, c = state
        i, f, g, o = (x + linear(h, w_hh, b_hh)).chunk(4, -1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        c = f * c + i * g
        h = o * c.tanh()
        return (h if w_hr is None else linear(h, w_hr)), c

    return step


def _gru(w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Step:
    """Return a step of a gated recurrent unit (Cho et al., 2014)."""

    def step(x: Tensor, state: State) -> State:
        (h,) = state
        x_r, x_z, x_n = x.chunk(3, -1)
        h_r, h_z, h_n = linear(h, w_hh, b_hh).chunk(3, -1)
        reset, update = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
        new = (x_n + h_n * reset).tanh()
        return ((h - new) * update + new,)

    return step


STEPS: dict[str, tuple[int, Any]] = {  # the number of gates, and the function that makes a step
    "RNN_TANH": (1, _elman(tanh)),
    "RNN_RELU": (1, _elman(relu)),
    "LSTM": (4, _lstm),
    "GRU": (3, _gru),
}


def run(steps: list[Tensor], state: State, step: Step, backwards: bool) -> tuple[list[Tensor], State]:
    """Return the outputs of all steps and the last state; in a packed batch, later steps have fewer rows."""
    outputs: list[Tensor] = []
    if backwards:
        first = state
        state = tuple(s[: steps[-1].shape[0]] for s in first) if steps else first
        for x in reversed(steps):
            now, rows = state[0].shape[0], x.shape[0]
            if rows > now:
                state = tuple(cat([s, f[now:rows]]) for s, f in zip(state, first, strict=True))
            state = step(x, state)
            outputs.append(state[0])
        return outputs[::-1], state
    ended: list[State] = []
    for x in steps:
        rows = x.shape[0]
        if rows < state[0].shape[0]:
            ended.append(tuple(s[rows:] for s in state))
            state = tuple(s[:rows] for s in state)
        state = step(x, state)
        outputs.append(state[0])
    if ended:
        state = tuple(cat(parts[::-1]) for parts in zip(*ended, state, strict=True))
    return outputs, state
