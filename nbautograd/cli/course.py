"""``nbautograd course``: the course for a class, with its answers on demand, not mentioned, or filled in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from nbautograd.cli import lab
from nbautograd.cli.server import say
from nbautograd.exercises import written

__all__ = ["EDITIONS", "edition", "run"]

EDITIONS = {
    "asked": "as in the course: a comment below each exercise says how to print its worked answer",
    "none": "to hand out: without these comments",
    "solved": "for the teacher: the worked answers stand where the reader's go, and every check says right",
}
PLACES = {"en": "", "zh": "zh"}


_CHECK = re.compile(r'^ *check\("([\w.]+)"', re.MULTILINE)
_HINT = re.compile(r'\n *# answer\("[\w.]+"\).*')


def edition(notebook: dict[str, Any], answers: str, language: str = "en") -> dict[str, Any]:
    r"""Return a notebook of the course with its worked answers in the form that ``EDITIONS`` describes.

    Outputs are dropped if code changed: in a solved edition they would contradict it.

    >>> cells = [{"id": f"{kind}-1", "cell_type": "code", "source": source, "outputs": [], "metadata": {}}
    ...          for kind, source in (("try", "u = ..."), ("check", 'check("03.2", u)\n# answer("03.2") helps'))]
    >>> [cell["source"] for cell in edition({"cells": cells}, "none")["cells"]]
    ['u = ...', 'check("03.2", u)']
    >>> [cell["id"] for cell in edition({"cells": cells}, "solved")["cells"]]
    ['try-1', 'answer-1', 'check-1']
    """
    if answers == "asked":
        return notebook
    cells = []
    for cell in notebook["cells"]:
        code = "".join(cell["source"])
        asks = _CHECK.search(code) if cell["cell_type"] == "code" else None
        if asks:
            cell = {**cell, "source": _HINT.sub("", code)}
        if asks and answers == "solved":
            own = {"id": cell["id"].replace("check", "answer"), "source": written(asks[1], "answer", language)}
            cells.append({**cell, **own, "metadata": {"tags": ["answer"]}})
        cells.append(cell)
    if answers == "solved":
        cells = [_not_run(cell) for cell in cells]
    return {**notebook, "cells": cells}


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
            written = edition(json.loads(notebook.read_text(encoding="utf-8")), answers, language)
            text = json.dumps(written, ensure_ascii=False, indent=1) + "\n"
            (target / notebook.name).write_text(text, encoding="utf-8")
    except OSError as error:
        say(f"cannot write the course to {target}: {error.strerror or error}")
        return 1
    print(f"{len(notebooks)} notebooks are in {target}; answers: {answers}.")
    return 0


def _not_run(cell: dict[str, Any]) -> dict[str, Any]:
    return {**cell, "outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell
