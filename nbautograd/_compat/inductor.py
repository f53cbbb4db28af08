"""``torch._inductor``: settings of PyTorch's code generator, stored without effect."""

from __future__ import annotations

from types import SimpleNamespace

from nbautograd._compat.compiler import Settings

__all__ = ["config"]

config = Settings(
    "nbautograd._inductor.config", coordinate_descent_tuning=False, epilogue_fusion=True, fx_graph_cache=True,
    max_autotune=False, triton=SimpleNamespace(cudagraphs=False, unique_kernel_names=True), cpp=SimpleNamespace(),
)  # fmt: skip
