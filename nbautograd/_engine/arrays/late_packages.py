"""Large, rarely used packages, SciPy and ml_dtypes: imported on first use.

In a browser a package is fetched before it can be imported. Pyodide fetches packages that a cell imports by name, but
not those that a function imports while it runs. If the browser can wait inside Python, they are fetched here.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def late(module: str) -> Any:
    """Return a module of such a package.

    :raises ImportError: it is not installed; in a browser: it must be fetched by a separate cell.

    >>> float(late("scipy.special").erf(0.0))
    0.0
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if sys.platform != "emscripten" or error.name != package:
            raise
        _fetch(package)
        importlib.invalidate_caches()
        return importlib.import_module(module)


def _fetch(package: str) -> None:
    """Make Pyodide load a package while Python waits; raise ImportError if Python cannot wait here."""
    import pyodide_js  # type: ignore[import-not-found, unused-ignore]
    from pyodide.ffi import can_run_sync, run_sync  # type: ignore[import-not-found, unused-ignore]

    if not can_run_sync():
        raise ModuleNotFoundError(
            f"this needs {package}, which the browser has not loaded yet: run a cell that holds nothing but "
            f"'import {package}', and then this one again",
            name=package,
        )
    run_sync(pyodide_js.loadPackage(package))
