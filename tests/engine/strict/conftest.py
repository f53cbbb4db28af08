"""The strict device, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.strict.backend import installed


@pytest.fixture(autouse=True, scope="module")
def strict_backend() -> Iterator[None]:
    with installed():
        yield
