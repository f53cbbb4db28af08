"""``torch.cuda`` and tensors on ``cuda:0`` before a module that only looks like CuPy: our Python, and no CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import backend
from nbautograd.errors import CudaUnavailableError, DeviceError
from tests.engine.cuda.fake_cupy import fake_cupy, present
from tests.engine.strict.strict_array import StrictArray
from tests.parity.differences.test_engine import run_nested


@pytest.fixture(autouse=True)
def cupy() -> Iterator[Any]:
    module = fake_cupy(2)
    with present(module):
        yield module


def test_devices() -> None:
    assert nb.cuda.is_available()
    assert nb.cuda.device_count() == 2
    assert nb.cuda.current_device() == 0
    assert nb.device("cuda").index is None
    with nb.cuda.device(1):
        assert nb.cuda.current_device() == 1
        assert nb.cuda.current_stream().device == nb.device("cuda:1")
    assert nb.cuda.current_device() == 0
    nb.cuda.set_device("cuda:1")
    assert nb.cuda.current_device() == 1
    nb.cuda.set_device(0)
    assert (nb.cuda.get_device_name(), nb.cuda.get_device_capability(1)) == ("Fake", (9, 0))
    assert nb.cuda.get_device_properties("cuda").total_memory == 1000
    nb.cuda.synchronize()
    for ask in (lambda: nb.cuda.set_device(7), lambda: nb.zeros(2, device="cuda:7"), lambda: nb.cuda.synchronize(2)):
        with pytest.raises(CudaUnavailableError, match="invalid device ordinal"):
            ask()


def test_memory(cupy: Any) -> None:
    nb.cuda.init()
    assert nb.cuda.is_initialized()
    block = cupy.cuda.alloc(600)
    assert (nb.cuda.memory_allocated(), nb.cuda.max_memory_allocated(), nb.cuda.memory_reserved()) == (600, 600, 600)
    for kind in (
        nb.cuda.OutOfMemoryError,
        nb.OutOfMemoryError,
        RuntimeError,
        MemoryError,
        cupy.cuda.memory.OutOfMemoryError,
    ):
        with pytest.raises(kind, match=r"CUDA out of memory\. Tried to allocate 500 bytes"):
            cupy.cuda.alloc(500)
    assert cupy.cuda.alloc(300).size == 300
    cupy.get_default_memory_pool().used -= block.size
    assert (nb.cuda.memory_allocated(), nb.cuda.max_memory_allocated()) == (300, 900)
    nb.cuda.reset_peak_memory_stats()
    assert nb.cuda.max_memory_allocated() == 300
    nb.cuda.empty_cache()
    assert nb.cuda.memory_reserved() == 300
    assert nb.cuda.mem_get_info() == (600, 1000)


def test_streams_and_events() -> None:
    first, second = nb.cuda.Stream(), nb.cuda.Stream(priority=-1)
    assert nb.cuda.current_stream() == nb.cuda.default_stream() != first
    with nb.cuda.stream(first):
        assert nb.cuda.current_stream() == first
        with second:
            assert nb.cuda.current_stream() == second
        assert nb.cuda.current_stream() == first
    assert nb.cuda.current_stream().cuda_stream == 0
    start, end = nb.cuda.Event(enable_timing=True), nb.cuda.Event(enable_timing=True)
    assert start.query()
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    second.record_event(end)
    assert start.elapsed_time(end) == 1.5
    first.wait_stream(second)
    end.wait(first)
    assert len(first._stream.waits) == 2
    end.synchronize()
    first.synchronize()
    assert first.query()
    nb.cuda.set_stream(first)
    assert nb.cuda.current_stream() == first


def test_seeds() -> None:
    nb.cuda.manual_seed_all(3)
    first = nb.rand(3, device="cuda")
    nb.cuda.manual_seed(3)
    assert (nb.rand(3, device="cuda") == first).all()
    assert nb.cuda.initial_seed() == 3


def test_tensors() -> None:
    x = nb.tensor([1.0, 2.5], device="cuda", requires_grad=True)
    assert x.device == nb.device("cuda:0")
    assert (x.is_cuda, x.get_device()) == (True, 0)
    assert isinstance(x._a, StrictArray)
    assert repr(x) == "tensor([1.0000, 2.5000], device='cuda:0', requires_grad=True)"
    y = nb.ones(2, requires_grad=True)
    z = (x * y.cuda()).sum()
    assert repr(z) == "tensor(3.5000, device='cuda:0', grad_fn=<SumBackward0>)"
    z.backward()
    assert (x.grad.device, y.grad.device) == (x.device, y.device)
    with pytest.raises(DeviceError, match=r"same device.*cuda:0.*cpu"):
        x + y
    with pytest.raises(TypeError, match="cuda:0"):
        x.detach().numpy()
    assert (x + nb.tensor(1.0)).tolist() == [2.0, 3.5]
    with nb.device("cuda"):
        assert nb.eye(2).is_cuda
        assert nb.get_default_device() == nb.device("cuda:0")
    model = nb.nn.Linear(2, 1).cuda()
    assert {p.device for p in model.parameters()} == {x.device}
    with pytest.raises(RuntimeError, match="pin"):
        x.pin_memory()


def test_a_forked_child_is_told(cupy: Any) -> None:
    from nbautograd._engine.arrays import backend

    nb.cuda.init()
    backend.cuda._after_fork()
    with pytest.raises(CudaUnavailableError, match=r"forked subprocess.*spawn"):
        nb.zeros(2, device="cuda")
    assert np.isfinite(nb.ones(2).sum().item())


def test_settings_of_a_thread_for_another() -> None:
    """Nested backward passes run on other threads, which begin with CUDA's first device and its default stream."""
    stream = nb.cuda.Stream(1)
    before = nb.cuda.current_stream()
    with nb.cuda.device(1), nb.cuda.stream(stream):
        adopt = backend.thread_settings()
    assert (nb.cuda.current_device(), nb.cuda.current_stream()) == (0, before)
    try:
        adopt()
        assert (nb.cuda.current_device(), nb.cuda.current_stream()) == (1, stream)
    finally:
        nb.cuda.set_stream(before)


def test_nested_passes() -> None:
    with nb.device("cuda"):
        grad = run_nested(nb, 150)
    assert (grad.device.type, grad.tolist()) == ("cuda", 1.0)
