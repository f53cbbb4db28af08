"""Programs as texts, one statement per line: their results under a library, and the differences.

A statement that raises leaves its name unbound, and statements that need it are skipped under both libraries.
"""

from __future__ import annotations

import builtins
import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.oracle.answers import Raised, plain, raised
from tests.oracle.comparison import difference

__all__ = ["Disagreement", "compared", "facts_of", "outcomes", "ran", "values_of"]


class Disagreement(NamedTuple):
    """The first statement of a program whose outcome differs: its group, and more words."""

    group: str
    line: str
    detail: str


def numbers(T: Any) -> Callable[..., Any]:
    """Return the function ``V`` of programs: a tensor of numbers that a seed draws."""

    def made(seed: int, shape: tuple[int, ...], dtype: str, low: float = -2, high: float = 2) -> Any:
        drawn = np.random.RandomState(seed).randint(0, 1 << 10, shape) / (1 << 10) * (high - low) + low
        return T.tensor(drawn.tolist(), dtype=T.float64).reshape(shape).to(getattr(T, dtype))

    return made


def is_tensor(value: Any) -> bool:
    return hasattr(type(value), "grad_fn") and hasattr(type(value), "stride")


def facts_of(value: Any) -> Any:
    """Return everything about a value but its numbers, as lists of texts."""
    if is_tensor(value):
        return [known(fact, value) for fact in FACTS.values()]
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [type(value).__name__, *map(facts_of, value)]
    return type(value).__name__


def known(fact: Callable[[Any], str], value: Any) -> str:
    """Return a fact; a view that was written to in ``no_grad`` raises for some."""
    try:
        return fact(value)
    except RuntimeError:
        return "RuntimeError"


def strides_of(t: Any) -> str:
    """Return the strides of a tensor; those of dimensions of one element, and of no elements, say nothing."""
    if str(t.layout).rpartition(".")[2] != "strided":
        return str(t.layout).rpartition(".")[2]
    return str([s if n > 1 else "-" for n, s in zip(t.shape, t.stride(), strict=True)]) if t.numel() else "-"


def node_of(t: Any) -> str:
    """Return the name of a tensor's node, without the number of an overload."""
    return "None" if t.grad_fn is None else t.grad_fn.name().rpartition(":")[2].rstrip("0123456789")


FACTS: dict[str, Callable[[Any], str]] = {
    "class": lambda t: type(t).__name__,
    "dtype": lambda t: str(t.dtype).rpartition(".")[2],
    "shape": lambda t: str(tuple(t.shape)),
    "strides": strides_of,
    "requires_grad": lambda t: str(t.requires_grad),
    "is_leaf": lambda t: str(t.is_leaf),
    "node": node_of,
    "output_nr": lambda t: str(t.output_nr),
}
"""The facts of a tensor, in the order in which they are compared."""


