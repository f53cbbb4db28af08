"""``nbautograd course``: the course for a class, with its answers folded, omitted or filled in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbautograd.cli import lab
from nbautograd.cli.server import say

__all__ = ["EDITIONS", "edition", "run"]

EDITIONS = {
    "folded": "as in the course: worked answers stand in folded cells",
    "none": "to hand out: without worked answers",
    "solved": "for the teacher: the worked answers stand where the reader's go, and every check says right",
}
PLACES = {"en": "", "zh": "zh"}


def edition(notebook: dict[str, Any], answers: str) -> dict[str, Any]:
    """Return a notebook of the course with its worked answers in the form that ``EDITIONS`` describes.

    Outputs are dropped if code changed: in a solved edition they would contradict it.

    >>> cells = [{"id": f"{kind}-1", "cell_type": "code", "source": kind, "outputs": [], "metadata": {}}
    ...          for kind in ("try", "check", "answer")]
    >>> [cell["source"] for cell in edition({"cells": cells}, "none")["cells"]]
    ['try', 'check']
    >>> [cell["source"] for cell in edition({"cells": cells}, "solved")["cells"]]
    ['try', 'answer', 'check']
    """
    cells = notebook["cells"]
    if answers == "folded":
        return notebook
    worked = {str(cell["id"]).removeprefix("answer-"): cell for cell in cells if str(cell["id"]).startswith("answer-")}
    others = [cell for cell in cells if not str(cell["id"]).startswith("answer-")]
    if answers == "none":
        return {**notebook, "cells": others}
    cells = []
    for cell in others:
        kind, _, number = str(cell["id"]).partition("-")
        if kind == "check" and number in worked:
            cells.append({**worked[number], "metadata": {"tags": ["answer"]}})
        cells.append(cell)
    return {**notebook, "cells": [_not_run(cell) for cell in cells]}


def run(folder: Path, language: str, answers: str) -> int:
    """Write one language's notebooks in an edition to a folder; return the exit status."""
    source = lab.course() / PLACES[language]
    target = folder.expanduser().resolve()
    notebooks = sorted(source.glob("*.ipynb"))
    there = [target / notebook.name for notebook in notebooks if (target / notebook.name).exists()]
    if there:
        say(f"nothing is written: {there[0]} already exists. Name another folder")
        return 1
    try:
        target.mkdir(parents=True, exist_ok=True)
        for notebook in notebooks:
            written = edition(json.loads(notebook.read_text(encoding="utf-8")), answers)
            text = json.dumps(written, ensure_ascii=False, indent=1) + "\n"
            (target / notebook.name).write_text(text, encoding="utf-8")
    except OSError as error:
        say(f"cannot write the course to {target}: {error.strerror or error}")
        return 1
    print(f"{len(notebooks)} notebooks are in {target}; answers: {answers}.")
    return 0


def _not_run(cell: dict[str, Any]) -> dict[str, Any]:
    return {**cell, "outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell
