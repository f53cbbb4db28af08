"""Find the declaration of an operation for a node of PyTorch's that has another name, or stands for several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["declaration", "declared_as"]

_OTHER_NAMES = {
    "MulBackward1": "MulBackward0", "DivBackward1": "DivBackward0", "AddBackward1": "AddBackward0",
    "SubBackward1": "SubBackward0", "LerpBackward1": "LerpBackward0", "TransposeBackward1": "TransposeBackward0",
    "NormBackward1": "LinalgVectorNormBackward0", "SqueezeBackward4": "SqueezeBackward0",
    "ReshapeAliasBackward0": "ViewBackward0",
    "SafeSoftmaxBackward0": "SoftmaxBackward0", "CtcLossBackward1": "CtcLossBackward0",
    "ConstantPadNdBackward0": "ConstantPadNdBackward0.constant_pad", "IndexAddBackward0": "IndexAddBackward0.index_add",
    "RenormBackward0": "", "EuclideanDistBackward0": "CdistBackward0",
}  # fmt: skip
"""Nodes of PyTorch's that have no declaration of their own, and those of which another operation shares the name."""
_FORMS: dict[str, tuple[str, dict[Any, str]]] = {
    "ConvolutionBackward0": ("transposed", {True: "conv_input"}),
    "NativeBatchNormBackward0": ("training", {False: "_batch_norm_eval"}),
    "EmbeddingBagBackward0": ("mode", {2: "_bag_max"}),
    "RreluWithNoiseBackward0": ("training", {False: "_rrelu_mean"}),
    "GeluBackward0": ("approximate", {"tanh": "_gelu_tanh"}),
    "ScatterReduceBackward0": ("reduce", {kind: f"scatter_{kind}" for kind in ("mean", "prod", "amax", "amin")}),
    "IndexReduceBackward0": ("reduce", {kind: f"index_{kind}" for kind in ("mean", "amax", "amin")}),
}
"""Nodes of PyTorch's that stand for several operations: by which option, and the operation's name."""


def declared_as(node: Any, name: str) -> str:
    """Return the name under which the operation of a node is declared, or nothing."""
    option, forms = _FORMS.get(name, ("", {}))
    form = forms.get(getattr(node, f"_saved_{option}", None)) if option else None
    return f"{name}.{form}" if form else _OTHER_NAMES.get(name, name)


_SEVERAL = ("CdistBackward0", "PdistBackward0", "TrilinearBackward0", "WeightNormInterfaceBackward0")
"""Nodes of PyTorch's whose operations consist of several ones here."""


def declaration(name: str) -> Callable[[], type] | None:
    """Return the declaration of a node of which no operation here has the name; None for others."""
    if name not in _SEVERAL:
        return None
    from nbautograd.viz.read import pytorch_operations

    return pytorch_operations.DECLARED[name]
