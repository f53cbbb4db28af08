"""Raise exceptions at chosen moments: wherever Python would run a signal's handler, and in any named function."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import nbautograd

PACKAGE = str(Path(nbautograd.__file__).parent)
Happens = Callable[[FrameType], None]


@cache
def _moments(code: CodeType) -> frozenset[int]:
    """The instructions of a function in front of which Python looks whether a signal has come.

    It looks after calls, after jumps backward, and when a function begins; never elsewhere.
    """
    found, before = set(), "RESUME"
    targets = {i.argval for i in dis.get_instructions(code) if "JUMP_BACKWARD" in i.opname}
    for instruction in dis.get_instructions(code):
        if before.startswith("CALL") or before == "RESUME" or instruction.offset in targets:
            found.add(instruction.offset)
        if instruction.opname not in ("CACHE", "PRECALL", "NOP"):
            before = instruction.opname
    return frozenset(found)


def each_moment(happens: Happens) -> Callable[[FrameType, str, Any], Any]:
    """A trace function that calls ``happens`` at each moment in which a signal could interrupt the package."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            code = frame.f_code
            if not code.co_filename.startswith((PACKAGE, "<nbautograd")):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return trace
        if event == "opcode" and frame.f_lasti in _moments(frame.f_code):
            happens(frame)
        return trace

    return trace


def count_moments(run: Callable[[], object], within: Any = None) -> int:
    """Return the number of moments in a run, or of those within a function."""
    seen = [0]

    def happens(frame: FrameType) -> None:
        seen[0] += within is None or frame.f_code is within.__code__

    _traced(run, happens)
    return seen[0]


def interrupt(
    run: Callable[[], object], moment: int, error: type[BaseException] = KeyboardInterrupt, within: Any = None
) -> bool:
    """Run with an interrupt at one moment, of all or of a function's; return whether the run ended with it."""
    left = [moment]

    def happens(frame: FrameType) -> None:
        if within is not None and frame.f_code is not within.__code__:
            return
        left[0] -= 1
        if left[0] == -1:
            raise error("at the chosen moment")

    try:
        _traced(run, happens)
    except error:
        return True
    return False


def _traced(run: Callable[[], object], happens: Happens) -> None:
    former = sys.gettrace()
    sys.settrace(each_moment(happens))
    try:
        run()
    finally:
        sys.settrace(former)


def failing(function: Callable[..., Any], number: int, error: BaseException) -> Callable[..., Any]:
    """The function, whose call of this number, counted from 0, raises instead."""
    calls: Iterator[int] = iter(range(sys.maxsize))

    def called(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == number:
            raise error
        return function(*args, **kwargs)

    return called
