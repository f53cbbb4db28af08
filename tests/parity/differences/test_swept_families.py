"""Families of single calls that random programs disagreed about: each is a product of operations and arguments."""

from __future__ import annotations

import itertools
from typing import Any

from tests.parity.differences.both import agrees
from tests.parity.differences.test_swept_calls import outcomes

F = "T.nn.functional."
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
MASKS = ("m", "m, 0", "m, ...", "m, [0]", "m, m2", "..., m2", "None, m", "[True, False]", "x > 2")
FILLS = ("T.ones(())", "T.ones(1)", "T.ones(1, 1, 1, 1)", "T.ones(3)", "i[0, 0]", "T.tensor([300])",
         "T.ones(1).cfloat()", "T.ones(1) * 1j", "T.ones(1, requires_grad=True)")  # fmt: skip
CALLS: dict[str, list[str]] = {
    "a mask that is filled by one number of another dtype": [
        f"(lambda t, m, m2: t.__setitem__(({key},), {value}) or t.tolist())"
        f"(T.zeros(2, 3, dtype=T.{dtype}), T.tensor([True, False]), T.tensor([True, False, True]))"
        for dtype in ("uint8", "float64", "bool")
        for key in MASKS
        for value in FILLS
    ],
    "index_put of a mask": [
        f"T.zeros(2, 3, dtype=T.uint8).index_put((x[:, 0] > 2,), {value}, accumulate={accumulate}).tolist()"
        for value in FILLS[:5]
        for accumulate in (True, False)
    ],
    "floats in integers": [
        f"{call}.tolist()"
        for dtype in INTEGERS
        for value in ("-4.8", "-0.5", "127.5", "255.7", "-128.5", "float('nan')", "float('inf')", "3.7")
        for call in (
            f"T.full((2,), {value}, dtype=T.{dtype})",
            f"T.full_like(T.zeros(0, dtype=T.{dtype}), {value})",
            f"T.zeros(2, dtype=T.{dtype}).fill_({value})",
            f"T.zeros(2, dtype=T.{dtype}).masked_fill(x[:, 0] > 2, {value})",
            f"T.zeros(0, dtype=T.{dtype}).new_full((2,), {value})",
        )
    ],
    "coordinates of other shapes": [
        f"T.{name}(x, T.arange(float({size})).reshape({shape}), dim={dim}).tolist()"
        for name in ("trapezoid", "cumulative_trapezoid")
        for shape, size in (("()", 1), ("1", 1), ("2", 2), ("3", 3), ("1, 3", 3), ("2, 3", 6), ("3, 2", 6), ("3, 3", 9),
                            ("4, 1, 3", 12), ("2, 1", 2), ("3, 0", 0))
        for dim in (-1, 0)
    ],
    "integers that wrap in integrals": [
        f"T.{name}(T.tensor([252, 249, 0, 255], dtype=T.{dtype}){more}).tolist()"
        for name in ("trapezoid", "cumulative_trapezoid")
        for dtype in ("uint8", "int16")
        for more in ("", ", dx=0.5")
    ],
    "statistics of no samples": [
        f"T.{name}(T.zeros({shape}), dim={dim}, correction={correction})"
        for name in ("var", "std", "var_mean", "std_mean")
        for shape in ("0, 5", "5, 0", "3, 4, 0", "1, 3", "3, 1")
        for dim in (0, -1, (0, 1))
        for correction in (0, 1, 2, 0.5)
    ],
    "batches without samples": [
        f"{F}batch_norm(T.zeros({shape}), {running}, {weight}, training={training})"
        for shape in ("0, 3", "0", "1, 0, 3", "2, 3, 0")
        for running in ("None, None", "T.zeros(3), T.ones(3)", "True, T.ones(3)")
        for weight in ("None, None", "T.ones(3), T.ones(3)", "2, None")
        for training in (True, False)
    ],
    "a divisor of 0, of nothing": [
        f"T.{name}(T.zeros({shape}, dtype=T.{dtype}), 0)"
        for name in ("floor_divide", "remainder", "fmod", "true_divide")
        for shape in ("0", "2", "0, 3")
        for dtype in ("uint8", "int64", "float32")
    ],
    "differences of order 0": [
        f"T.diff(x, 0, {dim}{more}).tolist()"
        for dim in (0, 1, 2)
        for more in ("", ", x", ", x[0]")
    ],
    "dtypes of one side": [
        f"T.linalg.solve_triangular(s.to(T.{first}), T.ones(2, 1).to(T.{second}), upper=True).tolist()"
        for first in ("float32", "float64", "complex64")
        for second in ("float32", "float64", "int64", "bool")
    ],
    "one class": [
        f"T.{name}(T.tensor([[0.7], [-3.3]], dtype=T.{dtype}), {dim}).tolist()"
        for name in ("log_softmax", "softmax")
        for dtype in ("float16", "bfloat16", "float32", "float64")
        for dim in (1, -1)
    ],
    "numbers without end": [
        "T.mvlgamma(x, 3)",
         "T.isclose(x, x, rtol=float('nan'))",
        "T.allclose(x, x, atol=float('nan'))",
        "T.cdist(x, x, 2., None)", "T.gradient(u)",  "T.slice_scatter(x[0, 0], x)",
        "T.linalg.tensorsolve(s, s[0], dims=0)", "type(T.bfloat16).__name__",
        f"{F}cosine_embedding_loss(x, x, i[:, 0], margin=True)", f"{F}multi_margin_loss(u, x[:, 0])",
        "T.autograd.functional.jvp(lambda x: x.mean(), x[:0], x[:0])",
        "g[[0, 1], 0:0].sum().backward() or g.grad.tolist()",
    ],
}  # fmt: skip


@agrees(exact=True)
def test_families(torch: Any) -> Any:
    return outcomes(torch, itertools.chain(*CALLS.values()))
