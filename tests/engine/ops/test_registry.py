"""Walks the registry: every pointwise operation and every reduction, on arbitrary shapes, layouts and dtypes.

PyTorch is the oracle: same values, dtypes, shapes and gradients, or the same kind of exception.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.compiler.op import COMPOSITES, OPS, POINTWISE
from tests import oracle
from tests.engine.ops.drawn import LAYOUTS, Draws, laid_out

DTYPES = [kind.name for kind in nb._engine.arrays.dtypes.ALL]
NAMESPACES = {"special_": "special", "linalg_": "linalg"}


def theirs(T, name):
    """PyTorch's function for one of ours, or None."""
    for prefix, space in NAMESPACES.items():
        if name.startswith(prefix):
            return getattr(getattr(T, space), name.removeprefix(prefix), None)
    return getattr(T, name, None)


def required(op):
    return op.positional[: len(op.positional) - len(op.body.__defaults__ or ())]


FUNCTIONS = {**COMPOSITES, **{name: op.function for name, op in OPS.items()}}
KNOWN = oracle.shared("functions", lambda T: [name for name in sorted(FUNCTIONS) if theirs(T, name)])
ELEMENTWISE = {
    name: op
    for name, op in OPS.items()
    if op.kind == POINTWISE and name in KNOWN and set(required(op)) <= set(op.tensors) and not op.masks and not op.many
}
REDUCTIONS = [
    name
    for name, function in FUNCTIONS.items()
    if getattr(function, "__wrapped__", function).__code__.co_varnames[:3] == ("input", "dim", "keepdim")
    and name in KNOWN
    and hasattr(nb, name)
]
LESS_EXACT = {"digamma", *(f"special_bessel_{kind}" for kind in ("j0", "j1", "y0", "y1"))}
"""Operations for which PyTorch has ten digits, or their derivatives: compared in float32."""


def outcome(library, function, tensors):
    """The result and the gradients, or the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = function(*tensors)
            found = [out, *out] if isinstance(out, tuple) else [out]
            first = out[0] if isinstance(out, tuple) else out
            if first.requires_grad:
                weights = np.cos(np.arange(first.numel())).reshape(tuple(first.shape))
                found += library.autograd.grad(
                    first, tensors, library.tensor(weights).to(first.dtype), allow_unused=True
                )
            return [t for t in found if not isinstance(t, tuple)]
    except Exception as error:
        return error


def agree(ours, expected):
    """Return a result and its gradients where they are not 0; or an exception, of any kind."""
    if isinstance(expected, oracle.Raised):
        assert isinstance(ours, (RuntimeError, TypeError, IndexError, ValueError)), (ours, expected)
        return
    assert not isinstance(ours, Exception), ours
    for mine, other in zip(ours, expected, strict=True):
        zero = (mine is None or not mine.detach().bool().any()) and (other is None or not other.values.any())
        if not zero:
            oracle.close(mine, other)


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_elementwise(name):
    count = len(required(ELEMENTWISE[name]))
    for draws in Draws.many(20):
        pairs = [(draws.array(shape), draws.choice(LAYOUTS)) for shape in draws.broadcast(count)]

        def program(T, pairs=pairs):
            tensors = [laid_out(T, *pair)[1] for pair in pairs]
            found = outcome(T, ELEMENTWISE[name].function if T is nb else theirs(T, name), tensors)
            return [t.float() for t in found] if name in LESS_EXACT and isinstance(found, list) else found

        agree(program(nb), oracle.answer(program))


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
def test_reductions(name):
    for draws in Draws.many(20):
        array, layout = draws.array(draws.shape()), draws.choice(LAYOUTS)
        dims = [None, draws.integer(-3, 3), [draws.integer(-3, 2) for _ in range(draws.integer(0, 3))]]
        dim = draws.choice(dims)
        options = {} if dim is None else {"dim": dim, "keepdim": draws.choice([False, True])}

        def program(T, array=array, layout=layout, options=options):
            function = getattr(nb, name) if T is nb else theirs(T, name)
            return outcome(T, lambda t: function(t, **options), [laid_out(T, array, layout)[1]])

        agree(program(nb), oracle.answer(program))


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_dtypes(name):
    """Every combination of dtypes: the same dtype and values, or an error in both."""
    op = ELEMENTWISE[name]
    count = len(required(op))
    if count > 2:
        pytest.skip("promotion is the same for two")

    def program(T):
        found, function = [], op.function if T is nb else theirs(T, name)
        for kinds in itertools.product(DTYPES, repeat=count):
            tensors = [T.tensor([0, 1, 1, 0]).to(getattr(T, kind)) for kind in kinds]
            found.append(outcome(T, function, tensors))
        return found

    for kinds, ours, expected in zip(
        itertools.product(DTYPES, repeat=count), program(nb), oracle.answer(program), strict=True
    ):
        unsigned = any(kind.startswith("uint") for kind in kinds)
        if unsigned and isinstance(expected, oracle.Raised) and expected.kind == "NotImplementedError":
            continue  # as docs/differences.md says
        agree(ours, expected)
