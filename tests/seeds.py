"""The tutorial documents that the library is specified by, read as code cells with the outputs that they show.

They are text exports of notebooks: a cell begins at ``In [n]:``, its output follows after a blank line, and prose comes
between. Where code ends and output begins is not marked, so a paragraph counts as code while it parses together with
what came before and does not look like something printed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from IPython.lib.pretty import pretty

FOLDER = Path(os.environ.get("NBAUTOGRAD_SEEDS", Path(__file__).parents[2] / "shared" / "seeds"))
CELLS = {"000": 14, "001": 6, "002": 29, "003": 4, "004": 35}  # code cells per document, counted by hand

PRINTED = re.compile(
    r"(tensor\(|\(tensor|\(\(<|<|True\b|False\b|None\b|torch\.Size|-?\d|'|\[|[\w.:]+ ?:? ?tensor\(|is_leaf|gradient|grad_fn:|"
    r"mean:|probability|梯度检查|\w*Error:|\w+\.is_leaf=|X1? )"
)


@dataclass
class Cell:
    """One code cell and the text that its document shows below it."""

    document: str
    number: int
    code: str
    shown: str


def documents() -> dict[str, list[Cell]]:
    """All cells by document."""
    found = {}
    for path in sorted(FOLDER.glob("*.txt")):
        name = path.name[:3]
        text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").replace("\xa0", " ")
        pairs = {"001": _fenced, "003": _bare}.get(name, _exported)(text)
        found[name] = [Cell(name, i, code, shown) for i, (code, shown) in enumerate(pairs)]
    return found


def _exported(text: str) -> list[tuple[str, str]]:
    """Cells of ``In [n]:`` exports."""
    blocks = re.split(r"In \[\d+\]:\n", text)[1:]
    return [_split(block) for block in blocks]


def _split(block: str) -> tuple[str, str]:
    paragraphs = re.split(r"\n[ \t]*\n", block.strip("\n"))
    code = paragraphs[0]
    rest = 1
    for i, paragraph in enumerate(paragraphs[1:], 1):
        lead = paragraph.lstrip("\n")
        opens = re.match(r"(class|def|for|while|with|if|@)\b", lead) is not None
        if not _parses(code) or opens or _is_code(code, lead):
            code += "\n\n" + paragraph
            rest = i + 1
        else:
            break
    return code, "\n\n".join(paragraphs[rest:])


def _parses(code: str) -> bool:
    try:
        ast.parse(_plain(code))
    except SyntaxError:
        return False
    return True


def _is_code(before: str, paragraph: str) -> bool:
    if PRINTED.match(paragraph) or not _parses(before + "\n\n" + paragraph):
        return False
    bare = re.sub(r"#.*", "", paragraph)
    return bare.isascii() and bool(re.search(r"[=(]|^\s*#|import", paragraph)) or paragraph.lstrip().startswith("#")


def _fenced(text: str) -> list[tuple[str, str]]:
    """Cells of Markdown with ```python blocks and indented outputs."""
    pieces = re.split(r"```python\n(.*?)```", text, flags=re.DOTALL)
    return [(code, re.sub(r"^    ", "", shown, flags=re.MULTILINE)) for code, shown in zip(pieces[1::2], pieces[2::2], strict=True)]


def _bare(text: str) -> list[tuple[str, str]]:
    """Runs of lines that are code, in prose; no outputs."""
    cells, run = [], []
    for line in [*text.splitlines(), "end of document."]:
        if re.match(r"(import |print\(|[a-z]\w* ?=|[\w.]+\(.*\)|# )", line) and _parses(line):
            run.append(line)
        elif run:
            if any(not r.startswith("#") for r in run):
                cells.append(("\n".join(run), ""))
            run = []
    return cells


def _plain(code: str) -> str:
    """The code without lines for IPython."""
    return re.sub(r"^%.*$", "", code, flags=re.MULTILINE)


@contextlib.contextmanager
def standing_in(library: ModuleType) -> Iterator[None]:
    """``import torch`` gives ``library`` inside the block."""
    names = ["torch"] + [name for name in sys.modules if name.startswith("torch.")]
    kept = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    inside = library.__name__
    try:
        if inside == "torch":
            sys.modules.update(kept)
        else:
            for name, module in list(sys.modules.items()):
                if name == inside or name.startswith(inside + "."):
                    sys.modules["torch" + name[len(inside) :]] = module
        yield
    finally:
        for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
            del sys.modules[name]
        sys.modules.update(kept)


@dataclass
class Outcome:
    """What running a cell printed, and the warnings it gave."""

    text: str
    warnings: list[warnings.WarningMessage]


def run(cells: list[Cell], library: Any, seed: int) -> list[Outcome]:
    """The outcomes of a document's cells, run one after another in one namespace as IPython does."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    outcomes = []
    with standing_in(library):
        library.manual_seed(seed)
        for cell in cells:
            out = io.StringIO()
            with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
                warnings.simplefilter("always")
                try:
                    _execute(cell, scope)
                except Exception as error:
                    print(f"{type(error).__name__}: {error}")
            outcomes.append(Outcome(out.getvalue(), caught))
    return outcomes


def _execute(cell: Cell, scope: dict[str, Any]) -> None:
    name = f"<cell {cell.document}/{cell.number}>"
    tree = ast.parse(_plain(cell.code), name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), scope)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), scope)
        if value is not None:
            print(pretty(value))


def masked(text: str) -> str:
    """The text without what differs from run to run: addresses, ids and the version."""
    text = re.sub(r"0x[0-9a-fA-F]+", "0x", text)
    text = re.sub(r"\b\d{10,}\b", "ID", text)
    text = re.sub(r"^'\d+\.\d+\.\d+.*'$", "'VERSION'", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def form(text: str) -> str:
    """The text with every number replaced and the white space evened out: what random values leave alike."""
    text = re.sub(r"[-+]?\d+\.?\d*(e[-+]\d+)?", "N", masked(text))
    return re.sub(r"\s+", " ", text)
