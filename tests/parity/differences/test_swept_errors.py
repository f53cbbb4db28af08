"""Errors of single calls, and which of two comes first: findings of random programs, with their siblings."""

from __future__ import annotations

import itertools
from typing import Any

from tests.parity.differences.both import agrees
from tests.parity.differences.test_swept_calls import outcomes

LOSSES = ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss", "binary_cross_entropy",
          "binary_cross_entropy_with_logits", "poisson_nll_loss", "multilabel_margin_loss", "multi_margin_loss",
          "nll_loss", "cross_entropy", "multilabel_soft_margin_loss", "hinge_embedding_loss")  # fmt: skip
POINTWISE = ("sin(x", "add(x, 1", "where(x > 0, x, x", "clamp(x, 0", "eq(x, 0", "logical_and(x, x",
             "special.airy_ai(x", "special.erfinv(x", "hypot(x, x", "cumsum(x, 0", "amax(x, 0", "sum(x, 0",
             "cat((x, x)", "gather(x, 0, i[:, :1]", "histc(x, 5")  # fmt: skip
CALLS: dict[str, tuple[str, ...]] = {
    "an expanded out= of another size": tuple(f"T.{call}, out=T.zeros(1).expand(4))" for call in POINTWISE),
    "a reduction that does not exist, and shapes that do not match": tuple(
        f"T.nn.functional.{name}(x, T.zeros(4, 5), reduction='abc')" for name in LOSSES
    ),
    "losses of three tensors": tuple(
        f"T.nn.functional.{name}_loss(x, T.zeros(3, 3), x[0], reduction='abc')"
        for name in ("margin_ranking", "cosine_embedding", "triplet_margin", "triplet_margin_with_distance")
    ),
    "slices by index": tuple(
        f"T.{name}(x, 0, {index}, {source}{more})"
        for name, more in (("index_add", ""), ("index_copy", ""), ("index_reduce", ", 'amax'"))
        for index in ("i[0, :1]", "i[0, :1] + 9", "x[0, :1]", "i")
        for source in ("x", "x[:1]", "x[0, 0]", "x[:1, :2]", "i[:1]")
    ),
    "indices of a vector and of a number": tuple(
        f"T.{name}({'x[0, 0]' if scalar else 'x[0]'}, 0, {index}, {source}{more})"
        for scalar in (False, True)
        for name, more in (("index_add", ""), ("index_reduce", ", 'amax'"))
        for index in ("i[0, :1]", "i[0, 0]")
        for source in ("x[0, 0]", "x[0, :1]")
    ),
    "replication with less than nothing": tuple(
        f"{tensor}.{what}"
        for pads in ((-4, 5), (5, -4), (-5, 10), (10, -5), (-3, 5), (1, -2), (-1, 0))
        for tensor in (f"T.nn.functional.pad(g, {pads}, 'replicate')",)
        for what in ("shape", "sum().backward() or g.grad.tolist()")
    ),
    "kernels of size 0": tuple(
        f"T.nn.functional.{call})"
        for call in (
            *("conv1d(x[None], T.zeros(2, 2, 0)", "conv2d(x[None, None], T.zeros(1, 1, 3, 0), padding=2"),
            *("conv_transpose1d(x[None], T.zeros(2, 2, 0)", "conv3d(x[None, None, None], T.zeros(1, 1, 0, 1, 1)"),
        )
    ),
    "attention without samples": tuple(
        f"T.nn.{layer}(T.ones({shape}){more}"
        for shape in ("0, 3", "0, 2, 3", "2, 0, 3")
        for layer, more in (
            ("TransformerEncoderLayer(3, 1, 4, dropout=0.0)", ")"),
            ("MultiheadAttention(3, 1)", f", T.ones({shape}), T.ones({shape}))"),
            ("MultiheadAttention(3, 1)", f", T.ones({shape}), T.ones({shape}), need_weights=False)"),
        )
    ),
    "tolerances": tuple(
        f"T.linalg.{name}(s, {option}={value})"
        for name in ("pinv", "matrix_rank")
        for option in ("atol", "rtol")
        for value in ("[0]", "'a'", "(0, 1)", "0.1", "0", "x[0, 0]")
    ),
    "matrices": (
        *("T.linalg.ldl_solve(s, i[0, :2].int() + 1, T.ones(3, 4))", "T.cholesky_solve(T.ones(3, 4), s)"),
        *("T.linalg.lu_solve(s, i[0, :2].int() + 1, T.ones(3, 4))", "T.linalg.cross(x > 0, x > 0)"),
        *("T.cross(x > 0, x > 0, dim=1)", "T.linalg.cross(x, x, out=x)", "T.cross(x, x, dim=1, out=x)"),
        *("T.tensordot(s, s, (0, 1))", "T.tensordot(s, s, ((0, 1), 1))", "T.tensordot(s, s, ([0], [1]))"),
        *("T.inner(x, x, out=o.double())", "T.inner(x[0], x[0], out=o.double())", "T.corrcoef(q)"),
        *("T.nn.functional.bilinear(x, x, x[0])", "T.nn.functional.bilinear(x, x, x)"),
    ),
    "numbers that wrap or do not fit": (
        *(
            f"T.linspace({ends}, 3, dtype=T.uint8).tolist()"
            for ends in ("0, -5", "5, -5", "-1, 300", "0, 5", "-300, 0")
        ),
        *(f"T.linspace({ends}, 3, dtype=T.int8).tolist()" for ends in ("5, -5", "200, 0", "0, -129", "1.7, -1.7")),
        *(f"T.where(u > 0, {pair}).tolist()" for pair in ("u, 300", "300, u", "u, -1", "u, -300", "i[:, :2], 300")),
        *("u.where(u > 0, 300)", "T.where(u > 0, u > 0, 300).tolist()", "T.where(u > 0, 2.5, u).tolist()"),
        *(
            "T.tensor([1j, 0]).bool().tolist()",
            "T.tensor([1j, 0]).to(T.bool).tolist()",
            "(x > 9)[0].copy_(1j).tolist()",
        ),
        *("(x > 9)[0, :2].copy_(T.tensor([1j, 0])).tolist()", "T.mvlgamma(T.tensor([-T.inf, T.inf]), 2).tolist()"),
        *("T.diag_embed(x[0, 0])", "T.diag_embed(x[0, 0], offset=2)"),
        *(
            f"T.nn.functional.avg_pool3d(T.ones(1, 6, 5, {n}), (4, 5, 6), 2, 2, {ceil}).shape"
            for n in (1, 6)
            for ceil in (True, False)
        ),
    ),
    "elements": (
        *("T.roll(e, 1, 2)", "T.roll(e, (1, 2), 2)", "T.roll(x, 1, 2)", "T.renorm(x, 2, 1, float('nan'))"),
        *("T.trapz(x[0], x)", "T.trapz(x[0], x[:1])", "T.trapezoid(x, x)", "T.cumulative_trapezoid(x[0], x[:1])"),
        *("T.take_along_dim(x, i.int())", "T.take_along_dim(x, i.int(), 1)", "T.arange(None)", "T.arange(0, 3, None)"),
        *("T.nn.functional.pixel_shuffle(x[..., None], 2**40)", "T.randn((2,), device=(0, 1), out=o)"),
        *("T.bernoulli(g / 9, out=o)", "T.bernoulli(x / 9, out=o)", "T.nn.functional.smooth_l1_loss(x, x > 2, beta=0)"),
        *("T.diff(g, n=1, out=o)", "T.diff(x, n=1, out=o)", "T.diff(x, n=2, out=i)", "T.func.jvp(T.sin, ([],), ([],))"),
        *("T.nn.functional.embedding_bag(i, i[:, :2])", "T.nn.functional.embedding_bag(i, x.cfloat())"),
        "T.nn.functional.embedding_bag(i, x, i[0], sparse=True, scale_grad_by_freq=True)",
        *("T.nn.RMSNorm(3)(c)", "T.nn.RMSNorm(3)(x.double())"),
    ),
}
"""Each call is a product of a function and of arguments."""


@agrees(exact=True)
def test_errors_of_single_calls(torch: Any) -> Any:
    return outcomes(torch, itertools.chain(*CALLS.values()))
