"""Fused kernels of a device, compiled for the processor: the values and dtypes of the CPU, in one launch.

What CuPy and CUDA would be handed runs here over the strict arrays, see ``kernels.py``. That NVRTC takes it, too, is
asked in ``test_nvrtc.py``. No device was ever there to run it.
"""

from __future__ import annotations

import pkgutil
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.arrays import backend, segmented_sum
from nbautograd.compiler.backward import formula_kernels
from nbautograd.compiler.registry import OPS, POINTWISE, UPCAST
from nbautograd.fusion import cuda_kernel, multi_tensor
from nbautograd.fusion.cuda_source import CudaProgram, lower_to_cuda
from nbautograd.fusion.kernel import ElementwiseKernel
from nbautograd.fusion.symbolic import NeedsValue, NotFusable, is_half
from nbautograd.optim.elementwise import change_of
from tests import needs
from tests.ops.cases import CASES, Case
from tests.strict import kernels
from tests.strict.backend import _Add
from tests.strict.kernels import COMPILED, KERNELS
from tests.strict.strict_array import SYNCS

from .comparison import STRICT, on, same, uneven

pytestmark = needs.compiler


@pytest.fixture(autouse=True, scope="module")
def compiled(strict_backend: None) -> Iterator[None]:
    """The strict device with kernels, those of all cases compiled together."""
    strict: Any = backend._BY_TYPE["strict"]
    strict.compiled = KERNELS
    with pytest.MonkeyPatch.context() as patch:
        original = cuda_kernel._launcher

        def collected(*arguments: Any) -> None:
            original(*arguments)

        patch.setattr(cuda_kernel, "_launcher", collected)
        for case in CASES:
            gradients(case, STRICT)
    for make in OPTIMIZERS.values():
        for rule, count in rules_of(make):
            for kind in map(np.dtype, ("float32", "float64", "float16")):
                multi_tensor._kernel(rule, multi_tensor._cells(rule), kind, count, KERNELS)
    COMPILED.compile()
    try:
        yield
    finally:
        strict.compiled = None


def gradients(case: Case, place: Any) -> list[Any]:
    """The result, first and second derivatives."""
    _, inputs, out = on(place, case)
    out.backward(uneven(out, place), retain_graph=True)
    first = nb.autograd.grad(out, inputs, uneven(out, place), create_graph=True, allow_unused=True)
    terms = [(g * uneven(g, place)).sum() for g in first if g is not None and g.requires_grad]
    second = nb.autograd.grad(sum(terms[1:], terms[0]), inputs, allow_unused=True) if terms else []
    return [out, *(x.grad for x in inputs), *first, *second]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_case(case: Case) -> None:
    for ours, theirs in zip(gradients(case, STRICT), gradients(case, nb.device("cpu")), strict=True):
        same(ours, theirs)


for module in pkgutil.walk_packages(nb.__path__, "nbautograd."):
    if module.name.startswith(("nbautograd.ops.", "nbautograd.nn.functional.")):
        import_module(module.name)  # so that all operations are declared

# -- every operation and formula, by dtype -----------------------------------------------------------------------------

KINDS = {
    "b": "bool",
    "i": "int8 int32 uint8 int64",
    "f": "float32 float64 float16 bfloat16",
    "c": "complex64 complex128",
}
SIZE = 40
BY_HAND = {
    "derivative_of_digamma": {"n": 2},
    "mvlgamma": {"p": 2},
    "divide_rounded": {"rounding_mode": "floor"},
    "linalg_cross_same": {"dim": 0},
    "_round_decimals": {"decimals": 2},
    "hardshrink": {"lambd": 0.5},
}


def values(dtype: np.dtype[Any], seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(SIZE) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -5, 6, SIZE).astype(dtype)
    special = [0.0, 1.0, -1.0, 0.5, -2.0, 3.0]
    array = np.concatenate([special, rng.normal(size=SIZE - len(special)) * 1.5])
    rng.shuffle(array)
    if dtype.kind == "c":
        return (array + 1j * rng.normal(size=SIZE)).astype(dtype)
    return array.astype(dtype)


def options_of(op: Any) -> dict[str, Any]:
    defaults = op.option_defaults() or {}
    names = [name for name in (*op.positional, *op.keywords) if name not in op.tensors]
    return {name: BY_HAND.get(op.name, {}).get(name, defaults.get(name, 0.75)) for name in names} | {
        name: 0.75 for name in names if defaults.get(name, ...) is ... and name not in BY_HAND.get(op.name, {})
    }


