"""What tests find loaded, and how they are handed out to several processes: a notebook as a whole, as each of its cells
needs those before it.
"""

from __future__ import annotations

from typing import Any

import pytest

from nbautograd import late

late.load()  # tests walk through all that is declared


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``-n``: every test by itself, as with ``--dist load``, but for notebooks."""
    from xdist.scheduler import LoadScopeScheduling

    class ByNotebook(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file.endswith(".ipynb") else nodeid

    return ByNotebook(config, log)
