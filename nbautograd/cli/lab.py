"""``nbautograd lab``: copies the course to the reader's own folder and opens it in JupyterLab."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

from nbautograd._engine.base.installing import extra
from nbautograd.cli.server import say, serve

__all__ = ["copy", "course", "run"]


def course() -> Path:
    """Return the folder that holds the course: inside an installed package, or in an editable clone.

    :raises FileNotFoundError: the course is in neither place.

    >>> (course() / "gallery.ipynb").is_file()
    True
    """
    package = Path(str(files("nbautograd")))
    for folder in (package / "course", package.parent / "notebooks"):
        if (folder / "gallery.ipynb").is_file():
            return folder
    raise FileNotFoundError(f"the course is not part of this installation: it is not in {package / 'course'}")


def copy(source: Path, target: Path) -> tuple[list[Path], list[Path]]:
    """Copy the notebooks below one folder into another; return the new ones, and those kept because they differ.

    An existing file is never overwritten. If one cannot be copied, none is: new copies are removed.

    :raises OSError: the folder cannot be created or written to.
    """
    with ExitStack() as undo:
        new, kept = [], []
        for notebook in sorted([*source.glob("*.ipynb"), *source.glob("zh/*.ipynb")]):
            place = target / notebook.relative_to(source)
            for folder in (*reversed(place.parent.parents), place.parent):
                if not folder.is_dir():
                    folder.mkdir()
                    undo.callback(folder.rmdir)
            try:
                _place(notebook, place)
            except FileExistsError:
                if place.read_bytes() != notebook.read_bytes():
                    kept.append(place)
            else:
                undo.callback(place.unlink)
                new.append(place)
        undo.pop_all()
    return new, kept


def _place(source: Path, place: Path) -> None:
    """Copy a file to a free path, completely or not at all."""
    content = source.read_bytes()
    file = place.open("xb")  # x: fails if the path exists
    try:
        with file:  # closing also writes
            file.write(content)
    except BaseException:
        place.unlink()
        raise


def first(folder: Path, language: str) -> Path:
    """Return the notebook to begin with: the one with the smallest number."""
    return min((folder / "zh" if language == "zh" else folder).glob("*.ipynb"))


def run(folder: Path, language: str, browser: bool, arguments: Sequence[str]) -> int:
    """Copy the course, print what was copied, and serve it until JupyterLab is stopped; return the exit status."""
    source, target = course(), folder.expanduser().resolve()
    try:
        new, kept = copy(source, target)
    except OSError as error:
        say(f"cannot write the course to {target}: {_reason(error)}")
        return 1
    print(f"The course is in {target} ({len(new)} {'notebook is' if len(new) == 1 else 'notebooks are'} new).")
    if kept:
        print("Kept unchanged, since they differ from the course's:", *(f"  {path}" for path in kept), sep="\n")
    page = first(source, language).relative_to(source).as_posix()
    options = [f"--ServerApp.root_dir={target}", f"--LabApp.default_url=/lab/tree/{page}"]
    quiet = [] if browser else ["--no-browser"]
    print(f"JupyterLab opens {target / page}; Ctrl+C stops it.", flush=True)
    try:
        return serve([*options, *quiet, *arguments])
    except ImportError as error:
        say(f"JupyterLab cannot be started ({error}): {extra('lab')}")
        say(f"another front end can open {target / page}")
        return 1


def _reason(error: OSError) -> str:
    """Return why the course cannot be written, and the cure."""
    elsewhere = "name another folder: nbautograd lab FOLDER"
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{error.filename} is a file; {elsewhere}"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{error.strerror or error}; {'free some space there, or ' if full else ''}{elsewhere}"
