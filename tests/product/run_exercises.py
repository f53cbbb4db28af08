"""Run notebooks' cells in IPython as handed out, and at each check try wrong answers and the worked ones.

``python -m tests.product.run_exercises`` reads lines of JSON, each with a notebook and its trials, and writes a line
with the results of its checks, or with the error; an empty one if the process died. A notebook runs in a fork of this
process, which has only imported: to import takes longer than most notebooks do. Where no process forks, it ends after
one notebook.

Trials are, by number of exercise, lists of cells that a reader might write instead. The worked answers are checked in
both languages; each check also runs before its skeleton, as after a cell with a syntax error. After each check the
skeleton is restored, as the following cells must work without an answer.
"""

from __future__ import annotations

import io
import json
import os
import traceback
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbautograd.cli.course import edition
from nbautograd.exercises import book_of, score, written
from nbautograd.viz import language

Cell = dict[str, Any]


class Reader:
    """A shell in which the cells of one notebook run."""

    def __init__(self) -> None:
        self.shell = InteractiveShell()

    def run(self, cell: Cell) -> str:
        """Return the output of a cell.

        :raises Exception: the cell's exception, unless its tags allow it.
        """
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            result = self.shell.run_cell("".join(cell["source"]), store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None and "raises-exception" not in cell["metadata"].get("tags", ()):
            raise RuntimeError(f"cell {cell['id']}: {type(error).__name__}: {error}\n{printed.getvalue()}") from error
        return printed.getvalue()

    def attempt(self, cell: Cell) -> str:
        """Return the output of a cell, or its error."""
        try:
            return self.run(cell)
        except RuntimeError as error:
            return str(error)

    def check(self, cells: dict[str, Cell], number: str, *trial: Cell) -> str:
        """Return the message of a check after the skeleton and the answer below it."""
        for cell in (cells[f"try-{number}"], *trial):
            self.run(cell)
        return self.run(cells[f"check-{number}"])


def read(path: Path) -> Cell:
    notebook: Cell = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def worked(path: Path, number: str, language: str) -> Cell:
    code = written(f"{book_of(path.stem)}.{number}", "answer", language)
    return {"id": f"answer-{number}", "source": code, "metadata": {}}


def main(path: Path, trials: dict[str, list[str]]) -> dict[str, Any]:
    english, chinese = read(path), read(path.parent / "zh" / path.name)
    cells, translated = ({cell["id"]: cell for cell in notebook["cells"]} for notebook in (english, chinese))
    reader, before, handed_out, tried, solved, in_chinese = Reader(), {}, {}, {}, {}, {}
    for cell in edition(english, "none")["cells"]:
        if cell["cell_type"] != "code":
            continue
        kind, _, number = cell["id"].partition("-")
        if kind == "try":
            before[number] = reader.attempt(cells[f"check-{number}"])
        text = reader.run(cell)
        if kind == "check" and number.isdigit():
            handed_out[number] = text
            written = [{"id": "trial", "source": code, "metadata": {}} for code in trials.get(number, ())]
            tried[number] = [reader.check(cells, number, trial) for trial in written]
            solved[number] = reader.check(cells, number, worked(path, number, "en"))
            language.use("zh")
            in_chinese[number] = reader.check(translated, number, worked(path, number, "zh"))
            language.use("en")
            reader.run(cells[f"try-{number}"])
    counted = io.StringIO()
    with redirect_stdout(counted):
        score()
    said = {"before": before, "handed_out": handed_out, "tried": tried, "solved": solved, "in_chinese": in_chinese}
    return {**said, "score": counted.getvalue()}


LOADED = ("IPython.core.magics", "anywidget", "stack_data", "nbautograd.viz.notebook.magics")
"""The modules that every notebook loads, where they are installed."""


def answered(request: str) -> str:
    """Return the line with the results of a notebook, or with its error."""
    try:
        path, trials = json.loads(request)
        return json.dumps({"said": main(Path(path), trials)})
    except Exception:
        return json.dumps({"error": traceback.format_exc()})


def serve() -> None:
    """Answer the lines of the standard input; what a notebook itself prints or reads goes elsewhere."""
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name in LOADED:
        try:
            import_module(name)
        except ModuleNotFoundError:
            continue
    for request in requests:
        child = os.fork() if hasattr(os, "fork") else 0
        if not child:
            try:
                print(answered(request), file=answers, flush=True)
                os._exit(0)
            finally:
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            print(file=answers, flush=True)


if __name__ == "__main__":
    serve()
