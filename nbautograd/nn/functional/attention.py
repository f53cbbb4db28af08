"""Scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape.joining import cat
from nbautograd._engine.ops.shape.padding import pad
from nbautograd.errors import DtypeError, ShapeError
from nbautograd.nn.functional.dropout import dropout
from nbautograd.nn.functional.fused_attention import attention_by_steps, fused_attention, is_fused
from nbautograd.nn.functional.linear import linear
from nbautograd.nn.functional.softmax import softmax

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Return ``softmax(scale * query @ key.T + mask) @ value`` (Vaswani et al., "Attention is all you need", 2017).

    A query whose keys are all masked gets 0.

    :param query: shape (..., l, e).
    :param key: shape (..., s, e).
    :param value: shape (..., s, ev).
    :param attn_mask: broadcasts to (..., l, s); True where a query may attend, or numbers to add.
    :param dropout_p: the probability of dropping a weight, in training and evaluation.
    :param is_causal: query i attends only to keys up to i.
    :param scale: ``1 / sqrt(e)`` by default.
    :param enable_gqa: let several heads of ``query`` (dimension -3) share one of ``key`` and ``value``.
    :returns: shape (..., l, ev).

    >>> q, k, v = torch.zeros(1, 2), torch.ones(2, 2), torch.tensor([[1.], [3.]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    """
    name = "scaled_dot_product_attention"
    _check_attention(name, query, key, value, attn_mask, dropout_p, is_causal)
    dropout_p = dropout_p if dropout_p > 0 else 0.0
    if enable_gqa:
        key, value = (_repeated(name, query, t) for t in (key, value))
    factor = 1 / math.sqrt(query._a.shape[-1] or 1) if scale is None else scale
    dtype = query.dtype
    if dtype.is_floating_point and dtype.itemsize == 2:  # every step in float32, rounded once
        mask = attn_mask if attn_mask is None or attn_mask.dtype.rank == 0 else attn_mask.float()
        wide = query.float(), key.float(), value.float()
        return scaled_dot_product_attention(*wide, mask, dropout_p, is_causal, factor).to(dtype)
    if not dropout_p and is_fused(query, key, value, attn_mask):
        return fused_attention(query, key, value, attn_mask, is_causal, factor)
    return attention_by_steps(query, key, value, attn_mask, dropout_p, is_causal, factor)


def _check_attention(
    name: str, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool
) -> None:
    """Check dimensions, dtypes and options before the computation."""
    check_tensors(name, query=query, key=key, value=value)
    if query._a.ndim < 2 or key._a.ndim < 2 or value._a.ndim < 2:
        ndims = f"query.dim: {query._a.ndim} key.dim: {key._a.ndim} and value.dim: {value._a.ndim}"
        raise ShapeError(f"{name}(): Expected query, key, and value to all be at least 2 dimensional, but got {ndims}")
    if not query._a.dtype == key._a.dtype == value._a.dtype:
        q, k, v = (dtypes.c_type(t.dtype) for t in (query, key, value))
        kinds = f"query.dtype: {q} key.dtype: {k} and value.dtype: {v} instead"
        raise DtypeError(f"{name}(): Expected query, key, and value to have the same dtype, but got {kinds}.")
    if attn_mask is not None and is_causal:
        raise RuntimeError(f"{name}(): Explicit attn_mask should not be set when is_causal=True")
    if dropout_p > 1:  # PyTorch takes any other number as no dropout
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if attn_mask is not None:
        check_tensors(name, attn_mask=attn_mask)
        if attn_mask.dtype not in (dtypes.bool_, dtypes.float32, query.dtype):
            raise DtypeError(
                f"{name}(): Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"{attn_mask.dtype!r} and query {query.dtype!r}"
            )


