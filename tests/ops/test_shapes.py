"""Operations on shapes and layouts that nobody would think of, against PyTorch: 0-d, sizes of 0, any strides."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import nbautograd as nb
from tests import needs

torch = needs.package("torch")

VALUES = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5, 3.0])
common = settings(max_examples=150, deadline=None, derandomize=True)


def laid_out(library, array, layout):
    """A leaf of these values, and a differentiable tensor of the same values that lies in memory in another way."""
    leaf = library.tensor(array, requires_grad=True)
    if layout == "transposed" and array.ndim >= 2:
        leaf = library.tensor(np.ascontiguousarray(array.swapaxes(0, 1)), requires_grad=True)
        return leaf, leaf.transpose(0, 1)
    if layout == "every other" and array.ndim >= 1:
        wide = np.repeat(array, 2, axis=0)
        leaf = library.tensor(wide, requires_grad=True)
        return leaf, leaf[::2]
    if layout == "expanded":
        return leaf, leaf.expand(2, *array.shape)[1]
    return leaf, leaf


LAYOUTS = st.sampled_from(["plain", "transposed", "every other", "expanded"])


def agree(call, arrays, layouts):
    found = []
    for library in (nb, torch):
        pairs = [laid_out(library, a, layout) for a, layout in zip(arrays, layouts, strict=True)]
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "(var|std)..: degrees of freedom")
                out = call(library, *(x for _, x in pairs))
        except Exception as error:
            found.append(error)
            continue
        cotangent = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
        gradients = [None] * len(pairs)
        if out.requires_grad:
            gradients = library.autograd.grad(
                out, [leaf for leaf, _ in pairs], library.tensor(cotangent), allow_unused=True
            )
        found.append([out, *gradients])
    ours, theirs = found
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), (ours, theirs)
        return
    assert not isinstance(ours, Exception), ours
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert tuple(a.shape) == tuple(b.shape)
            np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), rtol=1e-12, atol=1e-12)


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3), st.data())
@common
def test_two_operands(shapes, data):
    arrays = [data.draw(hnp.arrays(np.float64, s, elements=VALUES)) for s in shapes.input_shapes]
    layouts = [data.draw(LAYOUTS) for _ in arrays]
    name = data.draw(st.sampled_from(["add", "sub", "mul", "maximum", "minimum", "atan2"]))
    agree(lambda T, x, y: getattr(T, name)(x, y), arrays, layouts)


@given(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), st.data())
@common
def test_reductions(shape, data):
    array = data.draw(hnp.arrays(np.float64, shape, elements=VALUES))
    name = data.draw(st.sampled_from(["sum", "mean", "prod", "var", "logsumexp", "norm"]))
    dim = data.draw(st.one_of(st.none(), st.integers(-3, 3)))
    keepdim = data.draw(st.booleans())

    def call(T, x):
        if dim is None:
            return T.logsumexp(x, tuple(range(x.ndim)), keepdim) if name == "logsumexp" else getattr(T, name)(x)
        return getattr(T, name)(x, dim=dim, keepdim=keepdim)

    agree(call, [array], [data.draw(LAYOUTS)])


@given(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), st.data())
@common
def test_basic_indexing(shape, data):
    array = data.draw(hnp.arrays(np.float64, shape, elements=VALUES))
    part = st.one_of(
        st.integers(-4, 4), st.none(), st.just(Ellipsis),
        st.builds(slice, st.none() | st.integers(-5, 5), st.none() | st.integers(-5, 5), st.none() | st.integers(1, 3)),
    )  # fmt: skip
    key = tuple(data.draw(st.lists(part, max_size=4).filter(lambda parts: parts.count(Ellipsis) < 2)))
    agree(lambda T, x: x[key] * 2, [array], [data.draw(LAYOUTS)])


@given(st.data())
@common
def test_shapes_of_views(data):
    array = data.draw(hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4), elements=VALUES))
    shape = data.draw(st.lists(st.sampled_from([-1, 0, 1, 2, 3, 4, 6, 8]), max_size=3))
    name = data.draw(st.sampled_from(["view", "reshape"]))
    agree(lambda T, x: getattr(x, name)(shape) * 2, [array], [data.draw(LAYOUTS)])


@given(st.data())
@common
def test_matmul(data):
    a, b = (data.draw(hnp.array_shapes(max_dims=3, min_side=0, max_side=3)) for _ in range(2))
    if data.draw(st.booleans()) and len(b) > 1:
        b = (*b[:-2], a[-1], b[-1])
    arrays = [data.draw(hnp.arrays(np.float64, s, elements=VALUES)) for s in (a, b)]
    agree(lambda T, x, y: x @ y, arrays, [data.draw(LAYOUTS) for _ in arrays])
