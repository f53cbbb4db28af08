"""Turn off unneeded features that slow down every process: a plugin of pytest that is loaded first.

Formats of addresses: nbformat checks notebooks by jsonschema, which builds a grammar of addresses in four scripts when
it is imported (3 s); notebooks have no such field, and jsonschema does without the package where it is missing. Servers
and other processes that tests start find an empty one on their path.

Constants of our sources: hypothesis reads all loaded modules for numbers and texts to try (3 s). Which are loaded
depends on the tests that ran before, so the examples of a test would not be the same each time.

Files of tests that others compile: in a fresh clone, each process of ``-n`` compiled all of them (11 s), at the same
time. Now each begins with a share, and finds the rest compiled.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # as if it were not installed
WITHOUT = str(Path(__file__).with_name("without"))
if WITHOUT not in (_path := os.environ.get("PYTHONPATH", "")).split(os.pathsep):
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [WITHOUT, _path]))


def pytest_configure(config: pytest.Config) -> None:
    """Leave the sources out of hypothesis' examples."""
    providers = importlib.import_module("hypothesis.internal.conjecture.providers")
    if hasattr(providers, "is_local_module_file"):  # a private name: without it the examples vary a little
        providers.is_local_module_file = lambda path: False


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """With ``-n``: compile this process' share of the files that are not compiled."""
    own = getattr(session.config, "workerinput", {"workerid": ""})
    number = own["workerid"].removeprefix("gw")
    if number.isdigit() and not sys.dont_write_bytecode:
        asked = {Path(argument.partition("::")[0]) for argument in session.config.args}
        files = sorted(file for path in asked for file in ([path] if path.is_file() else path.rglob("test_*.py")))
        _compile(files[int(number) % own["workercount"] :: own["workercount"]], session.config)


def _compile(files: list[Path], config: pytest.Config) -> None:
    """Write what pytest reads in place of a file of tests, as it does when it imports the file."""
    rewrite = importlib.import_module("_pytest.assertion.rewrite")
    names = ("PYC_TAIL", "_rewrite_test", "_write_pyc", "assertstate_key", "get_cache_dir", "try_makedirs")
    if not all(hasattr(rewrite, name) for name in names) or rewrite.assertstate_key not in config.stash:
        return  # private names: without them each process compiles all files
    for file in map(Path.absolute, files):
        folder = rewrite.get_cache_dir(file)
        target = folder / (file.stem + rewrite.PYC_TAIL)
        if file.suffix == ".py" and not target.exists() and rewrite.try_makedirs(folder):
            with suppress(SyntaxError):  # said when the file is imported
                version, code = rewrite._rewrite_test(file, config)
                rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, version, target)
