"""Docstrings of classes, composed on access from the class, its bases, its function, and the tables; constructors."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import update_wrapper
from importlib import import_module
from itertools import zip_longest
from types import FunctionType
from typing import Any, TypeVar

from nbautograd._names.docstrings import with_import

FIELD = re.compile(r"^:(param|returns|raises)\b ?([^:]*):", re.MULTILINE)
C = TypeVar("C", bound=type)
Fields = dict[tuple[str, str], str]
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Tables:
    """The shared docstrings of the classes of a package."""

    shared: Mapping[str, str]
    """Meanings of parameters in all classes that do not define them."""
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Meanings of parameters in single classes."""
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """The parameters of classes whose constructor takes any arguments."""
    functions: Mapping[str, str] = field(default_factory=dict)
    """The function of ``nn.functional`` that a layer computes."""
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The inputs of a layer's call."""
    results: Mapping[str, str] = field(default_factory=dict)
    """The result of the call."""
    formulas: Mapping[str, str] = field(default_factory=dict)
    """The formula, and its source."""
    raises: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Errors of single classes, with their conditions."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Examples of classes without one of their own; a layer's function has that of other layers."""


def alike(names: str, entry: Entry) -> dict[str, Entry]:
    """Return the same entry for several classes."""
    return dict.fromkeys(names.split(), entry)


def composed(cls: C) -> C:
    """Compose the docstring of one of our public classes on access; classes of others keep theirs.

    A private base's constructor gets the class's name, which errors of its arguments have.
    """
    if cls.__module__.startswith("nbautograd.") and not cls.__name__.startswith("_"):
        doc, made = cls.__dict__.get("__doc__"), cls.__init__  # type: ignore[misc]
        if isinstance(doc, str):
            cls.__doc__ = Composed(doc)  # type: ignore[assignment]
        if made.__qualname__.startswith("_"):
            own = FunctionType(made.__code__, made.__globals__, "__init__", made.__defaults__, made.__closure__)
            cls.__init__ = update_wrapper(own, made)  # type: ignore[misc]
            own.__kwdefaults__, own.__qualname__ = made.__kwdefaults__, f"{cls.__name__}.__init__"
    return cls


class Composed:
    """The docstring of a class, composed from its own: ``cls.__doc__`` calls this descriptor."""

    def __init__(self, own: str) -> None:
        self.own = own
        self._text: str | None = None

    def __get__(self, instance: Any, cls: type) -> str:
        if self._text is None:
            self._text = compose(cls, self.own)
        return self._text


def own_docstring(cls: type) -> str:
    """Return a class's own docstring, cleaned."""
    doc = cls.__dict__.get("__doc__")
    return inspect.cleandoc(doc.own if isinstance(doc, Composed) else doc or "")


def divided(doc: str) -> tuple[str, Fields, str]:
    r"""Return a cleaned docstring as its text, its fields by kind and name, and its example.

    >>> divided("Text.\n\n:param a, b: numbers.\n:raises ValueError: never.\n")[1]
    {('param', 'a'): 'numbers.', ('param', 'b'): 'numbers.', ('raises', 'ValueError'): 'never.'}
    """
    doc, mark, example = doc.partition("\n>>> ")
    starts = list(FIELD.finditer(doc))
    fields: Fields = {}
    for start, after in zip_longest(starts, starts[1:]):
        text = doc[start.end() : after.start() if after else len(doc)].strip()
        for name in start[2].split(", "):
            fields[start[1], name.strip("*")] = text
    text = doc[: starts[0].start()] if starts else doc
    return text.strip(), fields, (mark + example).strip()


PACKAGES = {"nn": "layer_classes", "optim": "training", "utils": "training", "distributions": "probability"}
"""The module with the tables of each package."""


def tables_of(cls: type) -> Tables:
    """Return the tables of the package of a class."""
    module = PACKAGES.get((cls.__module__ + ".").split(".")[1])
    return import_module(f"nbautograd._names.docstrings.{module}").TABLES if module else Tables({})


