"""``%diff a b``: two graphs compared: operations that only one has, other shapes, other values, other gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from nbautograd.viz.capture.flow import Flow, flow_of
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook.answers import Answer, picture_of, place_text
from nbautograd.viz.notebook.in_place import at_once, callers_names, name_in
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import attribute, line_of, node_name, result_shape, settle, trace_of
from nbautograd.viz.read.values import Digest, is_tensor
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["Difference", "diff"]

MAX_COMPARED_OPS = 3000  # one by one between the first and the last difference
MAX_SHOWN_LINES = 6  # of each kind


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of one of the graphs."""

    node: Any
    name: str
    module: str
    shape: tuple[int, ...] | None
    value: Any
    where: str


class Difference(Answer):
    """The result of :func:`diff`: a notebook shows it with the second graph, a terminal as text.

    :param label: the counts in one line.
    :param lines: each difference.
    :param picture: the second graph, in which the first difference is red; or None.
    :param table: rows below the lines; or None.
    :returns: the comparison.
    :raises TypeError: an argument is missing.

    >>> print(Difference("a and b are alike", []))
    a and b are alike
    """

    def __bool__(self) -> bool:
        return bool(self.lines)


@at_once
def diff(a: Any, b: Any, *, tolerance: float = 1e-5, namespace: Mapping[str, Any] | None = None) -> Difference:
    """Compare the graphs of two results: of before and after a change, of two runs, of nbautograd and PyTorch.

    Operations are matched in their order by name and module. Told are those that only one graph has, other shapes, the
    first operations with another value, and the first that receive another gradient in a backward pass.

    :param a, b: results, of nbautograd or of PyTorch.
    :param tolerance: relative to the largest element.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :returns: the comparison; it is true if there is a difference.
    :raises TypeError: one of them is no tensor.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor([3.0], requires_grad=True)
    >>> with viz.traced():
    ...     a, b = (w * 2).exp(), (w * 2).relu().exp()
    >>> print(viz.diff(a, b, namespace={"a": a, "b": b, "w": w}).label)
    a and b: 2 operations match, 0 only in a, 1 only in b
    """
    for tensor in (a, b):
        if not is_tensor(tensor):
            raise TypeError(f"diff needs two tensors, but was given {type(tensor).__name__}")
    names = namespace if namespace is not None else callers_names()
    settle(names)
    first, second = _name(a, names, "a"), _name(b, names, "b")
    walks = GraphWalk(a), GraphWalk(b)
    pairs, only = _matched(*map(_steps, walks))
    changed = [(o, p) for o, p in pairs if o.shape == p.shape and _differ(o.value, p.value, tolerance)]
    lines = _unlike(((first, only[0]), (second, only[1])), pairs)
    for one, other in changed[:1]:
        value = {"one": values.inline(one.value), "other": values.inline(other.value)}
        lines.append(say("diff_value", n=len(changed), what=_told(other), **value))
    lines += _gradients(a, b, walks, pairs, tolerance)
    blame = next((step.node for step in (*only[1], *(other for _, other in changed))), None)
    label = say("diff_label", a=first, b=second, n=len(pairs), one=len(only[0]), other=len(only[1]))
    return Difference(label if lines else say("diff_none", a=first, b=second, n=len(pairs)), lines,
                      picture_of(b, names, blame, lines[0] if lines else ""))  # fmt: skip


def _name(tensor: Any, names: Mapping[str, Any], other: str) -> str:
    return one_line(name_in(names, tensor) or other, 40)


def _unlike(only: Sequence[tuple[str, Sequence[Step]]], pairs: Sequence[tuple[Step, Step]]) -> list[str]:
    """Tell the first operations that only one graph has, by its name, and those whose results have another shape."""
    alone = [say("diff_only", name=name, what=_told(step)) for name, own in only for step in own[:MAX_SHOWN_LINES]]
    unlike = [(one, two) for one, two in pairs if one.shape != two.shape][:MAX_SHOWN_LINES]
    shapes = [say("diff_shape", what=_told(two), one=str(one.shape), other=str(two.shape)) for one, two in unlike]
    return alone + shapes


def _steps(walk: GraphWalk) -> list[Step]:
    """Return the operations of a graph in the order in which they ran."""
    steps = []
    for node, scope in zip(walk.order, walk.scopes(), strict=True):
        modules, value = ".".join(str(block[0]) for block in scope), attribute(trace_of(node), "value")
        steps.append(Step(node, node_name(node), modules, result_shape(node, 0), value, place_text(line_of(node))))
    return steps


def _common(one: Sequence[Any], other: Sequence[Any]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _matched(one: list[Step], other: list[Step]) -> tuple[list[tuple[Step, Step]], tuple[list[Step], list[Step]]]:
    """Return the pairs that match, and the operations that only one graph has."""
    keys = [[(step.name, step.module) for step in steps] for steps in (one, other)]
    begin = _common(*keys)
    end = _common(*(own[begin:][::-1] for own in keys))
    inner = one[begin : len(one) - end], other[begin : len(other) - end]
    pairs = list(zip(one[:begin], other[:begin], strict=True))
    only: tuple[list[Step], list[Step]] = [], []
    if max(map(len, inner)) <= MAX_COMPARED_OPS:
        parts = [[(step.name, step.module) for step in steps] for steps in inner]
        for tag, i, j, k, m in SequenceMatcher(None, parts[0], parts[1], autojunk=False).get_opcodes():
            if tag == "equal":
                pairs += zip(inner[0][i:j], inner[1][k:m], strict=True)
            else:
                only[0].extend(inner[0][i:j])
                only[1].extend(inner[1][k:m])
    else:
        only = inner
    return [*pairs, *zip(one[len(one) - end :], other[len(other) - end :], strict=True)], only


def _differ(one: Any, other: Any, tolerance: float) -> bool:
    """Return whether two noted values differ; values that were not noted do not."""
    if one is None or other is None or isinstance(one, Digest) or isinstance(other, Digest):
        return False
    first, second = np.asarray(values.host(one)), np.asarray(values.host(other))
    if first.shape != second.shape:
        return True
    scale = max(float(np.abs(first).max(initial=0)), float(np.abs(second).max(initial=0)))
    return not np.allclose(first, second, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def _gradients(
    a: Any, b: Any, walks: tuple[GraphWalk, GraphWalk], pairs: list[tuple[Step, Step]], tolerance: float
) -> list[str]:
    """The first operation, in the order of a backward pass, that receives another gradient."""
    flows: list[Flow] = []
    for root, walk in zip((a, b), walks, strict=True):
        leaves = [*walk.variables.values()]
        if root.grad_fn is None or not leaves:
            return []
        flows.append(flow_of(root, leaves, walk))
    for one, other in reversed(pairs):
        sizes = flows[0].received.get(one.node), flows[1].received.get(other.node)
        if None not in sizes and _differ(np.asarray(sizes[0]), np.asarray(sizes[1]), max(tolerance, 1e-5)):
            return [say("diff_gradient", what=_told(other), one=values.inline(sizes[0]), other=values.inline(sizes[1]))]
    return []


def _told(step: Step) -> str:
    return f"{step.name} ({step.where})" if step.where else step.name
