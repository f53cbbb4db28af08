"""``nbautograd grade``: runs submitted notebooks, each in its own process, and writes a table of points."""

from __future__ import annotations

import argparse
import ast
import csv
import importlib.util
import io
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbautograd._engine.base.atomic_file import replacing
from nbautograd._engine.base.installing import extra
from nbautograd._engine.base.process_group import end_group
from nbautograd.cli import lab
from nbautograd.cli.course import varied

__all__ = ["Grade", "add_parser", "grade", "run"]

COLUMNS = ("student", "notebook", "seed", "points", "of", "exercises", "note")
Cell = dict[str, Any]


@dataclass
class Grade:
    """The result of one submitted notebook.

    ``states`` has the state of each exercise, ``right``, ``wrong``, ``untried`` or ``missing`` (the check was not
    reached), with its points. ``seed`` is the one that the notebook's numbers come from.
    """

    student: str
    notebook: str
    seed: str = ""
    states: dict[int, tuple[str, float]] = field(default_factory=dict)
    note: str = ""

    @property
    def points(self) -> float:
        """Return the sum of the points of the exercises that are right."""
        return sum(points for state, points in self.states.values() if state == "right")

    def row(self) -> tuple[str, ...]:
        """Return the submission's row of the table."""
        states = ", ".join(f"{number} {state}" for number, (state, _) in sorted(self.states.items()))
        most = sum(points for _, points in self.states.values())
        return self.student, self.notebook, self.seed, f"{self.points:g}", f"{most:g}", states, self.note


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "grade",
        help="grade submitted notebooks of the course, and write a CSV file",
        description=(
            "Run each notebook below FOLDER in its own process, with the course's own checks in place of the "
            "submission's, and write one row per notebook. The student is the folder below FOLDER, or what the "
            "file's name adds to the notebook's. Files that score(file=...) wrote become rows without being run."
        ),
    )
    parser.add_argument("folder", type=Path, help="the submissions: FOLDER/STUDENT/03_backward.ipynb, for example")
    parser.add_argument(
        "--csv", dest="table", metavar="CSV", type=Path, default=Path("grades.csv"),
        help="the table; by default ./grades.csv",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=120, help="time limit of a notebook; by default 120")
    parser.add_argument("--mebibytes", type=int, default=4096, help="memory limit of a notebook; by default 4096")


def run(folder: Path, table: Path, seconds: float, mebibytes: int) -> int:
    """Grade all notebooks below a folder and write the table; return the exit status."""
    if importlib.util.find_spec("IPython") is None:
        print(f"nbautograd grade: needs IPython, which is not installed: {extra('lab')}", file=sys.stderr)
        return 1
    submissions = [path for path in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
    reported = [each for path in sorted(folder.rglob("*.json")) if (each := reported_by(path, folder))]
    if not submissions and not reported:
        print(f"nbautograd grade: there is no notebook below {folder}", file=sys.stderr)
        return 1
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        grades = [*pool.map(lambda path: grade(path, folder, seconds, mebibytes), submissions), *reported]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([COLUMNS, *map(Grade.row, grades)])
    with replacing(table) as file:
        file.write(text.getvalue().encode())
    for each in grades:
        print("  ".join(filter(None, each.row())))
    print(f"{len(submissions)} notebooks are in {table}" + f", and {len(reported)} reported scores" * bool(reported))
    return 0


def grade(path: Path, folder: Path, seconds: float = 120, mebibytes: int = 4096) -> Grade:
    """Run one submission; what it does to its process or leaves running ends with it."""
    name, student = _whose(path, folder)
    result = Grade(student, name or path.stem)
    if name is None:
        result.note = "this is not a notebook of the course"
        return result
    try:
        submitted = json.loads(path.read_text(encoding="utf-8"))
        original = json.loads((lab.course() / f"{name}.ipynb").read_text(encoding="utf-8"))
        seed = submitted.get("metadata", {}).get("nbautograd", {}).get("seed")
        if seed is not None:
            result.seed = str(seed)
            original = varied(original, result.seed)
        cells = with_own_checks(submitted["cells"], original["cells"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        result.note = f"the notebook cannot be read: {type(error).__name__}"
        return result
    result.states = {int(cell["id"].removeprefix("check-")): ("missing", 1) for cell in cells if cell["check"]}
    token = secrets.token_hex(16)
    command = [sys.executable, "-m", "nbautograd.cli.graded_run"]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    job = json.dumps({"token": token, "mebibytes": mebibytes, "cells": cells}) + "\n"
    try:
        said, _ = child.communicate(job.encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        end_group(child)
        said, _ = child.communicate()
        result.note = f"stopped after {seconds:g} seconds"
    finally:
        end_group(child)
    _note(result, said, token)
    if not result.note and child.returncode:
        result.note = f"the process ended with {child.returncode}"
    return result


def reported_by(path: Path, folder: Path) -> Grade | None:
    """Return the score of a file that ``score(file=...)`` wrote in the student's notebook; of another file None."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["nbautograd"] != "score":
            return None
        states = {int(number): (str(state), float(points)) for number, (state, points) in found["states"].items()}
        notebook = str(found["notebook"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    parts = path.relative_to(folder).parts
    student = parts[0] if len(parts) > 1 else path.stem
    return Grade(student, notebook, states=states, note="reported by the student's notebook, not run")


def with_own_checks(submitted: Sequence[Cell], original: Sequence[Cell]) -> list[Cell]:
    """Return the code cells to run: the submission's, with the course's checks and imports."""
    checks: dict[str, Cell] = {}
    needed: list[str] = []
    for cell in original:
        key, code = str(cell.get("id", "")), "".join(cell["source"])
        if cell["cell_type"] == "code" and key.startswith("check-"):
            checks[key] = {"id": key, "source": code, "check": True, "imports": "\n".join(needed)}
        elif cell["cell_type"] == "code":
            needed += imports_of(code)
    cells = []
    for cell in submitted:
        key, code = str(cell.get("id", "")), "".join(cell["source"])
        if cell["cell_type"] != "code" or key == "score":
            continue
        cells.append(checks.pop(key, {"id": key, "source": code, "check": False}))
    return [*cells, *checks.values()]


def imports_of(code: str) -> list[str]:
    r"""Return the imports among the top-level statements of a cell.

    >>> imports_of("import math\n%load_ext nbautograd\nx = 1")
    ['import math']
    """
    lines = [line for line in code.splitlines() if not line.lstrip().startswith(("%", "!"))]
    try:
        statements = ast.parse("\n".join(lines)).body
    except SyntaxError:
        return []
    return [ast.unparse(each) for each in statements if isinstance(each, ast.Import | ast.ImportFrom)]


def _whose(path: Path, folder: Path) -> tuple[str | None, str]:
    """Return which notebook of the course a file is, and whose."""
    name = max([each.stem for each in lab.course().glob("*.ipynb") if each.stem in path.stem], key=len, default=None)
    parts = path.relative_to(folder).parts
    student = parts[0] if len(parts) > 1 else path.stem.replace(name or "", "", 1).strip("-_. ")
    return name, student or path.stem


def _note(result: Grade, said: bytes, token: str) -> None:
    """Read what the process reported; lines without the token are not its own."""
    for line in said.decode("utf-8", "replace").splitlines():
        own, _, text = line.partition(" ")
        if own != token:
            continue
        report = json.loads(text)
        if "number" in report:
            result.states[report["number"]] = report["state"], report["points"]
        result.note = result.note or report.get("note", "")
