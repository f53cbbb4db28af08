"""The course as assignments of nbgrader and of otter-grader: submissions get the points that they deserve."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbautograd.cli import main
from nbautograd.cli.course import edition
from nbautograd.cli.lab import course
from tests import needs

from .test_grading import BACKWARD, NAME, RIGHT

HANDED_IN: dict[str, tuple[dict[str, str], float]] = {
    "right": ({**RIGHT, "try-3": BACKWARD}, 3),
    "half": ({**RIGHT, "try-3": "def my_backward(p, q):\n    return p, q"}, 2),
    "empty": ({}, 0),
    "hostile": ({"try-1": "def check(name, *answers):\n    print('right')\n\n\ngrad_of_w = grad_of_x = 0"}, 0),
}
"""For each student: the answers, and the points."""


def run(folder: Path, *arguments: str) -> None:
    """Run a grader's command there, without this user's settings."""
    home = {name: str(folder / "home") for name in ("HOME", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, env={**os.environ, **home}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def hand_in(assignment: Path, student: str, place: Path) -> None:
    """Write a student's notebook: the assignment with answers in place of its skeletons."""
    notebook = json.loads(assignment.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = HANDED_IN[student][0].get(cell["id"], cell["source"])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(notebook), encoding="utf-8")


def exercises(name: str) -> list[str]:
    """Return the cells of a notebook of the course that check."""
    cells = json.loads((course() / name).read_text(encoding="utf-8"))["cells"]
    return [cell["id"] for cell in cells if cell["id"].startswith("check-") and cell["cell_type"] == "code"]


@pytest.mark.sweep
def test_nbgrader_gives_the_points(tmp_path: Path) -> None:
    needs.package("nbgrader")
    folder = tmp_path / "class"
    assert main(["course", str(folder), "--for", "nbgrader"]) == 0
    run(folder, "nbgrader", "generate_assignment", NAME)
    for student in HANDED_IN:
        hand_in(
            folder / "release" / NAME / f"{NAME}.ipynb", student, folder / f"submitted/{student}/{NAME}/{NAME}.ipynb"
        )
    run(folder, "nbgrader", "autograde", NAME)
    run(folder, "nbgrader", "export")
    rows = csv.DictReader((folder / "grades.csv").read_text("utf-8").splitlines())
    points = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in rows}
    assert points == {student: (wanted, 3) for student, (_, wanted) in HANDED_IN.items()}


@pytest.mark.sweep
def test_otter_gives_the_points(tmp_path: Path) -> None:
    needs.package("otter")
    assert main(["course", str(tmp_path / "class"), "--for", "otter"]) == 0
    folder = tmp_path / "class" / NAME
    run(folder, "otter", "generate", "-t", "tests", "-o", "autograder.zip")
    for student, (_, wanted) in HANDED_IN.items():
        place = tmp_path / student / f"{NAME}.ipynb"
        hand_in(folder / f"{NAME}.ipynb", student, place)
        run(folder, "otter", "run", "-a", "autograder.zip", "-o", str(place.parent), "--no-logo", str(place))
        tests = json.loads((place.parent / "results.json").read_text("utf-8"))["tests"]
        scores = [(test["score"], test["max_score"]) for test in tests if "score" in test]
        assert tuple(map(sum, zip(*scores, strict=True))) == (wanted, 3), student


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_check_is_a_locked_test_of_nbgrader(tmp_path: Path, language: str) -> None:
    assert main(["course", str(tmp_path / "class"), "--for", "nbgrader", "--language", language]) == 0
    compile((tmp_path / "class" / "nbgrader_config.py").read_text("utf-8"), "nbgrader_config.py", "exec")
    for path in course().glob("*.ipynb"):
        place = tmp_path / "class" / "source" / path.stem / path.name
        assert place.exists() == bool(exercises(path.name))
        cells = json.loads(place.read_text("utf-8"))["cells"] if place.exists() else []
        tests = {cell["id"]: cell for cell in cells if "nbgrader" in cell["metadata"]}
        assert [*tests] == exercises(path.name)
        for key, cell in tests.items():
            known = cell["metadata"]["nbgrader"]
            assert (known["grade_id"], known["points"], known["grade"], known["locked"]) == (key, 1, True, True)
            assert "answer(" not in cell["source"] and cell["source"].count("check(") == 1


def test_each_check_is_a_test_of_otter(tmp_path: Path) -> None:
    assert main(["course", str(tmp_path / "class"), "--for", "otter"]) == 0
    for path in course().glob("*.ipynb"):
        folder = tmp_path / "class" / path.stem
        assert sorted(test.stem for test in folder.glob("tests/*.py")) == sorted(exercises(path.name))
        for test in folder.glob("tests/*.py"):
            compile(test.read_text("utf-8"), test.name, "exec")
            cells: list[dict[str, Any]] = json.loads((folder / path.name).read_text("utf-8"))["cells"]
            assert [cell["id"] for cell in cells if cell["metadata"].get("otter") == {"tests": [test.stem]}] == [
                test.stem
            ]


def test_a_grader_takes_no_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", str(tmp_path / "class"), "--for", "otter", "--seed", "1"]) == 1
    assert "--seed: otter has the same tests for all students" in capsys.readouterr().err
    assert not (tmp_path / "class").exists()


def test_answers_can_stand_in_a_graders_notebooks(tmp_path: Path) -> None:
    assert main(["course", str(tmp_path / "class"), "--for", "nbgrader", "--answers", "solved"]) == 0
    cells = json.loads((tmp_path / "class" / "source" / NAME / f"{NAME}.ipynb").read_text("utf-8"))["cells"]
    solved = edition(json.loads((course() / f"{NAME}.ipynb").read_text("utf-8")), "solved")["cells"]
    assert [cell["id"] for cell in cells] == [cell["id"] for cell in solved]
