"""Test separate processes: no visible device, a missing device, a read-only cache, forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.engine.cuda.on_device import real

needs.cuda_device()
pytestmark = [pytest.mark.cuda, real]
ROOT = Path(__file__).parents[3]


def run(code: str, **variables: str) -> str:
    """Return the output of a program in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", f"import nbautograd as torch\n{code}"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", **variables},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


ASKED = """
for ask in (lambda: torch.ones(2, device="cuda"), lambda: torch.ones(2).cuda(), lambda: torch.cuda.current_device()):
    try:
        ask()
    except RuntimeError as error:
        print(type(error).__name__, error)
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.ones(3).sum().item())
"""


@pytest.mark.parametrize("visible", ["-1", ""])
def test_no_device_is_visible(visible: str) -> None:
    said = run(ASKED, CUDA_VISIBLE_DEVICES=visible)
    assert said.count("CudaUnavailableError") == 3
    assert "False 0 3.0" in said


def test_a_device_that_is_not_there() -> None:
    code = """
for ask in (
    lambda: torch.ones(2, device="cuda:7"), lambda: torch.cuda.set_device(7), lambda: torch.ones(2).to("cuda:7"),
    lambda: torch.cuda.synchronize(7), lambda: torch.nn.Linear(2, 2).cuda(7), lambda: torch.cuda.Stream(device=7),
):
    try:
        ask()
    except RuntimeError as error:
        print("ordinal" in str(error))
print(torch.ones(2, device="cuda").sum().item(), torch.cuda.current_device())
"""
    assert run(code, CUDA_VISIBLE_DEVICES="0") == "True\n" * 6 + "2.0 0\n"


def test_a_cache_of_kernels_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o500)
    file = tmp_path / "file"  # root may write to any folder, but not into a file
    file.write_text("")
    for place in (folder, file / "cache"):
        code = (
            "x = torch.ones(3, device='cuda', requires_grad=True)\n(x.exp() * 2).sum().backward()\nprint(x.grad.sum())"
        )
        try:
            assert "device='cuda:0'" in run(code, CUPY_CACHE_DIR=str(place))
        except AssertionError as error:  # an error is fine if its message names the reason
            assert "cache" in str(error).lower() or "Errno" in str(error)


def test_an_interrupt_while_the_device_works() -> None:
    code = """
import sys
x = torch.rand(2000, 2000, device="cuda", requires_grad=True)
(x @ x).sum().backward()
before = x.grad.clone()
torch.cuda.synchronize()
print("ready", flush=True)
try:
    while True:
        x.grad = None
        y = x
        for _ in range(20):
            y = (y @ x).tanh()
        y.sum().backward()
except KeyboardInterrupt:
    print("interrupted")
x.grad = None
(x @ x).sum().backward()
print(torch.allclose(x.grad, before), torch.cuda.memory_allocated() < 10 * x.nbytes)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", f"import nbautograd as torch\n{code}"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert (said, process.returncode) == ("interrupted\nTrue True\n", 0)


def test_a_forked_child_is_told() -> None:
    code = """
import os
torch.ones(2, device="cuda")
child = os.fork()
if child == 0:
    try:
        torch.ones(2, device="cuda")
    except RuntimeError as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(2)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(code) == "7\n"


@pytest.mark.parametrize("first", ["torch", "nbautograd"])
def test_both_libraries_in_one_process(first: str) -> None:
    needs.package("torch")
    order = ["import torch as theirs\n(theirs.ones(3, device='cuda') * 2).sum().item()", "import nbautograd as torch"]
    order[1] += "\n(torch.ones(3, device='cuda') * 2).sum().item()"
    code = "\n".join(order if first == "torch" else order[::-1])
    code += "\nprint((torch.eye(3, device='cuda') @ torch.ones(3, 3, device='cuda')).sum().item())"
    code += "\nprint((theirs.eye(3, device='cuda') @ theirs.ones(3, 3, device='cuda')).sum().item())"
    assert run(code) == "9.0\n9.0\n"


def test_it_is_loaded_when_it_is_needed() -> None:
    code = "import sys\ntorch.ones(2).exp()\nprint('cupy' in sys.modules)\ntorch.ones(2, device='cuda')\n"
    assert run(code + "print('cupy' in sys.modules)") == "False\nTrue\n"


def test_cuda_is_asked_for_by_variables_of_the_shell() -> None:
    said: Any = run("print(torch.cuda.get_device_name(), torch.cuda.device_count())", CUDA_VISIBLE_DEVICES="0")
    assert said.strip().endswith(" 1")
