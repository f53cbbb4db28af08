"""Every case of the operations: mapped over a batch, each sample has what a call of its own gives; so in PyTorch."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.func import grad, jvp, vjp, vmap
from tests import needs
from tests.ops import cases

torch = needs.package("torch")

SAMPLES = 3
REFUSED = {
    "mask": "boolean mask",
    "masked_select": "over `mask`",
    "F.rrelu training": "randomness error mode|we do not yet support",
}
"""Cases that raise inside of vmap, in PyTorch too, and words of the message."""
CASES = [case for case in cases.CASES if case.shapes and case.name not in REFUSED]
WRITES = "set into zeros"
"""A case that writes into a tensor of zeros, which inside of vmap is one for all samples."""
OTHERWISE = {"index_fill tensor": "PyTorch takes the first sample's value for all"}
LAYOUT = "as_strided complex istft"
"""Words in the names of cases whose results depend on how a sample lies in memory: only mapped over dimension 0."""


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


def numbers(t):
    return t.detach().resolve_conj().numpy()


def close(ours, theirs):
    np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_sample_has_its_own_result_and_pytorchs(case):
    samples = variants(case)
    for dims in patterns(case):
        inputs = batches(nb, samples, dims)
        alone = [
            [x if d is None else nb.tensor(a) for x, a, d in zip(inputs, sample, dims, strict=True)]
            for sample in samples
        ]
        expected = nb.stack([case.call(nb, *arguments) for arguments in alone])
        theirs = in_pytorch(case, samples, dims) if case.oracle and case.name not in OTHERWISE else None
        try:
            result = vmap(lambda *xs: case.call(nb, *xs), in_dims=dims)(*inputs)
        except RuntimeError as error:  # what is written to is one for all samples
            assert "inplace arithmetic" in str(error) and (None in dims or case.name == WRITES)
            assert theirs is None
            continue
        assert result.dtype == expected.dtype
        close(result, expected)
        if theirs is not None:
            assert str(result.dtype) == str(theirs.dtype)
            close(result, theirs)


def in_pytorch(case, samples, dims):
    """What PyTorch's vmap gives; None where it has no rule."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.vmap(lambda *xs: case.call(torch, *xs), in_dims=dims)(*batches(torch, samples, dims))
        except (RuntimeError, ValueError, IndexError):
            return None


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
    x = nb.tensor(np.random.default_rng(0).standard_normal((4, *shape)))
    result, expected = vmap(program)(x), nb.stack([program(sample) for sample in x])
    assert result.dtype == expected.dtype
    close(result, expected)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name):
    case = next(case for case in cases.CASES if case.name == name)
    for library in (nb, torch):
        inputs = batches(library, variants(case), (0,) * len(case.shapes))
        with pytest.raises(RuntimeError, match=REFUSED[name]):
            library.vmap(lambda *xs, library=library: case.call(library, *xs))(*inputs)


def weights(case, result, count):
    rng = np.random.default_rng(case.seed)
    return nb.tensor(rng.standard_normal((count, *result.shape))).to(result.dtype)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_sample_has_its_own_derivatives(case):
    samples = [list(map(nb.tensor, sample)) for sample in variants(case)]
    result, product = vjp(lambda *xs: case.call(nb, *xs), *samples[0])
    if result.dtype.rank < 2:
        pytest.skip("nothing to differentiate")
    several_cotangents_at_once(case, result, product)
    if case.name != WRITES:
        own_gradients(case, samples, result)
        own_tangents(case, samples)


def several_cotangents_at_once(case, result, product):
    cotangents = weights(case, result, SAMPLES)
    expected = [nb.stack(list(column)) for column in zip(*map(product, cotangents), strict=True)]
    for ours, alone in zip(vmap(product)(cotangents), expected, strict=True):
        close(ours, alone)


def own_gradients(case, samples, result):
    (w,) = weights(case, result, 1)

    def loss(*xs):
        weighted = case.call(nb, *xs) * w
        return (nb.view_as_real(weighted) if weighted.is_complex() else weighted).sum()

    gradient = grad(loss, argnums=tuple(range(len(case.shapes))))
    expected = [nb.stack(list(column)) for column in zip(*(gradient(*sample) for sample in samples), strict=True)]
    mapped = vmap(gradient)(*batches(nb, variants(case), (0,) * len(case.shapes)))
    for ours, alone in zip(mapped, expected, strict=True):
        close(ours, alone)


def own_tangents(case, samples):
    rng = np.random.default_rng(case.seed)
    directions = [nb.tensor(rng.standard_normal((SAMPLES, *shape))) for shape in case.shapes]

    def tangent(xs, ts):
        return jvp(lambda *xs: case.call(nb, *xs), tuple(xs), tuple(ts))[1]

    expected = nb.stack([tangent(sample, [t[i] for t in directions]) for i, sample in enumerate(samples)])
    close(vmap(tangent)(batches(nb, variants(case), (0,) * len(case.shapes)), directions), expected)
