"""Check that a cell is shown as typed in players, notes, errors and tracebacks."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import Any

import pytest

from nbautograd.protocol import SourceLocator
from nbautograd.viz.notebook.display import as_typed
from tests import needs

needs.package("IPython")
from IPython.core.inputtransformer2 import TransformerManager

START = "%load_ext nbautograd\nimport nbautograd as torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\n"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("y = x * 2\n%backward y\nprint(1)", ["y = x * 2", "%backward y", "print(1)"]),
        ("\n\ny = 1\n%graph y", ["y = 1", "%graph y"]),
        (
            "for i in x:\n    !ls {i}\n    y = %time 3\nz?\n?z",
            ["for i in x:", "    !ls {i}", "    y = %time 3", "z?", "?z"],
        ),
        ("%backward \\\n  y\nprint(2)\n!a\n%b \\\n c", ["%backward \\\n  y", "print(2)", "!a", "%b \\\n c"]),
        ("%%time\na = 1\nb = 2", ["%%time\na = 1\nb = 2"]),
        ("s = '''\n%a\n'''\nc = 1 + \\\n 2\n%b", ["s = '''", "%a", "'''", "c = 1 + \\", " 2", "%b"]),
        ("  x = 1\n  %graph x", ["x = 1", "  %graph x"]),
        ("x = 1", ["x = 1"]),
    ],
)
def test_a_line_that_was_generated_is_shown_as_it_was_typed(typed: str, shown: list[str]) -> None:
    ran = TransformerManager().transform_cell(typed).splitlines(keepends=True)
    assert as_typed(ran, typed.splitlines()) == [f"{line}\n" for line in shown]


def test_what_does_not_fit_is_shown_as_it_ran() -> None:
    ran = ["get_ipython().run_line_magic('a', '')\n", "x\n"]
    assert as_typed(ran, ["something else", "x"]) == ran and as_typed(ran, []) == ran


@pytest.fixture
def shell(app: Any) -> Iterator[Any]:
    app.run_cell(START, store_history=True).raise_error()
    app.display_formatter.formatters["text/html"].enabled = True
    yield app
    app.run_line_magic("unload_ext", "nbautograd")


def listed(animation: Any) -> list[str]:
    (cells,) = [ran.cells for ran in animation.timeline.forward]
    return [text for lines in cells.values() for _, text in lines]


@pytest.mark.parametrize("history", [True, False])
def test_the_listing_of_a_player(shell: Any, history: bool) -> None:
    typed = "\n\ny = (w * w).sum()\n!true\n%matplotlib?\n%backward y"
    shown = shell.run_cell(typed, store_history=history)
    assert listed(shown.result) == ["y = (w * w).sum()", "!true", "%matplotlib?", "%backward y"]


def test_a_long_cell_is_read_once(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(
        "nbautograd.viz.notebook.display.as_typed", lambda ran, typed: read.append(len(ran)) or as_typed(ran, typed)
    )
    cell = "y = w\n" + "y = y * w\n" * 50 + "found = %why w"
    shell.run_cell(cell, store_history=True).raise_error()
    assert read == [len(cell.splitlines())]


def test_the_listing_of_the_cell_that_loads_the_extension(app: Any) -> None:
    shown = app.run_cell(f"{START}y = (w * w).sum()\n%backward y", store_history=True)
    try:
        assert listed(shown.result)[0] == "%load_ext nbautograd" and listed(shown.result)[-1] == "%backward y"
    finally:
        app.run_line_magic("unload_ext", "nbautograd")


def test_the_listing_of_a_traced_cell(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbautograd.viz.notebook import magics

    displayed: list[Any] = []
    monkeypatch.setattr(magics, "display", lambda thing, **options: displayed.append(thing))
    shell.run_cell("%%autograd\ny = (w * w).sum()\n!true\ny.backward()", store_history=True).raise_error()
    assert listed(displayed[0]) == ["%%autograd", "y = (w * w).sum()", "!true", "y.backward()"]


def test_a_line_of_a_magic_in_a_note_and_in_an_error(shell: Any, capsys: Any) -> None:
    shell.run_cell(
        "h = w.exp()\ny = (h * h).sum()\nwith torch.no_grad():\n    h.add_(1)\n%backward y", store_history=True
    )
    shown = capsys.readouterr().out
    assert (
        "%backward y" in shown and "run_line_magic" not in shown and "wrote to" not in shown.partition("Traceback")[2]
    )
    filename = shell.user_ns["y"].grad_fn.trace.filename
    assert SourceLocator.locate(filename, 5)[1] == "%backward y"
    assert linecache.getline(filename, 5).startswith("get_ipython()")  # what runs is untouched, for inspect and pdb
