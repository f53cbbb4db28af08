"""``torch.jit.trace`` and ``torch.jit.trace_module``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbautograd._compat.traced.script import ScriptFunction, ScriptMethod, TracedModule, parameters_of
from nbautograd._compat.traced.trace import traced_graph
from nbautograd.errors import kind_of
from nbautograd.nn.modules.module import Module


def trace(
    func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
    check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
    _compilation_unit: Any = None, example_kwarg_inputs: dict[str, Any] | None = None, _store_inputs: bool = True,
) -> Any:  # fmt: skip
    """Record a function or module on examples, and return it as one compiled function.

    Value-dependent choices are frozen: branches of ``if``, numbers of iterations, and results of ``item()`` (with a
    ``TracerWarning``). Shapes and dtypes are fixed by the examples. Tensors from outside, such as the parameters of a
    module, are read in each call. The operations are the same as in eager mode, so results and gradients are equal bit
    for bit; a call is one node of the tape. Higher derivatives are computed by calling the recorded operations one by
    one.

    :param func: a function, or a module, whose ``forward`` is traced.
    :param example_inputs: a tensor or a (nested) tuple of tensors.
    :param optimize: accepted and ignored.
    :param check_trace: compare the compiled function with the original on copies of the examples.
    :param check_inputs: further examples to compare on.
    :param check_tolerance: the tolerance of this comparison.
    :param strict: raise for results that are dicts, and warn for lists.
    :param example_kwarg_inputs: examples by the names of the parameters, instead of ``example_inputs``.
    :returns: a ``ScriptFunction``; for a module, a module with its parameters and buffers.
    :raises RuntimeError: the function cannot be recorded, or returns values other than tensors.
    :raises TracingCheckError: the function behaved differently in a second run.

    >>> import nbautograd as torch
    >>> def cube(x):
    ...     return x * x * x
    >>> traced = torch.jit.trace(cube, torch.ones(3))
    >>> x = torch.tensor([1., 2., 3.], requires_grad=True)
    >>> y = traced(x)
    >>> y
    tensor([ 1.,  8., 27.], grad_fn=<cubeBackward>)
    >>> y.sum().backward()
    >>> x.grad
    tensor([ 3., 12., 27.])
    >>> print(traced.code)
    def cube(x: Tensor) -> Tensor:
      _0 = torch.mul(x, x)
      _1 = torch.mul(_0, x)
      return _1
    <BLANKLINE>
    """
    if isinstance(func, (ScriptFunction, TracedModule)):
        return func
    examples = example_inputs if example_kwarg_inputs is None else example_kwarg_inputs
    options: dict[str, Any] = {
        "check_trace": check_trace,
        "check_tolerance": check_tolerance,
        "strict": strict,
        "keywords": example_kwarg_inputs is not None,
    }
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module):
        if func.__name__ != "forward":
            raise AttributeError(
                "trace doesn't support compiling individual module's functions.\nPlease use trace_module"
            )
        func = owner
    if isinstance(func, Module):
        checks = None if check_inputs is None else [{"forward": each} for each in check_inputs]
        return _traced_module(func, {"forward": examples}, checks, options)
    if not callable(func):
        raise RuntimeError(f"trace(): argument 'func' must be a function or a module, not {kind_of(func)}")
    name = getattr(func, "__name__", type(func).__name__)
    graph = traced_graph(func, name, examples, check_inputs=check_inputs, **options)
    return ScriptFunction(graph, parameters_of(func, _positional(func, examples, options)), func)


def trace_module(
    mod: Module, inputs: dict[str, Any], optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
    check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
    _compilation_unit: Any = None, example_inputs_is_kwarg: bool = False, _store_inputs: bool = True,
) -> TracedModule:  # fmt: skip
    """Record several methods of a module, each on its examples; otherwise like ``trace``.

    :param mod: the module.
    :param inputs: the examples by the names of the methods.
    :param optimize: accepted and ignored.
    :param check_trace, check_tolerance, strict: as in ``trace``.
    :param check_inputs: a list of such dicts.
    :param example_inputs_is_kwarg: whether the examples are dicts by the names of the parameters.
    :returns: a module with the parameters and buffers of ``mod``, and the recorded methods.
    :raises AttributeError: ``mod`` is not a module, or ``inputs`` is not a dict.
    :raises RuntimeError: a method cannot be recorded, or returns values other than tensors.

    >>> import nbautograd as torch
    >>> module = torch.jit.trace_module(torch.nn.ReLU(), {"forward": torch.ones(2)})
    >>> module(torch.tensor([-1., 1.]))
    tensor([0., 1.])
    """
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    options = {
        "check_trace": check_trace,
        "check_tolerance": check_tolerance,
        "strict": strict,
        "keywords": example_inputs_is_kwarg,
    }
    return _traced_module(mod, inputs, check_inputs, options)


def _traced_module(mod: Module, inputs: dict[str, Any], checks: Any, options: dict[str, Any]) -> TracedModule:
    names = {id(t): name for name, t in (*mod.named_parameters(), *mod.named_buffers())}
    methods: dict[str, ScriptMethod] = {}
    for method, examples in inputs.items():
        function: Callable[..., Any] = getattr(mod, method)
        called = mod if method == "forward" else function
        others = None if checks is None else [each[method] for each in checks if method in each]
        if options["keywords"]:
            examples, options = inspect.signature(function).bind(**examples).args, {**options, "keywords": False}
        name = type(mod).__name__ if method == "forward" else method
        graph = traced_graph(called, name, examples, check_inputs=others, parameters_of=function, **options)
        for tensor, value in graph.graph.captured:
            value.name = names.get(id(tensor), "")
        methods[method] = ScriptMethod(graph, parameters_of(function, _positional(function, examples, {})))
    return TracedModule(mod, methods)


def _positional(function: Any, examples: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    if options.get("keywords"):
        return inspect.signature(function).bind(**examples).args
    return examples if isinstance(examples, tuple) else (examples,) if hasattr(examples, "_a") else tuple(examples)
