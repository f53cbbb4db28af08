"""The package's own modules as source text and as compiled code, for tests about names and imports."""

from __future__ import annotations

import ast
import dis
import functools
import gc
import types
from collections.abc import Iterator
from pathlib import Path

import nbautograd

PACKAGE = Path(nbautograd.__file__).parent


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def tree(name: str) -> ast.Module:
    """A module's syntax tree, parsed when a test first asks for it.

    Garbage collection pauses, and leaves the trees out later: visiting them takes three times as long as parsing.
    """
    gc.disable()
    try:
        return ast.parse(SOURCES[name].read_text(encoding="utf-8"))
    finally:
        gc.enable()
        gc.freeze()


@functools.cache
def nodes(name: str) -> list[ast.AST]:
    """All nodes of a module's syntax tree: to walk through the trees takes longer than what a test does with them."""
    return [*ast.walk(tree(name))]


def imported(node: ast.AST, importer: str) -> list[str]:
    """The modules of the package that an import statement names, the deepest that exists of each."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:  # relative to the package of the importer
            parts = importer.split(".")
            package = parts if SOURCES[importer].name == "__init__.py" else parts[:-1]
            base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
        names = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in SOURCES else base for alias in node.names]
    else:
        return []
    return [name for name in names if name.split(".")[0] == "nbautograd"]


def statements(tree: ast.AST, inside_functions: bool = True, types: bool = True) -> Iterator[ast.AST]:
    """All statements; without those inside functions, or those that only a type checker sees, where that is wanted."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            for node in getattr(part, block, ()):
                if not types and isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
                    continue
                if not inside_functions and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                yield node
                waiting.append(node)


@functools.cache
def imports(name: str, inside_functions: bool = True, types: bool = True) -> set[str]:
    """The package's modules that a module imports, except for stubs, which are generated from the modules."""
    found = {target for node in statements(tree(name), inside_functions, types) for target in imported(node, name)}
    return (found & {*SOURCES}) - {name}


def global_names(code: types.CodeType) -> set[str]:
    """The global names that code reads, that of nested functions and comprehensions included."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(global_names(c) for c in code.co_consts if isinstance(c, types.CodeType)))


GENERATED = {
    "zip",
    "enumerate",
    "len",
    "range",
}  # names used by generated code; in a formula, sum, abs or max must mean the operation


def compiled_method(node: type, name: str) -> types.FunctionType:
    """``vjp`` or ``vjp_graph`` of a node class, compiled if not called yet."""
    function = getattr(node, name)
    return function.compile() if hasattr(function, "compile") else function
