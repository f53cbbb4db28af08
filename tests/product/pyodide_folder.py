"""A Pyodide for tests: npm's package ``pyodide``, and the packages in Python that its kernel starts with.

npm's package has the interpreter and the list of packages, but no package. Packages in pure Python come from the
package index; NumPy, which is compiled for the browser, is missing there.

``python -m tests.product.pyodide_folder FOLDER`` makes the folder, which the variable NBAUTOGRAD_PYODIDE then names.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbautograd.cli import lite, wheels
from tests import needs

__all__ = ["NOT_STARTED_WITH", "folder", "make"]

NOT_STARTED_WITH = "packaging"
"""A package that kernels do not load by themselves."""


def folder() -> Path:
    """The folder that ``build`` made; without it skip the test."""
    path = Path(os.environ.get("NBAUTOGRAD_PYODIDE") or "build/pyodide")
    if not (path / "pyodide-lock.json").is_file():
        pytest.skip(needs.reason("Pyodide"))
    return path.resolve()


def started_with(packages: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The entries of a kernel's start."""
    waiting, known = list(lite.STARTED_WITH), set[str]()
    while waiting:
        name = wheels.normalized(waiting.pop())
        if name not in known:
            known.add(name)
            waiting += packages[name]["depends"]
            yield packages[name]


def make(target: Path) -> None:
    """Fetch the parts and put them together."""
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([shutil.which("npm") or "npm", "pack", "pyodide"], cwd=temporary, check=True)
        (archive,) = Path(temporary).glob("*.tgz")
        with tarfile.open(archive) as file:
            file.extractall(temporary, filter="data")
        shutil.copytree(Path(temporary, "package"), target, dirs_exist_ok=True)
    place = target / "pyodide-lock.json"
    lock = json.loads(place.read_text("utf-8"))
    pure = [each for each in started_with(lock["packages"]) if each["file_name"].endswith("none-any.whl")]
    pure.append(lock["packages"][NOT_STARTED_WITH])
    wanted = [f"{each['name']}=={each['version']}" for each in pure]
    options = ["--quiet", "--no-deps", "--only-binary=:all:", f"--python-version={lock['info']['python']}"]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, "--dest", str(target), *wanted], check=True)
    files = {wheels.normalized(path.name.partition("-")[0]): path for path in target.glob("*.whl")}
    for each in pure:  # the index's wheel may be another build of the same version
        path = files[wheels.normalized(each["name"])]
        each.update(file_name=path.name, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    place.write_text(json.dumps(lock), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
