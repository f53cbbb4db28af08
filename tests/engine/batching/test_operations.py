"""Map every case of the operations over a batch: each sample has the result of its own call, also in PyTorch."""

from __future__ import annotations

import dataclasses
import warnings
from functools import partial

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.func import vmap
from tests import oracle
from tests.engine.ops import cases

SAMPLES = 3
REFUSED = {
    "mask": "boolean mask",
    "masked_select": "over `mask`",
    "F.rrelu training": "randomness error mode|we do not yet support",
}
"""Cases that raise inside vmap, also in PyTorch, and words of the message."""
CASES = [case for case in cases.CASES if case.shapes and case.name not in REFUSED]
WRITES = "set into zeros"
"""A case that writes into a tensor of zeros, which inside vmap is the same for all samples."""
OTHERWISE = {"index_fill tensor": "PyTorch takes the first sample's value for all"}
TANGENTS, ALL = ("own_tangents",), ("several_cotangents_at_once", "own_gradients", "own_tangents")
NOT_ASKED = {
    "polygamma 1": ("values", *ALL),  # PyTorch's trigamma is a short series, right to 9 digits
    **dict.fromkeys(("digamma", "digamma negative", "polygamma 0"), ALL),  # likewise, as their derivative
    "hardsigmoid": ALL,  # PyTorch multiplies by a sixth in float32
    "logcumsumexp": TANGENTS,  # right to 12 digits
    **dict.fromkeys(("cholesky_inverse", "cholesky_inverse upper"), TANGENTS),  # PyTorch's are not its differences
    **dict.fromkeys(("scatter_reduce prod", "scatter_reduce prod itself"), TANGENTS),  # PyTorch says zeros
}
"""Parts of a case that are not compared with PyTorch, where it is wrong or inaccurate."""
LAYOUT = "as_strided complex istft"
"""Words in the names of cases whose results depend on a sample's memory layout: only mapped over dimension 0."""


def variants(case):
    """The arguments of each sample."""
    return [dataclasses.replace(case, seed=seed).arrays() for seed in range(SAMPLES)]


def batches(library, samples, dims):
    """The arguments of all samples; that of the first one where ``dims`` says None."""
    columns = zip(*samples, strict=True)
    return [
        library.tensor(column[0]) if d is None else library.stack([library.tensor(a) for a in column], d)
        for column, d in zip(columns, dims, strict=True)
    ]


def patterns(case):
    """The ``in_dims`` that are tried: all arguments, in the last dimension, and each argument alone."""
    n = len(case.shapes)
    yield (0,) * n
    if not any(word in case.name for word in LAYOUT.split()):
        yield (-1,) * n
    if n > 1:
        for alone in range(n):
            yield tuple(0 if i == alone else None for i in range(n))


def mapped(T, case, samples, dims):
    """Return the result of vmap."""
    return T.vmap(lambda *xs: case.call(T, *xs), in_dims=dims)(*batches(T, samples, dims))


def one_by_one(T, case, samples, dims):
    """Return the results of one call for each sample."""
    inputs = batches(T, samples, dims)
    alone = [
        [x if d is None else T.tensor(a) for x, a, d in zip(inputs, sample, dims, strict=True)] for sample in samples
    ]
    return T.stack([case.call(T, *arguments) for arguments in alone])


def if_it_can(program, *inputs):
    """The result of a program; None where PyTorch has no rule."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return program(*inputs)
        except (RuntimeError, ValueError, IndexError):
            return None


def alike(way, other, theirs, *inputs):
    """Compare two ways with PyTorch's answer; with each other, where it has none."""
    if theirs is None:
        oracle.agree(way, other, *inputs)
    else:
        oracle.close(way(*inputs), theirs)
        oracle.close(other(*inputs), theirs)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_sample_has_its_own_result_and_pytorchs(case):
    samples = variants(case)
    for dims in patterns(case):

        def program(T, dims=dims):
            is_alike = case.oracle and case.name not in (*OTHERWISE, "polygamma 1")
            both = if_it_can(mapped, T, case, samples, dims) if is_alike else None
            alone = None if "values" in NOT_ASKED.get(case.name, ()) else if_it_can(one_by_one, T, case, samples, dims)
            return both, alone

        theirs, theirs_alone = oracle.answer(program).parts
        try:
            result = mapped(nb, case, samples, dims)
        except RuntimeError as error:  # a written tensor is the same for all samples
            assert "inplace arithmetic" in str(error) and (None in dims or case.name == WRITES)
            assert theirs is None
            continue
        if theirs is not None:
            oracle.close(result, theirs)
        alike(lambda _, found=result: found, partial(one_by_one, nb, case, dims=dims), theirs_alone, samples)


