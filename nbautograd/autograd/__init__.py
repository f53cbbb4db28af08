"""Automatic differentiation: ``backward``, ``grad``, ``Function``, hooks, modes, forward mode and ``gradcheck``."""

from typing import TYPE_CHECKING

from nbautograd._engine.core import grad_mode, node
from nbautograd._engine.core.grad_mode import (
    enable_grad,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from nbautograd._names import lazy
from nbautograd.autograd.backward import backward, grad
from nbautograd.autograd.gradcheck import gradcheck, gradgradcheck

if TYPE_CHECKING:
    from nbautograd.autograd import anomaly_mode, forward_ad, function, functional, graph, profiler
    from nbautograd.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
    from nbautograd.autograd.function import Function
    from nbautograd.autograd.inference import inference_mode
    from nbautograd.autograd.saved_tensors import SavedTensor
    from nbautograd.autograd.variable import Variable

__all__ = [
    "Function", "SavedTensor", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "forward_ad",
    "function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_multithreading_enabled", "no_grad", "profiler", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip

lazy.put_off(node.Node, "autograd.saved_tensors", "_raw_saved saved_as_tensors")

LATE = {
    **{name: name for name in ("anomaly_mode", "forward_ad", "function", "functional", "graph")},
    **{name: name for name in ("profiler", "profiler_util", "variable")},
    **dict.fromkeys(("detect_anomaly", "set_detect_anomaly"), "anomaly_mode"),
    "Function": "function", "SavedTensor": "saved_tensors", "Variable": "variable", "inference_mode": "inference",
}  # fmt: skip
__getattr__, __dir__ = lazy.attributes(__name__, LATE)
