"""The page of errors: every example still raises its message, every cure runs, and no kind of error is forgotten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbautograd
from nbautograd import errors

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
BASES = {"NbautogradError", "DeviceError"}  # base classes of others
ON_A_GPU = {"OutOfMemoryError"}


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "docs/errors.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_kind_of_error_is_explained() -> None:
    kinds = {*errors.__all__, nbautograd.serialization.FileFormatError.__name__} - BASES - ON_A_GPU
    assert {kind for kind in kinds if f"\n{kind}: " not in PAGE} == set()


def test_titles_are_different() -> None:
    titles = [line for line in PAGE.split("\n") if line.startswith("### ")]
    assert len(titles) == len(set(titles)) >= 60
