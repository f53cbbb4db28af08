"""Calls with arguments that are seldom what was meant, swept: what PyTorch takes, and what raises."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from tests.parity.differences.both import agrees
from tests.parity.differences.test_swept_writes import outcomes

PLACES = ("T.tensor(True)", "T.tensor(False)", "True", "np.bool_(True)", "T.tensor(1, dtype=T.uint8)",
          "np.array(True)", "np.array(0)", "(T.tensor(True), 0)", "(None, True)")  # fmt: skip
ASSIGNED = ("5", "1j", "T.tensor(7)", "T.tensor([2.5]).double()", "T.tensor([2.5, 1, 4])", "x[0, 1]",
            "x[0, 1].double()")  # fmt: skip
HISTORY_OF_INTEGERS = (("T.ones(2, 3, dtype=T.int64)", "x[0, 1]"), ("T.ones(2, 3, dtype=T.int64)", "x[0, 1].double()"),
                       ("T.ones(1).bool()", "x[0, 1]"), ("T.ones(1).bool()", "x[0, 1].double()"))  # fmt: skip


@agrees
def test_values_assigned_at_what_stands_for_all(torch: Any) -> Any:
    """Beside a mask of no dimension a value of another dtype raises, unlike beside others."""
    into = ("T.ones(3)", "T.ones(2, 3, dtype=T.int64)", "T.ones(1).bool()", "x * 2")
    swept = (place for place in itertools.product(into, PLACES, ASSIGNED) if place[::2] not in HISTORY_OF_INTEGERS)
    return outcomes(torch, (f"import numpy as np; y = {i}; y[{key}] = {value}; r = y" for i, key, value in swept))


@agrees
def test_what_stands_for_all_read(torch: Any) -> Any:
    return outcomes(torch, (f"import numpy as np; r = (x * 1)[{key}]" for key in PLACES))


SHAPED = (
    *(
        "expand()",
        "repeat()",
        "permute()",
        "reshape()",
        "view()",
        "tile()",
        "broadcast_to()",
        "resize_()",
        "expand(())",
    ),
    *("permute(())", "reshape(())", "tile(())", "flip(())", "repeat(1, 2)", "reshape(-1)"),
)
RANGES = ("arange()", "arange(dtype=T.float32)", "arange(1, step=2)", "arange(end=3)", "arange(None)",
          "arange(1, None)", "range()", "full((2,), 'a')", "full((2,), None)", "full((2,), np.array(2.0))",
          "full((2,), np.float32(2))", "full((), [1])")  # fmt: skip


@agrees
def test_shapes_and_ranges_of_nothing(torch: Any) -> Any:
    tensors = ("T.ones(3)", "T.ones(1)", "T.ones(2, 3)", "T.ones(0)", "(x * 1)")
    shaped = (
        f"r = {tensor}.{call}"
        for tensor, call in itertools.product(tensors, SHAPED)
        if tensor != "(x * 1)" or "_" not in call
    )
    return outcomes(torch, (*shaped, *(f"import numpy as np; r = T.{call}" for call in RANGES)))


ARRAYS = ("np.ones((2, 3))", "np.ones(3, np.float32)", "np.arange(3)", "np.array(2.0)", "np.float64(2)", "np.int64(2)",
          "np.ones(2, bool)", "np.float32(2)")  # fmt: skip
OPERATORS = ("t + n", "n + t", "t * n", "n * t", "t - n", "t / n", "n - t", "t ** n", "n ** t", "t // n", "t % n",
             "t @ n", "t < n", "n >= t", "t == n", "t != n", "n == t", "t & n", "n | t", "T.add(t, n)",
             "T.mul(n, t)", "t.sub(n)", "T.eq(t, n)", "t.lt(n)", "T.maximum(t, n)", "T.where(t > 0, t, n)",
             "T.atan2(t, n)", "t.add_(n)", "t.__iadd__(n)", "t.__mul__(n)", "t.__lt__(n)", "t.clamp(n)",
             "t.__setitem__(0, n)", "T.lerp(t, t, n)", "T.fmod(t, n)", "t.logical_and(n)")  # fmt: skip


@agrees
def test_arrays_as_operands(torch: Any) -> Any:
    """An operator leaves them to NumPy, which may not read what requires grad; a function takes tensors alone."""
    tensors = ("T.ones(2, 3) * 2", "T.tensor(2.0)", "T.arange(3)", "x[0]")
    swept = itertools.product(tensors, ARRAYS, OPERATORS)
    return outcomes(torch, (f"import numpy as np; t = {t}; n = {n}; r = {call}" for t, n, call in swept))


COMPLEX = (
    *("T.dist(x, x, {})", "x.dist(x, p={})", "T.renorm(x, {}, 0, 1.0)", "(x * 1).renorm_({}, 0, 1.0)"),
    *(
        "T.renorm(x, 2, 0, {})",
        "T.linalg.vector_norm(x, {})",
        "T.cdist(x, x, {})",
        "T.norm(x, {})",
    ),
    *(
        "T.nn.functional.elu(x, {})",
        "T.nn.functional.leaky_relu(x, {})",
        "T.nn.functional.softplus(x, {})",
        "T.nn.functional.celu(x, {})",
    ),
    *("T.nn.functional.hardshrink(x, {})", "T.histc(x, 3, {}, 5)", "T.nn.functional.pairwise_distance(x, x, {})"),
    *("T.zeros(2).normal_({}, 1.0)", "T.nn.functional.pdist(x, {})", "T.nn.functional.lp_pool1d(x, {}, 1)"),
)


@agrees
def test_complex_numbers_in_place_of_real_ones(torch: Any) -> Any:
    return outcomes(torch, (f"r = {call.format(p)}" for call, p in itertools.product(COMPLEX, ("1j", "T.tensor(1j)"))))


def warned(torch: Any, call: str) -> str:
    """Return the kind and the first words of the warning of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(call, {"T": torch})
    return f"{call}: {[f'{each.category.__name__} {str(each.message)[:30]}' for each in caught]}"


