"""Attention as one node: next to PyTorch, and next to the same attention step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import attention as kernels
from nbautograd._engine.core import tracing
from nbautograd.nn.functional import attention as attention_module, fused_attention
from tests import oracle

SHAPES = [((40, 8), (30, 8), (30, 5)), ((3, 40, 8), (3, 30, 8), (3, 30, 5)), ((2, 3, 16, 8),) * 3,
          ((2, 2, 3, 16, 4), (2, 2, 3, 8, 4), (2, 2, 3, 8, 6))]  # fmt: skip
MASKS = ("none", "causal", "bool", "numbers", "nothing allowed", "large scores", "one large row", "permuted", "scale")


def attention(torch: Any, shapes: Any, mask: str, dtype: str) -> list[Any]:
    """The output and the gradients."""
    generator = np.random.default_rng(0)
    kind = getattr(torch, dtype)
    leaves = [torch.tensor(generator.normal(size=shape), dtype=kind, requires_grad=True) for shape in shapes]
    query, key, value = leaves
    length, sources = query.shape[-2], key.shape[-2]
    options: dict[str, Any] = {"is_causal": True} if mask == "causal" else {}
    if mask in ("bool", "nothing allowed"):
        allowed = torch.tensor(generator.random((length, sources)) < 0.7)
        if mask == "nothing allowed":
            allowed[3] = False
        options["attn_mask"] = allowed
    elif mask == "numbers":
        options["attn_mask"] = torch.tensor(generator.normal(size=(*key.shape[:-2], length, sources)), dtype=kind)
    elif mask == "large scores":
        query = query * 100
    elif mask == "one large row":
        factors = torch.ones(length, 1, dtype=kind)
        factors[2] = 100
        query = query * factors
    elif mask == "permuted":
        query, key, value = (t.transpose(-1, -2).clone().transpose(-1, -2) for t in (query, key, value))
    elif mask == "scale":
        options["scale"] = -0.3
    query.retain_grad()  # its rounding may be multiplied on the way to the leaf
    output = torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)
    (output * output.detach().cos()).sum().backward()
    return [output, query.grad, *(leaf.grad for leaf in leaves[mask in ("large scores", "one large row") :])]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_output_and_gradients_are_those_of_pytorch(shapes: Any, mask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_attention, "MIN_SIZE", 1)
    for dtype in ("float64", "float32"):
        theirs = oracle.answer(attention, shapes, mask, dtype)
        for tile in (1 << 8, kernels.TILE_SIZE):
            monkeypatch.setattr(kernels, "TILE_SIZE", tile)
            oracle.close(attention(nb, shapes, mask, dtype), theirs)


def test_attention_is_one_node_where_pytorch_says_so_and_never_a_traced_one() -> None:
    def program(library: Any) -> Any:
        names: list[Any] = []
        q = library.ones(2, 4, 64, 8, requires_grad=True)
        small, wide = (library.ones(1, 2, 3, n, requires_grad=True) for n in (4, 5))
        function = library.nn.functional.scaled_dot_product_attention
        for query in (q, library.ones(2, 64, 4, 8, requires_grad=True).transpose(1, 2), small, small.double()):
            output = function(query, query, query, is_causal=True)
            names.append((type(output.grad_fn).__name__, output.stride()))
        results = [function(q[:, :, :4], q, q), function(small, small, small, enable_gqa=True)]
        for shape in ((3, 3), (2, 3, 3), (1, 1, 3, 3)):
            results.append(function(small, small, small, library.zeros(shape)))
            results.append(function(small, small, small, library.zeros(shape, requires_grad=True)))
        results += [function(small, small, wide), function(small[0], small[0], small[0])]
        return names + [type(result.grad_fn).__name__.startswith("ScaledDotProduct") for result in results]

    oracle.check(program)
    q = nb.ones(2, 4, 64, 8, requires_grad=True)
    with tracing.traced():
        output = nb.nn.functional.scaled_dot_product_attention(q, q, q)
        assert "Attention" not in type(output.grad_fn).__name__


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.2}], ids=str)
def test_derivatives_of_derivatives_are_those_of_the_steps(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def derivatives(T: Any) -> list[Any]:
        x = T.tensor(np.random.default_rng(0).normal(size=(2, 3, 4)), requires_grad=True)
        key = x * 2  # which depends on the query
        with T.nn.attention.sdpa_kernel([T.nn.attention.SDPBackend.MATH]):  # which PyTorch can differentiate twice
            output = T.nn.functional.scaled_dot_product_attention(x, key, x.sin(), **options)
        (g,) = T.autograd.grad((output**2).sum(), x, create_graph=True)
        (second,) = T.autograd.grad((g**3).sum(), x, create_graph=True)
        return [g, *T.autograd.grad(second.sum(), [x])]

    theirs = oracle.answer(derivatives)
    for is_one_node in (True, False):
        monkeypatch.setattr(attention_module, "is_fused", lambda *_, answer=is_one_node: answer)
        oracle.close(derivatives(nb), theirs)


def test_gradients_are_those_of_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_attention, "MIN_SIZE", 1)
    mask = nb.tensor([[True, False, True], [False, False, False], [True, True, True], [False, True, True]])
    leaves = [nb.randn(2, n, 3, dtype=nb.float64, requires_grad=True) for n in (4, 3, 3)]
    for options in ({}, {"is_causal": True}, {"attn_mask": mask}):
        assert nb.autograd.gradcheck(
            lambda *t, o=options: nb.nn.functional.scaled_dot_product_attention(*t, **o), leaves
        )


def test_only_some_gradients_and_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_attention, "MIN_SIZE", 1)
    q, k, v = (nb.randn(3, 5, 4, requires_grad=i == 1) for i in range(3))
    nb.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()
    assert k.grad is not None and q.grad is None and v.grad is None
    with nb.no_grad():
        assert nb.nn.functional.scaled_dot_product_attention(q, k, v).grad_fn is None


@pytest.mark.parametrize("scale", [1, 10, 40, 100, 1e4])
def test_softmax_of_large_rows(scale: float) -> None:
    """Check that the result does not depend on the scale, on which the subtracted maximum depends."""
    x = np.random.default_rng(0).normal(size=(300, 70)).astype(np.float32) * scale
    x[0], x[1, 3], x[2, 4], x[3], x[4, 5] = -np.inf, np.nan, np.inf, -200, -np.inf
    for name in ("softmax", "log_softmax", "logsumexp"):
        oracle.check(lambda T, name=name: getattr(T, name)(T.tensor(x), 1))


def test_no_softmax_of_nothing_allowed_is_nan() -> None:
    x = nb.full((200, 100), -math.inf)
    assert nb.isnan(nb.softmax(x, 1)).all() and nb.isnan(nb.log_softmax(x, 1)).all()
