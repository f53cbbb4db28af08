"""Tensors on the device ``meta``: a shape, a dtype, strides and a graph, without memory."""

from __future__ import annotations

import copy
import io
import pickle
import resource
import warnings
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.parity.differences.both import agrees


def seen(t: Any) -> list[Any]:
    """Return the properties of a tensor."""
    return [list(t.shape), str(t.dtype), list(t.stride()), str(t.device), t.requires_grad, t.is_leaf]


def network(T: Any) -> Any:
    nn = T.nn
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


def devices(module: Any) -> list[str]:
    return [str(t.device) for t in (*module.parameters(), *module.buffers())]


@agrees
def test_texts(torch: Any) -> Any:
    x = torch.empty(2, 3, device="meta")
    half = torch.zeros(2, dtype=torch.float16, device="meta", requires_grad=True)
    shown = [x, half, half * 2, torch.empty((), dtype=torch.int64, device="meta"), torch.nn.Parameter(x)]
    return (
        [repr(t) for t in shown],
        f"{x}",
        x.is_meta,
        x.is_cpu,
        x.type(),
        torch.device("meta", 1) == torch.device("meta"),
    )


CREATED = {
    "zeros": lambda T, at: T.zeros(2, 3, device=at),
    "full": lambda T, at: T.full((2,), 3, device=at),
    "tensor": lambda T, at: T.tensor([[1.0, 2.0]], device=at),
    "arange": lambda T, at: T.arange(5, device=at),
    "linspace": lambda T, at: T.linspace(0, 1, 5, device=at),
    "randn": lambda T, at: T.randn(2, 3, device=at),
    "randperm": lambda T, at: T.randperm(4, device=at),
    "randint": lambda T, at: T.randint(0, 4, (2,), device=at),
    "eye": lambda T, at: T.eye(3, device=at),
    "empty_strided": lambda T, at: T.empty_strided((2, 3), (1, 2), device=at),
    "like": lambda T, at: T.ones_like(T.empty(2, 3).t(), device=at),
    "moved": lambda T, at: T.ones(2, 3).t().to(at),
    "cast": lambda T, at: T.ones(2).to(at, T.float16),
    "new_ones": lambda T, at: T.zeros(1, device=at).new_ones(2),
}


@pytest.mark.parametrize("name", CREATED)
def test_creation(name: str) -> None:
    oracle.check(lambda T: (seen(CREATED[name](T, "meta")), seen(CREATED[name](T, "cpu"))[:3]), exact=True)


def test_random_functions_draw_nothing() -> None:
    def program(T: Any) -> Any:
        T.manual_seed(0)
        with T.device("meta"):
            drawn = [T.rand(3), T.randn(3), T.randperm(3), T.empty(3).uniform_(), T.bernoulli(T.rand(3))]
            T.nn.init.kaiming_uniform_(T.empty(3, 3))
            T.nn.functional.dropout(T.ones(3))
        return T.rand(2), [str(t.device) for t in drawn]

    oracle.check(program, exact=True)


VALUES = {
    "item": lambda T, x: x.sum().item(),
    "bool": lambda T, x: bool(x.sum()),
    "float": lambda T, x: float(x.sum()),
    "int": lambda T, x: int(x.sum()),
    "if": lambda T, x: 1 if (x > 0).any() else 2,
    "tolist": lambda T, x: x.tolist(),
    "numpy": lambda T, x: x.numpy(),
    "force": lambda T, x: x.numpy(force=True),
    "asarray": lambda T, x: np.asarray(x),
    "cpu": lambda T, x: x.cpu(),
    "to": lambda T, x: x.to("cpu"),
    "copied": lambda T, x: T.zeros(2, 3).copy_(x),
    "nonzero": lambda T, x: x.nonzero(),
    "mask": lambda T, x: x[x > 0],
    "masked_select": lambda T, x: x.masked_select(x > 0),
    "unique": lambda T, x: T.unique(x),
    "equal": lambda T, x: T.equal(x, x),
    "allclose": lambda T, x: T.allclose(x, x),
    "bincount": lambda T, x: T.bincount(x[0].long()),
    "one_hot": lambda T, x: T.nn.functional.one_hot(x.long()),
    "repeats": lambda T, x: x.repeat_interleave(x[0].long(), 1),
    "in": lambda T, x: 1 in x,
    "module": lambda T, x: T.nn.Linear(2, 2, device="meta").to("cpu"),
    "data": lambda T, x: setattr(T.ones(2, 3), "data", x),
    "pinned": lambda T, x: x.pin_memory(),
    "other device": lambda T, x: x + T.ones(2, 3),
    "product": lambda T, x: T.mm(x, T.ones(3, 2)),
    "gradient": lambda T, x: setattr(x, "grad", T.ones(2, 3)),
    "shapes": lambda T, x: x + T.empty(2, 4, device="meta"),
    "index": lambda T, x: x[5],
    "view": lambda T, x: x.view(4),
}


