"""On a GPU: fused kernels give what their steps give, optimizers what the CPU gives, and indexing always the same.

These have not run yet: see ``tests/strict/test_kernels.py`` for what is known without a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.arrays import backend
from nbautograd.fusion import cuda_kernel
from tests import needs
from tests.cuda.on_device import REHEARSAL
from tests.strict.backend import StrictBackend
from tests.strict.kernel_programs import OPTIMIZERS, backward_functions, forward_functions, trained
from tests.strict.kernels import KERNELS

needs.cuda_device()
pytestmark = [pytest.mark.cuda, needs.compiler] if REHEARSAL else pytest.mark.cuda


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In a rehearsal, kernels that are compiled for the processor."""
    if REHEARSAL:
        monkeypatch.setattr(StrictBackend, "compiled", KERNELS)
    yield


@pytest.mark.parametrize("functions", [forward_functions, backward_functions])
def test_every_kernel_gives_what_its_steps_give(functions: Any) -> None:
    """Some, of float32, as compiling takes a while: ``test_gpu_operations.py`` runs them all in double precision."""
    cupy, library = backend.module(nb.device("cuda")), backend.kernels(nb.device("cuda"))
    chosen = []
    for what, kernel, operands in functions():
        if "float32" in what:
            values = tuple(cupy.asarray(each) if isinstance(each, np.ndarray) else each for each in operands)
            if cuda_kernel.is_fusable(kernel, values, library):
                chosen.append((what, kernel, values))
    assert len(chosen) > 40
    for what, kernel, values in chosen[::2]:
        ours, theirs = cuda_kernel.compute(kernel, values, library), cuda_kernel._eager(kernel, values)
        pairs = [each if isinstance(each, (tuple, list)) else [each] for each in (ours, theirs)]
        for one, other in zip(*pairs, strict=True):
            assert one.dtype == other.dtype, what
            tolerance = 4e-6 if one.dtype.kind == "f" else 0
            one, other = one.get(), other.get()
            np.testing.assert_allclose(one, np.broadcast_to(other, one.shape), tolerance, tolerance, err_msg=what)


def test_arithmetic_is_rounded_as_step_by_step() -> None:
    """Products are not contracted with the sum that they are part of."""
    x, y, z = (nb.randn(100_000, device="cuda") for _ in range(3))
    with nb.no_grad():
        fused = nb.addcmul(z, x, y)
        apart = z + x * y
    assert (fused == apart).all()


@pytest.mark.parametrize("dtype", [nb.float32, nb.float64, nb.float16, nb.bfloat16], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str, dtype: nb.dtype) -> None:
    if REHEARSAL and dtype is nb.bfloat16:
        pytest.skip("needs a CUDA device: the stand-in has no bfloat16")
    tolerance = {nb.float64: 1e-12, nb.float32: 1e-5}.get(dtype, 2e-2)
    for ours, theirs in zip(*(trained(place, OPTIMIZERS[name], dtype) for place in ("cuda", "cpu")), strict=True):
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


def test_gradients_of_indexing_are_the_same_each_time() -> None:
    generator = nb.Generator().manual_seed(0)
    index = nb.randint(0, 50, (100_000,), generator=generator).cuda()
    values = nb.randn(100_000, 3, generator=generator).cuda()
    found = []
    for _ in range(5):
        table = nb.zeros(50, 3, device="cuda", requires_grad=True)
        (nb.nn.functional.embedding(index, table) * values).sum().backward()
        found.append(table.grad)
    assert all((again == found[0]).all() for again in found)
    exact = np.zeros((50, 3))
    np.add.at(exact, index.cpu().numpy(), values.cpu().numpy().astype(np.float64))
    np.testing.assert_allclose(found[0].cpu().numpy(), exact, 1e-4, 1e-3)


@pytest.mark.parametrize("dims", [None, 0, 1, (0, 1)])
def test_sums_with_what_goes_before(dims: Any) -> None:
    x = nb.randn(300, 4000, generator=nb.Generator().manual_seed(0))
    for function in (nb.linalg.vector_norm, nb.logsumexp, nb.nansum):
        over = (0, 1) if dims is None and function is nb.logsumexp else dims
        np.testing.assert_allclose(
            function(x.cuda(), dim=over).cpu().numpy(), function(x, dim=over).numpy(), 1e-4, 1e-3
        )
