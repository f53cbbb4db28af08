"""Tracebacks in a notebook: the user's lines, without those of libraries between and below them.

An error that nbautograd or PyTorch raises on purpose has its cause and cure in its message. Its frames inside the
library do not help the reader; ``%tb`` shows them. Any other error from inside a library, such as a bug in it, is shown
whole.
"""

from __future__ import annotations

import dis
import linecache
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from traceback import walk_tb
from typing import Any

import IPython
import numpy
from IPython.display import display

from nbautograd._engine.base.users_code import place_of
from nbautograd.errors import NbautogradError
from nbautograd.protocol import SourceLocator
from nbautograd.viz.escape import line_of, one_line
from nbautograd.viz.language import say, texts
from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.read import values
from nbautograd.viz.read.builder import build
from nbautograd.viz.read.formulas import symbol_of
from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.model import Edge, GraphModel, Node
from nbautograd.viz.read.naming import lines_of
from nbautograd.viz.read.values import is_tensor

__all__ = ["FailedCall", "UserFrames", "failed_call", "failed_forward", "graph_so_far", "show_failed_forward"]

PURPOSE = (
    NbautogradError, TypeError, ValueError, RuntimeError, OverflowError, MemoryError, OSError, ImportError,
)  # fmt: skip
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


def _libraries() -> tuple[str, ...]:
    """Return the folders of nbautograd's and PyTorch's code."""
    return _OWN, "<nbautograd", _folder(sys.modules.get("torch"))


def _walk(traceback: types.TracebackType | None) -> Iterator[tuple[types.TracebackType, bool, bool]]:
    """Each line of a traceback, whether it is to be hidden, and whether it is of nbautograd or PyTorch."""
    libraries, hidden = _libraries(), False
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


# -- the call that failed ----------------------------------------------------------------------------------------------


_LIBRARY = str(Path(__file__).parents[2])
_NOT_CALLS = tuple(str(Path(_LIBRARY, part)) for part in ("autograd", "viz", "cli"))
_NAMED = re.compile(r"(\w+)\(\): ")
MAX_OPERANDS = 8  # that are drawn
MAX_CHARACTERS = 110  # of a line below the picture


@dataclass(frozen=True, slots=True)
class FailedCall:
    """An operation that could not be computed."""

    name: str
    operands: tuple[Any, ...]
    message: str
    filename: str
    line: int
    source: str
    """The part of the line that was being computed, if Python knows it."""
    notes: tuple[str, ...] = ()
    """Lines below the picture."""
    node: Any = None
    """For a backward pass, the node whose formula failed."""


def failed_call(error: BaseException) -> FailedCall | None:
    """The call that raised an error, if an operation on tensors did."""
    if hasattr(error, "bad"):
        return _of_bad_number(error)
    frames = list(walk_tb(error.__traceback__))
    files = [frame.f_code.co_filename for frame, _ in frames]
    users = [i for i, filename in enumerate(files) if not filename.startswith((_LIBRARY, "<nbautograd"))]
    below = users[-1] + 1 if users else len(frames)
    if any(filename.startswith(_NOT_CALLS) for filename in files[below:]):
        return None
    given = [(frame, tensors) for frame, _ in frames[below:] if (tensors := _tensors(frame))]
    if not given:
        return None
    frame, operands = next((one for one in reversed(given) if _is_operation(one[0].f_code)), given[-1])
    message = line_of(error, 500)
    named = _NAMED.match(message)
    user, line = frames[users[-1]]
    name = named[1] if named else frame.f_code.co_name.lstrip("_")
    return FailedCall(
        name, operands[:MAX_OPERANDS], message, files[users[-1]], line, _part(error.__traceback__, user, line)
    )


def _of_bad_number(error: Any) -> FailedCall:
    """Return the operation that made a NaN or an infinity."""
    bad = error.bad
    filename, line = bad.place or ("", 0)
    lines = bad.told(texts())
    notes = tuple(part for each in lines for part in wrap(each, MAX_CHARACTERS))
    return FailedCall(bad.operation, error.operands[:MAX_OPERANDS], lines[0], filename, line, "", notes, error.node)


