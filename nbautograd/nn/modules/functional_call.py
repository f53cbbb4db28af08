"""Modules as functions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nbautograd._engine.core.batched import transforming
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.joining import stack
from nbautograd.errors import kind_of
from nbautograd.nn.modules.module import Module

__all__ = ["functional_call", "functionalize", "stack_module_state"]

State = Mapping[str, Tensor]


def functional_call(
    module: Module, parameter_and_buffer_dicts: State | Sequence[State], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with the given parameters and buffers, then restore its own.

    :param parameter_and_buffer_dicts: a dict by name, as ``named_parameters()`` returns; or several such dicts.
    :param args: the argument of the call, or a tuple of them.
    :param tie_weights: replace a tensor that the module has under two names under both.
    :param strict: require every parameter and buffer, and no other names.
    :raises RuntimeError: see ``strict``.
    :raises ValueError: two dicts, or two names of one tensor, give different tensors.

    >>> layer = torch.nn.Linear(1, 1)
    >>> state = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
    >>> torch.func.functional_call(layer, state, torch.tensor([5.0]))
    tensor([11.])
    """
    parts: Any = parameter_and_buffer_dicts
    if not isinstance(parts, (Mapping, Sequence)):
        kind = type(parts)
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {kind}")
    state: dict[str, Tensor] = {}
    for part in [parts] if isinstance(parts, Mapping) else parts:
        if not isinstance(part, Mapping):
            raise ValueError(
                f"Expected all elements of parameter_and_buffer_dicts to be dictionaries, got {part!r:.80}"
            )
        twice = sorted({*state} & {*part})
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        state.update(part)
    positional = args if isinstance(args, tuple) else () if args is None else (args,)
    with _state(module, state, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def _state(module: Module, state: dict[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[None]:
    """Replace parameters and buffers of the module inside the ``with`` block."""
    places = {
        name: (owner, name.rpartition(".")[2])
        for prefix, submodule in module.named_modules(remove_duplicate=False)
        for owner in (submodule._parameters, submodule._buffers)
        for name in (f"{prefix}.{key}".lstrip(".") for key in owner)
    }
    own = {name: owner[key] for name, (owner, key) in places.items()}
    if tie_weights:
        state = _tied(own, state)
    _check_state(type(module).__name__, own, state, strict)
    try:
        for name, value in state.items():
            owner, key = places[name]
            owner[key] = value
        yield
    finally:
        for name in state:
            owner, key = places[name]
            owner[key] = own[name]


def _check_state(module: str, own: dict[str, Any], state: dict[str, Tensor], strict: bool) -> None:
    """Check that the state has tensors for names of the module; with ``strict``, for all."""
    unknown = sorted(name for name in state if name not in own)
    missing = sorted(name for name, t in own.items() if t is not None and name not in state)
    if strict and (unknown or missing):
        reasons = [f"Unexpected key(s): {', '.join(unknown)}."] * bool(unknown)
        reasons += [f"Missing key(s): {', '.join(missing)}."] * bool(missing)
        raise RuntimeError(f"Error(s) in reparametrizing for {module}:\n\t" + "\n\t".join(reasons))
    if unknown:
        raise AttributeError(f"{module} has no parameter or buffer {unknown[0]!r}")
    for name, value in state.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{value!r:.60} is not an instance of torch.Tensor: {name} is {kind_of(value)}")


def _tied(own: dict[str, Any], state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return ``state`` with each value under all names of its tensor, for tied weights."""
    names: dict[int, list[str]] = {}
    for name, t in own.items():
        if t is not None:
            names.setdefault(id(t), []).append(name)
    tied = dict(state)
    for same in names.values():
        values = {id(state[name]): state[name] for name in same if name in state}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(same)}, which are tied. Consider using "
                "tie_weights=False"
            )
        for value in values.values():
            tied |= dict.fromkeys(same, value)
    return tied


def stack_module_state(models: Sequence[Module] | Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Stack the parameters and the buffers of modules with the same architecture, for ``vmap`` over an ensemble.

    :returns: the parameters by name, leaves that require gradients as the modules' do; and the buffers.
    :raises RuntimeError: there are no modules, they are of several classes, or not all are in the same mode.

    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3) for _ in range(5)])
    >>> parameters["weight"].shape, buffers
    (torch.Size([5, 3, 2]), {})
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return _stacked([dict(m.named_parameters()) for m in models]), _stacked([dict(m.named_buffers()) for m in models])


def _stacked(states: list[dict[str, Any]]) -> dict[str, Tensor]:
    """Stack the tensors of each name."""
    result = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        flags = [t.requires_grad for t in tensors]
        if len({*flags}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad, but got {flags}")
        result[name] = stack([t.detach() for t in tensors]).requires_grad_(flags[0])
    return result


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return the function unchanged. PyTorch's version replaces in-place operations by functional ones.

    That helps program tracers, which nbautograd does not have, and does not change the result.

    :param remove: ``"mutations"`` or ``"mutations_and_views"``.
    :raises RuntimeError: the value is invalid.

    >>> torch.func.functionalize(torch.exp)(torch.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
            "remove='mutations' or remove='mutations_and_views'."
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with transforming():
            return func(*args, **kwargs)

    return wrapped
