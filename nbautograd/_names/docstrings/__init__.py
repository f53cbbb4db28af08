"""Completion of docstrings: text that many functions share is stored once, in the tables of this package.

The docstring in a function describes only its particulars. Parameters with the same meaning in many functions (``dim``,
``keepdim``, ``out`` and so on) are in ``parameters.py``, those of whole families in the other modules; the line that
imports the package before an example is added, too. ``fill`` completes a function's docstring when the function is
declared: it costs two microseconds. ``Composed`` is the docstring of a class, composed on first access from the class,
its bases and the function that it calls.

A line in a docstring takes precedence over the tables.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeVar

from nbautograd._names.docstrings.parameters import COMMON, RAISES, RESULTS, SPECIAL

F = TypeVar("F", bound=Callable[..., Any])
Family = tuple[Mapping[str, str], str, tuple[tuple[str, str], ...]]
"""A family of functions: the meanings of its parameters, the result, and errors with their conditions."""

INDENT = "" if sys.version_info >= (3, 13) else "    "
"""The indentation of a function's docstring; the compiler removes it since 3.13."""
CATEGORIES = {"b": "bool", "i": "integer", "f": "floating", "c": "complex"}
IMPORT = ">>> import nbautograd as torch"
"""The first line of nearly all examples."""
NOTHING: Mapping[str, str] = {}
NO_FAMILY: Family = (NOTHING, "", ())
WRONG_TYPE = ("TypeError", "an argument has an unsupported type")
WRONG_DIM = ("IndexError", "``dim`` is out of range")
BROADCAST = "a tensor of the shape to which the operands broadcast"


def fill(
    doc: str, names: Iterable[str], own: Mapping[str, str], returns: str = "", raises: Iterable[tuple[str, str]] = (),
    shared: Mapping[str, str] = COMMON,
) -> str:  # fmt: skip
    r"""Return ``doc`` with a line for each parameter, for the result and for errors that it does not have yet.

    :param own: meanings of this function's parameters; others are in ``shared``.
    :param raises: pairs of an error and its condition.

    >>> fill("Twice x.", ["x"], {"x": "a number."}, "a number.")
    'Twice x.\n\n:param x: a number.\n:returns: a number.\n'
    """
    indent = INDENT if "\n    " in doc else ""
    if "\n\n    >>> " in doc:
        indent = "    "  # that of a text which is set later, too
    line = f"\n{indent}:"
    at = doc.find(f"\n\n{indent}>>> ")
    text, example = (doc[:at], doc[at:]) if at >= 0 else (doc.rstrip(), f"\n{indent}")
    start = text.find(line)
    if start < 0:
        lines = [f"{line}param {name}: {word}" for name in names if (word := own.get(name) or shared.get(name))]
        if returns:
            lines.append(f"{line}returns: {returns}")
        lines += [f"{line}raises {error}: {when}." for error, when in raises]
        return f"{text}\n{''.join(lines)}{example}" if lines else doc
    return text[:start] + _merged(text[start:], line, names, own, returns, raises, shared) + example


def with_import(doc: str) -> str:
    """Return ``doc`` with the line that imports the package before its example, which need not say it."""
    text, prompt, example = doc.partition(">>> ")
    if "torch." not in example or "import nbautograd" in example or "nbautograd as torch" in example:
        return doc
    indent = text.rpartition("\n")[2]
    return f"{text}{IMPORT}\n{indent}{prompt}{example}"


def add_example(function: Any, example: str) -> None:
    """Append an example to the docstring of a function, which has one unless Python leaves them out."""
    if function.__doc__ is not None:
        indented = example.replace("\n", f"\n{INDENT}")
        function.__doc__ = f"{function.__doc__.rstrip()}\n\n{INDENT}{indented}\n{INDENT}"


def import_in_examples(objects: Iterable[Any]) -> None:
    """Add the line that imports the package to the examples of functions, and of classes, theirs and of their methods.

    An object of another kind stands for its class.
    """
    parts: dict[Any, None] = {}
    for each in objects:
        if isinstance(each, FunctionType):
            parts[each] = None
            continue
        for cls in (each if isinstance(each, type) else type(each)).__mro__:
            if cls.__module__.startswith("nbautograd."):
                methods = (method for method in vars(cls).values() if isinstance(method, FunctionType))
                parts |= dict.fromkeys([cls, *methods])
    for part in parts:
        doc = vars(part).get("__doc__") if isinstance(part, type) else part.__doc__
        if isinstance(doc, str) and ">>> " in doc:  # not one that is composed on access
            part.__doc__ = with_import(doc)


def import_in_module(name: str) -> None:
    """Add that line to the examples of the functions and classes that a module defines."""
    objects = [*vars(sys.modules[name]).values()]
    import_in_examples(each for each in objects if getattr(each, "__module__", None) == name)


def _by_name(texts: Iterable[str]) -> dict[str, str]:
    return {name: text for text in texts for name in text.partition(":")[0].lstrip("*").split(", ")}


