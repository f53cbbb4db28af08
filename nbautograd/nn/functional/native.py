"""PyTorch's functions beneath ``nn.functional``, in the namespace ``torch``: dropout, whose flag is ``train``."""

from __future__ import annotations

from collections.abc import Callable

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors
from nbautograd.nn.functional.dropout import _alpha_dropped, _dropped
from nbautograd.nn.functional.embedding import _shrink

NAMES = "alpha_dropout_ dropout dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_"
__all__ = sorted(["embedding_renorm_", *NAMES.split()])


def _dropout(name: str) -> Callable[[Tensor, float, bool], Tensor]:
    drop, whole_channels = _alpha_dropped if "alpha" in name else _dropped, name.startswith("feature")

    def function(input: Tensor, p: float, train: bool) -> Tensor:
        check_tensors(name, input=input)
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
        return drop(input, p, train, name.endswith("_"), whole_channels)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``torch.nn.functional.{name.rstrip('_')}``, of which ``train`` is called ``training``."
    return function


for _name in NAMES.split():
    globals()[_name] = _dropout(_name)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Shorten rows of ``input`` at ``indices`` longer than ``max_norm`` to that length, in place.

    >>> import nbautograd as torch
    >>> torch.embedding_renorm_(torch.tensor([[3., 4.], [3., 4.]]), torch.tensor([1]), 1.0, 2.0)
    tensor([[3.0000, 4.0000],
            [0.6000, 0.8000]])
    """
    check_tensors("embedding_renorm_", input=input, indices=indices)
    _shrink(input, indices, max_norm, norm_type)
    return input
