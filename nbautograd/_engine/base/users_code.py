"""Analysis of user code for error messages: the running call, and the assignments of variables.

It reads source text, never runs it. If the text is not known (``python -c``), it returns no answer.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, chain, groupby, islice
from operator import attrgetter
from types import CodeType, FrameType, TracebackType
from typing import NamedTuple

from nbautograd.errors import runs_code_of
from nbautograd.protocol import SourceLocator

LIBRARIES = {"nbautograd", "torch", "IPython", "ipykernel", "contextlib", "traitlets"}
MODULE = "<module>"
MAX_FILE_CHARACTERS = 400_000  # that pictures read
Place = tuple[int, int, int, int]
"""First and last line, first byte and the one after the last, as ``co_positions`` gives them."""
MODES = {"no_grad", "inference_mode"}
_MAGIC = re.compile(
    r"get_ipython\(\)\.run_line_magic\("
    r"(?P<name>'\w+'), (?P<line>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)"
)
"""IPython's translation of a magic."""
_VALUE = r"(?:[^\s(\[{]|\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]|\{[^}]*\})+"  # spaces inside of brackets part nothing
_OPTION = re.compile(rf"(?:(?:-g|--gradient|--inputs|--in)(?:=|\s*){_VALUE}|--?[a-z][\w-]*)(?:\s+|$)")
"""An option of ``%backward`` with its value."""


class Assignment(NamedTuple):
    """The assignment of a variable."""

    filename: str
    scope: str
    """The qualified name of the function, or ``<module>``."""
    statement: ast.stmt
    value: ast.expr
    mode: str
    """``no_grad()`` if nothing is recorded."""

    @property
    def position(self) -> tuple[int, int]:
        """Line and column."""
        return self.statement.lineno, self.statement.col_offset

    @property
    def text(self) -> str:
        """The statement as typed, in one line."""
        return edited(self.filename, self.statement)


class SourceCall(NamedTuple):
    """A call in user code, possibly of a magic.

    >>> SourceCall("y.backward()", "y", True).with_argument("retain_graph")
    'y.backward(retain_graph=True)'
    >>> SourceCall("%backward y", "y").with_argument("retain_graph")
    '%backward --retain-graph y'
    """

    text: str
    expression: str
    """The expression that is differentiated."""
    is_method: bool = False
    position: tuple[int, int] = (0, 0)
    """Line and column."""
    inputs: tuple[str, ...] = ()
    """The inputs of ``grad()``."""

    @property
    def is_magic(self) -> bool:
        """True if it is a line such as ``%backward y``."""
        return self.text.startswith("%")

    def with_argument(self, name: str, value: str = "True") -> str:
        """Return the call with one more argument."""
        if self.is_magic:
            option = f"-g {value}" if name == "gradient" else f"--{name.replace('_', '-')}"
            magic, _, line = self.text.partition(" ")
            return f"{magic} {option} {line}"
        head = self.text[:-1].rstrip().removesuffix(",")
        return f"{head}{'' if head.endswith('(') else ', '}{name}={value})"

    def of_sum(self, reduction: str = "sum") -> str:
        """Return the call applied to the sum of the elements."""
        if self.is_method:
            head, dot, rest = self.text.rpartition(".backward(")
            return f"{head}.{reduction}(){dot}{rest}"
        inner = self.expression if re.fullmatch(r"[\w.]+", self.expression) else f"({self.expression})"
        return f"{inner}.{reduction}()".join(self.text.rsplit(self.expression, 1))