def _merged(
    fields: str, line: str, names: Iterable[str], own: Mapping[str, str], returns: str,
    raises: Iterable[tuple[str, str]], shared: Mapping[str, str],
) -> str:  # fmt: skip
    """Return the lines of a docstring with the missing ones added, parameters in the order of the signature."""
    end = min(len(fields.partition(line + kind)[0]) for kind in ("returns", "raises"))
    own_lines, lines = _by_name(fields[:end].split(f"{line}param ")[1:]), []
    for name in names:
        said = own_lines.pop(name, None)
        if said is not None:
            if said not in own_lines.values():  # the last of several that share a line
                lines.append(f"{line}param {said}")
        elif word := own.get(name) or shared.get(name):
            lines.append(f"{line}param {name}: {word}")
    lines += [f"{line}param {text}" for text in dict.fromkeys(own_lines.values())]
    ending = fields[end:]
    if returns and not ending.startswith(f"{line}returns"):
        lines.append(f"{line}returns: {returns}")
    lines.append(ending)
    lines += [f"{line}raises {error}: {when}." for error, when in raises if f"raises {error}:" not in ending]
    return "".join(lines)


def described(function: F) -> F:
    """Fill the docstring of a function by the tables of ``parameters.py``."""
    describe(function)
    return function


def describe(function: Any, body: Any = None, further: tuple[str, ...] = ()) -> None:
    """Fill the docstring of a function by the tables of ``parameters.py``, if it has an example.

    :param body: the function that has its parameters, if these are not its own.
    :param further: further keywords.
    """
    doc, name = function.__doc__, function.__name__
    code = (body or getattr(function, "__wrapped__", function)).__code__
    if doc is None or ">>> " not in doc:
        return
    names = _names(code)
    raises = [WRONG_TYPE] if names else []
    if "dim" in names and "IndexError" not in doc:
        raises.append(WRONG_DIM)
    if name in RAISES:
        raises.append(("RuntimeError", RAISES[name]))
    doc = with_import(doc)
    if body is not None:
        body.__doc__ = doc  # which the node has
    function.__doc__ = fill(doc, names + further, SPECIAL.get(name, NOTHING), RESULTS.get(name, ""), raises)


def describe_operation(function: Any, body: Any, pointwise: bool, accepts: str, floating: bool, out: bool) -> None:
    """Fill the docstring of a declared operation: operands and errors of elementwise ones follow from the declaration.

    :param accepts: the accepted categories of dtypes.
    :param floating: integers become the default float.
    """
    further = ("out",) * out
    if not pointwise:
        describe(function, body, further)
        return
    doc, code, hints = function.__doc__, body.__code__, body.__annotations__
    if doc is None or ">>> " not in doc:
        return
    doc = body.__doc__ = with_import(doc)
    names = _names(code)
    operands = [name for name in names if "Tensor" in str(hints.get(name))]  # some hints are evaluated
    tensor, number = _operands(accepts)
    words = {name: number if "Number" in str(hints[name]) else tensor for name in operands}
    words |= SPECIAL.get(function.__name__, NOTHING)
    raises, result = [WRONG_TYPE], BROADCAST
    if len(operands) > 1:
        raises.append(("RuntimeError", "the shapes do not broadcast, or a dtype is not supported"))
    else:
        result = f"a tensor of the shape of ``{[*operands, *names][0]}``"
        if accepts != "bifc":
            raises.append(("RuntimeError", "the dtype is not supported"))
    ending = "; integers give the default floating dtype." if floating else "."
    result = RESULTS.get(function.__name__, result)
    function.__doc__ = fill(doc, names + further, words, result.removesuffix(".") + ending, raises)


def describe_operator(operator: Any, function: Any) -> None:
    """Set the docstring of an operator to that of its function, without the keywords.

    Comparison with an object of another type is no error.
    """
    without = [":param out:"] + [":raises TypeError:"] * (function.__name__ in ("eq", "ne"))
    lines = []
    for line in (function.__doc__ or "").split("\n"):
        if line.strip().startswith(":param alpha:"):
            line = f"{INDENT}:param alpha: only for the function, not for the operator."
        if not line.strip().startswith(tuple(without)):
            lines.append(line)
    operator.__doc__ = "\n".join(lines)


def _names(code: Any) -> tuple[str, ...]:
    """Return the names of all parameters, in the order of the signature."""
    names: tuple[str, ...] = code.co_varnames
    several, count = code.co_flags & 4, code.co_argcount
    end = count + code.co_kwonlyargcount
    if not code.co_flags & 12:
        return names[:end]
    rest = names[end : end + (several > 0)]
    return names[:count] + rest + names[count:end] + names[end + len(rest) : end + len(rest) + (code.co_flags & 8 > 0)]


@functools.cache
def _operands(accepts: str) -> tuple[str, str]:
    dtypes = dtypes_of(accepts)
    return f"a tensor of {dtypes} dtype.", f"a tensor or a number, of {dtypes} dtype."


def dtypes_of(accepts: str) -> str:
    """Return the categories in words.

    >>> dtypes_of("bif"), dtypes_of("bi")
    ('any real', 'bool or integer')
    """
    known = {"bifc": "any", "bif": "any real", "ifc": "any but bool"}
    return known.get(accepts) or " or ".join(CATEGORIES[each] for each in accepts)


def describe_all(functions: Iterable[Any], families: Mapping[str, Family], shared: Mapping[str, str]) -> None:
    """Fill the docstrings of functions by the tables of their families, and by a table for all of them."""
    for function in functions:
        doc = function.__doc__
        if doc is not None and not isinstance(function, type):
            own, returns, raises = families.get(function.__name__, NO_FAMILY)
            if "TypeError" not in dict(raises):
                raises = (*raises, WRONG_TYPE)
            names = _names(inspect.unwrap(function).__code__)
            function.__doc__ = fill(with_import(doc), names, own, returns, raises, shared)
