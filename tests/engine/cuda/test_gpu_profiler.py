"""The profiler on a CUDA device."""

from __future__ import annotations

import pytest

import nbautograd as nb
from nbautograd.autograd import profiler as old
from nbautograd.profiler import ProfilerActivity, profile, record_function
from tests import needs
from tests.engine.cuda.on_device import real

needs.cuda_device()
pytestmark = [pytest.mark.cuda, real]


def test_times_on_the_device() -> None:
    x = nb.randn(2000, 2000, device="cuda")
    (x @ x).sum().item()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as prof:
        with record_function("product"):
            y = x @ x
        y.sum().item()
    sums = {event.key: event for event in prof.key_averages()}
    assert sums["product"].device_time_total > 10 and "CUDA total" in prof.key_averages().table()
    assert sums["product"].device_memory_usage == 4 * 2000**2
    with old.emit_nvtx():
        (x * 2).sum()