def forward_functions() -> Iterator[tuple[str, ElementwiseKernel, list[Any]]]:
    """Every elementwise operation's body, with operands of each dtype that it takes."""
    for op in OPS.values():
        if op.kind != POINTWISE:
            continue
        options = options_of(op)
        categories = [category for category in op.accepts if category in op.accepts_each]
        for dtype in [np.dtype(kind) for category in categories for kind in KINDS[category].split()]:
            if (op.floating and dtype.kind in "biu") or (is_half(dtype) and op.half_policy != UPCAST):
                continue  # cast before the body sees them
            operands = [
                options[name] if name in options else values(np.dtype(bool) if name in op.masks else dtype, seed)
                for seed, name in enumerate(op.fused.names)
            ]
            yield f"{op.name} of {dtype}", op.fused, operands


def backward_functions() -> Iterator[tuple[str, ElementwiseKernel, list[Any]]]:
    """Every formula of theirs."""
    for op in OPS.values():
        if op.kind != POINTWISE or not op.formulas or "f" not in op.accepts:
            continue
        options = options_of(op)
        for name, kernel in formula_kernels(op).items():
            for kind in map(np.dtype, KINDS["f"].split() if kernel is not None else []):
                operands = []
                for seed, operand in enumerate(kernel.names):
                    dtype = np.dtype(bool) if operand in op.masks else kind
                    if operand in options:
                        operands.append(options[operand])
                    elif operand.endswith(("dtype", "shape")):
                        operands.append(kind if operand.endswith("dtype") else (SIZE,))
                    else:
                        operands.append(values(dtype, seed))
                yield f"{op.name} by {name} of {kind}", kernel, operands


def program_of(kernel: ElementwiseKernel, operands: list[Any]) -> CudaProgram | None:
    kinds = [cuda_kernel._kind(operand, cuda_kernel.NUMBER) for operand in operands]
    try:
        return lower_to_cuda(kernel.eager, kernel.names, cuda_kernel._described(kinds))
    except NeedsValue:
        kinds = [cuda_kernel._kind(operand, None) for operand in operands]
    except NotFusable:
        return None
    try:
        return lower_to_cuda(kernel.eager, kernel.names, cuda_kernel._described(kinds))
    except NotFusable:
        return None


def on_device(array: np.ndarray[Any, Any]) -> Any:
    return array if array.dtype == kernels.BFLOAT16 else kernels.StrictArray(array)


def close(ours: Any, theirs: Any, what: str) -> None:
    ours, theirs = getattr(ours, "_v", ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype, what
    if theirs.dtype.kind in "fcV":
        half = is_half(theirs.dtype)
        tolerance = {"e": 1e-3, "E": 8e-3}[theirs.dtype.char] if half else 32 * np.finfo(theirs.dtype).eps
        ours, theirs = (a.astype(np.float32) if half else a for a in (ours, theirs))
        np.testing.assert_allclose(ours, np.broadcast_to(theirs, ours.shape), tolerance, tolerance, err_msg=what)
    else:
        np.testing.assert_array_equal(ours, np.broadcast_to(theirs, ours.shape), what)


@pytest.mark.parametrize(("functions", "least"), [(forward_functions, 450), (backward_functions, 280)])
def test_the_code_of_every_operation_and_formula(functions: Any, least: int) -> None:
    """Also of those that are one step, which CuPy's own kernels compute."""
    made = []
    for what, kernel, operands in functions():
        program = program_of(kernel, operands)
        if program is None:
            continue
        launched = cuda_kernel.elementwise_kernel(program, KERNELS)
        made.append((what, kernel, operands, program, launched))
    assert len(made) >= least
    COMPILED.compile()
    for what, kernel, operands, program, launched in made:
        names = {f"{name}_in": operand for name, operand in zip(kernel.names, operands, strict=True)}
        given_operands = [
            on_device(names[name]) if isinstance(names[name], np.ndarray) else names[name]
            for _, name in program.in_params
        ]
        ours = launched(*given_operands)
        theirs = cuda_kernel._eager(kernel, tuple(operands))
        if program.is_many:
            for one, other in zip(ours, theirs, strict=True):
                close(one, other, what)
        else:
            close(ours, theirs, what)


# -- optimizers --------------------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda p: nb.optim.SGD(p, 0.1),
    "SGD with momentum": lambda p: nb.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
    "Adam": lambda p: nb.optim.Adam(p, amsgrad=True, maximize=True),
    "AdamW": lambda p: nb.optim.AdamW(p),
    "NAdam": lambda p: nb.optim.NAdam(p),
    "RAdam": lambda p: nb.optim.RAdam(p),
    "Adamax": lambda p: nb.optim.Adamax(p),
    "RMSprop": lambda p: nb.optim.RMSprop(p),
    "RMSprop with momentum": lambda p: nb.optim.RMSprop(p, momentum=0.5, centered=True),
    "Adagrad": lambda p: nb.optim.Adagrad(p),
    "Adadelta": lambda p: nb.optim.Adadelta(p),
    "Rprop": lambda p: nb.optim.Rprop(p),
    "ASGD": lambda p: nb.optim.ASGD(p, t0=2),
}


