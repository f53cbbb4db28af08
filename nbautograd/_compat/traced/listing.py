"""A recorded graph as text, like PyTorch's ``.graph`` and ``.code``."""

from __future__ import annotations

from typing import Any

from nbautograd._compat.traced.graph import Array, Graph, TraceStep, Value
from nbautograd._engine.arrays import dtypes

__all__ = ["code", "listing"]


def listing(graph: Graph, names: list[str], values: bool = False) -> str:
    """Return the graph as text, a line for each step, as PyTorch's ``.graph``.

    :param values: show constants by their values.
    """
    called = _called(graph, names)
    inputs = ", ".join(f"%{called[v]} : {_kind(v)}" for v in [*graph.inputs, *(v for _, v in graph.captured)])
    lines = [f"graph({inputs}):"]
    for value in graph.constants():
        lines.append(f"  %{called[value]} : {_kind(value)} = prim::Constant[value={_content(value, values)}]()")
    for step in graph.steps:
        results = ", ".join(f"%{called[v]} : {_kind(v)}" for v in step.results)
        lines.append(f"  {results}{' = ' if results else ''}{_text(step, called, '%', 'aten::')}")
    for begin, end in graph.effects:
        lines.append(f"  aten::copy_(%{called[begin]}, %{called[end]})")
    outputs = ", ".join(f"%{called[o.value]}{'' if not o.steps else '[view]'}" for o in graph.outputs)
    return "\n".join([*lines, f"  return ({outputs})", ""])


def _content(constant: Value, values: bool) -> str:
    is_shown = constant.name != "empty" and (values or constant.array.size < 9)
    return str(constant.array.tolist()) if is_shown else "..."


def _kind(value: Value) -> str:
    """Return dtype and shape."""
    return f"{dtypes.scalar_type(value.dtype)}({', '.join(map(str, value.shape))})"


def code(graph: Graph, name: str, names: list[str], is_module: bool) -> str:
    """Return the graph as Python, as PyTorch's ``.code``."""
    called = _called(graph, names)
    numbers = {value: f"CONSTANTS.c{i}" for i, value in enumerate(graph.constants())}
    called |= numbers
    parameters = [f"{called[v]}: Tensor" for v in graph.inputs]
    if is_module:
        parameters.insert(0, "self")
    head = f"def {name}({(',' + chr(10) + '    ').join(parameters)}) -> "
    head += "Tensor:" if len(graph.outputs) == 1 else f"Tuple[{', '.join(['Tensor'] * len(graph.outputs))}]:"
    lines = [head]
    for step in graph.steps:
        targets = ", ".join(called[v] for v in step.results)
        lines.append(f"  {targets}{' = ' if targets else ''}{_text(step, called, '', 'torch.')}")
    for begin, end in graph.effects:
        lines.append(f"  torch.copy_({called[begin]}, {called[end]})")
    outputs = ", ".join(called[o.value] for o in graph.outputs)
    return "\n".join([*lines, f"  return {outputs if len(graph.outputs) == 1 else f'({outputs})'}", ""])


def _called(graph: Graph, names: list[str]) -> dict[Value, str]:
    """Return the name of each value."""
    called = {
        value: name.replace("[", "_").replace("]", "").replace(".", "_")
        for value, name in zip(graph.inputs, names, strict=True)
    }
    for _, value in graph.captured:
        called[value] = value.name.replace(".", "_") or f"captured_{value.position}"
    for number, value in enumerate(v for step in graph.steps for v in step.results):
        called[value] = f"_{number}"
    for number, value in enumerate(graph.constants()):
        called[value] = f"c{number}"
    return called


def _text(step: TraceStep, called: dict[Value, str], mark: str, space: str) -> str:
    """Return a step as a call."""

    def shown(argument: Any) -> str:
        if isinstance(argument, Value):
            return f"{mark}{called[argument]}"
        if isinstance(argument, Array):
            return shown(argument.value)
        if isinstance(argument, (list, tuple)):
            brackets = "[]" if isinstance(argument, list) else "()"
            return f"{brackets[0]}{', '.join(map(shown, argument))}{brackets[1]}"
        text = repr(argument)
        return text if " at 0x" not in text else f"<{type(argument).__name__}>"

    name, arguments = step.listed(shown)
    return f"{space}{name}({', '.join(arguments)})"