@agrees
def test_notices_of_former_names(torch: Any) -> Any:
    """PyTorch gives each of them once."""
    calls = ("T.cross(T.ones(2, 3), T.ones(2, 3))", "T.chain_matmul(T.ones(2, 2), T.ones(2, 2))",
             "T.cross(T.ones(2, 3), T.ones(2, 3), dim=1)", "T.linalg.cross(T.ones(2, 3), T.ones(2, 3))")  # fmt: skip
    return [warned(torch, call) for call in calls]


RESHAPED = (
    *(
        "t_(1)",
        "t_()",
        "transpose_('a', 1)",
        "transpose_(0, 1)",
        "transpose_(0, 5)",
        "unsqueeze_('a')",
        "unsqueeze_(9)",
    ),
    *("as_strided_('a', (1,))", "squeeze_('a')", "squeeze_(0)", "resize_('a')", "resize_(2)", "swapaxes_(0, 'a')"),
)


@agrees
def test_reshapes_in_place_of_a_leaf(torch: Any) -> Any:
    """An argument of a wrong type comes before a leaf that requires grad, and that before a wrong dimension."""
    return outcomes(torch, (f"r = {t}.{call}" for t, call in itertools.product(("x", "x[:]", "(x * 1)"), RESHAPED)))


# -- NumPy's numbers as options ----------------------------------------------------------------------------------------

NUMPY_NUMBERS = """
F.max_pool1d(s, n, stride=n); F.max_pool2d(i, n, stride=m); F.avg_pool2d(i, n, n)
F.avg_pool2d(i, n, divisor_override=m); F.softplus(x, beta=n); F.softplus(x, beta=g)
F.smooth_l1_loss(x, x * 2, beta=g); F.huber_loss(x, x * 2, delta=f); F.hardtanh(x, f, n); F.softshrink(x, f)
F.hardshrink(x, g); F.normalize(x, p=n, dim=n - 1, eps=f); F.leaky_relu(x, f); F.elu(x, g)
F.multi_margin_loss(x, y, margin=f); F.layer_norm(x, (n,), eps=f); F.dropout(x, f, training=False)
T.round(x, decimals=n); T.logit(x / 4, f / 100); T.addcdiv(x, x, x, value=f); T.addcmul(x, x, x, value=f)
T.lerp(x, x, f); T.mvlgamma(x + 2, n); T.nan_to_num(x, f); x.all(n - 1); x.any(dim=n - 1)
T.aminmax(x, dim=n - 1).min; T.roll(x, n, n - 1); T.norm(x, n, n - 1); x.norm(p=f, dim=n - 1)
x.std(dim=0, correction=n); x.sum(n - 1); x.mean((0, n - 1)); x.add(x, alpha=f); T.fft.fftn(x, dim=n - 1).real
T.fft.rfftn(x, dim=n - 1).real; T.fft.fftshift(x, n - 1); T.fft.fft2(x, dim=(0, n - 1)).real; T.scalar_tensor(n)
T.scalar_tensor(f); T.full((n,), f); x.masked_fill(x > 1, f); T.where(x > 1, f, x); T.quantile(x, f)
T.nn.LayerNorm(n)(x); T.nn.RMSNorm(n)(x); T.nn.Linear(n, m)(x).shape
T.nn.TransformerEncoderLayer(n, n, m)(x).shape; T.nn.AvgPool1d(n, stride=n)(s); T.nn.Softplus(n)(x)
T.nn.HuberLoss(delta=f)(x, x * 2); T.nn.BatchNorm1d(n, eps=f)(x)
"""


@agrees
def test_numbers_of_numpy_as_options(torch: Any) -> Any:
    """They are Python's numbers: no result takes their dtype."""
    names = {
        "T": torch,
        "F": torch.nn.functional,
        "n": np.int64(2),
        "m": np.int32(3),
        "f": np.float64(0.5),
        "g": np.float32(0.5),
        "x": torch.arange(8.0).reshape(4, 2) / 4,
        "y": torch.tensor([0, 1, 1, 0]),
        "s": torch.arange(6.0).reshape(1, 1, 6),
        "i": torch.arange(16.0).reshape(1, 1, 4, 4),
    }
    lines = [line.strip() for line in NUMPY_NUMBERS.replace("\n", ";").split(";")]
    return [(line, eval(line, names)) for line in lines if line]
