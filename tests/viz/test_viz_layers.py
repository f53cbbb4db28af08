"""The direction inside viz: each part imports only from those before it, and no modules import each other in a circle.

Imports inside functions and those that only a type checker sees count like all others.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from nbautograd import viz

ROOT = Path(viz.__file__).parent
TEXTS = ["path_texts", "translations", "language"]
PARTS = [*TEXTS, "escape", "settings", "compare", "read", "capture", "draw", "notebook", "viz"]
"""From the lowest on: what is shared by all; read a graph, capture a pass, draw both, show them in a notebook."""
SHARED = PARTS[: PARTS.index("read")]


def module_name(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").removesuffix(".")
    return name or "viz"


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
MODULES = {name: ast.parse(text) for name, text in SOURCES.items()}


def imported(name: str) -> set[str]:
    """The modules of viz that a module imports, wherever it does, by their names below ``nbautograd.viz``."""
    found = set()
    for node in ast.walk(MODULES[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    inside = {name.removeprefix("nbautograd.") for name in found if name.startswith("nbautograd.viz")}
    return {deepest(name.removeprefix("viz").removeprefix(".")) for name in inside}


def deepest(name: str) -> str:
    """The module that a dotted name is, or is in."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or "viz"


def part(name: str) -> str:
    """Of the plugin for pytest, which stands at the top for its public name: what is above all."""
    first = name.partition(".")[0]
    return first if first in PARTS else "viz"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_from_its_own_part_or_below(name: str) -> None:
    own = PARTS.index(part(name))
    assert [target for target in sorted(imported(name)) if PARTS.index(part(target)) > own] == []


def test_there_are_no_circles() -> None:
    below: dict[str, set[str]] = {}  # of each module all that it imports, by way of others as well

    def visit(name: str, path: tuple[str, ...]) -> set[str]:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in below:
            below[name] = set().union(*({target, *visit(target, (*path, name))} for target in imported(name)))
        return below[name]

    for name in MODULES:
        visit(name, ())
    assert "read.builder" in below["notebook.api"]  # something has been looked at


def test_the_shared_modules_do_not_know_what_is_drawn() -> None:
    assert {target for name in SHARED for target in imported(name)} <= set(TEXTS)


def test_files_are_short() -> None:
    assert {name: text.count("\n") for name, text in SOURCES.items() if text.count("\n") >= 500} == {}
