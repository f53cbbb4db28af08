"""Check which programs are not written, and that users' names never become code."""

from __future__ import annotations

import ast
import html
import re
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core.tracing import traced
from nbautograd.errors import ProgramError
from nbautograd.viz.program.names import identifier
from tests.pictures.program.runs import backward, run, same_bits, written
from tests.product.fuzz.guard import LONG


class Double(nb.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def hooked(x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y.sum()


def packed(x: Any) -> Any:
    with nb.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        return (x * x).sum()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: Double.apply(x).sum(), "DoubleBackward (test_refusals.py, line"),
        (hooked, "has hooks"),
        (packed, "packed by hooks"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(call: Any, words: str) -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ProgramError, match=r"a program cannot be written of \w+") as raised:
        written(call, [x])
    assert words in str(raised.value)
    assert x.grad is None


def test_more_refusals() -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    with pytest.raises(ProgramError, match="tracing was off"):
        viz.code(y)
    with pytest.raises(ProgramError, match="has no graph"):
        viz.code(x)
    with pytest.raises(ValueError, match="library must be one of numpy, torch"):
        viz.code(y, library="jax")
    with traced():
        z = x * x
    with pytest.raises(ProgramError, match="only for scalar outputs"):
        viz.code(z)
    with nb.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        viz.code(z.sum())
    x.register_hook(lambda g: g)
    with traced():
        u = (x + 1).sum()
    with pytest.raises(ProgramError, match="has hooks"):
        viz.code(u)


def test_a_leaf_written_to_after_a_pass_is_noticed() -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    with traced():
        y = (x * x).sum()
    y.backward()
    with nb.no_grad():
        x -= 0.1
    with pytest.raises(ProgramError, match="the leaf 'x', has been written to since"):
        viz.code(y, namespace={"x": x})
    big, zero = nb.ones(50, 50, requires_grad=True), nb.zeros(50, 50, requires_grad=True)
    with traced():
        y = (big * zero).sum()  # which stays the same when big changes
    y.backward()
    with nb.no_grad():
        big -= 0.1
    with pytest.raises(ProgramError, match="written to since"):
        viz.code(y)


def test_what_happens_later_changes_nothing() -> None:
    w = nb.ones(5, 5, requires_grad=True)
    with traced():
        y = (w * w).sum()
    code = viz.code(y, namespace={"w": w, "y": y})
    graph = weakref.ref(y.grad_fn)
    with nb.no_grad():
        w += 1
    assert run(code.program)["w"].tolist() == nb.full((5, 5), 2.0).tolist()
    del y
    assert graph() is None


def test_random_operations_have_the_numbers_that_were_drawn() -> None:
    x = nb.tensor([0.3, 0.9, 0.5], requires_grad=True)
    program, y = written(lambda x: (nb.bernoulli(x) + nb.nn.functional.dropout(x)).sum(), [x])
    found = run(program)
    backward(y)
    assert same_bits(found["x0"], x.grad.numpy())


def test_in_place_operations_are_the_versions_that_they_made() -> None:
    x = nb.tensor([0.3, 0.9], requires_grad=True)

    def call(x: Any) -> Any:
        a = x * 2
        b = a + 1
        a.mul_(x).add_(3)
        return (a * b).sum()

    program, y = written(call, [x])
    found = run(program)
    backward(y)
    assert same_bits(found["x0"], x.grad.numpy())


def filled(x: Any) -> Any:
    y = x * 1
    y[0] = 5.0
    return (y * x).sum()


def into_zeros(x: Any) -> Any:
    y = nb.zeros(3, *x.shape)
    for i in range(3):
        y[i] = x * i
    return (y * y).sum()


def through_a_view(x: Any) -> Any:
    y = x * 2
    column = y.t()[0]
    column.mul_(x[0, :1])
    return (column.exp().sum() * y).sum()


def whole_and_part(x: Any) -> Any:
    y = x * 3
    row = y[1]
    y.mul_(2)
    row.add_(x[0])
    return (row * y).sum()


def several_steps(x: Any) -> Any:
    y = (x * 2).t()
    y[0][1:] = x[0, 1:] * 3
    return (y @ x).sum()


@pytest.mark.parametrize("call", [filled, into_zeros, through_a_view, whole_and_part, several_steps])
@pytest.mark.parametrize("size", [2, 40])
def test_writes_to_views_are_new_values(call: Any, size: int) -> None:
    x = nb.tensor(np.random.default_rng(0).normal(size=(size, size)), dtype=nb.float32, requires_grad=True)
    if call is into_zeros and size > 2:  # the values of a large constant before a write are not kept
        with pytest.raises(ProgramError, match=r"\(test_refusals.py, line .* has not been kept"):
            written(call, [x])
        return
    program, y = written(call, [x])
    found = run(program)
    backward(y)
    assert same_bits(found["x0"], x.grad.numpy())


NAMES = [
    "lambda",
    "np",
    "print",
    "g_w",
    "t1",
    "w; import os",
    "ﬁ",
    "权重",
    "__import__",
    "sum_to",
    "data",
    "None",
    "a b",
    "x" * 90,
]


def test_names_of_users_never_become_code() -> None:
    leaves = {name: nb.tensor([1.0, 2.0], requires_grad=True) for name in NAMES}
    with traced():
        y = sum(leaf.exp().sum() * i for i, leaf in enumerate(leaves.values(), 1))
    code = viz.code(y, namespace={**leaves, "w": y})
    tree = ast.parse(code.source)
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Import) and any(a.name == "os" for a in n.names)]
    flat = viz.code(y, namespace={**leaves, "w": y}, flat=True)
    assigned = [n.targets[0].id for n in ast.parse(flat.text).body if isinstance(n, ast.Assign)]
    assert len({*assigned}) == len(assigned)
    exec(compile(code.source, "<program>", "exec"), scope := {"__name__": "saved"})
    y.backward()
    grads = [g.tobytes() for g in scope["backward"]().values()]
    assert grads == [leaf.grad.numpy().tobytes() for leaf in leaves.values()]


