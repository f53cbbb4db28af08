"""Distributions on the strict device: the same numbers as on the CPU, without a copy in between."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.distributions.cases import CASES, Case

from .comparison import CPU, STRICT


def _outcomes(case: Case, place: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Samples, probabilities, moments and gradients by the parameters of a distribution on a device."""
    leaves = dict(given)
    for key, value in given.items():
        if isinstance(value, np.ndarray):
            leaves[key] = nb.tensor(value, device=place, requires_grad=value.dtype.kind == "f")
    d = case.build(nb, leaves)
    nb.manual_seed(0)
    results = {"sample": d.sample((3,))}
    results["log_prob"] = d.log_prob(results["sample"])
    for name in ("mean", "mode", "variance", "entropy", "rsample", "enumerate_support", "cdf"):
        try:
            value = getattr(d, name)
            if callable(value):
                nb.manual_seed(1)
                value = value(results["sample"]) if name == "cdf" else value()
            results[name] = value
        except NotImplementedError:
            continue
    smooth = [value for name, value in results.items() if name != "cdf" and value.requires_grad]
    total = sum(value.sum() for value in smooth if value.isfinite().all())
    wanted = [leaf for leaf in leaves.values() if getattr(leaf, "requires_grad", False)]
    if wanted and isinstance(total, nb.Tensor):
        gradients = nb.autograd.grad(total, wanted, allow_unused=True)
        results.update((f"gradient {i}", g) for i, g in enumerate(gradients) if g is not None)
    assert {value.device for value in results.values()} == {nb.device(place)}
    return {name: value.detach().cpu() for name, value in results.items()}


def _is_on_one_device(case: Case) -> bool:
    """Whether there is a tensor, and no number beside a temperature: that would make a tensor on the CPU."""
    given = case.tensors(nb)
    tensors = [isinstance(value, nb.Tensor) for value in given.values()]
    return all(tensors) if "temperature" in given else any(tensors)


@pytest.mark.parametrize("case", [case for case in CASES if _is_on_one_device(case)], ids=str)
def test_numbers_are_those_of_the_cpu(case: Case) -> None:
    given = {
        key: np.array(value.tolist(), value.dtype.numpy) if isinstance(value, nb.Tensor) else value
        for key, value in case.tensors(nb).items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.agree(*(partial(_outcomes, case, place) for place in (STRICT, CPU)), given)
