"""The report of a NaN or an infinity: which operation made it, of which inputs, on which way, and the usual cures.

It reads NumPy arrays, and nodes as ``nbautograd.protocol`` describes them, so that PyTorch's graphs are told of, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.base.users_code import user_frame
from nbautograd.protocol import SourceLocator

Place = tuple[str, int]
MAX_NAMED_OPS = 6  # of a way
TEXTS = {
    "bad_made": "{name}() returned {result}{at}{count}",
    "bad_vjp": "Function '{name}' returned {result}{at}{count}",
    "bad_at": " at {index}",
    "bad_count": " ({n:,} of {size:,} elements)",
    "bad_line": "{label}, line {n}: {text}",
    "bad_inputs": "inputs: {inputs}",
    "bad_outside": "{name} already held it: no operation that was watched made it",
    "bad_way": "the way there: {way}",
    "bad_cure": "cure: {cure}",
    "cure_log": (
        "keep the argument above 0: log(x + eps) or x.clamp(min=eps).log(); of probabilities log_softmax; "
        "where(x > 0, x, 1.).log() before the logarithm, not where(x > 0, x.log(), 0.) after it"
    ),
    "cure_divide": "keep the divisor away from 0: a / (b + eps), or where(b == 0, 1., b) before the division",
    "cure_root": (
        "keep the argument above 0: (x + eps).sqrt() or x.clamp(min=eps).sqrt(); at 0 the derivative is infinite"
    ),
    "cure_exp": "subtract the largest number first: exp(x - x.max()); or use logsumexp, softmax, clamp(max=...)",
    "cure_domain": "keep the argument inside of the domain: x.clamp(-1 + eps, 1 - eps)",
    "cure_masked": "leave at least one element of each row unmasked, or mask by a large negative number",
    "cure_zero_times": (
        "the gradient there is 0, and 0 times infinity is NaN: replace the bad inputs before the operation, "
        "where(x > 0, x, 1.), not its results after it; or add eps"
    ),
    "cure_large": "the numbers left the range of {dtype}: a smaller learning rate, clip_grad_norm_, or normalize first",
    "cure_empty": "there are no elements: check the shape first",
    "cure_outside": "look at the data: torch.isfinite({name}).all()",
    "cure_other": "look at the inputs: clamp them, or use a formula that is stable there",
}
"""The lines of a report, and the cure for each kind of operation."""

_CURES = {
    "log": "log log2 log10 log1p logit xlogy nll_loss_forward nll_loss binary_cross_entropy kl_div digamma lgamma",
    "divide": "div true_divide reciprocal divide floor_divide remainder fmod cosine_similarity normalize",
    "root": "sqrt rsqrt pow norm linalg_vector_norm std var hypot cdist dist",
    "exp": "exp exp2 expm1 cosh sinh logcumsumexp softplus",
    "domain": "acos asin acosh atanh arccos arcsin arccosh arctanh erfinv",
    "masked": "softmax log_softmax scaled_dot_product_attention",
}
_CURE_OF = {name: cure for cure, names in _CURES.items() for name in names.split()}


class BadNumber(NamedTuple):
    """A NaN or an infinity, and where it comes from."""

    operation: str
    """For a forward pass ``log``; for a backward pass the node, ``SqrtBackward0``."""
    result: str
    """Such as ``-inf``."""
    element: tuple[int, ...]
    many: int
    """The number of such elements."""
    size: int
    inputs: tuple[tuple[str, str], ...]
    """Names, and values at that element."""
    place: Place | None = None
    """File and line of the operation's call."""
    way: tuple[tuple[str, Place | None], ...] = ()
    """From a leaf to the operation: names, and lines."""
    cure: str = "other"
    dtype: str = ""
    outside: str = ""
    """The argument that had it already."""
    backward: bool = False

    def told(self, texts: Mapping[str, str] = TEXTS, *, head: bool = True) -> tuple[str, ...]:
        """Return the report, a line for each thing, by texts such as ``TEXTS``."""
        at = texts["bad_at"].format(index=f"[{', '.join(map(str, self.element))}]") if self.element else ""
        count = texts["bad_count"].format(n=self.many, size=self.size) if self.size > 1 else ""
        made = texts["bad_vjp" if self.backward else "bad_made"]
        lines = [made.format(name=self.operation, result=self.result, at=at, count=count)] if head else []
        if self.place is not None and (line := _line(self.place, texts)):
            lines.append(line)
        if self.inputs:
            lines.append(texts["bad_inputs"].format(inputs=", ".join(f"{name} = {v}" for name, v in self.inputs)))
        if self.outside:
            lines.append(texts["bad_outside"].format(name=self.outside))
        if self.way:
            lines.append(texts["bad_way"].format(way=self._way(texts)))
        cure = texts[f"cure_{self.cure}"].format(dtype=self.dtype, name=self.outside)
        return (*lines, texts["bad_cure"].format(cure=cure))

    def _way(self, texts: Mapping[str, str]) -> str:
        steps = list(self.way)
        if len(steps) > MAX_NAMED_OPS:
            steps = [*steps[:2], ("…", None), *steps[3 - MAX_NAMED_OPS :]]
        shown = [name if place is None else f"{name} ({_line(place, texts)})" for name, place in steps]
        return " → ".join([*shown, self.operation])


