"""The results of ``torch.jit.trace``: ``ScriptFunction`` for functions, ``TracedModule`` for modules; their text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbautograd._compat.traced.function import TracedGraph
from nbautograd._compat.traced.graph import FunctionGraph, TraceStep, Value
from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.graph import Array
from nbautograd.nn.modules.module import Module


class _Callable:
    """A traced graph that is called like the function: arguments by position or by name."""

    _is_method = False

    def __init__(self, graph: TracedGraph, parameters: list[str]) -> None:
        self._traced, self._parameters = graph, parameters
        self._flat = graph.signature.is_flat

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != len(self._parameters):
            args = self._bound(args, kwargs)
        traced = self._traced
        return traced.entry(args if self._flat else traced.signature.flat(args))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"{self.name} is traced: what was compiled cannot be pickled. Save the state_dict(), and trace again"
        )

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position; raise RuntimeError if some are missing, unknown or too many."""
        name, names = self.name, self._parameters
        declaration = f"{name}({', '.join(f'Tensor {each}' for each in names)}) -> Tensor"
        if len(args) > len(names):
            raise RuntimeError(
                f"{name}() expected at most {len(names)} argument(s) but received {len(args)} argument(s). "
                f"Declaration: {declaration}"
            )
        values = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in values:
                raise RuntimeError(f"Unknown keyword argument '{key}' for operator '{name}'. Schema: {declaration}")
            values[key] = value
        for each in names:
            if each not in values:
                raise RuntimeError(f"{name}() is missing value for argument '{each}'. Declaration: {declaration}")
        return tuple(values[each] for each in names)

    @property
    def name(self) -> str:
        """The function's name."""
        return self._traced.name

    @property
    def code(self) -> str:
        """The recorded operations as Python, a line for each."""
        return listing_as_code(self._traced.graph, self.name, self._traced.signature.names, self._is_method)

    @property
    def graph(self) -> str:
        """The recorded operations with the shapes of all values."""
        return listing(self._traced.graph, self._traced.signature.names)

    inlined_graph = graph

    def graph_for(self, *args: Any, **kwargs: Any) -> str:
        """Return the graph, which is the same for all arguments."""
        return self.graph

    @property
    def forward_code(self) -> str:
        """The compiled function over arrays of the last kind of call; empty before the first call."""
        return self._source("forward")

    @property
    def backward_code(self) -> str:
        """The backward pass over arrays; empty before a call whose result requires grad."""
        return self._source("backward")

    def _source(self, kind: str) -> str:
        sources = [c.sources[kind] for c in self._traced.compilations.values() if kind in c.sources]
        return sources[-1] + "\n" if sources else ""

    @property
    def schema(self) -> str:
        """The arguments."""
        return f"{self.name}({', '.join(f'Tensor {each}' for each in self._parameters)}) -> Tensor"


class ScriptFunction(_Callable):
    """A traced function, created by ``torch.jit.trace``; it computes the function's result for new arguments.

    :param graph: the recorded graph.
    :param parameters: the names of the parameters.
    :param function: the traced function.
    :raises RuntimeError: a shape or dtype differs from the examples', in a call.

    >>> import nbautograd as torch
    >>> double = torch.jit.trace(lambda x: 2 * x, torch.ones(2))
    >>> isinstance(double, torch.jit.ScriptFunction), double(torch.tensor([1., 3.]))
    (True, tensor([2., 6.]))
    """

    def __init__(self, graph: TracedGraph, parameters: list[str], function: Callable[..., Any]) -> None:
        super().__init__(graph, parameters)
        self.__name__, self.__doc__ = graph.name, function.__doc__
        self.__wrapped__ = function

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptFunction:
        return self  # as for functions

    @property
    def qualified_name(self) -> str:
        """The function's qualified name in PyTorch's form."""
        module = getattr(self.__wrapped__, "__module__", None) or "__main__"
        return f"__torch__.{self.name}" if module == "__main__" else f"__torch__.{module}.{self.name}"


class ScriptMethod(_Callable):
    """A traced method of a module."""

    _is_method = True

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptMethod:
        memo[id(self)] = method = ScriptMethod(self._traced.copied(memo), self._parameters)
        return method


class _Part(Module):
    """A submodule of a traced module: the original's parameters, buffers and modules, without code."""

    def __init__(self, original: Module) -> None:
        super().__init__()
        self.__dict__["original_name"] = type(original).__name__
        self._parameters.update(original._parameters)
        self._buffers.update(original._buffers)
        self._non_persistent_buffers_set = set(original._non_persistent_buffers_set)
        for name, child in original._modules.items():
            self._modules[name] = None if child is None else _Part(child)
        self.__dict__["training"] = original.training

    def _get_name(self) -> str:
        return str(self.original_name)

    def extra_repr(self) -> str:
        """Return the class of the original."""
        return f"original_name={self.original_name}"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: only the whole module was traced.

        :raises RuntimeError: always.
        """
        raise RuntimeError(
            f"{self.original_name} is part of a traced module, which was recorded as a whole: call that, or the "
            "original module"
        )


def _of_method(name: str, doc: str) -> property:
    def get(module: TracedModule) -> str:
        return getattr(module._method(), name)  # type: ignore[no-any-return]

    return property(get, doc=doc)


class TracedModule(_Part):
    """A traced module: the parameters and buffers of the original, and its traced methods.

    ``train()`` and ``eval()`` change its flags, but not the recorded operations.
    """

    def __init__(self, original: Module, methods: dict[str, ScriptMethod]) -> None:
        super().__init__(original)
        self.__dict__["_methods"] = methods
        self.__dict__.update(methods)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return the traced module's result."""
        method = self._methods.get("forward")
        if method is None:
            raise NotImplementedError(f"{self.original_name}.forward was not traced")
        return method(*args, **kwargs)

    code = _of_method("code", "The recorded operations as Python.")
    graph = inlined_graph = _of_method("graph", "The recorded operations with the shapes of all values.")
    forward_code = _of_method("forward_code", "The function over arrays, compiled by a call.")
    backward_code = _of_method("backward_code", "The backward pass over arrays.")

    def _method(self) -> ScriptMethod:
        return self._methods.get("forward") or next(iter(self._methods.values()))  # type: ignore[no-any-return]


def parameters_of(function: Any, arguments: tuple[Any, ...]) -> list[str]:
    """Return the names of the arguments, one for each example."""
    try:
        known = [p.name for p in inspect.signature(function).parameters.values() if p.kind in (0, 1)]
    except (TypeError, ValueError):
        known = []
    return [known[i] if i < len(known) else f"argument_{i + 1}" for i in range(len(arguments))]


# -- a recorded graph as text, like PyTorch's ``.graph`` and ``.code`` -------------------------------------------------


def listing(graph: FunctionGraph, names: list[str], values: bool = False) -> str:
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
    return f"{dtypes.scalar_type(value.dtype)}({', '.join(map(str, value.shape))})"


def listing_as_code(graph: FunctionGraph, name: str, names: list[str], is_module: bool) -> str:
    """Return the graph as Python, as PyTorch's ``.code``."""
    called = _called(graph, names)
    called |= {value: f"CONSTANTS.c{i}" for i, value in enumerate(graph.constants())}
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


def _called(graph: FunctionGraph, names: list[str]) -> dict[Value, str]:
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