def user_frame() -> FrameType | None:
    """Return the innermost frame of code outside libraries."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return frame


def is_users(frame: FrameType) -> bool:
    """Return whether a frame runs code outside libraries, and none that this library has generated."""
    return not runs_code_of(frame, LIBRARIES)


@lru_cache(4000)
def place_of(code: CodeType, instruction: int) -> Place | None:
    """Return the place of the expression that an instruction computes; None if it is unknown."""
    if instruction < 0:
        return None
    line, last, first, end = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    return None if line is None or last is None or first is None or end is None else (line, last, first, end)


def running_call(frame: FrameType | None) -> SourceCall | None:
    """Return the call that a frame is executing: ``backward()``, ``grad()``, ``animate()`` or a magic; or None."""
    if frame is None:
        return None
    filename, at = frame.f_code.co_filename, place_of(frame.f_code, frame.f_lasti)
    calls = _calls(source_of(filename)).get(frame.f_lineno, [])
    exact = [node for node in calls if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == at]
    for node in exact or calls:
        known = _call(filename, node)
        if known is not None:
            return known._replace(position=(node.lineno, node.col_offset))
    return None


@lru_cache(50)
def _calls(source: str) -> dict[int, list[ast.Call]]:
    """Return the calls in a text, by their lines."""
    line = attrgetter("lineno")
    calls = [node for node in ast.walk(parsed(source) or ast.Module([], [])) if isinstance(node, ast.Call)]
    return {at: [*nodes] for at, nodes in groupby(sorted(calls, key=line), line)}


def failed_expression(trace: TracebackType) -> ast.expr | None:
    """Return the expression at which a frame of a traceback stopped; None if the code is not known."""
    code = trace.tb_frame.f_code
    tree = parsed(source_of(code.co_filename))
    at = place_of(code, trace.tb_lasti)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)] if tree is not None else []
    return next((one for one in nodes if (one.lineno, one.end_lineno, one.col_offset, one.end_col_offset) == at), None)


def _call(filename: str, node: ast.Call) -> SourceCall | None:
    """Return the details of a call that runs a backward pass."""
    text, name = edited(filename, node), called(node)
    if name == "run_line_magic":
        return _magic(node)
    if name == "backward" and isinstance(node.func, ast.Attribute):
        owner = edited(filename, node.func.value)
        if owner.rpartition(".")[2] != "autograd":
            return SourceCall(text, owner, True)
    if name in ("backward", "grad", "animate") and node.args:
        by = node.args[1] if name == "grad" and len(node.args) > 1 else None
        several = by.elts if isinstance(by, (ast.List, ast.Tuple)) else [by] if by is not None else []
        return SourceCall(
            text, edited(filename, node.args[0]), inputs=tuple(edited(filename, each) for each in several)
        )
    return None


def _magic(node: ast.Call) -> SourceCall | None:
    """Return the magic that IPython has translated to a call."""
    parts = [ast.literal_eval(each) for each in node.args if isinstance(each, ast.Constant)]
    if len(parts) < 2 or not all(isinstance(part, str) for part in parts):
        return None
    magic, line = parts[0], " ".join(parts[1].split())
    return SourceCall(f"%{magic} {line}", _OPTION.sub("", line).strip())


def called(node: ast.expr) -> str:
    """Return the last part of a name, or of the name that is called."""
    named = node.func if isinstance(node, ast.Call) else node
    return named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")


def source_of(filename: str) -> str:
    """Return the text of a file or a cell, empty if it is unknown."""
    return "".join(linecache.getlines(filename))


@lru_cache(50)
def parsed(source: str) -> ast.Module | None:
    """Return the syntax tree of a text; None if it is empty or not Python."""
    try:
        return ast.parse(source) if source else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a cell with untranslated magics, or too deep
        return None


def edited(filename: str, node: ast.stmt | ast.expr, *edits: tuple[tuple[int, int], tuple[int, int], str]) -> str:
    """Return the text of a statement or expression as typed, on one line, after edits.

    :param edits: start and end of each, as line and column, and the new text.
    """
    top, bottom = node.lineno, node.end_lineno or node.lineno
    lines = [line.encode() for line in linecache.getlines(filename)[top - 1 : bottom]]
    starts = [0, *accumulate(map(len, lines))]
    source = b"".join(lines)
    parts, at = [], node.col_offset
    for (first, column), (last, last_column), new in sorted(edits):
        parts += [source[at : starts[first - top] + column], new.encode()]
        at = starts[last - top] + last_column
    text = b"".join([*parts, source[at : starts[bottom - top] + (node.end_col_offset or 0)]]).decode()
    if "\n" in text:
        text = ast.unparse(ast.parse(text if isinstance(node, ast.stmt) else f"({text})"))
    return _MAGIC.sub(lambda found: f"%{ast.literal_eval(found['name'])} {ast.literal_eval(found['line'])}", text)


def assignments(filename: str) -> dict[str, list[Assignment]]:
    """Return, for each variable of a cell or file, its assignments, from top to bottom."""
    return _assignments(filename, source_of(filename))


@lru_cache(50)
def _assignments(filename: str, source: str) -> dict[str, list[Assignment]]:
    assigned: dict[str, list[Assignment]] = {}

    def visit(node: ast.AST, scope: str, prefix: str, mode: str) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            mode = next(filter(None, map(_mode, node.decorator_list)), "")
            scope = prefix + node.name
            prefix = f"{scope}.<locals>."
        elif isinstance(node, ast.ClassDef):
            scope = prefix + node.name
            prefix = f"{scope}."
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            mode = next((found for item in node.items if (found := _mode(item.context_expr))), mode)
        for name, value in _targets(node):
            assert isinstance(node, ast.stmt)
            assigned.setdefault(name, []).append(Assignment(filename, scope, node, value, mode))
        for child in ast.iter_child_nodes(node):
            visit(child, scope, prefix, mode)

    tree = parsed(source)
    if tree is not None:
        visit(tree, MODULE, "", "")
    return assigned


def _mode(node: ast.expr) -> str:
    """Return ``no_grad()`` and the like, if an expression disables recording."""
    name = called(node)
    if name == "set_grad_enabled" and isinstance(node, ast.Call) and node.args:
        return "set_grad_enabled(False)" if getattr(node.args[0], "value", None) is False else ""
    return f"{name}()" if name in MODES else ""


def _targets(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that a statement assigns, each with the expression."""
    match node:
        case ast.Assign():
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, (ast.Tuple, ast.List)):
                    values = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else []
                    each = values if len(values) == len(target.elts) else [node.value] * len(target.elts)
                    pairs = list(zip(target.elts, each, strict=True))
                for one, value in pairs:
                    if isinstance(one, ast.Name):
                        yield one.id, value
        case ast.AugAssign(ast.Name(name)):
            yield name, ast.Tuple([ast.Name(name), node.value])
        case ast.AnnAssign(ast.Name(name), value=ast.expr() as value):
            yield name, value