def _line(place: Place, texts: Mapping[str, str]) -> str:
    label, text = SourceLocator.locate(*place)
    return texts["bad_line"].format(label=label, n=place[1], text=text).rstrip(": ：") if label else ""


def first_bad(array: Any, infinite: bool) -> tuple[tuple[int, ...], int] | None:
    """Return the index of the first NaN, or also infinity, of an array, and how many there are; None for none.

    >>> first_bad(np.array([1.0, np.inf, np.nan]), False), first_bad(np.array([1.0, np.inf, np.nan]), True)
    (((2,), 1), ((1,), 2))
    """
    if array.dtype.kind not in "fc":
        return None
    found = ~np.isfinite(array) if infinite else array != array
    if not found.any():
        return None
    where = np.asarray(found.get() if hasattr(found, "get") else found)
    return tuple(int(i) for i in np.unravel_index(int(where.argmax()), where.shape)), int(where.sum())


def number(value: Any) -> str:
    """Return a number as text.

    >>> number(np.float32(0.1)), number(-np.inf), number(3)
    ('0.1', '-inf', '3')
    """
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.6g}" if isinstance(value, (int, float, complex)) else str(value)


def is_written(values: Iterable[Any], result: str) -> bool:
    """Return whether a program wrote a NaN, or an infinity, as a number among the arguments.

    >>> is_written([1, float("-inf")], "-inf"), is_written([float("-inf")], "nan")
    (True, False)
    """
    floats = [value for value in values if isinstance(value, float)]
    return any(value != value if result == "nan" else abs(value) == float("inf") for value in floats)


def values_at(
    index: tuple[int, ...], shape: tuple[int, ...], inputs: Iterable[tuple[str, Any]]
) -> list[tuple[str, str]]:
    """Return the inputs with their values at an element of the result; of other shapes, their range.

    >>> values_at((1, 0), (2, 1), [("a", np.array([[1.0], [2.0]])), ("b", np.array([3.0])), ("c", np.arange(4.0))])
    [('a', '2'), ('b', '3'), ('c', '0 … 3 of shape (4,)')]
    """
    told = []
    for name, value in inputs:
        if not hasattr(value, "shape"):
            told.append((name, number(value)))
            continue
        array = np.asarray(value.get() if hasattr(value, "get") else value)
        try:
            told.append((name, number(np.broadcast_to(array, shape)[index])))
        except ValueError:
            finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array.reshape(-1)
            bad = f", {array.size - finite.size:,} not finite" if finite.size < array.size else ""
            if array.dtype.kind == "c" or not finite.size:
                told.append((name, f"shape {array.shape}{bad}"))
            else:
                told.append((name, f"{number(finite.min())} … {number(finite.max())} of shape {array.shape}{bad}"))
    return told


