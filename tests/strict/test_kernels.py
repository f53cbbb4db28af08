"""Fused kernels of a device, compiled for the processor: the values and dtypes of the CPU, in one launch.

What CuPy and CUDA would be handed runs here over the strict arrays, see ``kernels.py``. That NVRTC takes it, too, is
asked in ``test_nvrtc.py``. No device was ever there to run it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.arrays import backend
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
from tests.strict.kernels import COMPILED, KERNELS

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
    _, inputs, out = on(place, case)
    out.backward(uneven(out, place))
    return [out, *(x.grad for x in inputs)]


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
    """Those whose memory has another order, complex ones, and parameters of several groups."""

    def values(place: str) -> list[Any]:
        rng = np.random.default_rng(1)
        first = nb.tensor(rng.normal(size=(2, 3)), device=place).t().requires_grad_()
        second = nb.tensor(rng.normal(size=3) + 1j, device=place, requires_grad=True)
        third = nb.tensor(rng.normal(size=3), device=place, requires_grad=True)
        optimizer = nb.optim.Adam([{"params": [first, second]}, {"params": [third], "lr": 0.5}])
        ((first * first).sum() + (second * second.conj()).real.sum() + third.exp().sum()).backward()
        optimizer.step()
        copy = nb.optim.Adam([{"params": [first, second]}, {"params": [third]}])
        copy.load_state_dict(optimizer.state_dict())
        copy.step()
        return [t.detach().cpu().numpy() for t in (first, second, third)]

    for ours, theirs in zip(values("strict"), values("cpu"), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-12)
