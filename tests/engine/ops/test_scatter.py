"""Rows added up by where they go: by SciPy's function behind the product, and by the product itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import caching_allocator, scatter


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("places", [np.int32, np.int64])
@pytest.mark.parametrize("without", [False, True], ids=["into memory", "product"])
def test_sums(dtype: Any, places: Any, without: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if without:
        monkeypatch.setattr(scatter, "late", lambda name: _Without())
    random = np.random.default_rng(0)
    for count, n, width in ((10, 4, 3), (3, 100, 8), (9000, 50, 32), (5, 1, 1)):
        index, rows = random.integers(0, count, n).astype(places), random.standard_normal((n, 2 * width)).astype(dtype)
        for part in (np.ascontiguousarray(rows[:, :width]), rows[:, ::2]):
            expected = np.zeros((count, width), dtype)
            np.add.at(expected, index, part)
            result = scatter.scattered_sums(index, part, count)
            np.testing.assert_array_equal(result, expected)
            assert result.dtype == dtype


class _Without:
    """SciPy, should that function go."""

    from scipy.sparse import csc_array


def test_the_gradient_of_an_embedding_uses_memory_again() -> None:
    if not caching_allocator.pool.limit:
        pytest.skip("no memory is kept on this interpreter")
    words = nb.nn.Embedding(9000, 64)
    blocks = []
    for _ in range(2):
        words(nb.arange(100)).sum().backward()
        assert words.weight.grad is not None
        blocks.append(words.weight.grad.data_ptr())
        words.weight.grad = None
    assert blocks[0] == blocks[1]
