"""Fused kernels of a device, compiled for the processor: the values and dtypes of the CPU, in one launch.

What CuPy and CUDA would be handed runs here over the strict arrays, see ``kernels.py``. That NVRTC takes it, too, is
asked in ``test_nvrtc.py``. No device was ever there to run it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.arrays import backend
from nbautograd.compiler.backward import formula_kernels
from nbautograd.compiler.registry import OPS, POINTWISE
from nbautograd.fusion import cuda_kernel
from nbautograd.fusion.cuda_source import CudaProgram, lower_to_cuda
from nbautograd.fusion.kernel import ElementwiseKernel
from nbautograd.fusion.symbolic import NeedsValue, NotFusable
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


# -- every operation and formula, by dtype -----------------------------------------------------------------------------

KINDS = {"b": "?", "i": "biBq", "f": "fd", "c": "FD"}
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
        for char in "".join(KINDS[category] for category in op.accepts if category in op.accepts_each):
            if op.floating and char in "?biBq":
                continue  # cast before the body sees them
            dtype = np.dtype(char)
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
            for char in "fd" if kernel is not None else "":
                operands = []
                for seed, operand in enumerate(kernel.names):
                    dtype = np.dtype(bool) if operand in op.masks else np.dtype(char)
                    if operand in options:
                        operands.append(options[operand])
                    elif operand.endswith(("dtype", "shape")):
                        operands.append(np.dtype(char) if operand.endswith("dtype") else (SIZE,))
                    else:
                        operands.append(values(dtype, seed))
                yield f"{op.name} by {name} of {char}", kernel, operands


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


def close(ours: Any, theirs: Any, what: str) -> None:
    theirs = np.asarray(theirs)
    assert ours.dtype == theirs.dtype, what
    if theirs.dtype.kind in "fc":
        tolerance = 32 * np.finfo(theirs.dtype).eps
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
            kernels.StrictArray(names[name]) if isinstance(names[name], np.ndarray) else names[name]
            for _, name in program.in_params
        ]
        ours = launched(*given_operands)
        with np.errstate(all="ignore"):
            theirs = kernel.eager(*operands)
        if program.is_many:
            for one, other in zip(ours, theirs, strict=True):
                close(one._v, other, what)
        else:
            close(ours._v, theirs, what)
