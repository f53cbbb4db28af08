"""Walks the registry: every pointwise operation and every reduction, on shapes, layouts and dtypes that nobody picked.

PyTorch is the oracle: same values, dtypes, shapes and gradients, or the same kind of exception.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import nbautograd as nb
from nbautograd.compiler.op import COMPOSITES, OPS, POINTWISE
from nbautograd.core.tensor import wrap
from tests import needs

torch = needs.package("torch")

DTYPES = [kind.name for kind in nb.arrays.dtypes.ALL]
NAMESPACES = {"special_": "special", "linalg_": "linalg"}


def theirs(name):
    """PyTorch's function for one of ours, or None."""
    for prefix, space in NAMESPACES.items():
        if name.startswith(prefix):
            return getattr(getattr(torch, space), name.removeprefix(prefix), None)
    return getattr(torch, name, None)


def required(op):
    return op.positional[: len(op.positional) - len(op.body.__defaults__ or ())]


ELEMENTWISE = {
    name: op
    for name, op in OPS.items()
    if op.kind == POINTWISE and theirs(name) and set(required(op)) <= set(op.tensors) and not op.masks and not op.many
}
REDUCTIONS = [
    name
    for name, function in {**COMPOSITES, **{n: op.function for n, op in OPS.items()}}.items()
    if getattr(function, "__wrapped__", function).__code__.co_varnames[:3] == ("input", "dim", "keepdim")
    and theirs(name)
    and hasattr(nb, name)
]


def outcome(library, function, tensors, cotangent=True):
    """The result and the gradients, or the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = function(*tensors)
            found = [out, *out] if isinstance(out, tuple) else [out]
            first = out[0] if isinstance(out, tuple) else out
            if cotangent and first.requires_grad:
                weights = np.cos(np.arange(first.numel())).reshape(tuple(first.shape))
                found += library.autograd.grad(
                    first, tensors, library.tensor(weights).to(first.dtype), allow_unused=True
                )
            return [t for t in found if not isinstance(t, tuple)]
    except Exception as error:
        return error


def agree(ours, expected, rtol=1e-6, about=""):
    if isinstance(expected, Exception):
        kinds = (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError)
        assert isinstance(ours, kinds), (about, ours, expected)
        return
    assert not isinstance(ours, Exception), (about, ours)
    for a, b in zip(ours, expected, strict=True):
        zero = (a is None or not a.detach().bool().any()) and (b is None or not b.detach().bool().any())
        if zero:
            continue
        assert str(a.dtype) == str(b.dtype), about
        assert tuple(a.shape) == tuple(b.shape), about
        left, right = (
            t.detach().resolve_conj().to(getattr(lib, WIDE[t.dtype.is_complex])).numpy()
            for lib, t in ((nb, a), (torch, b))
        )
        np.testing.assert_allclose(left, right, rtol=rtol, atol=rtol, err_msg=about)


WIDE = {False: "float64", True: "complex128"}

VALUES = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0])
LAYOUTS = st.sampled_from(["plain", "transposed", "reversed", "expanded", "every other"])


def laid_out(library, array, layout):
    """A leaf, and a tensor of the values of ``array`` that lies in memory in its own way."""
    if layout == "transposed" and array.ndim >= 2:
        leaf = library.tensor(array.swapaxes(0, -1).copy(), requires_grad=True)
        return leaf, leaf.transpose(0, -1)
    if layout == "every other" and array.ndim:
        leaf = library.tensor(np.repeat(array, 2, axis=0), requires_grad=True)
        return leaf, leaf[::2]
    if layout == "expanded":
        leaf = library.tensor(array, requires_grad=True)
        return leaf, leaf.expand(2, *array.shape)[1]
    if layout == "reversed" and array.ndim and library is nb:
        leaf = wrap(array[::-1].copy()[::-1]).requires_grad_()  # strides that PyTorch does not have
        return leaf, leaf
    leaf = library.tensor(array, requires_grad=True)
    return leaf, leaf


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data())
def test_elementwise(name, data):
    count = len(required(ELEMENTWISE[name]))
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, min_side=0, max_side=3))
    arrays = [data.draw(hnp.arrays(np.float64, shape, elements=VALUES)) for shape in shapes.input_shapes]
    layouts = [data.draw(LAYOUTS) for _ in arrays]
    found = []
    for library, function in ((nb, ELEMENTWISE[name].function), (torch, theirs(name))):
        pairs = [laid_out(library, a, layout) for a, layout in zip(arrays, layouts, strict=True)]
        found.append(outcome(library, function, [t for _, t in pairs]))
    agree(*found, about=f"{name} {arrays}")


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data())
def test_reductions(name, data):
    array = data.draw(
        hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), elements=VALUES)
    )
    layout = data.draw(LAYOUTS)
    dim = data.draw(st.one_of(st.none(), st.integers(-3, 3), st.lists(st.integers(-3, 2), max_size=3)))
    options = {} if dim is None else {"dim": dim, "keepdim": data.draw(st.booleans())}
    found = []
    for library, function in ((nb, getattr(nb, name)), (torch, theirs(name))):
        _, x = laid_out(library, array, layout)
        found.append(outcome(library, lambda t, f=function: f(t, **options), [x]))
    agree(*found, about=f"{name} {array} {options}")


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_dtypes(name):
    """Every combination of dtypes: the same dtype and values, or refused by both."""
    op = ELEMENTWISE[name]
    count = len(required(op))
    if count > 2:
        pytest.skip("promotion is the same for two")
    for kinds in itertools.product(DTYPES, repeat=count):
        found = []
        for library, function in ((nb, op.function), (torch, theirs(name))):
            tensors = [library.tensor([0, 1, 1, 0]).to(getattr(library, kind)) for kind in kinds]
            found.append(outcome(library, function, tensors))
        if isinstance(found[1], NotImplementedError) and any(kind.startswith("uint") for kind in kinds):
            continue  # as docs/differences.md says
        half = any("16" in kind for kind in kinds)
        agree(*found, rtol=2e-2 if half else 1e-5, about=f"{name} {kinds}")
