"""Operations in the words that PyTorch and this package have in common, for programs of tensors."""

from __future__ import annotations

__all__ = ["SINGLE", "TENSOR_FORMS", "VJP"]

TENSOR_FORMS: dict[str, str] = {
    "add": "input + other if alpha == 1 else torch.add(input, other, alpha=alpha)",
    "sub": "input - other if alpha == 1 else torch.sub(input, other, alpha=alpha)",
    "rsub": "other - input if alpha == 1 else torch.rsub(input, other, alpha=alpha)",
    "mul": "input * other",
    "neg": "-input",
    "true_divide": "input / other",
    "pow_number": "input ** exponent",
    "pow_tensor": "input ** exponent",
    "pow_base": "base ** exponent",
    "where": "torch.where(condition, input, other)",
    "maximum": "torch.maximum(input, other)",
    "minimum": "torch.minimum(input, other)",
    "_clamp": "torch.clamp(input, low, high)",
    "_clamp_min": "torch.clamp(input, min=low)",
    "_clamp_max": "torch.clamp(input, max=high)",
    "mm": "input @ mat2",
    "mm_like": "input @ mat2",
    "bmm": "input @ mat2",
    "mv": "input @ vec",
    "dot": "input @ tensor",
    "outer_product": "torch.outer(input, vec2)",
    "addmm": "torch.addmm(input, mat1, mat2) if alpha == 1 and beta == 1 else "
    "torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha)",
    "t": "input.t()",
    "transpose": "input.transpose(dim0, dim1)",
    "permute": "input.permute(dims)",
    "view": "input.reshape(shape)",
    "unsafe_view": "input.reshape(shape)",
    "reshape_copy": "input.reshape(shape)",
    "unsqueeze": "input.unsqueeze(dim)",
    "squeeze_all": "input.squeeze()",
    "squeeze_one": "input.squeeze(dim)",
    "squeeze_some": "input.squeeze(dims)",
    "expand": "input.expand(size)",
    "select": "input.select(dim, index)",
    "slice_": "input[(slice(None),) * (dim % input.ndim) + (slice(start, stop, step),)]",
    "cat_same": "torch.cat(tensors, dim)",
    "stack_same": "torch.stack(tensors, dim)",
    "split_evenly": "torch.split(input, sections, dim)",
    "split_at": "torch.split(input, sections, dim)",
    "split_apart": "torch.split(input, sections, dim)",
    "split_apart_at": "torch.split(input, sections, dim)",
    "unbind": "torch.unbind(input, dim)",
    "clone": "input.clone()",
    "cast": "input.to(dtype)",
    "cast_back": "input.to(dtype)",
    "sum_all": "input.sum()",
    "sum_over": "input.sum(dim, keepdim)",
    "sum_along": "input.sum(dim, True)",
    "mean_all": "input.mean()",
    "mean_over": "input.mean(dim, keepdim)",
    "max_all": "input.max()",
    "min_all": "input.min()",
    "max_over": "input.max(dim, keepdim)",
    "min_over": "input.min(dim, keepdim)",
    "prod_all": "input.prod()",
    "prod_over": "input.prod(dim, keepdim)",
    "logsumexp_over": "torch.logsumexp(input, dim, keepdim)",
    "cumsum_over": "input.cumsum(dim)",
    "cumprod_over": "input.cumprod(dim)",
    "var_over": "torch.var(input, dim, correction=correction, keepdim=keepdim)",
    "std_over": "torch.std(input, dim, correction=correction, keepdim=keepdim)",
    "sort_over": "torch.sort(input, dim, descending)",
    "topk_over": "torch.topk(input, k, dim, largest)",
    "euclidean_norm": "torch.linalg.vector_norm(input, 2, dim, keepdim)",
    "softmax_over": "torch.softmax(input, dim)",
    "log_softmax_over": "torch.log_softmax(input, dim)",
    "nll_rows": "torch.nn.functional.nll_loss(input, target, weight, reduction=reduction) if ignored is None else "
    "torch.nn.functional.nll_loss(input, target, weight, ignore_index=ignored, reduction=reduction)",
    "_mse": "torch.nn.functional.mse_loss(input, target, reduction=reduction)",
    "_gelu": "torch.nn.functional.gelu(input)",
    "_gelu_tanh": "torch.nn.functional.gelu(input, approximate='tanh')",
    "_celu": "torch.celu(input, alpha)",
    "_hardtanh": "torch.nn.functional.hardtanh(input, low, high)",
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
}
"""By operation, the same of tensors. Others are called as ``torch.name`` or ``torch.nn.functional.name``."""

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
