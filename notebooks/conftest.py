"""Choose the notebooks to test here: their outputs depend on the installed packages. Their kernels are forked."""

from __future__ import annotations

from collections.abc import Generator
from importlib.util import find_spec

import pytest

from nbautograd import cuda
from tests.forked_kernels import forked_kernels

collect_ignore_glob = []
if find_spec("torch") is None:
    collect_ignore_glob.append("*14_pytorch_models.ipynb")
if cuda.is_available():
    collect_ignore_glob.append("*13_cuda.ipynb")  # its stored outputs are those of a machine without a GPU


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Fork the kernel of a notebook, whose first cell starts it."""
    with forked_kernels():
        return (yield)
