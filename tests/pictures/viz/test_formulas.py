"""Formulas: Python text in, mathematics out."""

from __future__ import annotations

import pytest

from nbautograd.viz.read.formulas import latex, marks, plain, symbol_of

G = {"g": [["d", "y", "a"]], "other": [["i", "b"]], "two": [["n", "2"]]}


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("g", "∂y/∂a"),
        ("g * conj(other)", "∂y/∂a · b"),
        ("-g * input / other ** 2", "(-∂y/∂a · input) / b^2"),
        ("g * conj(1 - result * result)", "∂y/∂a · (1 − result^2)"),
        ("mm(g, conj(t(mat2)))", "∂y/∂a @ mat2ᵀ"),
        ("where(input > 0, g, zeros_of(g))", "∂y/∂a · [input > 0]"),
        ("where(input <= 0, zeros_of(g), g)", "∂y/∂a · [input > 0]"),
        ("spread(g / count(input.shape, None), input.shape)", "∂y/∂a / n"),
        ("g * two * input ** (two - 1)", "∂y/∂a · 2 · input"),
        ("g if two == 1 else times(g, two)", "∂y/∂a · 2"),
        ("g if two == 2 else times(g, two)", "∂y/∂a"),
        ("g * exp(input) if input != 0 else zeros_of(g)", "∂y/∂a · exp(input)"),
        ("not python at all (", "not python at all ("),
        ("(" * 500 + "g" + ")" * 500, None),
    ],
)
def test_marks(source: str, shown: str | None) -> None:
    written = plain(marks(source, G))
    assert shown is None or written == shown


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("g", r"\frac{\partial y}{\partial a}"),
        ("-g * sin(input)", r"- \frac{\partial y}{\partial a} \cdot \sin \left( \mathit{input} \right)"),
        ("input ** (1 + k_1)", r"\mathit{input}^{1 + \mathit{k\_1}}"),
        ("(a + b) ** 2", r"{(\left( a + b \right))}^{2}"),
        ("x $ {y} \\\\", None),
    ],
)
def test_latex(source: str, written: str | None) -> None:
    found = latex(marks(source, G))
    assert written is None or found == written
    assert found.replace(r"\{", "").replace(r"\}", "").count("{") == found.replace(r"\{", "").replace(r"\}", "").count(
        "}"
    )


def test_symbols() -> None:
    assert [symbol_of(name) for name in ("AddBackward0", "MmBackward0", "MyOwnBackward", "torch")] == [
        "+",
        "@",
        "MyOwn",
        "torch",
    ]
