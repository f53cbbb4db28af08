"""Operations in the words that PyTorch and this package have in common, for programs of tensors."""

from __future__ import annotations

__all__ = ["AFFIXES", "OWNERS", "SINGLE", "TENSOR_FORMS", "VJP"]


def _each(form: str, names: str, key: str = "{}") -> dict[str, str]:
    """Return a form of several operations, in which ``{}`` stands for the name; and likewise in the key of each."""
    return {key.replace("{}", name): form.replace("{}", name) for name in names.split()}


TENSOR_FORMS: dict[str, str] = {
    "add": "input + other if alpha == 1 else torch.add(input, other, alpha=alpha)",
    "sub": "input - other if alpha == 1 else torch.sub(input, other, alpha=alpha)",
    "rsub": "other - input if alpha == 1 else torch.rsub(input, other, alpha=alpha)",
    "mul": "input * other",
    "neg": "-input",
    "clone": "input.clone()",
    "true_divide": "input / other",
    "pow_base": "base ** exponent",
    "_clamp_min": "torch.clamp(input, min=low)",
    "_clamp_max": "torch.clamp(input, max=high)",
    "mv": "input @ vec",
    "dot": "input @ tensor",
    "outer_product": "torch.outer(input, vec2)",
    "addmm": "torch.addmm(input, mat1, mat2) if alpha == 1 and beta == 1 else "
    "torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha)",
    "permute": "input.permute(dims)",
    "squeeze_all": "input.squeeze()",
    "squeeze_some": "input.squeeze(dims)",
    "expand": "input.expand(size)",
    "slice_": "input[(slice(None),) * (dim % input.ndim) + (slice(start, stop, step),)]",
    "sum_along": "input.sum(dim, True)",
    "euclidean_norm": "torch.linalg.vector_norm(input, 2, dim, keepdim)",
    "_mse": "torch.nn.functional.mse_loss(input, target, reduction=reduction)",
    "_gelu_tanh": "torch.nn.functional.gelu(input, approximate='tanh')",
    "native_layer_norm": "torch.nn.functional.layer_norm(input, own, weight, bias, eps)",
    "native_batch_norm": "torch.nn.functional.batch_norm(input, None, None, weight, bias, True, 0.0, eps)",
    "convolution": "torch.nn.functional.conv1d(input, weight, bias, stride, padding, dilation, groups) "
    "if input.ndim == 3 else torch.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups) "
    "if input.ndim == 4 else torch.nn.functional.conv3d(input, weight, bias, stride, padding, dilation, groups)",
    "index": "input[key]",
    "_embedding": "torch.nn.functional.embedding(index, weight)",
    "sum_to": "input.sum_to_size(shape)",
    "spread": "input.expand(shape) if dim is None else (input if keepdim else input.unsqueeze(dim)).expand(shape)",
    "zeros_of": "torch.zeros_like(input)",
    "_alias": "input.view_as(input)",
    "repeat": "input.repeat(repeats)",
    "_clamp_min_tensor": "torch.clamp(input, min=min)",
    "_clamp_max_tensor": "torch.clamp(input, max=max)",
    "absolute_norm": "torch.linalg.vector_norm(input, 1, dim, keepdim)",
    "power_norm": "torch.linalg.vector_norm(input, p, dim, keepdim)",
    "_prelu": "torch.where(input > 0, input, input * weight)",
    "as_strided_in": "torch.as_strided(input, size, stride, storage_offset)",
    "copy": "other.to(input).expand_as(input)",
    "crop_like": "input[tuple(slice(n) for n in shape)]",
    "pad_like": "torch.nn.functional.pad(input, [n for pair in zip((0,) * len(shape), (m - n for m, n in "
    "zip(reversed(shape), reversed(input.shape)))) for n in pair])",
    "constant_pad": "torch.nn.functional.pad(input, [n for pair in reversed(pads) for n in pair], value=value)",
    **{
        f"{kind}_pad{n}d": f"torch.nn.functional.pad(input, [n for pair in reversed(pads[-{n}:]) for n in pair], "
        f"mode='{mode}')"
        for kind, mode in (("reflect", "reflect"), ("replicate", "replicate"), ("circular", "circular"))
        for n in (1, 2, 3)
    },
    "_fft_c2c": "torch.fft.fftn(input, dim=dims, norm=norm) if forward else "
    "torch.fft.ifftn(input, dim=dims, norm=norm)",
    "_fft_r2c": "torch.fft.rfftn(input, dim=dims, norm=norm) if onesided else "
    "torch.fft.fftn(input, dim=dims, norm=norm)",
    "_fft_c2r": "torch.fft.irfftn(input, [*(input.shape[d] for d in dims[:-1]), length], dims, norm)",
    "divide_rounded": "torch.div(input, other, rounding_mode=rounding_mode)",
    "_clamp_tensors": "torch.clamp(input, low, high)",
    "both_extremes": "torch.aminmax(input, dim=dim, keepdim=keepdim)",
    "extreme_norm": "torch.linalg.vector_norm(input, float('inf' if largest else '-inf'), dim, keepdim)",
    "derivative_of_digamma": "torch.polygamma(order, input)",
    "put_at": "torch.index_put(input, key, values, accumulate)",
    "cholesky_parts": "torch.linalg.cholesky_ex(A, upper=upper)",
    "lu_triple": "torch.linalg.lu(A)",
    "lu_packed": "torch.linalg.lu_factor_ex(A)",
    "pinv_same": "torch.linalg.pinv(A, atol=atol, rtol=rtol, hermitian=hermitian)",
    "solve_same": "torch.linalg.solve(A, B, left=left)",
    "solve_columns": "torch.linalg.solve(A, B)",
    "triangle_solve": "torch.linalg.solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)",
    "linalg_cross_same": "torch.linalg.cross(input, other, dim=dim)",
    "_soft_margin": "torch.nn.functional.softplus(-target * input) if reduction == 'none' else "
    "torch.nn.functional.softplus(-target * input).mean() if reduction == 'mean' else "
    "torch.nn.functional.softplus(-target * input).sum()",
    "_multi_margin": "torch.nn.functional.multi_margin_loss(input, target, p=p, margin=margin, weight=weight, "
    "reduction=reduction)",
    "_multilabel_margin": "torch.nn.functional.multilabel_margin_loss(input, target, reduction=reduction)",
    "im2col": "torch.nn.functional.unfold(input, kernel, dilation, padding, stride)",
    "col2im": "torch.nn.functional.fold(input, shape[-2:], kernel, dilation, padding, stride)",
    "elu": "torch.nn.functional.elu(input, alpha)",
    "_smooth_l1": "torch.nn.functional.smooth_l1_loss(input, target, reduction=reduction, beta=beta)",
    "_huber": "torch.nn.functional.huber_loss(input, target, reduction=reduction, delta=delta)",
    "_bce": "torch.nn.functional.binary_cross_entropy(input, target, weight, reduction=reduction)",
    "_bce_logits": "torch.nn.functional.binary_cross_entropy_with_logits(input, target, weight, "
    "pos_weight=pos_weight, reduction=reduction)",
    **_each("input.{}()", "sum mean max min prod", "{}_all"),
    **_each("torch.split(input, sections, dim)", "evenly at apart apart_at", "split_{}"),
    **_each("input.reshape(shape)", "view unsafe_view reshape_copy"),
    **_each("input ** exponent", "number tensor", "pow_{}"),
    **_each("input.to(dtype)", "cast cast_back move"),
    **_each("torch.{}(input, dim, correction=correction, keepdim=keepdim)", "var std", "{}_over"),
    **_each("torch.{}_mean(input, dim, correction=correction, keepdim=keepdim)", "var std", "{}_and_mean"),
    "cumsum_over": "input.cumsum(dim)",
    **_each("input @ mat2", "mm mm_like bmm"),
    "conj": "torch.conj_physical(input)",
    **_each("input.squeeze(dim)", "squeeze_one squeezed"),
    **_each(
        "torch.nn.functional.nll_loss(input, target, weight, reduction=reduction) if ignored is None else "
        "torch.nn.functional.nll_loss(input, target, weight, ignore_index=ignored, reduction=reduction)",
        "rows images",
        "nll_{}",
    ),
    **_each("torch.nn.functional.adaptive_max_pool{}d(input, out, return_indices=True)", "2 3", "adaptive_max_pool{}d"),
    **_each(
        "torch.nn.functional.max_pool{}d(input, kernel, stride, padding, dilation, return_indices=True)",
        "2 3",
        "max_pool{}d_with_indices",
    ),
}
"""By operation, its form on tensors. Others are called as ``torch.name`` or ``torch.nn.functional.name``."""
_FUNCTIONS = {
    "torch": """
        where _clamp cat_same stack_same unbind logsumexp_over sort_over topk_over _celu _lerp _round _complex
        _nan_to_num _polar nansum_over median_over softmax_over log_softmax_over maximum minimum _conj_physical
    """,
    "input": "t transpose unsqueeze select unfold sum_over mean_over max_over min_over prod_over cumprod_over",
    "torch.nn.functional": """
        _gelu _hardtanh softshrink threshold softplus leaky_relu _glu silu mish hardswish hardsigmoid logsigmoid
        adaptive_avg_pool2d adaptive_avg_pool3d
    """,
    "torch.linalg": """
        eig_parts linalg_matrix_exp linalg_householder_product inv_same linalg_det svd_parts eigh_parts qr_parts
        slogdet_parts
    """,
    "torch.special": "special_i1 special_i1e special_xlog1py special_zeta",
}
OWNERS = {name: owner for owner, names in _FUNCTIONS.items() for name in names.split()}
"""By operation, what has a function, or a method, that takes its operands and options by position."""
AFFIXES = "^_|^special_|^linalg_|_same$|_over$|_parts$"
"""The part of the name of such an operation that the function's does not have."""

SINGLE = ("native_layer_norm", "native_batch_norm")
"""Operations of several results here, of which PyTorch's function gives the first."""
VJP = '''def vjp(function, x, *gradients):
    """The gradient of one operation's input, by the library's own derivative of it."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        results = function(x)
    results = results if isinstance(results, (tuple, list)) else (results,)
    pairs = [(y, g) for y, g in zip(results, gradients) if g is not None]
    return torch.autograd.grad([y for y, _ in pairs], x, [g for _, g in pairs])[0]
'''
