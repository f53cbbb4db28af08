"""``nbautograd lite``: the course as a static site, whose Python runs in the reader's browser.

The site is JupyterLite with its kernel for Pyodide, a CPython compiled to WebAssembly. When a kernel starts, it loads
NumPy from Pyodide, and from the site the wheels of this package and of its players' requirements. So a notebook's first
cell can import it. The wheels are made from installed packages: building a site needs no network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from itertools import filterfalse
from pathlib import Path
from typing import Any

import nbautograd._engine.base.installing as _installing
from nbautograd.cli import lab, wheels
from nbautograd.cli.server import say
from nbautograd.version import __version__

__all__ = ["build", "lacking", "run"]

NEEDED = ("jupyterlite-core", "jupyterlite-pyodide-kernel", "jupyter-server", "packaging")
"""The packages that build a site: the extra ``lite``."""
PREINSTALLED = ("anywidget", "graphviz")
"""Requirements of this package that Pyodide lacks. Pyodide includes NumPy, with which every kernel starts, and the
lazily loaded packages: SciPy and ml_dtypes, large and rarely used.
"""
NOT_PACKED = ("ipython", "traitlets", "typing-extensions", "widgetsnbextension")
"""Requirements of those packages that Pyodide has, or the kernel, which includes a stand-in for the last one."""
LOADED = ("numpy", "typing-extensions")
"""Requirements of those packages from Pyodide that its kernel does not load by itself."""
KERNEL = "@jupyterlite/pyodide-kernel-extension"
EXTENSIONS = {
    "jupyterlite-pyodide-kernel": KERNEL,
    "anywidget": "anywidget",
    "jupyterlab-widgets": "@jupyter-widgets/jupyterlab-manager",
}
"""The site's JupyterLab extensions, by their distributions."""
APPS = ("lab", "notebooks", "tree")
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
STARTED_WITH = (*LOADED, "micropip", "ipython", "jedi", "traitlets")
"""The packages of Pyodide that a kernel starts with, besides their dependencies."""
LATE = ("scipy", "ml-dtypes")
MARK = "jupyter-lite.json"
"""A file that every such site has."""
DEADLINE_SECONDS = 600.0  # for JupyterLite; it takes five


def run(folder: Path, pyodide: Path | None) -> int:
    """Build the site, and print how to view it; return the exit status."""
    target = folder.expanduser().resolve()
    try:
        build(target, None if pyodide is None else pyodide.expanduser().resolve())
    except (OSError, ValueError, PackageNotFoundError, subprocess.TimeoutExpired) as error:
        reason = f"{error} is not installed" if isinstance(error, PackageNotFoundError) else error
        say(str(reason) if reason else type(error).__name__, "lite")
        return 1
    if pyodide is not None:
        for line in lacking(pyodide.expanduser()):
            say(line, "lite")
    count = sum(path.is_file() for path in target.rglob("*"))
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"The site is in {target} ({count} files, {size / 1e6:.0f} MB). Any web server can serve it; to look at it:")
    print(f"  {Path(sys.executable).name} -m http.server --bind 127.0.0.1 --directory {target}")
    print(f"and open http://127.0.0.1:8000/lab/index.html?path={lab.first(lab.course(), 'en').name}")
    return 0


def build(target: Path, pyodide: Path | None = None) -> None:
    """Build the site in a folder that is new, empty, or a former site, which is replaced when the new one is complete.

    :param pyodide: a folder with Pyodide, which becomes part of the site; None for the usual place on the network.
    :raises ValueError: the folder has other content, a package is missing, or ``pyodide`` is not a Pyodide folder.
    :raises OSError: the folder cannot be written to.
    """
    if target.is_file() or (target.is_dir() and any(target.iterdir()) and not (target / MARK).is_file()):
        raise ValueError(f"{target} has other content, which is not overwritten. Name another folder")
    if missing := [*filterfalse(_is_installed, NEEDED)]:
        raise ValueError(f"not installed: {', '.join(missing)}: {_installing.extra('lite')}")
    if pyodide is not None and (absent := [name for name in RUNTIME if not (pyodide / name).is_file()]):
        raise ValueError(f"{pyodide} is not a Pyodide of version 314 or newer: it has no {', '.join(absent)}")
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix, beside = f".{target.name}-", target.parent  # on the same file system, for renaming
    with tempfile.TemporaryDirectory(prefix=prefix, dir=beside, ignore_cleanup_errors=True) as folder:
        source, site = Path(folder, "source"), Path(folder, "site")
        prepare(source, pyodide)
        _jupyterlite(source, site)
        _check(site)
        if target.exists():
            target.rename(Path(folder, "former"))
        site.rename(target)


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def prepare(source: Path, pyodide: Path | None) -> None:
    """Write the source of JupyterLite's build: notebooks, wheels, settings."""
    packages = source / "pypi"  # JupyterLite makes an index of it, for %pip
    packages.mkdir(parents=True)
    for notebook in lab.copy(lab.course(), source / "course")[0]:
        notebook.write_text(joined(notebook.read_text("utf-8")), encoding="utf-8")
    made = [wheels.repack(each, packages) for each in wheels.closure(PREINSTALLED, NOT_PACKED)]
    made.append(wheels.repack_own(packages))
    up = "../" * len(Path("extensions", KERNEL, "static").parts)  # relative to the kernel's worker
    loaded = [*LOADED, *(f"{up}pypi/{each.name}" for each in made)]
    kernel: dict[str, Any] = {"loadPyodideOptions": {"packages": loaded}}
    if pyodide is not None:
        kernel["disablePyPIFallback"] = True  # such a site is for offline use
        (source / "static").mkdir()
        try:
            (source / "static" / "pyodide").symlink_to(pyodide, target_is_directory=True)
        except OSError:  # Windows allows it to some
            shutil.copytree(pyodide, source / "static" / "pyodide")
    settings = {"appName": "nbautograd", "litePluginSettings": {f"{KERNEL}:kernel": kernel}}
    content = {"jupyter-lite-schema-version": 0, "jupyter-config-data": settings}
    (source / MARK).write_text(json.dumps(content, indent=2), encoding="utf-8")


