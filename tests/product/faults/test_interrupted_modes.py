"""Modes that exchange the code of all operations: after an interrupt each operation is in the same state as all others.

Each test runs in an interpreter of its own, since it leaves modes on that Python had no time to leave.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import nbautograd as nb

ROOT = Path(nb.__file__).parent.parent

CODE = """
import warnings
from contextvars import copy_context
import nbautograd as nb
from nbautograd._engine.core import dispatch_mode, tracing
from nbautograd._engine.core.dispatch_mode import DETOUR, FIRST_CALL
from nbautograd._engine.core.grad_mode import anomaly
from nbautograd.autograd import inference
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core.tensor import on_wrap
from tests.product.faults.fault_injection import interrupt, moments

warnings.simplefilter("ignore")
x = nb.ones(2, requires_grad=True)

def run():
    with {mode}:
        (x * 2).detach()

def states():
    codes = {{op.function.__code__ for op in OPS.values()}} - {{FIRST_CALL}}
    return {{(code is DETOUR, "traced" in code.co_filename) for code in codes}}

def tidy():
    dispatch_mode.process.change(-dispatch_mode.process.contexts, everywhere=()), dispatch_mode.process.tell(False)
    anomaly.on = inference._watching = False
    on_wrap(inference._created, False)
    tracing._process.change(-tracing._process.contexts, everywhere=False)
    for each in [*dispatch_mode._CURRENT]:  # as its next call does
        each.exchange()

for _ in range(2):
    copy_context().run(run)
    tidy()
    (x * 3).detach()
every = copy_context().run(moments, run)
total = len(every)
tidy()
(x * 3).detach()
usual, seen = states(), 0
for moment in sorted({{*range(0, total, max(1, total // 60)), *range(min(12, total)), *range(total - 12, total)}}):
    copy_context().run(interrupt, run, every[moment])
    direct = {{each for each in dispatch_mode._CURRENT if each.function.__code__ is not DETOUR}}
    assert not (dispatch_mode.is_on_anywhere() and direct), (moment, direct)
    assert direct <= {{*dispatch_mode._DIRECT}}, (moment, direct)  # else the next mode would not divert it
    copy_context().run(run)
    assert (x * 3).tolist() == [3, 3]
    tidy()
    (x * 3).detach()
    assert states() == usual, moment
    seen += 1
print(seen > 30 or seen == total)
"""


@pytest.mark.parametrize(
    "mode",
    [
        "nb.inference_mode()",
        "nb.autograd.detect_anomaly(check_nan=False)",
        "nb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)",
        "tracing.traced()",
    ],
)
def test_interrupts_while_modes_begin_and_end(mode: str) -> None:
    code = CODE.format(mode=mode)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout == "True\n", done.stdout + done.stderr
