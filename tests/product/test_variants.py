"""Exercises with numbers of their own: each variant accepts its own answer, and not that of another."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import nbautograd.exercises
from nbautograd import nn, viz
from nbautograd.cli import main
from nbautograd.cli.course import edition, varied
from nbautograd.cli.lab import course
from nbautograd.exercises import book_of, check, variants, written
from tests import needs

from .test_grading import written as answered

NAMES = [
    f"{book_of(book.stem)}.{number}"
    for book in sorted(Path(nbautograd.exercises.__file__).parent.glob("*.toml"))
    for number, page in tomllib.loads(book.read_text(encoding="utf-8")).items()
    if "variants" in page
]
SEEDS = [str(number) for number in range(60)]


def notebook(book: str, language: str = "en") -> dict[str, Any]:
    (path,) = (course() / ("zh" if language == "zh" else "")).glob(f"{book}_*.ipynb")
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def sources(read: dict[str, Any]) -> list[str]:
    return ["".join(cell["source"]) for cell in read["cells"]]


def arguments(name: str) -> str:
    """Return the answers that the notebook's check takes."""
    book, _, number = name.rpartition(".")
    cell = next(cell for cell in notebook(book)["cells"] if cell["id"] == f"check-{number}")
    found = re.search(rf'check\("{re.escape(name)}", (.*)\)\n', "".join(cell["source"]))
    assert found
    return found[1]


@pytest.fixture(autouse=True)
def no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbautograd.exercises._results", {})


def said(name: str, answers: dict[str, Any], variant: int) -> str:
    """Return the message of a check for answers, in a variant."""
    call = f'check("{name}", {arguments(name)}, variant={variant})'
    printed = StringIO()
    with redirect_stdout(printed):
        exec(call, answers)
    return printed.getvalue()


def reader() -> dict[str, Any]:
    """Return the names that the notebooks define before their exercises."""
    counting = next(text for text in sources(notebook("10")) if text.startswith("def operations"))
    names = {"w": nbautograd.tensor(0.5, requires_grad=True)}
    exec(counting.partition("\n\n\n")[0], names)
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    known = {"torch": nbautograd, "nn": nn, "viz": viz, "net": net, "check": check}
    return {**names, **known, "display": lambda picture: None}


def numbers(name: str, language: str) -> Iterator[dict[str, Any]]:
    """Yield the names after each variant's worked answer."""
    for variant in range(len(variants(name))):
        names = reader()
        exec(written(name, "answer", language, variant), names)
        yield names


@pytest.mark.sweep
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_a_variant_accepts_its_own_answer_only(name: str, language: str) -> None:
    solved = [*numbers(name, language)]
    for variant in range(len(solved)):
        for other, names in enumerate(solved):
            told = said(name, names, variant)
            assert told.endswith(": right\n") == (variant == other), (variant, other, told)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_says_the_numbers_of_its_variant(name: str, language: str) -> None:
    book = name.rpartition(".")[0]
    own = variants(name)
    assert len(own) >= 8 and len({json.dumps(each) for each in own}) == len(own)
    original = notebook(book, language)
    seeds: dict[int, str] = {}
    for seed in SEEDS:
        call = next(text for text in sources(varied(original, seed)) if f'check("{name}"' in text)
        found = re.search(r"variant=(\d+)\)", call)
        seeds.setdefault(int(found[1]) if found else 0, seed)
        assert call.count("variant=") == (2 if found else 0), "the check, and the comment on its answer"
    assert {*seeds} == {*range(len(own))}
    whole = "\n".join(sources(original))
    for variant, seed in seeds.items():
        text = "\n".join(sources(varied(original, seed)))
        changed = {old: new for old, new in own[variant].items() if old in whole}
        assert changed and all(new in text for new in changed.values()), (variant, changed)
    changing = {old for texts in own for old, new in texts.items() if old != new}
    assert {old for old in changing if old not in whole and old.isascii() and language == "en"} == set()


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_say_all_numbers(name: str) -> None:
    book, _, number = name.rpartition(".")
    page = next(
        tomllib.loads(path.read_text(encoding="utf-8"))[number]
        for path in Path(nbautograd.exercises.__file__).parent.glob(f"{book}_*.toml")
    )
    for language in ("en", "zh"):
        whole = "\n".join(sources(notebook(book, language)))
        there = [text for text, old in zip(page["texts"], variants(name)[0], strict=True) if old in whole]
        assert {key for text in there for key in re.findall(r"<(\w+)>", text)} == {*page["variants"][0]}, language