def statements(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a program with the name that it binds, or "_"."""
    for line in text.splitlines():
        bound = re.match(r"(\w+) = ", line)
        yield line, bound[1] if bound else "_"


def outcomes(T: Any, text: str) -> tuple[list[Any], dict[str, Any]]:
    """Run a program: what is known of each statement's result, and the values that names have at the end."""
    scope: dict[str, Any] = {"T": T, "V": numbers(T), "inf": math.inf, "nan": math.nan}
    found: list[Any] = []
    versions: dict[str, tuple[Any, int]] = {}
    T.manual_seed(0)
    T.set_warn_always(True)
    try:
        for line, name in statements(text):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                before = copies(line, scope)
                try:
                    exec(compile(line, "<program>", "exec"), scope)
                except Exception as error:
                    is_skipped = isinstance(error, NameError) and "is not defined" in str(error)
                    found.append("skipped" if is_skipped else Raised(raised(error).kind, []))
                    scope.pop(name, None)
                    forget(scope, [t for t, copy in before if not is_like(t, copy)])
                    versions = {n: (t, version_of(t)) for n, (t, _) in versions.items()}
                    continue
            result = scope.get(name)
            if is_tensor(result) and versions.get(name, (None,))[0] is not result:
                versions[name] = result, version_of(result)
            written = {n: version_of(t) - before for n, (t, before) in versions.items() if version_of(t) != before}
            found.append([facts_of(result), sorted({w.category.__name__ for w in caught}), list(written.items())])
    finally:
        T.set_warn_always(False)
        T.set_default_dtype(T.float32)
        T.set_grad_enabled(True)
    return found, {n: v for n, v in scope.items() if re.fullmatch(r"[arsgo]\d?\w?", n)}


def copies(line: str, scope: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return the tensors that a statement names, each with a copy."""
    found = (scope.get(name) for name in re.findall(r"\b[aro]\d\w?\b", line))
    return [(t, t.detach().clone()) for t in found if is_tensor(t)]


def is_like(t: Any, copy: Any) -> bool:
    """Return whether a tensor is like its copy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return t.shape == copy.shape and bool(((t == copy) | (t != t) & (copy != copy)).all())


def forget(scope: dict[str, Any], written: list[Any]) -> None:
    """Unbind the tensors that a failed statement has written to, and their views: PyTorch may have written a part."""
    for t in written:
        for name, value in [*scope.items()]:
            if is_tensor(value) and (value is t or value._base is t or t._base is value):
                del scope[name]


def version_of(t: Any) -> int:
    """Return a tensor's version; 0 of an inference tensor, which has none."""
    return 0 if t.is_inference() else int(t._version)


def values_of(names: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a program that can be compared as numbers or texts."""
    kept = {}
    for name, value in names.items():
        try:
            plain(value)
        except Exception:
            continue
        kept[name] = value
    return kept


def ran(T: Any, text: str) -> tuple[Any, Any]:
    """Run a program once, as plain data: its outcomes, and its values."""
    found, names = outcomes(T, text)
    return plain(found), plain(values_of(names))


TRANSFORM = re.compile(r"(?:T|F\d)\.(vmap|func\.\w+|autograd\.functional\.\w+|apply|utils[\w.]+)")


def called(line: str, text: str) -> str:
    """Return the name by which a statement's disagreements are grouped."""
    body = line.partition(" = ")[2] or line
    if re.fullmatch(r"[ar]\d\w?", body):  # another name of a tensor written to before
        before = text.partition(f"{line}\n")[0].splitlines()
        return next((called(each, text) for each in reversed(before) if each.startswith(f"{body}[")), body)
    bound = {name: expression.partition(" = ")[2] for expression, name in reversed(list(statements(text)))}
    if (made := re.match(r"(m\d)\(|(T\.autograd\.grad|sum)\(.*\bs\b|sum\(.* in \((r\d)", body)) is not None:
        if made[1]:
            return bound[made[1]].partition("(")[0].removeprefix("T.")
        last = made[3] or re.findall(r" in \((r\d)", bound.get("s", ""))[0]
        return "grad of " + called(next(each for each, name in statements(text) if name == last), text)
    if (made := re.match(r"\((?:T\.\w+\(\))?\(?lambda x: (.*?)\)+\((?:a\d\w)\)", body)) is not None:
        return made[1][:40]
    if (
        made := re.search(r"(?:T|F\d)\.(vmap|func\.\w+|autograd\.functional\.\w+|apply|utils[\w.]+)", body)
    ) is not None:
        inner = re.search(r"\bf\d\b", body)
        return f"{made[1]} of {bound[inner[0]][10:50] if inner else 'Function'}"
    if (made := re.match(r"[ar]\d\w?\.(\w+)\(.*\bout=", body)) is not None:
        return f"x.{made[1]}(out="
    if "[" in line.partition(" = ")[0] or re.fullmatch(r"[ar]\d\w?\[.*\]", body):
        return "index " + re.sub(r"^.*?\[(.*)\].*$", r"\1", line)
    body = re.sub(r"(?<![\w.])V\([^)]*\)[^)]*\)|T\.tensor\([^()]*(\([^()]*\))?[^()]*\)", "t", body)
    if (made := re.search(r"(?:T)\.([\w.]+)\(|\.(\w+)\(", body)) is not None:
        target = re.search(r"\((.*)\bout=(o\d)\)", line)
        is_operand = target and re.search(rf"\b{re.escape(bound.get(target[2], ' '))}\b", target[1])
        return (made[1] or made[2]) + " into its operand" * bool(is_operand)
    return re.sub(r"[\w\[\](), ]+", "", body) or body


def _aspect(ours: Any, theirs: Any) -> str | None:
    """Return how facts differ."""
    if ours == theirs:
        return None
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        simple = len(ours) == len(FACTS) and all(isinstance(part, str) for part in [*ours, *theirs])
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if a != b and simple:
                aspect = list(FACTS)[number]
                return aspect if aspect in ("shape", "strides") else f"{aspect} {a}, PyTorch's {b}"
            if a != b:
                return _aspect(a, b) or "facts"
    return f"result {str(ours)[:40]}, PyTorch's {str(theirs)[:40]}"


def is_kind(ours: str, theirs: str) -> bool:
    """Return whether our exception is caught where PyTorch's is: "no error" is no kind."""
    kinds = [getattr(builtins, name, None) for name in (ours, theirs)]
    return ours == theirs or all(kinds) and issubclass(kinds[0], kinds[1])  # type: ignore[arg-type]


def compared(text: str, ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> Disagreement | None:
    """Return the first disagreement of a program's outcomes, then of its values."""
    lines = list(statements(text))
    for (line, _), mine, other in zip(lines, ours[0], theirs[0], strict=True):
        if "skipped" in (mine, other):
            continue
        if isinstance(mine, Raised) or isinstance(other, Raised):
            a = mine.kind if isinstance(mine, Raised) else "no error"
            b = other.kind if isinstance(other, Raised) else "no error"
            if b == "NotImplementedError" and not isinstance(mine, Raised) and "complex64" in str(mine[0]):
                a = "complex64"
            if not is_kind(a, b):
                return Disagreement(f"{called(line, text)} | {a}, PyTorch's {b}", line, "")
            continue
        aspect = _aspect(mine[0], other[0])
        if aspect is None and mine[1] != other[1]:
            aspect = f"warnings {mine[1]}, PyTorch's {other[1]}"
        if aspect is None and mine[2] != other[2]:
            aspect = f"writes {[w.parts for w in mine[2]]}, PyTorch's {[w.parts for w in other[2]]}"
        if aspect is not None:
            return Disagreement(f"{called(line, text)} | {aspect}", line, f"{mine[0]} {other[0]}")
    values = [dict(side[1].parts) for side in (ours, theirs)]
    for _, name in lines:
        if name in values[0] and name in values[1]:
            off = difference(values[0][name], values[1][name])
            if off is not None:
                pairs = [each.split(" = ") for each, _ in lines if re.fullmatch(r"\w+ = [ar]\d\w?", each)]
                aliases = "|".join([name, *(a if b == name else b for a, b in pairs if name in (a, b))])
                last = [
                    each
                    for each, bound in lines
                    if bound == name or re.search(rf"out=({aliases})\b|^({aliases})\[|\b({aliases})\.\w+_\(", each)
                ][-1]
                aspect = "flags" if "requires_grad" in off else "values"
                return Disagreement(f"{called(last, text)} | {aspect}", last, off[:300])
    return None
