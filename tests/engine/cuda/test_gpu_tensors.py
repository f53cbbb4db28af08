"""On a GPU: graphs across devices, printing, streams, memory running out, waiting, pictures, exchange with others."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import nbautograd as nb
from nbautograd.errors import DeviceError
from tests import needs
from tests.engine.cuda.on_device import agree, real

needs.cuda_device()
pytestmark = pytest.mark.cuda


def test_gradients_go_back_to_each_tensors_own_device() -> None:
    x, y = nb.ones(3, requires_grad=True), nb.full((3,), 2.0, device="cuda", requires_grad=True)
    moved = x.cuda()
    assert (moved.is_leaf, moved.grad_fn.name()) == (False, "ToCopyBackward0")
    (moved * y).sum().backward()
    assert (x.grad.device.type, y.grad.device.type) == ("cpu", "cuda")
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    (g,) = nb.autograd.grad((x.cuda() ** 3).sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [8.0, 8.0, 8.0]


def test_printing() -> None:
    x = nb.tensor([1.0, 2.5], device="cuda", requires_grad=True)
    assert repr(x) == "tensor([1.0000, 2.5000], device='cuda:0', requires_grad=True)"
    assert repr((x * 2).sum()) == "tensor(7., device='cuda:0', grad_fn=<SumBackward0>)"
    big = nb.arange(2_000_000.0).reshape(1000, 2000)
    assert repr(big.cuda()).replace(" device='cuda:0'", "").rstrip(",)") == repr(big).rstrip(")")


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, y: x + y,
        lambda x, y: x @ y,
        lambda x, y: nb.cat([x, y]),
        lambda x, y: nb.where(x > 0, x, y),
        lambda x, y: x.add_(y),
        lambda x, y: x.index_select(0, y.long()),
        lambda x, y: nb.nn.functional.mse_loss(x, y),
    ],
)
def test_devices_do_not_mix(mix: Any) -> None:
    with pytest.raises(DeviceError, match="same device"):
        mix(nb.ones(3), nb.ones(3, device="cuda"))


def test_asking() -> None:
    assert nb.cuda.is_initialized() or nb.cuda.init() is None
    assert nb.cuda.get_device_name()
    assert nb.cuda.get_device_capability() >= (3, 0)
    free, total = nb.cuda.mem_get_info()
    assert 0 < free <= total == nb.cuda.get_device_properties().total_memory
    with pytest.raises(RuntimeError, match="ordinal"):
        nb.zeros(2, device=f"cuda:{nb.cuda.device_count()}")
    with nb.device("cuda"):
        assert nb.zeros(2).is_cuda


def test_versions_and_in_place() -> None:
    x = nb.ones(2, 3, device="cuda", requires_grad=True) * 1
    y = x.exp()
    y[0].mul_(2)
    assert y._version == 1
    z = x * x
    x[0, 0] = 5
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@real
def test_memory_running_out_leaves_everything_usable() -> None:
    import cupy

    pool = cupy.get_default_memory_pool()
    x = nb.ones(1000, device="cuda", requires_grad=True)
    y = (x * 2).exp()
    gc.collect()
    pool.free_all_blocks()
    before = pool.get_limit()
    pool.set_limit(size=pool.total_bytes() + 64 * 2**20)
    try:
        for kind in (nb.cuda.OutOfMemoryError, RuntimeError, MemoryError):
            with pytest.raises(kind, match="out of memory"):
                nb.zeros(2**28, device="cuda")
        with pytest.raises(nb.cuda.OutOfMemoryError):
            y[:, None, None].expand(1000, 1000, 1000).clone()
        assert nb.zeros(2**20, device="cuda").sum().item() == 0
        y.sum().backward()
        assert (x.grad == 2 * y).all()
    finally:
        pool.set_limit(size=before)


def test_memory_is_given_back() -> None:
    def step() -> None:
        w = nb.ones(256, 256, device="cuda", requires_grad=True)
        (w @ w).exp().mean().backward()

    step()
    gc.collect()
    start = nb.cuda.memory_allocated()
    for _ in range(10):
        step()
    assert nb.cuda.memory_allocated() == start  # without the garbage collector's help
    assert nb.cuda.max_memory_allocated() >= start
    nb.cuda.empty_cache()
    assert nb.cuda.memory_reserved() >= nb.cuda.memory_allocated()


def test_streams() -> None:
    stream = nb.cuda.Stream()
    x = nb.ones(1000, 1000, device="cuda", requires_grad=True)
    stream.wait_stream(nb.cuda.current_stream())
    with nb.cuda.stream(stream):
        assert nb.cuda.current_stream() == stream
        y = (x @ x).sum()
        y.backward()
    nb.cuda.current_stream().wait_stream(stream)
    assert x.grad[0, 0].item() == 2000
    start, end = nb.cuda.Event(enable_timing=True), nb.cuda.Event(enable_timing=True)
    start.record()
    x @ x
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


@contextmanager
def waiting() -> Iterator[list[str]]:
    """Notes each time the host waits for the device on the library's behalf."""
    from nbautograd._engine.arrays import backend

    found: list[str] = []
    fetch = type(backend.cuda).fetch
    import cupy

    def watch(self: Any, array: Any) -> Any:
        found.append("fetch")
        return fetch(self, array)

    type(backend.cuda).fetch = watch  # type: ignore[method-assign]
    stream = cupy.cuda.Stream(non_blocking=True)
    try:
        with stream:
            yield found
    finally:
        type(backend.cuda).fetch = fetch  # type: ignore[method-assign]