@pytest.mark.parametrize("name", [name for name in VALUES if name != "product"])
def test_what_needs_values_raises(name: str) -> None:
    oracle.check_raises(lambda T: VALUES[name](T, T.empty(2, 3, device="meta")))


KEPT = {
    "one_hot": lambda T, x: T.nn.functional.one_hot(x.long(), 4),
    "repeats": lambda T, x: x.repeat_interleave(x[0].long(), 1, output_size=7),
    "0-d": lambda T, x: x + T.tensor(1.0),
    "index": lambda T, x: x[T.tensor([0, 1, 1])],
    "host mask": lambda T, x: x[T.tensor([True, False])],
    "bare index": lambda T, x: x[T.zeros(4, dtype=T.long, device="meta")],
    "type_as": lambda T, x: T.ones(2, dtype=T.int32).type_as(x),
    "copied": lambda T, x: x.copy_(T.ones(3)),
    "histc": lambda T, x: T.histc(x, 5),
    "multinomial": lambda T, x: T.multinomial(x, 2),
    "topk": lambda T, x: T.empty(2, 100, device="meta").topk(3).values,
    "isnan": lambda T, x: x.isnan().any(),
    "trunc_normal_": lambda T, x: T.nn.init.trunc_normal_(x),
    "attention": lambda T, x: T.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
}


@pytest.mark.parametrize("name", KEPT)
def test_results_stay_without_memory(name: str) -> None:
    oracle.check(lambda T: seen(KEPT[name](T, T.empty(2, 3, device="meta"))), exact=True)


def written(T: Any) -> Any:
    x = T.empty(3, 4, device="meta")
    x[0] = 1
    x[:, 1] = T.empty(3, device="meta")
    x[x > 0] = 0.0
    x[T.tensor([0])] = 0
    x.add_(1).mul_(x).zero_().fill_(2).masked_fill_(x > 1, 0)
    return seen(x)


def test_writes() -> None:
    oracle.check(written, exact=True)


# -- modules -----------------------------------------------------------------------------------------------------------


def assigned(T: Any) -> Any:
    state = network(T).state_dict()
    with T.device("meta"):
        model = network(T)
    answer = str(model.load_state_dict(state, assign=True))
    shared = model[0].weight.data_ptr() == state["0.weight"].data_ptr()
    return answer, devices(model), shared, [p.requires_grad for p in model.parameters()]


def into_bare(T: Any) -> Any:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = network(T).to("meta")
        model.load_state_dict(network(T).state_dict())
    told = [str(w.message).partition(",")[0] for w in heard]
    return devices(model), told


def bare_into(T: Any) -> Any:
    model = network(T)
    try:
        model.load_state_dict(network(T).to("meta").state_dict())
    except RuntimeError:
        return "raises"
    return devices(model)


def emptied(T: Any) -> Any:
    layer = T.nn.Linear(3, 4, device="meta")
    same = layer.to_empty(device="cpu") is layer
    model = network(T).to("meta")
    return same, seen(layer.weight), devices(model.to_empty(device="cpu", recurse=False))


def moved(T: Any) -> Any:
    model = network(T)
    before = model[0].weight
    before.grad = T.zeros(4, 3)
    after = copy.deepcopy(model).to("meta")
    model.to("meta")
    return (
        model[0].weight is before,
        str(before.device),
        devices(after),
        seen(model[0].weight.grad),
        after[0].weight.grad is None,
    )


def swapped(T: Any) -> Any:
    a, b = T.nn.Parameter(T.empty(3, device="meta")), T.ones(2)
    T.utils.swap_tensors(a, b)
    return repr(a), repr(b)


def settings(T: Any) -> Any:
    future, found = T.__future__, []
    for name in ("swap", "overwrite"):
        put = getattr(future, f"set_{name}_module_params_on_conversion")
        put(True)
        try:
            model = network(T)
            before = model[0].weight
            found.append([model.to("meta")[0].weight is before, str(before.device)])
            model = network(T)
            before = model[0].weight
            found.append([model.half()[0].weight is before, str(before.dtype)])
            found.append(getattr(future, f"get_{name}_module_params_on_conversion")())
        finally:
            put(False)
    return found


def trained(T: Any) -> Any:
    nn = T.nn
    with T.device("meta"):
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.GELU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 10),
        )
        x, y = T.randn(2, 3, 8, 8), T.zeros(2, dtype=T.long)
    optimizer = T.optim.Adam(model.parameters())
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    state = optimizer.state_dict()["state"][0]["exp_avg"]
    return type(loss.grad_fn).__name__, [seen(p.grad) for p in model.parameters()], seen(state), devices(model)


