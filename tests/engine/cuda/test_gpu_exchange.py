"""On a GPU: pass tensors to PyTorch, CuPy, files and loaders and back, with copies only where necessary."""

from __future__ import annotations

import copy
import gc
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.engine.cuda.on_device import host, pytorch, real

needs.cuda_device()
pytestmark = pytest.mark.cuda
KINDS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
LAYOUTS = [lambda t: t, lambda t: t.T, lambda t: t[1:, ::2], lambda t: t[0], lambda t: t[0, 0], lambda t: t[:0]]


@real
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_to_pytorch_and_back(kind: str, layout: Any) -> None:
    torch, _ = pytorch()
    ours = layout((nb.arange(12, device="cuda").reshape(3, 4) % 3).to(getattr(nb, kind)))
    for theirs in (torch.from_dlpack(ours), torch.as_tensor(ours, device="cuda")):
        assert theirs.device.type == "cuda"
        assert str(theirs.dtype) == f"torch.{kind}"
        assert tuple(theirs.shape) == tuple(ours.shape)
        np.testing.assert_array_equal(host(theirs), host(ours))
        if ours.numel():
            assert theirs.data_ptr() == ours.data_ptr()
    back = nb.from_dlpack(torch.from_dlpack(ours))
    assert (back.dtype, back.shape) == (ours.dtype, ours.shape)
    if ours.numel():
        assert back.data_ptr() == ours.data_ptr()


@real
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_from_pytorch(kind: str, layout: Any) -> None:
    torch, _ = pytorch()
    theirs = layout((torch.arange(12, device="cuda").reshape(3, 4) % 3).to(getattr(torch, kind)))
    ours = nb.from_dlpack(theirs)
    assert (ours.device.type, str(ours.dtype).rpartition(".")[2]) == ("cuda", kind)
    np.testing.assert_array_equal(host(ours), host(theirs))
    if theirs.numel():
        assert ours.data_ptr() == theirs.data_ptr()
        ours.zero_()
        assert not theirs.any()
    made = nb.tensor(theirs)  # through its interface, and as a copy
    assert (made.device.type, tuple(made.shape)) == ("cuda", tuple(theirs.shape))


@real
def test_memory_lives_as_long_as_anyone_looks() -> None:
    torch, _ = pytorch()
    ours = nb.full((1000,), 3.0, device="cuda")
    theirs = torch.from_dlpack(ours)
    del ours
    gc.collect()
    junk = [nb.zeros(1000, device="cuda") for _ in range(10)]
    assert (theirs == 3).all()
    del junk
    theirs = torch.full((1000,), 4.0, device="cuda")
    ours = nb.from_dlpack(theirs)
    del theirs
    gc.collect()
    more = [torch.zeros(1000, device="cuda") for _ in range(10)]
    assert (ours == 4).all()
    del more


@real
def test_what_is_written_on_one_stream_is_read_on_another() -> None:
    torch, _ = pytorch()
    stream = torch.cuda.Stream()
    for _ in range(20):
        with torch.cuda.stream(stream):
            theirs = torch.zeros(1 << 22, device="cuda")
            for _ in range(10):
                theirs += 1
            capsule = theirs
            torch.cuda.current_stream().synchronize()
        assert (nb.from_dlpack(capsule) == 10).all()


@real
def test_gradients_cross_the_libraries() -> None:
    """A function of PyTorch's inside of our graph, by a Function of our own."""
    torch, _ = pytorch()

    class Theirs(nb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: nb.Tensor) -> nb.Tensor:
            ctx.leaf = torch.from_dlpack(x.detach()).requires_grad_()
            ctx.result = torch.special.i0(ctx.leaf)
            return nb.from_dlpack(ctx.result.detach())

        @staticmethod
        def backward(ctx: Any, g: nb.Tensor) -> nb.Tensor:
            return nb.from_dlpack(torch.autograd.grad(ctx.result, ctx.leaf, torch.from_dlpack(g.contiguous()))[0])

    x = nb.linspace(0, 2, 7, device="cuda", requires_grad=True)
    (Theirs.apply(x * 2)).sum().backward()
    z = torch.from_dlpack(x.detach()).clone().requires_grad_()
    torch.special.i0(z * 2).sum().backward()
    np.testing.assert_array_equal(host(x.grad), host(z.grad))


