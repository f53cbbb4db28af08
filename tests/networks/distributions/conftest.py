"""Both libraries check arguments: PyTorch's compiler, which tests elsewhere import, switches that off for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    """PyTorch's distributions as they are without its compiler."""
    torch = sys.modules.get("torch")  # only if imported
    if torch is not None:
        torch.distributions.Distribution.set_default_validate_args(__debug__)
    yield
