"""``vmap``: dimensions, nesting, randomness, writes, indexing, errors."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tests.parity.differences.both import Raised, agrees, differs, numbers

# -- dimensions --------------------------------------------------------------------------------------------------------


@agrees
def test_in_dims(torch: Any) -> Any:
    x, y = numbers(torch, 3, 2), numbers(torch, 2, 3)
    return [
        torch.vmap(torch.mul, in_dims=(0, 1))(x, y),
        torch.vmap(torch.mul, in_dims=(-1, -2))(x, y),
        torch.vmap(torch.mul, in_dims=(0, None))(x, y[:, 0]),
        torch.vmap(lambda d, k: d["a"] + d["b"][0] * k, in_dims=({"a": 0, "b": [None]}, None))(
            {"a": x, "b": [x[0]]}, 3
        ),
        torch.vmap(lambda pair: pair[0] + pair[1], in_dims=((0, 1),))((x, y)),
        torch.vmap(lambda pair: pair[0] + pair[1], in_dims=1)((y, y)),
        torch.vmap(lambda a, *, factor: a * factor)(x, factor=x[0]),
    ]


@agrees
def test_out_dims(torch: Any) -> Any:
    x = numbers(torch, 3, 2, 4)
    return [
        torch.vmap(lambda a: a * 2, out_dims=1)(x),
        torch.vmap(lambda a: a * 2, out_dims=-1)(x),
        torch.vmap(lambda a: (a, a.sum()), out_dims=(2, 0))(x),
        torch.vmap(lambda a: {"a": a, "b": [a.mean(0)]}, out_dims={"a": 1, "b": [1]})(x),
        torch.vmap(lambda a: [a, a], out_dims=[0, 1])(x),
        torch.vmap(lambda a: a, out_dims=(1,))(x),
        torch.vmap(lambda a: torch.ones(2))(x),
        torch.vmap(lambda a: (a, torch.ones(2)), out_dims=(0, None))(x),
        torch.vmap(lambda a: a.sum())(x[:0]),
        torch.vmap(lambda a: a.exp(), chunk_size=2, out_dims=1)(x),
        torch.vmap(lambda a: a.exp(), chunk_size=7)(x),
    ]


@agrees
def test_maps_of_maps(torch: Any) -> Any:
    x, y = numbers(torch, 3, 2, 4), numbers(torch, 5, 4)
    return [
        torch.vmap(torch.vmap(torch.vmap(torch.sin)))(x),
        torch.vmap(torch.vmap(torch.dot, (0, None)), (None, 0))(x[0], y),
        torch.vmap(torch.vmap(torch.dot, (None, 0)), (0, None), out_dims=1)(x[0], y),
        torch.vmap(lambda a: torch.vmap(lambda b: a @ b)(y))(x),
        torch.vmap(lambda a: torch.vmap(lambda b: (b * a).sum() + b.mean(), in_dims=1)(a))(x),
        torch.vmap(torch.vmap(lambda a: a.reshape(-1)[torch.tensor([1, 0])], in_dims=1), in_dims=2)(x),
    ]


@agrees
def test_what_a_sample_looks_like(torch: Any) -> Any:
    seen = []

    def look(a: Any) -> Any:
        seen.append((a.shape, a.dim(), a.dtype, len(a), a.stride(), a.is_contiguous(), a.numel(), str(a.device)))
        seen.append(" ".join(repr(a).split()))
        return a

    torch.vmap(look)(torch.arange(6.0).reshape(3, 2))
    torch.vmap(look, in_dims=1)(torch.arange(6.0).reshape(3, 2))
    torch.vmap(torch.vmap(look))(torch.arange(8.0).reshape(2, 2, 2))
    return seen


@agrees
def test_history_goes_through(torch: Any) -> Any:
    x, w = numbers(torch, 3, 2).requires_grad_(), numbers(torch, 2).requires_grad_()
    y = torch.vmap(lambda a: (a * w).sin().sum())(x)
    y.backward(numbers(torch, 3))
    return y.requires_grad, type(y.grad_fn).__name__, x.grad, w.grad


# -- values that decide ------------------------------------------------------------------------------------------------

LOOKS: list[tuple[str, Any, str]] = [
    ("item", lambda torch, a: a.sum().item(), "vmap: It looks like you're calling .item() on a Tensor"),
    ("float", lambda torch, a: float(a.sum()), "vmap: It looks like you're calling .item() on a Tensor"),
    ("int", lambda torch, a: int(a.sum()), "vmap: It looks like you're calling .item() on a Tensor"),
    ("index", lambda torch, a: range(5)[a.long()[0]], ""),
    (
        "bool",
        lambda torch, a: a if a.sum() > 0 else -a,
        "attempting to use a Tensor in some data-dependent control flow",
    ),
    ("is_nonzero", lambda torch, a: a.sum().is_nonzero(), "attempting to use a Tensor in some data-dependent"),
    ("numpy", lambda torch, a: a.numpy(), "Cannot access data pointer of Tensor that doesn't have storage"),
    ("tolist", lambda torch, a: a.tolist(), "Cannot access data pointer of Tensor that doesn't have storage"),
    ("data_ptr", lambda torch, a: a.data_ptr(), ""),
    ("__array__", lambda torch, a: torch.as_tensor(__import__("numpy").asarray(a)), "doesn't have storage"),
    ("list", lambda torch, a: torch.tensor([a[0], a[1]]), "vmap: It looks like you're calling .item() on a Tensor"),
    ("arange", lambda torch, a: torch.arange(a[0]), "vmap: It looks like you're calling .item() on a Tensor"),
    ("in", lambda torch, a: (3.0 in a, a)[1], "vmap: It looks like you're calling .item() on a Tensor"),
    ("nonzero", lambda torch, a: a.nonzero(), "We do not support batching operators that can output dynamic shape"),
    (
        "where",
        lambda torch, a: torch.where(a > 0),
        "We do not support batching operators that can output dynamic shape",
    ),
    ("unique", lambda torch, a: torch.unique(a), "We do not support batching operators that can output dynamic shape"),
    ("mask", lambda torch, a: a[a > 0], "Attempting to batch over indexing with a boolean mask"),
    ("masked_select", lambda torch, a: a.masked_select(a > 0), "Attempted to vmap over `mask` in torch.masked_select"),
    ("bincount", lambda torch, a: torch.bincount(a.abs().long()), ""),
    ("allclose", lambda torch, a: torch.allclose(a, a), ""),
    ("equal", lambda torch, a: torch.equal(a, a), ""),
    ("requires_grad_", lambda torch, a: a.requires_grad_(), "You are attempting to call Tensor.requires_grad_()"),
    ("backward", lambda torch, a: a.sum().backward(), "backward() called inside a functorch transform"),
    ("grad", lambda torch, a: torch.autograd.grad(a.sum(), a), "does not require grad"),
    ("out=", lambda torch, a: torch.add(a, a, out=torch.zeros(2)), ""),
    ("rand", lambda torch, a: torch.rand(2), "vmap: called random operation while in randomness error mode"),
    ("dropout", lambda torch, a: torch.nn.functional.dropout(a), "called random operation while in randomness error"),
    ("normal_", lambda torch, a: a.clone().normal_(), "called random operation while in randomness error mode"),
    ("written", lambda torch, a: torch.zeros(2).__setitem__(0, a[0]), "vmap: inplace arithmetic(self, *extra_args)"),
    ("added", lambda torch, a: torch.zeros(2).add_(a), ""),
    ("copied", lambda torch, a: torch.zeros(2).copy_(a), ""),
    ("returned", lambda torch, a: 3, "must only return Tensors, got type <class 'int'>"),
    ("nothing", lambda torch, a: None, "must only return Tensors, got type <class 'NoneType'>"),
]


@pytest.mark.parametrize(("program", "says"), [case[1:] for case in LOOKS], ids=[case[0] for case in LOOKS])
def test_refused(program: Any, says: str) -> None:
    agrees(lambda torch: torch.vmap(lambda a: program(torch, a))(torch.arange(4.0).reshape(2, 2)), says=says)()


CALLS: list[tuple[str, Any, str]] = [
    (
        "None",
        lambda T, x: T.vmap(T.sin, in_dims=None)(x),
        "expected `in_dims` to be int or a (potentially nested) tuple",
    ),
    (
        "list",
        lambda T, x: T.vmap(T.sin, in_dims=[0])(x),
        "expected `in_dims` to be int or a (potentially nested) tuple",
    ),
    ("too large", lambda T, x: T.vmap(T.sin, in_dims=2)(x), "Got in_dim=2 for some input, but that input is a Tensor"),
    ("too small", lambda T, x: T.vmap(T.sin, in_dims=-3)(x), "expected in_dim to satisfy -2 <= in_dim < 2"),
    ("structure", lambda T, x: T.vmap(T.sin, in_dims=(0, 0))(x), "in_dims is not compatible with the structure of"),
    ("number", lambda T, x: T.vmap(T.mul)(x, 3), "Got in_dim=0 for an input but the input is of type <class 'int'>"),
    ("lengths", lambda T, x: T.vmap(T.add)(x, x[:2]), "Expected all tensors to have the same size in the mapped"),
    ("no input", lambda T, x: T.vmap(lambda: x)(), "got no inputs. Maybe you forgot to add inputs"),
    ("no tensor", lambda T, x: T.vmap(T.sin, in_dims=(None,))(x), "Expected at least one Tensor to vmap over"),
    ("0-d", lambda T, x: T.vmap(T.sin)(T.tensor(1.0)), "Tensor of dimensionality 0"),
    ("out_dims", lambda T, x: T.vmap(T.sin, out_dims=2)(x), "Dimension out of range"),
    ("out None", lambda T, x: T.vmap(T.sin, out_dims=None)(x), "can not return a BatchedTensor when out_dim is None"),
    ("out str", lambda T, x: T.vmap(T.sin, out_dims="a")(x), "`out_dims` must be an int, None or a python collection"),
    ("out list", lambda T, x: T.vmap(lambda a: [a, a], out_dims=(0, 1))(x), "out_dims is not compatible with"),
    (
        "out structure",
        lambda T, x: T.vmap(T.sin, out_dims=(0, 1))(x),
        "out_dims is not compatible with the structure of",
    ),
    ("randomness", lambda T, x: T.vmap(T.sin, randomness="x")(x), "Only allowed values for randomness are 'error',"),
    ("chunks", lambda T, x: T.vmap(T.sin, chunk_size=0)(x), "vmap: chunk_size should be None or greater than 0"),
]


@pytest.mark.parametrize(("program", "says"), [case[1:] for case in CALLS], ids=[case[0] for case in CALLS])
def test_wrong_calls(program: Any, says: str) -> None:
    agrees(lambda torch: program(torch, torch.arange(6.0).reshape(3, 2)), says=says)()


# -- random numbers ----------------------------------------------------------------------------------------------------

RANDOM: dict[str, Any] = {
    "rand": lambda T, a: T.rand(2, 3),
    "randn": lambda T, a: a + T.randn(3),
    "randint": lambda T, a: T.randint(0, 9, (4,)),
    "randperm": lambda T, a: T.randperm(5),
    "normal": lambda T, a: T.normal(0.0, 1.0, (3,)),
    "rand_like": lambda T, a: T.rand_like(a),
    "randn_like": lambda T, a: T.randn_like(T.zeros(3)),
    "normal of the sample": lambda T, a: T.normal(a, 1.0),
    "normal with the sample's deviations": lambda T, a: T.normal(0.0, a.abs()),
    "bernoulli": lambda T, a: T.bernoulli(a.abs() / 2),
    "bernoulli of one": lambda T, a: T.bernoulli(T.full((3,), 0.5)),
    "poisson": lambda T, a: T.poisson(a.abs()),
    "multinomial": lambda T, a: T.multinomial(a.abs() + 0.1, 2),
    "dropout": lambda T, a: T.nn.functional.dropout(a + 5),
    "dropout of one": lambda T, a: T.nn.functional.dropout(T.ones(3)),
    "normal_": lambda T, a: a.clone().normal_(),
    "uniform_": lambda T, a: T.empty_like(a).uniform_(),
    "normal_ of one": lambda T, a: T.zeros(3).normal_(),
    "twice": lambda T, a: T.rand(2) + T.rand(2),
}


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers(name: str, randomness: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.linspace(-1.0, 1.5, 12).reshape(4, 3)
        return torch.vmap(lambda a: RANDOM[name](torch, a), randomness=randomness)(x)

    agrees(program)()


@agrees
def test_random_numbers_in_maps_of_maps(torch: Any) -> Any:
    x = torch.ones(2, 3, 4)
    return [
        torch.vmap(torch.vmap(lambda a: torch.rand(4), randomness=inner), randomness=outer)(x)
        for inner in ("same", "different")
        for outer in ("same", "different")
    ]


@agrees
def test_random_numbers_in_chunks(torch: Any) -> Any:
    x = torch.ones(5, 3)
    return torch.vmap(lambda a: torch.rand(3) + a, randomness="same", chunk_size=2)(x)


# -- writing and indexing ----------------------------------------------------------------------------------------------


def write_slices(torch: Any, a: Any, i: Any) -> Any:
    b = a.clone()
    b[0] += 1
    b[:, 1] = a[:, 0]
    b[1:].mul_(2).t()[0].zero_()
    return b


def write_by_index(torch: Any, a: Any, i: Any) -> Any:
    b = a.clone()
    b[i] = 7.0
    b[:, torch.tensor([0, 2])] = a[:, :2]
    return b


def write_by_mask(torch: Any, a: Any, i: Any) -> Any:
    b = a.clone()
    b.masked_fill_(b > 0, 3)
    return b.index_put((i, i), a.sum()) + b.scatter(0, i[None, :].expand(1, 2)[:, :2], 5.0).sum()


WRITES: dict[str, Any] = {
    "slices": write_slices,
    "index": write_by_index,
    "mask": write_by_mask,
    "read": lambda T, a, i: a[i],
    "read columns": lambda T, a, i: a[:, i],
    "read both": lambda T, a, i: a[i, i],
    "read apart": lambda T, a, i: a[None, i, :, None, i % 2],
    "read others": lambda T, a, i: T.arange(12.0).reshape(3, 4)[i],
    "read columns of others": lambda T, a, i: T.arange(24.0).reshape(2, 3, 4)[:, i],
    "number": lambda T, a, i: a[i[0]],
    "numbers": lambda T, a, i: a[i[0], i[1]],
    "select": lambda T, a, i: a[0] + a[-1, ::2].sum() + a[..., None].squeeze(-1),
    "index_select": lambda T, a, i: a.index_select(0, T.tensor([1, 1])),
    "gather": lambda T, a, i: a.gather(0, i[None].expand(1, 2)),
    "take": lambda T, a, i: a.take(T.tensor([0, 3])),
    "index_add": lambda T, a, i: a.index_add(0, T.tensor([0, 1]), a[:2]),
    "views": lambda T, a, i: a.t().reshape(-1).unfold(0, 2, 1),
    "as_strided": lambda T, a, i: a.contiguous().as_strided((2, 2), (1, 2)),
    "in place": lambda T, a, i: a.clone().add_(1).mul_(a).sub_(a[0]),
    "views in place": lambda T, a, i: a.clone().unsqueeze_(0).transpose_(1, 2).squeeze_(0).t_(),
    "conversions": lambda T, a, i: T.as_tensor(a).to(T.float32).cpu().double().type(T.float64).contiguous(),
    "chunk": lambda T, a, i: T.cat([p * k for k, p in enumerate(a.chunk(2, 1))]),
}


@pytest.mark.parametrize("dims", [(0, 0), (-1, 0), (0, 1)], ids=str)
@pytest.mark.parametrize("name", WRITES)
def test_writing_and_indexing(name: str, dims: tuple[int, int]) -> None:
    def program(torch: Any) -> Any:
        x = numbers(torch, 4, 3, 3).movedim(0, dims[0])
        i = torch.tensor([[0, 1], [1, 2], [2, 0], [1, 1]]).movedim(0, dims[1])
        return torch.vmap(lambda a, i: WRITES[name](torch, a, i), in_dims=dims)(x, i)

    agrees(program)()


@agrees
def test_writes_reach_the_argument(torch: Any) -> Any:
    x, seen = torch.arange(6.0).reshape(3, 2), []
    torch.vmap(lambda a: a.mul_(2))(x)
    torch.vmap(lambda a: a[0].sub_(a[1]), in_dims=0)(x)
    seen.append(x.clone())
    torch.vmap(lambda a: a.zero_(), in_dims=1)(x)
    return seen, x


NEW: dict[str, Any] = {
    "zeros_like": lambda T, a: T.zeros_like(a),
    "ones_like": lambda T, a: T.ones_like(a, dtype=T.float64),
    "full_like": lambda T, a: T.full_like(a, 2.0),
    "new_zeros": lambda T, a: a.new_zeros(2),
    "new_ones": lambda T, a: a.new_ones((2,)),
    "new_empty": lambda T, a: a.new_empty(2).zero_(),
    "new_full": lambda T, a: a.new_full((2,), 1.0),
    "zeros": lambda T, a: T.zeros(2),
}


@pytest.mark.parametrize("name", NEW)
def test_new_tensors_like_a_sample_may_be_written_to(name: str) -> None:
    agrees(lambda torch: torch.vmap(lambda a: NEW[name](torch, a).add_(a))(torch.arange(6.0).reshape(3, 2)))()


@agrees
def test_a_failed_call_leaves_no_level(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(3, 2)
    for _ in range(2):
        with contextlib.suppress(RuntimeError):
            torch.vmap(torch.vmap(lambda a: a if a > 0 else -a))(x)
    return torch.vmap(lambda a: (a.shape, a * 2)[1])(x), repr(x)


# -- dtypes ------------------------------------------------------------------------------------------------------------


def test_dtypes_of_samples_without_dimensions() -> None:
    """A tensor without dimensions has a lower priority than one with dimensions, also when batched."""
    kinds = ["bool", "uint8", "int32", "int64", "bfloat16", "float32", "float64", "complex64"]

    def program(torch: Any) -> Any:
        found = []
        for a in kinds:
            for b in kinds:
                x, y = (torch.ones(3, dtype=getattr(torch, kind)) for kind in (a, b))
                found += [torch.vmap(lambda s, t: s * t)(x, y), torch.vmap(lambda s, t: s + t)(x[:, None], y)]
                found += [torch.vmap(lambda s, t: s * t, (0, None))(x, y[0]), torch.vmap(lambda s: s * 1.5)(x)]
        return [str(t.dtype) for t in found]

    agrees(program)()


# -- what differs ------------------------------------------------------------------------------------------------------


@differs("Inside of `vmap`, every operation works", pytorch=Raised(RuntimeError), here=[True, False])
def test_rrelu(torch: Any) -> Any:
    x = -torch.ones(2, 3)
    result = torch.vmap(lambda a: torch.nn.functional.rrelu(a, 0.1, 0.9, training=True), randomness="different")(x)
    return [bool(((result <= -0.1) & (result >= -0.9)).all()), bool((result[0] == result[1]).all())]


@differs("A sample of a tensor that requires grad requires grad", pytorch=[False, True], here=[True, True])
def test_requires_grad(torch: Any) -> Any:
    seen = []
    result = torch.vmap(lambda a: (seen.append(a.requires_grad), a * 2)[1])(torch.ones(2, requires_grad=True))
    return [*seen, result.requires_grad]


@differs(
    "`linearize` can be put into other transforms, and they into it", pytorch=Raised(RuntimeError), here=[2.0, 0.0, 8.0]
)
def test_linearize(torch: Any) -> Any:
    x = torch.tensor([-1.0, 0.0, 2.0])
    return torch.vmap(lambda a: torch.func.linearize(torch.square, a)[1](a))(x).tolist()
