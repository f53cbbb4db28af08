"""Test programs with functions and loops: they equal the flat ones, and are as short as the original loops."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd import nn, viz
from nbautograd._engine.core.tracing import traced
from tests import oracle
from tests.pictures.program.runs import run, same_bits
from tests.pictures.program.test_programs import built, leaves_in, mlp, rnn, transformer
from tests.product.fuzz.guard import LONG


def layers() -> dict[str, Any]:
    """A small transformer: an embedding, three layers, a head."""
    net = nn.Sequential(
        nn.Embedding(10, 8),
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), 3),
        nn.Linear(8, 10),
    )
    words = nb.randint(0, 10, (2, 5))
    y = nn.functional.cross_entropy(net(words).flatten(0, 1), words.flatten())
    return locals()


def cells() -> dict[str, Any]:
    """A module that is called in each step, whose outputs are collected, and a state of two tensors."""
    cell, xs = nn.LSTMCell(3, 4), nb.randn(6, 2, 3)
    h, c, outs = nb.zeros(2, 4), nb.zeros(2, 4), []
    for x in xs:
        h, c = cell(x, (h, c))
        outs.append(h)
    y = nb.stack(outs).square().mean()
    return locals()


def stacked() -> dict[str, Any]:
    """Layers with weights of their own, in a loop."""
    weights = [nb.randn(4, 4, requires_grad=True) for _ in range(8)]
    x = nb.randn(2, 4, requires_grad=True)
    h = x + 1
    for i in range(8):
        h = (h @ weights[i]).tanh() + h * 0.5
    y = h.sum()
    return {**locals(), **{f"weights[{i}]": weights[i] for i in range(8)}}


def nested() -> dict[str, Any]:
    """A loop in a loop."""
    w, h, x = nb.randn(4, 4, requires_grad=True), nb.randn(2, 4), nb.randn(2, 4, requires_grad=True)
    for _ in range(4):
        for _ in range(5):
            h = (h @ w + x).tanh()
        h = h * x
    y = h.sum()
    return locals()


MODELS = (mlp, rnn, transformer, layers, cells, stacked, nested)


def code_of(names: dict[str, Any], **options: Any) -> Any:
    return viz.code(names["y"], namespace=names, **options)


def statements(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(("#", '"""'))]


@pytest.mark.parametrize("model", MODELS)
def test_folded_programs_give_the_same_bits(model: Any) -> None:
    names = built(model)
    folded, flat = code_of(names, flat=False).program, code_of(names, flat=True).program
    assert folded.folded is not None and flat.folded is None
    first, second = run(folded), run(flat)
    names["y"].backward()
    leaves = leaves_in(names)
    assert {*leaves} == {*first} == {*second}
    for name, leaf in leaves.items():
        assert same_bits(first[name], second[name]) and same_bits(first[name], leaf.grad.numpy()), name


@pytest.mark.parametrize("model", MODELS)
def test_in_tensors(model: Any) -> None:
    names = built(model)
    program = code_of(names, library="torch", flat=False).program
    assert program.folded is not None
    theirs = dict(oracle.answer(lambda T: run(program, T)).parts)
    gradients = run(program, nb)
    names["y"].backward()
    for name, leaf in leaves_in(names).items():
        oracle.close(gradients[name], theirs[name])
        oracle.close(leaf.grad, theirs[name])


def test_twenty_steps_are_one_loop() -> None:
    text = code_of(built(rnn)).text
    assert "for turn in range(20):" in text and "for turn in reversed(range(20)):" in text
    assert len(re.findall(r"np\.tanh", text)) == 1
    assert "h[turn - 1] @ W" in text and "g_h[turn - 1] = " in text and "h = {-1: " in text
    assert next(line for line in statements(text) if "np.tanh" in line).lstrip().startswith("h[turn] = ")


@pytest.mark.sweep
def test_layers_share_a_function() -> None:
    names = built(layers)
    code = code_of(names)
    functions = [node.name for node in ast.parse(code.text).body if isinstance(node, ast.FunctionDef)]
    assert functions.count("transformer_encoder_layer") == functions.count("transformer_encoder_layer_backward") == 1
    assert len(re.findall(r"= transformer_encoder_layer\(", code.text)) == 3
    assert '"""TransformerEncoderLayer, called 3 times."""' in code.text
    assert len(statements(code.text)) < 0.65 * len(statements(code_of(names, flat=True).text))
    assert max(len(line) for line in code.program.definitions.split("\n")) < 200


@pytest.mark.sweep
def test_functions_are_closed_in_a_notebook_and_lines_stay_lines() -> None:
    shown = code_of(built(layers)).static_html()
    assert '<details><summary><span class="nb-word">def</span> transformer_encoder_layer(' in shown
    assert ".nb-code .nb-lines { white-space: pre; }" in shown


