"""Test the package's layers: allowed imports, the modules loaded by an import, and the names in formulas."""

from __future__ import annotations

import ast
import builtins
import functools
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from nbautograd._engine.compiler.op import COMPOSITES, OPS, CompiledOp
from nbautograd._engine.compiler.schema import HELPERS
from tests.house import WINGS
from tests.package_sources import (
    GENERATED,
    PACKAGE,
    SOURCES,
    compiled_method,
    global_names,
    imports,
    nodes,
)  # fmt: skip

LAYERS = [
    {"nbautograd._engine", "nbautograd._engine.base", "nbautograd._names", "nbautograd.errors", "nbautograd.protocol"},
    {"nbautograd._engine.arrays"},
    {"nbautograd._engine.core"},
    {"nbautograd._engine.fusion"},
    {"nbautograd._engine.compiler"},
    {"nbautograd._engine.rng"},
    {"nbautograd._engine.ops"},
    {"nbautograd._engine.batching"},
    {"nbautograd.autograd"},
    {f"nbautograd.{name}" for name in WINGS["engine"][0].split()} - {"nbautograd._engine", "nbautograd.autograd"},
    *({f"nbautograd.{name}" for name in WINGS[wing][0].split()} for wing in ("networks", "parity")),
    {"nbautograd.exercises"},
    {f"nbautograd.{name}" for name in WINGS["product"][0].split()},
    {"nbautograd"},
]
"""A module imports from its own layer and from those before it, including imports inside functions and for types."""
VIZ = "nbautograd.viz"
VIZ_LAYERS = [
    {f"nbautograd.viz.{name}" for name in ("escape", "language", "program", "settings", "translations")},
    {"nbautograd.viz.read"},
    {"nbautograd.viz.capture", "nbautograd.viz.record"},
    {"nbautograd.viz.draw"},
    {f"nbautograd.viz.{name}" for name in ("notebook", "compare", "nbval", "sphinx")},
    {VIZ},
]
"""The layers of the pictures: first read, then record, then draw, then show."""
PROGRAM = "nbautograd.viz.program"
"""Writes a graph as a program, and so knows the operations; the rest of the pictures knows the protocol."""
SEEN_BY_VIZ = ("nbautograd.protocol", "nbautograd.errors", "nbautograd._engine.base")
SEEN_BY_NOTEBOOK = tuple(f"nbautograd._engine.core.{name}" for name in ("grad_mode", "tensor", "tracing"))
"""The magics and the display hook see more."""

ALLOWED: dict[str, str] = {}
"""Imports against the layers, or in a circle, that stay: why."""
STILL: dict[str, str] = {}
"""The imports that are to go, and how. A test says when one has gone and its line can be deleted."""


def is_viz(name: str) -> bool:
    return name == VIZ or name.startswith(VIZ + ".")


def layer(name: str, layers: list[set[str]]) -> int:
    """The layer of a module: its own, or that of the nearest package around it."""
    top = next(iter(layers[-1]))
    while True:
        for index, names in enumerate(layers):
            if name in names and (name != top or index == len(layers) - 1):
                return index
        name, _, _ = name.rpartition(".")
        assert name, "a module outside the package"


def arrow(importer: str, target: str) -> str:
    """An import, as the lists of exceptions name it."""
    return f"{importer.removeprefix('nbautograd.')} -> {target.removeprefix('nbautograd.')}"


def upwards() -> set[str]:
    """The imports that go against the layers."""
    found = set()
    for name in SOURCES:
        layers = VIZ_LAYERS if is_viz(name) else LAYERS
        for target in imports(name):
            if is_viz(target) == is_viz(name) and layer(target, layers) > layer(name, layers):
                found.add(arrow(name, target))
    return found


def circles(without: set[str]) -> list[list[str]]:
    """The groups of modules that import each other: the strongly connected components of more than one (Tarjan)."""
    graph = {name: sorted(t for t in imports(name) if arrow(name, t) not in without) for name in SOURCES}
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for target in graph[name]:
            if target not in number:
                visit(target)
            if target in stack:
                lowest[name] = min(lowest[name], lowest[target])
        if lowest[name] == number[name]:
            place = stack.index(name)
            found.append(sorted(stack[place:]))
            del stack[place:]

    for name in graph:
        if name not in number:
            visit(name)
    return [group for group in found if len(group) > 1]


def test_every_module_has_a_layer() -> None:
    for name in SOURCES:
        layers = VIZ_LAYERS if is_viz(name) else LAYERS
        known = name in layers[-1] or layer(name, layers) < len(layers) - 1
        assert known, f"{name} has no layer: give it one in {'VIZ_LAYERS' if is_viz(name) else 'LAYERS'}"


def test_a_module_imports_from_its_own_layer_or_below() -> None:
    assert sorted(upwards() - {*ALLOWED, *STILL}) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles({*ALLOWED, *STILL}) == []


def test_every_exception_is_needed_and_says_why() -> None:
    in_circles = {
        arrow(name, target) for group in circles(set()) for name in group for target in imports(name) & {*group}
    }
    needless = sorted({*ALLOWED, *STILL} - upwards() - in_circles)
    assert needless == [], "these imports are gone, or allowed anyway: take them off ALLOWED or STILL"
    assert all(why for why in (*ALLOWED.values(), *STILL.values())) and not {*ALLOWED} & {*STILL}