SLEEP = r"""
extern "C" __global__ void spin(long long cycles) { long long start = clock64(); while (clock64() - start < cycles) {} }
"""


def training(x: nb.Tensor, w: nb.Tensor) -> None:
    ((x @ w).relu() * 0.5 + 1).log_softmax(-1).mean().backward()


@real
def test_nothing_waits_for_the_device() -> None:
    """A step issued behind a kernel that is still running must return before that kernel ends."""
    import cupy

    x, w = nb.rand(64, 64).cuda(), nb.rand(64, 64).cuda().requires_grad_()
    training(x, w)  # compiles the kernels
    spin = cupy.RawKernel(SLEEP, "spin")
    spin((1,), (1,), (1,))
    nb.cuda.synchronize()
    with waiting() as found:
        spin((1,), (1,), (2_000_000_000,))  # about a second
        training(x, w)
        still_running = not cupy.cuda.get_current_stream().done
        nb.cuda.synchronize()
    assert found == []
    assert still_running


def test_pictures_copy_summaries_only() -> None:
    from nbautograd import viz
    from nbautograd._engine.arrays import backend

    sizes: list[int] = []
    fetch = type(backend.cuda).fetch

    def watch(self: Any, array: Any) -> Any:
        sizes.append(array.nbytes)
        return fetch(self, array)

    type(backend.cuda).fetch = watch  # type: ignore[method-assign]
    try:
        w = nb.ones(500, 400, device="cuda", requires_grad=True)
        with viz.record():
            ((w * 2).exp() @ w.T).mean().backward()
        viz.graph(((w * 2).exp() @ w.T).mean())._repr_mimebundle_()
        repr(w)
    finally:
        type(backend.cuda).fetch = fetch  # type: ignore[method-assign]
    assert sizes
    assert max(sizes) <= 4096


# -- exchange without copies -------------------------------------------------------------------------------------------


@real
def test_with_cupy() -> None:
    import cupy

    a = cupy.arange(6.0).reshape(2, 3).T
    t = nb.from_dlpack(a)
    assert (t.data_ptr(), t.shape, t.stride()) == (a.data.ptr, (3, 2), (1, 3))
    t[0, 0] = 7
    assert a[0, 0] == 7
    for back in (cupy.from_dlpack(t), cupy.asarray(t)):
        assert (back.data.ptr, back.strides) == (a.data.ptr, a.strides)
    assert t.__cuda_array_interface__["data"][0] == a.data.ptr
    del a, back
    gc.collect()
    assert t[0, 0].item() == 7
    for refused in (lambda: cupy.from_dlpack(nb.ones(2, device="cuda", requires_grad=True)),):
        with pytest.raises((RuntimeError, BufferError)):
            refused()


def test_with_pytorch() -> None:
    torch = needs.package("torch")
    if not torch.cuda.is_available():
        pytest.skip("the installed PyTorch has no CUDA")
    theirs = torch.arange(6.0, device="cuda").reshape(2, 3).T
    ours = nb.from_dlpack(theirs)
    assert (ours.data_ptr(), ours.stride()) == (theirs.data_ptr(), theirs.stride())
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr()
    assert torch.as_tensor(ours, device="cuda").data_ptr() == theirs.data_ptr()
    ours.add_(1)
    assert (back == theirs).all()
    for size in ((), (0,), (3, 0)):
        assert tuple(torch.from_dlpack(nb.ones(size, device="cuda")).shape) == size


@real
def test_pinned_memory() -> None:
    x = nb.arange(10.0).pin_memory()
    assert x.is_pinned()
    assert not nb.arange(10.0).is_pinned()
    assert x.pin_memory() is x
    assert x.to("cuda", non_blocking=True).cpu().tolist() == x.tolist()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Rprop"])
def test_training_as_on_the_cpu(name: str) -> None:
    def program(place: str, data: Any) -> Any:
        data = nb.tensor(data, device=place)
        nb.manual_seed(0)
        model = nb.nn.Sequential(nb.nn.Linear(4, 8), nb.nn.Tanh(), nb.nn.Linear(8, 1)).to(place, data.dtype)
        optimizer = getattr(nb.optim, name)(model.parameters(), lr=0.01)
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = nb.nn.functional.mse_loss(model(data), data.sum(1, keepdim=True))
            loss.backward()
            optimizer.step()
            losses.append(loss)
        return losses

    agree(program, nb.rand(16, 4, generator=nb.Generator().manual_seed(1)).numpy())
