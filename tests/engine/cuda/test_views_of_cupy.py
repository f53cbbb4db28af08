"""Views of real arrays of CuPy's, over memory that is not there: no GPU needed, and nothing may read an element.

What launches no kernel runs for real: shapes, strides and addresses are CuPy's own. Needs CuPy, but no driver.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import backend
from nbautograd._engine.core.tensor import wrap
from tests import needs

VIEWS = [
    lambda t: t.T,
    lambda t: t[1:, ::2],
    lambda t: t[0],
    lambda t: t[..., None, 2],
    lambda t: t.reshape(2, 6),
    lambda t: t.view(12),
    lambda t: t.expand(2, 3, 4),
    lambda t: t.diagonal(),
    lambda t: t.diagonal(1),
    lambda t: t.as_strided((2, 2), (1, 4), 1),
    lambda t: t.unfold(1, 2, 1),
    lambda t: t.permute(1, 0)[None],
    lambda t: t.split(2)[1],
    lambda t: t.chunk(2, 1)[1],
    lambda t: t.unbind(1)[2],
    lambda t: t.narrow(0, 1, 2),
    lambda t: t.select(1, 3),
    lambda t: t.movedim(0, 1),
    lambda t: t.swapaxes(0, 1),
    lambda t: t.unsqueeze(1).squeeze(1),
    lambda t: t.flatten(),
    lambda t: t.ravel(),
    lambda t: t.T.T.contiguous(),
    lambda t: t.detach(),
    lambda t: t.data,
    lambda t: t.view_as(t),
    lambda t: t.unflatten(1, (2, 2)),
    lambda t: t.tensor_split(3, 1)[1],
    lambda t: t.to(t.device),
    lambda t: t.requires_grad_()[1:].T,
]


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: Any) -> None:
    cupy = needs.package("cupy")
    backend.cuda.load()
    memory = cupy.cuda.UnownedMemory(4096, 1 << 20, None, device_id=0)
    array = cupy.ndarray((3, 4), np.float64, cupy.cuda.MemoryPointer(memory, 0))
    ours, theirs = wrap(array), nb.zeros(3, 4, dtype=nb.float64)
    assert ours.device == nb.device("cuda:0")
    start = theirs.data_ptr()
    made, expected = view(ours), view(theirs)
    assert isinstance(made._a, cupy.ndarray)
    assert (made.shape, made.stride(), made.dtype) == (expected.shape, expected.stride(), expected.dtype)
    assert made.data_ptr() - 4096 == expected.data_ptr() - start
    assert made.storage_offset() == expected.storage_offset()
    assert made.requires_grad == expected.requires_grad
