"""Chains of views, against PyTorch: the same geometry at every step, the same effect of writing through the last."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from tests import needs

torch = needs.package("torch")

common = settings(max_examples=200, deadline=None, derandomize=True)
small = st.integers(-3, 3)


def factors(n):
    """Shapes of n elements, or nearly so."""
    return st.sampled_from(
        [(n,), (-1,), (1, n), (n, 1), (2, -1), (-1, 3), (2, 2, -1), (3, -1, 2), (n + 1,), (1, -1, 1)]
    )


@st.composite
def steps(draw, x):
    """One view of a tensor of PyTorch's, as the name of a method and its arguments, not always valid ones."""
    dim = draw(small)
    kind = draw(st.sampled_from(KINDS))
    n = x.shape[dim] if -x.dim() <= dim < x.dim() else 2
    match kind:
        case "view" | "reshape":
            return kind, draw(factors(x.numel()))
        case "permute":
            return kind, (tuple(draw(st.permutations(range(x.dim())))),)
        case "transpose" | "movedim" | "swapaxes":
            return kind, (dim, draw(small))
        case "unsqueeze" | "squeeze":
            return kind, (dim,)
        case "select":
            return kind, (dim, draw(st.integers(-n - 1, n)))
        case "narrow":
            start = draw(st.integers(0, n))
            return kind, (dim, start, draw(st.integers(0, max(0, n - start))))
        case "__getitem__":
            return kind, (draw(indices(x)),)
        case "expand":
            sizes = [draw(st.sampled_from([-1, 2])) if size == 1 else -1 for size in x.shape]
            return kind, ((*([2] * draw(st.integers(0, 1))), *sizes),)
        case "diagonal":
            return kind, (draw(small), dim, draw(small))
        case "unfold":
            return kind, (dim, draw(st.integers(0, n)), draw(st.integers(1, 2)))
        case "as_strided" if x._base is None:
            shape = draw(st.lists(st.integers(1, 3), max_size=2))
            stride = draw(st.lists(st.integers(0, 3), min_size=len(shape), max_size=len(shape)))
            return kind, (shape, stride, draw(st.integers(0, 3)))
        case "unflatten":
            return kind, (dim, draw(st.sampled_from([(-1, 1), (1, -1), (2, -1)])))
        case "flatten":
            return kind, (dim, draw(small))
        case "split" | "chunk" | "tensor_split":
            return f"{kind} first", (draw(st.integers(1, 3)), dim)
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


@st.composite
def indices(draw, x):
    """A basic index."""
    items = []
    for n in x.shape[: draw(st.integers(0, x.dim()))]:
        choice = draw(st.integers(0, 3))
        if choice == 0:
            items.append(draw(st.integers(-max(n, 1), max(n - 1, 0))))
        elif choice == 1:
            items.append(None)
        else:
            ends = st.one_of(st.none(), st.integers(-n - 1, n + 1))
            items.append(slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2]))))
    if draw(st.booleans()):
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
    """Whether two elements are one place in memory."""
    lines = zip(x.shape[::-1], x.stride()[::-1], strict=True)
    places = sum(np.arange(n).reshape(-1, *(1,) * i) * s for i, (n, s) in enumerate(lines))
    return np.unique(places).size < x.numel()


def untold(x):
    """Whether NumPy has no strides to tell: those of no elements, if all are 0."""
    return not x.numel() and not any(x.stride())


def chain(data, x, length):
    """A chain of views of ``x``, a tensor of PyTorch's, that exist; those that do not are refused by both libraries."""
    ours = nb.tensor(x.detach().numpy())
    taken = []
    for _ in range(length):
        step = data.draw(steps(x))
        try:
            expected = take(x, step)
        except Exception as error:
            with pytest.raises(type(error)):
                take(ours, step)
            continue
        found = take(ours, step)
        assert untold(expected) or geometry(found) == geometry(expected), step
        np.testing.assert_array_equal(found.numpy(), expected.detach().numpy())
        assert found._is_view() == expected._is_view()
        x, ours = expected, found
        taken.append(step)
    return taken


SHAPES = st.sampled_from([(), (6,), (2, 3), (3, 1, 2), (4, 3), (1, 5), (2, 2, 3), (0, 3), (2, 0), (1, 1)])


@given(SHAPES, st.data())
@common
def test_geometry(shape, data):
    chain(data, torch.arange(float(math.prod(shape))).reshape(shape).clone(), 5)


@given(SHAPES, st.data())
@common
def test_writing_through_a_view(shape, data):
    """A write through a chain of views: the base's values, the other view's, and the gradients of both."""
    values = np.cos(np.arange(math.prod(shape), dtype=np.float64)).reshape(shape)
    taken = chain(data, torch.tensor(values), 3)
    in_place = data.draw(st.sampled_from(["mul_", "add_", "neg_", "sin_"]))
    first = data.draw(st.booleans())
    found = []
    for T in (nb, torch):
        leaf = T.tensor(values, requires_grad=True)
        base = leaf * 1
        other = base.view_as(base)
        view = base
        for step in taken:
            view = take(view, step)
        if not view._is_view() or view._base is not base or overlaps(view):
            return  # a copy, or a view to which no order of writing is defined
        try:
            written = other if first else view
            getattr(written, in_place)(*([3.0] if in_place in ("mul_", "add_") else []))
            loss = (base * base).sum() + (other**3).sum() + (view * view).sum()
        except RuntimeError as error:
            found.append(type(error))
            continue
        (gradient,) = T.autograd.grad(loss, [leaf])
        found.append([x.detach().numpy() for x in (base, other, view, gradient)])
    ours, theirs = found
    if theirs is RuntimeError:
        # PyTorch also refuses to read an output of split() or unbind() after its base was written to.
        assert isinstance(ours, list) or issubclass(ours, RuntimeError)
        return
    assert isinstance(ours, list), ours
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


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
    found = []
    for T in (nb, torch):
        leaf = T.tensor(values, requires_grad=True)
        x = leaf * 1
        view = x[0]
        version = x._version
        assert call(T, x) is x
        view.mul_(2)
        loss = (x * x * T.ones(1, dtype=T.float64)).sum() + (view**3).sum()
        (gradient,) = T.autograd.grad(loss, [leaf])
        found.append((geometry(x), x._version - version, x.detach().numpy(), view.detach().numpy(), gradient.numpy()))
    ours, theirs = found
    assert ours[:2] == theirs[:2]
    for a, b in zip(ours[2:], theirs[2:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


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
    assert geometry(copies(nb)[name]) == geometry(copies(torch)[name])
    assert tuple(copies(nb)[name].shape) == tuple(copies(torch)[name].shape)


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


def test_bytes_read_as_another_dtype():
    for T in (nb, torch):
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
