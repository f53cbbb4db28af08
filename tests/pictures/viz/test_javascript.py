"""The player's JavaScript as oxlint sees it: whole, as its files share one scope, and in lines of a bounded length."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import nbautograd
from nbautograd.viz.notebook import export
from tests import needs

STATIC = Path(nbautograd.__file__).parent / "viz" / "static"
RULES = STATIC.parents[2] / ".oxlintrc.json"
OXLINT = shutil.which("oxlint", path=sysconfig.get_path("scripts")) or shutil.which("oxlint")
BUNDLES = {"player": export.PLAYER, "page": (*export.PLAYER, "frame"), "live": ("dress", "opening", "live"),
           "loader": ("loader",), "widget": ("dress", "opening", *export.PLAYER),
           "component": (*export.PLAYER, "dress", "element"), "lab": ("dress", "loader", "lab"),
           "lab_entry": ("lab_entry",)}  # fmt: skip
ADDED = {"page": '\njoinPage();\nawait unpacked("");\n', "component": '\nconst STYLE = "";\n'}
"""Each bundle gets more where it is put together."""
"""Each bundle with its files; ``player_page`` covers the additions of a page."""


def bundle(names: tuple[str, ...]) -> tuple[str, list[str]]:
    """The text, and for each of its lines the file and line that it is from."""
    text, origins = "", []
    for name in names:
        source = (STATIC / f"{name}.js").read_text(encoding="utf-8") + "\n"
        origins += [f"{name}.js:{number}" for number in range(1, source.count("\n") + 1)]
        text += source
    return text, origins


def test_the_bundle_is_what_the_widget_runs() -> None:
    assert bundle(export.PLAYER)[0] == export.player_js() + "\n"


def test_no_template_string_spans_lines() -> None:
    """A page leaves out indentation and lines of comment, which must not be part of a string."""
    lines = bundle(BUNDLES["page"])[0].splitlines()
    assert [line for line in lines if line.count("`") % 2] == []


def test_every_file_is_in_a_bundle() -> None:
    assert {path.stem for path in STATIC.glob("*.js")} == {name for names in BUNDLES.values() for name in names}


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_files_and_lines_are_short(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 500
    assert [f"{path.name}:{i}" for i, line in enumerate(lines, 1) if len(line) > 120] == []


@pytest.mark.skipif(OXLINT is None, reason=needs.reason("oxlint"))
@pytest.mark.skipif(not RULES.exists(), reason="needs .oxlintrc.json of a checkout")
@pytest.mark.parametrize("name", BUNDLES)
def test_the_linter_finds_nothing(name: str, tmp_path: Path) -> None:
    text, origins = bundle(BUNDLES[name])
    (tmp_path / f"{name}.mjs").write_text(text + ADDED.get(name, ""), encoding="utf-8")
    command = [str(OXLINT), "--config", str(RULES), "--format", "json", str(tmp_path / f"{name}.mjs")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    found = json.loads(ran.stdout)
    assert found["number_of_files"] == 1, ran.stderr
    origins.append("player_page")
    said = [
        f"{origins[min(d['labels'][0]['span']['line'], len(origins)) - 1]}: {d.get('code', '')} {d['message']}"
        for d in found["diagnostics"]
    ]
    assert said == []