def rules_of(make: Any) -> Iterator[tuple[Any, int]]:
    """The update rules of an optimizer's first steps, and how many arrays they take."""
    p = nb.zeros(3).requires_grad_()
    optimizer = make([p])
    (group,) = optimizer.param_groups
    slots = optimizer._slots(group)
    for _ in range(2):
        state, kept, fresh = optimizer._prepare(p, slots)
        rule, change = optimizer._plan(state, group, fresh), change_of(group)
        yield rule if change is None else change(rule), len(kept) + 2


def trained(place: str, make: Any, dtype: nb.dtype) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    parameters = [
        nb.tensor(rng.normal(size=shape)).to(dtype).to(place).requires_grad_() for shape in ((3, 4), (5000,), (1,))
    ]
    optimizer = make(parameters)
    for step in range(4):
        for p in parameters:
            p.grad = nb.tensor(rng.normal(size=p.shape)).to(dtype).to(place)
        if step == 2:
            optimizer.param_groups[0]["lr"] *= 0.5
        optimizer.step()
    states = [value for p in parameters for value in optimizer.state[p].values()]
    return [t.detach().cpu().double().numpy() for t in (*parameters, *states)]


@pytest.mark.parametrize("dtype", [nb.float32, nb.float64, nb.float16], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_update_all_parameters_by_one_kernel(name: str, dtype: nb.dtype) -> None:
    launches, kept = kernels.RawKernel.launches, len(multi_tensor._kernels)
    on_strict = trained("strict", OPTIMIZERS[name], dtype)
    assert kernels.RawKernel.launches - launches == 4  # one for each step
    assert len(multi_tensor._kernels) - kept <= 4  # step sizes are arguments, not code
    for ours, theirs in zip(on_strict, trained("cpu", OPTIMIZERS[name], dtype), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6)


def test_other_parameters_are_updated_as_before() -> None:
    """Those whose gradients lie in memory in another order, complex ones, and parameters of several groups."""

    def values(place: str) -> list[Any]:
        rng = np.random.default_rng(1)
        first = nb.tensor(rng.normal(size=(2, 3)), device=place).t().requires_grad_()
        second = nb.tensor(rng.normal(size=3) + 1j, device=place, requires_grad=True)
        third = nb.tensor(rng.normal(size=3), device=place, requires_grad=True)
        optimizer = nb.optim.Adam([{"params": [first, second]}, {"params": [third], "lr": 0.5}])
        ((first * first).sum() + (second * second.conj()).real.sum() + third.exp().sum()).backward()
        first.grad = nb.tensor(rng.normal(size=(3, 2)), device=place)
        optimizer.step()
        copy = nb.optim.Adam([{"params": [first, second]}, {"params": [third]}])
        copy.load_state_dict(optimizer.state_dict())
        copy.step()
        return [t.detach().cpu().numpy() for t in (first, second, third)]

    for ours, theirs in zip(values("strict"), values("cpu"), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-12)


# -- what is launched --------------------------------------------------------------------------------------------------


class Launches:
    """How many kernels run in a ``with`` block: elementwise ones, reductions, raw ones."""

    def counts(self) -> list[int]:
        return [kind.launches for kind in (kernels.ElementwiseKernel, kernels.ReductionKernel, kernels.RawKernel)]

    def __enter__(self) -> Launches:
        self.before = self.counts()
        return self

    def __exit__(self, *exception: object) -> None:
        self.elementwise, self.reductions, self.raw = (
            now - before for now, before in zip(self.counts(), self.before, strict=True)
        )


def both(program: Any, *shapes: tuple[int, ...], dtype: Any = nb.float32) -> list[list[np.ndarray[Any, Any]]]:
    """The result of a program and its gradients, on the strict device and on the CPU."""
    found = []
    for place in ("strict", "cpu"):
        rng = np.random.default_rng(3)
        inputs = [nb.tensor(rng.normal(size=shape)).to(dtype).to(place).requires_grad_() for shape in shapes]
        out = program(*inputs)
        out.backward(nb.tensor(rng.normal(size=out.shape)).to(dtype).to(place))
        found.append([t.detach().cpu().double().numpy() for t in (out, *(x.grad for x in inputs))])
    return found


def agree(found: list[list[np.ndarray[Any, Any]]], tolerance: float = 1e-5) -> None:
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


def chain(x: nb.Tensor) -> nb.Tensor:
    return nb.nn.functional.softplus(nb.nn.functional.gelu(x * 0.7).tanh()).sigmoid()


def test_a_chain_of_formulas_is_one_kernel() -> None:
    x = nb.linspace(-2, 2, 12, device="strict").requires_grad_()
    y = chain(x)
    with Launches() as launches:
        y.sum().backward()
    assert (launches.elementwise, launches.reductions) == (1, 0)
    agree(both(chain, (3, 4)))


def test_a_gradient_that_is_used_twice() -> None:
    """The sum of what comes by two ways is part of the kernel."""
    agree(both(lambda x: x.tanh() * x.exp() + x.sin(), (5,)))
    x = nb.linspace(-2, 2, 12, device="strict").requires_grad_()
    y = (x.tanh() + x.sigmoid()).sum()
    with Launches() as launches:
        y.backward()
    assert launches.elementwise == 1


def test_hooks_see_the_gradients_of_a_chain() -> None:
    found = []
    for place in ("strict", "cpu"):
        x = nb.linspace(-1, 1, 6, device=place).requires_grad_()
        y = x.tanh()
        seen: list[Any] = []
        y.register_hook(seen.append)
        y.sigmoid().sum().backward()
        found.append([t.cpu().numpy() for t in (*seen, x.grad)])
    agree(found)


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
    agree(both(chain, (50,), dtype=dtype), 4e-3 if dtype is nb.float16 else 1e-5)


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
        agree(both(nb.atan2, (100, 70), shape), 1e-4)
        agree(both(nb.atan2, (100, 70), shape, dtype=nb.float16), 2e-2)


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
    agree(both(SUMS[name], (70, 90)), 1e-4)
    agree(both(SUMS[name], (1, 1)), 1e-4) if "dev" not in name and "var" not in name else None
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


@settings(max_examples=60, deadline=None)
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
    a = LAYOUTS[first](rng.normal(size=shape))
    b = rng.normal(size=shapes[other])
    b = LAYOUTS[second](b) if other == "full" else b
    found = []
    for place in ("strict", "cpu"):
        make = kernels.StrictArray if place == "strict" else np.asarray
        x, y = (nb.core.tensor.wrap(make(each)).requires_grad_() for each in (a, b))  # type: ignore[attr-defined]
        out = nb.nn.functional.silu(nb.lerp(x, y.expand(*shape), nb.sigmoid(x)))
        out.sum().backward()
        found.append((out, x.grad, y.grad))
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs)
    ours, theirs = (results[0] for results in found)
    if "every" not in first and "reversed" not in first and "every" not in second and min(shape) > 1:
        assert ours.stride() == theirs.stride() or first != second


