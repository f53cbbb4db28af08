"""A child that is forked while another thread computes computes by itself: it holds no other thread's locks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKING = """
import os, signal, sys, threading
import nbautograd as torch

weight, big = torch.ones(2, 4, requires_grad=True), torch.ones(2000, 1000)

def large():  # with threads of its own
    (big.exp() + big).sum()

def modes():  # which exchange the code of operations, under a lock; no product, for which OpenBLAS has locks of its own
    with torch.autocast("cpu"), torch.autograd.detect_anomaly(check_nan=False):
        torch.nn.functional.mse_loss(weight, big[:2, :4]).backward()
    torch.func.vmap(torch.sin)(big[:2, :2])

run, going = globals()[sys.argv[1]], True
run()

def work():
    while going:
        run()

sys.setswitchinterval(1e-5)  # else the thread has the lock nearly always
thread = threading.Thread(target=work)
thread.start()
ended = []
for _ in range(30):
    child = os.fork()
    if not child:
        signal.alarm(30)  # a child that waits forever
        run()
        os._exit(0)
    ended.append(os.waitpid(child, 0)[1])
    if ended[-1]:
        break
going = False
thread.join()
run()
print(set(ended))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.parametrize("what", ["large", "modes"])
def test_a_child_does_not_wait_for_a_thread_that_it_does_not_have(what: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKING, what]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.stdout == "{0}\n", done.stdout + done.stderr


ORDER = """
import os
registered = []
os.register_at_fork = lambda *, before=None, **others: registered.append(getattr(before, "__module__", None))
import nbautograd as torch
torch.set_num_threads(2)
torch.ones(2000, 1000).exp()
from concurrent.futures import thread
print(str(registered[-1]).startswith("nbautograd."))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_the_pool_is_stopped_before_a_fork_takes_the_lock_of_its_module() -> None:
    """A thread that submits a call holds the pool's lock and waits for that of the module; the fork waited for both."""
    done = subprocess.run([sys.executable, "-c", ORDER], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stdout + done.stderr
