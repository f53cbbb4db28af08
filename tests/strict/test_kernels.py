"""Fused kernels of a device, compiled for the processor: the values and dtypes of the CPU.

What CuPy and CUDA would be handed runs here over the strict arrays, see ``kernels.py``. That CUDA's compiler takes it,
too, is asked in ``test_nvrtc.py``. No device was ever there to run it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.arrays.summation import is_half
from nbautograd.fusion import cuda_kernel
from tests import needs
from tests.ops.cases import CASES, Case
from tests.strict.kernels import COMPILED, KERNELS

from .comparison import STRICT, on, same, uneven
from .kernel_programs import backward_functions, compiled_kernels, forward_functions, on_device, program_of

pytestmark = needs.compiler


@pytest.fixture(autouse=True, scope="module")
def compiled(strict_backend: None) -> Iterator[None]:
    """The strict device with kernels, those of all cases compiled together."""
    with compiled_kernels():
        with pytest.MonkeyPatch.context() as patch:
            original = cuda_kernel._launcher

            def collected(*arguments: Any) -> None:
                original(*arguments)

            patch.setattr(cuda_kernel, "_launcher", collected)
            for case in CASES:
                gradients(case, STRICT)
        COMPILED.compile()
        yield


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


# -- every operation and formula, by dtype -----------------------------------------------------------------------------


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