def parameters(cls: type) -> list[str]:
    """Return the names of the constructor's parameters; for arbitrary arguments, those in the tables or a base."""
    names = tables_of(cls).names.get(cls.__name__)
    if names is not None:
        return names
    if "__new__" in cls.__dict__:  # for example of parameters, which are tensors
        return list(inspect.signature(cls.__dict__["__new__"]).parameters)[1:]
    constructors = [base.__dict__["__init__"] for base in cls.__mro__[:-1] if "__init__" in base.__dict__]
    if not constructors:
        return []
    options = [list(inspect.signature(constructor).parameters.values())[1:] for constructor in constructors]
    named = (each for each in options if not each or any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in each))
    return [each.name for each in next(named, options[0])]


def _inherited(cls: type) -> Fields:
    """Return the fields of our public bases, of which the nearest counts."""
    fields: Fields = {}
    for base in cls.__mro__[1:]:
        if base.__module__.startswith("nbautograd."):
            fields = {**divided(own_docstring(base))[1], **fields}
    return fields


def compose(cls: type, own: str) -> str:
    """Return the whole docstring of a class."""
    text, fields, example = divided(inspect.cleandoc(own))
    tables, name = tables_of(cls), cls.__name__
    function = getattr(cls, "_function", None)
    if name in tables.functions:
        function = getattr(import_module("nbautograd.nn.functional"), tables.functions[name])
    called = divided(inspect.getdoc(function) or "")[1] if function else {}
    inherited = _inherited(cls)
    lines = []
    passed = getattr(cls, "_passed", ())
    for option in parameters(cls):
        key = ("param", option)
        passed_on = called.get(key) if option in passed else None
        near = (fields.get(key), tables.words.get(name, {}).get(option), inherited.get(key), passed_on)
        if said := next(filter(None, (*near, tables.shared.get(option), called.get(key))), None):
            lines.append(_line("param", option, said))
    errors = _errors(tables.raises.get(name, {}), fields, inherited, called) or tables.raises.get("", {})
    lines += [_line("raises", error, when) for error, when in errors.items()]
    inputs = tables.inputs.get(name) or dict(_inputs(cls, function, called))
    call = _call(inputs, tables.results.get(name, called.get(("returns", ""), "")))
    example = example or tables.examples.get(name) or _example_of_layer(cls)
    blocks = (text, tables.formulas.get(name), "\n".join(lines), call, with_import(example))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _errors(table: Mapping[str, str], own: Fields, *others: Fields) -> dict[str, str]:
    """Return the errors of a class and of others; its own conditions precede those of the table, and these the rest."""
    errors = {**table, **{error: when for (kind, error), when in own.items() if kind == "raises"}}
    for fields in others:
        for (kind, error), when in fields.items():
            if kind == "raises":
                errors.setdefault(error, when)
    return errors


def _example_of_layer(cls: type) -> str:
    """Return the example of a layer's function, in which arguments after the inputs become options of the layer."""
    function = getattr(cls, "_function", None)
    if function is None:
        return ""
    count, lines = len(getattr(cls, "_inputs", ("input",))), []
    for line in divided(inspect.getdoc(function) or "")[2].split("\n"):
        code = line.removeprefix(">>> ")
        for call in ast.walk(ast.parse(code if code != line else "")):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(f".{function.__name__}"):
                given = [ast.get_source_segment(code, each) or "" for each in (*call.args, *call.keywords)]
                made = f"torch.nn.{cls.__name__}({', '.join(given[count:])})({', '.join(given[:count])})"
                line = line.replace(ast.get_source_segment(code, call) or "", made)
        lines.append(line)
    return "\n".join(lines)


def _inputs(cls: type, function: Any, called: Fields) -> Iterator[tuple[str, str]]:
    if function:
        for name in getattr(cls, "_inputs", ("input",)):
            yield name, called.get(("param", name), "a tensor.")


def _call(inputs: Mapping[str, str], result: str) -> str:
    """Return the description of a layer's call and its result."""
    if not inputs:
        return f"When called, it returns {_joined(result)}" if result else ""
    lines = [f"- ``{name}``: {_joined(text)}" for name, text in inputs.items()]
    returned = f"\n\nand returns {_joined(result)}" if result else ""
    return "It is called with\n\n" + "\n".join(lines) + returned


def _line(kind: str, name: str, text: str) -> str:
    return f":{kind} {name}: {_joined(text)}"


def _joined(text: str) -> str:
    return " ".join(text.split())
