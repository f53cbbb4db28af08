"""Fused kernels of a device, compiled for the processor: the values and dtypes of the CPU.

The input of CuPy and CUDA runs here over the strict arrays, see ``kernels.py``. ``test_nvrtc.py`` checks that CUDA's
compiler accepts it. It has never run on a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.fusion import cuda_kernel
from tests import needs, oracle
from tests.engine.ops.cases import CASES, Case
from tests.engine.strict.kernels import COMPILED, KERNELS

from .comparison import STRICT, agree, on, uneven
from .kernel_programs import SIZE, backward_functions, compiled_kernels, forward_functions, on_device, program_of

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


def gradients(case: Case, place: Any, *arrays: Any) -> list[Any]:
    """The result, first and second derivatives."""
    _, inputs, out = on(place, case, *arrays)
    out.backward(uneven(out, place), retain_graph=True)
    first = nb.autograd.grad(out, inputs, uneven(out, place), create_graph=True, allow_unused=True)
    terms = [(g * uneven(g, place)).sum() for g in first if g is not None and g.requires_grad]
    second = nb.autograd.grad(sum(terms[1:], terms[0]), inputs, allow_unused=True) if terms else []
    return [out, *(x.grad for x in inputs), *first, *second]


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_case(case: Case) -> None:
    agree(lambda place, *arrays: gradients(case, place, *arrays), *case.arrays())


# -- every operation and formula, by dtype -----------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize(("functions", "least"), [(forward_functions, 450), (backward_functions, 280)])
def test_the_code_of_every_operation_and_formula(functions: Any, least: int) -> None:
    """Includes kernels of one step, which CuPy's own kernels compute."""
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
        try:
            oracle.agree(partial(launch, kernel, program, launched), partial(steps, kernel), *operands)
        except pytest.fail.Exception as error:
            pytest.fail(f"{what}: {error}")


def launch(kernel: Any, program: Any, launched: Any, *operands: Any) -> Any:
    """Return the result of the kernel."""
    named = {f"{name}_in": operand for name, operand in zip(kernel.names, operands, strict=True)}
    given = [named[name] for _, name in program.in_params]
    found = launched(*(on_device(each) if isinstance(each, np.ndarray) else each for each in given))
    return broadcast(found if program.is_many else [found])


def steps(kernel: Any, *operands: Any) -> Any:
    """Return the results of its steps."""
    found = cuda_kernel._eager(kernel, operands)
    return broadcast(found if isinstance(found, (list, tuple)) else [found])


def broadcast(results: Any) -> list[Any]:
    """Numbers in the shape of all."""
    return [np.broadcast_to(np.asarray(getattr(each, "_v", each)), (SIZE,)) for each in results]
