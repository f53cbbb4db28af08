"""The pages for a first change, magic and picture work as they are written: followed in a copy of the project."""

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

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"<!-- (put|run)(?:: (\S+), (.+?))? -->\n```\w+\n(.*?)```", re.DOTALL)
PLACE = re.compile(r'(before|in place of) "(.*)"')
PAGES = {
    "first_change": ["put", "put", "put", "run", "run", "put", "run"],
    "first_magic": ["put", "put", "put", "run", "put", "run"],
    "first_picture": ["put", "run", "put", "run"],
}
"""The steps of each page."""


def put(path: Path, place: str, code: str) -> None:
    """Write code at the end of a file, into a list or dict, or at the only line that begins as is said."""
    text = path.read_text(encoding="utf-8")
    line = PLACE.fullmatch(place)
    if place == "at the end":
        text = f"{text.rstrip()}\n\n\n{code}"
    elif line is not None:
        lines = text.splitlines(keepends=True)
        (at,) = [i for i, each in enumerate(lines) if each.startswith(line[2].replace('\\"', '"'))]
        lines[at : at + (line[1] == "in place of")] = [code]
        text = "".join(lines)
    else:
        start = re.search(rf"^{place.removeprefix('in ')}\b.* = [\[{{]\n", text, re.MULTILINE).end()
        end = re.compile(r"^[\]}]", re.MULTILINE).search(text, start).start()
        rows = [*text[start:end].splitlines(keepends=True), code]
        text = text[:start] + "".join(sorted(rows) if "__all__" in place else rows) + text[end:]
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project, in which the pages are followed one after the other."""
    for package in ("ruff", "IPython"):
        needs.package(package)
    folder = tmp_path_factory.mktemp("project")
    # Bytecode goes along, but for pytest's, which names the files that it was made from: to compile takes the longest.
    ignored = shutil.ignore_patterns("*-pytest-*.pyc", "*.ipynb_checkpoints", "api", "course")
    for name in ("nbautograd", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for path in [ROOT / "pyproject.toml", *ROOT.glob("*.py")]:
        shutil.copy(path, folder)
    (folder / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "sanitize.cfg", folder / "notebooks")
    return folder


@pytest.mark.sweep
@pytest.mark.parametrize("page", PAGES)
def test_following_the_page(page: str, project: Path) -> None:
    steps = STEP.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert [kind for kind, *_ in steps] == PAGES[page]
    python = shlex.quote(sys.executable)
    programs = ""
    for name, module in (("python", ""), ("pytest", "-m pytest"), ("ruff", "-m ruff")):
        programs += f'{name}() {{ {python} {module} "$@"; }}\n'
    environment = {**os.environ, "PYTHONPATH": str(project)}
    said = []
    for kind, path, place, code in steps:
        if kind == "put":
            put(project / path, place, code)
            continue
        done = subprocess.run(
            ["bash", "-ec", programs + code], cwd=project, env=environment, capture_output=True, text=True,
            encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, code + done.stdout + done.stderr
        said.append(done.stdout)
    CHECKS[page](project, said)


def adds_an_operation(folder: Path, said: list[str]) -> None:
    passed = re.search(r"(\d+) passed", said[0])
    assert passed is not None and int(passed[1]) >= 3, said[0]  # derivatives, formulas, strict arrays
    assert "tensor([-0.1600])" in said[1]
    assert "def lorentz(" in (folder / "nbautograd/__init__.pyi").read_text(encoding="utf-8")


def adds_a_magic(folder: Path, said: list[str]) -> None:
    shown = re.findall(r"```text\n(.*?)```", (ROOT / "docs" / "first_magic.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown and shown[0].strip() in said[0], said[0]


def adds_a_mark(folder: Path, said: list[str]) -> None:
    assert said[0].split()[-1] == "2" and "∅" in (folder / "empty.svg").read_text(encoding="utf-8")


CHECKS = {"first_change": adds_an_operation, "first_magic": adds_a_magic, "first_picture": adds_a_mark}