def _repeated(name: str, query: Tensor, shared: Tensor) -> Tensor:
    """Repeat each head of keys or values for the query heads that share it."""
    heads, have = query._a.shape[-3], shared._a.shape[-3]
    if have == 0 or heads % have:
        raise RuntimeError(
            f"{name}(): Number of heads in key and value must divide the number of heads in query, {have} and {heads}"
        )
    shape = shared._a.shape
    wide = shared.unsqueeze(-3).expand(*shape[:-2], heads // have, *shape[-2:])
    return wide.reshape(*shape[:-3], heads, *shape[-2:])


def _as_scores(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """Return a mask as numbers to add: -inf where a bool mask is True."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask._a.dtype.kind != "b":
        raise AssertionError(f"only bool and floating types of {name} are supported, got {mask.dtype!r}")
    return (mask.to(like.dtype) * 0).masked_fill(mask, -math.inf)


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Compute multi-head attention, with the linear maps before and after it (Vaswani et al., 2017).

    :param query: shape (l, n, e), or (l, e) without batch; likewise ``key`` and ``value``, with s for l.
    :param in_proj_weight: shape (3 e, e): the maps of query, key and value; ``use_separate_proj_weight`` takes them
        from ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight`` instead.
    :param bias_k: one more key, shape (1, 1, e); likewise ``bias_v``.
    :param add_zero_attn: one more key and value of zeros.
    :param key_padding_mask: shape (n, s); True, or -inf, for keys to ignore.
    :param need_weights: also return the weights.
    :param attn_mask: shape (l, s) or (n heads, l, s); True where attention is masked, or numbers to add.
    :param static_k: projected keys, shape (n heads, s, e / heads), instead of those of ``key``; likewise ``static_v``.
    :param average_attn_weights: return the mean of the weights over the heads.
    :param is_causal: a hint that ``attn_mask``, which is then required, is the causal mask.
    :returns: the result, shape (l, n, e), and the weights, shape (n, l, s), or None.
    :raises AssertionError: sizes do not fit.
    :raises RuntimeError: masks do not fit.

    >>> x, w = torch.ones(2, 1, 4), torch.eye(4)
    >>> y, p = torch.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 4, 2, torch.cat([w, w, w]), None, None, None, False, 0.0, w, None)
    >>> y.shape, p.shape
    (torch.Size([2, 1, 4]), torch.Size([1, 2, 2]))
    """
    check_tensors("multi_head_attention_forward", query=query, key=key, value=value)
    batched = query._a.ndim == 3
    _check_heads((query, key, value), key_padding_mask, attn_mask, embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, size = query._a.shape
    heads, head_size = batch * num_heads, size // num_heads
    padding = _as_scores(key_padding_mask, "key_padding_mask", query)
    mask = _as_scores(attn_mask, "attn_mask", query)

    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    weights = _projection_weights(in_proj_weight, separate)
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    mask = _mask_per_head(mask, heads, length, key._a.shape[0])
    if _has_bias(bias_k, bias_v, static_k, static_v):
        k, v = (cat([x, bias.repeat(1, batch, 1)]) for x, bias in ((k, bias_k), (v, bias_v)))
        mask, padding = _one_more(mask), _one_more(padding)
    q = _split_heads(q, heads, head_size)
    k = _static_heads("static_k", static_k, k, heads, head_size)
    v = _static_heads("static_v", static_v, v, heads, head_size)
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
        mask, padding = _one_more(mask), _one_more(padding)
    mask = _with_padding(mask, padding, (batch, num_heads, k._a.shape[1]))

    context, attention = _attend(q, k, v, mask, dropout_p if training else 0.0, num_heads, need_weights)
    output = linear(context.reshape(length * batch, size), out_proj_weight, out_proj_bias)
    output = output.view(length, batch, out_proj_weight._a.shape[0])
    if attention is not None and average_attn_weights:
        attention = attention.mean(1)
    if batched:
        return output, attention
    return output.squeeze(1), None if attention is None else attention.squeeze(0)


def _projection_weights(packed: Tensor | None, separate: tuple[Tensor | None, ...] | None) -> tuple[Tensor, ...]:
    """Return the projections of query, key and value: the given ones, or the three parts of ``packed``."""
    if separate is None:
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return packed.chunk(3)
    for label, weight in zip(("q", "k", "v"), separate, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {label}_proj_weight is None")
    return separate


def _mask_per_head(mask: Tensor | None, heads: int, length: int, sources: int) -> Tensor | None:
    """Return an attention mask of shape (1 or ``heads``, ``length``, ``sources``); ``heads`` counts the batch."""
    if mask is None:
        return None
    shape, n = mask._a.shape, mask._a.ndim
    expected = (length, sources) if n == 2 else (heads, length, sources)
    if n not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {n} is not supported: expected 2 or 3")
    if shape != expected:
        raise RuntimeError(f"The shape of the {n}D attn_mask is {list(shape)}, but should be {list(expected)}.")
    return mask.unsqueeze(0) if n == 2 else mask


def _has_bias(bias_k: Tensor | None, bias_v: Tensor | None, static_k: Tensor | None, static_v: Tensor | None) -> bool:
    """Return whether a learned key and value are appended, which neither static keys nor values allow."""
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must be given together: one is set but the other is None")
    if bias_k is not None and (static_k is not None or static_v is not None):
        raise AssertionError("bias cannot be added to static key or value.")
    return bias_k is not None


def _split_heads(x: Tensor, heads: int, size: int) -> Tensor:
    """Reshape (l, n, e) to (n heads, l, e / heads); ``heads`` counts all of the batch, ``size`` is a head's."""
    return x.contiguous().view(x._a.shape[0], heads, size).transpose(0, 1)


def _with_padding(mask: Tensor | None, padding: Tensor | None, sizes: tuple[int, int, int]) -> Tensor | None:
    """Add the key padding mask, shape (n, s), to each head's, shape (n heads, 1 or l, s); ``sizes``: n, heads, s."""
    if padding is None:
        return mask
    batch, num_heads, sources = sizes
    for dim, expected in enumerate((batch, sources)):
        size = padding._a.shape[dim]
        if size != expected:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got {size}: the key_padding_mask must "
                f"be of shape (batch, keys), which is {[batch, sources]}"
            )
    per_head = padding.view(batch, 1, 1, sources).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, sources)
    return per_head if mask is None else mask + per_head


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, drop: float, num_heads: int, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Return the heads' results, l first, and their weights, shape (n, heads, l, s), if required.

    :param q: shape (n heads, l, e); likewise ``k`` and ``v``, with s for l.
    """
    heads, length, size = q._a.shape
    batch, sources = heads // num_heads, k._a.shape[1]
    if not need_weights:
        if mask is not None:
            count, rows, _ = mask._a.shape
            mask = mask.unsqueeze(0) if count == 1 else mask.view(batch, num_heads, rows, sources)
        parts = (t.reshape(batch, num_heads, t._a.shape[1], size) for t in (q, k, v))
        return scaled_dot_product_attention(*parts, mask, drop).permute(2, 0, 1, 3), None
    scores = (q * math.sqrt(1.0 / size)).bmm(k.transpose(-2, -1))
    weights = softmax(scores if mask is None else scores + mask, -1)
    if drop > 0:
        weights = dropout(weights, drop)
    return weights.bmm(v).transpose(0, 1), weights.view(batch, num_heads, length, sources)


def _one_more(mask: Tensor | None) -> Tensor | None:
    """Append an unmasked column for one more key to a mask."""
    return None if mask is None else pad(mask, (0, 1))


def _static_heads(name: str, projected: Tensor | None, own: Tensor, heads: int, size: int) -> Tensor:
    """Return the given keys or values, of shape (n heads, s, e / heads), or else ``own`` per head."""
    if projected is None:
        return _split_heads(own, heads, size)
    if projected._a.shape[0] != heads or projected._a.shape[2] != size:
        raise AssertionError(f"expecting {name} of shape ({heads}, any, {size}), but got {list(projected._a.shape)}")
    return projected


def _check_heads(
    inputs: tuple[Tensor, ...], key_padding_mask: Tensor | None, attn_mask: Tensor | None, size: int, num_heads: int
) -> None:
    """Check the shapes of query, key and value, and of the masks, before the computation."""
    query, key, value = inputs
    ndim = query._a.ndim
    if ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor")
    for label, t in (("key", key), ("value", value)):
        if t._a.ndim != ndim:
            raise AssertionError(f"For {ndim}-D query, expected {label} to be {ndim}-D but found {t._a.ndim}-D")
    if key_padding_mask is not None and key_padding_mask._a.ndim != ndim - 1:
        raise AssertionError(
            f"For {ndim}-D query, expected key_padding_mask to be None or {ndim - 1}-D but found "
            f"{key_padding_mask._a.ndim}-D tensor instead"
        )
    if attn_mask is not None and (dims := attn_mask._a.ndim) not in (2, 3):
        raise AssertionError(f"expected attn_mask to be None, 2-D or 3-D but found {dims}-D tensor instead")
    if query._a.shape[-1] != size:
        raise AssertionError(f"was expecting embedding dimension of {size}, but got {query._a.shape[-1]}")
    if size % num_heads:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    k, v = key._a.shape[:-1], value._a.shape[:-1]
    if k != v:
        raise AssertionError(f"key's sequence and batch dims {list(k)} do not match value's {list(v)}")
