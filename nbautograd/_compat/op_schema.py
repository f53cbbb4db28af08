"""Schemas of operations: PyTorch's notation of their signatures, from annotations or text."""

from __future__ import annotations

import ast
import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.dtypes import dtype
from nbautograd._engine.core.tensor import Tensor

_NAMES = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", device: "Device", dtype: "ScalarType",
    int | float | bool: "Scalar",
}  # fmt: skip
_CLASSES = {"Tensor": Tensor, "int": int, "SymInt": int, "float": float, "bool": bool, "str": str}


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """Return the schema of a function with annotations.

    :param prototype_function: the function.
    :param mutates_args: the names of the parameters to which it writes, or ``"unknown"``: all tensors.
    :param op_name: the beginning of the schema; empty by default.
    :returns: a string.
    :raises ValueError: a parameter has no annotation, or its type has no name in schemas.

    >>> import nbautograd as torch
    >>> def scaled(x: torch.Tensor, k: float = 2.0) -> torch.Tensor: ...
    >>> infer_schema(scaled, mutates_args=())
    '(Tensor x, float k=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function, eval_str=True)
    parts, seen_keyword = [], False
    for place, each in enumerate(signature.parameters.values()):
        if each.annotation is inspect.Parameter.empty:
            raise ValueError(
                f"infer_schema(func): Parameter {each.name} must have a type annotation. Got func with signature "
                f"{signature})"
            )
        kind = _name_of(each.annotation, each.name)
        if kind.startswith("Tensor") and (mutates_args == "unknown" or each.name in mutates_args):
            kind = kind.replace("Tensor", f"Tensor(a{place}!)", 1)
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not seen_keyword:
            seen_keyword = True
            parts.append("*")
        default = "" if each.default is inspect.Parameter.empty else f"={_text(each.default)}"
        parts.append(f"{kind} {each.name}{default}")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returns(signature.return_annotation)}"


def _text(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else str(default)


def _name_of(annotation: Any, parameter: str) -> str:
    """Return the name of a type in schemas."""
    if annotation in _NAMES:
        return _NAMES[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in parts:
        rest = [each for each in parts if each is not type(None)]
        if len(rest) == 1:
            return f"{_name_of(rest[0], parameter)}?"
    if origin in (list, collections.abc.Sequence) and len(parts) == 1:
        return f"{_name_of(parts[0], parameter)}[]"
    raise ValueError(f"infer_schema(func): Parameter {parameter} has unsupported type {annotation}")


def _returns(annotation: Any) -> str:
    if annotation is None or annotation is inspect.Signature.empty:
        return "()"
    if typing.get_origin(annotation) is tuple:
        return f"({', '.join(_name_of(each, 'return') for each in typing.get_args(annotation))})"
    return _name_of(annotation, "return")


def signature_of(schema: str) -> inspect.Signature:
    """Return the parameters of a schema without a name.

    >>> signature_of("(Tensor x, *, int k=2) -> Tensor")
    <Signature (x: 'Tensor', *, k: 'int' = 2)>
    """
    return parse(f"_{schema}")[1]


def parse(schema: str) -> tuple[str, inspect.Signature]:
    """Return the name and the parameters of a schema.

    :raises ValueError: the schema is invalid.
    """
    match = re.fullmatch(r"\s*([\w.]+)\s*\((.*)\)\s*->\s*(.*)", schema, re.DOTALL)
    if match is None:
        raise ValueError(f"a schema is written like 'name(Tensor x, int k=2) -> Tensor', got {schema!r}")
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for part in filter(None, (each.strip() for each in re.split(r",(?![^\[(]*[\])])", match[2]))):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declared = re.fullmatch(r"(\S+)\s+(\w+)(?:\s*=\s*(.+))?", part)
        if declared is None:
            raise ValueError(f"cannot read {part!r} in the schema {schema!r}")
        default = inspect.Parameter.empty if declared[3] is None else _value(declared[3])
        parameters.append(inspect.Parameter(declared[2], kind, default=default, annotation=declared[1]))
    return match[1].partition(".")[0], inspect.Signature(parameters)


def _value(text: str) -> Any:
    """Return a default value in a schema."""
    words = {"None": None, "True": True, "False": False, "true": True, "false": False}
    try:
        return words[text] if text in words else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def check_value(op: str, parameter: inspect.Parameter, value: Any) -> None:
    """Check that an argument has the type of its parameter.

    :raises RuntimeError: PyTorch's error.
    """
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else _name_of(annotation, parameter.name)
    plain = re.sub(r"\(.*?\)", "", name)
    if plain.endswith("?"):
        plain = plain[:-1]
        if value is None:
            return
    expected = _CLASSES.get(plain)
    accepted: tuple[type, ...] = (int, float) if expected is float else (expected,) if expected else (object,)
    if isinstance(value, accepted) and not (expected is Tensor and isinstance(value, (int, float))):
        return
    shown = "int" if plain == "SymInt" else plain
    raise RuntimeError(
        f"{op}() Expected a value of type '{shown}' for argument '{parameter.name}' but instead found type "
        f"'{type(value).__name__}'."
    )
