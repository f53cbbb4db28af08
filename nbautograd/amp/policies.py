"""The functions that autocast affects, by device, as in PyTorch's lists, and the conversion of their arguments.

- ``lower``: tensors in the lower precision of the region.
- ``float32``: tensors in float32.
- ``accumulate``: the first tensor in float32, unless a dtype is asked for. PyTorch sets that option.
- ``widest``: tensors in the widest floating dtype among them.
- ``pad``, ``max_pool``: tensors in float32 where PyTorch lists the underlying operation for these arguments.
- ``kept``: tensors unchanged, and autocast off: one operation in PyTorch consists of listed ones here.
- ``refuse``: an error that names the alternative.

A name that begins with ``linalg_`` or ``fft_`` is a function of these modules, as among PyTorch's operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from nbautograd._engine.compiler.schema import COMPOSITES, OPS
from nbautograd._engine.core.tensor import Tensor

__all__ = ["POLICIES", "functions"]

_LOSSES = """
    binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss huber_loss kl_div l1_loss
    margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss
    soft_margin_loss triplet_margin_loss"""
_PRODUCTS = """
    addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc
    linalg_vecdot linear matmul mm prelu scaled_dot_product_attention"""

POLICIES: dict[str, dict[str, str]] = {
    "cpu": {
        "lower": _PRODUCTS,
        "pad": "pad",
        "max_pool": "max_pool3d",
        "kept": "bilinear",
        "float32": f"""
            {_LOSSES} adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy cdist cholesky
            cholesky_inverse cholesky_solve cross_entropy ctc_loss fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2
            fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn fractional_max_pool2d
            fractional_max_pool3d geqrf grid_sample inverse linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig
            linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq
            linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve
            lu_solve max_unpool2d max_unpool3d nanquantile orgqr ormqr pinverse polar prod qr quantile
            stft svd trace triangular_solve view_as_complex""",
        "widest": "cat index_copy stack",
    },
    "cuda": {
        "lower": f"{_PRODUCTS} addmv addr chain_matmul einsum linalg_multi_dot mv",
        "float32": f"""
            {_LOSSES} acos asin cdist cosh cosine_similarity dist erfinv exp expm1 group_norm interpolate layer_norm log
            log10 log1p log2 logsumexp pdist pow reciprocal renorm rms_norm rsqrt sinh softplus tan""",
        "accumulate": """
            cumprod cumsum linalg_matrix_norm linalg_vector_norm log_softmax norm prod softmax sum""",
        "widest": """
            addcdiv addcmul atan2 bilinear cross dot grid_sample index_put scatter_add tensordot vdot""",
        "kept": "embedding embedding_bag",
        "refuse": "binary_cross_entropy",
    },
}  # fmt: skip
"""The functions, by device and policy."""

OPERATORS = {"matmul": ("__matmul__", "__rmatmul__"), "pow": ("__pow__", "__rpow__")}
"""Methods of operators that the lists do not contain."""


def functions(name: str) -> Iterator[Any]:
    """Yield the functions for a name in the lists: public functions, methods, and the underlying operations."""
    package = __name__.partition(".")[0]
    family, _, bare = name.partition("_")
    if family in ("linalg", "fft"):
        yield getattr(import_module(f"{package}.{family}"), bare)
    for place in (import_module(package), import_module(f"{package}.nn.functional"), Tensor):
        function = getattr(place, name, None)
        if function is not None:
            yield function
    for operator in OPERATORS.get(name, ()):
        yield getattr(Tensor, operator)
    if name in OPS:
        yield OPS[name].function
    elif name in COMPOSITES:
        yield COMPOSITES[name]
