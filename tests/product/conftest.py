"""Share among the tests of the product what takes long to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .jupyterlab import JupyterLab, serve


@pytest.fixture(scope="session")
def jupyterlab(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    """The JupyterLab of this process, which the first test that needs it starts."""
    home = tmp_path_factory.mktemp("jupyterlab")
    root = home / "work"
    root.mkdir()
    with serve(home, root, maxNumberOutputs=1000) as (url, token):  # as many as the whole course has
        yield JupyterLab(home, url, token, chromium)
