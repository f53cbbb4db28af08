"""Tracebacks in a notebook: the user's lines, without those of libraries between and below them.

An error that nbautograd or PyTorch raises on purpose has its cause and cure in its message. Its frames inside the
library do not help the reader; ``%tb`` shows them. Any other error from inside a library, such as a bug in it, is shown
whole.
"""

from __future__ import annotations

import dis
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any

import IPython
import numpy
from IPython.display import display

from nbautograd.errors import NbautogradError
from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.read.naming import lines_of

__all__ = ["UserFrames", "failed_forward", "show_failed_forward"]

PURPOSE = (NbautogradError, TypeError, ValueError, RuntimeError, OverflowError, MemoryError, OSError, ImportError)
"""Exceptions that say that a call cannot be answered as it was made."""
LOOKUPS = (AttributeError, LookupError)
"""Exceptions that count only if a ``raise`` made them; otherwise they may be a mistake in a library."""


def _folder(module: types.ModuleType | None) -> str:
    file = getattr(module, "__file__", None)
    return f"{Path(file).parent}{os.sep}" if file else "<none>"


_OWN, _IPYTHON = _folder(sys.modules[__name__.partition(".")[0]]), _folder(IPython)
EXPRESSION = "<string>"
"""Python's name of the code of an expression."""
_HELPERS = (_folder(types), _folder(numpy), EXPRESSION, "<frozen ")
"""Code that is hidden where a hidden line has called it: Python's own modules, NumPy, an expression of a magic."""


def _walk(traceback: types.TracebackType | None) -> Iterator[tuple[types.TracebackType, bool, bool]]:
    """Each line of a traceback, whether it is to be hidden, and whether it is of nbautograd or PyTorch."""
    libraries, hidden = (_OWN, "<nbautograd", _folder(sys.modules.get("torch"))), False
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        own = name.startswith(libraries)
        site = "site-packages" in name or "dist-packages" in name
        helper = hidden and name.startswith(_HELPERS) and (not site or name.startswith(_HELPERS[1]))
        hidden = own or name.startswith(_IPYTHON) or helper
        yield traceback, hidden, own
        traceback = traceback.tb_next


def users_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Return the traceback without frames of libraries, generated code and IPython, unless there are no others."""
    users: types.TracebackType | None = None
    for frame, hidden, _ in reversed(list(_walk(traceback))):
        if not hidden:
            users = types.TracebackType(users, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return users or traceback


def _says_all(error: BaseException, traceback: types.TracebackType | None) -> bool:
    """Return whether the user's lines and the message suffice, and something is left out."""
    lines = list(_walk(traceback))
    if not any(own for _, _, own in lines):
        return False
    last, hidden, _ = lines[-1]
    if not hidden or last.tb_frame.f_code.co_filename == EXPRESSION:
        return True
    if isinstance(error, LOOKUPS):
        return last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return isinstance(error, PURPOSE) and not isinstance(error, RecursionError)


@contextmanager
def _causes_cut(error: BaseException) -> Iterator[None]:
    """A block that also shortens chained errors; one that never left a library is omitted."""
    known = {id(error)}
    with ExitStack() as undo:
        while (cause := _cause(error)) is not None and id(cause) not in known:
            known.add(id(cause))
            lines = list(_walk(cause.__traceback__))
            if all(hidden for _, hidden, _ in lines) and any(own for _, _, own in lines):
                undo.callback(setattr, error, "__suppress_context__", error.__suppress_context__)
                undo.callback(setattr, error, "__cause__", error.__cause__)
                error.__cause__ = None  # and no context
            elif _says_all(cause, cause.__traceback__):
                undo.callback(setattr, cause, "__traceback__", cause.__traceback__)
                cause.__traceback__ = users_frames(cause.__traceback__)
            error = cause
        yield


def _cause(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@contextmanager
def typed_lines(lines: Callable[[str], list[str]], files: Iterable[str]) -> Iterator[None]:
    """A block in which readers of the lines of these files, such as tracebacks, get the typed text.

    :param lines: the lines of a file as they were typed.
    """
    cache: dict[str, Any] = linecache.cache  # an unread entry has another length
    former = {name: cache[name] for name in files if len(cache.get(name, ())) == 4}
    try:
        for name, (size, when, _, full) in former.items():
            cache[name] = size, when, lines(name), full
        yield
    finally:
        cache.update(former)


class UserFrames:
    """While it is installed, a shell shows errors of libraries by the user's lines alone."""

    def __init__(self, shell: Any) -> None:
        self.shell, self.former = shell, (shell.custom_exceptions, shell.CustomTB)
        if not shell.custom_exceptions:  # another handler is not replaced
            shell.set_custom_exc((Exception,), self.show)

    @staticmethod
    def show(
        shell: Any, kind: type[BaseException], error: BaseException, traceback: Any, tb_offset: Any = None
    ) -> None:
        """Show one error (IPython's handler of exceptions)."""
        hidden = [hidden for _, hidden, _ in _walk(traceback)]
        if all(hidden) or (isinstance(error, SyntaxError) and hidden[-1]):  # of a cell, or the body of %%autograd
            shell.showindentationerror() if isinstance(error, IndentationError) else shell.showsyntaxerror()
            return
        files = {frame.f_code.co_filename for frame, _ in walk_tb(traceback)}
        with _causes_cut(error), typed_lines(lines_of, files):
            if _says_all(error, traceback):
                shell.showtraceback((kind, error, users_frames(traceback)), tb_offset=0)
                sys.last_traceback = traceback  # for %tb
            else:
                shell.showtraceback(running_compiled_code=True)

    def undo(self) -> None:
        """Let the shell show errors as before."""
        if self.shell.custom_exceptions == (Exception,):
            self.shell.custom_exceptions, self.shell.CustomTB = self.former


def failed_forward(error: BaseException, namespace: Mapping[str, Any] | None = None) -> Picture | None:
    """The picture of the call that raised an error, or None where no operation on tensors did.

    >>> import nbautograd as torch
    >>> w = torch.ones(3, 4, requires_grad=True)
    >>> try:
    ...     (w * 2) @ w
    ... except RuntimeError as error:
    ...     picture = failed_forward(error, {"w": w})
    >>> print(picture.text.splitlines()[0])
    mm → 1 leaf, 2 operations
    """
    from nbautograd.viz.read.failed_call import failed_call, graph_so_far  # loaded with the first error

    call = failed_call(error)
    return None if call is None else Picture(graph_so_far(call, namespace))


def show_failed_forward(error: BaseException, shell: Any) -> None:
    """Display that picture, once for each error; an error must not cost more than its picture."""
    known = hasattr(error, "animation") or hasattr(error, "picture")
    if known or "text/html" not in shell.display_formatter.active_types:
        return
    try:
        picture = failed_forward(error, shell.user_ns)
        if picture is not None:
            error.picture = picture  # type: ignore[attr-defined]
            display(picture)  # type: ignore[no-untyped-call]
    except Exception:  # any error: show the user's error
        return
