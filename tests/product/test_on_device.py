"""Rehearse the run on a CUDA device: items that fail, hang or die stop no others, and a killed run continues."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
COMMAND = ROOT / "benchmarks" / "on_device.py"
NOTE = "rehearsal: says nothing about CUDA"
LEFT = 3  # the exit status if work is left for the next part

if not hasattr(os, "killpg"):
    pytest.skip("needs a system with process groups: not Windows", allow_module_level=True)
sys.path.insert(0, str(COMMAND.parent))
from device import counts, report, rows, speed, wheels


def started(folder: Path, *options: str) -> Any:
    command = [sys.executable, str(COMMAND), "--out", str(folder), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run(folder: Path, *options: str) -> tuple[int, str]:
    """Return the exit status and the output."""
    process = started(folder, *options)
    said, _ = process.communicate(timeout=100)
    return process.returncode, said


def lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / "results.jsonl"
    texts = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(text) for text in texts]


def items(folder: Path, step: str) -> dict[str, dict[str, Any]]:
    return {x["item"]: x for x in lines(folder) if x["what"] == "item" and x["step"] == step}


def statuses(folder: Path, step: str) -> dict[str, str]:
    return {item: x["status"] for item, x in items(folder, step).items()}


WRONG = ("--steps", "tests.product.device_steps")


def test_what_goes_wrong_stops_nothing_else(tmp_path: Path) -> None:
    code, said = run(tmp_path, *WRONG)
    assert (code, "nothing is left" in said) == (0, True), said
    ended = {x["step"]: x["status"] for x in lines(tmp_path) if x["what"] == "step"}
    assert ended == {
        "well": "done", "raises": "failed", "raises at once": "failed", "hangs": "failed", "dies": "failed",
        "broken": "failed", "shared": "done", "missing": "failed", "slow": "done",
    }  # fmt: skip
    for step, how in {"raises": "failed", "hangs": "hung", "dies": "died"}.items():
        assert statuses(tmp_path, step) == {"before": "passed", "in it": how, "after": "passed"}
    assert items(tmp_path, "raises")["in it"]["message"] == "ValueError: a reason"
    assert "SIGSEGV" in items(tmp_path, "dies")["in it"]["message"]
    assert "killed after 1 s" in items(tmp_path, "hangs")["in it"]["message"]
    assert items(tmp_path, "raises at once")["the step itself"]["message"] == "RuntimeError: no such thing"
    assert statuses(tmp_path, "broken") == {"in it": "failed", "after": "passed"}
    assert {x["worker"] for x in items(tmp_path, "shared").values()} == {0, 1}
    assert items(tmp_path, "well")["first"]["number"] == 1

    report = (tmp_path / "report.md").read_text()
    assert "- hung: `in it`" in report and "- failed: `in it`: ValueError: a reason" in report
    assert "ValueError: a reason" in (tmp_path / "log.txt").read_text()

    code, said = run(tmp_path, *WRONG)  # nothing runs twice
    assert code == 0 and "well" not in said
    code, said = run(tmp_path, *WRONG, "--only", "well", "--again")
    assert code == 0 and "well: done" in said
    with_reports = len([x for x in lines(tmp_path) if x["what"] == "item" and x["step"] == "well"])
    assert with_reports == 4 and len(statuses(tmp_path, "well")) == 2
    code, said = run(tmp_path, *WRONG, "--rehearse")  # results of a rehearsal and of a device are kept apart
    assert code == 1 and "a device's results" in said


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    process = started(tmp_path, *WRONG, "--only", "slow")
    wait_until(lambda: len(statuses(tmp_path, "slow")) >= 2)
    process.kill()
    process.communicate()
    before = statuses(tmp_path, "slow")
    assert 2 <= len(before) < 10
    assert not [x for x in lines(tmp_path) if x["what"] == "step"]
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"what": "item", "step": "slow", "item": "cut o')  # as with a full disk

    elsewhere = tmp_path / "elsewhere"
    code, _ = run(elsewhere, *WRONG, "--only", "slow", "--minutes", "0.03", "--resume", str(tmp_path))
    assert code == LEFT  # the part's time is over
    assert (elsewhere / "report.md").exists()
    deadline = time.monotonic() + 60
    while code == LEFT and time.monotonic() < deadline:
        code, _ = run(elsewhere, *WRONG, "--only", "slow", "--minutes", "0.04")
    assert code == 0
    text = (elsewhere / "results.jsonl").read_text()
    passed = Counter(x["item"] for x in map(parsed, text.splitlines()) if x.get("what") == "item")
    assert passed == Counter({str(number): 1 for number in range(10)})


def parsed(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


def test_steps_of_the_real_run(tmp_path: Path) -> None:
    needs.package("torch")
    code, said = run(tmp_path, "--rehearse", "--only", "facts,speed: launches,tests: random")
    assert code == 0, said
    assert items(tmp_path, "facts")["device"]["facts"]["name"] == "Fake"
    assert set(statuses(tmp_path, "speed: launches").values()) == {"passed"}, said
    found = statuses(tmp_path, "tests: random")
    assert len(found) > 20 and set(found.values()) == {"passed"}, said
    report = (tmp_path / "report.md").read_text()
    assert all(NOTE in line for line in report.splitlines() if line.startswith("#"))
    assert all(x["note"] == NOTE for x in lines(tmp_path)) and NOTE in said
    assert f"# On Fake, {time.strftime('%Y-')}" in report
    assert f"`pytest -m cuda`: {len(found)} passed" in report
    assert "| tanh, recorded |" in report


def test_without_a_device_it_says_so(tmp_path: Path) -> None:
    from nbautograd import cuda

    if cuda.is_available():
        pytest.skip("there is a CUDA device here")
    needs.package("torch")
    code, said = run(tmp_path, "--only", "speed: launches")
    assert code == 0 and "no CUDA device" in said + (tmp_path / "report.md").read_text()
    assert NOTE not in (tmp_path / "report.md").read_text()


def test_parts_are_at_most_nine_minutes() -> None:
    done = subprocess.run([sys.executable, str(COMMAND), "--list"], capture_output=True, text=True, check=True)
    heads = [line for line in done.stdout.splitlines() if line.startswith("part")]
    assert heads and all(float(head.split()[-2]) <= 540 for head in heads)
    for name in ("facts", "notebook", "tests: operations", "speed: models"):
        assert f"    {name} " in done.stdout


def test_counting_of_waits() -> None:
    events = [
        {"cat": "cuda_runtime", "name": "cudaStreamSynchronize"},
        {"cat": "cuda_driver", "name": "cuLaunchKernel"},
        {"cat": "kernel", "name": "cupy_add"},
        {"cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)"},
        {"cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)"},
        {"cat": "cpu_op", "name": "aten::add"},
        {"name": "process_name"},
    ]
    assert counts.of_trace(events) == {
        "cudaStreamSynchronize": 1, "cuLaunchKernel": 1, "kernels": 1, "to the host": 1, "on the device": 1,
    }  # fmt: skip
    torch = needs.package("torch")
    if torch.cuda.is_available():
        pytest.skip("a profile of a device is measured there")
    with warnings.catch_warnings(action="ignore"):  # that CUDA is missing
        assert not counts.events(None, lambda: torch.ones(3).exp())  # type: ignore[arg-type]


def test_figures_that_cannot_be_had_leave_the_rest() -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no profiler")

    side = type("Side", (), {"peak": lambda self, step: 2.5, "clock": "device", "synchronize": fail})()
    figures = speed.further([(side, lambda: None)] * 2)
    assert (figures["peak_MB"], figures["counts"]) == ([2.5, 2.5], None)
    assert figures["not counted"]["counts"] == "RuntimeError: no profiler"
    row = {"ours_ms": 1.0, "torch_ms": 2.0, "ratio": 0.5, "quartiles": [0.4, 0.6], **figures}
    row["goals"] = speed.goals(rows.MODEL_ROWS[0], "models", row)
    assert [goal["met"] for goal in row["goals"]] == [False]
    assert (
        report.cells("mlp", row)[:3] == ["mlp (**missed**)", "1", "2"] and "no profiler" in report.cells("mlp", row)[6]
    )


def test_wheels() -> None:
    assert wheels.packages("numpy==2.5.2\ncupy-cuda13x 14.2.0, Jinja2") == {
        "numpy": "2.5.2", "cupy-cuda13x": "14.2.0", "jinja2": "",
    }  # fmt: skip
    assert any(text.startswith("anywidget") for text in wheels.wanted())
    assert any(text.startswith("nbclient") for text in wheels.wanted())
    assert isinstance(wheels.missing(), list)
    command = wheels.download(["anywidget==0.11.0", "numpy>=2"], True)
    assert "--no-deps" in command and "'numpy>=2'" in command and "--python-version 3.12" in command
