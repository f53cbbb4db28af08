"""The line of a magic: its options, and the tensors that its expression gives; the magics that answer a question.

Mistakes in the line itself are reported in one line (IPython's ``UsageError``). Exceptions of the user's own code
during evaluation are not changed.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from traceback import walk_tb
from typing import Any

from IPython.core import magic_arguments as arguments
from IPython.core.error import UsageError
from IPython.core.magic import line_magic
from IPython.utils.process import arg_split  # type: ignore[attr-defined, unused-ignore]

from nbautograd.viz.notebook.in_place import of_magic, without_semicolon
from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.values import is_tensor
from nbautograd.viz.read.walk import is_module, parameters_of

__all__ = ["QUESTIONS", "one_tensor", "parsed", "question_magic", "tensor_names", "tensors"]

MAX_LISTED_NAMES = 10
"""Names of tensors that a message lists."""
argument: Any = arguments.argument
UNREADABLE = (SyntaxError, ValueError, MemoryError, RecursionError)
"""The errors of ``compile``; the last two are for brackets in more brackets than it can follow."""


def parsed(magic: Any, line: str) -> tuple[Any, bool]:
    """Return the options of a line, and True if it ends with a semicolon, which hides the output.

    :param magic: the magic's method.
    """
    bare, silent = without_semicolon(line)
    parser, name = magic.parser, magic.__name__
    short = {option for option in parser._option_string_actions if not option.startswith("--")}
    try:
        words = [_as_expression(word, short) for word in _split(bare)]
        options, unknown = parser.parse_known_args(words)
    except (UsageError, ValueError) as error:  # ValueError: an unclosed quotation
        raise UsageError(f"%{name}: {error}") from None
    _as_in_python(parser, name, getattr(options, "expression", []))
    if unknown:
        known = [option for option in parser._option_string_actions if option.startswith("--")]
        close = _close(unknown[0], known)
        hint = f"did you mean {close}?" if close else f"%{name}? lists its options"
        raise UsageError(f"%{name}: unrecognized arguments: {' '.join(unknown)}; {hint}")
    return options, silent


def _split(line: str) -> list[str]:
    """Split a line at its spaces, but not inside of brackets: in ``-g f(a, b) y`` the option has one value.

    >>> _split("-g torch.ones(2, 3) (x + 1).exp()")
    ['-g', 'torch.ones(2, 3)', '(x + 1).exp()']
    """
    words, depth = list[str](), 0
    for word in arg_split(line):
        if depth > 0:
            words[-1] += f" {word}"
        else:
            words.append(word)
        brackets = re.sub(r"'[^']*'|\"[^\"]*\"", "", word)
        depth += len(re.findall(r"[(\[{]", brackets)) - len(re.findall(r"[)\]}]", brackets))
    return words


def _as_in_python(parser: Any, name: str, words: Sequence[str]) -> None:
    """Tell who has written an argument in the expression as in a call, ``retain_graph=True``, the option that it is."""
    for word in () if _is_expression(" ".join(words)) else words:
        given = re.fullmatch(r"([a-z_]+)=([\w.]+)|[a-z]+_[a-z_]+", word.strip(","))
        option = parser._option_string_actions.get(f"--{(given[1] or given[0]).replace('_', '-')}") if given else None
        if given and option:
            others = [other.strip(",") for other in words if other is not word]
            right = [f"%{name}", option.option_strings[0], given[2] if option.nargs is None else None, *others]
            raise UsageError(f"%{name}: options have dashes: write {' '.join(filter(None, right))}")


def _as_expression(word: str, short: set[str]) -> str:
    """A word of the line. One like ``-x).sum()`` is no option, which the parser sees by the space before it."""
    negative = re.match(r"-[^-]", word) and word[:2] not in short and not re.fullmatch(r"-\d+", word)
    return f" {word}" if negative else word


def one_tensor(shell: Any, magic: str, words: Sequence[str], gradient: bool = True) -> Any:
    """The tensor that a line's expression gives.

    :param words: the expression, as the line was split.
    :param gradient: whether a second word may have been meant as the gradient.
    """
    expression = " ".join(words)
    guessed = [word.strip().strip(",") for word in words]
    advice = f"; a gradient is given by -g: %{magic} -g {guessed[1]} {guessed[0]}" if len(guessed) == 2 else ""
    return tensors(shell, magic, expression, 1, advice if gradient else "")[0]


def tensors(shell: Any, magic: str, expression: str, most: int | None = None, advice: str = "") -> tuple[Any, ...]:
    """The tensors that an expression typed by the user gives.

    :param most: their largest number.
    :param advice: what is said where it gives more.
    :raises UsageError: a missing or invalid expression, an undefined name, or a value that is not a tensor.
    """
    written, first = expression.strip(), magic.split()[0]
    takes_modules = first.endswith("grads")
    hint = "" if takes_modules else _call_of_module(shell, first, written)
    value = _value(shell, magic, _compiled(magic, written, most, advice or hint))
    given = value if isinstance(value, (tuple, list)) else (value,)
    for item in given:
        if not is_tensor(item) and not (takes_modules and parameters_of(item) is not None):
            raise UsageError(f"%{magic} needs a tensor, but {written!r} gives {type(item).__name__}{hint}")
    if not given or (most is not None and len(given) > most):
        needed = "a tensor" if most is None else "one tensor"
        raise UsageError(f"%{magic} needs {needed}, but {written!r} gives {len(given)}{advice}")
    return tuple(given)


def _call_of_module(shell: Any, magic: str, written: str) -> str:
    called, *others = re.split("[, ]+", written)
    call = f"{called}({', '.join(others) or 'x'})"
    return f"; {called} is a module: write %{magic} {call}" if is_module(shell.user_ns.get(called)) else ""


def _value(shell: Any, magic: str, code: types.CodeType) -> Any:
    """Return what an expression gives."""
    try:
        with shell.builtin_trap:
            return eval(code, shell.user_global_ns, shell.user_ns)
    except NameError as error:
        *_, (frame, _) = walk_tb(error.__traceback__)
        if frame.f_code not in (code, *code.co_consts):  # a function that the expression calls has raised it
            raise
        raise UsageError(_unknown_text(shell, magic, error)) from None


def _compiled(magic: str, written: str, most: int | None, advice: str) -> types.CodeType:
    """Return the code of an expression; an error says what to write instead."""
    first = magic.split()[0]
    if not written.strip(","):
        raise UsageError(f"%{magic} needs a tensor: write for example %{first} y")
    ran = re.fullmatch(r"(.+)\.(backward\(\w*\)|item\(\)|grad_fn)", written)
    if ran:
        raise UsageError(f"%{magic} needs a tensor, but {ran[2]} gives none: write %{first} {ran[1]}")
    try:
        return compile(written, "<string>", "eval")
    except UNREADABLE as error:
        words = written.split()
        if re.fullmatch(r"-[a-zA-Z]", words[0]) and len(words) > 1:
            raise UsageError(f"%{magic}: unrecognized arguments: {words[0]}; %{first}? lists its options") from None
        if len(words) > 1 and all(map(_is_expression, words)):  # %backward y v
            if most is not None:
                raise UsageError(f"%{magic} needs one tensor, but {written!r} are {len(words)}{advice}") from None
            if advice:
                raise UsageError(f"%{magic} needs tensors{advice}") from None
            raise UsageError(f"%{magic}: write commas between tensors: %{magic} {', '.join(words)}") from None
        what = getattr(error, "msg", None) or str(error) or "too many brackets"
        raise UsageError(f"%{magic} needs an expression, but {written!r} is none: {what}") from None


def _is_expression(text: str) -> bool:
    try:
        compile(text, "<string>", "eval")
    except UNREADABLE:
        return False
    return True


def _unknown_text(shell: Any, magic: str, error: NameError) -> str:
    name = getattr(error, "name", None) or str(error)
    known = sorted(tensor_names(shell))
    others = [key for key in shell.user_ns if key not in shell.user_ns_hidden and not key.startswith("_")]
    close = _close(name, known) or _close(name, others)
    if close:
        return f"%{magic}: name {name!r} is not defined; did you mean {close!r}?"
    listed = ", ".join(known[:MAX_LISTED_NAMES]) + (", …" if len(known) > MAX_LISTED_NAMES else "")
    return f"%{magic}: name {name!r} is not defined" + (f"; tensors here: {listed}" if known else "")


def _close(name: str, known: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name, list(known), 1)), "")


def tensor_names(shell: Any) -> list[str]:
    """The variables of a shell that hold tensors."""
    return [key for key, value in shell.user_ns.items() if hasattr(value, "grad_fn") and not key.startswith("_")]


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


def question_magic(
    name: str, does: str, given: str, read: Callable[[Any, str, Any], tuple[Any, ...]], *options: Any
) -> Any:
    """Return a line magic that calls the function of its name in ``viz``.

    :param does: its effect.
    :param given: its arguments, which ``read`` reads.
    """
    function = "paths" if name == "path" else name

    def magic(self: Any, line: str) -> Any:
        asked, silent = parsed(getattr(self, name), line)
        answer = getattr(import_module(f"nbautograd.viz.notebook.{function}"), function)
        return of_magic(answer(*read(self.shell, name, asked), namespace=self.shell.user_ns), silent)

    magic.__name__, magic.__doc__ = name, does
    decorators = [argument("expression", nargs="*", help=given), *options]
    for decorate in (*decorators, arguments.magic_arguments()):  # type: ignore[no-untyped-call]
        magic = decorate(magic)
    return line_magic(magic)


ONE = "a tensor, or an expression that gives one"
TWO = "two tensors: their names, or expressions with a comma between them"
QUESTIONS: tuple[tuple[Any, ...], ...] = (
    ("memory", "Rank the memory that a graph keeps by line, operation and module, with its peaks: ``%memory loss``.",
     ONE, _tensor),
    ("cost",
     "Measure parameters, FLOPs, milliseconds and memory of an expression, from one run: ``%cost (w * x).sum()``.",
     ONE, _computation),
    ("why", "Explain a gradient by its paths, or by the line that cuts it off or makes it vanish: ``%why w``.",
     "a tensor or a module", _tensor_or_module,
     argument("--of", help="the result that is differentiated; by default the newest that depends on it")),
    ("path", "List and draw all paths from a result to a tensor, with local derivatives and products: ``%path x y``.",
     TWO, _two_tensors),
    ("diff", "Compare two graphs: operations, shapes, values and gradients: ``%diff a b``.", TWO, _two_tensors),
)  # fmt: skip