def _is_operation(code: types.CodeType) -> bool:
    """Return whether a function is a declared operation or a function of ``nn.functional``, but not a helper."""
    if code.co_filename.startswith("<nbautograd"):
        return True
    path = Path(code.co_filename)
    own = "ops" in path.parts or path.parts[-3:-1] == ("nn", "functional")
    return own and not code.co_name.startswith(("_", "check")) and not path.name.startswith("_")


def _tensors(frame: types.FrameType) -> tuple[Any, ...]:
    """The tensors that a function was given, each once."""
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    held: dict[int, Any] = {}
    for name in code.co_varnames[:count]:
        value = frame.f_locals.get(name)
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if is_tensor(item) and hasattr(item, "shape"):
                held.setdefault(id(item), item)
    return tuple(held.values())


def _part(traceback: types.TracebackType | None, frame: types.FrameType, line: int) -> str:
    """The expression that a frame was computing: nothing where it spans lines, or Python keeps no columns."""
    while traceback is not None and traceback.tb_frame is not frame:
        traceback = traceback.tb_next
    place = None if traceback is None else place_of(frame.f_code, traceback.tb_lasti)
    if place is None or place[:2] != (line, line):
        return ""
    _, _, start, end = place
    text = linecache.getline(frame.f_code.co_filename, line).encode("utf-8")
    return one_line(text[start:end].decode("utf-8", "replace"), 80)


def graph_so_far(call: FailedCall, namespace: Mapping[str, Any] | None) -> GraphModel:
    """The graph that made the operands, and the operation that failed at its end."""
    if call.node is not None or not call.operands:
        return _graph_of_node(call, namespace)
    model = build(list(call.operands), namespace)
    boxes = {key: model.stands.get(key, key) for key in (_box(model.entire, operand) for operand in call.operands)}
    nodes = [replace(n, kind="tensor") if n.kind == "output" else n for n in model.nodes]
    key = f"n{_next_number(nodes)}"
    free = _next_number(model.edges)
    edges = [
        Edge(f"e{free + i}", box, key, i, "constant" if model.by_id[box].kind == "constant" else "flow")
        for i, box in enumerate(boxes.values())
        if box in model.by_id
    ]
    return GraphModel(
        (*nodes, _failed(key, call)), (*model.edges, *edges), (key,),
        notes=(*call.notes, *model.notes), leaf_order=model.leaf_order, counts=model.counts,
    )  # fmt: skip


def _failed(key: str, call: FailedCall) -> Node:
    """Return the pill of the operation that failed, with the shapes of its operands."""
    cell, source = SourceLocator.locate(call.filename, call.line)
    return Node(
        key,
        "op",
        call.name,
        symbol=symbol_of(call.name),
        value=", ".join(values.shape_text(operand) for operand in call.operands),
        expression=call.source or source.strip(),
        where=say("line_of", cell=cell, n=call.line),
        source=source,
        line=call.line,
        cell=cell,
        failed=call.message,
    )


def _next_number(parts: Iterable[Node | Edge]) -> int:
    """Return a number that follows those of all ids."""
    return max((int(part.id[1:]) for part in parts if part.id[1:].isdigit()), default=0) + 1


def _graph_of_node(call: FailedCall, namespace: Mapping[str, Any] | None) -> GraphModel:
    """Return the graph up to the node that failed."""
    model = build([(call.node, 0)], namespace)
    key = model.entire.handles.of(call.node)
    nodes = tuple(replace(n, failed=call.message) if n.id == key else n for n in model.nodes)
    return replace(model, nodes=nodes, notes=(*call.notes, *model.notes))


def _box(model: GraphModel, tensor: Any) -> str:
    """Return the name of the tensor's box in the picture."""
    known = model.handles.leaves.get(id(tensor))
    if known is not None:
        return known
    op = model.handles.of(attribute(tensor, "grad_fn")) or ""
    result = model.results.get((op, attribute(tensor, "output_nr", 0) or 0))
    return result.dst if result is not None else op
