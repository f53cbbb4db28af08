"""Check that SciPy and ml_dtypes load at their first use, also in a browser."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from nbautograd._engine.arrays import late_packages
from tests import needs

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ("01_tensors", "02_graph", "03_backward", "12_network")
RUN = """
import json, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("scipy", "ml_dtypes"):
            raise AssertionError(name)
sys.meta_path.insert(0, Blocked())
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.loads(sys.stdin.read()):
    result = shell.run_cell(cell)
    result.raise_error()
print("scipy" in sys.modules)
"""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_importing_and_the_first_notebooks_load_neither(name: str, tmp_path: Path) -> None:
    needs.package("IPython")
    notebook = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(cells), cwd=ROOT, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.split()[-1] == "False"


LOADED = """
import sys, numpy
before = set(sys.modules)
import nbautograd
{}
own = [sys.modules[name] for name in set(sys.modules) - before if name.partition(".")[0] == "nbautograd"]
files = {{file for module in own if (file := getattr(module, "__file__", None))}}
import os
print(len(files), sum(map(os.path.getsize, files)))
"""


@pytest.mark.parametrize(
    ("code", "files", "kilobytes"),
    [("", 100, 900), ("import IPython.core.interactiveshell, nbautograd.viz.notebook.magics", 180, 1785)],
    ids=["import nbautograd", "and the magics"],
)
def test_little_is_loaded_at_first(code: str, files: int, kilobytes: int) -> None:
    """A browser compiles each file again: docs/guides/browser.md has the times."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(code)], cwd=ROOT, text=True, capture_output=True, check=True
    )
    count, size = map(int, done.stdout.split())
    assert 50 < count <= files and 100 < size / 1000 <= kilobytes


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A Python that says it is in a browser, where ``decimal`` stands for a package that is not loaded yet."""
    state = types.SimpleNamespace(waits=True, loaded=[])
    absent, real = "decimal", importlib.import_module

    def import_module(name: str) -> Any:
        if name.partition(".")[0] == absent and absent not in state.loaded:
            raise ModuleNotFoundError(f"No module named {absent!r}", name=absent)
        return real(name)

    ffi: Any = types.ModuleType("pyodide.ffi")
    ffi.can_run_sync, ffi.run_sync = lambda: state.waits, lambda promise: state.loaded.append(promise)
    interpreter: Any = types.ModuleType("pyodide_js")
    interpreter.loadPackage = lambda package: package
    package: Any = types.ModuleType("pyodide")
    package.ffi = ffi
    for name, module in {"pyodide": package, "pyodide.ffi": ffi, "pyodide_js": interpreter}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(late_packages.importlib, "import_module", import_module)
    monkeypatch.setattr(late_packages.sys, "platform", "emscripten")
    return state


def test_in_a_browser_that_can_wait_it_is_fetched(browser: Any) -> None:
    assert late_packages.late("decimal").Decimal(3) == 3
    assert browser.loaded == ["decimal"]


def test_in_a_browser_that_cannot_wait_the_error_says_what_to_do(browser: Any) -> None:
    browser.waits = False
    with pytest.raises(ModuleNotFoundError, match="run a cell that holds nothing but 'import decimal'"):
        late_packages.late("decimal")


def test_elsewhere_what_is_missing_is_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        late_packages.late("no_such_package.special")
