"""Numbers that a dtype cannot hold, and one integer in place of several, swept over the functions that take them."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

from tests.parity.differences.both import agrees
from tests.parity.differences.test_swept_writes import outcomes

NUMBERS = ("300", "-1", "-1.5", "1e9", "-(10**9)", "1e300", "1j", "0j", "float('inf')", "True")
DTYPES = ("uint8", "int32", "float16", "bfloat16", "float32", "complex64")
FILLED = (
    *("T.full((2,), {n}, dtype=t.dtype)", "T.full((1,), {n}, dtype=t.dtype)", "T.full_like(t, {n})"),
    *("t.new_full((2,), {n})", "T.scalar_tensor({n}, dtype=t.dtype)", "t.masked_fill(t > 0, {n})"),
    *("t.masked_fill_(t > 0, {n})", "t.index_fill(0, T.tensor([1]), {n})", "T.scatter(t, 0, T.tensor([1]), {n})"),
    *(
        "T.nn.functional.pad(t, (1, 1), value={n})",
        "T.constant_pad_nd(t, (1, 1), {n})",
        "t.diagonal().fill_({n})",
        "T.fill(t, {n})",
    ),
)
COMPUTED = ("T.addcmul(t, t, t, value={n})", "T.addcdiv(t, t, t, value={n})", "T.lerp(t, t, {n})",
            "T.nn.functional.threshold(t, {n}, 2)", "T.nn.functional.threshold(t, 2, {n})",
            "T.nn.functional.hardtanh(t, 0, {n})", "T.nn.functional.softshrink(t, {n})")  # fmt: skip


@agrees
def test_numbers_that_fill(torch: Any) -> Any:
    """A mask of a complex tensor compares it with 0, which raises; in float32, fill_(1e300) is infinity here."""
    swept = itertools.product(DTYPES, FILLED, NUMBERS)
    return outcomes(
        torch,
        (
            f"t = T.ones(2, 2).diagonal().to(T.{dtype}); r = {call.replace('{n}', n)}"
            for dtype, call, n in swept
            if (n, "fill" in call, dtype) != ("1e300", True, "float32")
        ),
    )


@agrees
def test_numbers_that_multiply_or_limit(torch: Any) -> Any:
    """Half precision is computed in float32."""
    swept = itertools.product(("uint8", "int32", "float32", "float64"), COMPUTED, NUMBERS)
    return outcomes(
        torch,
        (
            f"t = T.ones(2).to(T.{dtype}); r = {call.replace('{n}', n)}"
            for dtype, call, n in swept
            if "int" not in dtype or "addcdiv" not in call
        ),
    )


NAMED = ("T.zeros(size={})", "T.ones(size={})", "T.empty(size={}).shape", "T.rand(size={}).shape", "t.flip(dims={})",
         "T.randn(size={}).shape", "t.new_zeros(size={})", "t.new_ones(size={})", "t.permute(dims={})",
         "t.repeat(repeats={})", "t.tile(dims={})", "t.expand(size={})", "t.reshape(shape={})", "t.view(size={})",
         "t.broadcast_to(size={})", "t.squeeze(dim={})", "t.roll(shifts={})", "t.sum_to_size(size={})")  # fmt: skip


@agrees
def test_one_integer_by_name(torch: Any) -> Any:
    given = ("0", "1", "3", "(0,)", "[1]", "(3,)", "True", "1.5", "'a'", "T.tensor([1])", "T.tensor(0)", "range(1)")
    return outcomes(torch, (f"t = T.ones(3); r = {call.format(n)}" for call in NAMED for n in given))


TOLERANCES = (
    *("", "atol=1.0", "rtol=1.0", "atol=2**40, rtol=T.tensor(1.0)", "atol=T.tensor(1.0), rtol=T.tensor(0.5)"),
    *("atol=T.tensor(1), rtol=0.5", "atol=T.tensor(1j)", "rtol=1j", "atol='a'", "atol=[0]", "atol=True"),
)


@agrees
def test_tolerances(torch: Any) -> Any:
    matrices = ("T.eye(3)", "T.ones(2, 3, 3)", "T.zeros(0, 3)", "T.zeros(0, 2, 3)")
    ranks = (
        f"r = T.linalg.matrix_rank({a}, {tolerance})"
        for a, tolerance in itertools.product(matrices, (*TOLERANCES, "1.0", "tol=1.0, rtol=1.0", "1.0, True"))
    )
    return outcomes(torch, (*ranks, *(f"r = T.linalg.pinv(T.eye(3), {t})" for t in TOLERANCES if t != "atol=1.0")))


OTHERS = (
    *("T.linspace(T.tensor([0]), 1, 3, device=0.5)", "T.logspace(T.tensor([0]), 1, 3, device=float('nan'))"),
    *("T.linspace(0, 1, 0, dtype=T.bool, device=0.5)", "T.linspace(0, 1e9, 3, dtype=T.half)"),
    *("T.randint(2, None, (5,))", "T.randint(None, 2, (5,))", "T.randint(None, (5,))", "T.randint(0, 2, (0,))"),
    *("T.randint_like(t, None)", "T.randint_like(t, 2, None)", "T.randint_like(t, None, 3)"),
    *("T.linalg.vector_norm(t, True)", "T.linalg.norm(t, True, 0)", "T.linalg.norm(t, False, 0)"),
    *("T.istft(t[0] + 0j, 6)", "T.istft(t[0, 0] + 0j, 6)", "T.istft(T.ones(1, 1, 2, 2) + 0j, 6)"),
    *("T.diff(t, 0, 0, T.ones(2, 4))", "T.diff(t, 0, 0, T.ones(1, 0), t)", "T.diff(t, 0, 0, t)", "T.diff(t, 0, 1, t)"),
    *("T.diff(t, 1, 1, T.ones(1, 1))", "T.diff(t, 0, 3)", "T.diff(t, 0)"),
)


@agrees
def test_other_options(torch: Any) -> Any:
    return outcomes(torch, (f"t = T.ones(2, 3); r = {call}" for call in OTHERS))


FOUND = (
    *("T.permute_copy(t, ())", "T.expand_copy(t, ())", "T.broadcast_to(t, ())", "T.permute(t, ())"),
    *("t.expand_as(t[0, 0])", "T.permute(t, [1, 0])", "T.expand_copy(t, [2, 2, 3])"),
    *("t.to(float('inf'), False, False)", "t.to(0.5)", "t.to(True)", "t.to(1j)", "t.to(device=True)"),
    *("T.isneginf(t + 0j, out=(1,))", "T.ceil(t + 0j, out=[t])", "T.exp(t, out=(t,))"),
    *("T.nn.functional.nll_loss(t[0], T.tensor([[1, 1]]), weight=[0])", "T.nansum(t > 0, out=T.zeros(()).bool())"),
    *("T.nn.functional.cross_entropy(t[0], T.tensor([[1, 1]]), weight=1j)", "T.nansum(t, out=T.zeros(()).double())"),
    *("T.cumulative_trapezoid(t.long(), T.arange(4.0).reshape(1, 2, 2))", "T.istft(T.ones(4, 3) * 1j, 6, center=1)"),
    *(
        "T.istft(T.ones(4, 3) * 1j, 6, normalized=None)",
        "T.scatter_reduce(t, 1, T.zeros(0).long(), T.zeros(0, 0), 'sum')",
    ),
    *(
        "T.nn.functional.instance_norm(t[None] * t, T.ones(2).int(), T.ones(2).double()).shape",
        "T.diff(t, 0, 0, t[:1])",
    ),
    "[(each.grad_fn, each.output_nr)[1] for each in T.histogramdd(x, (2, 2, 2)).bin_edges]",
)


@agrees
def test_calls_found_at_random(torch: Any) -> Any:
    return outcomes(torch, (f"t = T.arange(6.0).reshape(2, 3); r = {call}" for call in FOUND))


SPECIAL = ("erfinv", "digamma", "i0", "special.erfcx", "special.ndtri", "special.i1", "isreal", "sgn", "log1p", "sin")
NOTHING = ("T.var(n, dim=None, correction=-5)", "T.std_mean(n, 0, correction=-1)", "T.var_mean(n, correction=-1)",
           "T.nn.functional.cross_entropy(n.requires_grad_(), n)")  # fmt: skip
POOLED = (
    "2, 0, 0",
    "2, 3, 0",
    "2, 0, 1",
    "2, 0, 1, 1",
    "2, 0, 2, 1, 1",
    "0, 1",
    "0, 1, 1",
    "0, 1, 1, 1",
    "0, 1, 1, 1, 1",
)
ORDERED = ("sort(dim=4)", "argsort(dim=4)", "topk(1, 4)", "amax(4)", "aminmax(dim=4)", "logcumsumexp(4)",
           "max(4)", "median(4)", "mode(4)", "kthvalue(1, 4)")  # fmt: skip


@agrees
def test_special_functions_of_expanded_tensors(torch: Any) -> Any:
    swept = itertools.product(SPECIAL, ("t", "T.complex(t, t)", "t.double()"))
    return outcomes(
        torch, (f"t = T.rand(1, 7).expand(5, 7); r = T.{name}({t}).stride()" for name, t in swept if name != "sin")
    ) + outcomes(torch, ["r = T.rand(1, 100).expand(100, 100).sin().stride()"])


@agrees
def test_statistics_and_pools_of_nothing(torch: Any) -> Any:
    pools = itertools.product(("avg", "max"), (1, 2, 3), POOLED, (1, 2))
    return outcomes(torch, (f"n = T.zeros(0, 3); r = {call}" for call in NOTHING)) + outcomes(
        torch, (f"r = T.nn.functional.adaptive_{kind}_pool{n}d(T.zeros({shape}), {k})" for kind, n, shape, k in pools)
    )


@agrees
def test_a_dimension_out_of_range_of_a_dtype_that_is_not_ordered(torch: Any) -> Any:
    swept = itertools.product(ORDERED, ("T.ones(3, 2) > 0", "T.ones(3, 2) + 0j"))
    return outcomes(torch, (f"t = {t}; r = t.{call}" for call, t in swept))


OTHERS_FOUND = (
    *("T.tensor([True, False]) ** True", "T.pow(t > 0, False)", "(t > 0) ** 2", "T.median(t[:0] + 0j).isnan()"),
    *("T.median(t[:0] > 0)", "T.linalg.vector_norm(t[0, :0], float('nan'))", "T.median(t[:0].int())"),
    *(f"T.nn.functional.conv_transpose{n}d(T.ones({s}).to({d}), T.ones({s}).to({d}), T.ones(1).{b})" for n, s, d, b in (
        *((1, "1, 1, 2", "T.float32", b) for b in ("double()", "int()", "cfloat()", "half()")),
        *((2, "1, 1, 2, 2", d, "float()") for d in ("T.float64", "T.complex64", "T.int32", "T.int64", "T.bool")),
        (3, "1, 1, 2, 2, 2", "T.float32", "double()"),
    )),
    *("T.eye(-7, 0.5)", "T.eye(-7, 2)", "T.eye(2, 'x')", "T.nn.functional.glu(t > 0, 4)"),
    *("T.nn.functional.huber_loss(t.int(), t.int(), reduction='x')", "T.nanquantile(t + 0j, 1j)"),
    *("T.quantile(t, T.tensor(0.5).requires_grad_(), interpolation='midpoint')", "T.quantile(t.int(), 'x')"),
    *("T.linalg.vector_norm(t[0, :1], 2**40)", "T.norm(t[:1], 400, dim=0)", "T.dist(t[0, :1], t[1, :1], 1e-30)"),
    *("T.addr(T.tensor(1.0).double(), t[0], t[1])", "T.addr(T.tensor(2), t[0].int(), t[1].int())"),
    *("T.nn.functional.bilinear(t[0], t[0], T.ones(5, 3, 3), T.tensor(1.0))", "T.baddbmm(t, T.ones(2, 3, 5), t)"),
    *("T.cov(t.int(), aweights=T.tensor([0.3, 0.1, 0.7]).half()).dtype", "T.cov(t.int()).dtype"),
    *("T.addbmm(t, T.tensor(1.0), T.ones(2, 3, 5))", "T.addbmm(t, t, T.ones(2, 3, 5))"),
    *("T.nn.functional.bilinear(t[0], t[0], T.ones(5, 3, 3), T.ones(5, 1))", "t.baddbmm(t, T.tensor(1.0))"),
    *(f"T.scatter{name}(t, 1, T.zeros(2, 2).long(), T.ones(8){rest})"
      for name, rest in (("", ""), ("_add", ""), ("_reduce", ", 'sum'"))),
    *("T.scatter(t, 0, T.zeros(2, 1).long(), T.ones(2, 2, 2))", "T.scatter_reduce(t[0], 0, T.tensor(1), t, 'sum')"),
    "T.index_reduce(t + 0j, 0, T.tensor([0]), t[:1] + 0j, 'prod', include_self=False)",
)  # fmt: skip


LOSSES = (
    *(f"F.hinge_embedding_loss(i, k, margin={m}, reduction='sum')" for m in ("7", "1.5", "-1.5", "True", "1j")),
    *(f"F.hinge_embedding_loss({x}, k)" for x in ("i", "i.byte() * 2", "i > 0", "i + 0j", "i + 0.0")),
    *(f"F.margin_ranking_loss(i, i, k, margin={m}, reduction='none')" for m in ("2", "True", "T.ones(2)", "1j")),
    *(f"F.cosine_embedding_loss(x, x, k, margin={m})" for m in ("'x'", "T.ones(2)", "True", "None")),
    *(f"F.huber_loss(x, x, delta={d})" for d in ("T.ones(2)", "'x'", "True", "T.tensor(2.0)")),
    *(f"F.multi_margin_loss(x, k.clamp(0), p={p})" for p in ("True", "2.0", "1.5", "'x'")),
    *(f"F.pad(x, {pads}, 'x')" for pads in ("(-1, 1, 3)", "(1, 1)", "(1, 1, 1, 1, 1, 1)")),
)


@agrees
def test_numbers_of_losses(torch: Any) -> Any:
    names = "F = T.nn.functional; i = T.tensor([3, -2]); k = T.tensor([1, -1])"
    return outcomes(torch, (f"{names}; r = {call}" for call in LOSSES))


@agrees
def test_random_integers_that_a_dtype_does_not_have(torch: Any) -> Any:
    """PyTorch warns."""
    counts = []
    for low, high, name in itertools.product((0, -(2**25)), (2**9, 2**24, 2**24 + 2, 2**55), ("float32", "float64")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.randint(low, high, (2,), dtype=getattr(torch, name))
        counts.append((low, high, name, len(caught)))
    return counts


@agrees
def test_the_layout_of_what_is_dropped(torch: Any) -> Any:
    layouts = (
        "T.ones(1, 5).expand(3, 5)",
        "T.ones(5, 3).t()",
        "T.ones(5, 6)[:, ::2]",
        "T.ones(5, 3, 2).permute(2, 0, 1)",
    )
    seeded = ((T, seed) for T in layouts for seed in (0, 1))
    return outcomes(
        torch, (f"T.manual_seed({n}); y = T.nn.functional.dropout({x}); r = (y, y.stride())" for x, n in seeded)
    )


@agrees
def test_the_layout_of_order_statistics(torch: Any) -> Any:
    layouts = ("t", "t.permute(2, 0, 1)", "t[..., ::2]")
    calls = ("kthvalue({t}, 2, {d})", "nanmedian({t}, {d})", "median({t}, {d}, True)", "mode({t}, {d})")
    swept = itertools.product(calls, layouts, (0, 1, 2))
    return outcomes(
        torch,
        (
            f"t = T.arange(70.0).reshape(2, 5, 7); y = T.{call.format(t=t, d=d)}; r = (y[0].stride(), y[1].stride())"
            for call, t, d in swept
        ),
    )


SHAPES = ("(2,)", "()", "-7", "(-7,)", "'x'", "None", "1.5", "('x',)", "3", "True", "[2]", "1j")


@agrees
def test_shapes_that_broadcast(torch: Any) -> Any:
    return outcomes(torch, (f"r = T.broadcast_shapes({a}, {b})" for a, b in itertools.product(("()", "(2,)"), SHAPES)))


@agrees
def test_complex_values_that_do_not_depend_on_the_input(torch: Any) -> Any:
    functions = ("c.sum()", "y.sum()", "c.sum().real", "y.sum() * c.sum()", "y.real.sum()")
    swept = itertools.product(("grad", "grad_and_value"), functions)
    made = "c = T.tensor([1j]).requires_grad_()"
    return outcomes(torch, (f"{made}; r = T.func.{name}(lambda y: {of})(c)" for name, of in swept))


WHOLE = (":", ":,", "0:3, ...", "..., :", "...,", "-3:", "-3:, ...", "0:9", "0:9,", "1:", "1:,", "None, :", ":, None")


@agrees
def test_nodes_of_whole_slices(torch: Any) -> Any:
    """A slice in a tuple that leaves all elements is no node."""
    swept = itertools.product(("T.ones(3)", "T.ones(3, 2)", "T.ones(0)"), WHOLE)
    return outcomes(torch, (f"y = {t}.requires_grad_(); r = y[{key}]" for t, key in swept))


@agrees
def test_second_derivatives_of_scattered_products(torch: Any) -> Any:
    """The factors of 0 take another way, which names an operation that is loaded late."""
    zeros = itertools.product((0.0, 3.0), (0.0, 5.0), (True, False))
    made = "x = T.tensor([{}, 2.0], dtype=T.float64, requires_grad=True); s = T.tensor([{}, 6.0], dtype=T.float64)"
    ran = "y = x.scatter_reduce(0, T.tensor([0, 1]), s.requires_grad_(), 'prod', include_self={}).sum()"
    first = "g, h = T.autograd.grad(y, (x, s), create_graph=True)"
    second = "r = T.autograd.grad((g * g + h * 2).sum(), (x, s), allow_unused=True)"
    return outcomes(torch, (f"{made.format(a, b)}; {ran.format(self)}; {first}; {second}" for a, b, self in zeros))


@agrees
def test_further_calls_found_at_random(torch: Any) -> Any:
    return outcomes(torch, (f"t = T.arange(6.0).reshape(2, 3); r = {call}" for call in OTHERS_FOUND))
