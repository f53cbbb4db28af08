"""The journal of a run: one line of JSON per event, appended at once, so that nothing is lost.

A line has ``what``: ``run`` (the first of each run), ``begun`` and ``item`` (a test, a row of a table; of a step that
has none the item is the step itself), ``left`` (begun, and stopped because the part's time was over), ``step``.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

NAME = "results.jsonl"
OVER = ("done", "failed", "died")  # of steps: those not tried again
REHEARSAL = "rehearsal: says nothing about CUDA"


class Journal:
    """The events so far, as read from a folder, and the one place that writes to it.

    :raises SystemExit: the folder has results of a rehearsal and this is none, or the reverse.
    """

    def __init__(self, folder: Path, rehearsal: bool) -> None:
        self.folder, self.rehearsal, self.path = folder, rehearsal, folder / NAME
        self.lines, self.is_new = read(self.path), True
        for line in self.lines:
            if line["what"] == "run" and line["rehearsal"] != rehearsal:
                kind = "a rehearsal's" if line["rehearsal"] else "a device's"
                raise SystemExit(f"{self.path} holds {kind} results: name another folder")

    def add(self, **line: Any) -> None:
        """Write a line, and make sure that it is on the disk."""
        if self.rehearsal:
            line["note"] = REHEARSAL
        self.lines.append(line)
        self.folder.mkdir(parents=True, exist_ok=True)
        is_cut = self.is_new and self.path.exists() and not self.path.read_bytes().endswith(b"\n")
        self.is_new = False
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * is_cut)  # the last line of a killed run
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def status(self, step: str) -> str:
        """Return the last result of a step: ``done``, ``failed``, ``died``, ``partial``, or ``""`` if it has not
        ended.
        """
        return next((x["status"] for x in reversed(self.lines) if x["what"] == "step" and x["step"] == step), "")

    def is_over(self, step: str) -> bool:
        """Return whether there is nothing left to do."""
        return self.status(step) in OVER

    def items(self, step: str) -> dict[str, dict[str, Any]]:
        """Return the finished items of a step, with the last result of each."""
        return {x["item"]: x for x in self.lines if x["what"] == "item" and x["step"] == step}

    def open_items(self, step: str) -> Counter[str]:
        """The items that were begun and have not ended, and how often each was begun."""
        begun: Counter[str] = Counter()
        for x in self.lines:
            if x.get("step") == step and x["what"] == "begun":
                begun[x["item"]] += 1
            elif x.get("step") == step and x["what"] in ("item", "left"):
                del begun[x["item"]]
        return begun

    def forget(self, step: str) -> None:
        """Run the step again from its beginning: earlier results stay in the file, but do not count."""
        self.add(what="again", step=step)
        self.lines = current(self.lines)


def current(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines without those of steps that were begun again later."""
    last = {line["step"]: index for index, line in enumerate(lines) if line["what"] == "again"}
    return [line for index, line in enumerate(lines) if index > last.get(line.get("step", ""), -1)]


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a journal; one that was cut off by the end of its process is left out."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue
    return current(lines)
