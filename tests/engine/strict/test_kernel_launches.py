"""Count the kernels of each operation and their operands, the recompilations, and the operations without a kernel."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core.tensor import wrap
from nbautograd._engine.fusion import cuda_kernel
from nbautograd._engine.fusion.kernel import ElementwiseKernel
from tests import needs, oracle
from tests.engine.strict import comparison, kernels
from tests.engine.strict.kernels import KERNELS
from tests.engine.strict.strict_array import SYNCS

from .comparison import STRICT
from .kernel_programs import Launches, agree, compiled_kernels

pytestmark = needs.compiler


@pytest.fixture(autouse=True, scope="module")
def compiled(strict_backend: None) -> Iterator[None]:
    with compiled_kernels():
        yield


def chain(x: nb.Tensor) -> nb.Tensor:
    return nb.nn.functional.softplus(nb.nn.functional.gelu(x * 0.7).tanh()).sigmoid()


def test_a_chain_of_formulas_is_one_kernel() -> None:
    x = nb.linspace(-2, 2, 12, device="strict").requires_grad_()
    y = chain(x)
    with Launches() as launches:
        y.sum().backward()
    assert (launches.elementwise, launches.reductions) == (1, 0)
    agree(chain, (3, 4))


def test_a_gradient_that_is_used_twice() -> None:
    """The sum of the gradients of two paths is part of the kernel."""
    agree(lambda x: x.tanh() * x.exp() + x.sin(), (5,))
    x = nb.linspace(-2, 2, 12, device="strict").requires_grad_()
    y = (x.tanh() + x.sigmoid()).sum()
    with Launches() as launches:
        y.backward()
    assert launches.elementwise == 1


def test_hooks_see_the_gradients_of_a_chain() -> None:
    def program(place: Any, values: Any) -> list[Any]:
        x = nb.tensor(values, device=place, requires_grad=True)
        y = x.tanh()
        seen: list[Any] = []
        y.register_hook(seen.append)
        y.sigmoid().sum().backward()
        return [*seen, x.grad]

    comparison.agree(program, np.linspace(-1, 1, 6, dtype=np.float32))


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [nb.float16, nb.float32, nb.float64], ids=str)
def test_chains_give_the_numbers_of_their_steps(dtype: nb.dtype) -> None:
    """Half precision is rounded after each node, fused or not."""
    found = []
    for hooked in (False, True):
        x = nb.linspace(-2, 2, 50, device="strict").to(dtype).requires_grad_()
        parts = [x]
        for function in (nb.tanh, nb.nn.functional.silu, nb.sigmoid, nb.nn.functional.softplus):
            parts.append(function(parts[-1]))
            if hooked:
                parts[-1].register_hook(lambda g: None)
        parts[-1].sum().backward()
        found.append(x.grad.cpu().double().numpy())
    np.testing.assert_array_equal(*found)
    agree(chain, (50,), dtype=dtype)


def test_half_precision_is_one_kernel() -> None:
    x = nb.linspace(-2, 2, 12, device="strict").half().requires_grad_()
    with Launches() as launches:
        y = nb.nn.functional.gelu(x)
    assert (y.dtype, launches.elementwise) == (nb.float16, 1)
    with Launches() as launches:
        y.backward(nb.ones_like(y))
    assert (x.grad.dtype, launches.elementwise) == (nb.float16, 1)


def test_the_gradient_of_what_was_broadcast_is_one_reduction() -> None:
    x = nb.ones(100, 70, device="strict").requires_grad_()
    w = nb.linspace(0, 1, 70, device="strict").requires_grad_()
    y = nb.atan2(x, w)
    with Launches() as launches:
        y.backward(nb.ones_like(y))
    assert (launches.elementwise, launches.reductions) == (1, 1)
    for shape in ((70,), (100, 1), (1, 70), (1, 1), ()):
        agree(nb.atan2, (100, 70), shape)
        agree(nb.atan2, (100, 70), shape, dtype=nb.float16)


SUMS: dict[str, Any] = {
    "norm": lambda x: x.norm(),
    "1-norm of rows": lambda x: x.norm(p=1, dim=1),
    "variance": lambda x: x.var(0),
    "standard deviation": lambda x: x.std(1, keepdim=True),
    "nansum": lambda x: nb.nansum(nb.where(x > 1, nb.nan, x), 0),
    "logsumexp": lambda x: x.logsumexp(1),
    "mean squared error": lambda x: nb.nn.functional.mse_loss(x, (x * 0 + 1).detach()),
    "sum of squared errors": lambda x: nb.nn.functional.mse_loss(x, x.detach() + 2, reduction="sum"),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_with_what_goes_before(name: str) -> None:
    agree(SUMS[name], (70, 90))
    for shape in ((1, 1), (1, 5), (5, 1)) if "dev" not in name and "var" not in name else ():
        agree(SUMS[name], shape)
    x = nb.ones(70, 90, device="strict")
    with nb.no_grad(), Launches() as launches:
        SUMS[name](x)
    assert launches.elementwise + launches.reductions >= 1
    assert nb.zeros(0, 3, device="strict").norm().item() == 0


# -- shapes, layouts, numbers ------------------------------------------------------------------------------------------

LAYOUTS: dict[str, Any] = {
    "as it is": lambda a: a,
    "transposed": lambda a: a.swapaxes(0, 1).copy().swapaxes(0, 1),
    "every second": lambda a: np.repeat(a, 2, 1)[:, ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
}


@pytest.mark.sweep
@settings(max_examples=60)
@given(
    st.tuples(st.integers(0, 4), st.integers(1, 4)),
    st.sampled_from(["full", "row", "column", "one", "none"]),
    st.sampled_from(sorted(LAYOUTS)),
    st.sampled_from(sorted(LAYOUTS)),
)
def test_shapes_and_layouts(shape: tuple[int, int], other: str, first: str, second: str) -> None:
    """Results have the CPU's values and strides."""
    n, m = shape
    shapes = {"full": (n, m), "row": (1, m), "column": (n, 1), "one": (1, 1), "none": ()}
    rng = np.random.default_rng(0)
    has_strides = "every" not in first and "reversed" not in first and "every" not in second and min(shape) > 1

    def program(place: Any, *arrays: Any) -> Any:
        a, b = LAYOUTS[first](arrays[0]), LAYOUTS[second](arrays[1]) if other == "full" else arrays[1]
        make = kernels.StrictArray if place == STRICT else np.asarray
        x, y = (wrap(make(each)).requires_grad_() for each in (a, b))
        out = nb.nn.functional.silu(nb.lerp(x, y.expand(*shape), nb.sigmoid(x)))
        out.sum().backward()
        strides = nb.tensor(out.stride() if has_strides and first == second else ())
        return out, x.grad, y.grad, strides

    comparison.agree(program, rng.normal(size=shape), np.asarray(rng.normal(size=shapes[other])))


