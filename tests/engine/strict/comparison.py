"""Run the same call on the CPU and on the strict device, and compare the results."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbautograd as nb
from tests import oracle
from tests.engine.ops.cases import Case

CPU, STRICT = nb.device("cpu"), nb.device("strict")


class OnStrict:
    """The library with its tensors made on the strict device, for cases that make tensors of their own."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(nb, name)
        if name in ("arange", "empty", "eye", "full", "linspace", "ones", "tensor", "zeros"):
            return lambda *args, **options: found(*args, **{"device": "strict", **options})
        return found


def uneven(t: nb.Tensor, place: Any) -> nb.Tensor:
    """A cotangent that weighs every element otherwise."""
    return nb.tensor(np.cos(np.arange(t.numel())).reshape(t.shape).astype(t.dtype.numpy), device=place)


def on(place: Any, case: Case, *arrays: Any) -> tuple[Any, list[nb.Tensor], nb.Tensor]:
    library = OnStrict() if place is STRICT else nb
    inputs = [nb.tensor(a, device=place, requires_grad=True) for a in arrays or case.arrays()]
    return library, inputs, case.call(library, *inputs)


def on_host(results: Any) -> list[Any]:
    """Results of either device, without their graphs."""
    return [None if t is None else t.detach().cpu() for t in results]


def agree(program: Any, *inputs: Any) -> None:
    """A program of a device and of inputs returns the same on both."""
    oracle.agree(*(lambda *given, place=place: on_host(program(place, *given)) for place in (STRICT, CPU)), *inputs)