MORE = {
    "unfold of no dimension": (lambda x: x.unfold(0, 1, 1), ()),
    "index_reduce of the sample's index": (
        lambda x: x.index_reduce(0, (x[:2] * 0).sum(1).long(), x[:2] * 2, "amax"),
        (3, 2),
    ),
    "quantile of the sample": (lambda x: x.quantile(x[0].sigmoid()), (4,)),
    "taken along": (lambda x: x.take_along_dim(x.argsort(1), 1), (3, 4)),
    "multilabel margin": (lambda x: nb.nn.functional.multilabel_margin_loss(x, x.argsort(1)), (2, 3)),
    "fill": (lambda x: nb.zeros_like(x).fill_(x[0, 0]), (2, 3)),
    "argmax": (lambda x: nb.stack([x.argmax(), x.argmin(1).sum(), x.argmax(0, True).sum()]), (2, 3)),
    "both extremes": (lambda x: nb.stack([*x.aminmax(), *x.sum().aminmax()]), (2, 3)),
    "of no dimension": (lambda x: x.softmax(0) + x.cumsum(0) + x.sort(0)[0] + x.max(0)[0] + x.sum(0) + x.squeeze(), ()),
    "empty": (lambda x: nb.cat([x[:0], x]).sum(0) + x[:0].sum(0) + x.new_ones(0).sum(), (2, 3)),
    "einsum": (lambda x: nb.einsum("ij,ik->jk", x, x.exp()), (3, 2)),
    "norms": (lambda x: x.norm() + nb.linalg.norm(x, 2) + x.norm(dim=0).sum() + nb.linalg.vector_norm(x, 1), (3, 2)),
    "searchsorted": (lambda x: nb.searchsorted(x.sort()[0], x * 0.5), (5,)),
    "complex": (lambda x: nb.fft.fft(x).abs() + nb.complex(x, x).angle(), (4,)),
}


@pytest.mark.parametrize("name", MORE)
def test_more_programs(name):
    program, shape = MORE[name]
    oracle.agree(
        lambda x: vmap(program)(nb.tensor(x)),
        lambda x: nb.stack([program(sample) for sample in nb.tensor(x)]),
        np.random.default_rng(0).standard_normal((4, *shape)),
    )


@pytest.mark.parametrize("name", sorted(REFUSED))
@oracle.both
def test_refused(T, name):
    case = next(case for case in cases.CASES if case.name == name)
    with pytest.raises(RuntimeError, match=REFUSED[name]):
        mapped(T, case, variants(case), (0,) * len(case.shapes))


def weights(T, case, result, count):
    rng = np.random.default_rng(case.seed)
    return T.tensor(rng.standard_normal((count, *result.shape))).to(result.dtype)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_sample_has_its_own_derivatives(case):
    samples = variants(case)
    result = case.call(nb, *map(nb.tensor, samples[0]))
    if result.dtype.rank < 2:
        pytest.skip("nothing to differentiate")
    ways = [several_cotangents_at_once] + ([own_gradients, own_tangents] if case.name != WRITES else [])
    for way in ways:
        is_asked = case.oracle and way.__name__ not in NOT_ASKED.get(case.name, ())
        theirs = oracle.answer(lambda T, way=way: if_it_can(way, T, case, samples, False)) if is_asked else None
        alike(
            lambda samples, way=way: way(nb, case, samples, True),
            lambda samples, way=way: way(nb, case, samples, False),
            theirs,
            samples,
        )


def several_cotangents_at_once(T, case, samples, are_mapped):
    result, product = T.func.vjp(lambda *xs: case.call(T, *xs), *map(T.tensor, samples[0]))
    cotangents = weights(T, case, result, SAMPLES)
    if are_mapped:
        return list(T.vmap(product)(cotangents))
    return [T.stack(list(column)) for column in zip(*map(product, cotangents), strict=True)]


def own_gradients(T, case, samples, are_mapped):
    (w,) = weights(T, case, case.call(T, *map(T.tensor, samples[0])), 1)

    def loss(*xs):
        weighted = case.call(T, *xs) * w
        return (T.view_as_real(weighted) if weighted.is_complex() else weighted).sum()

    dims = (0,) * len(case.shapes)
    gradient = T.func.grad(loss, argnums=tuple(range(len(dims))))
    if are_mapped:
        return list(T.vmap(gradient)(*batches(T, samples, dims)))
    found = (gradient(*map(T.tensor, sample)) for sample in samples)
    return [T.stack(list(column)) for column in zip(*found, strict=True)]


def own_tangents(T, case, samples, are_mapped):
    rng = np.random.default_rng(case.seed)
    directions = [T.tensor(rng.standard_normal((SAMPLES, *shape))) for shape in case.shapes]

    def tangent(xs, ts):
        return T.func.jvp(lambda *xs: case.call(T, *xs), tuple(xs), tuple(ts))[1]

    if are_mapped:
        return T.vmap(tangent)(batches(T, samples, (0,) * len(case.shapes)), directions)
    return T.stack([tangent(map(T.tensor, sample), [t[i] for t in directions]) for i, sample in enumerate(samples)])
