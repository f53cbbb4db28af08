"""Distributions on the strict device: the same numbers as on the CPU, without a copy in between."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.networks.distributions.cases import CASES, Case

from .comparison import CPU, STRICT, uneven


def _built(case: Case, place: Any, given: dict[str, Any]) -> tuple[Any, list[nb.Tensor]]:
    """A distribution on a device, and the parameters that have gradients."""
    leaves = dict(given)
    for key, value in given.items():
        if isinstance(value, np.ndarray):
            leaves[key] = nb.tensor(value, device=place, requires_grad=value.dtype.kind == "f")
    return case.build(nb, leaves), [leaf for leaf in leaves.values() if getattr(leaf, "requires_grad", False)]


def _with_gradients(place: Any, results: dict[str, Any], leaves: list[nb.Tensor]) -> dict[str, Any]:
    smooth = [value for name, value in results.items() if name != "cdf" and value.requires_grad]
    total = sum((value * uneven(value, place)).sum() for value in smooth if value.isfinite().all())
    if leaves and isinstance(total, nb.Tensor):
        gradients = nb.autograd.grad(total, leaves, allow_unused=True)
        results |= {f"gradient {i}": g for i, g in enumerate(gradients) if g is not None}
    assert {value.device for value in results.values()} <= {nb.device(place)}
    return {name: value.detach().cpu() for name, value in results.items()}


def _drawn(case: Case, place: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Samples of a distribution."""
    d, leaves = _built(case, place, given)
    nb.manual_seed(0)
    results = {"sample": d.sample((3,))}
    if d.has_rsample:
        nb.manual_seed(1)
        results["rsample"] = d.rsample()
    return _with_gradients(place, results, leaves)


def _told(case: Case, place: Any, given: dict[str, Any], sample: Any) -> dict[str, Any]:
    """Probabilities and moments of a distribution."""
    d, leaves = _built(case, place, given)
    sample = nb.tensor(sample, device=place)
    results = {"log_prob": d.log_prob(sample)}
    for name in ("mean", "mode", "variance", "entropy", "enumerate_support", "cdf"):
        try:
            value = getattr(d, name)
            results[name] = (value(sample) if name == "cdf" else value()) if callable(value) else value
        except NotImplementedError:
            continue
    return _with_gradients(place, results, leaves)


def _is_on_one_device(case: Case) -> bool:
    """Return whether there is a tensor, and no number beside a temperature: that would make a tensor on the CPU."""
    given = case.tensors(nb)
    tensors = [isinstance(value, nb.Tensor) for value in given.values()]
    return all(tensors) if "temperature" in given else any(tensors)


@pytest.mark.parametrize("case", [case for case in CASES if _is_on_one_device(case)], ids=str)
def test_numbers_are_those_of_the_cpu(case: Case) -> None:
    given, wide = {}, {}
    for key, value in case.tensors(nb).items():
        given[key] = wide[key] = value
        if isinstance(value, nb.Tensor):
            given[key] = np.array(value.tolist(), value.dtype.numpy)
            wide[key] = np.array(value.tolist())  # float32 uses other random numbers than float64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample, other = (_drawn(case, place, given)["sample"] for place in (CPU, STRICT))
        assert other.dtype == sample.dtype
        oracle.agree(*(partial(_drawn, case, place) for place in (STRICT, CPU)), wide)
        oracle.agree(*(partial(_told, case, place) for place in (STRICT, CPU)), given, sample.numpy())
