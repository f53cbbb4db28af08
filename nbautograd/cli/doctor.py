"""``nbautograd doctor``: reports what works here, one line each, and how to install the rest.

CuPy, PyTorch and programs are tried in separate processes, with a deadline, as a broken driver may hang or crash.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import nbautograd._engine.base.installing as _installing

__all__ = ["Finding", "as_json", "as_text", "findings", "run"]

DEADLINE_SECONDS = 30.0
"""Deadline in seconds for each process."""


@dataclass(frozen=True)
class Finding:
    """The finding about one package, program or device."""

    name: str
    state: str
    """``works``, ``missing``, or ``broken`` (installed, but not working)."""
    detail: str
    """Its version, or the problem."""
    gives: str
    """Its use."""
    get: str = ""
    """The command or step that installs it, if it does not work."""


def package(name: str, distribution: str, gives: str, get: str) -> Finding:
    """Check a Python package by the metadata of its distribution.

    >>> package("NumPy", "numpy", "arrays", "get numpy").state
    'works'
    >>> package("Nothing", "no-such-distribution", "nothing", "get it").detail
    'not installed'
    """
    try:
        return Finding(name, "works", version(distribution), gives)
    except PackageNotFoundError:
        return Finding(name, "missing", "not installed", gives, get)


def imported(name: str, distribution: str, code: str, gives: str, get: str) -> Finding:
    """Check a Python package that must be tried: ``code`` prints its version in a separate process."""
    if distribution and (finding := package(name, distribution, gives, get)).state == "missing":
        return finding
    return program(name, [sys.executable, "-c", code], gives, get)


def program(name: str, command: Sequence[str], gives: str, get: str, deadline: float = DEADLINE_SECONDS) -> Finding:
    """Check a program by the first line that it prints.

    >>> program("Python", [sys.executable, "-c", "print(3)"], "", "").detail
    '3'
    >>> program("It", [sys.executable, "-c", "raise OSError('no driver')"], "", "install it")
    Finding(name='It', state='broken', detail='OSError: no driver', gives='', get='install it')
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=deadline, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Finding(name, "broken", f"no answer in {deadline:g} seconds", gives, get)
    except OSError as error:
        return Finding(name, "broken", str(error), gives, get)
    printed = [line.strip() for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    if done.returncode == 0:
        return Finding(name, "works", printed[0] if printed else "", gives)
    errors = done.stderr.strip().splitlines()
    return Finding(name, "broken", errors[-1] if errors else f"ended with status {done.returncode}", gives, get)


def python() -> Finding:
    """Return the Python that runs this."""
    return Finding("Python", "works", f"{platform.python_version()} ({sys.executable})", "runs nbautograd")


def players() -> Finding:
    """Check whether front ends will find the browser part of anywidget."""
    gives = "players that move and can be clicked; without it pictures stand still"
    get = "install anywidget in the environment that JupyterLab runs in: " + _installing.command("anywidget")
    finding = package("anywidget", "anywidget", gives, get)
    if finding.state == "missing":
        return finding
    folders = [Path(sys.prefix, "share", "jupyter"), *_jupyter_path()]
    if not any((folder / "labextensions" / "anywidget").is_dir() for folder in folders):
        return Finding(
            "anywidget", "broken", f"{finding.detail}, but its JupyterLab extension is not found", gives, get
        )
    return finding


def _jupyter_path() -> list[Path]:
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError:
        return []
    return [Path(folder) for folder in jupyter_path()]


def dot() -> Finding:
    """Check Graphviz's program."""
    gives = 'pictures drawn with engine="dot"'
    get = "apt install graphviz, brew install graphviz, or conda install graphviz"
    path = shutil.which("dot")
    if path is None:
        return Finding("dot", "missing", "not on the PATH", gives, get)
    return program("dot", [path, "-V"], gives, get)


RASTER = """
from importlib.metadata import version
from nbautograd.viz.draw.raster import raster
svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9" font-family="sans-serif">M</text></svg>'
raster(svg, {kind!r})
print(version({package!r}))
"""


def raster(name: str, distribution: str, kind: str) -> Callable[[], Finding]:
    """Check the package that makes files of a kind, by drawing a letter."""
    code = RASTER.format(kind=f".{kind}", package=distribution)
    gives, get = f"pictures as .{kind}, as they are seen", _installing.extra(kind)
    return lambda: imported(name, distribution, code, gives, get)


def extra(name: str, key: str, gives: str) -> Callable[[], Finding]:
    """Return a function that checks later whether all packages of an extra are installed."""

    def look() -> Finding:
        get, wanted = _installing.extra(key), _installing.requirements(key)
        names = [re.split(r"[^\w.-]", each)[0] for each in wanted]
        lacking = [each for each in names if package(each, each, "", "").state == "missing"]
        if lacking or not names:  # the metadata of an older installation lacks the extra
            return Finding(name, "missing", f"not installed: {', '.join(lacking) or key}", gives, get)
        return Finding(name, "works", ", ".join(f"{each} {version(each)}" for each in names), gives)

    return look


def driver() -> Finding:
    """Check the driver of NVIDIA's devices."""
    gives, get = "CUDA", "install NVIDIA's driver, if there is such a GPU"
    path = shutil.which("nvidia-smi")
    if path is None:
        return Finding("NVIDIA driver", "missing", "no nvidia-smi on the PATH", gives, get)
    return program("NVIDIA driver", [path, "--query-gpu=name,driver_version", "--format=csv,noheader"], gives, get)


CUDA = """
from importlib.metadata import packages_distributions, version
from nbautograd import cuda
from nbautograd._engine.arrays import backend
reason = cuda.why_not()
if reason is not None:
    raise SystemExit(reason)
distribution = packages_distributions().get("cupy", ["cupy"])[0]
kernels = "fused kernels" if backend.cuda.fused else f"CuPy's kernels ({backend.FUSED}=1: fused ones)"
print(distribution, version(distribution), "on", cuda.get_device_name() + ",", kernels)
"""


def cuda() -> Finding:
    """Check CuPy with a device to compute on."""
    finding = imported(
        "CuPy", "", CUDA, "tensors on CUDA 12 (the extra cuda13: on CUDA 13)", _installing.extra("cuda12")
    )
    missing = finding.state == "broken" and "No module named 'cupy'" in finding.detail
    return Finding(finding.name, "missing", "not installed", finding.gives, finding.get) if missing else finding


def pytorch() -> Finding:
    """Check PyTorch, whose models can be drawn."""
    code = "import torch; print(torch.__version__)"
    gives = "pictures of PyTorch's own graphs (notebook 14), and tests against it"
    return imported("PyTorch", "torch", code, gives, _installing.command("torch"))


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one opens a page in three quarters of the processor time of the others."""


def chromium() -> Finding:
    """Check for a browser that tests can drive; readers use any browser."""
    gives, get = "this project's browser tests", "apt install chromium, or name one in the variable CHROMIUM"
    names = os.environ.get("CHROMIUM") or "", *BROWSERS
    path = next(filter(None, map(shutil.which, filter(None, names))), None)
    if path is None:
        return Finding("Chromium", "missing", "not on the PATH", gives, get)
    return program("Chromium", [path, "--version"], gives, get)


def looked_up(name: str, distribution: str, gives: str, wanted: str = "", *, extra: str = "") -> Callable[[], Finding]:
    """Return a function that calls :func:`package` later.

    :param wanted: the package for pip; by default the distribution.
    :param extra: the extra of this package that includes it.
    """

    def look() -> Finding:
        get = _installing.extra(extra) if extra else _installing.command(wanted or distribution)
        return package(name, distribution, gives, get)

    return look


CHECKS: tuple[Callable[[], Finding], ...] = (
    python,
    lambda: package("nbautograd", "nbautograd", "this library", _installing.extra("")),
    looked_up("NumPy", "numpy", "arrays", "numpy>=2.0"),
    looked_up("SciPy", "scipy", "linear algebra and special functions", "scipy>=1.14"),
    looked_up("ml_dtypes", "ml_dtypes", "bfloat16", "ml_dtypes>=0.5"),
    players,
    looked_up("JupyterLab", "jupyterlab", "the course (nbautograd lab)", extra="lab"),
    extra("JupyterLite", "lite", "the course as a site that runs in the browser (nbautograd lite)"),
    looked_up("Notebook", "notebook", "the course in Jupyter Notebook"),
    looked_up("ipykernel", "ipykernel", "Python in notebooks, VS Code's too"),
    looked_up("tqdm", "tqdm", "a bar while passes are recorded"),
    raster("PNG", "resvg_py", "png"),
    raster("PDF", "typst", "pdf"),
    dot,
    pytorch,
    driver,
    cuda,
    extra("Tests", "test", "this project's tests"),
    chromium,
    extra("Documentation", "docs", "building the site"),
)


def findings() -> list[Finding]:
    """Return all findings, in order; processes run at the same time."""
    with ThreadPoolExecutor(len(CHECKS)) as pool:
        try:
            answers = pool.map(lambda check: check(), CHECKS)
        except RuntimeError:  # WebAssembly has no threads
            answers = (check() for check in CHECKS)
        return list(answers)


def as_json(findings: Sequence[Finding]) -> str:
    """Return the findings for programs: a list of objects with name, state, detail, gives, get."""
    return json.dumps([asdict(each) for each in findings], indent=2)


MARKS = {"works": "ok", "missing": "--", "broken": "!!"}


def as_text(findings: Sequence[Finding]) -> str:
    """Return the findings, one line each, with the cure for those that do not work.

    >>> python = Finding("Python", "works", "3.11.7", "runs nbautograd")
    >>> dot = Finding("dot", "missing", "not on the PATH", "drawings", "apt install graphviz")
    >>> print(as_text([python, dot]))
    ok  Python  3.11.7
    --  dot     not on the PATH · for drawings · apt install graphviz
    <BLANKLINE>
    ok: works   --: not installed (optional)   !!: installed, but does not work
    """
    width = max(len(each.name) for each in findings)
    lines = []
    for each in findings:
        what = each.detail if each.state == "works" else f"{each.detail} · for {each.gives} · {each.get}"
        lines.append(f"{MARKS[each.state]}  {each.name:{width}}  {what}")
    return "\n".join([*lines, "", "ok: works   --: not installed (optional)   !!: installed, but does not work"])


def run(json: bool) -> int:
    """Print the findings, for programs or for people; return the exit status."""
    print((as_json if json else as_text)(findings()))
    return 0
