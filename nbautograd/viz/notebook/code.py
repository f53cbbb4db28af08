"""The program of a graph, shown: ``%code`` and ``viz.code``, and beside a player, with the boxes of each line."""

from __future__ import annotations

import html
import io
import keyword
import os
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbautograd.errors import is_pytorchs
from nbautograd.protocol import SourceLocator
from nbautograd.viz.draw import theme
from nbautograd.viz.escape import clean, one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook import export, output
from nbautograd.viz.notebook.in_place import at_once, callers_names
from nbautograd.viz.read.introspect import is_pytorchs_node
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.naming import ResultNames, SourceLines
from nbautograd.viz.read.segments import plan
from nbautograd.viz.read.walk import GraphWalk, scopes_of

if TYPE_CHECKING:
    from nbautograd.viz.program import Program

__all__ = ["Code", "code", "highlighted", "player_lines"]

MAX_OPS = 20_000
"""Operations of a graph of which a program is written."""
MAX_FLAT_OPS = 32
"""Limit of the operations of a graph with a straight-line program, unless requested otherwise."""
MAX_PLAYED_OPS = 120
"""Limit of the operations of a graph with a program in the player: one straight line, so that each step is one line."""
MAX_PLAYED_ELEMENTS = 20_000
"""Elements of a leaf of such a graph, because the program is computed once more."""
ORDER = ("data", "forward", "backward", "grads")
PlayedLine = tuple[str, str, str, str]
"""Of a line its text, its comment, its part and the box that it is of."""
MIN_FOLDED_LINES = 40
"""Lines of a program from which on its parts can be folded."""
LIBRARIES = ("numpy", "torch")
KINDS = {tokenize.COMMENT: "remark", tokenize.NUMBER: "number", tokenize.STRING: "text"}
"""Marked parts of a program."""
STYLE = """\
.nb-code { color: var(--nb-fg); font: 13px/1.5 var(--nb-mono); overflow-x: auto; text-align: left; }
.nb-code .nb-lines { white-space: pre; }
.nb-code .nb-remark { color: var(--nb-muted); font-style: italic; }
.nb-code .nb-word { color: var(--nb-out); }
.nb-code .nb-number { color: var(--nb-leaf); }
.nb-code .nb-text { color: var(--nb-teal); }
.nb-code .nb-gradient { color: var(--nb-grad); }
.nb-code button { font: 13px var(--nb-sans); margin-bottom: 8px; }
"""
COPY = """\
const button = document.querySelector("button"), program = document.querySelector(".nb-lines");
button.hidden = false;
button.onclick = async () => {
  try { await navigator.clipboard.writeText(program.textContent); }
  catch { getSelection().selectAllChildren(program); document.execCommand('copy'); }
  button.textContent = button.dataset.done;
};
"""


