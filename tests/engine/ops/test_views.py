"""Chains of views, against PyTorch: the same geometry at every step, the same effect of writing through the last."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.ops.drawn import Draws
from tests.oracle.answers import raised


def steps(draws, x):
    """One view of a tensor, as the name of a method and its arguments, not always valid ones."""
    dim, other = draws.integer(-3, 3), draws.integer(-3, 3)
    kind = draws.choice(KINDS)
    n = x.shape[dim] if -x.dim() <= dim < x.dim() else 2
    match kind:
        case "view" | "reshape":
            n = x.numel()
            shapes = [(n,), (-1,), (1, n), (n, 1), (2, -1), (-1, 3), (2, 2, -1), (3, -1, 2), (n + 1,), (1, -1, 1)]
            return kind, (draws.choice(shapes),)
        case "permute":
            return kind, (tuple(draws.numbers.permutation(x.dim()).tolist()),)
        case "transpose" | "movedim" | "swapaxes":
            return kind, (dim, other)
        case "unsqueeze" | "squeeze":
            return kind, (dim,)
        case "select":
            return kind, (dim, draws.integer(-n - 1, n))
        case "narrow":
            start = draws.integer(0, n)
            return kind, (dim, start, draws.integer(0, max(0, n - start)))
        case "__getitem__":
            return kind, (index(draws, x),)
        case "expand":
            sizes = [draws.choice([-1, 2]) if size == 1 else -1 for size in x.shape]
            return kind, ((*([2] * draws.integer(0, 1)), *sizes),)
        case "diagonal":
            return kind, (draws.integer(-3, 3), dim, other)
        case "unfold":
            return kind, (dim, draws.integer(0, n), draws.integer(1, 2))
        case "as_strided" if x._base is None:
            shape = [draws.integer(1, 3) for _ in range(draws.integer(0, 2))]
            return kind, (shape, [draws.integer(0, 3) for _ in shape], draws.integer(0, 3))
        case "unflatten":
            return kind, (dim, draws.choice([(-1, 1), (1, -1), (2, -1)]))
        case "flatten":
            return kind, (dim, other)
        case "split" | "chunk" | "tensor_split":
            return f"{kind} first", (draws.integer(1, 3), dim)
        case "unbind":
            return "unbind first", (dim,)
        case _:
            return kind, ()


KINDS = [
    "view",
    "reshape",
    "permute",
    "transpose",
    "movedim",
    "swapaxes",
    "unsqueeze",
    "squeeze",
    "select",
    "narrow",
    "__getitem__",
    "expand",
    "diagonal",
    "unfold",
    "as_strided",
    "unflatten",
    "flatten",
    "split",
    "chunk",
    "tensor_split",
    "unbind",
    "t",
    "squeeze_all",
    "ravel",
    "detached_shape",
]


def index(draws, x):
    """A basic index."""
    items = []
    for n in x.shape[: draws.integer(0, x.dim())]:
        choice = draws.integer(0, 3)
        if choice == 0:
            items.append(draws.integer(-max(n, 1), max(n - 1, 0)))
        elif choice == 1:
            items.append(None)
        else:
            ends = [draws.choice([None, draws.integer(-n - 1, n + 1)]) for _ in "12"]
            items.append(slice(*ends, draws.choice([None, 1, 2])))
    if draws.choice([False, True]):
        items.append(Ellipsis)
    return tuple(items)


def take(x, step):
    """The view of a tensor of either library."""
    kind, arguments = step
    if kind.endswith(" first"):
        return getattr(x, kind.removesuffix(" first"))(*arguments)[0]
    if kind == "squeeze_all":
        return x.squeeze()
    if kind == "detached_shape":
        return x.view_as(x)
    return getattr(x, kind)(*arguments)


def geometry(x):
    return tuple(x.shape), tuple(x.stride()), x.storage_offset(), x.is_contiguous(), x.untyped_storage().nbytes()


def overlaps(x):
    """Return whether two elements share one place in memory."""
    lines = zip(x.shape[::-1], x.stride()[::-1], strict=True)
    places = sum(np.arange(n).reshape(-1, *(1,) * i) * s for i, (n, s) in enumerate(lines))
    return np.unique(places).size < x.numel()


def chain(draws, x, length):
    """A chain of existing views, and the outcome of each step: a view, or an exception."""
    happened, taken = [], []
    for _ in range(length):
        step = steps(draws, x)
        try:
            x = take(x, step)
        except Exception as error:
            happened.append(raised(error).kind)  # the message contains an address
            continue
        taken.append(step)
        happened.append((x._is_view(), x.detach(), geometry(x)))
    return happened, taken


SHAPES = [(), (6,), (2, 3), (3, 1, 2), (4, 3), (1, 5), (2, 2, 3), (0, 3), (2, 0), (1, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_geometry(shape):
    def program(T, seed):
        return chain(Draws(seed), T.arange(float(math.prod(shape))).reshape(shape).clone(), 5)[0]

    for seed in range(25):
        ours = program(nb, seed)
        for mine, theirs in zip(ours, oracle.answer(program, seed, exact=True), strict=True):
            if isinstance(theirs, str) or isinstance(mine, str):
                oracle.same(mine, theirs)
            else:
                is_view, values, place = theirs.parts
                oracle.same(mine[:2], oracle.Named("tuple", [is_view, values]))
                sizes, strides, *_ = place.parts
                if 0 not in sizes.parts or any(strides.parts):  # NumPy has no strides for empty arrays
                    oracle.same(mine[2], place)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_writing_through_a_view(shape):
    """A write through a chain of views: the base's values, the other view's, and the gradients of both."""
    values = np.cos(np.arange(math.prod(shape), dtype=np.float64)).reshape(shape)

    def program(T, seed):
        draws = Draws(seed)
        _, taken = chain(draws, T.tensor(values), 3)
        in_place, first = draws.choice(["mul_", "add_", "neg_", "sin_"]), draws.choice([False, True])
        leaf = T.tensor(values, requires_grad=True)
        base = leaf * 1
        other = base.view_as(base)
        view = base
        for step in taken:
            view = take(view, step)
        if not view._is_view() or view._base is not base or overlaps(view):
            return None  # a copy, or a view without a defined order of writing
        try:
            written = other if first else view
            getattr(written, in_place)(*([3.0] if in_place in ("mul_", "add_") else []))
            loss = (base * base).sum() + (other**3).sum() + (view * view).sum()
        except RuntimeError as error:
            return error
        return [x.detach() for x in (base, other, view, *T.autograd.grad(loss, [leaf]))]

    compared = 0
    for seed in range(25):
        ours, theirs = program(nb, seed), oracle.answer(program, seed)
        if isinstance(theirs, oracle.Raised):
            # PyTorch also raises an error for reading an output of split() or unbind() after a write to its base.
            assert isinstance(ours, (list, RuntimeError))
        else:
            oracle.close(ours, theirs)
            compared += ours is not None
    assert compared > 5


@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (1, 4, 2), (2, 2, 3)], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: x.t_() if x.dim() == 2 else x.transpose_(0, -1),
        lambda T, x: x.squeeze_(),
        lambda T, x: x.unsqueeze_(1),
        lambda T, x: x.swapaxes_(0, 1),
        lambda T, x: x.as_strided_(tuple(x.shape)[::-1], x.stride()[::-1]),
    ],
    ids=["transposed", "squeezed", "unsqueezed", "swapped", "strided"],
)
def test_views_in_place(call, shape):
    values = np.cos(np.arange(math.prod(shape), dtype=np.float64)).reshape(shape)

    def program(T):
        leaf = T.tensor(values, requires_grad=True)
        x = leaf * 1
        view = x[0]
        version = x._version
        assert call(T, x) is x
        view.mul_(2)
        loss = (x * x * T.ones(1, dtype=T.float64)).sum() + (view**3).sum()
        (gradient,) = T.autograd.grad(loss, [leaf])
        return (x.detach(), view.detach(), gradient), (geometry(x), x._version - version)

    numbers, facts = program(nb)
    oracle.close(numbers, oracle.answer(program).parts[0])
    oracle.same(facts, oracle.answer(program, exact=True).parts[1])


def copies(T):
    x = T.arange(24.0).reshape(2, 3, 4)
    wide = T.arange(48.0).reshape(2, 3, 8)[:, :, ::2]
    image = T.arange(48.0).reshape(2, 3, 2, 4)
    return {
        "clone of a permuted": x.permute(2, 0, 1).clone(),
        "clone of every other": wide.clone(),
        "clone of every other, permuted": wide.permute(1, 2, 0).clone(),
        "clone of an expanded": T.arange(3.0).expand(4, 3).clone(),
        "contiguous clone": x.permute(2, 0, 1).clone(memory_format=T.contiguous_format),
        "contiguous": x.mT.contiguous(),
        "channels last": image.contiguous(memory_format=T.channels_last),
        "clone of channels last": image.contiguous(memory_format=T.channels_last).clone(),
        "empty_like": T.empty_like(x.permute(1, 2, 0)),
        "zeros_like": T.zeros_like(x.mT),
        "zeros_like, contiguous": T.zeros_like(x.mT, memory_format=T.contiguous_format),
        "empty, channels last": T.empty(2, 3, 4, 5, memory_format=T.channels_last),
        "empty_strided": T.empty_strided((2, 3), (1, 2)),
        "empty_permuted": T.empty_permuted((2, 3, 4), (1, 2, 0)),
        "new_empty_strided": x.new_empty_strided((2, 3), (4, 1)),
        "reshaped": x.mT.reshape(6, 4),
        "resized": T.arange(6.0)[2:].resize_(2, 2),
        "grown": T.arange(6.0)[2:].resize_(3, 2),
        "resized as": T.arange(6.0).resize_as_(T.ones(3, 2)),
        "of a storage": T.empty(0).set_(T.arange(6.0).untyped_storage(), 1, (2, 2), (2, 1)),
        "of no elements": T.zeros(3, 0, 2),
        "flipped": T.flip(x.mT, (0,)).contiguous(),
    }


@pytest.mark.parametrize("name", copies(nb))
def test_geometry_of_what_is_made(name):
    oracle.check(lambda T: geometry(copies(T)[name]), exact=True)


def test_storage():
    x = nb.arange(6, dtype=nb.int16)
    part = x[2:]
    storage = part.untyped_storage()
    assert storage.nbytes() == storage.size() == len(storage) == 12
    assert storage.data_ptr() == x.data_ptr() == part.data_ptr() - 4
    assert part.storage().tolist() == [0, 1, 2, 3, 4, 5]
    part.storage()[0] = 9
    assert x[0] == 9
    assert repr(x[:2].storage()).endswith("[torch.storage.TypedStorage(dtype=torch.int16, device=cpu) of size 6]")
    assert x.is_set_to(x.view(6)) and not x.is_set_to(part)
    assert part._base is x and part._is_view() and x._base is None


@oracle.both
def test_bytes_read_as_another_dtype(T):
    x = T.arange(6, dtype=T.int32).view(2, 3)
    halves = x.view(T.int16)
    assert tuple(halves.shape) == (2, 6) and halves.stride() == (6, 1)
    assert halves.view(T.int32).tolist() == x.tolist()
    halves[0, 0] = 7
    assert x[0, 0] == 7
    assert T.ones(4, dtype=T.float32)[2:].view(T.float64).storage_offset() == 1


def test_a_view_of_numpys_memory_shares_it():
    a = np.zeros((3, 4))
    x = nb.from_numpy(a.T[1:])
    x.t_().fill_diagonal_(5.0)
    assert a.tolist() == [[0, 5, 0, 0], [0, 0, 5, 0], [0, 0, 0, 5]]
