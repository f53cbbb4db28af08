"""Tracebacks of the library's own errors, in a notebook: the user's lines, without those of the library between them.

An error that is raised on purpose says in its message what is wrong and what to do. The lines of the engine through
which it came do not help the reader; they stay in ``error.__traceback__``, for ``%debug``.
"""

from __future__ import annotations

import types
from pathlib import Path
from traceback import walk_tb
from typing import Any

import IPython

from nbautograd.errors import NbautogradError
from nbautograd.viz.notebook.typed_lines import typed_lines
from nbautograd.viz.read.naming import lines_of

__all__ = ["UserFrames", "users_frames"]

_HIDDEN = (str(Path(__file__).parents[2]), str(Path(IPython.__file__).parent))


def users_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback without frames of the library, of code that it generated, and of IPython; as it is if all are."""
    frames = []
    shown = traceback
    while shown is not None:
        name = shown.tb_frame.f_code.co_filename
        if not name.startswith((*_HIDDEN, "<nbautograd")):
            frames.append(shown)
        shown = shown.tb_next
    users: types.TracebackType | None = None
    for frame in reversed(frames):
        users = types.TracebackType(users, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return users or traceback


class UserFrames:
    """While it is installed, a shell shows the library's errors by the user's lines alone."""

    def __init__(self, shell: Any) -> None:
        self.shell, self.former = shell, (shell.custom_exceptions, shell.CustomTB)
        if not shell.custom_exceptions:  # nobody else's handler is replaced
            shell.set_custom_exc((NbautogradError,), self.show)

    @staticmethod
    def show(
        shell: Any, kind: type[BaseException], error: BaseException, traceback: Any, tb_offset: Any = None
    ) -> None:
        """Show one error (IPython's handler of exceptions)."""
        shown = users_frames(traceback)
        with typed_lines(lines_of, {frame.f_code.co_filename for frame, _ in walk_tb(shown)}):
            shell.showtraceback((kind, error, shown), tb_offset=0)

    def undo(self) -> None:
        """Let the shell show errors as before."""
        if self.shell.custom_exceptions == (NbautogradError,):
            self.shell.custom_exceptions, self.shell.CustomTB = self.former
