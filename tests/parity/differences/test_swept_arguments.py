"""Sweeps of arguments that were computed with, or let through, where PyTorch raises or records."""

from __future__ import annotations

import itertools
from typing import Any

from tests.parity.differences.both import agrees
from tests.parity.differences.test_swept_writes import outcomes


@agrees
def test_weights_of_bincount_have_no_derivative(torch: Any) -> Any:
    made = "w = T.ones(3, requires_grad=True); b = T.bincount(T.tensor([0, 1, 1]), w)"
    backward = "try:\n b.sum().backward()\nexcept RuntimeError as error:\n r = 'not implemented' in str(error)"
    return outcomes(torch, (f"{made}; r = b.requires_grad, b.detach()", f"{made}; {backward}"))


@agrees
def test_float_power_in_place(torch: Any) -> Any:
    dtypes = "float32", "float64", "int32", "complex64", "complex128", "float16", "bool"
    exponents = "2", "2.5", "2j", "T.tensor(2)", "T.ones(3)", "T.ones(3).cfloat()"
    programs = itertools.product(dtypes, exponents)
    return outcomes(torch, (f"r = T.ones(3, dtype=T.{dtype}).float_power_({e})" for dtype, e in programs))


@agrees
def test_quotients_of_two_numbers(torch: Any) -> Any:
    numbers = "1, 2", "-7, 2", "3.5, 2", "True, 2", "1.0, 0", "-7, 2.0"
    modes = "'floor'", "'trunc'", "None"
    names = "div", "divide"
    programs = itertools.product(names, numbers, modes)
    return outcomes(torch, (f"r = T.{name}({two}, rounding_mode={mode})" for name, two, mode in programs))


@agrees
def test_arguments_of_deviations(torch: Any) -> Any:
    names = "std", "var", "std_mean", "var_mean"
    calls = "x, True", "x, False", "x, True, True", "x, True, unbiased=True", "x, 0, True", "x, None, False"
    programs = itertools.product(names, calls)
    return outcomes(torch, (f"r = tuple(T.stack([*T.atleast_1d(T.{name}({call}))]))" for name, call in programs))


@agrees
def test_least_squares_of_other_shapes(torch: Any) -> Any:
    matrices = "T.eye(3, 2)", "T.eye(3, 2).expand(2, 3, 2)", "T.eye(2, 3)", "T.eye(3, 2).expand(2, 2, 3, 2)"
    sides = "3", "3, 1", "3, 2", "2, 3", "2, 3, 1", "2, 3, 2", "1, 3", "1, 3, 2", "2, 1, 3", "0, 3", "", "4", "2, 4"
    drivers = "gels", "gelsy", "gelsd"
    programs = itertools.product(matrices, [*sides, "2, 2, 3, 1"], drivers)
    shapes = "r = q.solution.shape, q.residuals.shape, q.rank, q.singular_values.shape"
    return outcomes(
        torch, (f"q = T.linalg.lstsq({a}, T.ones([{b}]), driver='{driver}'); {shapes}" for a, b, driver in programs)
    )


@agrees
def test_gradcheck_of_what_is_no_tensor(torch: Any) -> Any:
    results = "3.0", "(x, 3.0)", "None", "(x, None)", "'a'", "(3.0, x)", "{'a': x}", "[x * 2]", "x"
    checks = "gradcheck", "gradgradcheck"
    programs = itertools.product(checks, results)
    x = "T.ones(2, dtype=T.float64, requires_grad=True)"
    return outcomes(torch, (f"r = T.autograd.{name}(lambda x: {result}, ({x},))" for name, result in programs))


@agrees
def test_volatile_can_be_deleted(torch: Any) -> Any:
    return outcomes(torch, ["y = T.ones(2); y.volatile = True; del y.volatile; r = y.volatile"])


@agrees
def test_orders_of_norms(torch: Any) -> Any:
    calls = ("norm(x, {})", "norm(x, {}, dim=0)", "norm(x, {}, dim=(0, 1))", "linalg.matrix_norm(x, {})")
    shapes = "3", "2, 2", "2, 2, 2", "2, 2, 0"
    orders = "1j", "'nuc'", "'fro'", "'a'", "2.5", "-1"
    programs = [(c, s, o) for c, s, o in itertools.product(calls, shapes, orders) if c[:6] == "linalg" or o != "-1"]
    return outcomes(
        torch,
        (
            f"x = T.ones({shape}); y = T.{call.format(order)}; r = y.shape, y.mul(64).round().long()"
            for call, shape, order in programs
            if not (order == "'nuc'" and "dim=0" in call)  # of an int PyTorch makes one of its own errors
        ),
    )


