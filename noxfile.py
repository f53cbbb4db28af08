"""What is run again and again, each under one name: by contributors, and by ``.ci/run``.

nox -l          # the sessions
nox -s quick    # while you work
nox -s full     # before you hand in

Sessions run in the environment that nox was started in (``pip install -e '.[test,dev,docs,png,pdf,lite]'``), so that
nothing is installed twice. What follows ``--`` is handed on: ``nox -s quick -- -k logsumexp``.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
SITE = "build/site"
WRITERS = str((os.cpu_count() or 1) + 1)
"""The processes of Sphinx, of which one hands out the pages and waits."""
sys.path.insert(0, str(ROOT / "benchmarks"))

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "quick"]


def python(session: nox.Session, *arguments: str, **variables: str) -> None:
    """Run this very Python, with variables in its environment."""
    session.run(sys.executable, *arguments, env={**os.environ, **variables}, external=True)


def pytest(session: nox.Session, *arguments: str, **variables: str) -> None:
    """Run tests, with what was handed on."""
    python(session, "-m", "pytest", "-q", *arguments, *session.posargs, **variables)


@nox.session
def quick(session: nox.Session) -> None:
    """The quick tier: one case of every test, in about a minute."""
    pytest(session, "-n", "auto", "-m", "not sweep")


@nox.session
def full(session: nox.Session) -> None:
    """Everything that can run here."""
    pytest(session, "-n", "auto")


@nox.session
def oracle(session: nox.Session) -> None:
    """Ask PyTorch all questions of the tests again, and store what it answers; ``-- tests/pictures`` is one folder."""
    files = () if session.posargs else ("tests",)
    pytest(session, "-n", "auto", "-m", "live", "--oracle=record", *files)


@nox.session
def lint(session: nox.Session) -> None:
    """Rules, format, words, generated files."""
    python(session, "-m", "ruff", "check", ".")
    python(session, "-m", "ruff", "format", "--check", ".")
    for script in ("stubs", "reference", "words", "errors"):
        python(session, f"docs/{script}.py", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """The types of the package."""
    python(session, "-m", "mypy")


@nox.session
def size(session: nox.Session) -> None:
    """Files, lines and tokens of each wing; ``-- main`` also says what has been added since that commit."""
    python(session, "-m", "tests.house", *session.posargs)


@nox.session
def bare(session: nox.Session) -> None:
    """README's two commands, word for word, where nothing else is installed."""
    python(session, ".ci/bare", *session.posargs)


CPU = ("tests/engine/ops/test_cpu_levels.py", "nbautograd", "notebooks")
KERNELS = {
    "no AVX-512": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2",
                   "OPENBLAS_CORETYPE": "Haswell"},
    "baseline": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41",
                 "OPENBLAS_CORETYPE": "Prescott"},
}  # fmt: skip
"""What is to be set beside NumPy's variable, for a level of every other library's kernels."""


@nox.session
def cpu(session: nox.Session) -> None:
    """The same numbers at every level of kernels that this processor has; ``-- tests`` is the whole suite."""
    from levels import levels

    intel = re.search("x86|amd64", os.uname().machine.lower() if hasattr(os, "uname") else "")
    files = () if session.posargs else CPU
    for name, variables in levels().items():
        session.log(f"level: {name}")
        others = KERNELS.get(name, {}) if intel else {}
        pytest(session, "-n", "auto", *files, **variables, **others, NBAUTOGRAD_ONE_CPU="")


@nox.session
def docs(session: nox.Session) -> None:
    """The site, and what its tests say of it."""
    shutil.rmtree(ROOT / SITE, ignore_errors=True)
    python(session, "-m", "sphinx", "-W", "-q", "-j", WRITERS, "-d", "build/doctrees", "docs", SITE)
    if session.posargs != ["build"]:
        pytest(session, "tests/product/test_docs.py", "tests/product/test_reference.py")


@nox.session
def live(session: nox.Session) -> None:
    """The site, with the course beside it as pages whose Python runs in the browser (what follows -- is for that)."""
    shutil.rmtree(ROOT / SITE, ignore_errors=True)
    arguments = ["-W", "-q", "-j", WRITERS, "-d", "build/live-doctrees", "-D", "course_lite=lite"]
    python(session, "-m", "sphinx", *arguments, "docs", SITE)
    python(session, "-m", "nbautograd", "lite", f"{SITE}/lite", *session.posargs)


@nox.session
def lite(session: nox.Session) -> None:
    """The course in the browser: the site is built and opened, with a Pyodide that is fetched first."""
    if not (ROOT / "build" / "pyodide").is_dir():
        python(session, "-m", "tests.product.pyodide_folder", "build/pyodide")
    pytest(session, "-n", "0", "tests/product/test_lite.py")


@nox.session
def packages(session: nox.Session) -> None:
    """The wheel and the source archive, installed with the oldest and the newest NumPy."""
    pytest(session, "tests/product/test_packaging.py", NBAUTOGRAD_PACKAGING="1")


@nox.session
def guests(session: nox.Session) -> None:
    """Packages from the index under both libraries, into docs/guests.md: before each release, some ten minutes."""
    python(session, "-m", "tests.parity.guests", *(session.posargs or ["--page"]))


@nox.session
def wasm(session: nox.Session) -> None:
    """Operations, training, pictures and examples under WebAssembly: before each release, some minutes."""
    pytest(session, "-s", "-n", "0", "tests/product/wasm", NBAUTOGRAD_WASM="1")


@nox.session
def bench(session: nox.Session) -> None:
    """Speed, against other libraries: see benchmarks/README.md."""
    python(session, "benchmarks/compare.py", *session.posargs)


@nox.session
def gpu(session: nox.Session) -> None:
    """What needs a CUDA device."""
    pytest(session, "-m", "cuda", "tests/engine/cuda")
