"""Distributions on the strict device: the same numbers as on the CPU, without a copy in between."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests.distributions.cases import CASES, Case

from .comparison import STRICT


def _on(place: Any, case: Case) -> dict[str, Any]:
    leaves = {}
    for key, value in case.tensors(nb).items():
        moved = value.to(place) if isinstance(value, nb.Tensor) else value
        leaves[key] = moved.requires_grad_() if isinstance(moved, nb.Tensor) and moved.is_floating_point() else moved
    return leaves


def _outcomes(place: Any, case: Case) -> dict[str, Any]:
    """Samples, probabilities, moments and gradients by the parameters of a distribution on a device."""
    leaves = _on(place, case)
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
    return results


def _is_on_one_device(case: Case) -> bool:
    """Whether there is a tensor, and no number beside a temperature: that would make a tensor on the CPU."""
    given = case.tensors(nb)
    tensors = [isinstance(value, nb.Tensor) for value in given.values()]
    return all(tensors) if "temperature" in given else any(tensors)


@pytest.mark.parametrize("case", [case for case in CASES if _is_on_one_device(case)], ids=str)
def test_numbers_are_those_of_the_cpu(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, expected = _outcomes(STRICT, case), _outcomes("cpu", case)
    assert ours.keys() == expected.keys()
    for name, value in expected.items():
        assert ours[name].device == STRICT, name
        np.testing.assert_allclose(
            np.array(ours[name].cpu().tolist()), np.array(value.tolist()), rtol=1e-6, atol=1e-9, err_msg=name
        )