def joined(notebook: str) -> str:
    r"""Return a notebook with texts, not lists of lines, as outputs: JupyterLite shows commas between lines.

    >>> joined('{"cells": [{"outputs": [{"text": ["a\\n", "b"], "data": {"text/html": ["<p>", "</p>"]}}]}]}')
    '{"cells": [{"outputs": [{"text": "a\\nb", "data": {"text/html": "<p></p>"}}]}]}'
    """
    content = json.loads(notebook)
    for output in [output for cell in content["cells"] for output in cell.get("outputs", ())]:
        for texts in (output, output.get("data", {})):
            for key, lines in texts.items():
                if isinstance(lines, list) and key != "traceback":
                    texts[key] = "".join(lines)
    return json.dumps(content, ensure_ascii=False)


def extension(name: str, path: str) -> Path:
    """Return the folder of a distribution's JupyterLab extension; raise ValueError if it is not at its place."""
    end = f"share/jupyter/labextensions/{path}/package.json"
    installed = distribution(name)
    for file in installed.files or ():
        if str(file).replace(os.sep, "/").endswith(end):
            place = Path(str(installed.locate_file(file))).resolve()
            if place.is_file():
                return place.parent
    raise ValueError(f"{name}'s JupyterLab extension is not found: {_installing.command('--force-reinstall', name)}")


def _jupyterlite(source: Path, site: Path) -> None:
    """Run JupyterLite; raise ValueError if it fails."""
    options = [f"--lite-dir={source}", f"--output-dir={site}", f"--contents={source / 'course'}"]
    options += [f"--apps={app}" for app in APPS]
    from nbautograd.viz.notebook import export

    own = export.write_lab_extension(source / "nbautograd", __version__)
    for place in (own, *(extension(*each) for each in EXTENSIONS.items())):
        options.append(f"--LiteBuildConfig.federated_extensions={place}")
    options += ["--ignore-sys-prefix", "--no-sourcemaps", "--no-unused-shared-packages", "--no-libarchive"]
    command = [sys.executable, "-m", "jupyterlite_core", "build", *options]
    env = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTERLITE_")}
    done = subprocess.run(
        command, cwd=source, env=env, text=True, errors="replace", check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE_SECONDS,
    )  # fmt: skip
    if done.returncode:
        raise ValueError(f"JupyterLite failed:\n{done.stdout[-4000:]}")


def _check(site: Path) -> None:
    """Raise ValueError if a file is not at its place in the settings: JupyterLite may have another layout."""
    settings = json.loads((site / MARK).read_text("utf-8"))["jupyter-config-data"]["litePluginSettings"]
    kernel = settings[f"{KERNEL}:kernel"]
    workers = [*(site / "extensions" / KERNEL / "static").glob("*.worker*.js")]
    own = [name for name in kernel["loadPyodideOptions"]["packages"] if name.endswith(".whl")]
    paths = [(worker.parent / name).resolve() for worker in workers[:1] for name in own]
    paths += [site / "files" / notebook.name for notebook in lab.course().glob("*.ipynb")]
    absent = [str(path.relative_to(site)) for path in paths if not path.is_file()]
    if not workers or absent:
        what = ", ".join(absent) or "worker"
        raise ValueError(f"this version of JupyterLite has another layout: {what} is missing")


def lacking(pyodide: Path) -> list[str]:
    """Return the missing parts of a folder with Pyodide, in lines: for example, npm's ``pyodide`` has no packages."""
    packages = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))["packages"]
    lines: list[str] = []
    known: dict[str, str] = {}  # files by package
    for names, need in ((STARTED_WITH, "the course needs it"), (LATE, "only what uses it will fail")):
        before, waiting = set(known), list(names)
        while waiting:
            name = wheels.normalized(waiting.pop())
            if name not in known:
                entry = packages.get(name, {"file_name": name, "depends": []})
                known[name] = entry["file_name"]
                waiting += entry["depends"]
        absent = sorted(known[name] for name in set(known) - before if not (pyodide / known[name]).is_file())
        if absent:
            lines.append(f"{pyodide} has no {', '.join(absent)}: {need}")
    return lines
