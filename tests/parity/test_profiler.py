"""``torch.profiler``: what is recorded, what is not touched, and tables and traces in PyTorch's form."""

from __future__ import annotations

import gzip
import json
import threading
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import nbautograd as nb
from nbautograd._engine.core import dispatch_mode
from nbautograd.autograd import profiler as old
from nbautograd.autograd.profiler_table import format_memory, format_time
from nbautograd.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule
from tests import oracle


def training(torch: Any = nb) -> Any:
    """A step of training, as a function."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(5, 4)

    def step() -> None:
        with torch.autograd.profiler.record_function("forward"):
            loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def recorded(**options: Any) -> Any:
    """The profile of two steps."""
    step = training()
    step()
    with profile(activities=[ProfilerActivity.CPU], **options) as prof:
        step()
        step()
    return prof


def counts(prof: Any) -> dict[str, int]:
    return {event.key: event.count for event in prof.key_averages()}


def test_what_a_step_of_training_consists_of() -> None:

    def program(torch: Any) -> Any:
        step = training(torch)
        step()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
            step()
            step()
        return counts(prof)

    ours, theirs = counts(recorded()), dict(oracle.answer(program, exact=True).parts)
    nodes = [name for name in theirs if "Backward0" in name or "AccumulateGrad" in name]
    blocks = [name for name in theirs if "#" in name or name == "forward"]
    operations = ["aten::addmm", "aten::relu", "aten::mean"]
    assert len(nodes) >= 12 and len(blocks) == 3
    assert {name: ours.get(name) for name in [*nodes, *blocks, *operations]} == {
        name: theirs[name] for name in [*nodes, *blocks, *operations]
    }


def test_nothing_is_left_behind() -> None:
    assert (nb.ones(1) * 2).item() == 2
    nb.mul(nb.ones(1), 2)
    code = nb.mul.__code__
    with profile():
        assert nb.mul.__code__ is not code
    nb.mul(nb.ones(1), 2)  # the next call ends the detour
    assert nb.mul.__code__ is code
    assert dispatch_mode.watcher is None and dispatch_mode.followers == [] and nb.protocol.observers.get() == ()


def test_an_error_in_the_block_leaves_nothing_behind_either() -> None:
    x = nb.ones(2, requires_grad=True)
    x.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError), profile() as prof, record_function("failing"):
        (x * 2).sum().backward()
    assert dispatch_mode.watcher is None and nb.protocol.observers.get() == ()
    assert counts(prof)["failing"] == 1
    assert all(event.time_range.end >= event.time_range.start for event in prof.events())
    with pytest.raises(RuntimeError), profile() as prof:
        nb.ones(2) @ nb.ones(3)
    assert any("aten::" in name for name in counts(prof))


def test_values_and_gradients_are_the_same() -> None:
    def result() -> list[Any]:
        nb.manual_seed(1)
        x = nb.randn(4, 4, requires_grad=True)
        y = x.detach().clone()
        y.add_(1).mul_(2).clamp_(min=0)
        loss = (x @ y).softmax(1)[0].log().sum()
        (grad,) = nb.autograd.grad(loss, x, create_graph=True)
        grad.pow(2).sum().backward()
        return [loss.tolist(), y.tolist(), x.grad.tolist()]

    plain = result()
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True):
        assert result() == plain


def test_blocks_nest() -> None:
    with profile() as prof, record_function("outer"):
        with record_function("inner"):
            nb.ones(3).exp()
        nb.ones(3).log()
    outer, inner, exp, log = prof.events()
    assert [event.name for event in (outer, inner, exp, log)] == ["outer", "inner", "aten::exp", "aten::log"]
    assert inner.cpu_parent is outer and exp.cpu_parent is inner and outer.cpu_children == [inner, log]
    assert outer.cpu_time_total >= inner.cpu_time_total >= exp.cpu_time_total > 0
    parts = outer.self_cpu_time_total + inner.cpu_time_total + log.cpu_time_total
    oracle.close(parts, outer.cpu_time_total, steps=4)
    oracle.close(prof.events().self_cpu_time_total, outer.cpu_time_total)


def test_a_block_decorates_functions_and_means_nothing_without_a_profiler() -> None:
    @record_function("square")
    def square(x: Any) -> Any:
        """Its own words."""
        return x * x

    assert square.__doc__ == "Its own words." and square(nb.tensor(3.0)).item() == 9
    with profile() as prof:
        square(nb.tensor(3.0))
        square(nb.tensor(3.0))
    assert counts(prof) == {"square": 2, "aten::mul": 2}


def test_shapes() -> None:
    with profile(record_shapes=True) as prof:
        nb.ones(2, 3) @ nb.ones(3, 4)
        nb.ones(5, 3) @ nb.ones(3, 4)
        nb.cat([nb.ones(1, 2), nb.ones(3, 2)])
    by_shape = {str(event.input_shapes): event.key for event in prof.key_averages(group_by_input_shape=True)}
    assert by_shape["[[2, 3], [3, 4]]"] == by_shape["[[5, 3], [3, 4]]"]
    assert "[[[1, 2], [3, 2]], []]" in by_shape or "[[[1, 2], [3, 2]]]" in by_shape
    assert "Input Shapes" in prof.key_averages(group_by_input_shape=True).table()
    assert "Input Shapes" not in prof.key_averages().table()


def test_memory_is_that_of_new_results() -> None:
    x = nb.ones(256)
    with profile(profile_memory=True) as prof:
        with record_function("both"):
            x.exp()
            x.view(16, 16)
        x.add_(1)
    events = {event.name: event for event in prof.events()}
    assert events["aten::exp"].cpu_memory_usage == 1024
    assert events["aten::view"].cpu_memory_usage == 0 and events["aten::add_"].cpu_memory_usage == 0
    assert events["both"].cpu_memory_usage == 1024 and events["both"].self_cpu_memory_usage == 0
    assert "1.00 KB" in prof.key_averages().table()


def test_operations_are_counted() -> None:
    with profile(with_flops=True) as prof:
        nb.ones(2, 3) @ nb.ones(3, 4)
        nb.ones(10) * nb.ones(10)
        nb.nn.functional.conv2d(nb.ones(1, 2, 5, 5), nb.ones(3, 2, 3, 3))
    flops = {event.key: event.flops for event in prof.key_averages()}
    assert flops["aten::mul"] == 10 and 48 in flops.values() and flops["aten::convolution"] == 2 * 27 * 18


def test_the_lines_of_the_calls(tmp_path: Path) -> None:
    def called_here(x: Any) -> Any:
        return x.exp()

    with profile(with_stack=True) as prof:
        for _ in range(50):
            called_here(nb.ones(1000))
    (event,) = prof.key_averages(group_by_stack_n=1)
    assert event.stack[0].startswith(__file__) and event.stack[0].endswith("called_here") and event.count == 50
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table(max_src_column_width=200)
    prof.export_stacks(str(tmp_path / "stacks"))
    line = (tmp_path / "stacks").read_text().splitlines()[0]
    assert "called_here" in line.rpartition(" ")[0].rpartition(";")[2] and int(line.rpartition(" ")[2]) > 0
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(tmp_path / "stacks"), "time")
    with pytest.raises(ValueError, match="with_stack"):
        recorded().export_stacks(str(tmp_path / "stacks"))


def test_other_threads_are_recorded_by_themselves() -> None:
    with profile() as prof, record_function("here"):
        thread = threading.Thread(target=lambda: nb.ones(3).exp())
        thread.start()
        thread.join()
        nb.ones(3).log()
    events = {event.name: event for event in prof.events()}
    assert events["aten::exp"].cpu_parent is None and events["aten::log"].cpu_parent is events["here"]
    assert events["aten::exp"].thread != events["aten::log"].thread


def test_batches_of_data_loaders() -> None:
    loader = nb.utils.data.DataLoader(nb.utils.data.TensorDataset(nb.arange(4)), batch_size=2)
    with profile() as prof:
        assert len(list(loader)) == 2
    assert counts(prof)["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"] == 3


def test_transforms_are_recorded() -> None:
    with profile() as prof:
        assert nb.func.vmap(nb.exp)(nb.zeros(3)).tolist() == [1, 1, 1]
        nb.func.jvp(nb.sin, (nb.zeros(1),), (nb.ones(1),))
    assert counts(prof)["aten::exp"] >= 1 and counts(prof)["aten::sin"] >= 1


# -- schedules ---------------------------------------------------------------------------------------------------------

SCHEDULES = [
    {"wait": 1, "warmup": 1, "active": 2},
    {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1},
    {"wait": 2, "warmup": 1, "active": 1, "skip_first_wait": 1},
    {"wait": 2, "warmup": 1, "active": 1, "skip_first": 3, "skip_first_wait": 1, "repeat": 2},
    {"wait": 0, "warmup": 1, "active": 3, "repeat": 1},
]


@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_are_pytorchs(options: dict[str, int]) -> None:
    def program(torch: Any) -> list[str]:
        planned = torch.profiler.schedule(**options)
        return [planned(i).name for i in range(20)]

    oracle.check(program, exact=True)


@pytest.mark.parametrize("options", [{**SCHEDULES[0], "active": 0}, {**SCHEDULES[0], "wait": -1}])
def test_schedules_that_are_none(options: dict[str, int]) -> None:
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(**options)


def cycles(torch: Any, **options: Any) -> list[Any]:
    """Return the observations of ``on_trace_ready``."""
    seen: list[Any] = []

    def ready(prof: Any) -> None:
        keys = {event.key: event.count for event in prof.key_averages()}
        seen.append([prof.step_num, keys["ProfilerStep*"], keys["forward"], sorted(
            event.name for event in prof.events() if event.name.startswith("ProfilerStep"))])  # fmt: skip

    step = training(torch)
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.profiler.profile(activities=cpu, schedule=plan, on_trace_ready=ready, **options) as prof:
            for _ in range(9):
                step()
                prof.step()
    return seen


@pytest.mark.parametrize("options", [{}, {"acc_events": True}])
def test_cycles_are_pytorchs(options: dict[str, bool]) -> None:
    oracle.check(lambda torch: cycles(torch, **options), exact=True)


def test_a_cycle_that_breaks_off_is_ready_at_the_end() -> None:
    seen = []
    with profile(schedule=schedule(wait=0, warmup=1, active=5), on_trace_ready=lambda p: seen.append(counts(p))) as p:
        for _ in range(3):
            nb.ones(1).exp()
            p.step()
    assert [each["aten::exp"] for each in seen] == [2]


def test_a_schedule_that_stops_too_early_warns() -> None:
    plan = [ProfilerAction.RECORD, ProfilerAction.NONE, ProfilerAction.NONE]
    with profile(schedule=lambda step: plan[step]) as prof, pytest.warns(UserWarning, match="Incorrect schedule"):
        prof.step()
    assert dispatch_mode.watcher is None


def test_before_anything_is_recorded() -> None:
    with pytest.raises(AssertionError, match="Profiler must be initialized before"):
        profile().key_averages()
    with pytest.raises(RuntimeError, match="didn't finish"), profile() as prof:
        prof.key_averages()


def test_two_at_once_are_refused() -> None:
    with profile() as outer:
        with pytest.raises(RuntimeError, match="already enabled"), profile():
            pass
        nb.ones(1).exp()
    assert counts(outer) == {"aten::exp": 1}


def test_recording_can_pause() -> None:
    with profile() as prof:
        nb.ones(1).exp()
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        with record_function("unseen"):
            nb.ones(1).log()
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        nb.ones(1).sin()
    assert counts(prof) == {"aten::exp": 1, "aten::sin": 1}


# -- what is written ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, {}),
        ({}, {"sort_by": "cpu_time_total", "row_limit": 3}),
        ({}, {"sort_by": "count", "row_limit": -1, "header": "A heading"}),
        ({}, {"time_unit": "ms", "max_name_column_width": 30}),
        ({"record_shapes": True}, {"sort_by": "self_cpu_time_total", "max_shapes_column_width": 12}),
        ({"profile_memory": True}, {"sort_by": "self_cpu_memory_usage"}),
        ({"with_stack": True}, {"max_src_column_width": 40}),
        ({"with_flops": True}, {"row_limit": 0}),
    ],
)
def test_the_table_is_what_pytorch_makes_of_the_same_events(options: dict[str, bool], shown: dict[str, Any]) -> None:
    _build_table = oracle.live().autograd.profiler_util._build_table

    prof = recorded(**options)
    sums = prof.key_averages(options.get("record_shapes", False), 2 if options.get("with_stack") else 0)
    columns = {name: options.get(name, False) for name in ("with_flops", "profile_memory")}
    assert sums.table(**shown) == _build_table(sums, **shown, **columns)
    events = prof.events()
    assert events.table(top_level_events_only=True) == _build_table(events, top_level_events_only=True, **columns)


def test_an_empty_table() -> None:
    with profile() as prof:
        pass
    assert prof.key_averages().table() == "" and str(prof.events()) == ""
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        recorded().key_averages().table(sort_by="nothing_of_that_name")


@pytest.mark.parametrize("number", [0, 1, -3, 999.4, 1000, 1234.5, 2048, -5e5, 1e6, 3.7e9, 5e12])
def test_numbers_have_pytorchs_units(number: float) -> None:
    def program(torch: Any) -> list[str]:
        if torch is nb:
            return [format_time(number), format_memory(number)]
        util = import_module("torch.autograd.profiler_util")
        return [util._format_time(number), util._format_memory(number)]

    oracle.check(program, exact=True)


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_the_trace_is_chromes(name: str, tmp_path: Path) -> None:
    prof = recorded(record_shapes=True)
    prof.add_metadata("course", "lesson 3")
    prof.export_chrome_trace(str(tmp_path / name))
    opened: Any = gzip.open if name.endswith("gz") else open
    with opened(tmp_path / name, "rt") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    calls = [event for event in events if event["ph"] == "X"]
    assert {"M", "X"} == {event["ph"] for event in events} and trace["course"] == "lesson 3"
    assert len(calls) == len(prof.events()) and all(event["dur"] >= 0 for event in calls)
    assert {event["cat"] for event in calls} == {"cpu_op", "user_annotation"}
    assert any(event["args"].get("Input Dims") for event in calls)
    needed = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"}
    assert all(needed <= set(event) for event in calls)


def test_files_for_tensorboard(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    with profile(on_trace_ready=nb.profiler.tensorboard_trace_handler(str(folder), "worker", use_gzip=True)):
        nb.ones(1).exp()
    (file,) = folder.iterdir()
    assert file.name.startswith("worker.") and file.name.endswith(".pt.trace.json.gz")
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="Can't create directory"), profile(
        on_trace_ready=nb.profiler.tensorboard_trace_handler(str(tmp_path / "file" / "x"))
    ):  # fmt: skip
        pass


# -- the old way -------------------------------------------------------------------------------------------------------


def test_the_old_way() -> None:
    x = nb.ones(3, requires_grad=True)
    prof = old.profile(record_shapes=True)
    assert str(prof) == "<unfinished torch.autograd.profile>"
    with pytest.raises(RuntimeError, match="didn't finish"):
        prof.key_averages()
    with prof:
        (x * 2).sum().backward()
    assert counts(prof)["MulBackward0"] == 1 and prof.self_cpu_time_total > 0
    assert prof.table(sort_by="cpu_time").startswith("---") and prof.total_average().key == "Total"
    assert prof.function_events[0].name == "aten::mul"
    with pytest.raises(RuntimeError, match="not reentrant"), prof:
        pass


def test_switched_off_it_does_nothing() -> None:
    with old.profile(enabled=False) as prof:
        assert prof is None and dispatch_mode.watcher is None
    with old.emit_nvtx(enabled=False) as ranges, old.emit_itt(enabled=False):
        assert ranges is None


def test_marks_for_other_profilers_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Intel"), old.emit_itt():
        pass
    if not nb.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA"), old.emit_nvtx():
            pass
    assert dispatch_mode.watcher is None


def test_the_names_are_found_under_pytorchs() -> None:
    with nb.standing_in():
        import torch
        from torch.autograd.profiler import record_function as former
        from torch.profiler import ProfilerActivity, profile, record_function, schedule
        from torch.profiler.profiler import tensorboard_trace_handler
    assert former is record_function and torch.profiler.profile is profile and callable(tensorboard_trace_handler)
    assert ProfilerActivity.CPU in torch.profiler.supported_activities() and callable(schedule)
