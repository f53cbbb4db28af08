"""Formulas of layers and losses, with x for the input, y for the target and σ for the sigmoid, and their sources.

The formulas of losses are those of one element or sample, before the reduction.
"""

from __future__ import annotations

__all__ = ["FORMULAS"]

BOOK = "Goodfellow, Bengio and Courville, *Deep Learning*, 2016"
NORM = "``weight · (x - mean) / √(variance + eps) + bias``, mean and biased variance over "
ATTENTION = "``softmax(Q Kᵀ / √d) V`` with d = {d} (Vaswani et al., *Attention is all you need*, 2017)"
BLOCKS = "``x ← norm(x + attention(x))``, then ``x ← norm(x + w₂ · activation(w₁ · x))``"
ADAPTIVE = " ".join(f"Adaptive{kind}Pool{n}d" for kind in ("Avg", "Max") for n in "123")
TRANSPOSED = " ".join(f"{lazy}ConvTranspose{n}d" for lazy in ("", "Lazy") for n in "123")
_FORMULAS = {
    "BCELoss": f"``-weight · (y · log(x) + (1 - y) · log(1 - x))``, logarithms cut off at -100 ({BOOK}, 6.2).",
    "BCEWithLogitsLoss": "``-weight · (pos_weight · y · log σ(x) + (1 - y) · log(1 - σ(x)))``, without overflow "
    f"({BOOK}, 6.2).",
    "NLLLoss NLLLoss2d": f"``-weight[y] · x[y]``; the mean divides by the sum of the weights ({BOOK}, 6.2).",
    "CrossEntropyLoss": "``-weight[y] · log(exp(x[y]) / Σⱼ exp(x[j]))``; the mean divides by the sum of the weights. "
    f"For probabilities it is ``-Σⱼ weight[j] · y[j] · log softmax(x)[j]`` ({BOOK}, 6.2).",
    "CTCLoss": "``-log Σₐ Πₜ exp(log_probs[t, aₜ])`` over all alignments a that spell the target; the mean divides "
    "each by the length of its target first.",
    "CosineEmbeddingLoss": "``1 - cos(x₁, x₂)`` for y = 1, ``max(0, cos(x₁, x₂) - margin)`` for y = -1.",
    "GaussianNLLLoss": "``½ (log v + (x - y)² / v)`` with ``v = max(var, eps)``; ``full`` adds ``½ log 2π``.",
    "HuberLoss": "``½ d²`` where ``|d| < delta``, else ``delta · (|d| - ½ delta)``, with ``d = x - y``.",
    "SmoothL1Loss": "``½ d² / beta`` where ``|d| < beta``, else ``|d| - ½ beta``, with ``d = x - y``.",
    "MultiLabelMarginLoss": "``Σᵢⱼ max(0, 1 - x[yⱼ] + x[i]) / c`` over right classes yⱼ and wrong ones i.",
    "MultiLabelSoftMarginLoss": "``-Σⱼ weight[j] · (y[j] · log σ(x[j]) + (1 - y[j]) · log σ(-x[j])) / c``.",
    "MultiMarginLoss": "``weight[y] · Σᵢ max(0, margin - x[y] + x[i])ᵖ / c`` over the classes i other than y.",
    "PoissonNLLLoss": "``exp(x) - y · x``, or ``x - y · log(x + eps)`` without ``log_input``; ``full`` adds Stirling's "
    "``y log y - y + ½ log 2πy`` for y > 1.",
    "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm": NORM
    + "batch and positions; in evaluation mode the running ones, of which the variance is unbiased.",
    "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d": NORM
    + "the positions of a channel of a sample.",
    "GroupNorm": NORM + "the channels of a group and their positions.",
    "LayerNorm": NORM + "the last dimensions.",
    "RMSNorm": "``weight · x / √(mean(x²) + eps)``, the mean over the last dimensions.",
    "LocalResponseNorm CrossMapLRN2d": "``x / (k + alpha · mean(x²))ᵝ``, the mean over ``size`` neighboring channels.",
    "MultiheadAttention": "Each head computes " + ATTENTION.format(d="embed_dim / num_heads") + ".",
    "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer": f"{BLOCKS}, "
    "with " + ATTENTION.format(d="d_model / nhead") + ".",
    "LPPool1d LPPool2d LPPool3d": "``(Σ xᵖ)^(1/p)`` over the elements of a window.",
    "MaxPool1d MaxPool2d MaxPool3d": f"``max x[stride · i + dilation · a - padding]`` over a ({BOOK}, 9.3).",
    "AvgPool1d AvgPool2d AvgPool3d": f"The mean of ``x[stride · i + a - padding]`` over a ({BOOK}, 9.3).",
    ADAPTIVE: "Window i goes from ``⌊i · size / output_size⌋`` to ``⌈(i + 1) · size / output_size⌉``.",
    "Conv1d Conv2d Conv3d LazyConv1d LazyConv2d LazyConv3d": "``bias[o] + Σ weight[o, c, a] · x[c, stride · i + "
    f"dilation · a - padding]`` over channels c and places a in the window ({BOOK}, 9.1).",
    TRANSPOSED: "The linear map of a convolution, transposed (Dumoulin and Visin, 2016).",
    "Dropout": "``mask · x / (1 - p)`` while training, ``x`` in evaluation mode.",
    "Embedding": "``weight[input]``.",
}
FORMULAS = {name: text for names, text in _FORMULAS.items() for name in names.split()}
"""Formulas by class."""
