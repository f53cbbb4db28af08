"""The page "your first change in ten minutes" works as it is written: followed in a copy of the project."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "first_change.md"
STEP = re.compile(r"<!-- (put|run)(?:: (\S+), (.+?))? -->\n```\w+\n(.*?)```", re.DOTALL)


def put(path: Path, place: str, code: str) -> None:
    """Write code at the end of a file, or into a list that begins there."""
    text = path.read_text(encoding="utf-8")
    if place == "at the end":
        text = f"{text.rstrip()}\n\n\n{code}"
    else:
        start = text.index(f"\n{place.removeprefix('in ')} = [\n")
        end = text.index("\n]", start) + 1
        *before, rows = text[start:end].partition("[\n")
        lines = [*rows.splitlines(keepends=True), code]
        text = text[:start] + "".join([*before, *(sorted(lines) if "__all__" in place else lines)]) + text[end:]
    path.write_text(text, encoding="utf-8")


@pytest.mark.sweep
def test_following_the_page(tmp_path: Path) -> None:
    needs.package("ruff")
    ignored = shutil.ignore_patterns("__pycache__", "*.ipynb_checkpoints", "screenshots", "api", "course")
    for name in ("nbautograd", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for path in [ROOT / "pyproject.toml", *ROOT.glob("*.py")]:
        shutil.copy(path, tmp_path)
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "sanitize.cfg", tmp_path / "notebooks")
    steps = STEP.findall(PAGE.read_text(encoding="utf-8"))
    assert [kind for kind, *_ in steps] == ["put", "put", "put", "run", "run", "put", "run"]
    python = shlex.quote(sys.executable)
    programs = ""
    for name, module in (("python", ""), ("pytest", "-m pytest"), ("ruff", "-m ruff")):
        programs += f'{name}() {{ {python} {module} "$@"; }}\n'
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    said = []
    for kind, path, place, code in steps:
        if kind == "put":
            put(tmp_path / path, place, code)
            continue
        done = subprocess.run(
            ["bash", "-ec", programs + code], cwd=tmp_path, env=environment, capture_output=True, text=True,
            encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, code + done.stdout + done.stderr
        said.append(done.stdout)
    assert int(re.search(r"(\d+) passed", said[0])[1]) >= 3, said[0]  # derivatives, formulas, strict arrays
    assert "tensor([-0.1600])" in said[1]
    assert "def lorentz(" in (tmp_path / "nbautograd/__init__.pyi").read_text(encoding="utf-8")