@real
def test_with_cupys_functions() -> None:
    import cupy

    x = nb.tensor([[3.0, 0.0], [0.0, 4.0]], device="cuda")
    assert float(cupy.linalg.norm(cupy.asarray(x))) == x.norm().item() == 5
    a = cupy.ones((2, 3), cupy.float32)
    t = nb.as_tensor(a)
    assert t.device.type == "cuda"
    assert nb.tensor(a).sum().item() == 6


def test_refused() -> None:
    x = nb.ones(2, device="cuda", requires_grad=True)
    with pytest.raises(TypeError, match="cuda:0"):
        x.detach().numpy()
    with pytest.raises(TypeError):
        np.asarray(x.detach())
    with pytest.raises((RuntimeError, BufferError)):
        x.__dlpack__()
    with pytest.raises((RuntimeError, AttributeError)):
        x.__cuda_array_interface__  # noqa: B018
    assert x.detach().cpu().numpy().tolist() == [1, 1]


def test_files(tmp_path: Path) -> None:
    model = nb.nn.Sequential(nb.nn.Linear(3, 4), nb.nn.BatchNorm1d(4)).cuda()
    path = tmp_path / "model.pt"
    nb.save(model.state_dict(), path)
    for where in ("cpu", "cuda", None):
        loaded = nb.load(path, map_location=where)
        expected = where or "cuda"
        assert {t.device.type for t in loaded.values()} == {expected}
        for name, tensor in model.state_dict().items():
            np.testing.assert_array_equal(host(loaded[name]), host(tensor))
    fresh = nb.nn.Sequential(nb.nn.Linear(3, 4), nb.nn.BatchNorm1d(4)).cuda()
    fresh.load_state_dict(nb.load(path, map_location="cpu"))
    assert fresh[0].weight.device.type == "cuda"
    assert (fresh[0].weight == model[0].weight).all()


def test_files_of_pytorchs(tmp_path: Path) -> None:
    torch, place = pytorch()
    path = tmp_path / "theirs.pt"
    torch.save({"a": torch.arange(6.0, device=place).reshape(2, 3).T, "b": torch.ones(2, device=place).half()}, path)
    loaded = nb.load(path, map_location="cuda")
    assert loaded["a"].device.type == "cuda" and loaded["a"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert loaded["b"].dtype == nb.float16


def test_copies_and_pickles() -> None:
    x = nb.ones(2, 3, device="cuda", requires_grad=True)
    view = x.detach().T
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (made.device, made.requires_grad, made.is_leaf, made.tolist()) == (x.device, True, True, x.tolist())
        assert made.data_ptr() != x.data_ptr()
    file = io.BytesIO()
    nb.save([x.detach(), view], file)
    file.seek(0)
    first, second = nb.load(file)
    first[0, 0] = 9
    assert second[0, 0].item() == 9  # they share memory as before


@real
def test_loaders_into_pinned_memory() -> None:
    from nbautograd.utils.data import DataLoader, TensorDataset

    data = TensorDataset(nb.arange(20.0).reshape(10, 2), nb.arange(10))
    for x, y in DataLoader(data, batch_size=4, pin_memory=True):
        assert x.is_pinned() and y.is_pinned()
        moved = x.to("cuda", non_blocking=True)
        assert (moved.cpu() == x).all()


def test_as_python_values() -> None:
    x = nb.tensor([[1, 2], [3, 4]], device="cuda")
    assert (x[0, 1].item(), int(x[1, 0]), float(x[0, 0]), bool(x[0, 0])) == (2, 3, 1.0, True)
    assert x.tolist() == [[1, 2], [3, 4]]
    assert [10, 20, 30][x[0, 0]] == 20
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert 3 in x
    assert f"{x[0, 0].float():.2f}" == "1.00"
    assert len(x) == 2 and x in {x}
