"""The page "How autograd works" is true: both libraries print the same in each of its cells, in both languages."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from tests import oracle

DOCS = Path(__file__).parents[2] / "docs"
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHOICES = "(autograd-choices)="
ANCHOR = re.compile(r"^\((?:zh-)?autograd-([\w-]+)\)=\n#+ \S", re.MULTILINE)


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def plain(cell: str) -> str:
    """Return a cell as Python: ``%backward y`` calls the method, the other magics only show something."""
    cell = re.sub(r"^%backward (\w+)$", r"\1.backward()", cell, flags=re.MULTILINE)
    return re.sub(r"^(?:%.*|import nbautograd as torch)\n", "", cell, flags=re.MULTILINE)


def printed(T: Any) -> list[str]:
    """Run the cells that are for both libraries, and return their outputs."""
    namespace: dict[str, Any] = {"torch": T}
    shown = []
    for number, cell in enumerate(CELL.findall(text("autograd.md").partition(CHOICES)[0])):
        with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's warning at the first use of forward mode
            exec(compile(plain(cell), f"docs/autograd.md, cell {number}", "exec"), namespace)
        shown.append(out.getvalue())
    return shown


def test_both_libraries_print_the_same() -> None:
    shown = oracle.check(printed, exact=True)
    assert len([each for each in shown if each]) > 25


IN_A_NOTEBOOK = """
import json, re, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell, shown = InteractiveShell.instance(), []
for cell in json.loads(sys.argv[1]):
    with capture_output() as captured:
        done = shell.run_cell(cell)
    done.raise_error()
    displayed = len(captured.outputs) + (done.result is not None)
    shown.append([captured.stdout, len(re.findall("^%(?:backward|graph) ", cell, re.MULTILINE)), displayed])
print(json.dumps(shown))
"""


def test_each_cell_runs_in_a_notebook_and_shows_its_players(tmp_path: Path) -> None:
    cells = CELL.findall(text("autograd.md"))
    command = [sys.executable, "-c", IN_A_NOTEBOOK, json.dumps(cells)]
    env = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = json.loads(done.stdout)
    ours = CELL.findall(text("autograd.md").partition(CHOICES)[2])
    for cell, (_, players, displayed) in zip(cells, shown, strict=True):
        assert displayed == players, cell
    said = [stdout for stdout, _, _ in shown[-len(ours) :] if stdout]
    assert said == ["a hook must be callable, and this int is not\n"]
    assert sum(players for _, players, _ in shown) >= 15


def test_the_chinese_page_has_the_same_cells_and_anchors() -> None:
    english, chinese = text("autograd.md"), text("zh/autograd.md")
    cells = [cell.replace("%autograd --language zh\n", "") for cell in CELL.findall(chinese)]
    assert cells == CELL.findall(english)
    assert ANCHOR.findall(chinese) == ANCHOR.findall(english) and len(ANCHOR.findall(english)) == 15
    assert len(re.findall("^#+ ", CELL.sub("", chinese), re.MULTILINE)) == len(ANCHOR.findall(english)) + 2
