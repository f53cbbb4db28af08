"""Commands that install missing packages, ready to type."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

PACKAGE = __name__.partition(".")[0]


def command(*packages: str) -> str:
    """Return the command that installs packages into the environment of this process: in a notebook a magic.

    :param packages: names, with versions where these matter; options such as ``-e`` stay as they are.
    """
    return " ".join([_pip(), "install", *map(_quoted, packages)])


def extra(name: str) -> str:
    """Return the command that installs one of this package's extras, matching how the package is installed.

    Without a name, it installs the package itself.

    If the package comes from a clone, a file or a known address, the command names that; otherwise it names the missing
    packages themselves, since the package index need not have this package.
    """
    clone, named = Path(__file__).resolve().parents[3], f"[{name}]" if name else ""
    if _is_clone(clone):
        return command("-e", f"{_shown(clone)}{named}")
    where = _direct_url()
    url = str(where.get("url", ""))
    path = _file_of(url)
    if path is not None and (path.is_file() or _is_clone(path)):
        editable = ["-e"] if where.get("dir_info", {}).get("editable") else []
        return command(*editable, f"{_shown(path)}{named}")
    if path is None and url:
        vcs = where.get("vcs_info", {})
        address = f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url
        return command(f"{PACKAGE}{named} @ {address}")
    return command(*(_missing(requirements(name)) or [f"{PACKAGE}{named}"]))


def _missing(packages: list[str]) -> list[str]:
    """Return the packages that are not installed; all if they are."""
    return [each for each in packages if _distribution(re.split(r"[^\w.-]", each)[0]) is None] or packages


def requirements(name: str) -> list[str]:
    """Return the packages of an extra, with versions, from this package's metadata; empty if the extra is unknown."""
    own = _distribution(PACKAGE)
    known = (own.requires if own is not None else None) or []
    return [each.partition(";")[0].strip() for each in known if re.search(rf"extra == ['\"]{name}['\"]", each)]


def _pip() -> str:
    """Return the pip call that installs into this environment."""
    import shutil

    if getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)() is not None:
        return "%pip"
    found, python = shutil.which("pip"), Path(sys.executable)
    return "pip" if found is not None and Path(found).parent == python.parent else f"{_quoted(_shown(python))} -m pip"


def _shown(path: Path) -> str:
    """Return a path relative to the current folder if shorter; ``.`` is that folder itself."""
    try:
        short = str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
    return short if path.is_dir() or os.sep in short else os.path.join(".", short)


def _quoted(word: str) -> str:
    """Quote a word for the system's shell."""
    import shlex

    if os.name != "nt":
        return shlex.quote(word)
    return f'"{word}"' if re.search(r"[^\w.:\\/=-]", word) else word


def _is_clone(folder: Path) -> bool:
    """Return whether a folder holds the sources of this package."""
    try:
        return f'name = "{PACKAGE}"' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        return False


def _distribution(name: str) -> Any:
    """Return the metadata of an installed package, or None. The import is slow, so it is deferred."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _direct_url() -> dict[str, Any]:
    """Return the address from which the package was installed, if not from an index (PEP 610)."""
    import json

    own = _distribution(PACKAGE)
    try:
        known: dict[str, Any] = json.loads((own.read_text("direct_url.json") if own is not None else None) or "{}")
    except (ValueError, OSError):
        return {}
    return known


def _file_of(url: str) -> Path | None:
    """Return the path of a ``file:`` address; None for another."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    return Path(path[1:] if re.match("/[A-Za-z]:", path) else path)  # the drive of a Windows path follows the slash
