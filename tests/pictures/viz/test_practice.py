"""Practice: questions that are the same everywhere, PyTorch's answers, and replies that say what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.language import use
from nbautograd.viz.notebook import practice_questions as drawn
from nbautograd.viz.notebook.practice import IN_A_ROW, Practice
from tests import needs, oracle

SEEDS = 200


@pytest.fixture(autouse=True)
def _no_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the series of one test out of the others."""
    monkeypatch.setattr("nbautograd.viz.notebook.practice._current", [])


def answers(torch: Any, level: int) -> list[str]:
    """Return the result of each program under a library, in a line: its error, its leaves, and each ``.grad``."""
    lines = []
    for seed in range(SEEDS):
        for number in range(len(drawn.KINDS)):
            question = drawn.question(seed, level, number)
            ran = drawn.run(question.lines, names={"torch": torch})
            states = [
                f"{name} {(t.grad.tolist() if t.grad is not None else None) if t.is_leaf else 'no leaf'}"
                for name, t in ran.tensors().items()
            ]
            lines.append(f"{ran.line} {'; '.join(states) if question.kind != 'fails' else ''}".replace("-0.0", "0.0"))
    return lines


@pytest.mark.parametrize("level", drawn.LEVELS)
def test_answers_are_pytorchs(level: int) -> None:
    oracle.check(answers, level, exact=True)


@pytest.mark.sweep
@pytest.mark.parametrize("level", drawn.LEVELS)
def test_questions_are_valid(level: int) -> None:
    """Small exact numbers, a line or a leaf that exists, each kind in turn, and different questions for most seeds."""
    seen = set()
    for seed in range(SEEDS):
        series = [drawn.question(seed, level, number) for number in range(2 * len(drawn.KINDS))]
        assert {q.kind for q in series[: len(drawn.KINDS)]} == {*drawn.KINDS}
        assert all(one.kind != other.kind and one.lines != other.lines for one, other in pairwise(series))
        for q in series:
            seen.add(q.lines)
            tensors = drawn.run(q.lines).tensors()
            if q.kind == "fails":
                assert 0 <= q.answer <= len("\n".join(q.lines).split("\n"))
            elif q.kind == "leaf":
                assert q.answer and {*q.answer} < {*tensors}
            else:
                numbers = q.answer if isinstance(q.answer, list) else [q.answer or 0.0]
                assert q.asked in tensors and all(abs(n) <= 60 and n * 4 == int(n * 4) for n in numbers)
                assert q.answer not in q.wrong.values()
                assert 0 < len(q.forward()) < len(q.lines)
    assert len(seen) > SEEDS * 2 * len(drawn.KINDS) * 0.6


@pytest.mark.parametrize("level", drawn.LEVELS)
def test_every_answer_is_taken_and_a_wrong_one_is_not(level: int) -> None:
    for seed in range(12):
        series = viz.practice(level, seed)
        answer = series.question.answer
        wrong = "w" if series.question.kind == "leaf" and answer != ("w",) else 97
        assert not series.answer(wrong).right and series.is_open
        reply = series.answer(", ".join(answer) if isinstance(answer, tuple) else answer)
        assert reply.right and not series.is_open, (series, reply)
        assert series.next().number == 1


@pytest.mark.sweep
def test_a_question_is_the_same_in_another_process() -> None:
    code = """
from nbautograd.viz.notebook.practice_questions import question
print(*(question(s, l, n) for s in range(5) for l in (1, 2, 3, 4) for n in range(4)), sep="\\n")
"""
    told = [
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True, encoding="utf-8", check=True).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    here = [str(drawn.question(s, level, n)) for s in range(5) for level in (1, 2, 3, 4) for n in range(4)]
    assert [text.splitlines() for text in told] == [here, here]


def test_a_stored_question() -> None:
    """The seeds that a teacher has handed out stay as they are."""
    assert repr(Practice(2, 7)) == (
        "Question 1 · level 2 · seed 7\n"
        "  1  w = torch.tensor(2., requires_grad=True)\n"
        "  2  b = torch.tensor(2.) * 3\n"
        "  3  a = w + 3\n"
        "  4  a += 1\n"
        "  5  y = a * 2\n"
        "  6  y.backward()\n"
        "Which line raises an error? Its number, or 0 if none does."
    )


def series(kind: str, level: int = 2, **wanted: Any) -> Practice:
    """Return a series whose current question is of a kind and has an answer that fits."""
    for seed in range(200):
        found = Practice(level, seed)
        question = found.question
        if question.kind == kind and all(test(question) for test in wanted.values()):
            return found
    raise AssertionError(kind)


@pytest.mark.parametrize("write", [float, str, lambda n: [n], lambda n: nb.tensor([n]), lambda n: f"[{n}]"])
def test_numbers_in_any_notation(write: Any) -> None:
    asked = series("gradient")
    assert asked.answer(write(asked.question.answer)).right
    assert "Only the sign is wrong." in asked.answer(write(-asked.question.answer)).text