@pytest.mark.sweep
def test_a_seed_is_stable_and_the_metadata_keep_it(tmp_path: Path) -> None:
    program = "import sys, json; from nbautograd.cli import main; main(json.loads(sys.argv[1]))"
    for folder in ("one", "two"):
        words = json.dumps(["course", str(tmp_path / folder), "--seed", "ada"])
        subprocess.run([sys.executable, "-c", program, words], check=True, capture_output=True)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    assert all(json.loads(text)["metadata"]["nbautograd"] == {"seed": "ada"} for text in one.values())
    calls = re.findall(rb"variant=\d", b"".join(one.values()))
    assert len(calls) >= 8


def test_sixty_students_have_many_different_courses() -> None:
    books = sorted({name.rpartition(".")[0] for name in NAMES})
    originals = [notebook(book) for book in books]
    given = {tuple("\n".join(sources(varied(each, seed))) for each in originals) for seed in SEEDS}
    assert len(given) == len(SEEDS)


def test_only_the_exercises_change() -> None:
    for path in course().glob("*.ipynb"):
        original = json.loads(path.read_text(encoding="utf-8"))
        for seed in SEEDS[:12]:
            for ours, theirs in zip(original["cells"], varied(original, seed)["cells"], strict=True):
                if "".join(ours["source"]) != theirs["source"]:
                    taught = "".join(ours["source"]).rpartition("### ")[0]
                    assert re.search(r"### |^(try|check)-", theirs["id"] + theirs["source"]), theirs["id"]
                    assert theirs["source"].startswith(taught)


@pytest.mark.parametrize("variant", [-1, 8, "1", None])
def test_an_unknown_variant_is_named(variant: Any) -> None:
    with pytest.raises(ValueError, match=r"exercise '03.1': there is no variant .*; variants are 0 to 7"):
        check("03.1", 1, 2, variant=variant)


@pytest.mark.sweep
def test_submissions_are_graded_by_their_seed(tmp_path: Path) -> None:
    needs.package("IPython")
    name = "03_backward"
    original = json.loads((course() / f"{name}.ipynb").read_text(encoding="utf-8"))
    by_variant = {json.dumps(sources(varied(original, seed))): seed for seed in SEEDS}
    first, second = [*by_variant.values()][:2]
    folder = tmp_path / "in"
    for student, own, copied in (("ada", first, first), ("bob", second, second), ("eve", first, second)):
        worked = sources(edition(varied(original, copied), "solved"))
        solved = edition(varied(original, own), "solved")
        cells = [{**cell, "source": text} if cell["id"].startswith("answer-") else cell
                 for cell, text in zip(solved["cells"], worked, strict=True)]  # fmt: skip
        (folder / student).mkdir(parents=True)
        (folder / student / f"{name}.ipynb").write_text(json.dumps({**solved, "cells": cells}), encoding="utf-8")
    (folder / "joe").mkdir()
    (folder / "joe" / f"{name}.ipynb").write_text(json.dumps(answered({})), encoding="utf-8")
    table = tmp_path / "grades.csv"
    assert main(["grade", str(folder), "--csv", str(table)]) == 0
    rows = {row["student"]: row for row in csv.DictReader(table.read_text("utf-8").splitlines())}
    assert [rows[name]["seed"] for name in ("ada", "bob", "eve", "joe")] == [first, second, first, ""]
    points = {name: float(row["points"]) for name, row in rows.items()}
    assert points["ada"] == points["bob"] == 3 and points["eve"] < 3 and points["joe"] == 0
