"""Show a picture at the call that created it: in a loop, a function, a ``with`` block, or before other lines.

A notebook itself shows only the value of a cell's last line. So a picture is displayed at once if its call's value is
unused. The instruction after the call decides: if it discards the value, the picture is displayed here; if it prints
the value, the call is the cell's last line and the notebook shows it; all other instructions store it for later.
Outside a notebook, as in a script, nothing is displayed.
"""

from __future__ import annotations

import dis
import functools
import linecache
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from traceback import walk_stack
from types import CodeType, FrameType
from typing import Any, ParamSpec, TypeVar

from nbautograd._engine.base.users_code import place_of

__all__ = ["after_block", "at_once", "callers_names", "name_in", "noted", "of_magic", "seen", "without_semicolon"]

P = ParamSpec("P")
T = TypeVar("T")

DROPPED, PRINTED, TAKEN = "dropped", "printed", "taken"
"""The ways in which code uses a call's value."""
PACKAGE = __name__.partition(".")[0]
BETWEEN = (PACKAGE, "IPython", "contextlib", "decorator")
"""Packages whose frames are skipped between a picture and the calling code."""
TIMED = ("<magic-timeit>", "<timeit-src>")
"""Names of code that runs repeatedly for timing; nothing is shown there."""
PASSED = ("NOP", "NOT_TAKEN", "EXTENDED_ARG", "CACHE")
SILENCED = re.compile(r"[^;#]*;\s*(#.*)?$")
SILENT_MAGIC = re.compile(r";\s*(#[^'\"]*)?$")
"""The end of a line that is to run and show nothing."""


def at_once(function: Callable[P, T]) -> Callable[P, T]:
    """A function that does the same and, where a user's code calls it and drops its value, displays the value.

    >>> at_once(abs)(-3)
    3
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        value = function(*args, **kwargs)
        if _is_users(sys._getframe(1)) and _fate() == DROPPED:
            seen(value)
        return value

    return call


def after_block(function: Callable[P, AbstractContextManager[T]]) -> Callable[P, AbstractContextManager[T]]:
    """A context manager that does the same, and displays its target at the end of a block that names none.

    An empty target is not displayed.
    """

    @functools.wraps(function)
    @contextmanager
    def block(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        dropped, target = _is_users(sys._getframe(1)) and _fate() == DROPPED, None
        try:
            with function(*args, **kwargs) as target:
                yield target
        finally:
            if dropped and target:
                seen(target)

    return block


def callers_names() -> Mapping[str, Any]:
    """Read the current variables of the code that called this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _package(frame) in (PACKAGE, "contextlib"):
        frame = frame.f_back
    return ChainMap(frame.f_locals, frame.f_globals)


def name_in(names: Mapping[str, Any], tensor: Any) -> str:
    """Return the variable that holds a tensor, private ones left out; empty if none does."""
    items = list(names.items())
    held = (name for name, value in items if value is tensor and isinstance(name, str) and name.isidentifier())
    return next((name for name in held if name[:1] != "_"), "")


def of_magic(value: T, silent: bool) -> T | None:
    """Return the value of a magic; display it now if nothing takes it.

    :param silent: True if the line ends with a semicolon: display nothing, neither now nor as a cell's value.
    """
    fate = _fate()
    if silent and fate != TAKEN:
        return None
    if fate == DROPPED:
        seen(value)
    return value


def without_semicolon(line: str) -> tuple[str, bool]:
    """The line of a magic without a semicolon at its end, and whether there was one.

    >>> without_semicolon("y;"), without_semicolon("y[';']")
    (('y', True), ("y[';']", False))
    """
    bare = SILENT_MAGIC.sub("", line)
    return bare, bare != line


def seen(value: Any) -> None:
    """Display something now, where something can be shown."""
    show = shows()
    if show is not None:
        show(value)
        for values in _notes:
            values.append(value)


_notes: list[list[Any]] = []


@contextmanager
def noted() -> Iterator[list[Any]]:
    """A block whose target holds the outputs displayed in it."""
    values: list[Any] = []
    _notes.append(values)
    try:
        yield values
    finally:
        _notes[:] = [other for other in _notes if other is not values]


def shows() -> Callable[[Any], Any] | None:
    """Return the function that displays a value here: IPython's in a kernel or a cell, marimo's, or None."""
    ipython, marimo = sys.modules.get("IPython"), sys.modules.get("marimo")
    shell = ipython.get_ipython() if ipython is not None else None
    frames = walk_stack(sys._getframe(1))
    if getattr(shell, "kernel", None) or (shell and any(_package(frame) == "IPython" for frame, _ in frames)):
        from IPython.display import display

        return display
    if marimo is not None and marimo.running_in_notebook():
        append: Callable[[Any], Any] = marimo.output.append
        return append
    return None


def _is_users(frame: FrameType | None) -> bool:
    """Return whether the call comes from a user; pictures are shown for users only, not for the library's own calls."""
    while frame is not None and _package(frame) == "contextlib":
        frame = frame.f_back
    return frame is not None and _package(frame) != PACKAGE and shows() is not None


def _fate() -> str:
    """Return the way in which the calling code, or a magic of it, uses the call's value."""
    fate: str | None = None
    for frame, _ in walk_stack(sys._getframe(1)):
        if frame.f_code.co_filename in TIMED:
            return TAKEN
        if fate is None and _package(frame) not in BETWEEN:
            fate = _fate_in(frame)
    return fate or TAKEN


def _fate_in(frame: FrameType) -> str | None:
    """Return the way in which a frame's code uses it; None for an expression that ``%time`` or another magic runs."""
    instruction = _following(frame)
    if instruction is None:
        return TAKEN
    name = instruction.opname
    if name == "POP_TOP":
        return TAKEN if _is_silenced(frame) else DROPPED
    if name == "PRINT_EXPR" or (name == "CALL_INTRINSIC_1" and instruction.argrepr == "INTRINSIC_PRINT"):
        return PRINTED
    evaluated = name == "RETURN_VALUE" and frame.f_code.co_name == "<module>"
    if evaluated and frame.f_back is not None and _package(frame.f_back) in BETWEEN:
        return None
    return TAKEN


def _following(frame: FrameType) -> dis.Instruction | None:
    """Return the instruction after the current call of a frame."""
    instructions = _instructions(frame.f_code)
    offset = next((i.offset for i in instructions if i.offset > frame.f_lasti), None)
    by_offset = {i.offset: number for number, i in enumerate(instructions)}
    for _ in instructions:  # a jump may lead in a circle
        if offset not in by_offset:
            return None
        number = by_offset[offset]
        instruction = instructions[number]
        if instruction.opname in ("JUMP_FORWARD", "JUMP"):
            offset = instruction.argval
        elif instruction.opname in PASSED:
            offset = instructions[number + 1].offset if number + 1 < len(instructions) else None
        else:
            return instruction
    return None


@functools.lru_cache(maxsize=16)
def _instructions(code: CodeType) -> list[dis.Instruction]:
    """Return the instructions of a code object: each magic is called by the same functions of IPython."""
    return list(dis.get_instructions(code))


def _is_silenced(frame: FrameType) -> bool:
    """Return whether the line of the call ends with a semicolon."""
    place = place_of(frame.f_code, frame.f_lasti)
    if place is None:
        return False
    _, end, _, column = place
    rest = linecache.getline(frame.f_code.co_filename, end, frame.f_globals).encode()[column:]
    return SILENCED.match(rest.decode("utf-8", "replace")) is not None  # marimo's columns have no indentation


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
