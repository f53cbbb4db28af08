"""Autocast of every operation: the dtypes of results beside PyTorch's on the CPU, and PyTorch's own lists."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import nbautograd as nb
from nbautograd.amp import policies, state
from tests import needs
from tests.fuzz.guard import LONG

torch = needs.package("torch")

from tests.ops import opinfo
from tests.ops.opinfo_values import converted

OTHERWISE = {
    "linalg.pinv": "one operation here, in float32; PyTorch multiplies what svd gives it in half precision",
    "linalg.pinv hermitian": "as linalg.pinv",
    "pca_lowrank": "the database's matrix is a product of half precision, which LAPACK does not take",
    "svd_lowrank": "as pca_lowrank",
    "tensordot": "dimensions of length 1: PyTorch multiplies, which is not listed",
}
LISTED = " ".join(policies.POLICIES["cpu"].values()).split()
ENTRIES = [
    entry
    for entry in opinfo.ENTRIES
    if entry.name not in opinfo.ABSENT | opinfo.OTHERWISE | OTHERWISE
    and (LONG or entry.info.name.removeprefix("nn.functional.").replace(".", "_") in LISTED)
]
"""Those of the list; or all, of which the others must not be cast by what they are made of."""
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


def dtypes(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [dtypes(part) for part in result]
    return str(getattr(result, "dtype", type(result).__name__))


def outcome(call: Any, library: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with library.autocast("cpu"):
                return dtypes(call())
        except Exception:
            return "an error"


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_dtypes_of_results(entry: Any) -> None:
    for kind in (torch.float32, torch.bfloat16):
        if kind not in entry.info.supported_dtypes("cpu"):
            continue
        for sample in entry.samples(kind, False, 2):
            inputs = (sample.input, *sample.args)
            mine, options = converted((inputs, sample.kwargs), {})
            theirs = outcome(lambda i=inputs, o=sample.kwargs: entry.info.op(*i, **o), torch)
            assert outcome(lambda i=mine, o=options: entry.ours(*i, **o), nb) == theirs


@pytest.mark.parametrize(("device", "key"), [("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")])
def test_the_lists_are_pytorchs(device: str, key: str) -> None:
    names = {
        name.partition("::")[2].partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    }
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
    for function in functions:  # which compile themselves when they are first called
        codes = function.__code__
        with nb.autocast("cpu"):
            nb.ones(2, 2) @ nb.ones(2, 2)
            assert function.__code__ is not codes or function in (nb.mm,)
    before = [function.__code__ for function in functions]
    with nb.autocast("cpu"), nb.autocast("cpu", enabled=False), nb.autocast("cpu"):
        pass
    assert [function.__code__ for function in functions] == before
