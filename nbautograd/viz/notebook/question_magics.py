"""The magics that answer a question, as a table, in which each stands."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from IPython.core import magic_arguments as arguments
from IPython.core.error import UsageError
from IPython.core.magic import line_magic

from nbautograd.viz.notebook.in_place import of_magic
from nbautograd.viz.notebook.magic_line import one_tensor, parsed, tensors
from nbautograd.viz.read.contents import is_module
from nbautograd.viz.read.introspect import attribute

__all__ = ["QUESTIONS", "question_magic"]


def _tensor(shell: Any, name: str, options: Any) -> tuple[Any, ...]:
    return (one_tensor(shell, name, options.expression, False),)


def _computation(shell: Any, name: str, options: Any) -> tuple[Any, ...]:
    """The expression itself, which the answer evaluates; of a variable, its tensor."""
    if " ".join(options.expression).strip() in shell.user_ns:
        return _tensor(shell, name, options)
    return (lambda: one_tensor(shell, name, options.expression, False),)


def _tensor_or_module(shell: Any, name: str, options: Any) -> tuple[Any, ...]:
    words = options.expression
    asked = shell.user_ns.get(" ".join(words))
    if not is_module(asked):
        results = [word for word in words if attribute(shell.user_ns.get(word), "grad_fn") is not None]
        others = [word for word in words if word not in results]
        both = len(results) == len(others) == 1
        advice = f"; a result is given by --of: %{name} {others[0]} --of {results[0]}" if both else ""
        (asked,) = tensors(shell, name, " ".join(words), 1, advice)
    return asked, None if options.of is None else tensors(shell, f"{name} --of", options.of, 1)[0]


def _two_tensors(shell: Any, name: str, options: Any) -> tuple[Any, ...]:
    words = options.expression
    given = tensors(shell, name, (", " if len(words) == 2 else " ").join(words).replace(",,", ","))
    if len(given) != 2:
        raise UsageError(f"%{name} needs two tensors, but got {len(given)}: write for example %{name} a b")
    return given


class QuestionMagic(NamedTuple):
    """A magic: its effect, its arguments, their parser, and further options."""

    does: str
    given: str
    read: Callable[[Any, str, Any], tuple[Any, ...]]
    options: tuple[Any, ...] = ()
    module: str = ""


ONE = "a tensor, or an expression that gives one"
TWO = "two tensors: their names, or expressions with a comma between them"
argument: Any = arguments.argument
OF = argument("--of", help="the result that is differentiated; by default the newest that depends on it")
QUESTIONS = {
    "memory": QuestionMagic(
        "Rank the memory that a graph keeps by line, operation and module, with its peaks: ``%memory loss``.",
        ONE,
        _tensor,
    ),
    "cost": QuestionMagic(
        "Measure parameters, FLOPs, milliseconds and memory of an expression, from one run: ``%cost (w * x).sum()``.",
        ONE,
        _computation,
    ),
    "why": QuestionMagic(
        "Explain a gradient by its paths, or by the line that cuts it off or makes it vanish: ``%why w``.",
        "a tensor or a module",
        _tensor_or_module,
        (OF,),
    ),
    "path": QuestionMagic(
        "List and draw all paths from a result to a tensor, with local derivatives and products: ``%path x y``.",
        TWO,
        _two_tensors,
        module="paths",
    ),
    "diff": QuestionMagic(
        "Compare two graphs: operations, shapes, values and gradients: ``%diff a b``.",
        TWO,
        _two_tensors,
    ),
}


def question_magic(name: str) -> Any:
    """Return the line magic that calls the function of this name in ``viz``, as the table says."""
    question = QUESTIONS[name]

    def magic(self: Any, line: str) -> Any:
        options, silent = parsed(getattr(self, name), line)
        module = question.module or name
        answer = getattr(import_module(f"nbautograd.viz.notebook.{module}"), module)
        given = question.read(self.shell, name, options)
        return of_magic(answer(*given, namespace=self.shell.user_ns), silent)

    magic.__name__, magic.__doc__ = name, question.does
    decorators: list[Any] = [argument("expression", nargs="*", help=question.given), *question.options]
    for decorate in (*decorators, arguments.magic_arguments()):  # type: ignore[no-untyped-call]
        magic = decorate(magic)
    return line_magic(magic)
