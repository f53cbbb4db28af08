"""Check that all tests and their child processes compute as on any processor with AVX2, unless a level is set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from nbautograd._engine.arrays.cpu_features import features, has_kernels
from tests import lean, one_cpu

ASKED = (
    "from tests import one_cpu; import json, os, numpy\n"
    "from nbautograd._engine.arrays.cpu_features import has_kernels\n"
    "print(json.dumps([has_kernels('AVX512F', 'AVX512_SKX', 'X86_V4'), dict(os.environ)]))"
)
HERE = pytest.mark.skipif(not features().get("AVX2"), reason="a processor without AVX2 has kernels of one kind")


def asked(**variables: str) -> tuple[bool, dict[str, str]]:
    """Return whether a new process' NumPy has kernels for AVX-512, and its environment; nothing may be warned of."""
    command = [sys.executable, "-W", "error", "-c", ASKED]
    environment = {**one_cpu.given_environment(), **variables}
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parents[2], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return tuple(json.loads(done.stdout))


def given() -> dict[str, str]:
    """The levels that a user set by hand."""
    return {name: value for name, value in one_cpu.given_environment().items() if name in one_cpu.LEVELS}


@HERE
def test_it_was_loaded_before_anything_else() -> None:
    if not os.environ[one_cpu.OWN]:
        pytest.skip("the levels were set by hand")
    assert not has_kernels("AVX512F", "AVX512_SKX", "X86_V4")


@HERE
def test_a_process_of_its_own() -> None:
    wide, environment = asked()
    assert not wide
    assert {name: environment[name] for name in one_cpu.LEVELS} == {**one_cpu.LEVELS, **given()}


@HERE
def test_what_is_set_already_stays() -> None:
    _, environment = asked(OPENBLAS_CORETYPE="Prescott", NPY_DISABLE_CPU_FEATURES="")
    assert environment["OPENBLAS_CORETYPE"] == "Prescott" and environment["NPY_DISABLE_CPU_FEATURES"] == ""
    assert "OPENBLAS_CORETYPE" not in environment[one_cpu.OWN].split()
    _, environment = asked(NBAUTOGRAD_ONE_CPU="")
    assert environment.keys() & one_cpu.LEVELS.keys() == given().keys()


def test_processes_that_tests_start_do_without_the_formats_of_addresses() -> None:
    """Else each server of notebooks would build their grammar, which takes longer than all else that it does."""
    found = PathFinder.find_spec("rfc3987_syntax", os.environ["PYTHONPATH"].split(os.pathsep))
    assert found is not None and found.origin == str(Path(lean.WITHOUT, "rfc3987_syntax.py"))
