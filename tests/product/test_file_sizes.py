"""No file is too long to be read in one sitting."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
BOUND = 500
FILES = [
    path
    for folder, pattern in (
        ("nbautograd", "*.py"), ("nbautograd", "*.js"), ("tests", "*.py"), ("docs", "*.py"), ("benchmarks", "*.py"),
    )
    for path in sorted((ROOT / folder).rglob(pattern))
]  # fmt: skip

ALLOWED: dict[str, str] = {}
"""Longer files that stay as they are: why."""


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_files_are_short_enough() -> None:
    names = {path.relative_to(ROOT).as_posix(): lines(path) for path in FILES}
    long = {name for name, count in names.items() if count > BOUND}
    assert len(names) > 400
    assert sorted(long - {*ALLOWED}) == [], f"files of more than {BOUND} lines: split them by subject"
    assert sorted({*ALLOWED} - long) == [], "short enough, or gone: take them off ALLOWED"
