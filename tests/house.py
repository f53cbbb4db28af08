"""Measure the package: its wings, their size, and the constructs that make it hard to read.

``python -m tests.house`` prints files, lines and tokens of each wing; with a commit as argument, also the changes
since.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.package_sources import PACKAGE, SOURCES, imports, module_name, nodes

__all__ = ["PYTORCH", "WINGS", "imports_across", "names_in_docstrings", "unknown_names", "wing"]

ROOT = PACKAGE.parent
WINGS: dict[str, tuple[str, str]] = {
    "names": (
        "_engine.base _names errors protocol",
        "",
    ),
    "engine": (
        "_engine autograd fft linalg random return_types serialization sparse special storage",
        "names",
    ),
    "networks": ("distributions nn optim utils.data", "names engine"),
    "parity": (
        "_compat amp cpu cuda func library masked overrides profiler signal testing torch_version utils version",
        "names engine networks",
    ),
    "pictures": ("exercises viz", "names engine"),
    "product": ("__main__ cli", "names engine parity pictures"),
}
"""Each wing: the parts of the package that it has, and the wings that it may import. The top itself may import all."""
PYTORCH = {
    *("amp", "autograd", "cpu", "cuda", "distributions", "fft", "func", "library", "linalg", "masked", "nn", "optim"),
    *("overrides", "profiler", "random", "return_types", "serialization", "signal", "sparse", "special", "storage"),
    *("testing", "torch_version", "utils", "version"),
}
"""The modules at the top of the package that have PyTorch's names."""
WORD = re.compile(r"[A-Za-z_]\w*")


def wing(name: str) -> str:
    """Return the wing of a module; of the package itself ``top``.

    >>> wing("nbautograd.utils.data.loader"), wing("nbautograd.utils.checkpoint"), wing("nbautograd")
    ('networks', 'parity', 'top')
    """
    path = name.partition(".")[2]
    while path:
        for found, (parts, _) in WINGS.items():
            if path in parts.split():
                return found
        path = path.rpartition(".")[0]
    assert name == PACKAGE.name, f"{name} is in no wing: give it one in WINGS"
    return "top"


def imports_across() -> Iterator[str]:
    """Yield the imports of a wing by another that is not to know it; also those inside functions."""
    for name in SOURCES:
        known = WINGS.get(wing(name), ("", " ".join(WINGS)))[1].split()
        for target in imports(name):
            if wing(target) not in (wing(name), *known):
                yield f"{name} -> {target}: {wing(name)} is not to know {wing(target)}"


# -- names in docstrings -------------------------------------------------------------------------


def names_in_docstrings(name: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each name in double backticks in a module's docstrings."""
    for node in nodes(name):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for code in re.findall(r"``([A-Za-z_][\w.]*)(?:\(\))?``", node.value.value):
                yield node.lineno, code


def words_of(name: str) -> set[str]:
    """Return all words in a module's code: names, and those inside of texts that are no docstrings."""
    words = {*WORD.findall(name)}
    docstrings = set()
    for node in nodes(name):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            words |= {*WORD.findall(node.value)}
        elif isinstance(node, ast.alias):
            words |= {*WORD.findall(f"{node.name} {node.asname}")}
        else:
            for field in ("id", "attr", "arg", "name"):
                word = getattr(node, field, None)
                words |= {word} if isinstance(word, str) else set()
    return words


def unknown_names() -> Iterator[str]:
    """Yield the names in docstrings that the code lacks, as a whole and as parts between ``_`` or digits.

    A constant in capitals has to be in the module itself, unless the docstring names its module.
    """
    own = {name: words_of(name) for name in SOURCES}
    known = set().union(*own.values(), ELSEWHERE)
    known |= {f"{word.title().replace('_', '')}Backward0" for word in known}  # the nodes of operations
    known |= {word.partition("_")[2] for word in known if word.startswith(("fft_", "linalg_", "special_"))}
    for name in SOURCES:
        for line, code in names_in_docstrings(name):
            words = own[name] if re.fullmatch("[A-Z][A-Z_]{2,}", code) and code not in ELSEWHERE else known
            for part in code.split("."):
                if part not in words and not {*re.findall("[A-Za-z]+", part)} <= words:
                    yield f"{name}:{line}: {code}"


ELSEWHERE = {
    *("METHOD", "NAME", "FUNCTION"),  # globals of generated code
    *("Mul", "assert", "net", "orig"),  # of examples
    *("argpartition", "executing", "malloc", "threadpoolctl"),  # of other libraries
}


# -- size ----------------------------------------------------------------------------------------


def tokens_in(source: str) -> int:
    """Count the tokens of a source that are neither comments nor layout."""
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    return sum(token.type not in layout for token in tokenize.generate_tokens(io.StringIO(source).readline))


def sizes(sources: dict[str, str]) -> dict[str, Counter[str]]:
    """Count files, lines and tokens by wing, of sources by the paths of their files."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for path, source in sources.items():
        found[wing(module_name(ROOT / path))].update(files=1, lines=source.count("\n"), tokens=tokens_in(source))
    return found


def sources_of(commit: str | None) -> dict[str, str]:
    """Return the package's sources by path: those on disk, or those of a commit."""
    if commit is None:
        return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in SOURCES.values()}

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout

    paths = git("ls-tree", "-r", "--name-only", commit, PACKAGE.name).split("\n")
    return {path: git("show", f"{commit}:{path}") for path in paths if path.endswith(".py")}


def main(commit: str | None = None) -> None:
    """Print the table."""
    now = sizes(sources_of(None))
    before = sizes(sources_of(commit)) if commit else None
    kinds = ("files", "lines", "tokens")
    print(f"{'':10}" + "".join(f"{kind:>19}" for kind in kinds))
    for name in (*WINGS, "top", "all"):
        cells = ""
        for kind in kinds:
            values = [sum(counts[kind] for key, counts in side.items() if name in (key, "all"))
                      for side in (now, before) if side is not None]  # fmt: skip
            added = f" ({values[0] - values[1]:+,})" if before is not None else ""
            cells += f"{f'{values[0]:,}{added}':>19}"
        print(f"{name:10}{cells}")


if __name__ == "__main__":
    main(*sys.argv[1:])
