"""The same call on the CPU and on the strict device, and the comparison of what comes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbautograd as nb
from tests.ops.cases import Case

STRICT = nb.device("strict")
RTOL = 1e-12  # the same numbers by the same library, in another order here and there


class OnStrict:
    """The library with its tensors made on the strict device, for cases that make tensors of their own."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(nb, name)
        if name in ("arange", "empty", "eye", "full", "linspace", "ones", "tensor", "zeros"):
            return lambda *args, **options: found(*args, **{"device": "strict", **options})
        return found


def host(t: nb.Tensor | None) -> np.ndarray[Any, Any] | None:
    return None if t is None else t.numpy(force=True)


def uneven(t: nb.Tensor, place: Any) -> nb.Tensor:
    """A cotangent that weighs every element otherwise."""
    return nb.tensor(np.cos(np.arange(t.numel())).reshape(t.shape).astype(t.dtype.numpy), device=place)


def on(place: Any, case: Case) -> tuple[Any, list[nb.Tensor], nb.Tensor]:
    library = OnStrict() if place is STRICT else nb
    inputs = [nb.tensor(a, device=place, requires_grad=True) for a in case.arrays()]
    return library, inputs, case.call(library, *inputs)


def same(ours: Any, theirs: Any) -> None:
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(host(ours), host(theirs), rtol=RTOL, atol=1e-13)
