"""Calls of which the differential fuzzer found that they raised, or gave, something else than PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.differences.both import agrees, compare
from tests.parity.differences.test_argument_kinds import outcome

INF, NAN = "float('inf')", "float('nan')"
CALLS = {
    "dtypes": (
        *("cumsum(o(3), 0, dtype=B)", "cumsum(o(()), 0, dtype=B)", "cumprod(o(3), 0, dtype=B)", "topk(o(3) > 0, 1)"),
        *("nansum(o(2), dtype=C)", "nansum(o(2), dtype=B)", "nansum(o(2), dtype=L)", "nanmean(o(2), dtype=C)"),
        *("put(o(3), o(0), o(1))", "constant_pad_nd(o(2), (1, 1), 1j)", "constant_pad_nd(o(2) + 0j, (1, 1), 1j)"),
        *(
            "scatter_reduce(b, 0, i, b, 'mean')",
            "scatter_reduce(b, 0, i, b, 'prod')",
            "index_reduce(b, 0, i, b, 'prod')",
            f"arange(0, {NAN}, dtype=L)",
        ),
        *("index_reduce(o(3, 2) + 0j, 0, i, o(1, 2) + 0j, 'amax')", "o(2).new_zeros(2, dtype=0)"),
        *("ones(2).new_full((2,), 1, dtype=0)", "ones(2).new_tensor(1, dtype=0)"),
        "nn.functional.cosine_similarity(o(1, 3).bfloat16(), o(()).double())",
        "nn.functional.conv_transpose2d(o(1, 4, 5).int(), o(1, 1, 3, 4).int(), o(1))",
        "nn.functional.conv_transpose1d(o(1, 4).byte(), o(1, 2, 3))",
    ),
    "shapes": (
        *("nn.functional.linear(o(2, 3), o(2, 2, 3))", "nn.functional.bilinear(o(()), o(0), o(2, 3, 3))"),
        *("nn.functional.bilinear(o(2), o(3).double(), o(2, 2, 3))", "histogram(o(1, 5), 3, weight=o(5))"),
        *("histogram(o(1, 5), 3, weight=o(4))", "histogram(o(3), o(1))", "unique(o(0, 0), dim=0)"),
        *("scatter_reduce(o(3, 2), 0, o(1, 2).long(), o(()), 'sum')", "unique_consecutive(o(0, 0), dim=-2)"),
        *("as_strided_scatter(o(3), o(2), (2, 2), [0])", "index_add(o(1, 5, 5), -1, i, o(5, 5))"),
        *("norm(o(2, 2, 2), 'nuc')", "norm(o(2, 2), 'nuc', 0)", "linalg.matrix_norm(o(()), 1, 1)"),
        *(
            f"norm(o(0, 3), {INF})",
            "norm(o(0, 3), -1, 0)",
            f"norm(o(0, 3), {INF}, 1)",
            f"renorm(o(0, 0, 5), {INF}, 2, 1)",
        ),
        *("nn.functional.multilabel_margin_loss(o(()), i)", "nn.functional.multilabel_margin_loss(o(1), i[0])"),
        *("broadcast_shapes((5,), 1j)", "broadcast_shapes((5,), -1)", "Tensor.broadcast_to(o(1, 3), 2, 3)"),
        "nn.functional.scaled_dot_product_attention(o(4, 0, 0), o(4, 6, 0), o(4, 6, 8))",
        "cholesky_inverse(zeros(2, 2))",
        *("scatter_add(o(3, 2), 0, o(1, 2).long(), o(()))", "scatter_add(o(3), 0, i, o(()))"),
        *("scatter(o(3, 2), 0, o(1, 2).long(), o(()))", "scatter(o(3), 0, i, o(()))"),
    ),
    "other dtypes": (
        *(
            "put(o(2).half(), i, o(1))",
            "put(o(2).bfloat16(), i, o(1).half())",
            "lerp(v, v, v.double())",
            "linspace(v, v, 1j)",
        ),
        *("lerp(v, v, o(()).double())", "mode(o(()) + 0j, 0)", "mode(c, 0)", "cummax(c, 0)", "cummin(c, 0)"),
        *(
            "nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=o(2, 2).half())",
            "pow(u, 300)",
            "pow(300, u)",
        ),
        *("nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=o(2, 2).double())", "pow(-1, u)"),
        *("special.ndtr(o(2, requires_grad=True), out=zeros(2).int())", "linspace(v, 1, 1j)", "logspace(v, 1, 1j)"),
        *("nn.functional.ctc_loss(zeros(5, 2, 4), o(2, 4), [5, 5], [4, 4])", "nansum(o(()) + 0j, dim=(1, 3))"),
        *("scatter(v, 1, i, o(1).double())", "scatter_add(v, 1, i, o(1).double())", "scatter(v, 0, i, o(1).double())"),
        *("linalg.ldl_solve(zeros(2, 2), i, o(2).int())", "nn.functional.nll_loss(v, i, ignore_index=None)"),
        *("func.jacrev(lambda x: x.long())(v)", "func.hessian(lambda x: x > 0)(v)", "stft(o(16), 8, center=None)"),
    ),
    "nothing and one": (
        *("repeat_interleave(o(()), 2, dim=0)", "repeat_interleave(o(()), torch.tensor([1, 2]), dim=0)"),
        *("repeat_interleave(o(0), torch.tensor([2]), output_size=6)", "repeat_interleave(o(()), 2)"),
        *("index_add(x, 0, torch.tensor([0, 1]), o(()))", "index_add(v, 0, i, o(()))", "index_copy(x, 1, i, o(2, 3))"),
        *(
            "index_copy(o(()), 0, i, o(2, 2))",
            "index_copy(x, 0, i, o(3))",
            "index_copy(x, 0, torch.tensor([0, 1]), o(()))",
        ),
        *("linalg.cond(o(0, 3, 3).int())", "linalg.cond(o(2, 0, 3), 1)", "linalg.cond(o(2, 0, 3), 'fro')"),
        *("linalg.cond(o(0, 3, 3), 3)", "linalg.lu_solve(o(2, 2), torch.tensor(1).int(), o(2, 2))"),
        *(
            "cumulative_trapezoid(o(()), b)",
            "cumulative_trapezoid(b, dim=3)",
            "nn.functional.group_norm(v, 1, weight=-1)",
        ),
        *(
            "inner(o(()), 2.)",
            "inner(v, 2.)",
            "linalg.vector_norm(v, 1j)",
            "norm(v, 1j)",
            "linalg.vector_norm(v, 'fro')",
        ),
        "lu(torch.eye(2), out=(o(0), torch.tensor([]).int()))[1]",
    ),
    "options": (
        *("nn.functional.group_norm(o(3), (0, 1))", "nn.functional.group_norm(o(3, 4), (0, 1))"),
        *(
            "nn.functional.group_norm(o(2, 3), 2, bias=2.)",
            "nn.functional.batch_norm(o(()), o(0), o(0), training=True)",
        ),
        *("nn.functional.batch_norm(x, v, v, eps=0, training=True)", "nn.functional.batch_norm(x, v, v, eps=-1)"),
        *("nn.functional.batch_norm(x, None, v, training=True)", "nn.functional.instance_norm(x[None], v[:2], None)"),
        *("nn.functional.instance_norm(x[None], eps=-1)", "nn.functional.batch_norm(x, 'x', None, training=True)"),
        *("nn.functional.cosine_similarity(v, v, 0, -1)", f"nn.functional.softshrink(v, {INF})"),
        *(f"nn.functional.huber_loss(v, v, delta={NAN})", f"nn.functional.dropout(v, {NAN})", f"nn.Dropout({NAN})"),
        *(f"nn.functional.interpolate(x[None], scale_factor={INF})", f"arange(0, 3, {NAN})", "linalg.pinv(x, 1j)"),
        *("nn.functional.interpolate(x[None], scale_factor=True)", "linalg.matrix_rank(x, tol=1j)"),
        *("nn.functional.interpolate(x[None], scale_factor=2, antialias=None)", "1j % x.double().requires_grad_()"),
        *("nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=-1)", "round(v, decimals=2**40)"),
        *("nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=2)", "unbind_copy(v, 1, out=v)"),
        *("full((2,), -3 + 0j, dtype=torch.int32)", "fill(v, 1j)", "fill(v, 1 + 0j)", "scatter(i, 0, i, 1 + 0j)"),
        *("nn.functional.binary_cross_entropy(v / 2, v * 2)", "nn.functional.binary_cross_entropy(v / 2, v)"),
        *("linspace(0, x, 3)", "logspace(v, 1, 3)", "stft(o(16), 8, center=0, return_complex=True)"),
    ),
}
"""By subject: calls, with ``o`` for ``torch.ones``."""


@pytest.mark.parametrize("subject", CALLS)
def test_shapes_and_errors(subject: str) -> None:
    def program(torch: Any) -> Any:
        names = {"o": torch.ones, "zeros": torch.zeros, "B": torch.bool, "C": torch.complex64, "L": torch.int64}
        names |= {"x": torch.ones(2, 3), "v": torch.ones(3), "i": torch.tensor([0]), "b": torch.tensor([True])}
        names |= {"u": torch.ones(2).byte(), "c": (torch.ones(()) + 0j).requires_grad_()}
        return [(call, outcome(torch, call, **names)) for call in CALLS[subject]]

    compare(program, exact=True)


@agrees
def test_gradients_of_nothing(torch: Any) -> Any:
    found = []
    for shapes in (((0, 2), 0, (0, 2)), ((2, 0), 0, (2, 3)), ((3, 2), 2, (3, 0))):
        a, tau, other = leaves = [torch.zeros(shape, requires_grad=True) for shape in shapes]
        found += torch.autograd.grad(torch.ormqr(a, tau, other).sum(), leaves, allow_unused=True)
    return found


@agrees
def test_gradients_of_other_shapes(torch: Any) -> Any:
    x, s, t = (torch.ones(shape, dtype=torch.float64, requires_grad=True) for shape in ((1, 4, 2), (), ()))
    small = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    torch.linalg.pinv(x, small).sum().backward()
    torch.scatter_reduce(s, 0, torch.tensor([0]), t, "amax").backward()
    return x.grad, s.grad, t.grad


@agrees(exact=True)
def test_errors_of_a_backward_pass(torch: Any) -> Any:
    found = []
    for first, second in (("float32", "float64"), ("float16", "float32"), ("float64", "float64")):
        x, y = (torch.ones(2, dtype=getattr(torch, name), requires_grad=True) for name in (first, second))
        for loss in (torch.nn.functional.huber_loss, lambda x, y: torch.histogram(x, 2, weight=x).hist.sum()):
            try:
                loss(x, y).backward()
                found.append("")
            except RuntimeError:
                found.append("RuntimeError")
    for call in (torch.nan_to_num, lambda z: torch.nn.functional.bilinear(z, z, z.new_ones(1, 2, 2))):
        try:
            found.append(call(torch.ones(2, dtype=torch.complex64, requires_grad=True)).requires_grad)
        except RuntimeError:
            found.append("RuntimeError")
    return found


@agrees(exact=True)
def test_values_beside_true(torch: Any) -> Any:
    found = []
    zero, true = torch.tensor(0), torch.tensor(True)
    for key in (True, true, (None, true), (True, zero), (-1, False), (..., zero, True), torch.ones(3) > 0, zero):
        x = torch.ones(3, 4)
        try:
            x[key] = torch.tensor(2)
            found.append(x)
        except RuntimeError:
            found.append("RuntimeError")
    return found


@agrees(exact=True)
def test_layouts_of_expanded_tensors(torch: Any) -> Any:
    found = []
    for dtype in (torch.float32, torch.float16):
        x = torch.arange(4.0).to(dtype)[None].expand(3, 4)
        results = (x.exp(), x + x, torch.msort(x), x > 0, torch.fill(x, 2), torch.nn.functional.leaky_relu(x))
        found += [result.stride() for result in results]
    x = torch.arange(3.0)[None].expand(3, 3)
    return found, torch.as_strided_scatter(x, torch.ones(2, 2) * 5, (2, 2), (1, 2))


@agrees(exact=True)
def test_a_function_that_returns_its_argument(torch: Any) -> Any:
    x, z = torch.ones(2, requires_grad=True), torch.tensor(2.0)
    return (
        torch.func.vjp(lambda x: (x, x * 2), x)[0][0] is x,
        torch.func.grad_and_value(lambda z: z)(z)[1] is z,
        torch.func.grad(lambda x: torch.func.vjp(lambda y: y, x)[0] * 2)(z),
        torch.vmap(lambda x: torch.func.vjp(lambda y: y, x)[0] * 2)(torch.ones(3)),
    )


SLOPES = (
    *("remainder(x, y)", "xlogy(x, y)", "special.xlog1py(x, y)", "pow(x, y)", "float_power(x, y)", "hypot(x, y)"),
    *("nn.functional.huber_loss(x, y, reduction='none')", "nn.functional.smooth_l1_loss(x, y, reduction='none')"),
    *("nn.functional.selu(x)", "nn.functional.celu(x)", "nn.functional.relu6(x)"),
    *("nn.functional.hardtanh(x)", "nn.functional.kl_div(x, y, reduction='none')", "nn.functional.leaky_relu(x)"),
)


@agrees
def test_gradients_at_the_edges(torch: Any) -> Any:
    """Gradients are 0, nan or infinite where their factors are: at poles, of nan, and where the divisor rounds."""
    numbers = torch.tensor([0.0, 0.1, -1.0, 1.0, 2.5, float("inf"), float("nan")], dtype=torch.float64)
    found = []
    for call in SLOPES:
        x, y = torch.cartesian_prod(numbers, numbers).T.clone().requires_grad_()
        result = eval(f"torch.{call}", {"torch": torch, "x": x, "y": y})
        for slope in (0.0, 1.0, float("nan")):
            gradients = torch.autograd.grad(
                result, (x, y), torch.full_like(result, slope), retain_graph=True, allow_unused=True
            )
            found += [g if g is None else g.nan_to_num(nan=7, posinf=1e9, neginf=-1e9) for g in gradients]
    return found


@agrees
def test_a_gradient_of_no_elements(torch: Any) -> Any:
    x, y = torch.zeros(0, requires_grad=True), torch.tensor([[-1.0], [0.0], [2.0]], requires_grad=True)
    torch.nn.functional.kl_div(x, y, reduction="batchmean").backward()
    empty = torch.zeros(0, 2, dtype=torch.uint8)
    return x.grad, y.grad, torch.trapezoid(empty, dx=2.0, dim=0), torch.trapezoid(empty, empty > 0, dim=0)


@agrees(exact=True)
def test_a_wrong_argument_comes_before_the_leaf(torch: Any) -> Any:
    found = []
    for call in (
        "normal_('a')",
        "uniform_('a')",
        "t_(3)",
        "transpose_(0)",
        "resize_('a')",
        "set_('a')",
        "normal_(0, -1)",
    ):
        for part in (slice(None), 0):
            leaf = torch.ones(4, 6, requires_grad=True)
            target = leaf if part != 0 else leaf[:2]
            found.append(outcome(torch, f"Tensor.{call.replace('(', '(x, ', 1)}", x=target))
    return found


@agrees(exact=True)
def test_channels_last_of_nothing(torch: Any) -> Any:
    found = []
    for shape in ((1, 1, 0, 0), (0, 2, 3, 4), (1, 2, 0, 3), (0, 1, 3, 3), (1, 0, 1, 1), (2, 2, 3, 0)):
        x = torch.ones(shape)
        y = x.contiguous(memory_format=torch.channels_last)
        found.append([x.is_contiguous(memory_format=torch.channels_last), y is x, y.stride()])
    return found
