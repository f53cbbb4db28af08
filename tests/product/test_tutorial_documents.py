"""Every code cell of the tutorial documents, with nbautograd standing in for PyTorch.

Each is compared with the results in its document and, if installed, with PyTorch's for the same cell after the same
seed: character for character, except addresses. PyTorch itself also takes the first comparison, which checks this file.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re
from types import ModuleType

import pytest

from tests import needs
from tests.product import tutorial_documents

if not list(tutorial_documents.FOLDER.glob("*.txt")):
    pytest.skip(needs.reason("the tutorial documents"), allow_module_level=True)

DOCUMENTS = tutorial_documents.documents()
CELLS = [cell for cells in DOCUMENTS.values() for cell in cells]
SHOWN = [cell for cell in CELLS if cell.document != "003"]  # the outputs of 003 were pictures
CUT_SHORT = ("002", 24)  # the export ends in the middle of this output
LISTING = re.compile(r"\['\w+',.*", re.DOTALL)  # what dir() returns

# The output of document 003, computed by hand: y = 3, z = 2 y^2 = 18, and d mean(z) / dx = 4 y / 4 = 3.
TWO_BY_TWO = "tensor([[{0}, {0}],\n        [{0}, {0}]]{1})"
PICTURES = [
    "\n".join(
        [
            TWO_BY_TWO.format("1.", ", requires_grad=True"),
            "None",
            TWO_BY_TWO.format("3.", ", grad_fn=<AddBackward0>"),
            "<AddBackward0 object at 0x>",
            "True False",
            TWO_BY_TWO.format("18.", ", grad_fn=<MulBackward0>"),
            "<MulBackward0 object at 0x>",
            TWO_BY_TWO.format("18.", ", grad_fn=<MulBackward0>") + " tensor(18., grad_fn=<MeanBackward0>)",
        ]
    ),
    "False\nTrue\n<SumBackward0 object at 0x>",
    TWO_BY_TWO.format("3.", ""),
    TWO_BY_TWO.format("4.", "") + "\n" + TWO_BY_TWO.format("1.", ""),
]


@pytest.fixture(params=["nbautograd", "torch"])
def library(request: pytest.FixtureRequest) -> ModuleType:
    """The library under test, and PyTorch as a test of the tests."""
    return needs.package(request.param)


@functools.cache
def outcomes(library: str, document: str, seed: int) -> list[tutorial_documents.Outcome]:
    return tutorial_documents.run(DOCUMENTS[document], needs.package(library), seed)


def cell_id(cell: tutorial_documents.Cell) -> str:
    return f"{cell.document}-{cell.number}"


def without_listing(text: str) -> str:
    return LISTING.sub("", text).strip()


def test_every_cell_is_found():
    assert {name: len(cells) for name, cells in DOCUMENTS.items()} == tutorial_documents.CELLS


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_cells_are_whole(cell):
    """Check the separation of code and output: the code parses, and no statement is left in the output."""
    tree = ast.parse(re.sub(r"^%.*", "", cell.code))
    printed = cell.shown.replace('  print("gradient:', "")  # quoted by a warning
    assert not re.search(r"^\s*(print\(|return |def |class |import |\w+ = |\w+\.backward\()", printed, re.MULTILINE)
    prints = "print(" in cell.code or "next_funxtions" in cell.code or "x_leaf" in cell.code
    last = tree.body[-1] if tree.body else None
    echoes = isinstance(last, ast.Expr) and ".backward(" not in ast.unparse(last)
    assert bool(cell.shown) == ((prints or echoes) and cell.document != "003")


@pytest.mark.parametrize("cell", SHOWN, ids=cell_id)
def test_prints_what_the_document_shows(library, cell):
    ours, again = (outcomes(library.__name__, cell.document, seed)[cell.number].text for seed in (0, 1))
    shown = cell.shown.split("\n\n  print(")[0]  # a warning, which has its own test
    if LISTING.search(shown):
        names = re.findall(r"'(\w+)'", shown)
        assert len(names) > 25
        assert not [name for name in names if f"'{name}'" not in ours], "dir() lacks these names"
        ours, again, shown = without_listing(ours), without_listing(again), without_listing(shown)
    drawn = tutorial_documents.masked(ours) != tutorial_documents.masked(
        again
    )  # from random numbers without a seed in the document
    view = tutorial_documents.form if drawn else tutorial_documents.masked
    if (cell.document, cell.number) == CUT_SHORT:
        assert tutorial_documents.form(ours).startswith(tutorial_documents.form(shown))
    else:
        assert view(ours) == view(shown)


@pytest.mark.parametrize("number", range(4))
def test_the_document_whose_outputs_were_pictures(library, number):
    assert tutorial_documents.masked(outcomes(library.__name__, "003", 0)[number].text) == PICTURES[number]


def test_the_warning_for_the_grad_of_a_non_leaf_points_at_the_line_that_read_it(library):
    cell = next(cell for cell in DOCUMENTS["002"] if "retain_grad()" in cell.code)
    given = outcomes(library.__name__, "002", 0)[cell.number].warnings
    quoted = cell.shown.splitlines()[-1]
    assert quoted.startswith("  print(")
    assert {(w.category, w.filename) for w in given} == {(UserWarning, cell.filename)}
    assert {linecache.getline(w.filename, w.lineno).strip() for w in given} == {quoted.strip()}
    assert len(given) == 3  # a, b and y
    assert all(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed" in str(w.message) for w in given
    )


def test_no_other_cell_warns(library):
    warned = [c for c in CELLS if outcomes(library.__name__, c.document, 0)[c.number].warnings]
    assert [cell_id(cell) for cell in warned] == ["002-17"]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_prints_what_torch_prints(cell, seed):
    needs.package("torch")
    ours, theirs = (outcomes(name, cell.document, seed)[cell.number].text for name in ("nbautograd", "torch"))
    # More names in dir() than PyTorch's are no difference; missing ones are found above.
    assert tutorial_documents.masked(without_listing(ours)) == tutorial_documents.masked(without_listing(theirs))
