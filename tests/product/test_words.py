"""Test the check of words: it finds the patterns, and counts them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def words() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", ROOT / "docs" / "words.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCE = '''"""Docstring one."""
x = f"a message {1}"  # a comment
def f():
    """Docstring two, and ``code``."""
    return "another one", "code", f"{meanwhile} is code"
class C:
    a = 1
    """About a."""
'''


def test_texts_of_a_module(words: ModuleType) -> None:
    found = sorted(words.of_python(SOURCE, messages=True), key=lambda text: text[1])
    assert [(where, line) for where, line, _ in found] == [
        ("docstring", 1), ("message", 2), ("comment", 2), ("docstring", 4), ("message", 5), ("message", 5),
        ("docstring", 8)
    ]  # fmt: skip
    assert not any("`code" in text or "meanwhile" in text for _, _, text in found), "code is not prose"
    assert not any(where == "message" for where, *_ in words.of_python(SOURCE, messages=False))


def test_code_of_a_page_is_not_read(words: ModuleType) -> None:
    assert words.prose("one `anew` two\n```\nanew\n```\nthree").split() == ["one", "two", "three"]


def test_a_word_is_found_where_it_stands(
    words: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "docs" / "words.toml"
    rules.parent.mkdir()
    rules.write_text("[[english]]\npattern = '\\banew\\b'\ninstead = 'again'\nleft = 2\n")
    (tmp_path / "page.md").write_text("One.\nIt runs anew.\n")
    (tmp_path / "docs" / "zh.md").write_text("重新 anew\n")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    monkeypatch.setattr(words, "RULES", rules)
    monkeypatch.setattr("sys.argv", ["words.py", "anew"])
    words.main()
    assert capsys.readouterr().out.startswith("page.md:2: ")
    monkeypatch.setattr("sys.argv", ["words.py"])
    words.main()
    assert "left = 1" in rules.read_text()
    monkeypatch.setattr("sys.argv", ["words.py", "--check"])
    words.main()
    (tmp_path / "other.md").write_text("anew\n")
    with pytest.raises(SystemExit, match="2, and 1 stood there before"):
        words.main()
