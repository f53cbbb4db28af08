"""A program with a loader's workers ends, however it ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

AT_EXIT = """
import sys
import nbautograd as torch
from nbautograd.utils.data import DataLoader, TensorDataset
kind = sys.argv[1]
workers = 2 if kind == "busy" else 4  # more than batches: some queues have no thread yet
loader = DataLoader(TensorDataset(torch.arange(4.0)), 2, num_workers=workers, persistent_workers=kind == "persistent")
iterator = iter(loader)
print(next(iterator)[0].tolist(), flush=True)
kept = [iterator]
kept.append(kept)  # a cycle, which is collected last
if kind == "error":
    raise SystemExit(3)
"""


@pytest.mark.parametrize("kind", ["idle", "busy", "persistent", "error"])
def test_a_program_ends_while_workers_run(kind: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", AT_EXIT, kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == (3 if kind == "error" else 0), done.stderr
    assert done.stdout == "[0.0, 1.0]\n" and done.stderr == ""
