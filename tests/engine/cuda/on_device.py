"""Share the parts of tests on a CUDA device: the device, PyTorch's on the same, and the cases that a rehearsal leaves
out.

``python benchmarks/on_device.py --rehearse`` runs these tests over the stand-in of ``fake_cupy.py``, with PyTorch on
the CPU in place of its CUDA: that proves that the tests are sound, and nothing about CUDA.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs, oracle

__all__ = ["REHEARSAL", "On", "agree", "host", "pytorch", "real", "two_devices", "watched_copies"]

REHEARSAL = bool(os.environ.get("NBAUTOGRAD_REHEARSAL"))
real = pytest.mark.skipif(REHEARSAL, reason="needs a CUDA device: the stand-in has no such thing")
two_devices = pytest.mark.skipif(nb.cuda.device_count() < 2, reason="needs two CUDA devices: a machine that has them")


class On:
    """A library with its tensors made on a device, for calls that make tensors of their own."""

    MAKERS = ("tensor", "zeros", "ones", "full", "arange", "eye", "linspace", "empty")

    def __init__(self, library: Any, place: str) -> None:
        self.library, self.place = library, place

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.library, name)
        if name in self.MAKERS:
            return lambda *args, **options: value(*args, **{"device": self.place, **options})
        return value


def pytorch() -> tuple[Any, str]:
    """PyTorch and the name of its device: CUDA, or, in a rehearsal, the CPU."""
    torch = needs.package("torch")
    if REHEARSAL:
        return torch, "cpu"
    if not torch.cuda.is_available():
        pytest.skip("needs PyTorch with CUDA: pip install torch, with the index of its CUDA builds")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return torch, "cuda"


def host(t: Any) -> np.ndarray[Any, Any]:
    """The values of either library's tensor."""
    values: np.ndarray[Any, Any] = t.numpy(force=True)
    return values


def agree(program: Any, *inputs: Any) -> None:
    """A program of a place and of inputs returns the same tensors on both, the first of them on the place."""

    def on_host(place: str, *inputs: Any) -> list[Any]:
        results = program(place, *inputs)
        assert results[0].device.type == place
        return [None if t is None else t.detach().cpu() for t in results]

    oracle.agree(lambda *given: on_host("cuda", *given), lambda *given: on_host("cpu", *given), *inputs)


@contextmanager
def watched_copies() -> Iterator[list[int]]:
    """Yield a list of the number of bytes of each copy to the host that the library asks for."""
    from nbautograd._engine.arrays import backend

    sizes: list[int] = []
    place = backend.cuda if REHEARSAL else type(backend.cuda)
    fetch = place.fetch

    def watch(*args: Any) -> Any:
        sizes.append(args[-1].nbytes)
        return fetch(*args)

    place.fetch = watch
    try:
        yield sizes
    finally:
        if REHEARSAL:
            del place.fetch
        else:
            place.fetch = fetch
