"""Notebooks of the course in the forms that nbgrader and otter-grader read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

__all__ = ["GRADERS", "ONCE", "as_text", "check_of"]

CHECK = re.compile(r'^ *(check\("([\w.]+)".*)', re.MULTILINE)
"""The line that checks an exercise, and its name."""
CONFIGURATION = """\
import os

c = get_config()
c.CourseDirectory.course_id = "nbautograd"
c.ExecutePreprocessor.timeout = 120  # seconds of a cell
os.environ["NBAUTOGRAD_GRADING"] = "1"  # a check raises if the answer is wrong or missing
"""
TEST = """\
OK_FORMAT = False

import os
from unittest.mock import patch

from otter.test_files import test_case

from nbautograd.exercises import check

name = {name!r}
points = 1


@test_case(points=1)
def answer_is_right(env):
    with patch.dict(os.environ, NBAUTOGRAD_GRADING="1"):
        exec({call!r}, {{**env, "check": check}})
"""


def as_text(notebook: dict[str, Any]) -> str:
    """Return the text of a notebook's file."""
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def for_nbgrader(stem: str, notebook: dict[str, Any]) -> dict[str, str]:
    """Return the files of nbgrader's assignment: a locked test for each check; none for a notebook without."""
    cells = []
    for cell in notebook["cells"]:
        if asks := check_of(cell):
            kind = {"grade": True, "solution": False, "task": False, "locked": True, "points": 1, "schema_version": 3}
            test = {**kind, "grade_id": cell["id"], "cell_type": "code"}
            code = f"from nbautograd.exercises import check\n\n{asks[1]}"
            cell = {**cell, "source": code, "metadata": {**cell["metadata"], "nbgrader": test}}
        cells.append(cell)
    tested = any("nbgrader" in cell["metadata"] for cell in cells)
    return {f"source/{stem}/{stem}.ipynb": as_text({**notebook, "cells": cells})} if tested else {}


def for_otter(stem: str, notebook: dict[str, Any]) -> dict[str, str]:
    """Return the files of otter's assignment: a test for each check, run where the check stands; none without."""
    cells, files = [], {}
    for cell in notebook["cells"]:
        if asks := check_of(cell):
            cell = {**cell, "metadata": {**cell["metadata"], "otter": {"tests": [cell["id"]]}}}
            files[f"{stem}/tests/{cell['id']}.py"] = TEST.format(name=cell["id"], call=asks[1])
        cells.append(cell)
    return {f"{stem}/{stem}.ipynb": as_text({**notebook, "cells": cells}), **files} if files else {}


def check_of(cell: dict[str, Any]) -> re.Match[str] | None:
    """Return the line of a cell that checks an exercise: the call, without conditions around it, and the name."""
    return CHECK.search("".join(cell["source"])) if cell["cell_type"] == "code" else None


GRADERS: dict[str | None, Callable[[str, dict[str, Any]], dict[str, str]]] = {
    "nbgrader": for_nbgrader,
    "otter": for_otter,
}
ONCE = {"nbgrader": {"nbgrader_config.py": CONFIGURATION}}
"""Files that a grader needs once for all notebooks."""
