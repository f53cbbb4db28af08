"""All operations over arrays that are as strict as CuPy's: dispatch is right, whatever CUDA then computes.

See ``strict_array.py`` for what this proves and what it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.compiler.op import POINTWISE
from nbautograd.compiler.registry import OPS
from nbautograd.errors import DeviceError
from tests.ops.cases import CASES, Case
from tests.strict_array import FETCHED, SYNCS, StrictArray, installed

STRICT = nb.device("strict")
RTOL = 1e-12  # the same numbers by the same library, in another order here and there


@pytest.fixture(autouse=True, scope="module")
def strict_backend() -> Iterator[None]:
    with installed():
        yield


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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward_and_backward(case: Case) -> None:
    found = []
    for place in (nb.device("cpu"), STRICT):
        _, inputs, out = on(place, case)
        assert out.device == place
        assert isinstance(out._a, StrictArray) == (place is STRICT)
        out.backward(uneven(out, place))
        assert {x.grad.device for x in inputs if x.grad is not None} <= {place}
        found.append([out, *(x.grad for x in inputs)])
    for theirs, ours in zip(*found, strict=True):
        same(ours, theirs)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_recorded_backward(case: Case) -> None:
    found = []
    for place in (nb.device("cpu"), STRICT):
        _, inputs, out = on(place, case)
        first = nb.autograd.grad(out, inputs, uneven(out, place), create_graph=True, allow_unused=True)
        terms = [(g * uneven(g, place)).sum() for g in first if g is not None and g.requires_grad]
        second = (
            nb.autograd.grad(sum(terms[1:], terms[0]), inputs, allow_unused=True) if terms else [None] * len(inputs)
        )
        assert {g.device for g in (*first, *second) if g is not None} <= {place}
        found.append([*first, *second])
    for theirs, ours in zip(*found, strict=True):
        same(ours, theirs)


def test_a_gradient_goes_back_to_the_device_of_its_leaf() -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    y = x.to("strict")
    assert y.device == STRICT
    assert y.requires_grad
    (y * y).sum().backward()
    assert x.grad.device == nb.device("cpu")
    assert x.grad.tolist() == [2.0, 4.0]
    z = nb.tensor(3.0, requires_grad=True)
    z.to("strict").exp().to("cpu").log().backward()
    assert z.grad.item() == pytest.approx(1.0)


def test_a_second_derivative_goes_back_too() -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    (g,) = nb.autograd.grad((x.to("strict") ** 3).sum(), x, create_graph=True)
    assert g.device == nb.device("cpu")
    g.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    assert x.grad.device == nb.device("cpu")


@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: x > 1,
        lambda T, x: (x == 1) | (x < 0) ^ (x >= 2),
        lambda T, x: ~(x != 2),
        lambda T, x: x.argmax(1),
        lambda T, x: x.argmin(),
        lambda T, x: (x > 1).any(),
        lambda T, x: (x > 1).all(0),
        lambda T, x: (x > 0).sum(),
        lambda T, x: x.max(1).indices,
        lambda T, x: x.long() // 2,
        lambda T, x: -x.int() % 3,
        lambda T, x: T.isnan(x / 0),
        lambda T, x: T.isinf(x / 0),
        lambda T, x: T.isfinite(x),
        lambda T, x: T.nonzero(x > 1),
        lambda T, x: x.double().half().bool(),
        lambda T, x: T.floor_divide(x, 0.7),
        lambda T, x: T.logical_not(x),
        lambda T, x: x.long() + 1.5,
        lambda T, x: x.long() / 2,
        lambda T, x: x.long().float().mean(),
        lambda T, x: T.zeros_like(x) + T.ones_like(x) + T.full_like(x, 3),
        lambda T, x: x.new_zeros(2, 2),
        lambda T, x: T.exp(x, out=T.zeros_like(x)),
        lambda T, x: x.to(T.complex64).conj() * 1j,
        lambda T, x: x.data.clone(),
        lambda T, x: T.bernoulli(T.zeros_like(x)),
        lambda T, x: T.rand_like(x) * 0,
        lambda T, x: T.randn_like(x) * 0,
        lambda T, x: x.clone().uniform_(0, 1) * 0,
        lambda T, x: T.empty_like(x).normal_(0, 0),
        lambda T, x: x.double().sum(dtype=T.float32),
    ],
)
def test_what_has_no_derivative(call: Any) -> None:
    found = []
    for library, place in ((nb, "cpu"), (OnStrict(), "strict")):
        out = call(library, nb.tensor([[0.0, 1.0, 2.0], [3.0, 1.5, -1.0]], device=place))
        assert out.device == nb.device(place)
        found.append(out)
    same(found[1], found[0])


def test_to_and_back() -> None:
    x = nb.tensor([[1.0, 2.0], [3.0, 4.0]])
    moved = x.to("strict")
    assert moved.to("strict") is moved
    assert x.to("cpu") is x
    moved.add_(1)
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert moved.cpu().tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert x.to("strict", nb.float64).dtype == nb.float64
    assert nb.zeros(2, device="strict").device == STRICT


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[nb.tensor([0, 2])],  # an index from the CPU is allowed
        lambda x: x[nb.tensor([True, False, True])],
        lambda x: (x.__setitem__(nb.tensor([0, 2]), 7.0), x)[1],
        lambda x: nb.empty_strided((2, 2), (1, 2), device=x.device).fill_(3),
        lambda x: nb.tensor([x[1:].data_ptr() - x.data_ptr()], device=x.device),
    ],
)
def test_what_has_a_way_of_its_own_on_each_device(call: Any) -> None:
    there, here = (call(nb.tensor([1.0, 2.0, 3.0], device=device)) for device in ("strict", "cpu"))
    assert there.device == STRICT
    assert (there.tolist(), there.stride(), there.dtype) == (here.tolist(), here.stride(), here.dtype)


def test_printing() -> None:
    x = nb.tensor([1.0, 2.5], device="strict", requires_grad=True)
    assert repr(x) == "tensor([1.0000, 2.5000], device='strict', requires_grad=True)"
    assert repr((x * 2).sum()) == "tensor(7., device='strict', grad_fn=<SumBackward0>)"


def test_as_python_values() -> None:
    x = nb.tensor([1, 2], device="strict")
    assert x[1].item() == 2
    assert int(x[0]) == 1
    assert [10, 20, 30][x[1]] == 30
    assert 2 in x
    assert [row.item() for row in x] == [1, 2]
    with pytest.raises(TypeError, match="cpu"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 2]


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, y: x + y,
        lambda x, y: y * x,
        lambda x, y: x @ y,
        lambda x, y: nb.cat([x, y]),
        lambda x, y: nb.stack([y, x]),
        lambda x, y: nb.where(x > 0, x, y),
        lambda x, y: nb.lerp(x, y, 0.5),
        lambda x, y: x.add_(y),
    ],
)
def test_devices_do_not_mix(mix: Any) -> None:
    x, y = nb.ones(3), nb.ones(3, device="strict")
    with pytest.raises(DeviceError, match=r"same device.*cpu"):
        mix(x, y)


def test_zero_dimensional_cpu_tensors_mix_with_all_devices() -> None:
    x, y = nb.tensor(2.0, requires_grad=True), nb.ones(3, device="strict", requires_grad=True)
    for product in (x * y, y * x):
        assert product.device == STRICT
        x.grad = y.grad = None
        product.sum().backward()
        assert (x.grad.item(), x.grad.device) == (3.0, nb.device("cpu"))
        assert y.grad.tolist() == [2.0, 2.0, 2.0]


def test_versions_are_counted_through_views() -> None:
    x = nb.ones(2, 3, device="strict", requires_grad=True) * 1
    y = x.exp()
    y[0].mul_(2)
    assert y._version == 1
    z = x * x
    x[0, 0] = 5
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    d = x.detach()
    d.add_(1)
    assert x._version == 2


def test_training() -> None:
    losses = []
    for place in ("cpu", "strict"):
        data = nb.linspace(-1, 1, 8).reshape(4, 2).to(place)
        w, b = nb.full((2, 3), 0.5, device=place, requires_grad=True), nb.zeros(3, device=place, requires_grad=True)
        for _ in range(5):
            loss = nb.nn.functional.mse_loss(nb.tanh(data @ w + b), nb.ones(4, 3, device=place))
            loss.backward()
            with nb.no_grad():
                for parameter in (w, b):
                    parameter -= 0.1 * parameter.grad
                    parameter.grad.zero_()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_the_stand_in_refuses_what_cupy_refuses() -> None:
    """The double is worth something only as long as it says no."""
    a, n = StrictArray(np.ones((2, 3))), np.ones((2, 3))
    for forbidden in (
        lambda: np.asarray(a),
        lambda: a + n,
        lambda: n * a,
        lambda: a @ n.T,
        lambda: np.exp(a, where=n > 0),
        lambda: np.add(a, [1, 2, 3]),
        lambda: np.add.reduce(a),
        lambda: a.sum(initial=0),
        lambda: np.sum(a, where=True),
        lambda: np.clip(a, min=0, max=1),
        lambda: np.spacing(a),
        lambda: np.stack([a, n]),
        lambda: np.where(True, a, a),
        lambda: a[[0, 1]],
        lambda: a[n > 0],
        lambda: a.__setitem__(0, n[0]),
        lambda: range(5)[a.sum()],
        lambda: a.flags.writeable,
        lambda: hash(a),
        lambda: a.setflags(write=False),
    ):
        with pytest.raises((TypeError, AttributeError, IndexError, ValueError)):
            forbidden()
    assert isinstance(a.sum(), StrictArray)
    assert isinstance(a[0, 0], StrictArray)
    assert isinstance(np.exp(a), StrictArray)
    assert isinstance(2 * a, StrictArray)
    assert isinstance(np.float64(2) * a, StrictArray)
    assert a[0].base is a
    assert a[0][1:].base is a


# -- in place, making, moving ------------------------------------------------------------------------------------------

WRITTEN = sorted(
    name
    for name, op in OPS.items()
    if op.kind == POINTWISE and hasattr(nb.Tensor, name + "_") and len(op.tensors) == len(op.positional) <= 2
)


@pytest.mark.parametrize("name", WRITTEN)
def test_in_place(name: str) -> None:
    found = []
    for place in ("cpu", "strict"):
        values = [nb.tensor([[0.1, 0.3, 0.5], [0.6, 0.7, 0.9]], device=place) for _ in OPS[name].tensors]
        if "f" not in OPS[name].accepts or "f" not in OPS[name].accepts_each:
            values = [(value * 10).long() for value in values]
        x, *others = values
        view = x[0]
        result = getattr(x, name + "_")(*others)
        assert result is x
        assert x._version == view._version > 0
        found.append([x, view])
    for theirs, ours in zip(*found, strict=True):
        same(ours, theirs)
    assert ours.device == STRICT
    assert ours._a.base is not None


MAKERS = [
    lambda T, d: T.zeros(2, 3, device=d),
    lambda T, d: T.ones(2, device=d, dtype=T.int64),
    lambda T, d: T.full((2,), 3.5, device=d),
    lambda T, d: T.empty(2, 3, device=d) * 0,
    lambda T, d: T.empty_strided((2, 3), (1, 2), device=d).zero_(),
    lambda T, d: T.eye(3, 4, device=d),
    lambda T, d: T.arange(1, 7, 2, device=d),
    lambda T, d: T.arange(0, 1, 0.25, device=d),
    lambda T, d: T.linspace(0, 1, 5, device=d),
    lambda T, d: T.logspace(0, 1, 5, device=d),
    lambda T, d: T.tensor([[1, 2], [3, 4]], device=d),
    lambda T, d: T.tensor(2.5, device=d),
    lambda T, d: T.tensor([], device=d),
    lambda T, d: T.as_tensor([1.0, 2.0], device=d),
    lambda T, d: T.asarray([1.0, 2.0], device=d),
    lambda T, d: T.tril_indices(3, 3, device=d),
    lambda T, d: T.triu_indices(3, 3, device=d),
    lambda T, d: T.hann_window(5, device=d),
    lambda T, d: T.kaiser_window(5, device=d),
    lambda T, d: T.fft.fftfreq(5, device=d),
    lambda T, d: T.rand(3, device=d, generator=T.Generator().manual_seed(0)),
    lambda T, d: T.randn(3, device=d, generator=T.Generator().manual_seed(0)),
    lambda T, d: T.randint(0, 9, (3,), device=d, generator=T.Generator().manual_seed(0)),
    lambda T, d: T.randperm(5, device=d, generator=T.Generator().manual_seed(0)),
    lambda T, d: T.zeros(2, device=d).new_full((3,), 2.0),
    lambda T, d: T.zeros(2, device=d).new_tensor([1.0, 2.0]),
    lambda T, d: T.zeros_like(T.ones(2), device=d),
    lambda T, d: T.full_like(T.ones(2, device=d), 7),
]


@pytest.mark.parametrize("make", MAKERS)
def test_making(make: Any) -> None:
    ours = make(nb, "strict")
    assert ours.device == STRICT
    assert isinstance(ours._a, StrictArray)
    same(ours, make(nb, "cpu"))


def test_the_default_device() -> None:
    with nb.device("strict"):
        assert nb.get_default_device() == STRICT
        assert nb.zeros(2).device == nb.tensor([1.0]).device == nb.arange(3).device == STRICT
        assert nb.rand(2).device == nb.nn.Linear(2, 2).weight.device == STRICT
        assert nb.zeros(2, device="cpu").is_cpu
        with nb.device("cpu"):
            assert nb.ones(2).is_cpu
        assert nb.ones(2).device == STRICT
    assert nb.ones(2).is_cpu
    nb.set_default_device("strict")
    try:
        assert nb.eye(2).device == STRICT
    finally:
        nb.set_default_device(None)
    assert nb.eye(2).is_cpu


def test_all_ways_to_move() -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    other = nb.zeros(1, device="strict", dtype=nb.float64)
    for moved in (
        x.to("strict"),
        x.to(STRICT, non_blocking=True),
        x.to(device="strict"),
        x.to("strict", nb.float32, False, True),
        x.to(other),
        x.to(other, True, copy=False),
        x.to("strict", dtype=nb.float64, memory_format=nb.contiguous_format),
    ):
        assert moved.device == STRICT
        assert moved.grad_fn.name() == "ToCopyBackward0"
        assert not moved.is_leaf
    y = x.detach().to("strict").requires_grad_()
    assert y.is_leaf
    assert y.to("strict", copy=True) is not y
    assert y.cpu().cpu().is_cpu
    assert y.to("cpu:0").device == nb.device("cpu")
    module = nb.nn.Linear(2, 3).to("strict")
    assert module.weight.is_leaf
    assert module.weight.device == STRICT
    module(x.to("strict")).sum().backward()
    assert (module.weight.grad.device, x.grad.device) == (STRICT, nb.device("cpu"))
    for refused in (
        lambda: x.to(1.5),
        lambda: x.to("strict", 3),
        lambda: x.to("strict", device="cpu"),
        lambda: x.to(a=1),
    ):
        with pytest.raises(TypeError):
            refused()


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"]
)
def test_optimisers(name: str) -> None:
    found = []
    for place in ("cpu", "strict"):
        w = nb.linspace(-1, 1, 6, dtype=nb.float64).reshape(2, 3).to(place).requires_grad_()
        optimiser = getattr(nb.optim, name)([w], lr=0.1)
        for _ in range(4):
            optimiser.zero_grad()
            ((w - 0.3) ** 4).sum().backward()
            optimiser.step()
        assert w.device == nb.device(place)
        found.append(w.detach())
    same(found[1], found[0])


# -- what costs a wait, and what must not be forgotten -----------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda T, x, y: (x * 2 + y / 3 - 1).exp().sin().mean(),
        lambda T, x, y: T.relu(x @ y.T).softmax(-1).sum(),
        lambda T, x, y: T.nn.functional.layer_norm(x, (4,)).pow(2).mean(),
        lambda T, x, y: T.nn.functional.gelu(x).std(0).sum() + y.var(1).sum(),
        lambda T, x, y: T.cat([x, y]).reshape(2, -1).T[1:].sum(),
        lambda T, x, y: T.where(x > y, x, y).max(1).values.sum() + x.amax() + y.logsumexp(0).sum(),
        lambda T, x, y: T.nn.functional.mse_loss(x, y) + T.nn.functional.smooth_l1_loss(x, y),
        lambda T, x, y: T.stack([x, y]).transpose(0, 1).cumsum(0).clamp(-1, 1).prod(),
        lambda T, x, y: T.nn.functional.conv2d(x.reshape(1, 1, 4, 4), y[:2, :2].reshape(1, 1, 2, 2)).sum(),
        lambda T, x, y: T.nn.functional.max_pool2d(x.reshape(1, 1, 4, 4), 2).sum() + y.abs().sqrt().sum(),
        lambda T, x, y: T.einsum("ij,kj->ik", x, y).tril().sum(),
        lambda T, x, y: x.log_softmax(1).diagonal().sum() + T.nn.functional.dropout(y, 0.0).sum(),
    ],
)
def test_nothing_waits_for_the_device(call: Any) -> None:
    """Neither the forward nor the backward pass of what training consists of."""
    values = np.random.default_rng(0).random((2, 4, 4)) + 0.1
    x, y = (nb.tensor(a, device="strict", requires_grad=True) for a in values)
    SYNCS.clear()
    call(nb, x, y).backward()
    assert SYNCS == []
    assert x.grad is not None


OUT = [
    lambda T, x, i: x[i],
    lambda T, x, i: x[:, i],
    lambda T, x, i: x[i, i],
    lambda T, x, i: x.__setitem__(i, 1.0),
    lambda T, x, i: x.index_select(0, i),
    lambda T, x, i: x.gather(0, i[None].expand(2, 2)),
    lambda T, x, i: T.take(x, i * 100),
    lambda T, x, i: T.take_along_dim(x, i[None], 0),
    lambda T, x, i: x.scatter(0, i[None], 1.0),
    lambda T, x, i: x.scatter_add(0, i[None], x),
    lambda T, x, i: x.index_add(0, i, x[:2]),
    lambda T, x, i: x.index_copy(0, i, x[:2]),
    lambda T, x, i: x.index_fill(0, i, 1.0),
    lambda T, x, i: x.index_put((i,), x[0]),
    lambda T, x, i: x.put_(i * 100, x[0, :2]),
    lambda T, x, i: T.nn.functional.embedding(i, x),
    lambda T, x, i: T.nn.functional.nll_loss(x[:2], i),
    lambda T, x, i: T.nn.functional.cross_entropy(x[:2], i),
    lambda T, x, i: T.nn.functional.one_hot(i, 3),
]


@pytest.mark.parametrize("call", OUT)
@pytest.mark.parametrize("index", [[0, 3], [0, -4]])
def test_an_index_out_of_range_is_an_error(call: Any, index: list[int]) -> None:
    """CuPy wraps it around without a word; the stand-in does so too, and the operations must look first."""
    for place in ("cpu", "strict"):
        x = nb.arange(9.0, device=place).reshape(3, 3)
        with pytest.raises((IndexError, RuntimeError, ValueError)):
            call(nb, x, nb.tensor(index, device=place))


def test_the_stand_in_wraps_indices_as_cupy_does() -> None:
    a, i = StrictArray(np.arange(6.0).reshape(2, 3)), StrictArray(np.array([3, -4]))
    assert a[i].tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]
    assert a[:, i].tolist() == [[0.0, 2.0], [3.0, 5.0]]
    assert a[..., i].tolist() == [[0.0, 2.0], [3.0, 5.0]]
    assert np.take(a, i).tolist() == [3.0, 2.0]
    with pytest.raises(IndexError):
        a[2]


def test_pictures_fetch_summaries_only() -> None:
    """Neither recording nor drawing copies a whole tensor to the host: a summary looks at some 1000 elements."""
    from nbautograd import viz

    w = nb.ones(500, 400, device="strict", requires_grad=True)
    FETCHED.clear()
    with viz.record():
        loss = ((w * 2).exp() @ w.T).mean()
        loss.backward()
    drawn = viz.graph(((w * 2).exp() @ w.T).mean())
    drawn._repr_mimebundle_()
    repr(w)
    assert max(FETCHED) <= 4096


@pytest.mark.parametrize("kind", [nb.bool, nb.int8, nb.int16, nb.uint8, nb.int64, nb.float16, nb.float64, nb.complex64])
def test_adding_up_at_the_same_place(kind: nb.dtype) -> None:
    """Atomic addition knows few dtypes."""
    found = []
    for place in ("cpu", "strict"):
        index = nb.tensor([0, 2, 2, 0, 2], device=place)
        values = nb.tensor([1, 0, 1, 1, 1], device=place).to(kind)
        into = nb.zeros(3, device=place, dtype=kind)
        found.append([into.index_put((index,), values, True), into.scatter_add(0, index, values)])
    for theirs, ours in zip(*found, strict=True):
        same(ours, theirs)
