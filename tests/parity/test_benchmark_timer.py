"""Test ``torch.utils.benchmark``: texts and tables equal PyTorch's for the same numbers; a timer is accurate."""

from __future__ import annotations

import itertools
import time
from importlib import import_module
from typing import Any

import pytest

import nbautograd as nb
from nbautograd.utils import benchmark as ours
from tests import oracle

TIMES = [
    [1e-6], [5e-9, 6e-9], [2e-3, 2.1e-3, 2.05e-3], [1.0, 2.0, 9.0, 3.0], [1e-6 * n for n in range(10, 40)],
    [0.5, 0.501, 0.502, 0.5005, 0.5], [1e-5, 1.2e-5, 1.1e-5, 1.0e-5, 1.15e-5], [70.0, 71.0],
]  # fmt: skip
SPECS: list[dict[str, Any]] = [
    {"stmt": "x + 1", "setup": "pass"},
    {"stmt": "x + 1", "setup": "x = 1", "label": "sum", "sub_label": "small", "description": "ours", "num_threads": 4},
    {"stmt": "a\nb\n", "setup": "c\nd", "sub_label": "lines"},
    {"stmt": "a\nb", "setup": "", "label": "L", "env": "host"},
]


def benchmark_of(T: Any) -> Any:
    return import_module(f"{T.__name__}.utils.benchmark")


def measured(library: Any, times: list[float], runs: int = 10, **spec: Any) -> Any:
    return library.Measurement(runs, [runs * time for time in times], library.TaskSpec(**spec))


@pytest.mark.parametrize(("times", "spec"), list(itertools.product(TIMES, SPECS)))
def test_a_measurement_says_what_pytorchs_says(times: list[float], spec: dict[str, Any]) -> None:
    def seen(T: Any) -> list[Any]:
        m = measured(benchmark_of(T), times, **spec)
        text = repr(m).partition("\n")[2]
        numbers = [m.median, m.mean, m.iqr]
        return [text, m.title, m.as_row_name, m.has_warnings, m.significant_figures, m.label, m.num_threads, *numbers]

    oracle.check(seen)


def results(library: Any) -> list[Any]:
    """Measurements for tables: of several rows, columns, threads and environments, with a hole, some twice."""
    made = []
    for number, (row, column, threads) in enumerate(itertools.product(["[2, 3]", "[64, 64]"], "abc", [1, 4])):
        if (row, column) != ("[64, 64]", "b"):
            base = 1e-6 * 3**number
            times = [base * (1 + 0.001 * i * number) for i in range(5 + number)]
            spec = {"stmt": "s", "setup": "", "label": "table", "sub_label": row, "description": column}
            made += [measured(library, times, **spec, num_threads=threads)] * (1 + number % 2)
    wild = [1.0, 2.0, 1.5, 1.7, 2.2, 1.1]
    made.append(measured(library, wild, stmt="z", setup="", label="other", description="wild"))
    made.append(measured(library, [3.0], stmt="z", setup="", label="other", description="single"))
    for env in ("one", "other one"):
        made.append(measured(library, [3e-3], stmt="z", setup="", label="envs", description="d", env=env))
    return made


@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("warn", [False, True])
@pytest.mark.parametrize("colors", [None, False, True])
def test_a_table_is_pytorchs(trim: bool, warn: bool, colors: bool | None) -> None:
    def text(T: Any) -> str:
        library = benchmark_of(T)
        compare = library.Compare(results(library))
        if trim:
            compare.trim_significant_figures()
        if warn:
            compare.highlight_warnings()
        if colors is not None:
            compare.colorize(rowwise=colors)
        return str(compare)

    oracle.check(text)


def test_what_is_no_measurement_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        ours.Compare([1.0])  # type: ignore[list-item]


@pytest.mark.parametrize("number", [3e-10, 5e-9, 1e-6, 9.99e-4, 1e-3, 0.5, 1.0, 70.0, 12345.678])
def test_numbers_as_pytorch_has_them(number: float) -> None:
    def program(T: Any) -> Any:
        library = benchmark_of(T)
        unit, size = library.select_unit(number)
        trimmed = [library.trim_sigfig(number, figures) for figures in (1, 2, 3)]  # PyTorch's are rounded to float32
        return unit, float(size), [f"{each:.6g}" for each in trimmed]

    oracle.check(program)


# -- the timer ---------------------------------------------------------------------------------------------------------


class Clock:
    """A timer that a statement advances, for exact times."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds


def test_times_are_those_of_the_clock() -> None:
    clock = Clock()
    timer = ours.Timer("clock.work(0.25)", "clock.work(100)", timer=clock, globals={"clock": clock}, label="work")
    measurement = timer.timeit(8)
    assert measurement.median == 0.25 and measurement.raw_times == [2.0] and measurement.label == "work"
    blocked = timer.blocked_autorange(min_run_time=3)
    assert blocked.median == 0.25 and sum(blocked.raw_times) >= 3
    assert timer.adaptive_autorange(min_run_time=2).iqr == 0


def test_an_unsteady_clock_ends_in_time() -> None:
    clock = Clock()
    lengths = itertools.cycle([0.1, 0.4, 0.9])
    names = {"clock": clock, "lengths": lengths}
    seen: list[tuple[int, float]] = []
    timer = ours.Timer("clock.work(next(lengths))", timer=clock, globals=names)
    measurement = timer.adaptive_autorange(0.01, max_run_time=20, callback=lambda *each: seen.append(each))  # type: ignore[arg-type, func-returns-value]
    assert 20 < sum(measurement.raw_times) < 22 and [each for _, each in seen] == measurement.raw_times
    assert measurement.has_warnings


def test_code_may_be_indented_and_finds_the_library() -> None:
    timer = ours.Timer(
        """
        y = x * 2
        assert y.sum() == 6
        """,
        setup="x = torch.ones(3)",
    )
    assert timer.timeit(3).stmt == "y = x * 2\nassert y.sum() == 6"


def test_it_measures_with_the_threads_that_it_says() -> None:
    before = nb.get_num_threads()
    seen: list[int] = []
    ours.Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=3).timeit(2)
    assert set(seen) == {3} and nb.get_num_threads() == before


def test_a_sleep_takes_its_time() -> None:
    assert ours.Timer("sleep(0.01)", globals={"sleep": time.sleep}).timeit(3).median >= 0.01


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"stmt": time.sleep}, "only a `str` stmt"),
        ({"language": "c++"}, "Python"),
        ({"language": "basic"}, "Invalid language"),
        ({"global_setup": "int x;"}, "C\\+\\+ only"),
    ],
)
def test_what_cannot_be_measured(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ours.Timer(**options)
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        ours.Timer().collect_callgrind()


def test_it_is_found_under_pytorchs_name() -> None:
    with nb.standing_in():
        import torch.utils.benchmark as benchmark
        from torch.utils.benchmark import Compare, Timer
    assert benchmark is ours and Timer is ours.Timer and Compare is ours.Compare
