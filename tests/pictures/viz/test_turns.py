"""The turns of a loop are called as the code counts them: by the loop's variable where it is known, else from 0."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.read import levels
from nbautograd.viz.read.levels import loop_of
from nbautograd.viz.read.segments import name_of
from tests import needs

from .player_pages import unfold

START = """
Wx, Wh, b = T.randn(3, 2, requires_grad=True), T.randn(3, 3, requires_grad=True), T.zeros(3, requires_grad=True)
xs, h, cell = T.randn(8, 2), T.zeros(3), T.nn.RNNCell(2, 3)
ys, z = T.randn(3, 3), T.randn(3)
"""
RNN = "    h = T.tanh(Wx @ xs[t] + Wh @ h + b)"
EIGHT = [f"t = {t}" for t in range(8)]
LOOPS: dict[str, tuple[str, list[str]]] = {
    "range": (f"for t in range(8):\n{RNN}", EIGHT),
    "from and to": (f"n = 5\nfor t in range(2, 2 + n):\n{RNN}", EIGHT[2:7]),
    "backwards": (f"for t in range(len(xs) - 1, -1, -2):\n{RNN}", ["t = 7", "t = 5", "t = 3", "t = 1"]),
    "enumerate": ("for t, x in enumerate(xs):\n    h = T.tanh(Wx @ x + Wh @ h)", EIGHT),
    "enumerate from 1": (
        "for t, x in enumerate(xs, 1):\n    h = T.tanh(Wx @ x + Wh @ h)",
        [f"t = {t}" for t in range(1, 9)],
    ),
    "reversed": (f"for t in reversed(range(xs.size(0))):\n{RNN}", EIGHT[::-1]),
    "a shape": (f"for t in range(xs.shape[0]):\n{RNN}", EIGHT),
    "zip": ("for x, t in zip(xs, range(8)):\n    h = T.tanh(Wx @ x + Wh @ h)", EIGHT),
    "the module of a turn": ("for t in range(8):\n    h = cell(xs[t], h)", EIGHT),
    "over elements": ("for x in xs:\n    h = T.tanh(Wx @ x + Wh @ h)", [f"turn {t}" for t in range(8)]),
    "while": (f"t = 0\nwhile t < 4:\n{RNN}\n    t += 1", [f"turn {t}" for t in range(4)]),
    "cut off": (f"for t in range(8):\n{RNN}\n    if t == 3:\n        h = h.detach()", [f"turn {t}" for t in range(4)]),
    "left": (f"for t in range(8):\n{RNN}\n    if t == 4:\n        break", [f"turn {t}" for t in range(5)]),
    "a part of each second turn": (
        f"for t in range(8):\n    if t % 2:\n        h = h * 2\n{RNN}",
        EIGHT,
    ),
    "in a function": (  # with another n
        f"def run(h, n):\n    for t in range(n):\n    {RNN}\n    return h\nn = 3\nh = run(h, 8)",
        [f"turn {t}" for t in range(8)],
    ),
    "in a function, of a number": (f"def run(h):\n    for t in range(8):\n    {RNN}\n    return h\nh = run(h)", EIGHT),
}

ARGUMENTS: dict[str, tuple[str, list[str]]] = {
    "an element": ("for t in range(3):\n    h = T.tanh(Wh @ h + ys[t])", ["h₀", "ys[0]", "ys[1]", "ys[2]"]),
    "a computed index": ("for t in range(3):\n    h = h * b + ys[t - 1]", ["h₀", "ys[-1]", "ys[0]", "ys[1]"]),
    "an element of a column": (
        "for t, _ in enumerate(ys):\n    h = h * b + ys[:, t]",
        ["h₀", "ys[:, 0]", "ys[:, 1]", "ys[:, 2]"],
    ),
    "an expression": (
        "for t in range(3):\n    h = T.nn.functional.mse_loss(h * b, 2 * ys[t])",
        ["h₀", "2 * ys[0]", "2 * ys[1]", "2 * ys[2]"],
    ),
    "numbers": ("for t in range(3):\n    h = (h * b).sum() - z[t]", ["h₀", "z[0]", "z[1]", "z[2]"]),
    "over elements": ("for u in ys.clone():\n    h = h * b + u", ["h₀", "u₁", "u₂", "u"]),
    "a function": (
        "def step(v):\n    return b * b + v\nfor t in range(3):\n    h = h + step(ys[t])",
        ["h₀", "v₁", "v₂", "v₃"],
    ),
    "a loop whose turns are unknown": (
        "i = 0\nwhile i < 3:\n    h = h * b + ys[i]\n    i += 1",
        ["h₀", *["ys[i]"] * 3],
    ),
}


def model_of(T: Any, name: str, code: str) -> Any:
    source = f"{START}{code}\ny = (h**2).sum()\n"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    namespace: dict[str, Any] = {"T": T, "__name__": "a_cell"}
    with tracing.traced(), viz.watch(namespace=namespace):
        exec(compile(source, name, "exec"), namespace)
    return viz.graph(namespace["y"], namespace=namespace).model


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
@pytest.mark.parametrize("name", LOOPS)
def test_turns_are_counted_as_the_code_counts(library: str, name: str) -> None:
    code, wanted = LOOPS[name]
    model = model_of(needs.package(library), f"{name} {library}.py", code)
    turns = [name_of([turn]) for turn in model.entire.turns]
    assert list(dict.fromkeys(turn for turn in turns if turn)) == wanted
    drawn = wanted if "second" not in name else [f"t = {t} … t = {t + 1}" for t in range(0, 8, 2)]
    loop = loop_of(model)
    if loop is not None:
        assert list(loop.names) == drawn
    assert {segment.label for segment in model.tree.inner() if segment.kind == "step"} <= {*wanted, *drawn}


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_of_a_turn_has_its_turn_in_its_name(library: str, name: str) -> None:
    code, wanted = ARGUMENTS[name]
    model = model_of(needs.package(library), f"{name} {library}.py", code)
    constants = [node.name for node in model.entire.nodes if node.kind == "constant" and node.shape]
    assert sorted(constants) == sorted(wanted)
    written = " ".join(node.expression for node in model.entire.nodes)
    assert all(each in written for each in wanted) and "other" not in written


def test_turns_of_a_loop_in_a_loop() -> None:
    nb = needs.package("nbautograd")
    code = f"for i in range(2):\n    for t in range(3):\n    {RNN}\n    h = h * 2"
    model = model_of(nb, "<nested>", code)
    turns = [[str(one) for _, one in sorted(turn.items())] for turn in model.entire.turns]
    seen = [turn for i, turn in enumerate(turns) if turn and turn not in turns[:i]]
    assert seen == [*([f"i = {i}", *more] for i in range(2) for more in (["t = 0"], ["t = 1"], ["t = 2"], []))]


SHARED = {
    "before the loop": "p = xs @ Wx.T\nfor t in range(8):\n    h = T.tanh(p[t] + Wh @ h)",
    "in a module": "out, h = T.nn.GRU(2, 3)(xs[:, None])",
}
"""Loops each turn of which uses what was computed before."""


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
@pytest.mark.parametrize("name", SHARED)
def test_what_each_turn_uses_does_not_divide_a_loop(library: str, name: str) -> None:
    model = model_of(needs.package(library), f"shared {name} {library}.py", SHARED[name])
    assert model.tree is not None
    times = [segment.times for segment in model.tree.inner() if segment.kind == "loop"]
    assert 7 <= max(times) <= 8  # the first turn has no result to begin with


def test_steps_are_not_named_by_the_loop_around_that_shows_one_turn() -> None:
    nb = needs.package("nbautograd")
    model = model_of(nb, "one turn", "for epoch in range(3):\n    out, h = T.nn.GRU(2, 3)(xs[:, None])")
    assert model.tree is not None
    steps = [segment.label for segment in model.tree.inner() if segment.kind == "step"]
    assert len(steps) > 5 and len({*steps}) == len(steps)
    assert not any(model.entire.turns)


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
def test_a_loop_is_called_by_the_variables_of_a_turn(library: str) -> None:
    code = "for t in range(8):\n    d = T.tanh(Wh @ h)\n    h = h + 0.1 * d"
    model = model_of(needs.package(library), f"variables {library}.py", code)
    titles = {node.symbol for level in (0, 1) for node in levels.view(model, level).nodes if node.times}
    assert titles == {"d, h ×8"}


def test_turns_are_counted_from_0_where_nothing_is_noted() -> None:
    nb = needs.package("nbautograd")
    w, h = nb.tensor(0.5, requires_grad=True), nb.tensor(1.0, requires_grad=True)
    for _ in range(5):
        h = nb.tanh(h * w + 1)
    model = viz.graph(h, namespace={}).model
    assert loop_of(model).names == tuple(f"turn {n}" for n in range(5))


@pytest.mark.browser
@needs.chromium
def test_the_grid_says_which_turn(open_page: Any) -> None:
    nb = needs.package("nbautograd")
    name = "<grid>"
    source = f"{START}for t in range(4):\n{RNN}\ny = (h**2).sum()\n"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    namespace: dict[str, Any] = {"T": nb, "__name__": "a_cell"}
    with tracing.traced():
        exec(compile(source, name, "exec"), namespace)
    page = open_page(viz.animate(namespace["y"], namespace=namespace))
    unfold(page)  # all turns
    shown = page.locator(".nb-stage svg text").all_text_contents()
    assert [text for text in shown if text.startswith("t = ")] == ["t = 0", "t = 1", "t = 2", "t = 3"]
    assert not [text for text in shown if text.startswith("step")]