def test_pictures_see_the_protocol_only() -> None:
    more = set()
    for name in filter(is_viz, SOURCES):
        if name.startswith(PROGRAM):
            continue
        last = name.rpartition(".")[2]
        allowed = SEEN_BY_VIZ + SEEN_BY_NOTEBOOK * (last in ("magics", "display", "training", "viz"))
        allowed += ("nbautograd.exercises",) * (last == "practice")  # answers are read as in exercises
        more |= {
            arrow(name, target) for target in imports(name) if not is_viz(target) and not target.startswith(allowed)
        }
    assert more == set()


OF_NOTEBOOKS = {"nbautograd.cli.lite", "nbautograd.cli.player", "nbautograd.cli.wheels", "nbautograd.exercises"}
"""The commands write the pictures' script; only notebook modules speak the language of pictures."""


def test_nothing_but_the_extension_hook_names_the_pictures() -> None:
    namers = set()
    for name in SOURCES:
        inside = name == "nbautograd"  # load_ipython_extension imports them when it is called
        if is_viz(name) or name in OF_NOTEBOOKS:
            continue
        namers |= {arrow(name, target) for target in imports(name, inside_functions=not inside) if is_viz(target)}
        if not inside:
            texts = [n.value for n in nodes(name) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            namers |= {f"{name}: {text!r}" for text in texts if text.startswith((VIZ, ".viz"))}
    assert namers == set()


def test_only_the_backend_names_cupy() -> None:
    def names_it(path: Path) -> bool:
        text = path.read_text(encoding="utf-8")
        if not re.search("cupy", text, re.IGNORECASE):
            return False
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return any(token.type == tokenize.NAME and token.string.lower() in ("cupy", "cupyx") for token in tokens)

    assert {name for name, path in SOURCES.items() if names_it(path)} == {"nbautograd._engine.arrays.backend"}


def test_what_an_import_brings_in() -> None:
    code = """
import sys
import numpy
before = set(sys.modules)
import nbautograd
heavy = {"IPython", "anywidget", "ipywidgets", "traitlets", "graphviz", "cupy", "torch"}
heavy |= {"ml_dtypes", "numpy.random", "nbautograd.viz"}
print(*sorted(heavy & (set(sys.modules) - before)))
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=PACKAGE.parent)
    assert found.stdout.split() == []


# -- the operations as compiled ----------------------------------------------------------------------------------------


@pytest.mark.sweep
def test_every_name_in_a_formula_is_known() -> None:
    functions = {id(other.function) for other in OPS.values()} | {id(f) for f in COMPOSITES.values()}
    for name, declaration in OPS.items():
        declaration.compile()
        function = declaration.function
        names = global_names(function.__code__)
        missing = {n for n in names if n not in function.__globals__ and not hasattr(builtins, n)}
        assert missing == set(), name
        if declaration.formulas:
            look_into_formulas(name, declaration, functions)


@functools.cache
def loaded_with(module: str) -> frozenset[str]:
    """The modules that are loaded when one is."""
    found: set[str] = set()
    waiting = {module}
    while waiting:
        name = waiting.pop()
        found.add(name)
        outer = {name.rpartition(".")[0]} & {*SOURCES}
        waiting |= (imports(name, inside_functions=False, types=False) | outer) - found
    return frozenset(found)


def named_in_derivatives() -> Iterator[tuple[str, str, str]]:
    """The names in each operation's formulas and in each helper of formulas, with the module and the subject."""
    for name, declaration in OPS.items():
        texts = [text for text in (declaration.formulas or {}).values() if isinstance(text, str)]
        for node in (node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)):
            yield declaration.body.__module__, name, node.id
    for helper in HELPERS.values():
        for name in global_names(helper.__code__):
            yield helper.__module__, helper.__name__, name


@pytest.mark.sweep
def test_derivatives_load_the_operations_that_they_name() -> None:
    """An operation of a module that is loaded late is not there yet, unless the formula's module imports it."""
    for name in SOURCES:
        if name.startswith(("nbautograd._engine.ops.", "nbautograd.nn.functional.")):
            import_module(name)
    homes = {helper.__name__: helper.__module__ for helper in HELPERS.values()}
    homes |= {name: declaration.body.__module__ for name, declaration in OPS.items()}
    found = [*named_in_derivatives()]
    assert len(found) > 1000
    late = {each for each in found if each[2] in homes} - {
        each for each in found if homes.get(each[2]) in loaded_with("nbautograd") | loaded_with(each[0])
    }
    assert late == set()


def look_into_formulas(name: str, declaration: CompiledOp, functions: set[int]) -> None:
    """Check the names in an operation's compiled derivatives: ``functions`` are those over tensors, by their ids."""
    for flavour in ("real", "complex", "half"):
        node = declaration.node(flavour)
        for method in ("vjp", "vjp_graph"):
            function = compiled_method(node, method)
            code, scope = function.__code__, function.__globals__
            used = global_names(code)
            unknown = {n for n in used if n not in scope and n not in GENERATED}
            assert unknown == set(), f"{method} of {name} uses {unknown}"
            if method == "vjp":  # over arrays, where a function over tensors is wrong
                assert {n for n in used if id(scope.get(n)) in functions} == set(), f"{name}, over arrays"