@given(st.text(max_size=12))
@settings(max_examples=50)
def test_any_text_gives_an_identifier(text: str) -> None:
    name = identifier(text)
    assert name.isidentifier()
    compiled = ast.parse(f"{name} = 1").body[0]
    assert isinstance(compiled, ast.Assign) and isinstance(compiled.targets[0], ast.Name)
    assert compiled.targets[0].id == name


def test_modules_are_headings_that_fold() -> None:
    net = nb.nn.Sequential(*[nb.nn.Linear(2, 2) for _ in range(6)])
    with traced():
        y = net(nb.ones(1, 2)).sum()
    code = viz.code(y, namespace={"net": net, "y": y})
    assert "# forward: Sequential / Linear" in code.text and "# forward: outside of modules" in code.text
    shown = code.static_html()
    assert shown.count("<details open>") == shown.count("</details>") > 6
    plain = html.unescape(re.sub(r"<[^>]*>", "", shown.partition('<div class="nb-lines">')[2]))
    assert plain.startswith(code.text)


def test_html_escapes_and_colors(tmp_path: Path) -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    with traced():
        y = x.exp().sum()
    code = viz.code(y, namespace={"<script>alert(1)</script>": x, "y": y})
    bundle = code._repr_mimebundle_()
    assert bundle["text/plain"] == code.text == repr(code)
    assert "<script>" not in bundle["text/html"] and 'class="nb-remark"' in bundle["text/html"]
    code.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "navigator.clipboard" in page and "prefers-color-scheme: dark" in page and "<script>alert" not in page
    with pytest.raises(ValueError, match=r"use one of \.html, \.py"):
        code.save(tmp_path / "program.txt")
    with viz.autograd(language="zh"):
        assert "复制" in code.html()


# -- random graphs ---------------------------------------------------------------------------------------------------

UNARY = [
    lambda x: x.exp() * 0.1, lambda x: x.sin(), lambda x: x.sigmoid(), lambda x: x * x, lambda x: -x, lambda x: x.t(),
    lambda x: x[:1], lambda x: x.sum(0), lambda x: x.mean(1, keepdim=True), lambda x: x.relu(), lambda x: x.softmax(1),
    lambda x: x.reshape(-1, 2), lambda x: x.double(), lambda x: x.clone().mul_(2), lambda x: x.max(1, keepdim=True)[0],
    lambda x: x.cumsum(0), lambda x: nb.where(x > 0, x, x * 0.1), lambda x: x.chunk(2, 0)[0], lambda x: x.abs() + 1,
]  # fmt: skip
BINARY = [
    lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - 2 * b, lambda a, b: a / (b * b + 1),
    lambda a, b: a @ b.reshape(-1, b.shape[-1]).t(), lambda a, b: nb.cat([a.reshape(-1, 1), b.reshape(-1, 1)]),
]  # fmt: skip


@pytest.mark.sweep
@given(st.data())
@settings(max_examples=500 if LONG else 60)
def test_random_graphs(data: Any) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    shapes = [(2, 2), (1, 2), (4, 2)]
    leaves = [nb.tensor(rng.normal(size=s), dtype=nb.float32, requires_grad=True) for s in shapes]

    def call(*leaves: Any) -> Any:
        values = list(leaves)
        for _ in range(data.draw(st.integers(1, 7))):
            binary = data.draw(st.booleans())
            step = data.draw(st.sampled_from(BINARY if binary else UNARY))
            operands = [values[data.draw(st.integers(0, len(values) - 1))] for _ in range(1 + binary)]
            try:
                values.append(step(*operands))
            except (RuntimeError, IndexError):  # shapes that do not fit
                continue
        return sum(v.sum() for v in values[2:])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program, y = written(call, leaves)
        found = run(program)
        backward(y)
    for i, leaf in enumerate(leaves):
        assert (leaf.grad is None) == (f"x{i}" not in found)
        assert leaf.grad is None or same_bits(found[f"x{i}"], leaf.grad.numpy()), program.text