def recurrent(T: Any) -> Any:
    nn = T.nn
    with T.device("meta"):
        out, (h, c) = nn.LSTM(3, 4, 2, bidirectional=True)(T.empty(5, 2, 3))
        block = nn.TransformerEncoderLayer(8, 2, batch_first=True)(T.empty(5, 2, 8))
        bags = [nn.EmbeddingBag(5, 3, mode=mode)(T.zeros(2, 2, dtype=T.long)) for mode in ("sum", "mean", "max")]
    return [seen(t) for t in (out, h, c, block, *bags)]


def ensemble(T: Any) -> Any:
    func = T.func
    members = [T.nn.Linear(3, 2) for _ in range(4)]
    parameters, _ = func.stack_module_state(members)
    base = copy.deepcopy(members[0]).to("meta")
    each = func.vmap(lambda p, x: func.functional_call(base, p, (x,)), in_dims=(0, None))
    return list(each(parameters, T.ones(5, 3)).shape)


def saved(T: Any) -> Any:
    file = io.BytesIO()
    model = network(T)
    T.save({"x": T.empty(3, 4, device="meta").t(), "state": copy.deepcopy(model).to("meta").state_dict()}, file)
    file.seek(0)
    back = T.load(file)
    file = io.BytesIO()
    T.save(model.state_dict(), file)
    file.seek(0)
    mapped = T.load(file, map_location="meta")
    pickled = pickle.loads(pickle.dumps(T.empty(2, 3, device="meta").t()))
    view = copy.deepcopy(T.empty(4, 5, device="meta")[:, 1:3])
    return [seen(t) for t in (back["x"], back["state"]["0.weight"], mapped["0.weight"], pickled)], view.stride()


def transforms(T: Any) -> Any:
    x = T.empty(3, 4, device="meta")
    f = T.func
    value, tangent = f.jvp(lambda x: x.sin(), (x,), (x,))
    w = T.empty(3, 4, device="meta", requires_grad=True)
    grads = T.autograd.grad((w**3).sum(), w, create_graph=True)
    return [seen(t) for t in (f.vmap(lambda r: r.sum())(x), f.grad(lambda x: (x * x).sum())(x), value, tangent, *grads)]


def storages(T: Any) -> Any:
    x = T.empty(4, device="meta")
    memory = x.untyped_storage()
    return repr(memory), memory.nbytes(), str(memory.device), memory.data_ptr(), x[1:].storage_offset()


PROGRAMS = (
    assigned, into_bare, bare_into, emptied, moved, swapped, settings, trained, recurrent, ensemble, saved, storages,
    transforms,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_modules(program: Any) -> None:
    oracle.check(program, exact=True)


def test_a_default_device() -> None:
    def program(T: Any) -> Any:
        T.set_default_device("meta")
        try:
            return seen(T.zeros(2)), seen(T.nn.Linear(2, 2).weight), seen(T.zeros(1, device="cpu"))
        finally:
            T.set_default_device(None)

    oracle.check(program, exact=True)


# -- size --------------------------------------------------------------------------------------------------------------

LARGE = 10**6


def large() -> dict[str, Any]:
    x, y = (nb.empty(LARGE, LARGE, device="meta", requires_grad=True) for _ in range(2))
    images = nb.empty(1000, 1000, 1000, 1000, device="meta", requires_grad=True)
    kernel = nb.empty(1000, 1000, 3, 3, device="meta", requires_grad=True)
    F = nb.nn.functional
    return {
        "matmul": lambda: x @ y,
        "softmax": lambda: x.softmax(1),
        "conv2d": lambda: F.conv2d(images, kernel, padding=1),
        "max_pool2d": lambda: F.max_pool2d(images, 2),
        "layer_norm": lambda: F.layer_norm(x, (LARGE,)),
        "sort": lambda: x.sort().values,
        "topk": lambda: x.topk(5).values,
        "cat": lambda: nb.cat([x, y]),
        "cumsum": lambda: x.cumsum(0),
        "index": lambda: x[nb.zeros(10, dtype=nb.long, device="meta")],
        "attention": lambda: F.scaled_dot_product_attention(*[nb.empty(100, 100, 10**4, 128, device="meta")] * 3),
        "dropout": lambda: F.dropout(x),
        "inverse": lambda: nb.linalg.inv(x),
        "fft": lambda: nb.fft.fft(x).abs(),
        "turned": lambda: x.t().reshape(-1) * 2,
    }


@pytest.mark.parametrize("name", large())
def test_a_million_times_a_million(name: str) -> None:
    """Forward and backward passes of 10^12 elements take no memory for them."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = large()[name]()
    if result.requires_grad:
        result.sum().backward()
    assert result.is_meta and result.numel() >= 10**6
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes
