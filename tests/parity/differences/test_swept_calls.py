"""Nodes, dtypes, shapes, errors and warnings of single calls: findings of random programs, with their siblings."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable
from typing import Any

from tests.parity.differences.both import agrees

FAMILIES: dict[str, tuple[str, ...]] = {
    "nodes": (
        *("1.5 % g", "g.__rmod__(2)", "T.histogram(g, 3)", "T.histogram(x, x[0])", "T.histogramdd(g, [2, 2, 2])"),
        *("T.clamp(g, g)", "T.clamp(g, None, g)", "g.clip(x)", "T.clamp_min(g, g)", "T.renorm(g, 2, 0, 1.0)"),
        *("T.linalg.vecdot(g[0], g[0])", "T.linalg.vecdot(g, g)", "T.unique(g, dim=0)", "T.unique(g)"),
        *("T.triangular_solve(s * g[0, 0], s)", "T.nn.functional.triplet_margin_loss(g, x, x)"),
        *("T.nn.functional.margin_ranking_loss(g[0], x[0], x[0])", "T.nn.functional.linear(g[:0], x, x[:, 0])"),
        *("T.linalg.matrix_norm(g, 'nuc', (-1, 0), True)", "T.linalg.matrix_norm(g, 2, keepdim=True)"),
        "T.stft(T.ones(20, requires_grad=True), 8, window=T.ones(8), return_complex=True)",
        "T.ones(1, 2, 2, 2, requires_grad=True).half(memory_format=T.channels_last)",
        "T.ones(1, 2, 2, 2, requires_grad=True).to(memory_format=T.channels_last)",
    ),
    "out= of what requires grad": (
        *("T.quantile(g, 0.5, out=o)", "T.inner(g, g, out=o)", "T.tensordot(g, g, out=o)", "T.linalg.norm(g, out=o)"),
        *(
            "T.linalg.cond(s * g[0, 0], out=o)",
            "T.linalg.matrix_norm(g, out=o)",
            "T.exp(g, out=o)",
            "T.add(g, g, out=o)",
        ),
        *("T.linalg.vector_norm(g, out=o)", "T.nanquantile(g, 0.5, out=o)"),
    ),
    "out= of another dtype than dtype=": tuple(
        f"T.{name}, dtype=T.float64, out=o)"
        for name in ("cumsum(x, 0", "cumprod(x, 0", "prod(x, 0", "softmax(x, 0", "linalg.norm(x", "nansum(x, 0")
    ),
    "pooling and sampling": (
        "T.nn.functional.fractional_max_pool3d(T.ones(0, 1, 4, 5, 4), (2, 2, 1), output_size=2)",
        "T.nn.functional.fractional_max_pool3d(T.ones(1, 1, 3, 5, 4), (2, 2, 1), output_size=2)",
        *("T.nn.functional.interpolate(x[None], 3, mode=1)", "T.nn.functional.interpolate(x[None], True)"),
        *("T.nn.functional.interpolate(x[None], 3, align_corners=1)", "T.nn.functional.interpolate(x[None], 'x')"),
        "T.nn.functional.interpolate(x[None], 3, mode='linear', align_corners=1)",
        "T.nn.functional.interpolate(x[None], scale_factor=1.7, recompute_scale_factor=1)",
        "T.nn.functional.ctc_loss(g[:, None], i[:1, :1], (2,), (1,), reduction='none', zero_infinity=True)",
        "T.nn.functional.ctc_loss(g[:, None], i[:1, :1], (2,), (1,), reduction='none')",
        "T.nn.functional.binary_cross_entropy_with_logits(x, x, weight=1)",
    ),
    "jacobians without elements": (
        *("T.func.jacrev(lambda x: x * x)(g[:0])", "T.func.jacfwd(lambda x: x * x)(g[:0])"),
        *("T.func.jacrev(lambda x: x * 2)(g[:0])", "T.func.jacrev(lambda x: x.exp())(x[:0])"),
        *("T.func.vjp(lambda x: x.long(), x)[0]", "T.func.vjp(lambda x: x * 2, x)[0]"),
    ),
    "empty and 0-d": (
        *(
            "T.cholesky(T.zeros(0, 0, dtype=T.int64))",
            "T.linalg.cond(T.zeros(2, 0, 3))",
            "T.linalg.cond(T.zeros(0, 0))",
        ),
        *("T.kthvalue(x[:, :0], 1)", "T.kthvalue(c[0, 0], 1)", "T.kthvalue(c, 1)", "T.mode(c[0, 0])", "T.mode(c)"),
        *("T.cummax(c[0, 0], 0)", "T.cummax(c, 0)", "T.cummin(c[0, 0], 0)", "T.take_along_dim(x[0, 0], i[0, 0], 0)"),
    ),
    "ranges and indices": (
        *("T.arange(0, 3.1, dtype=T.uint8)", "T.arange(0, -3.9, -1, dtype=T.int32)", "T.arange(0, 3.1, dtype=T.int64)"),
        *(
            "T.take_along_dim(x, i + 9)",
            "T.take_along_dim(x, -i)",
            "T.take_along_dim(x, i, 0)",
            "T.take_along_dim(x, i)",
        ),
        *(
            "T.nonzero(x, as_tuple=True, out=i)",
            "T.index_reduce(c, 0, i[0, :2], c, 'mean')",
            "T.index_reduce(c[0], 0, i[0], c[0], 'mean')",
        ),
        *("T.scatter_reduce(c, 0, i, c * g, 'sum')", "T.scatter_reduce(c, 0, i, c, 'sum')"),
    ),
    "losses": (
        *("T.nn.functional.huber_loss(i, x)", "T.nn.functional.huber_loss(x, i)", "T.nn.functional.huber_loss(i, i)"),
        *("T.nn.functional.huber_loss(x.half(), x)", "T.nn.functional.huber_loss(x, x.double())"),
        *("T.nn.functional.gaussian_nll_loss(i, i, i + 1)", "T.nn.functional.gaussian_nll_loss(x, x, x)"),
        *("T.nn.functional.rms_norm(x, (3,), x[0].half())", "T.nn.functional.rms_norm(x, (3,), x[0])"),
        "T.nn.functional.embedding_bag(x, i[0], offsets=i[0, :1], mode='sum', per_sample_weights=x[0])",
    ),
    "options": (
        *("T.lu(s, get_infos=True)[2]", "T.lu(s, True, 3)[2]", "T.lu(s, 1)", "s.lu(get_infos=True)", "s.lu(True, 0)"),
        *("T.multinomial(x, 2, replacement=1)", "T.histogram(x, True)", "T.linalg.matrix_rank(x, hermitian=1)"),
        *("T.linalg.cholesky_ex(s, upper=1)", "T.fill(x, None)", "T.full((2,), None)", "T.full_like(x, None)"),
        *("T.masked_fill(x, x > 0, None)", "T.index_fill(x, 0, i[0], None)", "T.ones(2, requires_grad=None)"),
        *("T.nn.functional.max_pool1d(x, 2, return_indices=1)", "T.nn.functional.adaptive_max_pool1d(x, 2, 1)"),
        *("T.nn.functional.dropout(x, 0.0, 1)", "T.nn.functional.alpha_dropout(x, 0.5, 0)", "T.fft.fft2(x, s=True)"),
        *("T.fft.rfft2(x, dim=None)", "T.fft.fftn(x, dim=None)", "T.linalg.matrix_norm(x, 'nuc', 0)"),
        "T.stft(T.ones(20).bfloat16(), 8, window=T.ones(8), return_complex=True)",
    ),
}


def described(value: Any) -> str:
    """Return what is known of a value but its numbers."""
    if hasattr(value, "grad_fn"):
        node = value.grad_fn.name().rpartition(":")[2].rstrip("0123456789") if value.grad_fn else ""
        return f"{value.dtype} {list(value.shape)} {value.requires_grad} {node}"
    return f"{type(value).__name__} {[described(item) for item in value]}" if isinstance(value, tuple) else str(value)


FURTHER: dict[str, tuple[str, ...]] = {
    "options": (
        *("T.add(x, x, alpha=True)", "T.sub(x, x, alpha=True)", "T.rsub(x, x, alpha=True)", "T.add(x, 2, alpha=True)"),
        *("T.add(x > 2, x > 2, alpha=True)", "T.addr(s, s[0], s[0], beta=True)", "T.sub(u, u, alpha=300)"),
        *("T.sub(u, u, alpha=-1)", "T.addmm(u, u, u, alpha=-1)", "T.index_add(u, 0, i[0, :2], u, alpha=-1)"),
        *("T.var(i, 1.5)", "T.var(x, True)", "T.std_mean(x, 'x')", "T.roll(x, 0.5, 0)", "T.roll(x, True, 0)"),
        *(
            "T.narrow(x, 0, 0.5, 1)",
            "T.narrow(x, 0, T.tensor(0), 1)",
            "T.linspace(0, None, 1)",
            "T.logspace(None, 1, 1)",
        ),
        *("T.triu_indices(0, 0, dtype=T.complex64, device=0.5)", "T.triu_indices(2, 2, 1.5)", "T.trapz(None, x > 2)"),
        *("T.trapezoid(x, dx=True)", "T.cumulative_trapezoid(x, dx=True)", "T.tensordot(x, x, dims=-1.5)"),
        *(
            "T.full((2,), [0])",
            "T.full_like(x, [0])",
            "x.new_full((), [0])",
            "T.fill(x, [0])",
            "T.masked_fill(x, x, None)",
        ),
        *("T.masked_fill(x, x > 2, [0])", "T.index_fill(x, 0, i[0], [0])", "x.bool(memory_format=0)"),
        *(
            "x.to(T.float64, 1)",
            "x.to(T.float64, non_blocking=1)",
            "x.to('cpu', copy=1)",
            "x.to(T.float64, True, False)",
        ),
        *("T.index_reduce(x, 0, i[0], x, 2)", "T.scatter_reduce(x, 0, i, x, 1j)"),
    ),
    "options of functional": tuple(
        f"T.nn.functional.{call})"
        for call in (
            *("kl_div(x, x, reduction='sum', log_target=1", "kl_div(x, x, size_average=1", "kl_div(x, x, reduction=1"),
            *(
                "embedding_bag(i, x, padding_idx=0.5",
                "embedding_bag(i, x, sparse=1",
                "one_hot(i, 2.5",
                "one_hot(i, None",
            ),
            *(
                "pairwise_distance(x, x, p=None",
                "pairwise_distance(x, x, keepdim=1",
                "pixel_shuffle(x[None, None], 2.0",
            ),
            *(
                "pixel_unshuffle(s[None, None], float('inf')",
                "grid_sample(s[None, None], s[None, None], align_corners=1",
            ),
            *("threshold(x, 1j, 2", "threshold(c, 1j, 2", "triplet_margin_loss(x, x, x, reduction=1"),
        )
    ),
    "products without elements": (
        *(
            "T.mm(e > 0, e.t() > 0)",
            "T.bmm(e[None] > 0, e.t()[None] > 0)",
            "T.mv(e > 0, e[0] > 0)",
            "(e > 0) @ (e.t() > 0)",
        ),
        *("T.tensordot(e > 0, e.t() > 0, 1)", "T.einsum('ij,jk->ik', e > 0, e.t() > 0)", "T.mm(s > 0, s > 0)"),
        *("T.linalg.pinv(e, hermitian=True)", "T.linalg.matrix_rank(e, hermitian=True)", "T.cdist(x, x[:0].double())"),
        *("T.linalg.pinv(x, hermitian=True)", "T.linalg.matrix_power(s[None, :, :][:0], -1)"),
        *("T.nn.functional.interpolate(x[None, :0], 2)", "T.gradient(x > 2)", "T.linalg.tensorinv(x[0, 0], ind=2)"),
    ),
    "out=": (
        *("T.clamp(i, 2, out=x)", "T.clamp(i, i, out=x)", "T.clamp_min(i, 2, out=x)", "T.clamp_max(i, i, out=x)"),
        *(
            "T.linalg.matrix_power(s, 2, out=o.double())",
            "T.cat([x], out=o.long())",
            "T.stack([x], out=o.long())",
            "T.dstack([x], out=o.long())",
        ),
        *("T.sum(x, 0, out=i[0])", "T.prod(x, 0, out=i[0])", "T.cumsum(x, 0, out=i)", "T.cumprod(x, 0, out=i)"),
        *("T.sum(x, 0, out=o.double())", "T.add(one, x, out=one)", "T.atan2(x, one, out=one)"),
        *("T.zeros(2, out=o, requires_grad=True)", "T.rand(2, out=o, requires_grad=True)", "T.eye(2, out=o)"),
        *("T.arange(2, out=o, requires_grad=True)", "T.full((2,), 1.0, out=o, requires_grad=True)"),
    ),
    "complex results without a derivative": (
        *("T.nn.functional.silu(q)", "T.geqrf(q)", "T.kthvalue(q[0, 0], 1)", "T.select_scatter(q, c[0], 0, 1)"),
        *("T.slice_scatter(q, c[:1], 0, 0, 1)", "T.diagonal_scatter(q, c[0, :2])", "T.select_scatter(c, q[0], 0, 1)"),
    ),
    "shapes": (
        *("T.unravel_index(u, (1 << 30, 4))", "T.unravel_index(T.tensor([3, 5]), 8)", "T.ormqr(s, s[0, :1], s)"),
        *(
            "T.linalg.pinv(s.expand(2, 2, 2), T.zeros(3))",
            "T.fft.rfftn(x[0, 0], dim=(0, -1))",
            "i.__setitem__(True, x)",
        ),
        *(
            "i.__setitem__((True,), x)",
            "T.nn.functional.avg_pool2d(x[0], 2)",
            "T.nn.functional.rms_norm(x[0, 0], (3,))",
        ),
        *("T.linalg.ldl_solve(s, i[0, :2].int(), s[0])", "T.tensordot(i[:, :1], i[:, :2], ([0, 1], [0, 1]))"),
        *("T.nn.functional.gaussian_nll_loss(x, x, x[0])", "T.nn.functional.gaussian_nll_loss(x, x, x[:1])"),
        *("T.nn.functional.multilabel_soft_margin_loss(x[0], i, reduction='none')", "T.tensordot(g, x)"),
        *(
            "[t.stride() for t in (i.t().trunc(), i.t().floor(), i.t().ceil(), i.t().round())]",
            "T.trapz(x > 2, dim=-3)",
        ),
        "T.nn.functional.pixel_unshuffle(T.ones(1, 2, 4, 4).to(memory_format=T.channels_last), 2).stride()",
    ),
    "transforms": (
        *("T.vmap(lambda x: x.sin(), chunk_size=1)(g[:1])", "T.vmap(lambda x: x.logsumexp(0))(g[0])"),
        *(
            "T.vmap(lambda x: x.std())(g[0])",
            "T.vmap(T.vmap(lambda x: x.norm()))(g)",
            "T.vmap(lambda x: x.sum(0))(g[0])",
        ),
    ),
    "half precision": (
        *("T.nn.functional.scaled_dot_product_attention(h, h, h, dropout_p=0.5)", "g.bfloat16().numpy()"),
        "T.nn.functional.scaled_dot_product_attention(h[0], h[0], h[0])",
    ),
}

MADE = ("zeros(2", "ones(2", "full((2,), 1.0", "eye(2", "arange(2", "linspace(0, 1, 2", "logspace(0, 1, 2", "rand(2",
        "randint(3, (2,)", "randperm(2", "fft.fftfreq(2", "fft.rfftfreq(2")  # fmt: skip
SUMS = ("sum", "prod", "mean", "cumsum", "cumprod")
SWEPT: dict[str, tuple[str, ...]] = {
    "creation into out=: requires_grad= is set": tuple(
        f"T.{call}, out={out}{flag})"
        for call in MADE
        for out in ("o", "x.data.requires_grad_()", "i")
        for flag in ("", ", requires_grad=True", ", requires_grad=False")
    ),
    "sums into out=": tuple(
        f"T.{name}({operand}, 0, out={out}{dtype})"
        for name in SUMS
        for operand in ("x", "i")
        for out in ("o", "i.clone()", "o.double()", "o.cfloat()", "'x'")
        for dtype in ("", ", dtype=None", ", dtype=T.float32", ", dtype=T.int64")
        if (name, operand, out) != ("mean", "x", "i.clone()")
    ),
    "arguments of another type come first": (
        *("T.linalg.solve_ex(x[0, 0], 'x')", "T.cov(x > 2, aweights=True)", "T.linalg.pinv(x[0, 0], rtol=(0, 1))"),
        "T.cumsum(2.5, 1, dtype=T.float32, out=o.double())",
        *("T.qr(i, out=o)", "T.triangular_solve(x[0, 0], x, out=o)", "T.remainder(x, x[:, :2], out='x')"),
        *("T.sum(x, 0, out='x')", "T.max(x, 0, out=o)", "T.kthvalue(x, 9, out=o)"),
        *("T.linalg.matrix_rank(x[0], 'x')", "T.nn.functional.embedding_bag(i, x, mode=1j)"),
        "T.nn.functional.ctc_loss(x > 2, x, i[0], i[0], zero_infinity=None)",
    ),
    "out= of a dtype": tuple(
        f"T.{call}, out=o.{dtype}())"
        for call in (
            "abs(x",
            "abs(c",
            "tensordot(x, x, 2",
            "linalg.norm(x",
            "quantile(x, 0.5",
            "cumsum(x, 0",
            "cumprod(i, 0",
        )
        for dtype in ("double", "float", "half", "cfloat", "bool")
    ),
    "out= that requires grad": tuple(
        f"T.enable_grad()(lambda: T.{call}, out={out}))()"
        for call in (
            "special.bessel_j0(x",
            "special.airy_ai(g",
            "histc(x, 3",
            "linalg.pinv(g",
            "special.ndtr(g",
            "exp(x",
        )
        for out in ("o", "o.requires_grad_()", "o.double()")
    ),
    "out= of another size": tuple(
        f"T.{call}, out=s)"
        for call in (
            "linspace(0, 1, 3",
            "logspace(0, 1, 3",
            "arange(3",
            "nn.functional.logsigmoid(x",
            "narrow_copy(x, 0, 0, 1",
        )
    ),
    "scans in place": tuple(
        f"{operand}.clone().{name}(0{dtype})"
        for operand in ("x", "i", "u", "c", "(x > 2)", "x.half()")
        for name in ("cumsum_", "cumprod_")
        for dtype in ("", ", dtype=None", ", dtype=T.bool", ", dtype=T.float32", ", dtype=T.int64")
    ),
    "memory formats": tuple(
        f"x.t().{name}(memory_format=T.{order}).stride()"
        for name in ("float", "cpu", "contiguous", "clone")
        for order in ("contiguous_format", "preserve_format")
    ),
    "empty dimensions": (
        *(
            "T.index_select(e, 1, i[0])",
            "T.index_copy(e, 1, i[0], T.ones(2, 3))",
            "T.index_add(e, 1, i[0], T.ones(2, 3))",
        ),
        *("T.index_add(x[0], 0, i[0] + 9, x[0])", "T.mv(x[0, 0], x[0])"),
        *(
            f"T.nn.{kind}Pad1d(1)({operand})"
            for kind in ("Reflection", "Replication")
            for operand in ("e", "e.t()", "e[None]")
        ),
        "T.nn.ReflectionPad1d(1)(e.t()[..., None].expand(0, 2, 3))",
        "T.lu_unpack(s, i[0, :2].int())",
    ),
    "losses of other dtypes": tuple(
        f"T.nn.functional.{name}({pair})"
        for name in ("l1_loss", "mse_loss", "kl_div", "cosine_similarity")
        for pair in ("x, x > 2", "x > 2, x", "c, x", "x, c", "c, c", "x, i[:, :1].expand(2, 3) + 1", "x, i[0, 0] + 1")
    ),
    "complex dropout": tuple(
        f"T.nn.functional.{name}(c[None], 0.5, {training})"
        for name in ("dropout", "dropout1d", "alpha_dropout", "feature_alpha_dropout")
        for training in (True, False)
    ),
    "batch_norm": tuple(
        f"T.nn.functional.batch_norm({call}, training=True)"
        for call in (
            *(
                "x.double(), None, None, x[0]",
                "x, x[0].double(), x[0]",
                "x, None, None, x[0], x[0].half()",
                "x.half(), x[0], x[0]",
            ),
            *(
                "T.ones(2, 1), None, None, x[0, :1], x[0, 0]",
                "T.ones(2, 1), None, None, x[:1, :1]",
                "x[:, :1], x[:1, :1], x[0, :1]",
            ),
        )
    ),
}
"""Each call is a product of a function and of arguments."""


def outcomes(torch: Any, calls: Iterable[str]) -> list[str]:
    """Return what is known of the result of each call, or the kind of its error, and the number of its warnings."""
    found = []
    torch.set_warn_always(True)
    for call in calls:
        x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        names = {"T": torch, "x": x, "c": x.cfloat(), "g": x.clone().requires_grad_(), "s": torch.eye(2)}
        names |= {"o": torch.zeros(0), "i": torch.tensor([[1, 0, 1], [0, 1, 0]]), "e": torch.zeros(2, 0)}
        names |= {"u": torch.ones(2, 2, dtype=torch.uint8), "one": x[:1].clone(), "q": x.cfloat().requires_grad_()}
        names |= {"h": torch.ones(1, 2, 3, 8, requires_grad=True).half()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                outcome = described(eval(call, names))
            except (TypeError, IndexError, ValueError) as error:
                outcome = "TypeError" if isinstance(error, TypeError) else type(error).__name__
            except NotImplementedError:
                outcome = "NotImplementedError"
            except RuntimeError:
                outcome = "RuntimeError"
        warned = sum(warning.category is UserWarning for warning in caught)
        deprecated = "T.index_reduce(", "T.lu(", "s.lu(", "T.cholesky(", "T.triangular_solve("  # these warn in PyTorch
        found.append(f"{call}: {outcome} {warned if not call.startswith(deprecated) else ''}")
    torch.set_warn_always(False)
    return found


@agrees
def test_single_calls(torch: Any) -> Any:
    return outcomes(torch, itertools.chain(*FAMILIES.values()))


@agrees(exact=True)
def test_further_calls(torch: Any) -> Any:
    return outcomes(torch, itertools.chain(*FURTHER.values()))


@agrees(exact=True)
def test_swept_calls(torch: Any) -> Any:
    with torch.no_grad():
        return outcomes(torch, itertools.chain(*SWEPT.values()))


@agrees
def test_marks_of_functions_are_checked_after_their_forward(torch: Any) -> Any:
    """An error of ``forward`` comes first."""
    function = type(
        "F", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, x: (ctx.mark_dirty(x), x[0]))}
    )
    return function.apply(2)


@agrees
def test_output_numbers_of_views_written_to_in_inference_mode(torch: Any) -> Any:
    """They are read without a history, which raises."""
    base = torch.ones(2, requires_grad=True) * 1
    view = base[0]
    with torch.no_grad():
        view.zero_()
    with torch.inference_mode():
        other = base[1]
        other.zero_()
    return view.output_nr, other.output_nr
