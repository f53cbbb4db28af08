"""Guests compute under nbautograd what they compute under PyTorch; and what is said of them is true."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import numpy as np
import pytest

from tests import needs
from tests.parity.guests import page
from tests.parity.guests.compare import FLOOR, TOLERANCE, compare
from tests.parity.guests.guests import CACHE, HERE, KINDS, Guest, guests
from tests.parity.guests.run import PartResult, Result, run

GUESTS = guests()
X = np.array([1.0, -2.0, 4.0], np.float32)


@pytest.mark.guests
@pytest.mark.skipif("NBAUTOGRAD_GUESTS" not in os.environ, reason="takes minutes: set NBAUTOGRAD_GUESTS=1")
@pytest.mark.parametrize("guest", GUESTS, ids=lambda guest: guest.name)
def test_it_computes_the_same(guest: Guest) -> None:
    needs.package("torch")
    result = run(guest, CACHE)
    assert {part.name for part in result.parts if part.problem} == set(guest.stops), page.row(result)


@pytest.mark.parametrize("kind, least", [("packages", 15), ("projects", 10)])
def test_every_file_is_listed(kind: str, least: int) -> None:
    listed = [guest for guest in GUESTS if guest.kind == kind]
    files = {path.stem for path in (HERE / kind).glob("*.py")} - {"__init__"}
    assert {guest.stem for guest in listed} == files and len(files) >= least


@pytest.mark.parametrize("guest", GUESTS, ids=lambda guest: guest.name)
def test_every_guest_has_parts(guest: Guest) -> None:
    tree = ast.parse((HERE / guest.kind / f"{guest.stem}.py").read_text(encoding="utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert 3 <= len(guest.parts) <= 8 and len(set(functions)) == len(functions)
    assert set(guest.stops) <= set(guest.parts)


def test_the_page_has_every_guest() -> None:
    rows = re.findall(r"^\| (\S+) \| (\S+) \| \d+ of (\d+) ", page.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(guest.name, guest.version, str(len(guest.parts))) for guest in GUESTS], "run: nox -s guests"


@pytest.mark.parametrize(
    "ours, problem",
    [
        (X, ""),
        (X + TOLERANCE[4], ""),
        (X + 4.1 * TOLERANCE[4], "x differs by 0.0001 of its largest value"),
        (X[:2], "x is float32[2], not float32[3]"),
        (X.astype(np.float64), "x is float64[3], not float32[3]"),
        (np.array([1.0, np.nan, 4.0], np.float32), "x differs by inf of its largest value"),
    ],
)
def test_what_differs_is_told(ours: np.ndarray, problem: str) -> None:
    assert compare({"x": X}, {"x": ours})[1] == problem


def test_small_noise_counts_by_an_absolute_size() -> None:
    noise = np.full(3, 0.9 * FLOOR * TOLERANCE[4], np.float32)
    assert not compare({"x": np.zeros(3, np.float32)}, {"x": noise})[1]
    assert compare({"x": np.zeros(3, np.float32)}, {"x": 2 * noise})[1]


def test_infinities_integers_and_names_have_to_be_the_same() -> None:
    endless = np.array([np.inf, np.nan, 1.0])
    assert not compare({"x": endless}, {"x": endless.copy()})[1]
    assert compare({"x": endless}, {"x": -endless})[1]
    assert compare({"x": np.arange(3)}, {"x": np.array([0, 1, 3])})[1]
    assert compare({"x": np.array("a")}, {"x": np.array("b")})[1]
    assert compare({"x": X}, {"y": X})[1] == "results are named otherwise: x, y"


def test_a_row_says_what_stops() -> None:
    guest = Guest("packages", "one", {"version": "1.0", "stops": {"c": "it needs a GPU"}})
    parts = [
        PartResult("a", 1e-7, "", (1.0, 2.0)),
        PartResult("b", np.inf, "TypeError: no"),
        PartResult("c", np.inf, "something"),
        PartResult("d", np.inf, "TypeError: no"),
    ]
    *cells, _, stops = page.row(Result(guest, parts))
    assert cells == ["one", "1.0", "1 of 4", "1e-07", "2.0"]
    assert stops == "`b`, `d`: TypeError: no; `c`: it needs a GPU"


def test_a_crash_does_not_stop_the_parts_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.package("torch")
    monkeypatch.setattr(Guest, "module", "tests.parity.guests.crashing")
    monkeypatch.setattr(Guest, "parts", ["before", "crash", "after"])
    monkeypatch.setattr(Guest, "fetch", lambda self, cache: [])
    result = run(Guest("packages", "crashing", {"version": "1"}), tmp_path)
    assert [bool(part.problem) for part in result.parts] == [False, True, False]
    assert "the process ended with 3" in result.parts[1].problem


def test_a_run_of_some_guests_keeps_the_rows_of_the_others(tmp_path: Path) -> None:
    needs.package("torch")
    file, part = tmp_path / "page.md", PartResult("a", 1e-7, "", (1.0, 2.0))
    one, other = GUESTS[0], GUESTS[-1]
    page.write([Result(one, [part]), Result(other, [part])], file)
    page.write([Result(other, [part, PartResult("b", np.inf, "a | b")])], file)
    assert [cells[2] for cells in page.read(file).values()] == ["1 of 1", "1 of 2"]
    assert "2 of 3 parts are equal; 1 of 2 guests in all their parts." in file.read_text(encoding="utf-8")


def test_kinds_are_titles_of_the_page() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert all(f"\n## {title}\n" in text for title in KINDS.values())
