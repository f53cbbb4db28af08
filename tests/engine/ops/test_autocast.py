"""Autocast: PyTorch's own lists, and CUDA's on the CPU. Dtypes of results are compared in ``test_opinfo.py``."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest

import nbautograd as nb
from nbautograd._engine.compiler.interception import Handler, intercept, is_intercepted, release, return_to_own_code
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


def forget_the_lists() -> None:
    """Read the lists again in the next region."""
    for function in state._interceptions().handlers:
        return_to_own_code(function)
    state._interceptions.cache_clear()


def test_cuda_rounds_and_widens(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA's list, of which there is no oracle without CUDA: applied to the CPU's tensors."""
    monkeypatch.setitem(policies.POLICIES, "cpu", policies.POLICIES["cuda"])
    forget_the_lists()
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
        forget_the_lists()
    assert {kind: {t.dtype for t in tensors} for kind, tensors in results.items()} == {kind: {kind} for kind in results}
    assert {t.dtype for t in asked} == {nb.float16}


def test_nothing_is_intercepted_outside() -> None:
    x = nb.ones(2, 2)
    calls: dict[Any, tuple[Any, ...]] = {
        nb.mm: (x, x), nb.matmul: (x, x), nb.nn.functional.linear: (x, x), nb.Tensor.addmm_: (x.clone(), x, x),
        nb.linalg.svd: (x,),
    }  # fmt: skip
    for function, arguments in calls.items():  # the first call compiles it, or ends an earlier interception
        function(*arguments)
        code = function.__code__
        for _ in range(2):
            with nb.autocast("cpu"), nb.autocast("cpu", enabled=False), nb.autocast("cpu"):
                assert is_intercepted(function) and function.__code__ is not code
            assert not is_intercepted(function)
            function(*arguments)
            assert function.__code__ is code


def test_a_second_region_exchanges_what_was_called_in_between() -> None:
    x = nb.ones(2, 2)
    with nb.autocast("cpu"):
        pass
    nb.matmul(x, x)
    kept, called = nb.linalg.svd.__code__, nb.matmul.__code__
    with nb.autocast("cpu"):
        assert nb.linalg.svd.__code__ is kept and nb.matmul.__code__ is not called
        assert nb.matmul(x, x).dtype == nb.bfloat16
    assert nb.matmul(x, x).dtype == nb.float32 and nb.matmul.__code__ is called


def test_handlers_of_one_function_end_in_any_order() -> None:
    def add(number: float) -> Handler:
        return lambda plain, args, kwargs: plain(*args, **kwargs) + number

    function, x = nb.quantile, nb.tensor([1.0, 3.0])
    one, other = add(10.0), add(100.0)
    with nb.autocast("cpu"):
        intercept(function, one)
        intercept(function, other)
    assert function(x, 0.5) == 112.0  # autocast's handler, below them, has ended
    release(function, one)
    assert function(x, 0.5) == 102.0 and is_intercepted(function)
    release(function, other)
    assert function(x, 0.5) == 2.0 and not is_intercepted(function)


def test_a_function_with_variables_of_another_is_intercepted() -> None:
    def made(number: float) -> Any:
        def add(x: float, *, more: float = 0.5) -> float:
            return x + number + more

        return add

    def handler(plain: Any, args: Any, kwargs: Any) -> Any:
        assert sys._getframe(1).f_locals["kwargs"] == kwargs  # a debugger reads them
        return 10 * plain(*args, **kwargs)

    function = made(2.0)
    for _ in range(2):
        intercept(function, handler)
        assert function(1.0) == 35.0 and function(1.0, more=1.0) == 40.0
        release(function, handler)
        assert function(1.0) == 3.5 and str(inspect.signature(function)).startswith(
            "(x: 'float', *, more: 'float' = 0.5)"
        )


def test_a_trace_in_a_region_leaves_both_whole() -> None:
    x = nb.tensor([1.0, 3.0])
    with nb.autocast("cpu"):
        traced = nb.jit.trace(lambda x: x.exp() * 2, (x,), check_trace=False)
        assert nb.matmul(x, x).dtype == nb.bfloat16
    assert nb.matmul(x, x).dtype == nb.float32 and nb.quantile(x, 0.5) == 2.0
    assert traced(x).dtype == nb.float32


def test_a_trace_records_the_casts_of_a_region_around_it_or_inside() -> None:
    """Of functions, too, that a trace calls as a whole, as ``quantile``."""

    def program(T: Any) -> Any:
        x = T.arange(9.0).reshape(3, 3) / 8

        def inside(x: Any) -> Any:
            with T.autocast("cpu"):
                return T.quantile(x.bfloat16(), 0.5), (x @ x).dtype == T.bfloat16

        with T.autocast("cpu"):
            around = T.jit.trace(lambda x: T.quantile(x.bfloat16(), 0.5), (x,))
        return around(x), inside(x)[0], T.jit.trace(lambda x: inside(x)[0], (x,))(x), inside(x)[1]

    oracle.close(program(nb), oracle.answer(program))


def test_a_function_keeps_its_signature_in_a_region_and_after_it() -> None:
    intercepted = state._interceptions()
    for function in intercepted.handlers:
        return_to_own_code(function)  # as its next call does
    before = [inspect.signature(function) for function in intercepted.handlers]
    with nb.autocast("cpu"):
        during = [inspect.signature(function) for function in intercepted.handlers]
    assert before == during == [inspect.signature(function) for function in intercepted.handlers]


def test_a_warning_after_a_region_names_the_line_of_the_call() -> None:
    with nb.autocast("cpu"):
        pass
    with pytest.warns(UserWarning, match="window was not provided") as caught:
        nb.stft(nb.ones(20), 4, return_complex=True)
    assert [each.filename for each in caught] == [__file__]
    with pytest.raises(TypeError, match=r"^addmv_\(\)"):
        nb.Tensor.addmv_()
