"""Find the declaration of an operation for a node of PyTorch's that has another name, or stands for several.

Nodes whose operations consist of several ones here are declared here: their symbols and formulas.
"""

from __future__ import annotations

from typing import Any

from nbautograd import protocol

__all__ = ["declaration"]

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


def _value(part: str, names: dict[str, Any]) -> Any:
    """Return the value of a part of a formula, in the words of our formulas of distances."""
    declared: Any = protocol.declaration("EuclideanDistBackward0")
    return declared().formula_value(part, names)


def _declaration(symbol: str, **formulas: str) -> type:
    members = {"symbol": symbol, "inputs": tuple(formulas), "formulas": formulas, "formula_value": staticmethod(_value)}
    return type("Declared", (), members)


_DECLARED = {
    "CdistBackward0": _declaration(
        "‖x−y‖", x1="sum_over(unsqueeze(g, -1) * direction, -2)", x2="-sum_over(unsqueeze(g, -1) * direction, -3)"
    ),
    "PdistBackward0": _declaration("‖x−y‖", input="sum_over(unsqueeze(pairs * g, -1) * direction, -2)"),
    "TrilinearBackward0": _declaration(
        "Σ x w y",
        i1="sum_over(spread(g, wide, sumdim, False) * i2 * i3, expand1)",
        i2="sum_over(spread(g, wide, sumdim, False) * i1 * i3, expand2)",
        i3="sum_over(spread(g, wide, sumdim, False) * i1 * i2, expand3)",
    ),
    "WeightNormInterfaceBackward0": _declaration(
        "v / ‖v‖", v="length / norm * (g - v * sum_over(g * v, dims, True) / norm**2)",
        length="sum_over(g * v, dims, True) / norm"),
}  # fmt: skip
"""The declaration of each."""


def declaration(node: Any, name: str) -> Any:
    """Return the declaration of the operation of a node of this name; None without one."""
    option, forms = _FORMS.get(name, ("", {}))
    form = forms.get(getattr(node, f"_saved_{option}", None)) if option else None
    own = f"{name}.{form}" if form else _OTHER_NAMES.get(name, name)
    known = protocol.declaration(own)
    return _DECLARED.get(own) if known is None else known()
