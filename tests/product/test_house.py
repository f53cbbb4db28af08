"""Check the order of the house: wings with walls, docstrings with existing names, numbers that only fall."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict

import pytest

from tests import house
from tests.package_sources import PACKAGE, SOURCES, nodes


def test_no_wing_imports_another_against_the_drawing() -> None:
    assert sorted({*house.imports_across()}) == []


def test_every_name_in_a_docstring_exists() -> None:
    assert sorted({*house.unknown_names()}) == []


def entries() -> set[str]:
    """Return the names at the top of the package that PyTorch does not have."""
    found = {path.name.partition(".")[0] for path in PACKAGE.iterdir()} - {"__init__", "__pycache__", "py"}
    return found - house.PYTORCH


def twice() -> dict[str, set[str]]:
    """Return the classes of one name in several modules, by name."""
    modules = defaultdict[str, set[str]](set)
    for name in SOURCES:
        for node in nodes(name):
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(name)
    return {name: places for name, places in modules.items() if len(places) > 1}


def transformers() -> set[str]:
    """Return the classes that rewrite syntax trees."""
    return {f"{name}.{node.name}" for name in SOURCES for node in nodes(name) if isinstance(node, ast.ClassDef)
            and any("NodeTransformer" in ast.unparse(base) for base in node.bases)}  # fmt: skip


def substituters() -> set[str]:
    """Return the classes that look up the names in syntax trees."""
    return {f"{name}.{node.name}" for name in SOURCES for node in nodes(name) if isinstance(node, ast.ClassDef)
            and any(isinstance(part, ast.FunctionDef) and part.name == "visit_Name" for part in node.body)}  # fmt: skip


def saving() -> set[str]:
    """Return the files of the package whose code the first ``torch.save`` of a tensor runs, once they are loaded."""
    code = """
import io, pathlib, sys  # pathlib asks for a module that only Windows has, and with it the package's import hook
import nbautograd as torch
from nbautograd._names import lazy
lazy.load()
x, files = torch.ones(2), set()
sys.setprofile(lambda frame, event, argument: files.add(frame.f_code.co_filename))
torch.save({"a": x}, io.BytesIO())
sys.setprofile(None)
print(*files, sep="\\n")
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=PACKAGE.parent)
    return {file for file in found.stdout.split("\n") if file.startswith(str(PACKAGE))}


def naming_frames() -> set[str]:
    """Return the modules that read the name of a frame's function, which a renaming changes."""
    attributes = ((name, node) for name in SOURCES for node in nodes(name) if isinstance(node, ast.Attribute))
    return {name for name, node in attributes if node.attr in ("co_name", "co_qualname")}


def exchanging() -> set[str]:
    """Return the modules that give a function another code: ``core/dispatch_mode.py``, and that of ``wrap``."""
    attributes = ((name, node) for name in SOURCES for node in nodes(name) if isinstance(node, ast.Attribute))
    return {name for name, node in attributes if node.attr == "__code__" and isinstance(node.ctx, ast.Store)}


def tangled() -> set[str]:
    """Return the functions with more than 12 branches: conditions, loops, handlers, and parts of ``and`` and ``or``."""
    kinds = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.Assert, ast.comprehension, ast.match_case)
    found = set()
    for name in SOURCES:
        for function in nodes(name):
            if isinstance(function, ast.FunctionDef):
                branches, parts = 1, [*function.body]
                while parts:
                    part: ast.AST = parts.pop()
                    branches += isinstance(part, kinds) + len(getattr(part, "ifs", ()))
                    branches += len(part.values) - 1 if isinstance(part, ast.BoolOp) else 0
                    inner = isinstance(part, (ast.FunctionDef, ast.ClassDef))
                    parts += () if inner else ast.iter_child_nodes(part)
                if branches > 12:
                    found.add(f"{name}.{function.name}")
    return found


RATCHETS = {
    "entries at the top": (entries, 9),
    "classes of one name": (twice, 23),
    "classes that rewrite": (transformers, 8),
    "classes that look names up": (substituters, 4),
    "modules that name frames": (naming_frames, 6),
    "modules that exchange code": (exchanging, 2),
    "files that the first save runs": (saving, 14),
    "functions of more than 12 branches": (tangled, 81),
}
"""The counted facts, with their numbers: a number may fall, and is then written down here."""


@pytest.mark.parametrize("what", RATCHETS)
def test_a_number_only_falls(what: str) -> None:
    count, most = RATCHETS[what]
    found = count()
    assert len(found) <= most, f"{what}: {len(found)}, and {most} were enough: {sorted(found)}"
    assert len(found) == most, f"{what} have become fewer: write {len(found)} into RATCHETS"


READMES = ("_compat", "_engine", "_names", "nn", "viz")


@pytest.mark.parametrize("folder", READMES)
def test_a_wing_tells_what_it_is_on_one_screen(folder: str) -> None:
    text = (PACKAGE / folder / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    paths = re.findall(r"`([\w/.]+(?:\.(?:md|py|txt)|/))`", text)
    places = (PACKAGE / folder, PACKAGE, PACKAGE.parent)
    missing = [path for path in paths if not any((place / path).exists() for place in places)]
    assert len(paths) > 4 and missing == []


MAX_LINES = 124_900
"""Of the package. A change that needs more takes as many away elsewhere, or says here what the lines are for."""


@pytest.mark.sweep
def test_sizes_are_counted() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.house"], check=True, capture_output=True, text=True, cwd=PACKAGE.parent
    )
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}
    assert [*rows] == [*house.WINGS, "top", "all"]
    counts = {name: [int(cell.replace(",", "")) for cell in row] for name, row in rows.items()}
    assert counts["all"][0] == len(SOURCES) and 100_000 < counts["all"][1] <= MAX_LINES
    assert [sum(column) for column in zip(*counts.values(), strict=True)] == [2 * total for total in counts["all"]]
