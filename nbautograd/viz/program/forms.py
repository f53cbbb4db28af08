"""Operations as NumPy writes them: shorter to read than the bodies, where they give the same bits."""

from __future__ import annotations

__all__ = ["FORMS", "GUESSED"]

FORMS: dict[str, tuple[str, ...]] = {
    "zeros_of": ("np.zeros_like(input)",),
    "conj": ("np.conjugate(input)",),
    "where": ("np.where(condition, input, other)",),
    "view": ("input.reshape(shape)",),
    "unsafe_view": ("input.reshape(shape)",),
    "reshape_copy": ("input.reshape(shape).copy()",),
    "unsqueeze": ("np.expand_dims(input, dim)",),
    "expand": ("np.broadcast_to(input, size)",),
    "t": ("input.T",),
    "transpose": ("input.swapaxes(dim0, dim1)",),
    "permute": ("input.transpose(dims)",),
    "cat_same": ("np.concatenate(tensors, axis=dim)",),
    "stack_same": ("np.stack(tensors, axis=dim)",),
    "clone": ("input.copy()",),
    "mm": ("input @ mat2",),
    "bmm": ("input @ mat2",),
    "mv": ("input @ vec",),
    "dot": ("input @ tensor",),
    "vdot": ("np.vdot(input, other)",),
    "outer_product": ("np.outer(input, vec2)",),
    "addmm": ("mat1 @ mat2 + input",),
    "addmv": ("mat @ vec + input",),
    "move": ("input.astype(dtype)",),
    "cast": ("input.astype(dtype)",),
    "real": ("input.real.copy()",),
    "imag": ("input.imag.copy()",),
}
"""By operation: its form in NumPy."""
GUESSED: dict[str, tuple[str, ...]] = {
    "sum_all": ("input.sum()",),
    "sum_over": ("input.sum(axis=dim, keepdims=keepdim)",),
    "sum_along": ("input.sum(axis=dim, keepdims=True)",),
    "mean_all": ("input.mean()",),
    "mean_over": ("input.mean(axis=dim, keepdims=keepdim)",),
    "select": ("input[index] if dim == 0 else input[..., index]",),
    "cast_back": ("input",),
    "spread": ("np.broadcast_to(input, shape)",),
    "sum_to": ("input.sum(axis=0)", "input.copy()"),
    "mm_like": ("input @ mat2", "(mat2.T @ input.T).T"),
}
"""Forms of operations that may add up in another order than NumPy does: tried, and used if they agree."""
