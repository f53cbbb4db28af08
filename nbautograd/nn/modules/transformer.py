"""Multi-head attention, and the transformer (Vaswani et al., "Attention is all you need", 2017)."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from nbautograd._engine.arrays.dtypes import bool_
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import full
from nbautograd.nn import functional as F, init  # noqa: N812
from nbautograd.nn.modules.activation import GELU, ReLU
from nbautograd.nn.modules.container import ModuleList
from nbautograd.nn.modules.dropout import Dropout
from nbautograd.nn.modules.linear import Linear, NonDynamicallyQuantizableLinear, new_parameter
from nbautograd.nn.modules.module import Module
from nbautograd.nn.modules.normalization import LayerNorm

__all__ = [
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip

Activation = str | Callable[[Tensor], Tensor]


class MultiheadAttention(Module):
    """Multi-head attention, with linear maps before and after.

    :param embed_dim: the size of each element of a sequence.
    :param num_heads: the number of heads, which divides ``embed_dim``.
    :param dropout: the probability of dropping a weight in training.
    :param add_bias_kv: add a learned key and value to the sequences.
    :param add_zero_attn: add a key and value of zeros.
    :param kdim: the size of the keys' elements; likewise ``vdim`` of the values'.
    :raises ValueError: sizes are not positive.
    :raises AssertionError: the heads do not divide ``embed_dim``.

    >>> layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    >>> x = torch.ones(3, 5, 4)
    >>> output, weights = layer(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 4]), torch.Size([3, 5, 5]))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got {embed_dim=!s} and {num_heads=!s}")
        if embed_dim % num_heads:
            raise AssertionError(f"embed_dim must be divisible by num_heads: {embed_dim} by {num_heads}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = same = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn

        def make(*shape: int, wanted: bool = True) -> Any:
            return new_parameter(*shape, device=device, dtype=dtype, wanted=wanted)

        for name, size in (("q_proj_weight", embed_dim), ("k_proj_weight", self.kdim), ("v_proj_weight", self.vdim)):
            self.register_parameter(name, make(embed_dim, size, wanted=not same))
        self.register_parameter("in_proj_weight", make(3 * embed_dim, embed_dim, wanted=same))
        self.register_parameter("in_proj_bias", make(3 * embed_dim, wanted=bias))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k, self.bias_v = make(1, 1, embed_dim), make(1, 1, embed_dim)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Return the attended values, and the weights, or None if ``need_weights`` is false.

        :param query: shape (l, n, e), see ``batch_first``, or (l, e) without batch; likewise key and value.
        :param key_padding_mask: shape (n, s); True, or -inf, for keys to ignore.
        :param attn_mask: shape (l, s) or (n heads, l, s); True where attention is masked, or numbers to add.
        """
        swap = self.batch_first and query.ndim == 3
        if swap:
            query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        options: dict[str, Any] = {}
        if not self._qkv_same_embed_dim:
            options = {name: getattr(self, name) for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight")}
            options["use_separate_proj_weight"] = True
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **options,
        )
        return (output.transpose(0, 1) if swap else output), weights


def _activation(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    known: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}
    if activation not in known:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return known[activation]


class _TransformerLayer(Module):
    """Attention, then two linear maps of each element, each with its residual connection and normalization."""

    attentions: tuple[str, ...] = ("self_attn",)

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        where = {"device": device, "dtype": dtype}
        for name in self.attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, bias=bias, batch_first=batch_first, **where)
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        numbers = range(1, len(self.attentions) + 2)
        for i in numbers:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where))
        for i in numbers:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attend(
        self, number: int, x: Tensor, memory: Tensor | None, mask: Tensor | None, padding: Tensor | None, causal: bool
    ) -> Tensor:
        attention, source = getattr(self, self.attentions[number]), x if memory is None else memory
        masks = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": causal}
        attended = attention(x, source, source, **masks, need_weights=False)[0]
        dropped: Tensor = getattr(self, f"dropout{number + 1}")(attended)
        return dropped

    def _feed_forward(self, x: Tensor) -> Tensor:
        output = self.linear2(self.dropout(self.activation(self.linear1(x))))
        dropped: Tensor = getattr(self, f"dropout{len(self.attentions) + 1}")(output)
        return dropped

    def _blocks(self, x: Tensor, blocks: list[Callable[[Tensor], Tensor]]) -> Tensor:
        """Return each block with its residual connection, normalized before or after."""
        for i, block in enumerate(blocks, 1):
            norm = getattr(self, f"norm{i}")
            x = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return x


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention, then two linear maps of each element.

    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16)
    >>> layer(torch.zeros(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Return the sequence, encoded; the masks are those of :class:`MultiheadAttention`."""
        masks = (src_mask, src_key_padding_mask, is_causal)
        return self._blocks(src, [lambda x: self._attend(0, x, None, *masks), self._feed_forward])


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to an encoded sequence, then two linear maps of each element.

    The options are those of :class:`TransformerEncoderLayer`.

    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(torch.ones(3, 4, 8), torch.ones(3, 5, 8)).shape
    torch.Size([3, 4, 8])
    """

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Return the sequence, decoded with attention to ``memory``; for the masks see :class:`MultiheadAttention`."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        attend = [lambda x: self._attend(0, x, None, *own), lambda x: self._attend(1, x, memory, *other)]
        return self._blocks(tgt, [*attend, self._feed_forward])


class _LayerStack(Module):
    """Copies of a layer in sequence, and a normalization."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _normed(self, x: Tensor) -> Tensor:
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_LayerStack):
    """Copies of an encoder layer in sequence.

    :param norm: a normalization of the result.
    :param enable_nested_tensor: as in PyTorch, padded positions of the result are zero in evaluation without
        gradients, where the layers allow it; if false, compute them.
    :param mask_check: accepted and ignored; an optimization in PyTorch.

    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, 2)(torch.ones(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        """Return the sequence, encoded by the layers in order."""
        output = src
        for layer in self.layers:
            output = layer(output, mask, src_key_padding_mask, is_causal=bool(is_causal))
        if src_key_padding_mask is not None and mask is None and self._blanks(src):
            padded = src_key_padding_mask
            output = output.masked_fill((padded if padded.dtype is bool_ else padded != 0).unsqueeze(-1), 0)
        return self._normed(output)

    def _blanks(self, src: Tensor) -> bool:
        """Return whether PyTorch's fast path (nested tensors) would run, which gives zeros at padded positions."""
        first = next(iter(self.layers), None)
        if not isinstance(first, TransformerEncoderLayer) or self.training or first.training or src.ndim != 3:
            return False
        attention = first.self_attn
        simple = first.activation in (F.relu, F.gelu) or isinstance(first.activation, (ReLU, GELU))
        if not (self.enable_nested_tensor and attention.batch_first and simple) or first.norm_first:
            return False
        if attention.in_proj_bias is None or attention.num_heads % 2 or first.norm1.eps != first.norm2.eps:
            return False
        return not (is_grad_enabled() and any(t.requires_grad for t in (src, *first.parameters())))


