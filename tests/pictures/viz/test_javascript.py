"""The player's JavaScript: modules that a browser and the linter follow, short files, and the bundles made of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import nbautograd
from nbautograd.viz.notebook import scripts
from tests import needs
from tests.files_server import served

STATIC = Path(nbautograd.__file__).parent / "viz" / "static"
RULES = STATIC.parents[2] / ".oxlintrc.json"
OXLINT = shutil.which("oxlint", path=sysconfig.get_path("scripts")) or shutil.which("oxlint")
SCRIPTS = sorted(STATIC.glob("*.js"))
ENTRIES = {"player": scripts.PLAYER, "page": (*scripts.PLAYER, "frame"), "live": ("opening", "live"),
           "loader": ("loader",), "widget": ("opening", *scripts.PLAYER), "component": (*scripts.PLAYER, "element"),
           "lab": ("lab",), "lab_entry": ("lab_entry",)}  # fmt: skip
"""The modules that each bundle is made of."""
IMPORT = re.compile(r'^import .* from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (.*)$", re.MULTILINE)


def imported(names: Iterable[str]) -> set[str]:
    """Return modules, and all that they import."""
    found, waiting = set[str](), [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += IMPORT.findall((STATIC / f"{name}.js").read_text(encoding="utf-8").replace("\n  ", " "))
    return found


def test_no_template_string_spans_lines() -> None:
    """A page leaves out indentation and lines of comment, which must not be part of a string."""
    lines = scripts.bundle(*ENTRIES["page"]).splitlines()
    assert [line for line in lines if line.count("`") % 2] == []


def test_every_file_is_in_a_bundle() -> None:
    assert {path.stem for path in SCRIPTS} == imported(name for names in ENTRIES.values() for name in names)


@pytest.mark.parametrize("names", ENTRIES.values(), ids=ENTRIES)
def test_a_bundle_has_each_module_once_after_its_imports(names: tuple[str, ...]) -> None:
    text = scripts.bundle(*names)
    assert not re.search(r"^import\b", text, re.MULTILINE)
    own = {name: (STATIC / f"{name}.js").read_text(encoding="utf-8").rstrip().splitlines()[-1] for name in names}
    assert all(text.count(f"\n{line}") for line in own.values())
    exported = {
        match for name in names for match in EXPORT.findall((STATIC / f"{name}.js").read_text(encoding="utf-8"))
    }
    assert {*EXPORT.findall(text)} == exported
    declared = re.findall(r"^(?:export )?(?:async )?(?:function|class) (\w+)", text, re.MULTILINE)
    assert len(declared) == len({*declared})


@pytest.mark.browser
@needs.chromium
def test_a_browser_finds_what_modules_import(browser: Any) -> None:
    """As modules of a page, without a bundle: each file exists, and exports what others name."""
    with served(STATIC) as (address, _):
        page = browser.new_page()
        page.goto(f"{address}/player.css")
        wrong = page.evaluate(
            """(names) => Promise.all(names.map((name) =>
                import(`/${name}.js`).then(() => [], (error) => [`${name}: ${error}`]))).then((all) => all.flat())""",
            [path.stem for path in SCRIPTS if path.stem != "lab_entry"],  # which asks for the script that it is
        )
        page.close()
    assert wrong == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_files_and_lines_are_short(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 500
    assert [f"{path.name}:{i}" for i, line in enumerate(lines, 1) if len(line) > 120] == []


@pytest.mark.skipif(OXLINT is None, reason=needs.reason("oxlint"))
@pytest.mark.skipif(not RULES.exists(), reason="needs .oxlintrc.json of a checkout")
def test_the_linter_finds_nothing() -> None:
    """It also follows imports: names are exported where others say so, and no module imports itself by others."""
    command = [str(OXLINT), "--config", str(RULES), "--format", "json", str(STATIC)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    found = json.loads(ran.stdout)
    assert found["number_of_files"] == len(SCRIPTS), ran.stderr
    where = (f"{Path(d['filename']).name}:{d['labels'][0]['span']['line']}" for d in found["diagnostics"])
    assert [f"{place}: {d['message']}" for place, d in zip(where, found["diagnostics"], strict=True)] == []
