"""Check the contract of every fuzzed call: documented errors, a deadline, little memory."""

from __future__ import annotations

import contextlib
import resource
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, settings

DOCUMENTED = (TypeError, ValueError, RuntimeError, IndexError, OverflowError, MemoryError)
"""The documented exceptions of bad arguments (``nbautograd/errors.py``); NotImplementedError is a RuntimeError."""

SECONDS = 20
"""After this time, a call counts as hanging. Calls take milliseconds; the rest is for busy machines."""

BYTES = 512 * 2**20
"""The memory limit of a call on small tensors, in bytes; beyond, allocating fails, as on a small machine."""

LONG = settings.get_current_profile_name() == "long"
TIMES = 20
"""The factor of examples in the long profile."""


def fuzzed(examples: int) -> Any:
    """Settings for a fuzz test: the same examples each time, or many others in the long profile."""
    return settings(
        max_examples=examples * (TIMES if LONG else 1),
        derandomize=not LONG,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )


class HangingError(BaseException):
    """A call took too long; no ``except Exception`` may hide it."""


@contextlib.contextmanager
def guarded(most: int = BYTES) -> Iterator[None]:
    """Run something with a deadline, ``most`` bytes of memory more than there are, and NumPy's warnings as errors."""

    def stop(number: int, frame: Any) -> None:
        raise HangingError(f"no answer in {SECONDS} s")

    alarmed = threading.current_thread() is threading.main_thread()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as statistics:
        used = int(statistics.read().split()[0]) * resource.getpagesize()
    former = signal.signal(signal.SIGALRM, stop) if alarmed else None
    resource.setrlimit(resource.RLIMIT_AS, (used + most, hard))
    if alarmed:
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        if alarmed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
