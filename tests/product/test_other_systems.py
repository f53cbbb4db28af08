"""Test differences of Windows and macOS by stand-ins: the tests themselves run on Linux."""

from __future__ import annotations

import ast
import configparser
import ntpath
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nbautograd
from nbautograd import protocol
from nbautograd._engine.base.process_group import end_group
from nbautograd.viz.draw import theme
from nbautograd.viz.notebook import display
from tests.package_sources import SOURCES, tree

ROOT = Path(nbautograd.__file__).parent
NOTEBOOKS = ROOT.parent / "notebooks"
POSIX_ALONE = {"fork", "forkpty", "getuid", "geteuid", "getpgid", "killpg", "setsid", "sched_getaffinity", "uname"}
"""Functions of ``os`` that Windows lacks: code asks first."""


def test_a_program_is_ended_where_there_are_no_process_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        end_group(process)
        process.communicate()
    assert process.returncode
    end_group(process)  # again does nothing


def test_lines_are_named_by_the_file_without_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "C:\\Users\\me\\train.py"
    for module in (protocol, display):
        monkeypatch.setattr(module, "os", SimpleNamespace(path=ntpath))
    shell: Any = SimpleNamespace(execution_count=1, compile=SimpleNamespace(), history_manager=None)
    assert protocol._file_place(path, 1)[0] == display.Locator(shell)(path, 1)[0] == "train.py"


@pytest.mark.parametrize("folder", ["/tmp/", "/var/folders/z_/T/", "C:\\Users\\A B\\Temp\\", "/tmp/my own/"])
@pytest.mark.parametrize("line", ["%s:6: UserWarning: a/b", 'File "%s", line 6', "x\n%s\n", "in %s:6, in f"])
def test_cells_of_notebooks_have_one_name_in_every_temporary_folder(folder: str, line: str) -> None:
    """Saved warnings name the file of their cell, which the kernel keeps in the system's folder for such files."""
    sanitize = configparser.RawConfigParser()
    sanitize.read(NOTEBOOKS / "sanitize.cfg")
    shown = (NOTEBOOKS.parent / "docs" / "guides" / "teachers.md").read_text(encoding="utf-8")
    assert (NOTEBOOKS / "sanitize.cfg").read_text(encoding="utf-8").partition("\n\n")[2] in shown
    cell = sanitize["kernel folder"]
    separator = "\\" if "\\" in folder else "/"
    text = line % f"{folder}ipykernel_4711{separator}1234567.py"
    assert re.sub(cell["regex"], cell["replace"], text) == line % "CELL"


def test_functions_of_posix_are_asked_for_before_they_are_called() -> None:
    unguarded = []
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for name in POSIX_ALONE & set(re.findall(r"\bos\.(\w+)\(", text)):
            if not re.search(rf"hasattr\(os, \"{name}\"\)|getattr\(os, \"{name}\"", text):
                unguarded.append(f"{path.relative_to(ROOT)}: os.{name}")
    assert unguarded == []


def test_modules_of_posix_are_imported_only_in_functions() -> None:
    absent = {"fcntl", "grp", "pwd", "resource", "termios", "pty"}
    found = []
    for module in SOURCES:
        for node in tree(module).body:
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{module}: {name}" for name in names if name in absent]
    assert found == []


def test_every_system_has_a_font_of_each_list() -> None:
    for system in ("Segoe UI", "PingFang SC", "DejaVu Sans", "Microsoft YaHei", "system-ui"):
        assert system in theme.SANS
    for system in ("Consolas", "Menlo", "DejaVu Sans Mono", "ui-monospace"):
        assert system in theme.MONO


def test_files_are_read_as_utf_8_whatever_the_system_prefers() -> None:
    code = "from nbautograd.viz.notebook import scripts; from nbautograd.viz import language\n"
    code += "language.use('zh'); print(len(scripts.component_js()))"
    env = {**os.environ, "PYTHONWARNDEFAULTENCODING": "1", "PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error::EncodingWarning", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
