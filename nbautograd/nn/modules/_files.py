"""The file format of modules: they have the attributes of PyTorch's modules."""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain
from typing import Any

from nbautograd._engine.core.file_forms import FileForm, register
from nbautograd.nn.functional import gelu, relu
from nbautograd.nn.modules._calls import KINDS, _Registry
from nbautograd.nn.modules.conv import _ConvNd, _ConvTransposeNd
from nbautograd.nn.modules.module import Module
from nbautograd.nn.modules.rnn import RNNBase
from nbautograd.nn.modules.transformer import TransformerEncoder, TransformerEncoderLayer

__all__ = ["from_pytorch", "to_pytorch"]

OPTIONS = {
    "_forward_pre_hooks": {"with_kwargs": "_forward_pre_hooks_with_kwargs"},
    "_forward_hooks": {"with_kwargs": "_forward_hooks_with_kwargs", "always_call": "_forward_hooks_always_called"},
}
"""The options of hooks, and the attributes in which PyTorch keeps them."""
FLAG = "_is_full_backward_hook"
DERIVED: dict[type[Module], tuple[str, ...]] = {
    Module: (FLAG,),
    _ConvNd: ("transposed",),
    RNNBase: ("_all_weights", "all_weights", "_flat_weights", "_flat_weights_names"),
    TransformerEncoder: ("use_nested_tensor",),
    TransformerEncoderLayer: ("activation_relu_or_gelu",),
}
"""Redundant attributes of PyTorch's modules, by class: others determine them."""


def to_pytorch(module: Module, state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that PyTorch's module would have."""
    if "_parameters" not in state:  # the result of the module's own method
        return state
    result = {name: OrderedDict(value) if isinstance(value, _Registry) else value for name, value in state.items()}
    for kind, options in OPTIONS.items():
        for option, name in options.items():
            result[name] = OrderedDict((number, True) for number in getattr(state[kind], option))
    hooks = state["_backward_hooks"]
    result[FLAG] = not hooks.at_last_node if hooks else None
    if isinstance(module, _ConvNd):
        result["transposed"] = isinstance(module, _ConvTransposeNd)
    if isinstance(module, RNNBase):
        names = module._names_of_weights()
        flat = list(chain.from_iterable(names))
        weights = list(map(state["_parameters"].get, flat))
        result.update(_all_weights=names, _flat_weights_names=flat, _flat_weights=weights)
    if isinstance(module, TransformerEncoder):
        result["use_nested_tensor"] = False
    if isinstance(module, TransformerEncoderLayer):
        result["activation_relu_or_gelu"] = _code(state.get("activation", state["_modules"].get("activation")))
    return result


def _code(activation: Any) -> int:
    if activation is relu or activation is gelu:
        return 1 if activation is relu else 2
    return {"ReLU": 1, "GELU": 2}.get(type(activation).__name__, 0)


def from_pytorch(module: Module, state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of our module, computed from those in a file; raise a ValueError if it has no module."""
    blank = object.__new__(Module)
    Module.__init__(blank)
    result = {**vars(blank), **state}
    for cls, names in DERIVED.items():
        if isinstance(module, cls):
            for name in names:
                result.pop(name, None)
    for kind in KINDS:
        hooks = result[kind]
        if not isinstance(hooks, dict):
            raise ValueError(f"the {kind} of a module are a {type(hooks).__name__}")
        registry = result[kind] = _Registry()
        options = {option: result.pop(name, ()) for option, name in OPTIONS.get(kind, {}).items()}
        for number, hook in hooks.items():
            registry.add(hook, **{option: number in numbers for option, numbers in options.items()})
    return result


register(Module, FileForm(to_pytorch, from_pytorch))