@pytest.mark.sweep
def test_numbers_are_arguments_unless_the_code_depends_on_them() -> None:
    kernel = OPS["elu"].fused
    for alpha in (0.5, 1.0, 2.5, -0.0):
        agree(lambda x, alpha=alpha: nb.nn.functional.elu(x, alpha), (7,))
    assert len([key for key in kernel.launchers if key[1] is KERNELS]) <= 2
    for exponent in (2.0, 3.0, 0.5, -1.0, -2.0, 2.7, 0.0, 1.0):
        agree(lambda x, exponent=exponent: x.abs().pow(exponent), (7,))


def test_what_decides_the_code_is_not_compiled_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = ElementwiseKernel(lambda x, p: (x + 1) * (x if p > 0.5 else -x), None, 0, ["x", "p"])
    monkeypatch.setattr(cuda_kernel, "MAX_VARIANTS", 4)
    for p in np.linspace(0, 1, 12).tolist():
        oracle.agree(
            lambda x, p=p: cuda_kernel.compute(kernel, (kernels.StrictArray(x), p), KERNELS)._v,
            lambda x, p=p: (x + 1) * (x if p > 0.5 else -x),
            np.linspace(0, 1, 5),
        )
    assert sum(launcher is not None for launcher in kernel.launchers.values()) <= 4


@pytest.mark.parametrize("name", ["digamma", "erfinv", "i0", "lgamma"])
def test_what_has_no_kernel_is_computed_as_before(name: str) -> None:
    agree(lambda x: getattr(nb, name)(x.abs() * 0.4 + 0.1), (6,))


def test_errors_are_those_of_the_cpu() -> None:
    for call in (
        lambda x: x.long() // 0,
        lambda x: nb.nn.functional.gelu(x, approximate="nonsense"),
        lambda x: nb.lerp(x, x.double(), 0.5),
        lambda x: nb.atan2(x, nb.ones(5, device=x.device)),
        lambda x: nb.nn.functional.softplus(x.long()),
        lambda x: nb.hypot(x, "text"),
    ):
        messages = []
        for place in ("strict", "cpu"):
            with pytest.raises((RuntimeError, TypeError, ValueError)) as caught:
                call(nb.ones(3, 2, device=place))
            messages.append((type(caught.value), str(caught.value)))
        assert messages[0] == messages[1]


def test_threads_make_one_kernel() -> None:
    kernel = ElementwiseKernel(lambda x, y: x * y + x.astype(np.float64).astype(np.float32), None, 0, ["x", "y"])
    x = kernels.StrictArray(np.linspace(0, 1, 5).astype(np.float32))
    cuda_kernel.compute(ElementwiseKernel(kernel.eager, None, 0, ["x", "y"]), (x, x), KERNELS)  # compiles the code
    makers, real = [], cuda_kernel._elementwise_launcher

    def counted(*arguments: Any) -> Any:
        makers.append(threading.get_ident())
        return real(*arguments)

    ready = threading.Barrier(4)
    results: list[Any] = []

    def work() -> None:
        ready.wait()
        results.append(cuda_kernel._launcher(kernel, (x, x), KERNELS, counted))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(makers) == 1 and len(results) == 4 and len(set(map(id, results))) == 1


def test_a_step_of_training_waits_for_nothing() -> None:
    model = nb.nn.Sequential(nb.nn.Embedding(10, 4), nb.nn.Linear(4, 8), nb.nn.GELU(), nb.nn.Linear(8, 3)).to("strict")
    optimizer = nb.optim.AdamW(model.parameters())
    indices = nb.arange(6, device="strict") % 4
    loss = nb.nn.functional.mse_loss(model(indices), nb.zeros(6, 3, device="strict"))
    SYNCS.clear()
    with Launches() as launches:
        loss.backward()
        optimizer.step()
    assert SYNCS == []
    assert launches.raw == 3  # the embedding's gradient in two levels, and one for all parameters


@pytest.mark.parametrize(
    "function",
    [
        nb.sigmoid,
        nb.nn.functional.gelu,
        nb.nn.functional.softplus,
        nb.nn.functional.rrelu,
        nb.nan_to_num,
        lambda x: nb.lerp(x, x * 2, 0.25),
        lambda x: nb.pow(2.0, x),
    ],
)
def test_results_lie_in_memory_as_on_the_cpu(function: Any) -> None:
    strides = []
    for place in ("strict", "cpu"):
        x = nb.arange(6.0, device=place).reshape(2, 3).t().requires_grad_()
        y = function(x)
        y.backward(nb.ones(2, 3, device=place).t())
        strides.append((y.stride(), x.grad.stride()))
    assert strides[0] == strides[1]
