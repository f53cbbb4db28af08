"""Autocast: PyTorch's own lists, and CUDA's on the CPU. Dtypes of results are compared in ``test_opinfo.py``."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from nbautograd.amp import policies, state
from tests import oracle

INNER = {
    *("_addmm_activation", "_convolution", "_grid_sampler_2d_cpu_fallback", "_lu_with_info", "convolution"),
    *("_native_multi_head_attention", "_scaled_dot_product_flash_attention", "_thnn_fused_gru_cell"),
    *("_thnn_fused_lstm_cell", "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_nearest_exact1d"),
    *("_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "cudnn_convolution", "cudnn_convolution_transpose"),
    *("fake_quantize_per_tensor_affine", "frobenius_norm", "grid_sampler_2d", "grid_sampler_3d", "gru_cell"),
    *("lstm_cell", "mkldnn_rnn_layer", "multilabel_margin_loss_forward", "native_layer_norm", "nll_loss2d"),
    *("nuclear_norm", "rnn_relu_cell", "rnn_tanh_cell", "pinverse"),
}
"""Operations that are steps of listed functions, or of none here."""
PUBLIC = {"cross_entropy_loss": "cross_entropy", "grid_sampler": "grid_sample"}
PUBLIC |= dict.fromkeys(("reflection_pad1d", "reflection_pad2d"), "pad")
PUBLIC |= {f"replication_pad{n}d": "pad" for n in (1, 2, 3)}
PUBLIC |= {f"upsample_{name}": "interpolate" for name in ("bicubic2d", "bilinear2d", "linear1d", "trilinear3d")}
PUBLIC |= {f"upsample_nearest{n}d": "interpolate" for n in (1, 2, 3)}


@pytest.mark.parametrize(("device", "key"), [("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")])
def test_the_lists_are_pytorchs(device: str, key: str) -> None:
    def program(T: Any) -> Any:
        every = T._C._dispatch_get_all_op_names()
        return {name for name in every if T._C._dispatch_has_kernel_for_dispatch_key(name, key)}

    full_names = oracle.answer(program, exact=True).parts
    names = {name.removeprefix("aten::").partition(".")[0] for name in full_names if name.startswith("aten::")}
    listed = {name for policy, some in policies.POLICIES[device].items() if policy != "kept" for name in some.split()}
    assert {PUBLIC.get(name, name) for name in names - INNER} == listed - INNER


def test_cuda_rounds_and_widens(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA's list, of which there is no oracle without CUDA: applied to the CPU's tensors."""
    monkeypatch.setitem(policies.POLICIES, "cpu", policies.POLICIES["cuda"])
    state._handlers.cache_clear()
    try:
        x = nb.ones(2, 2)
        half = x.half()
        with nb.autocast("cpu", dtype=nb.float16):
            results = {
                nb.float16: [x @ x, nb.mv(x, x[0]), nb.einsum("i,j", x[0], x[0]), nb.relu(half), half.mean(), half + 1],
                nb.float32: [
                    half.exp(), half**2, 2**half, half.pow(2), half.sum(), half.cumsum(0), nb.softmax(half, 0),
                    nb.nn.functional.softmax(half, 0), nb.nn.functional.layer_norm(half, (2,)), half.norm(),
                    nb.nn.functional.mse_loss(half, half), nb.dot(half[0], x[0]), nb.atan2(half, x), 1 / half,
                ],
            }  # fmt: skip
            asked = half.sum(dtype=nb.float16), half.clone().exp_(), nb.exp(half, out=half.clone())
            with pytest.raises(RuntimeError, match="BCELoss are unsafe to autocast"):
                nb.nn.functional.binary_cross_entropy(x, x)
    finally:
        state._handlers.cache_clear()
    assert {kind: {t.dtype for t in tensors} for kind, tensors in results.items()} == {kind: {kind} for kind in results}
    assert {t.dtype for t in asked} == {nb.float16}


def test_nothing_is_intercepted_outside() -> None:
    functions = (nb.mm, nb.matmul, nb.nn.functional.linear, nb.Tensor.addmm_, nb.linalg.svd)
    for function in functions:  # which compile themselves at the first call
        codes = function.__code__
        with nb.autocast("cpu"):
            nb.ones(2, 2) @ nb.ones(2, 2)
            assert function.__code__ is not codes or function in (nb.mm,)
    before = [function.__code__ for function in functions]
    with nb.autocast("cpu"), nb.autocast("cpu", enabled=False), nb.autocast("cpu"):
        pass
    assert [function.__code__ for function in functions] == before
