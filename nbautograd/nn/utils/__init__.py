"""Helpers for gradients, parameters and sequences."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbautograd import _absent
from nbautograd.nn.utils import rnn
from nbautograd.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from nbautograd.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]


def __getattr__(name: str) -> Any:
    if name in ("parametrizations", "parametrize"):  # which need modules, which need these helpers
        return import_module(f"nbautograd.nn.utils.{name}")
    return _absent.fail("nn.utils", name)