def cure_of(operation: str, result: str, arrays: Iterable[Any], gradient: str = "") -> str:
    """Return the kind of cure for an operation that returned a bad number.

    :param gradient: the value of the incoming gradient there, in a backward pass.

    >>> cure_of("log", "-inf", []), cure_of("SqrtBackward0", "nan", [], "0"), cure_of("mul", "inf", [])
    ('log', 'zero_times', 'large')
    """
    if gradient in ("0", "-0") and result == "nan":
        return "zero_times"
    if any(getattr(array, "size", 1) == 0 for array in arrays):
        return "empty"
    return _CURE_OF.get(plain(operation), "large" if "inf" in result else "other")


def plain(name: str) -> str:
    """Return the name of an operation as code calls it, from that of its node.

    >>> plain("LogSoftmaxBackward0"), plain("add_")
    ('log_softmax', 'add')
    """
    name = re.sub(r"Backward\d*$", "", name.rpartition("::")[2])
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower().strip("_")


def way_to(nodes: Iterable[Any], place_of: Callable[[Any], Place | None]) -> tuple[tuple[str, Place | None], ...]:
    """Return the way from a leaf to the first of these nodes or leaves: names, and lines given by ``place_of``."""
    steps: list[tuple[str, Place | None]] = []
    seen = set()
    node = next((each for each in nodes if each is not None), None)
    while node is not None and node not in seen:
        seen.add(node)
        leaf = node if hasattr(node, "requires_grad") and hasattr(node, "shape") else getattr(node, "variable", None)
        if leaf is not None:
            steps.append((name_of(leaf), None))
            break
        steps.append((plain(node.name()), place_of(node)))
        node = next((to for to, _ in node.next_functions if to is not None), None)
    return tuple(reversed(steps))


def name_of(tensor: Any) -> str:
    """Return the variable of the user's that holds a tensor; nothing without one."""
    frame = user_frame()
    known = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    return next((name for name, each in known.items() if each is tensor and not name.startswith("_")), "")


def of_result(
    operation: str, array: Any, found: tuple[tuple[int, ...], int], shown: list[tuple[str, Any]],
    tensors: list[Any], outside: str, place_of: Callable[[Any], Place | None],
) -> BadNumber:  # fmt: skip
    """Return the number that a forward pass has made.

    :param found: the position of the first such element, and their number.
    :param shown: the names and values of the arguments.
    :param tensors: those among them that may have led to it.
    :param outside: the argument that had it already, or nothing.
    :param place_of: gives a node's line.
    """
    index, count = found
    frame, text = user_frame(), number(array[index])
    place = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    cure = "outside" if outside else cure_of(operation, text, [a for _, a in shown if hasattr(a, "size")])
    nodes = [tensor if tensor.requires_grad and tensor.grad_fn is None else tensor.grad_fn for tensor in tensors]
    way = way_to(nodes[::-1] if cure == "divide" else nodes, place_of)
    told = tuple(values_at(index, array.shape, shown))
    return BadNumber(operation, text, index, count, array.size, told, place, way, cure, str(array.dtype), outside)


def of_gradient(
    name: str, node: Any, array: Any, found: tuple[tuple[int, ...], int], shown: list[tuple[str, Any]],
    place_of: Callable[[Any], Place | None],
) -> BadNumber:  # fmt: skip
    """Return the number that a node has made in a backward pass; parameters as for :func:`of_result`."""
    (index, count), dtype = found, str(array.dtype)
    text, told = number(array[index]), tuple(values_at(index, array.shape, shown))
    way, cure = way_to([node], place_of)[:-1], cure_of(name, text, [], told[0][1] if told else "")
    return BadNumber(name, text, index, count, array.size, told, place_of(node), way, cure, dtype, backward=True)
