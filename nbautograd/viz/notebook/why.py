"""``%why w``: a gradient explained by its paths, their factors, and the lines that cut it off or make it vanish."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from nbautograd._engine.base.bad_numbers import plain
from nbautograd.viz.capture.flow import Flow, Route, Routes, flow_of, size_of
from nbautograd.viz.language import headings, say
from nbautograd.viz.notebook.answers import Answer, picture_of, place_text
from nbautograd.viz.notebook.in_place import at_once, callers_names, name_in
from nbautograd.viz.notebook.paths import described, name_of, no_path, stopped, told_of
from nbautograd.viz.notebook.tables import Table
from nbautograd.viz.read import introspect, values
from nbautograd.viz.read.introspect import attribute, line_of, node_name, operands_of, remarks, settle, trace_of
from nbautograd.viz.read.values import SUMMARY, is_tensor, number_text
from nbautograd.viz.read.walk import GraphWalk, is_module

__all__ = ["Explanation", "why"]

MAX_SHOWN_PATHS = 4
TINY_GRADIENT, HUGE_GRADIENT = 1e-6, 1e4
MAX_ROWS = 12  # of a module
SATURATED = {"sigmoid": (0.02, 0.98), "tanh": (-0.98, 0.98), "softmax": (0.001, 0.999)}
REASONS = {  # for a small factor, of operations for which no value matters
    "why_relu": ("relu", "threshold"),
    "why_flat": ("sign", "round", "floor", "ceil", "trunc"),
    "why_clamp": ("clamp", "clamp_min", "clamp_max", "hardtanh"),
    "why_selected": ("select", "slice", "index", "gather", "max", "min", "amax", "maximum", "where", "masked_fill"),
}


class Explanation(Answer):
    """The answer of :func:`why`: a notebook shows it with the graph, a terminal as text.

    :param label: the answer in one line.
    :param lines: the reasons, the strongest one first.
    :param picture: the graph, with the operation that is to blame in red; or None.
    :param table: of a module, its parameters; or None.
    :returns: the answer.
    :raises TypeError: an argument is missing.

    >>> print(Explanation("w.grad is None", ["no pass has run"]))
    w.grad is None
      no pass has run
    """


@at_once
def why(tensor: Any, of: Any = None, *, namespace: Mapping[str, Any] | None = None) -> Explanation:
    """Explain the gradient of a tensor: None, zero, tiny, huge, NaN, or the sum over its paths.

    Each path is listed with its factors and lines, and the factor by which the gradient vanishes or explodes. If no
    gradient arrives, the line that cuts it off is named: ``detach()``, ``no_grad()``, integers, a branch that did not
    run. For a module, parameters are ranked by their share, with dead ReLUs and saturated units. No ``.grad`` changes:
    a separate pass computes the numbers; if the graph is freed, they come from the values noted with it.

    :param tensor: a tensor of nbautograd or of PyTorch, or a module.
    :param of: the result that is differentiated; by default the newest one among the variables that depends on it.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :returns: the answer.
    :raises TypeError: it is neither a tensor nor a module.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> with viz.traced():
    ...     y = w * w
    >>> y.backward()
    >>> print(viz.why(w, y, namespace={"w": w, "y": y}).label)
    w.grad = 6: the sum over 2 paths from y
    """
    names = namespace if namespace is not None else callers_names()
    settle(names)
    if is_module(tensor):
        return _explain_module(tensor, of, names)
    if not is_tensor(tensor):
        raise TypeError(f"why needs a tensor or a module, but was given {type(tensor).__name__}")
    if of is not None and not is_tensor(of):
        raise TypeError(f"why: of must be a tensor, but is {type(of).__name__}")
    name = name_of(tensor, names)
    if not tensor.requires_grad:
        return Explanation(say("why_none", name=name), no_path(tensor, of, names))
    root = of if of is not None else _root(tensor, names)
    routes = Routes(GraphWalk(root), tensor) if attribute(root, "grad_fn") else None
    if routes is None or not routes.count:
        picture = picture_of(root, names) if routes is not None else None
        return Explanation(_label(tensor, name, _grad(tensor)), no_path(tensor, root, names), picture)
    return _explain_paths(tensor, name, root, name_of(root, names, "out"), routes, names)


# -- one tensor ----------------------------------------------------------------------------------------------------


def _explain_paths(
    tensor: Any, name: str, root: Any, title: str, routes: Routes, names: Mapping[str, Any]
) -> Explanation:
    walk = routes.walk
    flow = flow_of(root, [tensor], walk)
    (gradient,) = flow.gradients
    grad = _grad(tensor)
    label, lines = _label(tensor, name, grad), list[str]()
    if grad is None:
        waits = gradient is not None or flow.told
        lines = _why_none(tensor, name, root, title, walk, gradient) if waits else _returned_none(flow, routes, name)
    elif gradient is not None:
        lines = _passes(grad, gradient, name, title)
        if not lines and _kind(grad) == "number":
            label = say("why_number", name=name, value=values.in_words(grad), n=routes.count, root=title)
    paths = routes.largest(MAX_SHOWN_PATHS, flow.factor)
    blame, told = _cause(grad if grad is not None else gradient, flow, routes, paths)
    lines += [*told, *(path.text for _, path in described(paths, root, tensor, name, walk, flow))]
    if routes.count > len(paths):
        lines.append(say("why_more_paths", n=routes.count - len(paths)))
    lines += told_of(flow, title)
    lines += remarks(walk.ops)
    return Explanation(label, lines, picture_of(root, names, blame, told[0] if told else ""))


def _cause(gradient: Any, flow: Flow, routes: Routes, paths: Sequence[Route]) -> tuple[Any, list[str]]:
    kind = "" if gradient is None else _kind(gradient)
    if kind == "nan":
        return _first_bad(flow, routes)
    return _strongest(paths, flow, kind) if kind in ("zero", "tiny", "huge") and paths else (None, [])


def _grad(tensor: Any) -> Any:
    return attribute(tensor, "grad") if tensor.grad_fn is None or attribute(tensor, "retains_grad") else None


def _label(tensor: Any, name: str, grad: Any) -> str:
    if grad is None:
        return say("why_none", name=name)
    kind = _kind(grad)
    return say(f"why_is_{kind}", name=name, value=values.in_words(grad))


def _kind(gradient: Any) -> str:
    if not values.is_finite(gradient):
        return "nan"
    size = abs(size_of(gradient))
    return "zero" if not size else "tiny" if size < TINY_GRADIENT else "huge" if size > HUGE_GRADIENT else "number"


def _why_none(tensor: Any, name: str, root: Any, title: str, walk: GraphWalk, gradient: Any) -> list[str]:
    """Return the reason for a ``.grad`` of None to which a gradient comes."""
    if tensor.grad_fn is not None:
        line = _place(tensor.grad_fn)
        return [say("why_no_leaf", name=name, operation=plain(node_name(tensor.grad_fn)), line=line)]
    ran = any(introspect.saved_of(node)[1] for node in walk.order)
    value = "…" if gradient is None else values.in_words(gradient)
    return [say("why_reset" if ran else "why_no_pass", name=name, root=title, value=value)]


def _returned_none(flow: Flow, routes: Routes, name: str) -> list[str]:
    """Name the functions on the path that receive a gradient and send none: their backward() returns None there."""
    found = [node for node in routes.counts if node in flow.received
             for edge in routes.edges(node) if (node, edge) not in flow.sent]  # fmt: skip
    return [say("why_returned_none", operation=_called(node), line=_place(node), name=name)
            for node in found[:MAX_SHOWN_PATHS]]  # fmt: skip


def _passes(grad: Any, gradient: Any, name: str, title: str) -> list[str]:
    """Compare ``.grad`` with the gradient of one pass."""
    one, all_ = size_of(gradient), size_of(grad)
    if not one or not math.isfinite(one) or not math.isfinite(all_) or math.isclose(one, all_, rel_tol=1e-3):
        return []
    times = all_ / one
    if times > 1.5 and math.isclose(times, round(times), rel_tol=1e-3):
        return [say("why_accumulated", name=name, n=round(times), value=values.in_words(gradient))]
    return [say("why_other_sum", name=name, value=values.in_words(gradient), root=title)]


def _strongest(paths: Sequence[Route], flow: Flow, kind: str) -> tuple[Any, list[str]]:
    """The operation, and the line, by which the gradient of the largest path shrinks or grows most."""
    factors = [(abs(f), node) for node, edge in paths[0] if (f := flow.factor(node, edge)) is not None]
    if not factors:
        return None, []
    zero = next((node for factor, node in factors if not factor), None)
    if zero is not None:
        return zero, [say("why_zero_at", operation=_called(zero), line=_place(zero)) + _reason(zero)]
    pick = max if kind == "huge" else min
    factor, node = pick(factors, key=lambda item: item[0])
    told = say("why_factor", factor=number_text(factor, SUMMARY), operation=_called(node), line=_place(node))
    lines = [told + _reason(node)]
    by_line: dict[Any, list[float]] = {}
    for one, each in factors:
        by_line.setdefault(line_of(each), []).append(math.log10(one))
    where, logs = pick(by_line.items(), key=lambda item: sum(item[1]))
    if where is not None and len(logs) > 3:
        product_ = f"10^{sum(logs):.0f}" if abs(sum(logs)) >= 4 else number_text(10 ** sum(logs), SUMMARY)
        lines.append(say("why_line", n=len(logs), factor=product_, line=place_text(where)))
    return node, lines


def _reason(node: Any) -> str:
    """Return the reason for a small factor, if the values of the operation show it."""
    name, known = _called(node), operands_of(node)
    if name in SATURATED:
        result = known.get("result")
        return _reason_of_ends(name, attribute(trace_of(node), "value") if result is None else result)
    if name in ("mul", "mm", "mv", "addmm", "bmm", "dot"):
        small = [values.in_words(v) for k, v in known.items() if k != "result" and hasattr(v, "shape")]
        return say("why_times", value=" · ".join(small[:2])) if small else ""
    return next((say(reason) for reason, operations in REASONS.items() if name in operations), "")


def _reason_of_ends(name: str, result: Any) -> str:
    if not hasattr(result, "shape"):
        return ""
    if _share_at_ends(name, values.host(result)) > 0.5:
        return say("why_saturated", value=values.in_words(result))
    return say("why_quarter") if name == "sigmoid" else ""


def _share_at_ends(name: str, array: Any) -> float:
    low, high = SATURATED[name]
    return float(((array < low) | (array > high)).mean())


def _first_bad(flow: Flow, routes: Routes) -> tuple[Any, list[str]]:
    """The first operation of the pass that sends a NaN or an infinity, though it received none."""
    for node in reversed(routes.walk.order):
        if node in routes.counts and math.isfinite(flow.received.get(node, 0.0)):
            for edge in routes.edges(node):
                if not math.isfinite(flow.sent.get((node, edge), 0.0)):
                    return node, [say("why_bad_at", operation=_called(node), line=_place(node))]
    return None, [say("why_bad")]


# -- a module ------------------------------------------------------------------------------------------------------


def _explain_module(module: Any, of: Any, names: Mapping[str, Any]) -> Explanation:
    own = name_in(names, module) or type(module).__name__
    parameters = dict(module.named_parameters())
    root = of if of is not None else _first_root(parameters.values(), names)
    walk = GraphWalk(root) if root is not None and root.grad_fn is not None else None
    grads = _gradients(parameters, root, walk)
    sizes = {key: abs(size_of(g)) if g is not None else None for key, g in grads.items()}
    squares = _sum_of_squares(sizes)
    lines = _falls(parameters, sizes, own)
    if walk is None:
        lines.append(say("why_nothing", name=own))
    else:
        lines += _units(walk) + _modules_without([key for key, g in grads.items() if g is None], own, walk)
    label = say("why_module", name=own, n=len(parameters), norm=number_text(math.sqrt(squares), SUMMARY))
    states = {key: _state(parameters[key], g, walk) for key, g in grads.items()}
    return Explanation(label, lines, None, _table(own, sizes, squares, states))


def _table(own: str, sizes: dict[str, float | None], squares: float, states: dict[str, str]) -> Table:
    """Return a row of each parameter by the size of its gradient: the largest and, of many, the smallest."""
    ranked = sorted(sizes.items(), key=lambda item: -(item[1] if item[1] is not None else -1.0))
    rows, note = ranked, ""
    if len(ranked) > MAX_ROWS:
        rows, note = [*ranked[: MAX_ROWS - 4], *ranked[-4:]], say("memory_more", n=len(ranked) - MAX_ROWS)
    cells = tuple((f"{own}.{key}", *_norm_and_share(size, squares), states[key]) for key, size in rows)
    head = headings("col_leaf", "col_norm", "memory_share", "note")
    return Table("", tuple(head), cells, note).without_empty_columns()


def _gradients(parameters: Mapping[str, Any], root: Any, walk: GraphWalk | None) -> dict[str, Any]:
    """Return the ``.grad`` of each parameter; where it is None, the gradient that a pass would bring."""
    grads = {key: attribute(p, "grad") for key, p in parameters.items()}
    if walk is not None:
        wanted = {key: p for key, p in parameters.items() if p.requires_grad}
        for key, gradient in zip(wanted, flow_of(root, list(wanted.values()), walk).gradients, strict=True):
            grads[key] = grads[key] if grads[key] is not None else gradient
    return grads


def _first_root(parameters: Iterable[Any], names: Mapping[str, Any]) -> Any:
    roots = (_root(p, names) for p in parameters if p.requires_grad)
    return next((root for root in roots if root is not None), None)


def _sum_of_squares(sizes: Mapping[str, float | None]) -> float:
    return sum(s * s for s in sizes.values() if s is not None and math.isfinite(s)) or 1.0


def _norm_and_share(size: float | None, squares: float) -> tuple[str, str]:
    """Return the size of a gradient, and its share in the sum of squares."""
    if size is None:
        return "None", "–"
    return number_text(size, SUMMARY), f"{size * size / squares:.1%}" if math.isfinite(size) else "–"


def _modules_without(keys: list[str], own: str, walk: GraphWalk) -> list[str]:
    """Return why no gradient comes to the modules of these parameters."""
    lines = []
    for module_name, key in list({key.rpartition(".")[0]: key for key in keys}.items())[:MAX_SHOWN_PATHS]:
        told = stopped(f"{own}.{key}", walk)
        lines += [f"{own}.{module_name}: {line}" for line in told if line != say("why_unused", name=f"{own}.{key}")]
    return lines


def _state(parameter: Any, grad: Any, walk: GraphWalk | None) -> str:
    if not parameter.requires_grad:
        return say("why_frozen")
    if grad is None:
        reached = walk is not None and any(variable is parameter for variable in walk.variables.values())
        return say("why_waits" if reached else "why_not_called")
    kind = _kind(grad)
    return "" if kind == "number" else say(f"why_state_{kind}")


def _falls(parameters: Mapping[str, Any], sizes: Mapping[str, float | None], own: str) -> list[str]:
    """The place between two layers at which the gradient falls, or grows, most on its way to the input."""
    known = [(key, s) for key, s in sizes.items() if s and math.isfinite(s) and parameters[key].ndim > 1]
    steps = [(math.log10(s / t), a, b) for (a, s), (b, t) in pairwise(known)]
    lines = []
    for key, pick in (("why_falls", min), ("why_grows", max)):
        if steps:
            ratio, first, second = pick(steps)
            if (ratio < -1) if pick is min else (ratio > 1):
                times = number_text(10 ** abs(ratio), SUMMARY)
                lines.append(say(key, after=f"{own}.{second}", before=f"{own}.{first}", ratio=times))
    return lines


def _units(walk: GraphWalk) -> list[str]:
    """Return ReLUs without positive inputs, and saturated sigmoids and similar functions."""
    lines = []
    for node in walk.order:
        name = plain(node_name(node))
        if name not in SATURATED and name != "relu":
            continue
        result = operands_of(node).get("result")
        try:
            array = values.host(result)
        except Exception:
            continue
        if array.dtype.kind != "f" or not array.size:
            continue
        flat = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array.reshape(1, -1)
        if name == "relu":
            dead = int((flat <= 0).all(0).sum())
            if dead > flat.shape[1] / 2:
                lines.append(say("why_dead", n=dead, of=flat.shape[1], line=_place(node)))
        else:
            share = _share_at_ends(name, array)
            if share > 0.5:
                lines.append(say("why_ends", name=name, share=f"{share:.0%}", line=_place(node)))
    return lines[:MAX_SHOWN_PATHS]


# -- names and places ----------------------------------------------------------------------------------------------


def _root(tensor: Any, names: Mapping[str, Any]) -> Any:
    """The newest result among the variables that depends on a tensor; one with a single element goes first."""
    found: list[tuple[bool, int, Any]] = []
    for value in list(names.values()):
        node = attribute(value, "grad_fn") if is_tensor(value) else None
        if node is not None and value is not tensor:
            number = attribute(node, "_sequence_nr", lambda: 0)()
            found.append((math.prod(values.shape(value)) == 1, number, value))
    for _, _, value in sorted(found, key=lambda one: one[:2], reverse=True)[:20]:
        if Routes(GraphWalk(value), tensor).count:
            return value
    return None


def _called(node: Any) -> str:
    return plain(node_name(node))


def _place(node: Any) -> str:
    told = place_text(line_of(node))
    return f" ({told})" if told else ""