@agrees
def test_dtypes_of_bilinear(torch: Any) -> Any:
    kinds = itertools.product(("float32", "float64"), repeat=4)
    made = "r = T.nn.functional.bilinear(T.ones(2, 3, dtype=T.{}), T.ones(2, 4, dtype=T.{})"
    return outcomes(
        torch, ((made + ", T.ones(5, 3, 4, dtype=T.{}), T.ones(5, dtype=T.{}))").format(*four) for four in kinds)
    )


OF_ONES = ("x.sum()", "x.mean()", "x.clone().sum()", "x.reshape(4, 1).sum()", "x.t().sum()", "x.unbind()[0].sum()",
           "x.expand(3, 2, 2).sum()", "T.stack([x, x]).sum()", "x[0, 0]", "x.cumsum(0).sum()", "x.max()")  # fmt: skip
DERIVED = ("T.func.grad(f)(x)", "T.func.grad_and_value(f)(x)[0]", "T.func.vjp(f, x)[1](T.tensor(1.0))[0]",
           "T.func.jacrev(f)(x)", "T.func.jacrev(lambda x: (f(x), x))(x)[0]", "T.func.jacfwd(f)(x)",
           "T.autograd.functional.jacobian(f, x)", "T.autograd.functional.jacobian(f, x, create_graph=True).detach()",
           "T.autograd.grad(f(z), z)[0]", "T.autograd.grad(f(z), z, create_graph=True)[0].detach()")  # fmt: skip


@agrees
def test_derivatives_that_are_written_into(torch: Any) -> Any:
    """They share no memory with later ones."""
    made = "x = T.tensor([[1.0, 2.0], [3.0, 4.0]]); z = x.clone().requires_grad_()"
    write = "try:\n d.{write}\nexcept RuntimeError:\n pass"
    programs = itertools.product(OF_ONES, DERIVED, ("fill_(5.0)", "zero_()", "reshape(-1).add_(2.0)"))
    return outcomes(
        torch,
        (
            f"{made}; f = lambda x: {f}; d = {d}; {write.format(write=name)}; r = ({d}), T.func.grad(f)(x)"
            for f, d, name in programs
        ),
    )


@agrees
def test_parts_of_jacobians_have_memory_of_their_own(torch: Any) -> Any:
    made = "x = T.tensor([1.0, 2.0]); d = T.func.jacrev(lambda x: (x.sum(), x, x.expand(2, 2)))(x)"
    return outcomes(torch, (f"{made}; d[{part}][0] = 7.0; r = d" for part in range(3)))


IN_PLACE = {
    **dict.fromkeys(
        [
            "add_",
            "mul_",
            "sub_",
            "div_",
            "fill_",
            "copy_",
            "clamp_",
            "pow_",
            "fmod_",
            "remainder_",
            "eq_",
            "tril_",
            "cumsum_",
            "bitwise_and_",
        ],
        "'a'",
    ),
    **dict.fromkeys(["masked_fill_", "lerp_"], "'a', 1"),
    **dict.fromkeys(["index_fill_", "scatter_", "index_add_"], "0, 'a', 1"),
    **dict.fromkeys(["addcmul_", "addmm_", "addr_", "put_", "index_put_", "masked_scatter_"], "1, 2"),
    **dict.fromkeys(["atan2_", "hypot_", "erfinv_"], "1"),
    "round_": "decimals='a'",
    "renorm_": "'a', 0, 1",
}


@agrees
def test_types_come_before_what_may_be_written_to(torch: Any) -> Any:
    """Valid arguments still raise the error of a leaf, or of a view of one."""
    calls = [*IN_PLACE.items(), ("add_", "1"), ("mul_", "T.ones(3)"), ("exp_", ""), ("tril_", "-1"), ("fill_", "2")]
    return outcomes(
        torch,
        (
            f"y = T.ones(2, 2, requires_grad=True){view}; r = y.{name}({args})"
            for (name, args), view in itertools.product(calls, ("", "[:]"))
        ),
    )
