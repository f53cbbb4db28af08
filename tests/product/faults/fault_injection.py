"""Raise exceptions at chosen moments: wherever Python would run a signal's handler, and in any named function."""

from __future__ import annotations

import dis
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import nbautograd

OURS = (str(Path(nbautograd.__file__).parent), "<nbautograd")
"""The beginnings of the files of the package's functions, and of those that it compiles."""
Trace = Callable[[FrameType, str, Any], Any]


class Moment(NamedTuple):
    """A moment of a run: in which call of which function of the package, and the how manieth of this call."""

    code: CodeType
    call: int
    number: int


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


def moments(run: Callable[[], object], within: Any = None) -> list[Moment]:
    """Return the moments of a run in which a signal could interrupt the package, or those within a function."""
    found: list[Moment] = []
    calls = Counter[CodeType]()

    def enter(frame: FrameType, event: str, argument: Any) -> Trace | None:
        code = frame.f_code
        if not code.co_filename.startswith(OURS) or (within is not None and code is not within.__code__):
            return None
        call, numbers, offsets = calls[code], count(), _moments(code)
        calls[code] += 1

        def trace(frame: FrameType, event: str, argument: Any) -> Trace:
            if event == "opcode" and frame.f_lasti in offsets:
                found.append(Moment(code, call, next(numbers)))
            return trace

        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return trace

    _traced(run, enter)
    return found


def interrupt(run: Callable[[], object], moment: Moment, error: type[BaseException] = KeyboardInterrupt) -> bool:
    """Run with an interrupt at a moment of an equal run; return whether the run ended with it.

    Only the one call is followed: to follow all instructions of all calls takes ten times as long.

    :raises AssertionError: the moment does not come.
    """
    calls, numbers, offsets = count(), count(), _moments(moment.code)
    is_over = False

    def enter(frame: FrameType, event: str, argument: Any) -> Trace | None:
        if frame.f_code != moment.code or next(calls) != moment.call:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return trace

    def trace(frame: FrameType, event: str, argument: Any) -> Trace:
        nonlocal is_over
        if event == "opcode" and frame.f_lasti in offsets and next(numbers) == moment.number:
            is_over = True
            raise error("at the chosen moment")
        return trace

    try:
        _traced(run, enter)
    except error:
        return True
    finally:
        assert is_over, f"the run differs from that of which this is a moment: {moment}"
    return False


def _traced(run: Callable[[], object], enter: Trace) -> None:
    """Run with a function that Python calls at each call; what it returns, Python calls at the instructions."""
    former = sys.gettrace()
    sys.settrace(enter)
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
