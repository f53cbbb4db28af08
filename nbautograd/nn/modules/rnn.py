"""Recurrent layers: Elman's, LSTM and GRU, over whole sequences or step by step."""

from __future__ import annotations

import math
import numbers
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import zeros
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape.joining import cat, stack
from nbautograd.errors import warn
from nbautograd.nn import functional as F, init  # noqa: N812
from nbautograd.nn.functional.fused_recurrent import Weights, fused, is_fused
from nbautograd.nn.functional.recurrent import STEPS, State, Step, run
from nbautograd.nn.modules._options import differing
from nbautograd.nn.modules.linear import new_parameter
from nbautograd.nn.modules.module import Module
from nbautograd.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

USUAL = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}


class RNNBase(Module):
    """Base of RNN, LSTM and GRU.

    :param mode: ``"RNN_TANH"``, ``"RNN_RELU"``, ``"LSTM"`` or ``"GRU"``.
    :param num_layers: the number of layers, each over the outputs of the previous one.
    :param dropout: the probability of dropout between the layers while training.
    :param bidirectional: whether each layer also runs backwards.
    :param proj_size: the projected output size of an LSTM; 0 for no projection.
    :raises ValueError: a size is invalid.
    :raises TypeError: a size is not an integer.

    >>> torch.nn.RNNBase("GRU", 3, 4)(torch.ones(5, 2, 3))[0].shape
    torch.Size([5, 2, 4])
    """

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if mode not in STEPS:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        _check_dropout(dropout, num_layers)
        for name, flag in (("bias", bias), ("batch_first", batch_first), ("bidirectional", bidirectional)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        gates = STEPS[mode][0] * hidden_size
        output = proj_size or hidden_size
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else output * self._directions
            for ending in self._endings(layer):
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, inputs), "weight_hh": (gates, output)}
                if bias:
                    shapes.update(bias_ih=(gates,), bias_hh=(gates,))
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name + ending, new_parameter(*shape, device=device, dtype=dtype))
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _endings(self, layer: int) -> tuple[str, ...]:
        return (f"_l{layer}", f"_l{layer}_reverse")[: self._directions]

    def reset_parameters(self) -> None:
        """Draw new parameters, uniformly within ``1 / sqrt(hidden_size)`` of zero."""
        _fill(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: the parameters' memory is not rearranged."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        own = self._parameters
        return [[own[name] for name in names if name in own] for names in self._names_of_weights()]

    def _names_of_weights(self) -> list[list[str]]:
        """Return the names of the weights by layer and direction, in PyTorch's order."""
        kinds = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * bool(self.bias)
        kinds += ["weight_hr"] * bool(getattr(self, "proj_size", 0))  # which old files lack
        endings = (ending for layer in range(self.num_layers) for ending in self._endings(layer))
        return [[kind + ending for kind in kinds] for ending in endings]

    def _state_shapes(self, batch: int) -> list[tuple[int, int, int]]:
        sizes = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        return [(self.num_layers * self._directions, batch, size) for size in sizes]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Return the outputs of the last layer at all steps, and the last state of all layers.

        :param input: shape (length, batch, input_size), see ``batch_first``; (length, input_size) without batch; or a
            ``PackedSequence``.
        :param hx: the first state, shape (layers · directions, batch, hidden_size); zeros by default. For an LSTM a
            tuple of two.
        :raises RuntimeError: sizes do not fit.
        """
        packed = input if isinstance(input, PackedSequence) else None
        data = input.data if packed is not None else input
        self._check_input(data, packed is not None)
        batched = packed is not None or data.ndim == 3
        if packed is None:
            data = data.unsqueeze(1) if not batched else data.transpose(0, 1) if self.batch_first else data
        sizes = None if packed is None else packed.batch_sizes.tolist()
        shapes = self._state_shapes(data.shape[1] if sizes is None else sizes[0])
        if hx is None:
            state: State = tuple(zeros(shape, dtype=data.dtype, device=data.device) for shape in shapes)
        else:
            state = self._given_state(hx, batched, packed, shapes)
        output, last = self._all_layers(data, sizes, state)
        result: Tensor | PackedSequence = output
        if packed is not None:
            result = PackedSequence(output, *packed[1:])
            last = _ordered(last, packed.unsorted_indices)
        elif not batched:
            result, last = output.squeeze(1), tuple(s.squeeze(1) for s in last)
        elif self.batch_first:
            result = output.transpose(0, 1)
        return result, (last if self.mode == "LSTM" else last[0])

    def _check_input(self, data: Any, is_packed: bool) -> None:
        check_tensors(type(self).__name__, input=data)
        if not is_packed and data.ndim not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {data.ndim}D instead")
        kind = self.weight_ih_l0.dtype
        if data.dtype != kind:
            ways = f"Convert input: input.to({kind!r}), or convert model: model.to({data.dtype!r})"
            raise ValueError(f"RNN input dtype ({data.dtype!r}) does not match weight dtype ({kind!r}). {ways}")
        if (size := data.shape[-1]) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {size}")

    def _given_state(self, hx: Any, batched: bool, packed: PackedSequence | None, shapes: list[Any]) -> State:
        """Return the given state with a batch, in the order of the packed sequences; its tensors have ``shapes``."""
        state = tuple(hx) if self.mode == "LSTM" else (hx,)
        kind, ndim = ("batched", 3) if batched else ("unbatched", 2)
        ndims = [s.ndim for s in state]
        if any(each != ndim for each in ndims):
            raise RuntimeError(f"For {kind} {ndim}-D input, hx should also be {ndim}-D but got {ndims}")
        if not batched:
            state = tuple(s.unsqueeze(1) for s in state)
        elif packed is not None:
            state = _ordered(state, packed.sorted_indices)
        for i, (tensor, expected) in enumerate(zip(state, shapes, strict=True)):
            if tuple(tensor.shape) != expected:
                which = "hidden" if len(shapes) == 1 else f"hidden[{i}]"
                raise RuntimeError(f"Expected {which} size {expected}, got {list(tensor.shape)}")
        return state

    def _all_layers(self, data: Tensor, sizes: list[int] | None, state: State) -> tuple[Tensor, State]:
        results: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.dropout > 0:
                data = F.dropout(data, self.dropout, self.training)
            directions = []
            for backwards, ending in enumerate(self._endings(layer)):
                number = layer * self._directions + backwards
                output, last = self._layer(ending, data, sizes, tuple(s[number] for s in state), bool(backwards))
                directions.append(output)
                results.append(last)
            data = directions[0] if len(directions) == 1 else cat(directions, -1)
        return data, tuple(stack(parts) for parts in zip(*results, strict=True))

    def _layer(
        self, ending: str, data: Tensor, sizes: list[int] | None, first: State, backwards: bool
    ) -> tuple[Tensor, State]:
        """Return the outputs of a layer in one direction at all steps, and its last state."""
        own = self._parameters
        w_ih, w_hh = own["weight_ih" + ending], own["weight_hh" + ending]
        b_ih, b_hh, w_hr = (own.get(kind + ending) for kind in ("bias_ih", "bias_hh", "weight_hr"))
        weights = Weights(w_ih, w_hh, b_ih, b_hh)
        if sizes is None and w_hr is None and is_fused(data, weights, first):
            return fused(self.mode, data, weights, first, backwards)
        x = F.linear(data, w_ih, b_ih)
        if self.mode == "LSTM":  # autocast computes it in the lower precision, as one operation
            first = tuple(s.to(x.dtype) for s in first)
        steps = list(x.unbind(0) if sizes is None else x.split(sizes))
        outputs, last = run(steps, first, STEPS[self.mode][1](w_hh, b_hh, w_hr), backwards)
        return stack(outputs) if sizes is None else cat(outputs), last

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from the default."""
        return f"{self.input_size}, {self.hidden_size}{differing(self, USUAL)}"


def _ordered(state: State, indices: Tensor | None) -> State:
    return state if indices is None else tuple(s.index_select(1, indices) for s in state)


def _check_dropout(dropout: float, num_layers: int) -> None:
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            f"dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
            f"got {dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warn(f"dropout={dropout} is applied between recurrent layers, so it needs num_layers greater than 1")


def _check_sizes(input_size: Any, hidden_size: Any, num_layers: Any, proj_size: Any) -> None:
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if size is True if name == "num_layers" else not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero, got {size}")
    if proj_size < 0:
        raise ValueError(f"proj_size should be a positive integer or zero to disable projections, got {proj_size}")
    if proj_size >= hidden_size:
        raise ValueError(f"proj_size has to be smaller than hidden_size {hidden_size}, got {proj_size}")


def _fill(module: Module, hidden_size: int) -> None:
    bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for p in module.parameters():
        init.uniform_(p, -bound, bound)


def _no_projection(options: dict[str, Any]) -> dict[str, Any]:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    return options


class RNN(RNNBase):
    """Elman's recurrent network: ``h' = tanh(w_ih x + b_ih + w_hh h + b_hh)``.

    :param nonlinearity: ``"tanh"`` or ``"relu"``; as a positional argument after ``num_layers``.
    :raises ValueError: the nonlinearity is unknown.

    >>> output, h = torch.nn.RNN(3, 4)(torch.zeros(5, 2, 3))
    >>> output.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        positional = list(args)
        nonlinearity = positional.pop(3) if len(positional) > 3 else kwargs.pop("nonlinearity", "tanh")
        mode = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}.get(nonlinearity)
        if mode is None:
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(mode, *positional, **_no_projection(kwargs))
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory.

    ``i, f, o = sigmoid(...)``, ``g = tanh(...)``, ``c' = f · c + i · g``, ``h' = o · tanh(c')``.

    >>> outputs, (h, c) = torch.nn.LSTM(3, 4)(torch.ones(5, 2, 3))
    >>> outputs.shape, h.shape, c.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units.

    ``r, z = sigmoid(...)``, ``n = tanh(w_in x + b_in + r · (w_hn h + b_hn))``, ``h' = (1 - z) · n + z · h``.

    >>> outputs, h = torch.nn.GRU(3, 4)(torch.ones(5, 2, 3))
    >>> outputs.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **_no_projection(kwargs))


class RNNCellBase(Module):
    """Base of the cells, which compute one time step.

    :param num_chunks: the number of gates.

    >>> torch.nn.RNNCellBase(3, 4, bias=True, num_chunks=1).weight_ih.shape
    torch.Size([4, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        self.weight_ih = new_parameter(gates, input_size, device=device, dtype=dtype)
        self.weight_hh = new_parameter(gates, hidden_size, device=device, dtype=dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new_parameter(gates, device=device, dtype=dtype, wanted=bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters, uniformly within ``1 / sqrt(hidden_size)`` of zero."""
        _fill(self, self.hidden_size)

    def _step(self, mode: str, input: Tensor, hidden: State | None) -> State:
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        if (size := input.shape[-1]) != self.input_size:
            raise RuntimeError(f"{name}: input has inconsistent input_size: got {size}, expected {self.input_size}")
        shape = (*input.shape[:-1], self.hidden_size)
        if hidden is None:
            hidden = (zeros(shape, dtype=input.dtype, device=input.device),) * (2 if mode == "LSTM" else 1)
        for state in hidden:
            if state.ndim not in (1, 2):
                raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {state.ndim}D instead")
            if tuple(state.shape) != shape:
                raise RuntimeError(f"{name}: hidden has shape {list(state.shape)}, expected {list(shape)}")
        step: Step = STEPS[mode][1](self.weight_hh, self.bias_hh, None)
        return step(F.linear(input, self.weight_ih, self.bias_ih), hidden)

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of :class:`RNN`.

    :param nonlinearity: ``"tanh"`` or ``"relu"``.

    >>> torch.nn.RNNCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state, for an input of shape (batch, input_size) or (input_size,)."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of :class:`LSTM`.

    >>> h, c = torch.nn.LSTMCell(3, 4)(torch.ones(2, 3))
    >>> h.shape, c.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> State:
        """Return the next hidden and cell states, for an input of shape (batch, input_size) or (input_size,)."""
        return self._step("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """One step of :class:`GRU`.

    >>> torch.nn.GRUCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state, for an input of shape (batch, input_size) or (input_size,)."""
        return self._step("GRU", input, None if hx is None else (hx,))[0]
