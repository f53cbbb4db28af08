"""On a GPU: compare fused kernels with their steps and optimizers with the CPU's; indexing is deterministic.

These have not run yet: ``tests/engine/strict/test_kernels.py`` has all facts that are known without a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import backend
from nbautograd._engine.fusion import cuda_kernel
from tests import needs, oracle
from tests.engine.cuda.on_device import REHEARSAL, agree
from tests.engine.strict.backend import StrictBackend
from tests.engine.strict.kernel_programs import (
    OPTIMIZERS,
    SHAPES,
    SIZE,
    STEPS,
    arrays_of,
    backward_functions,
    forward_functions,  # fmt: skip
    trained,
)
from tests.engine.strict.kernels import KERNELS

needs.cuda_device()
pytestmark = [pytest.mark.cuda, needs.compiler] if REHEARSAL else pytest.mark.cuda


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fused kernels, which are off by default; in a rehearsal, compiled for the processor."""
    monkeypatch.setattr(backend.cuda, "fused", True)
    if REHEARSAL:
        monkeypatch.setattr(StrictBackend, "compiled", KERNELS)
    yield


@pytest.mark.parametrize("functions", [forward_functions, backward_functions])
def test_every_kernel_gives_what_its_steps_give(functions: Any) -> None:
    """Some, of float32, as compiling takes a while: ``test_gpu_operations.py`` runs them all in double precision."""
    cupy, library = backend.module(nb.device("cuda")), backend.kernels(nb.device("cuda"))

    def on_device(operands: Any) -> tuple[Any, ...]:
        return tuple(cupy.asarray(each) if isinstance(each, np.ndarray) else each for each in operands)

    def on_host(found: Any) -> list[Any]:
        results = [each.get() for each in (found if isinstance(found, (tuple, list)) else [found])]
        return [np.broadcast_to(each, (SIZE,)) for each in results]

    chosen = [
        (what, kernel, operands)
        for what, kernel, operands in functions()
        if "float32" in what and cuda_kernel.is_fusable(kernel, on_device(operands), library)
    ]
    assert len(chosen) > 40
    for what, kernel, operands in chosen[::2]:
        try:
            oracle.agree(
                lambda *operands, kernel=kernel: on_host(cuda_kernel.compute(kernel, on_device(operands), library)),
                lambda *operands, kernel=kernel: on_host(cuda_kernel._eager(kernel, on_device(operands))),
                *operands,
            )
        except pytest.fail.Exception as error:
            pytest.fail(f"{what}: {error}")


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
    agree(partial(trained, OPTIMIZERS[name]), *arrays_of(np.random.default_rng(0), dtype, *SHAPES * (1 + STEPS)))


def test_gradients_of_indexing_are_the_same_each_time() -> None:
    generator = nb.Generator().manual_seed(0)
    index = nb.randint(0, 50, (100_000,), generator=generator)

    def gradient(place: str, values: Any) -> Any:
        table = nb.zeros(50, 3, device=place, dtype=nb.tensor(values[:1]).dtype, requires_grad=True)
        (nb.nn.functional.embedding(index.to(place), table) * nb.tensor(values, device=place)).sum().backward()
        return [table.grad]

    values = nb.randn(100_000, 3, generator=generator).numpy()
    found = [gradient("cuda", values)[0] for _ in range(5)]
    assert all((again == found[0]).all() for again in found)
    agree(gradient, np.round(values * 8) / 8)  # whose sums are exact


@pytest.mark.parametrize("dims", [None, 0, 1, (0, 1)])
def test_sums_with_what_goes_before(dims: Any) -> None:
    def sums(place: str, x: Any) -> Any:
        x = nb.tensor(x, device=place)
        return [
            function(x, dim=(0, 1) if dims is None and function is nb.logsumexp else dims)
            for function in (nb.linalg.vector_norm, nb.logsumexp, nb.nansum)
        ]

    x = nb.randn(1200, 1000, generator=nb.Generator().manual_seed(0)).numpy()
    agree(sums, np.round(x * 8) / 8)  # 1,200 squares have an exact sum
