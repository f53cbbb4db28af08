"""Steps that go wrong in every way, for the tests of the runs on a CUDA device."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from device.child import Child
from device.schedule import AGAIN, Step


def every() -> list[Step]:
    """All of them; nothing after one that fails is lost."""
    here = "tests.product.device_steps"
    return [
        Step("well", "two items", f"{here}:well"),
        Step("raises", "an item that raises", f"{here}:raises"),
        Step("raises at once", "before any item", f"{here}:raises_at_once"),
        Step("hangs", "an item that hangs", f"{here}:hangs", (), 5, 1),
        Step("dies", "an item in which the process dies", f"{here}:dies"),
        Step("broken", "CUDA is broken after an item", f"{here}:broken"),
        Step("shared", "items of two processes", f"{here}:shared", workers=2),
        Step("missing", "a function that is not there", f"{here}:nowhere"),
        Step("slow", "ten items", f"{here}:slow", (), 600, 60),
    ]


def item(**results: Any) -> Any:
    return lambda: results


def fail(error: Exception) -> Any:
    raise error


def well(child: Child) -> None:
    child.each({"first": item(number=1), "second": item(status="skipped", message="there is none")})


def raises(child: Child) -> None:
    child.each({"before": item(), "in it": lambda: fail(ValueError("a reason")), "after": item()})


def raises_at_once(child: Child) -> None:
    raise RuntimeError("no such thing")


def hangs(child: Child) -> None:
    child.each({"before": item(), "in it": lambda: time.sleep(60), "after": item()})  # type: ignore[dict-item]


def dies(child: Child) -> None:
    child.each(
        {"before": item(), "in it": lambda: os.kill(os.getpid(), signal.SIGSEGV), "after": item()}  # type: ignore[dict-item]
    )


def broken(child: Child) -> None:
    if child.is_mine(0, "in it"):
        child.begin("in it")
        child.end("in it", "failed", message="an illegal memory access")
        os._exit(AGAIN)
    child.each({"in it": item(), "after": item()})


def shared(child: Child) -> None:
    child.each({str(number): item(worker=child.worker) for number in range(4)})


def slow(child: Child) -> None:
    child.each({str(number): lambda: time.sleep(0.4) or {} for number in range(10)})
