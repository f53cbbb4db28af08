"""Processes of Python's own, with our tensors."""

from __future__ import annotations

import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import nbautograd as torch
from nbautograd._names import namespaces

mp = namespaces.module("multiprocessing")


def double(x: Any) -> Any:
    return 2 * x


def send(queue: Any, x: Any) -> None:
    queue.put((os.getpid(), x + 1, x.requires_grad))


def write(index: int, folder: str, x: Any) -> None:
    torch.save(x * index, os.path.join(folder, f"{index}.pt"))


def fail(index: int) -> None:
    if index == 1:
        raise ValueError("this is wrong")
    time.sleep(600)


def leave(index: int, code: int) -> None:
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


@pytest.mark.sweep
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_tensor_through_a_queue(method: str) -> None:
    context = mp.get_context(method)
    queue = context.Queue()
    x = torch.arange(3.0, requires_grad=True)
    process = context.Process(target=send, args=(queue, x.detach()))
    process.start()
    pid, y, requires = queue.get(timeout=60)
    process.join()
    assert pid != os.getpid() and torch.equal(y, x.detach() + 1) and not requires and process.exitcode == 0


def test_a_pool() -> None:
    with mp.get_context("spawn").Pool(1) as pool:
        results = pool.map(double, [torch.ones(2), torch.nn.Parameter(torch.zeros(2)).detach()])
    assert [each.tolist() for each in results] == [[2.0, 2.0], [0.0, 0.0]]


def test_it_is_pythons_own() -> None:
    import multiprocessing

    assert mp.Process is multiprocessing.Process and mp.Queue == multiprocessing.Queue
    assert mp.get_context("spawn") is multiprocessing.get_context("spawn")
    assert {*multiprocessing.__all__} <= {*dir(mp)}  # type: ignore[attr-defined]
    with torch.standing_in():
        import torch.multiprocessing as theirs  # type: ignore[import-not-found]
        from torch.multiprocessing import Pool, Process, set_start_method, spawn
        from torch.multiprocessing.spawn import ProcessRaisedException as Raised  # type: ignore[import-not-found]

        assert theirs is mp and Process is multiprocessing.Process and Pool == multiprocessing.Pool
        assert callable(set_start_method) and spawn is mp.spawn and Raised is mp.ProcessRaisedException


@pytest.mark.sweep
def test_spawn_waits_for_all(tmp_path: Path) -> None:
    assert mp.spawn(write, (str(tmp_path), torch.ones(2)), nprocs=2) is None
    assert [torch.load(tmp_path / f"{index}.pt").tolist() for index in (0, 1)] == [[0.0, 0.0], [1.0, 1.0]]


def test_an_exception_of_one_process_ends_the_others() -> None:
    before = time.monotonic()
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated with the following error") as error:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert "ValueError: this is wrong" in str(error.value) and time.monotonic() - before < 300
    assert error.value.error_index == 1 and error.value.error_pid > 0
    again = pickle.loads(pickle.dumps(error.value))
    assert type(again) is type(error.value) and again.msg == error.value.msg


@pytest.mark.parametrize(("code", "says", "name"), [(3, "exit code 3", None), (-9, "signal SIGKILL", "SIGKILL")])
def test_a_process_that_leaves(code: int, says: str, name: str | None) -> None:
    context = mp.start_processes(leave, (code,), join=False, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match=says) as error:
        context.join()
    assert (error.value.exit_code, error.value.signal_name) == (code, name)
    assert len(context.pids()) == 1 and not any(os.path.exists(path) for path in context.error_files)
    assert signal.SIGKILL == 9


def test_join_with_a_timeout() -> None:
    context = mp.start_processes(fail, nprocs=1, join=False, start_method="fork")
    assert not context.join(timeout=0.01)
    context.processes[0].terminate()
    with pytest.raises(mp.ProcessExitedException):
        while not context.join():
            pass
