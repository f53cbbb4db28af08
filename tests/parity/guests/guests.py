"""The list of guests: what ``guests.toml`` pins, the parts that each guest's file declares, and how it is fetched."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TABLE = HERE / "guests.toml"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "nbautograd-guests"
KINDS = {"packages": "Packages", "projects": "Projects"}


class Guest:
    """A package from the index, what it needs besides PyTorch, and the file with its parts."""

    def __init__(self, kind: str, name: str, pins: dict[str, Any]) -> None:
        self.kind, self.name = kind, name
        self.version: str = pins["version"]
        self.needs: dict[str, str] = pins.get("needs", {})
        self.stops: dict[str, str] = pins.get("stops", {})
        """Of the parts that are not equal: why."""

    @property
    def stem(self) -> str:
        """The name as part of a module's name."""
        return self.name.replace("-", "_").lower()

    @property
    def module(self) -> str:
        """The module with its parts."""
        return f"tests.parity.guests.{self.kind}.{self.stem}"

    @cached_property
    def parts(self) -> list[str]:
        """The names of its parts, read without running the file."""
        tree = ast.parse((HERE / self.kind / f"{self.stem}.py").read_text(encoding="utf-8"))
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        return [f.name for f in functions if any(ast.unparse(d) == "part" for d in f.decorator_list)]

    def fetch(self, cache: Path) -> list[Path]:
        """Install it and what it needs, each into a folder of its own, where that has not been done."""
        return [installed(name, version, cache) for name, version in {self.name: self.version, **self.needs}.items()]


class NotFetchedError(Exception):
    """A package could not be installed."""


def installed(name: str, version: str, cache: Path) -> Path:
    """The folder that has a package and nothing of what it depends on."""
    folder = cache / f"{name}-{version}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as unfinished:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
            command += ["--disable-pip-version-check", "--target", f"{unfinished}/package", f"{name}=={version}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NotFetchedError(f"{name} {version}: {done.stderr.strip()}")
            shutil.move(f"{unfinished}/package", folder)
    return folder


def guests() -> list[Guest]:
    """All guests, those of one kind after those of another, by name."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [Guest(kind, name, pins) for kind in KINDS for name, pins in sorted(table.get(kind, {}).items())]
