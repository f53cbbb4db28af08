"""The tutorial documents that the library is specified by, read as code cells with the outputs that they show.

They are text exports of notebooks, each of another kind: code after ``In [n]:``, in fenced Markdown blocks, or bare
between paragraphs of prose. Where code ends, where its output begins and where prose goes on is not marked. What helps
is that the exports keep blank lines: a cell is read paragraph by paragraph, and a paragraph is indented (then it
continues the one before), or Chinese or Markdown (prose), or made of values alone (output), or else code.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.lib.pretty import pretty

import nbautograd

FOLDER = Path(os.environ.get("NBAUTOGRAD_SEEDS", Path(__file__).parents[3] / "shared" / "seeds"))
CELLS = {"000": 14, "001": 6, "002": 29, "003": 4, "004": 35}  # code cells per document, counted by hand

PROSE = re.compile(r"#|!\[|\||- |```|.*[\u4e00-\u9fff]")
CODE = re.compile(r"#|@|(class|def|for|while|with|if|import|from|assert|print)\b|[\w.]+\(|[\w, .]+ ?[-+*/]?=[^=]")
VALUE = re.compile(r"tensor\(|\w+:|X\d? |\w\.is_leaf=")
CHINESE_OUTPUT = "梯度检查:"  # the only cell that prints Chinese first


@dataclass
class Cell:
    """One code cell and the text that its document shows below it."""

    document: str
    number: int
    code: str
    shown: str

    @property
    def filename(self) -> str:
        """The name of the cell in tracebacks and warnings."""
        return f"<cell {self.document}/{self.number}>"


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
    pairs = []
    for block in re.split(r"^In \[\d+\]:\n", text, flags=re.MULTILINE)[1:]:
        paragraphs = _paragraphs(block)
        end = next((i for i in range(1, len(paragraphs)) if not _goes_on(paragraphs[i])), len(paragraphs))
        pairs.append(("\n\n".join(paragraphs[:end]), _output(paragraphs[end:])))
    return pairs


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n(?:[ \t]*\n)+", text.strip("\n"))


def _goes_on(paragraph: str) -> bool:
    """Return whether a paragraph inside a cell is code, given that the one before is."""
    if paragraph[0].isspace():
        return True
    unfinished = paragraph + "\n" + " " * 8 + "pass"  # a class may have a blank line below the head of a method
    parses = _parses(paragraph) or _parses(unfinished)
    return CODE.match(paragraph) is not None and VALUE.match(paragraph) is None and parses


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def _output(paragraphs: list[str]) -> str:
    """The paragraphs up to the first one of prose."""
    if paragraphs and paragraphs[0].startswith(CHINESE_OUTPUT):
        return "\n\n".join([paragraphs[0], _output(paragraphs[1:])])
    end = next((i for i, paragraph in enumerate(paragraphs) if PROSE.match(paragraph)), len(paragraphs))
    return "\n\n".join(paragraphs[:end])


def _fenced(text: str) -> list[tuple[str, str]]:
    """Cells of Markdown with fenced Python blocks, and outputs indented by four blanks."""
    pieces = re.split(r"```python\n(.*?)```", text, flags=re.DOTALL)
    shown = [[line[4:] for line in after.splitlines() if line.startswith("    ")] for after in pieces[2::2]]
    return [(code, "\n".join(lines)) for code, lines in zip(pieces[1::2], shown, strict=True)]


def _bare(text: str) -> list[tuple[str, str]]:
    """Runs of code lines in prose, without outputs."""
    runs: list[list[str]] = [[]]
    for line in text.splitlines():
        if re.match(r"import |print\(|[a-z]\w* ?=|[\w.]+\(.*\)|# ", line) and _parses(line):
            runs[-1].append(line)
        elif runs[-1]:
            runs.append([])
    return [("\n".join(run), "") for run in runs if any(not line.startswith("#") for line in run)]


@dataclass
class Outcome:
    """The output of a cell, and its warnings."""

    text: str
    warnings: list[warnings.WarningMessage]


def run(cells: list[Cell], library: Any, seed: int) -> list[Outcome]:
    """The outcomes of a document's cells, run one after another in one namespace as IPython does."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    stands_in = nbautograd.standing_in() if library is nbautograd else contextlib.nullcontext()
    with stands_in:
        library.manual_seed(seed)
        return [_run(cell, scope) for cell in cells]


def _run(cell: Cell, scope: dict[str, Any]) -> Outcome:
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            _execute(cell, scope)
        except Exception as error:  # a notebook shows it and continues with the next cell
            print(f"{type(error).__name__}: {error}")
    return Outcome(out.getvalue(), caught)


def _execute(cell: Cell, scope: dict[str, Any]) -> None:
    code = re.sub(r"^%.*$", "", cell.code, flags=re.MULTILINE)
    linecache.cache[cell.filename] = (len(code), None, code.splitlines(keepends=True), cell.filename)
    tree = ast.parse(code, cell.filename)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, cell.filename, "exec"), scope)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), cell.filename, "eval"), scope)
        if value is not None:
            print(pretty(value))


def masked(text: str) -> str:
    """Return the text without parts that vary between runs, and without white space that the exports have lost."""
    text = re.sub(r"0x[0-9a-fA-F]+", "0x", text)
    text = _numbered(text)
    text = re.sub(r"^'\d+\.\d+\.\d+.*'$", "'VERSION'", text, flags=re.MULTILINE)
    lines = (line.rstrip() for line in text.strip().splitlines())
    return "\n".join(line for line in lines if line)


def _numbered(text: str) -> str:
    """The text with its ids, which are long numbers, replaced by their order of appearance."""
    ids: dict[str, str] = {}
    return re.sub(r"\b\d{10,}\b", lambda found: ids.setdefault(found[0], f"ID{len(ids)}"), text)


def form(text: str) -> str:
    """Return the masked text with every number replaced and white space normalized: the part independent of random
    values.
    """
    text = re.sub(r"[-+]?\d+\.?\d*(e[-+]\d+)?", "N", masked(text))
    return re.sub(r"\s+", " ", text).replace("[ ", "[")
