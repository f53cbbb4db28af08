"""Every operation of the cases as a program: it gives the gradients bit for bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.errors import DtypeError, ProgramError
from tests import oracle
from tests.engine.ops.cases import CASES, Case
from tests.pictures.program.runs import NoGraph, backward, run, same_bits, written

IMPORTS = {
    "F.ctc_loss", "scatter_reduce prod itself", "scatter_reduce prod", "index_reduce prod itself", "index_reduce prod",
}  # fmt: skip
"""Cases whose programs import a function from the package, and say so."""


def leaves_of(case: Case) -> list[Any]:
    nb.manual_seed(0)
    return [nb.tensor(a, dtype=nb.float32, requires_grad=True) for a in case.arrays()]


@pytest.mark.sweep
@pytest.mark.parametrize("chunk", range(12))
def test_programs_of_all_operations(chunk: int) -> None:
    counts = {"right": 0}
    wrong = [name for case in CASES[chunk::12] if (name := wrong_case(case, counts))]
    print(f"programs of operations: {counts['right']} right")
    assert wrong == []
    assert counts["right"] > 50


def wrong_case(case: Case, counts: dict[str, int]) -> str:
    """Return the error of a case's program; nothing if it is right."""
    leaves = leaves_of(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program, y = written(lambda *x: case.call(nb, *x), leaves)
        except (DtypeError, NoGraph):  # a case for float64 only, or without a derivative
            return ""
        except ProgramError as error:
            return str(error)
        found = run(program)
        backward(y)
    counts["right"] += 1
    imports = "from nbautograd" in program.source()
    if imports != (case.name in IMPORTS) or imports != ("NumPy and nbautograd" in program.source()):
        return f"{case}: imports of the package"
    for i, leaf in enumerate(leaves):
        grad, array = leaf.grad, found.get(f"x{i}")
        if (grad is None) != (array is None) or grad is not None and not same_bits(array, grad.numpy()):
            return f"{case}: x{i}"
    return ""


@pytest.mark.sweep
@pytest.mark.parametrize("chunk", range(3))
def test_programs_in_tensors(chunk: int) -> None:
    counts = {"right": 0, "refused": 0}
    wrong = [str(case) for case in CASES[chunk::30] if not is_written_in_tensors(case, counts)]
    assert wrong == []
    assert counts["right"] > 2 * counts["refused"]


def is_written_in_tensors(case: Case, counts: dict[str, int]) -> bool:
    """Return whether a case has a program of tensors, or is known to have none; compare its gradients with
    PyTorch's.
    """
    leaves = leaves_of(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program, y = written(lambda *x: case.call(nb, *x), leaves, "torch")
        except (DtypeError, NoGraph):
            return True
        except ProgramError as error:
            counts["refused"] += 1
            return "PyTorch has no function" in str(error) or "in tensors" in str(error)
        theirs = dict(oracle.answer(lambda T: run(program, T)).parts)
        found = run(program, nb)
        backward(y)
    counts["right"] += 1
    for i, leaf in enumerate(leaves):
        if leaf.grad is not None:
            oracle.close(leaf.grad, theirs[f"x{i}"])
            oracle.close(found[f"x{i}"], theirs[f"x{i}"])
    return True


@pytest.mark.parametrize("name", ["mul", "F.linear", "F.softmax", "cat", "max", "var dim", "index mixed"])
def test_half_precision_and_doubles(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    for dtype in (nb.float16, nb.float64):
        leaves = [nb.tensor(a, dtype=dtype, requires_grad=True) for a in case.arrays()]
        program, y = written(lambda *x: case.call(nb, *x), leaves)
        found = run(program)
        backward(y)
        for i, leaf in enumerate(leaves):
            assert same_bits(found[f"x{i}"], leaf.grad.numpy()), (name, dtype)


def test_large_arrays_are_computed_as_in_tiles() -> None:
    rng = np.random.default_rng(0)
    leaves = [nb.tensor(rng.normal(size=(300, 200)), dtype=nb.float32, requires_grad=True) for _ in range(2)]
    program, y = written(lambda a, b: (nb.sigmoid(a * b) + a * a).tanh().sum(), leaves)
    found = run(program)
    assert set(program.stored) == {"x0", "x1"}
    y.backward()
    assert all(same_bits(found[f"x{i}"], leaf.grad.numpy()) for i, leaf in enumerate(leaves))
