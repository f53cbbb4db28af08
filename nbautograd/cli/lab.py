"""``nbautograd lab``: the course, copied to a folder of the reader's own and opened in JupyterLab."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

__all__ = ["copy", "course", "run"]


def course() -> Path:
    """The folder that holds the course: inside an installed package, or in the clone that is installed editable.

    :raises FileNotFoundError: it is in neither place.

    >>> (course() / "gallery.ipynb").is_file()
    True
    """
    package = Path(str(files("nbautograd")))
    for folder in (package / "course", package.parent / "notebooks"):
        if (folder / "gallery.ipynb").is_file():
            return folder
    raise FileNotFoundError(f"the course is not part of this installation: it is not in {package / 'course'}")


def copy(source: Path, target: Path) -> tuple[list[Path], list[Path]]:
    """Copy the notebooks below one folder into another: those that are new there, and those kept because they differ.

    A file that exists is never written to.

    :raises OSError: the folder cannot be made or written to.
    """
    new, kept = [], []
    for notebook in sorted([*source.glob("*.ipynb"), *source.glob("zh/*.ipynb")]):
        place = target / notebook.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            _place(notebook, place)
            new.append(place)
        except FileExistsError:
            if place.read_bytes() != notebook.read_bytes():
                kept.append(place)
    return new, kept


def _place(source: Path, place: Path) -> None:
    """Copy a file to where none is, as a whole or not at all."""
    with source.open("rb") as content, place.open("xb") as file:  # x: fails where something is
        try:
            shutil.copyfileobj(content, file)
        except BaseException:
            place.unlink()
            raise


def first(folder: Path, language: str) -> Path:
    """The notebook to begin with: the one with the smallest number."""
    return min((folder / "zh" if language == "zh" else folder).glob("*.ipynb"))


def run(folder: Path, language: str, browser: bool, arguments: Sequence[str]) -> int:
    """Copy the course, say what was copied, and serve it until JupyterLab is stopped; returns the exit status."""
    source, target = course(), folder.expanduser().resolve()
    try:
        new, kept = copy(source, target)
    except OSError as error:
        print(f"nbautograd lab: cannot write the course to {target}: {error}", file=sys.stderr)
        return 1
    print(f"The course is in {target} ({len(new)} {'notebook is' if len(new) == 1 else 'notebooks are'} new).")
    if kept:
        print("Kept as they are, as they differ from the course's:", *(f"  {path}" for path in kept), sep="\n")
    page = first(source, language).relative_to(source).as_posix()
    try:
        from jupyterlab.labapp import main as serve
    except ImportError as error:
        print(f"JupyterLab cannot be started ({error}): pip install 'nbautograd[lab]'", file=sys.stderr)
        print(f"Another front end can open {target / page}", file=sys.stderr)
        return 1
    print(f"JupyterLab opens {target / page}; Ctrl+C stops it.", flush=True)
    options = [f"--ServerApp.root_dir={target}", f"--LabApp.default_url=/lab/tree/{page}"]
    quiet = [] if browser else ["--no-browser"]
    serve([*options, *quiet, *arguments])
    return 0
