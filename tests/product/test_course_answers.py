"""The notebooks of the course, their outputs and the pages made from them contain no check and no answer."""

from __future__ import annotations

import ast
import html
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import nbautograd.exercises
from nbautograd.exercises import answer, book_of, check, given, written
from tests import needs

BOOKS = sorted(Path(nbautograd.exercises.__file__).parent.glob("*.toml"))
FOLDER = Path(__file__).parents[2] / "notebooks"
LONG = 24  # characters of a text that does not repeat by chance
MAGIC = re.compile(r"^( *)[%!].*$", re.MULTILINE)
both = pytest.mark.parametrize(
    ("book", "language"), [(book, language) for book in BOOKS for language in ("en", "zh")],
    ids=lambda each: getattr(each, "stem", each),
)  # fmt: skip


def parts(book: Path, language: str) -> Iterator[tuple[str, str, str]]:
    """Yield the exercises of a notebook: name, code of the check, code of the answer."""
    for number in filter(str.isdecimal, tomllib.loads(book.read_text(encoding="utf-8"))):
        name = f"{book_of(book.stem)}.{number}"
        yield name, written(name, "check", language), written(name, "answer", language)


def texts(code: str) -> set[str]:
    """Return the messages and comments of a program."""
    found = {
        node.value
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    found |= {token.string for token in tokens if token.type == tokenize.COMMENT}
    return {text for text in found if len(text.encode()) > LONG}


def statements(code: str) -> set[str]:
    """Return the statements of a cell that do not contain others, in one notation."""
    nodes = ast.walk(ast.parse(MAGIC.sub(r"\1pass", code)))
    return {ast.unparse(node) for node in nodes if isinstance(node, ast.stmt) and not hasattr(node, "body")}


def flat(text: str) -> str:
    """Return a text without indentation and empty lines."""
    return "\n".join(filter(None, map(str.strip, text.splitlines())))


def notebook_of(book: Path, language: str) -> Path:
    return FOLDER / ("zh" if language == "zh" else "") / f"{book.stem}.ipynb"


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


@both
def test_neither_source_nor_outputs_tell_a_check_or_an_answer(book: Path, language: str) -> None:
    cells = json.loads(notebook_of(book, language).read_text(encoding="utf-8"))["cells"]
    shown = json.dumps([cell.get("outputs") for cell in cells], ensure_ascii=False) + "".join(map(source, cells))
    programs = [source(cell) for cell in cells if cell["cell_type"] == "code"]
    for name, code, worked in parts(book, language):
        told = texts(code) | texts(worked)
        assert told
        assert not [text for text in told if text in shown], name
        alone = statements(worked)
        telling = [program for program in programs if alone <= statements(program)]
        if book.stem == "appendix_bugs":  # if the cure moves a line, the bug's own statements differ
            telling = [program for program in telling if flat(worked) in flat(program)]
        assert not telling, name


class Unparsed(str):
    """A page in the place of its tree, in which nbconvert only looks for attributes to add: no text of it changes."""

    def __new__(cls, page: str, features: str) -> Unparsed:
        return super().__new__(cls, page)

    def select(self, selector: str) -> list[Any]:
        return []


@pytest.fixture(scope="module")
def exporter() -> Iterator[Any]:
    """One exporter for all pages, as each reads the templates again; it leaves out steps that change no text."""
    found = needs.package("nbconvert.exporters").HTMLExporter(embed_images=False)
    found.register_filter("clean_html", lambda colored: colored)  # of a program
    with mock.patch("nbconvert.exporters.html.BeautifulSoup", Unparsed):
        yield found


@pytest.mark.sweep
@both
def test_an_exported_page_tells_none(book: Path, language: str, exporter: Any) -> None:
    page, _ = exporter.from_filename(str(notebook_of(book, language)))
    words = html.unescape(re.sub(r"<[^>]+>", "", page))
    for name, code, worked in parts(book, language):
        assert f'check("{name}"' in words
        assert not [text for text in texts(code) | texts(worked) if text in words], name
        assert flat(worked) not in flat(words), name


@both
def test_what_checks_say_is_translated(book: Path, language: str) -> None:
    pages = tomllib.loads(book.read_text(encoding="utf-8"))
    own = [
        pages.get("helpers", ""),
        *(page[part] for page in pages.values() for part in ("check", "answer") if part in page),
    ]
    assert [words for words in pages["chinese"] if words not in "\n".join(own)] == []
    if language == "zh":
        for name, code, worked in parts(book, "zh"):
            plain = [text for text in texts(code) | texts(worked) if re.search("[a-z]{3,} [a-z]{2,} [a-z]", text)]
            assert not [text for text in plain if not re.search("[\u4e00-\u9fff]", text)], name


@pytest.mark.parametrize("ask", [check, answer, given])
@pytest.mark.parametrize("name", ["03.9", "3.1", "03", "03.chinese", "helpers.1", "../03.1", ""])
def test_an_unknown_exercise_is_named(ask: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"exercise {re.escape(repr(name))}: the course has no "):
        ask(name)


def test_without_ipython_a_picture_is_printed() -> None:
    program = "from nbautograd.exercises import *; import nbautograd as torch; from nbautograd import viz\n"
    program += "u, v = (torch.tensor(n, requires_grad=True) for n in (2., 3.)); e = (u * u + v) / u\n"
    done = subprocess.run(
        [sys.executable, "-c", program + "check('02.1', 4, 3)"], capture_output=True, encoding="utf-8", check=True
    )
    assert "2 leaves, 3 operations" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Exercise 1: not yet. not 4 leaves and 3 operations")


def test_a_check_defines_nothing_for_the_reader() -> None:
    names = {"check": check, "answers": (5, 2)}
    exec('check("06.2", ...)', names)
    assert {*names} == {"check", "answers", "__builtins__"}
