"""The rehearsal's device: a module that looks like CuPy, over NumPy, and PyTorch on the CPU in place of its CUDA.

It proves the code that will run on a device (that it is scheduled, resumed, killed, recorded) and nothing about CUDA.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[2]
VARIABLE = "NBAUTOGRAD_REHEARSAL"  # if set, tests that need a real device skip
_entered = ExitStack()


def enter() -> None:
    """From now on this process has two fake devices."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.engine.cuda.fake_cupy import fake_cupy, present

    os.environ[VARIABLE] = "1"
    _entered.enter_context(present(fake_cupy(2)))
