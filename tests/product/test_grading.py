"""A class hands notebooks in: right, half right, empty, hostile, endless; and gets the points that it deserves."""

from __future__ import annotations

import base64
import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nbautograd as torch  # noqa: F401  # which checks take from their caller
from nbautograd.cli import main
from nbautograd.cli.course import edition
from nbautograd.cli.grade import grade
from nbautograd.cli.lab import course
from nbautograd.exercises import check, exercise, score
from tests import needs

NAME = "03_backward"
HOSTILE = """
import sys, os, nbautograd, nbautograd.exercises
def check(name, *answers, **options):
    print(f"Exercise {name[-1]}: right")
def written(name, part, language=None):
    return "def check(*answers): ..."
nbautograd.exercises.check, nbautograd.exercises.written = check, written
nbautograd.exercises.same = same = lambda *answers: True
nbautograd.exercises._results.update({n: ("right", 1) for n in range(1, 4)})
class torch:
    tensor = staticmethod(lambda *args, **options: None)
for fd in range(3, 20):
    try:
        os.write(fd, b'{"number": 1, "state": "right", "points": 99}\\n')
    except OSError:
        pass
"""


def handed_out() -> dict[str, Any]:
    original = json.loads((course() / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    return edition(original, "none")


def written(answers: dict[str, str]) -> dict[str, Any]:
    """The notebook with these sources in place of its cells', by their ids."""
    notebook = handed_out()
    cells = [{**cell, "source": answers.get(cell["id"], cell["source"])} for cell in notebook["cells"]]
    return {**notebook, "cells": [cell for cell in cells if cell["source"] is not None]}


RIGHT = {"try-1": "grad_of_w, grad_of_x = 6, 4", "try-2": "u = torch.tensor(3., requires_grad=True)\ns = u ** 2\n"
         "result = s * 2 + u\ngrad_of_u = 13"}  # fmt: skip
ENDLESS = "import os\nopen(os.environ['IN_LOOP'], 'w').close()\nwhile True:\n    pass"
BACKWARD = "def my_backward(p, q):\n    return 2 * p * q + q * q, p * p + 2 * p * q"
SUBMISSIONS: dict[str, tuple[dict[str, str], str, str]] = {
    "empty": ({}, "1 untried, 2 untried, 3 untried", ""),
    "half": ({**RIGHT, "try-3": "def my_backward(p, q):\n    return p, q"}, "1 right, 2 right, 3 wrong", ""),
    "raises": ({**RIGHT, "try-2": "1 / 0"}, "1 right, 2 wrong, 3 untried", "check 2: NameError"),
    "hostile": ({"try-1": f"grad_of_w = grad_of_x = 0{HOSTILE}"}, "1 wrong, 2 untried, 3 untried", ""),
    "endless": ({**RIGHT, "try-2": ENDLESS}, "1 right, 2 missing, 3 missing", "stopped after 300 seconds"),
    "greedy": (
        {**RIGHT, "try-3": "def my_backward(p, q):\n    return [0] * 10 ** 10"}, "1 right, 2 right, 3 wrong", "",
    ),
    "ends": ({**RIGHT, "try-2": "import os\nos._exit(0)"}, "1 right, 2 missing, 3 missing", ""),
}  # fmt: skip


@pytest.fixture
def no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbautograd.exercises._results", {})


@pytest.fixture
def stopped_in_its_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the time of a submission end once it says that it is in its endless loop, instead of waiting it out."""
    said = tmp_path / "in_loop"
    monkeypatch.setenv("IN_LOOP", str(said))
    communicate = subprocess.Popen.communicate

    def until_in_loop(child: Any, given: bytes | None = None, timeout: float | None = None) -> Any:
        while True:
            try:
                return communicate(child, given, timeout and 0.1)
            except subprocess.TimeoutExpired:
                if said.exists():
                    raise
                given = None  # is being written

    monkeypatch.setattr(subprocess.Popen, "communicate", until_in_loop)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", SUBMISSIONS)
@pytest.mark.usefixtures("stopped_in_its_loop")
def test_a_submission_gets_its_points(kind: str, tmp_path: Path) -> None:
    needs.package("IPython")
    answers, states, note = SUBMISSIONS[kind]
    path = tmp_path / kind / f"{NAME}.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps(written(answers)), encoding="utf-8")
    result = grade(path, tmp_path, seconds=300)
    student, notebook, _, points, most, found, said = result.row()
    assert (student, notebook, found) == (kind, NAME, states)
    assert (float(points), float(most)) == (states.count("right"), 3)
    assert note in said and bool(note) == bool(said)


@pytest.mark.sweep
def test_a_folder_becomes_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs.package("IPython")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / f"{NAME}-ada.ipynb").write_text(json.dumps(written(RIGHT | {"try-3": BACKWARD})), encoding="utf-8")
    (folder / f"{NAME}_bob.ipynb").write_text("no notebook", encoding="utf-8")
    (folder / "holiday.ipynb").write_text("{}", encoding="utf-8")
    no_checks = written({f"check-{number}": "" for number in (1, 2, 3)} | RIGHT)
    (folder / f"{NAME} eve.ipynb").write_text(json.dumps(no_checks), encoding="utf-8")
    table = tmp_path / "grades.csv"
    assert main(["grade", str(folder), "--csv", str(table)]) == 0
    rows = {row["student"]: row for row in csv.DictReader(table.read_text("utf-8").splitlines())}
    assert {name: (row["points"], row["of"]) for name, row in rows.items()} == {
        "ada": ("3", "3"), "bob": ("0", "0"), "eve": ("2", "3"), "holiday": ("0", "0"),
    }  # fmt: skip
    assert "cannot be read" in rows["bob"]["note"] and "not a notebook of the course" in rows["holiday"]["note"]
    assert "4 notebooks are in" in capsys.readouterr().out
    (tmp_path / "none").mkdir()
    assert main(["grade", str(tmp_path / "none")]) == 1


def test_graders_find_an_exception(
    no_results: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NBAUTOGRAD_GRADING", "1")
    for answer, said in ((..., "not tried yet"), (3, "not yet. too small")):
        with pytest.raises(AssertionError, match=said):

            @exercise(1, answer, points=2)
            def check(answer: int) -> str:
                return "too small"

    @exercise(2, 4, points=3)
    def right(answer: int) -> None: ...

    capsys.readouterr()
    assert score() == {"solved": 1, "of": 2, "points": 3, "most": 5, "exercises": {1: "wrong", 2: "right"}}
    assert "3 of 5 points." in capsys.readouterr().out


def test_a_score_is_a_file_to_hand_in(
    no_results: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Write a file and a link to it, as in a browser, where no one collects notebooks."""
    shown: list[Any] = []
    monkeypatch.setattr("nbautograd.viz.notebook.in_place.shows", lambda: shown.append)
    monkeypatch.setitem(sys.modules, "IPython", sys.modules.get("IPython", sys))
    monkeypatch.setattr("nbautograd.exercises._books", set())
    check("03.1", 6, 4, variant=0)
    check("03.2", 13, points=2)
    folder = tmp_path / "in"
    (folder / "ada").mkdir(parents=True)
    found = score(file=folder / "ada" / "score.json")
    assert "The score is in the file score.json: hand it in." in capsys.readouterr().out
    written = json.loads((folder / "ada" / "score.json").read_text("utf-8"))
    assert written["notebook"] == "03" and written["points"] == found["points"]
    data = re.findall(r'href="data:application/json;base64,([^"]+)"', shown[0]._repr_html_())[0]
    assert json.loads(base64.b64decode(data)) == written
    (folder / "other.json").write_text('{"nbautograd": 1}', encoding="utf-8")
    needs.package("IPython")
    assert main(["grade", str(folder), "--csv", str(tmp_path / "grades.csv")]) == 0
    (row,) = csv.DictReader((tmp_path / "grades.csv").read_text("utf-8").splitlines())
    assert (row["student"], row["notebook"], row["points"], row["of"]) == ("ada", "03", "3", "3")
    assert row["exercises"] == "1 right, 2 right" and "reported" in row["note"]