def test_numbers_are_arguments_unless_the_code_depends_on_them() -> None:
    x = nb.linspace(-1, 1, 7, device="strict")
    kernel = OPS["elu"].fused
    for alpha in (0.5, 1.0, 2.5, -0.0):
        theirs = nb.nn.functional.elu(x.cpu(), alpha)
        np.testing.assert_allclose(nb.nn.functional.elu(x, alpha).cpu().numpy(), theirs.numpy(), 1e-6)
    assert len([key for key in kernel.launchers if key[1] is KERNELS]) <= 2
    for exponent in (2.0, 3.0, 0.5, -1.0, -2.0, 2.7, 0.0, 1.0):
        y = x.clone().abs().requires_grad_()
        y.pow(exponent).sum().backward()
        z = x.cpu().abs().requires_grad_()
        z.pow(exponent).sum().backward()
        np.testing.assert_allclose(y.grad.cpu().numpy(), z.grad.numpy(), 1e-6)


def test_what_decides_the_code_is_not_compiled_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = ElementwiseKernel(lambda x, p: (x + 1) * (x if p > 0.5 else -x), None, 0, ["x", "p"])
    x = kernels.StrictArray(np.linspace(0, 1, 5))
    monkeypatch.setattr(cuda_kernel, "MAX_VARIANTS", 4)
    for p in np.linspace(0, 1, 12).tolist():
        theirs = (x._v + 1) * (x._v if p > 0.5 else -x._v)
        np.testing.assert_allclose(cuda_kernel.compute(kernel, (x, p), KERNELS)._v, theirs)
    assert sum(launcher is not None for launcher in kernel.launchers.values()) <= 4


