"""``nbautograd course``: the course for a class, with its answers on demand, not mentioned, or filled in."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from nbautograd.cli import lab
from nbautograd.cli.graders import GRADERS, ONCE, as_text, check_of
from nbautograd.cli.server import say
from nbautograd.exercises import variants, written

__all__ = ["EDITIONS", "edition", "run", "varied"]

EDITIONS = {
    "asked": "as in the course: a comment below each exercise says how to print its worked answer",
    "none": "to hand out: without these comments",
    "solved": "for the teacher: the worked answers stand where the reader's go, and every check says right",
}
PLACES = {"en": "", "zh": "zh"}
_HINT = re.compile(r"\n *# answer\(.*")
_VARIANT = re.compile(r"variant=(\d+)")


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
        asks = check_of(cell)
        if asks:
            cell = {**cell, "source": _HINT.sub("", "".join(cell["source"]))}
        if asks and answers == "solved":
            variant = int((_VARIANT.search(asks[1]) or (0, 0))[1])
            code = written(asks[2], "answer", language, variant)
            own = {"id": cell["id"].replace("check", "answer"), "source": code, "metadata": {"tags": ["answer"]}}
            cells.append({**cell, **own})
        cells.append(cell)
    if answers == "solved":
        cells = [_not_run(cell) for cell in cells]
    return {**notebook, "cells": cells}


def varied(notebook: dict[str, Any], seed: str) -> dict[str, Any]:
    """Return a notebook of the course with the numbers that a seed chooses for its exercises.

    The same seed chooses the same numbers, on every machine. The metadata of the notebook keep it.

    >>> cells = [{"id": "exercise-1", "cell_type": "markdown", "source": "### Exercise 1: with $w = 3$ and $x = -1$"},
    ...          {"id": "check-1", "cell_type": "code", "source": 'check("03.1", dw, dx)', "outputs": []}]
    >>> for cell in varied({"cells": cells, "metadata": {}}, "ada")["cells"]:
    ...     print(cell["source"])
    ### Exercise 1: with $w = 4$ and $x = 3$
    check("03.1", dw, dx, variant=3)
    """
    cells = [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"]]
    for place, cell in enumerate(cells):
        asks = check_of(cell)
        texts = variants(asks[2]) if asks else [{}]
        chosen = int.from_bytes(sha256(f"{seed} {asks and asks[2]}".encode()).digest()[:8], "big") % len(texts)
        if not chosen:
            continue
        first = max(at for at in range(place) if "### " in cells[at]["source"])
        for at in range(first, place):
            taught, heading, task = cells[at]["source"].rpartition("### ")
            cells[at]["source"] = taught + heading + _replaced(task, texts[chosen])
        for call in (r"\b(check\(.*)\)", r"\b(answer\(.*?)\)"):
            cell["source"] = re.sub(call, rf"\1, variant={chosen})", cell["source"])
    return {**notebook, "cells": cells, "metadata": {**notebook["metadata"], "nbautograd": {"seed": seed}}}


def run(folder: Path, language: str, answers: str | None, grader: str | None, seed: str | None) -> int:
    """Write one language's notebooks in an edition to a folder; return the exit status."""
    if grader and seed is not None:
        why = f"{grader} has the same tests for all students. Use nbautograd grade, which reads each seed"
        say(f"--seed: {why}", "course")
        return 1
    answers = answers or ("none" if grader else "asked")
    source = lab.course() / PLACES[language]
    target = folder.expanduser().resolve()
    files: dict[str, str] = {}
    for path in sorted(source.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        if seed is not None:
            notebook = varied(notebook, seed)
        notebook = edition(notebook, answers, language)
        files |= GRADERS[grader](path.stem, notebook) if grader else {path.name: as_text(notebook)}
    files |= ONCE.get(grader or "", {})
    failure = _write(target, files)
    if failure:
        say(failure, "course")
        return 1
    count = sum(name.endswith(".ipynb") for name in files)
    print(f"{count} notebooks{f' for {grader}' if grader else ''} are in {target}; answers: {answers}.")
    return 0


def _write(target: Path, files: dict[str, str]) -> str:
    """Write new files to a folder; return why that cannot be done, or nothing."""
    there = [target / name for name in files if (target / name).exists()]
    if there:
        return f"nothing is written: {there[0]} already exists. Name another folder"
    try:
        for name, text in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(text, encoding="utf-8")
    except OSError as error:
        return f"cannot write the course to {target}: {error.strerror or error}"
    return ""


def _replaced(text: str, pairs: dict[str, str]) -> str:
    """Return a text with all of these replaced at once."""
    return re.sub("|".join(map(re.escape, pairs)), lambda found: pairs[found[0]], text)


def _not_run(cell: dict[str, Any]) -> dict[str, Any]:
    return {**cell, "outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell
