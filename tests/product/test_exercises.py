"""The exercises of the course: handed out, solved, and with wrong answers typed in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbautograd import nn, tensor as make
from nbautograd.exercises import exercise, same, score
from tests import needs

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("[0-9a]*.ipynb") if '"try-1"' in path.read_text(encoding="utf-8"))
TRIALS = tomllib.loads((Path(__file__).parent / "wrong_answers.toml").read_text(encoding="utf-8"))
"""For each exercise: other answers of a reader, and the check's messages."""


Reader = Callable[[Path, dict[str, list[str]]], dict[str, Any]]


@pytest.fixture(scope="module" if hasattr(os, "fork") else "function")
def reader() -> Iterator[Reader]:
    """Return what runs a notebook, in a process forked from one that has imported all."""
    needs.package("IPython")
    command = [sys.executable, "-m", "tests.product.run_exercises"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:

        def run(path: Path, trials: dict[str, list[str]]) -> dict[str, Any]:
            print(json.dumps([str(path), trials]), file=process.stdin, flush=True)
            answer = process.stdout.readline()
            assert answer.strip(), f"{path.name}: the process died"
            found: dict[str, Any] = json.loads(answer)
            assert "said" in found, found["error"][-3000:]
            return found["said"]

        yield run
        process.stdin.close()


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_exercises(name: str, reader: Reader) -> None:
    """In both languages; that their cells are the same is tested in test_course.py."""
    path, trials = FOLDER / f"{name}.ipynb", TRIALS[name]
    if "import torch as pytorch" in path.read_text(encoding="utf-8"):
        needs.package("torch")
    said = reader(path, {number: [trial["code"] for trial in each] for number, each in trials.items()})
    numbers = [*said["handed_out"]]
    assert [*trials] == numbers, "every exercise has wrong answers to be tried"
    for number in numbers:
        assert "not tried yet" in said["handed_out"][number], number
        assert ": right" not in said["before"][number], (number, said["before"][number])
        assert f"Exercise {number}: right" in said["solved"][number], (number, said["solved"][number])
        assert "正确" in said["in_chinese"][number], (number, said["in_chinese"][number])
        for trial, text in zip(trials[number], said["tried"][number], strict=True):
            wanted = trial["says"]
            assert wanted in text and (wanted == "right") == (": right" in text), (number, trial["code"], text)
    assert said["score"].startswith(f"{len(numbers)} of {len(numbers)} exercises solved.")
    chinese = json.loads((FOLDER / "zh" / path.name).read_text(encoding="utf-8"))["cells"]
    stored = {c["id"]: json.dumps(c["outputs"], ensure_ascii=False) for c in chinese if re.match(r"check-\d", c["id"])}
    assert [*stored] == [f"check-{number}" for number in numbers]
    assert all("还没有做" in text for text in stored.values())


@pytest.fixture(autouse=True)
def no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the results of these checks apart from others in this process."""
    monkeypatch.setattr("nbautograd.exercises._results", {})


def said_by(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_dots_are_not_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    def skeleton(x: Any) -> Any:
        return ...

    class Layer(nn.Module):
        def forward(self, x: Any) -> Any:
            y = ...
            return y

    for answer in (..., skeleton, Layer):

        @exercise(1, answer)
        def check(answer: Any) -> str:
            return "asked"

        assert "not tried yet" in said_by(capsys)

    @exercise(1, 3, ...)
    def partly(*answers: Any) -> None: ...

    assert "Answers that are still dots: 1 of 2." in said_by(capsys)


def test_dots_in_an_index_are_code(capsys: pytest.CaptureFixture[str]) -> None:
    def last(x: Any) -> Any:
        return x[..., -1]

    @exercise(1, last)
    def check(last: Any) -> None: ...

    assert said_by(capsys) == "Exercise 1: right\n"


def test_what_an_answer_raises_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(x: Any) -> Any:
        return x @ x

    @exercise(4, broken)
    def check(broken: Any) -> None:
        broken(make(1.0))

    text = said_by(capsys)
    assert text.startswith("Exercise 4: not yet. ShapeError: ") and "(in: return x @ x)" in text
    score()
    assert "  4  not yet\n" in said_by(capsys)


def no_return(x: Any) -> Any:
    x * 2


def a_list(x: Any) -> Any:
    return [1.0, 2.0]


def too_few() -> Any:
    return 1


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (None, "The answer is None."), (no_return, "The answer is None."),
        (a_list, "should be a tensor, but it is [1.0, 2.0], of type list"),
        (too_few, "The check cannot use this answer. TypeError: too_few() takes 0 positional arguments"),
        (lambda x: make([1.0, 2.0, 3.0]), "The check cannot use this answer. ShapeError"),
    ],
)  # fmt: skip
def test_what_the_check_cannot_use_is_not_the_checks_error(
    answer: Any, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @exercise(6, answer)
    def check(answer: Any) -> Any:
        given = answer(make([1.0, 1.0]))
        if [given.shape for _ in range(1)] == [(2, 2)] or (given + make([1.0, 1.0])).sum() > 9:
            return "too large"
        return None

    text = said_by(capsys)
    assert text.startswith("Exercise 6: not yet. ") and wanted in text and "(in: " not in text


def test_texts_of_numbers_are_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    @exercise(7, "6", " 1/2", "(3, 4.5)", "error", "1, x", "1/0", "")
    def check(*answers: Any) -> Any:
        if answers != (6, 0.5, [3, 4.5], "error", "1, x", "1/0", ""):
            return repr(answers)
        return None

    assert said_by(capsys) == "Exercise 7: right\n"


def test_unchanged_lines_are_not_dots(capsys: pytest.CaptureFixture[str]) -> None:
    @exercise(8, 0, untouched=True)
    def check(answer: Any) -> None: ...

    assert "Write your lines in the cell above" in said_by(capsys)


def test_every_fault_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    @exercise(5, 1)
    def check(answer: int) -> Any:
        yield "one"
        yield "two"

    assert said_by(capsys) == "Exercise 5: not yet. one\nExercise 5: not yet. two\n"


@pytest.mark.parametrize(
    ("answer", "wanted", "is_same"),
    [
        (make([1.0, 2.0]), [1, 2], True), ((1, 2), make([1, 2]), True), ([[1], [3]], make([[1], [3]]), True),
        (1.00001, 1, True), (1.01, 1, False), ([1, 2], [[1, 2]], False), ([1, [2]], [1, 2], False), (True, 1, True),
        ("ERROR ", "error", True), ("error", (2, 3), False), ({1, 2}, {2, 1}, True), (None, None, True),
        (None, 0, False), (object(), 1, False), ((), (), True),
        (make(2.0, requires_grad=True), 2, True), (1j, 1j, True), (make([6.0]), 6, True), (6, [6], True),
        ([make([6.0]), make([4.0])], [6, 4], True), ([make([6.0, 4.0])], [6, 4], False),
        ("6", 6, True), ("1/3", 1 / 3, True), ("8, 5", (8, 5), True), ("8; 5", (8, 5), False), ("6", "6", True),
    ],
)  # fmt: skip
def test_same(answer: Any, wanted: Any, is_same: bool) -> None:
    assert same(answer, wanted) is is_same