@at_once
def code(
    tensor: Any, gradient: Any = None, *, library: str = "numpy", flat: bool | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> Code:  # fmt: skip
    """The forward and the backward pass that made a tensor, as a program.

    Each operation is a line with the body of its declaration, and each path along which a gradient comes a line with
    its formula: the sums of broadcasting, promotion and accumulation are written, too. Every line is computed while it
    is written, and compared bit for bit with the recorded values; a program with other numbers is rejected.

    :param tensor: the result, of nbautograd, computed while operations were traced, as in a notebook.
    :param gradient: the start of the backward pass; required unless the tensor has one element.
    :param library: ``numpy``, or ``torch`` for a program of tensors, which runs in PyTorch and in nbautograd.
    :param flat: write one straight line, however long. Otherwise modules are functions, which calls of one structure
        share, and steps that are alike are loops. By default graphs of up to 32 operations are written flat.
    :param namespace: variables whose names are to be used; by default those where this is called.
    :returns: shown by a notebook; ``save("backward.py")`` writes a file that runs with NumPy alone (or PyTorch).
    :raises ProgramError: something in the graph cannot be written: a function of your own, a hook, a value that has not
        been kept. The message names the operation and its line.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> with viz.traced():
    ...     y = w * w
    >>> print(viz.code(y, namespace={"w": w, "y": y}).text)  # doctest: +ELLIPSIS
    import numpy as np
    <BLANKLINE>
    # leaves and constants
    w = np.float32(2.0)                       # leaf
    <BLANKLINE>
    # forward
    y = w * w                                 # ...line ...
    <BLANKLINE>
    # backward
    g_y = np.float32(1.0)                     # where the pass begins
    g_w = g_y * w                             # MulBackward0, path 1 of 2
    g_w += g_y * w                            # MulBackward0, path 2 of 2
    <BLANKLINE>
    # what the leaves get
    w_grad = g_w                              # w.grad
    """
    if library not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    if is_pytorchs(tensor):
        raise TypeError("code() writes programs of nbautograd's tensors, and this is one of PyTorch's")
    from nbautograd.viz.program import write

    namespace = namespace or callers_names()
    walk = GraphWalk(tensor, MAX_OPS)
    names = ResultNames(walk, namespace, SourceLines(SourceLocator.locate), identifiers=True)
    tree = None
    if not (len(walk.ops) <= MAX_FLAT_OPS if flat is None else flat):
        tree = plan([walk.signature(node) for node in walk.order], scopes_of(walk, namespace), walk.inputs())
    tape = None if walk.cut else walk.next
    return Code(write(tensor, gradient, *_names(names), library=library, tree=tree, tape=tape))


def _names(names: ResultNames) -> tuple[Callable[[Any, int], str], Callable[[Any], str]]:
    """Return the functions that name results, and leaves and constants."""

    def tensor_name(leaf: Any) -> str:
        return names.variables.whole(leaf) or names.leaves.get(id(leaf), "")

    def name_of(node: Any, index: int) -> str:
        return names.results.get((node, index)) or f"unused{index}"

    return name_of, tensor_name


def player_lines(
    tensor: Any, gradient: Any, model: GraphModel, namespace: Mapping[str, Any]
) -> Callable[[], list[PlayedLine]] | None:
    """Return a function that writes the program of a pass; None where there is no program.

    What the pass frees and what a user may change is copied now: the program is the same whenever it is written.
    """
    whole = model.entire
    if not 0 < len(whole.order) <= MAX_PLAYED_OPS or is_pytorchs_node(tensor.grad_fn):
        return None
    if any(getattr(leaf, "numel", int)() > MAX_PLAYED_ELEMENTS for leaf in whole.handles.kept):
        return None
    from nbautograd.viz.program import write_later

    try:
        names = whole.handles.names.identifiers()  # the tape has been read once, for the picture
        written, nodes = write_later(tensor, gradient, *_names(names), names.walk.next)
    except Exception:  # what cannot be written is played without
        return None
    leaves = {leaf.name: leaf.id for leaf in whole.leaves}
    boxes = {copy: whole.handles.ops.get(node, "") for copy, node in nodes.items()}

    @cache
    def lines() -> list[PlayedLine]:
        try:
            program = written()
        except Exception:
            return []
        shown = []
        for line in program:
            leaf = leaves.get(line.comment.removesuffix(".grad"), "") if line.part == "grads" else ""
            text = line.text if len(line.text) <= 160 else f"{line.text[:159]}…"
            shown.append((text, line.comment, line.part, leaf or boxes.get(line.node, "")))
        return [row for part in ORDER for row in shown if row[2] == part]

    return lines


class Code:
    """A program. A notebook shows it; ``save`` writes it as a file that runs, or as a page.

    :param program: the program that :func:`code` wrote.
    :ivar program: its lines.
    :returns: the output for a notebook.
    :raises AttributeError: ``program`` is something else.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> with viz.traced():
    ...     y = w * w
    >>> program = viz.code(y, namespace={"w": w, "y": y})
    >>> isinstance(program, viz.Code), "g_w = g_y * w" in program.text
    (True, True)
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        program.lines = [replace(line, node=None) for line in program.lines]  # so that it keeps no graph alive

    @property
    def text(self) -> str:
        """The program."""
        return self.program.text

    @property
    def source(self) -> str:
        """The file that ``save`` writes: the program, with the functions that it calls."""
        return self.program.source("data.npz")

    def html(self) -> str:
        """A page of its own, with a button that copies the program."""
        button = f'<button hidden data-done="{say("copied")}">{say("copy")}</button>'
        body = f'<main class="nb-code">{button}{self._lines()}{self._helpers()}</main>\n'
        body += f'<script type="module">{COPY}</script>'
        label = say("code_of", name=one_line(self.program.name, 40))
        return export.page(label, body, script=COPY, style=theme.css(".nb-code") + STYLE)

    def static_html(self) -> str:
        """The program with its colors, which follow the notebook's; where styles are taken out, without."""
        style = f"<style>{theme.css('.nb-code')}{STYLE}</style>"
        return f'{style}<div class="nb-code">{self._lines()}{self._helpers()}</div>'

    def _lines(self) -> str:
        """The program; of a long one, parts and modules can be folded."""
        lines = self.text.split("\n")
        if len(lines) <= MIN_FOLDED_LINES:
            return f'<div class="nb-lines">{highlighted(self.text)}</div>'
        sections: list[list[str]] = [[]]
        for line in lines:
            if line.startswith(("# ", "def ")) and sections[-1]:
                sections.append([])
            sections[-1].append(line)
        return f'<div class="nb-lines">{"".join(map(_section, sections))}</div>'

    def _helpers(self) -> str:
        helpers = self.program.helpers
        if not helpers:
            return ""
        return f"<details><summary>{say('code_helpers')}</summary><pre>{highlighted(helpers)}</pre></details>"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the program as a file that runs (``.py``), with its large arrays in an ``.npz`` beside it; or a page.

        :raises ValueError: the suffix is neither ``.py`` nor ``.html``.
        :raises OSError: a file cannot be written.
        """
        target = Path(path).expanduser()
        if target.suffix.lower() == ".html":
            return export.write(target, self.html())
        if target.suffix.lower() != ".py":
            raise ValueError(f"cannot save as {target.suffix or 'a file without suffix'!r}; use one of .html, .py")
        self.program.save(target)
        return target

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        smaller = [self.static_html, lambda: f'<div class="nb-code"><pre>{html.escape(self.text)}</pre></div>']
        return {"text/plain": self.text, "text/html": output.within(smaller, self.program.name, self.text)}


def _section(lines: list[str]) -> str:
    """Lines below a heading, which folds them."""
    heading, *rest = lines
    text = highlighted("\n".join(rest) + "\n")
    if not heading.startswith(("# ", "def ")):
        return f"{highlighted(heading)}\n{text}"
    opened = "" if heading.startswith("def ") else " open"  # a function is read on request
    return f"<details{opened}><summary>{highlighted(heading)}\n</summary>{text}</details>"


def highlighted(text: str) -> str:
    """A program as HTML, in which words, numbers, strings, comments and gradients are marked.

    >>> highlighted("g_w = 1.5")
    '<span class="nb-gradient">g_w</span> = <span class="nb-number">1.5</span>'
    """
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    parts, done = list[str](), 0
    for kind, *ends in _tokens(text):
        start, end = (starts[row - 1] + column for row, column in ends)
        parts.append(html.escape(text[done:start]))
        parts.append(f'<span class="nb-{kind}">{html.escape(text[start:end])}</span>')
        done = end
    return clean("".join([*parts, html.escape(text[done:])]), 10**8)


def _tokens(text: str) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Yield the tokens of a program to highlight, each with its start and end."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = KINDS.get(token.type)
            if token.type == tokenize.NAME and keyword.iskeyword(token.string):
                kind = "word"
            elif token.type == tokenize.NAME and (token.string.startswith("g_") or token.string.endswith("_grad")):
                kind = "gradient"
            if kind:
                yield kind, token.start, token.end
    except (tokenize.TokenError, IndentationError):
        return
