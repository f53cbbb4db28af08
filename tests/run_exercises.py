"""Run a notebook's cells in IPython, as handed out or solved, with wrong answers tried on the way.

``python -m tests.run_exercises NOTEBOOK [handed_out] [solved] < trials.json`` prints what the checks said, as JSON.
``trials`` has, by number of exercise, a list of cells that a reader might write instead.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbautograd.cli.course import edition
from nbautograd.exercises import score


class Reader:
    """A shell in which the cells of one notebook run."""

    def __init__(self) -> None:
        self.shell = InteractiveShell()

    def run(self, cell: dict[str, Any]) -> str:
        """What a cell prints.

        :raises Exception: what the cell raises, where its tags do not say that it does.
        """
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            result = self.shell.run_cell("".join(cell["source"]), store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None and "raises-exception" not in cell["metadata"].get("tags", ()):
            raise RuntimeError(f"cell {cell['id']}: {type(error).__name__}: {error}\n{printed.getvalue()}") from error
        return printed.getvalue()


def code(notebook: dict[str, Any], answers: str) -> list[dict[str, Any]]:
    return [cell for cell in edition(notebook, answers)["cells"] if cell["cell_type"] == "code"]


def number_of(cell: dict[str, Any], kind: str) -> str | None:
    name, _, number = cell["id"].partition("-")
    return number if name == kind and number.isdigit() else None


def handed_out(notebook: dict[str, Any]) -> dict[str, str]:
    """What the checks say where nothing was tried."""
    reader = Reader()
    said = {cell["id"]: reader.run(cell) for cell in code(notebook, "none")}
    return {key: text for key, text in said.items() if key.startswith("check-")}


def solved(notebook: dict[str, Any], trials: dict[str, list[str]]) -> dict[str, Any]:
    """What the checks say to the worked answers, and to each of the trials."""
    reader, said, tried = Reader(), {}, {}
    skeletons: dict[str, list[dict[str, Any]]] = {}
    for cell in code(notebook, "solved"):
        exercise = number_of(cell, "try") or number_of(cell, "answer")
        if exercise is not None:
            skeletons.setdefault(exercise, []).append(cell)
        number = number_of(cell, "check")
        if number is not None:
            tried[number] = []
            for trial in trials.get(number, ()):
                reader.run(skeletons[number][0])
                reader.run({"id": "trial", "source": trial, "metadata": {}})
                tried[number].append(reader.run(cell))
            for skeleton in skeletons[number] if trials.get(number) else ():
                reader.run(skeleton)
        text = reader.run(cell)
        if number is not None:
            said[cell["id"]] = text
    counted = io.StringIO()
    with redirect_stdout(counted):
        score()
    return {"said": said, "tried": tried, "score": counted.getvalue()}


def main(path: str, *editions: str) -> None:
    notebook = json.loads(Path(path).read_text(encoding="utf-8"))
    trials = json.load(sys.stdin)
    out: dict[str, Any] = {}
    if "handed_out" in editions:
        out["handed_out"] = handed_out(notebook)
    if "solved" in editions:
        out["solved"] = solved(notebook, trials)
    sys.__stdout__.write("\n" + json.dumps(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