def test_what_is_said_to_mistakes() -> None:
    asked = series("passes", last=lambda q: {"value", "first", "last", "sign"} <= {*q.wrong})
    said = {key: asked.answer(wrong).text for key, wrong in asked.question.wrong.items()}
    assert "is the value of" in said["value"] and "Only the sign" in said["sign"]
    assert "after the first pass" in said["first"]
    kept = series("passes", 3, emptied=lambda q: "kept" in q.wrong)
    assert "emptied between" in kept.answer(kept.question.wrong["kept"]).text
    assert "is no number" in asked.answer("six").text and "a path leads" in asked.answer(None).text
    vector = series("gradient", 4, vector=lambda q: isinstance(q.answer, list))
    assert "has 2 elements" in vector.answer(1).text
    none = series("gradient", 3, none=lambda q: q.answer is None and q.asked == "a")
    assert "a is no leaf" in none.answer(0).text and none.answer("None").right
    leaf = series("leaf", missing=lambda q: {"w", "x"} < {*q.answer})
    assert "is missing: it has no grad_fn" in leaf.answer("w, x").text
    assert "is none of the tensors w, x" in leaf.answer("w, z").text
    extra = next(name for name in drawn.run(leaf.question.lines).tensors() if name not in leaf.question.answer)
    assert f"{extra} is no leaf: its grad_fn is " in leaf.answer([*leaf.question.answer, extra]).text
    fails = series("fails", fails=lambda q: q.answer)
    line = fails.question.answer
    assert "One of the lines" in fails.answer("none").text and "Line 1 runs" in fails.answer(1).text
    assert "not the number of a line" in fails.answer(99).text and fails.answer(f"line {line}").right
    assert series("fails", none=lambda q: q.answer == 0).answer("none").right
    with pytest.raises(TypeError, match="an answer is missing"):
        fails.answer()


def test_an_opened_answer_is_played() -> None:
    asked = series("passes")
    opened = asked.show()
    assert opened.text == f"{asked.question.asked}.grad is {opened.text.rpartition(' ')[2]}"
    assert not opened.right and not asked.is_open and asked.solved == 0
    assert sum(frame.kind == "start" for frame in opened.picture.timeline.frames) == 2
    failing = series("fails", 1, twice=lambda q: q.answer and q.lines[-2] == q.lines[-1])
    assert failing.show().text.startswith("Line ") and failing.show().picture.timeline.frames[-1].kind == "error"
    assert "The leaves are w, x" in series("leaf").show().text
    assert series("fails", none=lambda q: q.answer == 0).show().text == "No line raises an error."


def test_levels_rise_after_three_in_a_row() -> None:
    asked = viz.practice(1, 5)
    for number in range(2 * IN_A_ROW):
        reply = asked.answer(asked.question.answer)
        assert ("in a row" in reply.text) == (number % IN_A_ROW == IN_A_ROW - 1)
        asked.next()
    assert asked.level == 3 and asked.solved == 2 * IN_A_ROW
    asked.next()
    asked.next()
    assert asked.level == 3


def test_the_picture_does_not_tell_the_answer() -> None:
    asked = series("gradient")
    html = asked._repr_mimebundle_()["text/html"]
    assert "data:image/svg" in html and ".grad None" in html and "%practice --show" in html
    assert "data:image/svg" not in series("leaf")._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"level": 5}, ValueError, "level must be from 1 to 4, got 5"),
        ({"level": "1"}, TypeError, "level must be an integer, got str"),
        ({"seed": -1}, ValueError, "seed must not be negative, got -1"),
        ({"seed": 1.5}, TypeError, "seed must be an integer, got float"),
    ],
)
def test_bad_input(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        viz.practice(**given)


def test_chinese() -> None:
    before = use("zh")
    try:
        asked = series("leaf")
        assert "叶子节点" in repr(asked) and asked.answer("，".join(asked.question.answer)).text.startswith("正确。")
    finally:
        use(before)


def test_the_magic(app: Any) -> None:
    needs.package("IPython")
    from IPython.core.error import UsageError

    app.run_line_magic("load_ext", "nbautograd")
    try:

        def run(line: str) -> Any:
            result = app.run_cell(f"got = %practice {line}\ngot", store_history=True)
            result.raise_error()
            return result.result

        with pytest.raises(UsageError, match="no question yet"):
            run("6")
        with pytest.raises(UsageError, match="from 1 to 4"):
            run("--level 9")
        first = run("--level 2 --seed 2")
        assert first.question.kind == "passes" and run("") is first and first.number == 0
        assert not run("-97").right
        assert run(str(first.question.answer)).right
        assert run("").number == 1 and run("--show").text.startswith(("Line", "No line"))
        assert app.run_cell("%practice --show;").result is None
    finally:
        app.run_line_magic("unload_ext", "nbautograd")
