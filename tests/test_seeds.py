"""Every code cell of the tutorial documents, with nbautograd standing in for PyTorch.

Each is compared with what the document shows, and, where PyTorch is installed, with what PyTorch prints for the same
cell after the same seed: character for character, addresses aside.
"""

from __future__ import annotations

import functools
import importlib
import re

import pytest

import nbautograd
from tests import seeds

if not list(seeds.FOLDER.glob("*.txt")):
    pytest.skip(f"the tutorial documents are not at {seeds.FOLDER.name}", allow_module_level=True)

DOCUMENTS = seeds.documents()
CELLS = [cell for cells in DOCUMENTS.values() for cell in cells]
CUT_SHORT = {("002", 24), ("004", 20)}  # the export ends in the middle of these outputs
NEWER = {("004", 32)}  # the document is of PyTorch 1.5; what has changed since is compared with PyTorch alone


@functools.cache
def outcomes(library: str, document: str, seed: int) -> list[seeds.Outcome]:
    return seeds.run(DOCUMENTS[document], importlib.import_module(library), seed)


def cell_id(cell: seeds.Cell) -> str:
    return f"{cell.document}-{cell.number}"


def test_every_cell_is_found():
    assert {name: len(cells) for name, cells in DOCUMENTS.items()} == seeds.CELLS


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_prints_what_the_document_shows(cell):
    ours = outcomes("nbautograd", cell.document, 0)[cell.number].text
    if cell.document == "003":  # its outputs were pictures: the numbers are worked out by hand
        return
    shown = seeds.masked(cell.shown)
    if cell.code.startswith("dir(") or "\ndir(" in cell.code:
        names = re.findall(r"'(\w+)'", cell.shown)
        assert len(names) > 20
        missing = [name for name in names if f"'{name}'" not in ours]
        assert missing in ([], names[-1:]), f"dir() lacks {missing}"  # the last name may be cut off
        return
    same = seeds.masked(ours) == seeds.masked(outcomes("nbautograd", cell.document, 1)[cell.number].text)
    if same:
        text = seeds.masked(ours)
        assert shown.startswith(text), f"printed:\n{text}\nshown:\n{shown}"
        assert text or not seeds.PRINTED.match(shown)
    else:
        text, expected = seeds.form(ours), seeds.form(cell.shown)
        if (cell.document, cell.number) in CUT_SHORT:
            text = text[:120]
        assert expected.startswith(text), f"printed:\n{text}\nshown:\n{expected}"


def test_the_document_without_outputs():
    texts = [outcome.text for outcome in outcomes("nbautograd", "003", 0)]
    assert "tensor([[18., 18.],\n        [18., 18.]], grad_fn=<MulBackward0>) tensor(18., grad_fn=<MeanBackward0>)" in texts[0]
    assert texts[2] == "tensor([[3., 3.],\n        [3., 3.]])\n"  # d/dx of mean(2 (x + 2)^2) at 1
    assert texts[3] == "tensor([[4., 4.],\n        [4., 4.]])\ntensor([[1., 1.],\n        [1., 1.]])\n"


def test_the_warning_for_the_grad_of_a_non_leaf_points_at_the_line_that_read_it():
    number = next(c.number for c in DOCUMENTS["002"] if "retain_grad()" in c.code)
    cell, outcome = DOCUMENTS["002"][number], outcomes("nbautograd", "002", 0)[number]
    line = next(i for i, text in enumerate(cell.code.splitlines(), 1) if "a.grad, b.grad, y.grad" in text)
    assert [(w.category, w.lineno, w.filename) for w in outcome.warnings] == [(UserWarning, line, f"<cell 002/{number}>")] * 3


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_prints_what_torch_prints(cell):
    pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
    if cell.code.startswith("dir(") or "\ndir(" in cell.code:
        return  # names of ours beside PyTorch's are no difference
    ours, theirs = (seeds.masked(outcomes(lib, cell.document, 42)[cell.number].text) for lib in ("nbautograd", "torch"))
    assert ours == theirs