def last_backward(filename: str, position: tuple[int, int]) -> tuple[str, int, SourceCall] | None:
    """Return the last call of ``backward()`` before a position, there or in earlier cells, with its file and line."""
    for cell in (filename, *SourceLocator.earlier(filename)):
        nodes = chain.from_iterable(_calls(source_of(cell)).values())
        before = [node for node in nodes if cell != filename or (node.lineno, node.col_offset) < position]
        for node in sorted(before, key=lambda node: (node.lineno, node.col_offset), reverse=True):
            call = _call(cell, node)
            if call is not None and (".backward(" in call.text or call.text.startswith("%backward ")):
                return cell, node.lineno, call
    return None


def last_assignment(name: str, filename: str, position: tuple[int, int], scope: str = MODULE) -> Assignment | None:
    """Return the last assignment of a variable before a position: in its function, its file, or earlier cells."""
    own = _in_scope(name, filename, scope)
    if own:
        before = [one for one in own if one.position < position]
        return (before or own)[-1]  # in a loop, it may be further down
    for cell in (filename, *SourceLocator.earlier(filename)):
        if known := _in_scope(name, cell, MODULE):
            return known[-1]
    return None


def _in_scope(name: str, filename: str, scope: str) -> list[Assignment]:
    return [one for one in assignments(filename).get(name, []) if one.scope == scope]