class TransformerDecoder(_LayerStack):
    """Copies of a decoder layer in sequence.

    :param norm: a normalization of the result.

    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16)
    >>> torch.nn.TransformerDecoder(layer, 2)(torch.ones(4, 3, 8), torch.ones(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Return the sequence, decoded by the layers in order."""
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, *masks, bool(tgt_is_causal), memory_is_causal)
        return self._normed(output)


class Transformer(Module):
    """An encoder, and a decoder that attends to its output.

    :param num_encoder_layers: the number of encoder layers; likewise ``num_decoder_layers``.
    :param custom_encoder: a module that replaces the encoder; likewise ``custom_decoder``.

    The other options are those of :class:`TransformerEncoderLayer`.

    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(torch.ones(3, 5, 8), torch.ones(3, 4, 8)).shape
    torch.Size([3, 4, 8])
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
        custom_encoder: Any | None = None, custom_decoder: Any | None = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        where = {"device": device, "dtype": dtype}
        shared = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*shared, **where)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*shared, **where)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Return the target sequence, decoded with attention to the encoded source.

        :raises RuntimeError: batches or sizes do not fit.
        """
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            sizes = f"{src.shape[batch]} and {tgt.shape[batch]}"
            raise RuntimeError(f"the batch number of src and tgt must be equal, got {sizes}")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            sizes = f"d_model={self.d_model}, got {src.shape[-1]} and {tgt.shape[-1]}"
            raise RuntimeError(f"the feature number of src and tgt must be equal to {sizes}")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        masks = {"tgt_mask": tgt_mask, "memory_mask": memory_mask, "tgt_key_padding_mask": tgt_key_padding_mask}
        causal = {"tgt_is_causal": tgt_is_causal, "memory_is_causal": memory_is_causal}
        decoded: Tensor = self.decoder(tgt, memory, **masks, memory_key_padding_mask=memory_key_padding_mask, **causal)
        return decoded

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the causal mask: -inf above the diagonal, zeros elsewhere.

        >>> import nbautograd as torch
        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(diagonal=1)