def test_layers_with_weights_of_their_own() -> None:
    text = code_of(built(stacked), flat=False).text
    assert "for turn in range(8):" in text and "weights[turn]" in text


def test_a_loop_in_a_loop() -> None:
    text = code_of(built(nested)).text
    assert (
        text.count("for turn in range(5):") <= 2
        and "for block in range(" in text
        and len(re.findall(r"np\.tanh", text)) <= 2
    )


def test_short_programs_are_one_line_after_the_other() -> None:
    names = built(mlp)
    assert code_of(names).program.folded is None
    assert code_of(names).text == code_of(names, flat=True).text
    assert "def linear" not in code_of(names, flat=False).text  # with two lines each
    assert code_of(built(rnn), flat=True).text.count("@ W") > 30


# -- random programs -----------------------------------------------------------------------------------------------

STEPS = [
    lambda h, x, w: (h @ w).tanh(), lambda h, x, w: h + x, lambda h, x, w: h * x, lambda h, x, w: h.sigmoid() * h,
    lambda h, x, w: h.t().reshape(2, 2), lambda h, x, w: h - w.sum(0), lambda h, x, w: x @ w + h,
    lambda h, x, w: h * 0.5, lambda h, x, w: h.clone().mul_(0.9), lambda h, x, w: nb.cat([h[:1], x[1:]]),
    lambda h, x, w: h.softmax(1),
]  # fmt: skip
NOTHING = (False,) * 6


class Block(nn.Module):
    """Random operations of a state, an input and a weight."""

    def __init__(self, steps: list[Any], weight: Any) -> None:
        super().__init__()
        self.steps, self.weight = steps, nn.Parameter(weight)

    def forward(self, h: Any, x: Any) -> Any:
        for step in self.steps:
            h = step(h, x, self.weight)
        return h


@pytest.mark.sweep
@given(st.data())
@settings(max_examples=500 if LONG else 40)
def test_random_loops_and_modules(data: Any) -> None:
    steps = st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=5)
    flags = st.lists(st.booleans(), min_size=6, max_size=6)
    computes_the_same(
        data.draw(st.integers(0, 9)), data.draw(st.booleans()), data.draw(st.integers(2, 6)), data.draw(steps),
        data.draw(steps), data.draw(st.integers(1, 2)), data.draw(st.booleans()), data.draw(st.booleans()),
        data.draw(flags), data.draw(flags),
    )  # fmt: skip


@pytest.mark.parametrize(
    "found",
    [
        (0, False, 5, [3, 3, 3, 0], [0], 1, True, False),  # elements of elements
        (7, False, 6, [1, 1, 1, 1, 1], [0, 2], 3, True, True),  # a list that a later loop also needs
        (0, True, 4, [4, 5], [5, 4, 8], 3, True, False),  # a constant that is transposed in memory
    ],
)
def test_programs_that_random_ones_have_found(found: Any) -> None:
    computes_the_same(*found)


def computes_the_same(
    seed: int, own_weights: bool, count: int, inner: list[int], after: list[int], states: int, collects: bool,
    twice: bool, inputs_need: Sequence[bool] = NOTHING, states_need: Sequence[bool] = NOTHING,
) -> None:  # fmt: skip
    """Check that a loop of modules, folded and flat, gives the numbers of the pass."""
    rng = np.random.default_rng(seed)

    def matrix() -> Any:
        return nb.tensor(rng.normal(size=(2, 2)), dtype=nb.float32)

    blocks = [Block([STEPS[i] for i in inner], matrix()) for _ in range(count if own_weights else 1)]
    x = matrix().requires_grad_()
    inputs = [matrix().requires_grad_(inputs_need[i]) for i in range(count)]
    h = [matrix().requires_grad_(states_need[i]) for i in range(states)]
    names: dict[str, Any] = {"x": x, "net": nn.ModuleList(blocks)}
    names |= {f"in{i}": t for i, t in enumerate(inputs)} | {f"h{i}": t for i, t in enumerate(h)}
    with traced():
        outs = []
        for i in range(count):
            block = blocks[i % len(blocks)]
            new = block(h[0], inputs[i])
            if twice:
                new = block(new, x)
            for step in after:
                new = STEPS[step](new, x, inputs[i])
            h = [*h[1:], new]
            outs.append(new)
        y = (nb.stack(outs) if collects else outs[-1]).sum() + x.sum()
    leaves = leaves_in(names)
    folded, flat = (viz.code(y, namespace=names, flat=flat).program for flat in (False, True))
    assert folded.folded is not None, flat.text
    first, second = run(folded), run(flat)
    y.backward()
    for name, leaf in leaves.items():
        assert (leaf.grad is None) == (name not in first)
        if leaf.grad is not None:
            assert same_bits(first[name], second[name]) and same_bits(first[name], leaf.grad.numpy()), folded.text