@pytest.mark.parametrize("name", ["digamma", "erfinv", "i0", "lgamma"])
def test_what_has_no_kernel_is_computed_as_before(name: str) -> None:
    agree(both(lambda x: getattr(nb, name)(x.abs() * 0.4 + 0.1), (6,)))


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
    assert launches.raw == 3  # the embedding's gradient in two levels, and all parameters at once


# -- adding up at indices ----------------------------------------------------------------------------------------------

PLACES: dict[str, tuple[tuple[int, ...], Any]] = {
    "elements": ((7,), lambda rng: (rng.integers(-7, 7, 50),)),
    "many to few": ((5, 3), lambda rng: (rng.integers(0, 5, 9000),)),
    "columns": ((5, 3, 2), lambda rng: (slice(None), rng.integers(0, 3, 9))),
    "two indices": ((5, 3, 2), lambda rng: (rng.integers(0, 5, (4, 1)), rng.integers(0, 3, 6))),
    "a mask": ((6,), lambda rng: rng.random(6) < 0.5),
    "rows": ((4, 3), lambda rng: (rng.integers(0, 4, 8), slice(None))),
    "nothing": ((4, 3), lambda rng: (rng.integers(0, 4, 0),)),
}


@pytest.mark.parametrize("char", "fdeilQ?bBFD")
@pytest.mark.parametrize("name", PLACES)
def test_adding_at_indices(name: str, char: str) -> None:
    rng = np.random.default_rng(0)
    shape, places = PLACES[name]
    key = places(rng)
    start = (rng.normal(size=shape) * 3).astype(char)
    values = rng.integers(0, 3, start[key].shape).astype(char)
    exact = start.astype("D" if char in "FD" else "d" if char in "fde" else start.dtype)
    np.add.at(exact, key, values.astype(exact.dtype))
    found = kernels.StrictArray(start.copy())
    strict_key: Any = tuple(kernels.StrictArray(part) if isinstance(part, np.ndarray) else part for part in key)
    backend.add_at(found, kernels.StrictArray(key) if isinstance(key, np.ndarray) else strict_key, on_device(values))
    tolerance = {"f": 1e-5, "F": 1e-5, "e": 2e-3, "d": 1e-12, "D": 1e-12}.get(char, 0)
    assert found.dtype == start.dtype
    np.testing.assert_allclose(found._v.astype(exact.dtype), exact, tolerance, tolerance)


def test_long_segments_and_wide_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread adds up few values, so that the error hardly grows; and wide rows go some columns at a time."""
    rng = np.random.default_rng(1)
    rows = rng.random((70_000, 1)).astype(np.float32)
    index = np.repeat([2, 0], [65_000, 5_000])
    found = backend.sum_of_rows(kernels.StrictArray(index), kernels.StrictArray(rows), 4)._v
    exact = np.zeros((4, 1))
    np.add.at(exact, index, rows.astype(np.float64))
    np.testing.assert_allclose(found, exact, 2e-6)
    monkeypatch.setattr(segmented_sum, "MAX_PARTIAL_SUMS", 1000)
    rows, index = rng.normal(size=(300, 7)).astype(np.float32), rng.integers(-4, 4, 300)
    found = backend.sum_of_rows(kernels.StrictArray(index), kernels.StrictArray(rows), 4)._v
    np.testing.assert_allclose(found, backend.sum_of_rows(index, rows, 4), 1e-5, 1e-5)


def test_gradients_of_indexing_are_added_up_without_atomics(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any) -> None:
        raise AssertionError("an atomic addition")

    monkeypatch.setattr(_Add, "at", refused)
    index = np.array([0, 2, 2, 1, 2])
    for program in (
        lambda x: x[nb.tensor(index, device=x.device)],
        lambda x: x.index_select(0, nb.tensor(index, device=x.device)),
        lambda x: x.gather(0, nb.tensor(index, device=x.device)[:, None]),
        lambda x: nb.nn.functional.embedding(nb.tensor(index, device=x.device), x),
        lambda x: nb.take(x, nb.tensor(index, device=x.device)),
        lambda x: nb.zeros_like(x).index_add(0, nb.tensor(index[:3], device=x.device), x),
        lambda x: nb.zeros_like(x).scatter_add(1, nb.tensor(index[:3, None], device=x.device), x),
        lambda x: x.max(1).values + x[:, 0],
    ):
        agree(both(program, (3, 3)))
