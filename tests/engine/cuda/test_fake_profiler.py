"""The profiler's marks in the device's queue, before a module that only looks like CuPy."""

from __future__ import annotations

import nbautograd as nb
from nbautograd.autograd import profiler as old
from nbautograd.profiler import ProfilerActivity, profile, record_function, supported_activities
from tests.engine.cuda.fake_cupy import fake_cupy, present


def test_operations_are_marked_on_the_device() -> None:
    with present(fake_cupy(1)):
        assert supported_activities() == {ProfilerActivity.CPU, ProfilerActivity.CUDA}
        with profile() as prof, record_function("both"):
            nb.ones(2).exp()
            nb.ones(2).log()
        table = prof.key_averages().table(sort_by="cuda_time_total")
    times = {event.name: event.device_time_total for event in prof.events()}
    assert times == {"both": 3000.0, "aten::exp": 1500.0, "aten::log": 1500.0}  # the module always returns 1.5 ms
    assert "CUDA total" in table and "Self CUDA time total: 3.000ms" in table


def test_ranges_are_opened_and_closed() -> None:
    module = fake_cupy(1)
    ranges: list[str] = []
    module.cuda.nvtx = type("nvtx", (), {"RangePush": ranges.append, "RangePop": lambda: ranges.append("end")})
    with present(module), old.emit_nvtx(), record_function("block"):
        nb.ones(2).exp()
    assert ranges == ["block", "aten::exp", "end", "end"]


def test_without_the_activity_nothing_is_marked() -> None:
    with present(fake_cupy(1)), profile(activities=[ProfilerActivity.CPU]) as prof:
        nb.ones(2).exp()
    assert "CUDA" not in prof.key_averages().table()
