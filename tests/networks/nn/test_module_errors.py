"""Misuse of modules: PyTorch's exceptions with its key words, and nothing left half changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbautograd
from tests import oracle
from tests.networks.nn.example_module import net


def early(T: Any, what: Callable[[Any], Any]) -> Any:
    class Early(T.nn.Module):
        def __init__(self) -> None:
            what(self)

    return Early()


MISUSE: dict[str, Callable[[Any, Any], Any]] = {
    "parameter of a list": lambda T, m: T.nn.Parameter([1.0]),
    "parameter of integers": lambda T, m: T.nn.Parameter(T.tensor([1])),
    "unknown option": lambda T, m: T.nn.ReLU(foo=1),
    "too many options": lambda T, m: T.nn.ReLU(True, 1),
    "missing option": lambda T, m: T.nn.Linear(3),
    "missing option of a table": lambda T, m: T.nn.PixelShuffle(),
    "missing input": lambda T, m: T.nn.MSELoss()(T.ones(1)),
    "too many inputs": lambda T, m: T.nn.ReLU()(T.ones(1), T.ones(1)),
    "module with arguments": lambda T, m: T.nn.Module(3),
    "module with options": lambda T, m: T.nn.Module(a=3),
    "no forward": lambda T, m: T.nn.Module()(1),
    "early parameter": lambda T, m: early(T, lambda s: setattr(s, "p", T.nn.Parameter(T.ones(1)))),
    "early module": lambda T, m: early(T, lambda s: setattr(s, "p", T.nn.ReLU())),
    "early buffer": lambda T, m: early(T, lambda s: s.register_buffer("p", T.ones(1))),
    "early register": lambda T, m: early(T, lambda s: s.register_parameter("p", T.nn.Parameter(T.ones(1)))),
    "tensor as parameter": lambda T, m: setattr(m, "own", T.ones(1)),
    "string as module": lambda T, m: setattr(m, "first", "x"),
    "string as buffer": lambda T, m: setattr(m.first, "seen", "x"),
    "register a tensor": lambda T, m: m.register_parameter("q", T.ones(2)),
    "register computed": lambda T, m: m.register_parameter("q", T.nn.Parameter(T.ones(2)) * 2),
    "register taken": lambda T, m: m.register_buffer("forward", T.ones(2)),
    "register dotted": lambda T, m: m.register_buffer("a.b", None),
    "register empty": lambda T, m: m.register_parameter("", None),
    "register number": lambda T, m: m.register_parameter(3, None),
    "register string as buffer": lambda T, m: m.register_buffer("z", "x"),
    "add no module": lambda T, m: m.add_module("x", 3),
    "add dotted": lambda T, m: m.add_module("x.y", T.nn.ReLU()),
    "no attribute": lambda T, m: m.nothing,
    "delete nothing": lambda T, m: delattr(m, "nothing"),
    "no submodule": lambda T, m: m.get_submodule("a.b"),
    "submodule is none": lambda T, m: m.get_submodule("own"),
    "no parameter": lambda T, m: m.get_parameter("first.z"),
    "parameter is none": lambda T, m: m.get_parameter("first.seen"),
    "no buffer": lambda T, m: m.get_buffer("own"),
    "set nothing": lambda T, m: m.set_submodule("", T.nn.ReLU()),
    "set no module": lambda T, m: m.set_submodule("first", 3),
    "integers": lambda T, m: m.to(T.int64),
    "to nowhere": lambda T, m: m.to("nowhere"),
    "to with an unknown option": lambda T, m: m.to(foo=1),
    "type of integers": lambda T, m: m.type(T.int64),
    "train a number": lambda T, m: m.train(3),
    "load a list": lambda T, m: m.load_state_dict([1]),
    "load nothing": lambda T, m: m.load_state_dict({}),
    "load too much": lambda T, m: m.load_state_dict({**m.state_dict(), "a": T.ones(1), "first.w.x": T.ones(1)}),
    "load another shape": lambda T, m: m.load_state_dict({**m.state_dict(), "own": T.ones(3)}, strict=False),
    "load a number": lambda T, m: m.load_state_dict({**m.state_dict(), "own": 3}),
    "state hook answers": lambda T, m: (m.register_state_dict_post_hook(lambda *a: {}), m.state_dict()),
    "pre-hook answers wrongly": lambda T, m: (
        m.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True), m(T.ones(3, 2))),
    "backward hook answers wrongly": lambda T, m: (
        m.register_full_backward_hook(lambda m, i, o: (1, 2)), m(T.ones(3, 2, requires_grad=True)).sum().backward()),
    "apply nothing": lambda T, m: m.apply(3),
    "extra state": lambda T, m: T.nn.ReLU().get_extra_state(),
    "sequential of numbers": lambda T, m: T.nn.Sequential(3),
    "index": lambda T, m: T.nn.Sequential()[0],
    "insert": lambda T, m: T.nn.Sequential().insert(3, T.nn.ReLU()),
    "insert no module": lambda T, m: T.nn.Sequential().insert(0, 3),
    "add": lambda T, m: T.nn.Sequential().__add__([T.nn.ReLU()]),
    "times": lambda T, m: T.nn.Sequential() * 0,
    "list of numbers": lambda T, m: T.nn.ModuleList([3]),
    "extend by a number": lambda T, m: T.nn.ModuleList().extend(3),
    "list called": lambda T, m: T.nn.ModuleList()(1),
    "dict of a number": lambda T, m: T.nn.ModuleDict(3),
    "dict of numbers": lambda T, m: T.nn.ModuleDict({"a": 3}),
    "dict of singles": lambda T, m: T.nn.ModuleDict([["a"]]),
    "key": lambda T, m: T.nn.ModuleDict()["a"],
    "list of one tensor": lambda T, m: T.nn.ParameterList(T.ones(2)),
    "parameter list called": lambda T, m: T.nn.ParameterList()(1),
    "parameter index": lambda T, m: T.nn.ParameterList()[0],
    "parameter dict of a number": lambda T, m: T.nn.ParameterDict(3),
    "parameter dict with a number": lambda T, m: T.nn.ParameterDict({3: T.ones(1)}),
    "parameter key": lambda T, m: T.nn.ParameterDict()["a"],
    "share": lambda T, m: T.nn.Linear(2, 2).load_state_dict({"weight": T.ones(2, 2)}),
    # layers
    "dropout": lambda T, m: T.nn.Dropout(1.5),
    "hardtanh": lambda T, m: T.nn.Hardtanh(1, 0),
    "groups": lambda T, m: T.nn.Conv2d(3, 4, 1, groups=2),
    "no groups": lambda T, m: T.nn.Conv2d(4, 4, 1, groups=0),
    "padding mode": lambda T, m: T.nn.Conv2d(4, 4, 1, padding_mode="x"),
    "padding": lambda T, m: T.nn.Conv2d(4, 4, 1, padding="x"),
    "same with strides": lambda T, m: T.nn.Conv2d(4, 4, 1, 2, padding="same"),
    "transposed mode": lambda T, m: T.nn.ConvTranspose2d(4, 4, 1, padding_mode="reflect"),
    "output size": lambda T, m: T.nn.ConvTranspose1d(1, 1, 3)(T.ones(1, 1, 4), output_size=[9]),
    "batch norm": lambda T, m: T.nn.BatchNorm2d(3)(T.ones(2, 3)),
    "one value": lambda T, m: T.nn.BatchNorm1d(3)(T.ones(1, 3)),
    "instance norm": lambda T, m: T.nn.InstanceNorm1d(3)(T.ones(3)),
    "instance channels": lambda T, m: T.nn.InstanceNorm1d(3, affine=True)(T.ones(1, 2, 4)),
    "group norm": lambda T, m: T.nn.GroupNorm(2, 3),
    "softmax2d": lambda T, m: T.nn.Softmax2d()(T.ones(2, 2)),
    "bilinear": lambda T, m: T.nn.Bilinear(0, 1, 1),
    "linear shape": lambda T, m: T.nn.Linear(3, 1)(T.ones(2, 2)),
    "embedding index": lambda T, m: T.nn.Embedding(3, 1)(T.tensor([3])),
    "padding index": lambda T, m: T.nn.Embedding(3, 1, padding_idx=3),
    "embedding weight": lambda T, m: T.nn.Embedding(3, 1, _weight=T.ones(2, 1)),
    "pretrained": lambda T, m: T.nn.Embedding.from_pretrained(T.ones(3)),
    "unflatten": lambda T, m: T.nn.Unflatten(0, 3),
    "unflatten sizes": lambda T, m: T.nn.Unflatten(0, (3, "a")),
    "margin": lambda T, m: T.nn.TripletMarginLoss(0),
    "margin power": lambda T, m: T.nn.MultiMarginLoss(3),
    "by position": lambda T, m: T.nn.GaussianNLLLoss(True),
    "fractional": lambda T, m: T.nn.FractionalMaxPool2d(2),
    "fractional ratio": lambda T, m: T.nn.FractionalMaxPool2d(2, output_ratio=2),
    "circular": lambda T, m: T.nn.CircularPad1d(1)(T.ones(1)),
    "heads": lambda T, m: T.nn.MultiheadAttention(5, 2),
    "no heads": lambda T, m: T.nn.MultiheadAttention(4, 0),
    "activation": lambda T, m: T.nn.TransformerEncoderLayer(4, 2, activation="x"),
    "causal without mask": lambda T, m: T.nn.TransformerEncoderLayer(4, 2)(T.ones(2, 1, 4), is_causal=True),
    "transformer sizes": lambda T, m: T.nn.Transformer(4, 2, 1, 1, batch_first=True)(T.ones(2, 1, 3), T.ones(2, 1, 4)),
    "transformer batch": lambda T, m: T.nn.Transformer(4, 2, 1, 1, batch_first=True)(T.ones(1, 2, 4), T.ones(2, 2, 4)),
    "nonlinearity": lambda T, m: T.nn.RNN(2, 3, nonlinearity="x"),
    "projection": lambda T, m: T.nn.GRU(2, 3, proj_size=1),
    "large projection": lambda T, m: T.nn.LSTM(2, 3, proj_size=3),
    "rnn dropout": lambda T, m: T.nn.LSTM(2, 3, dropout=2),
    "negative projection": lambda T, m: T.nn.LSTM(2, 3, proj_size=-1),
    "rnn input size": lambda T, m: T.nn.LSTM(0, 3),
    "rnn input size type": lambda T, m: T.nn.GRU("2", 3),
    "rnn bias": lambda T, m: T.nn.RNN(2, 3, bias=1),
    "rnn batch first": lambda T, m: T.nn.LSTM(2, 3, batch_first=1),
    "rnn size": lambda T, m: T.nn.LSTM(2, 0),
    "rnn size type": lambda T, m: T.nn.LSTM(2, 3.0),
    "rnn layers": lambda T, m: T.nn.LSTM(2, 3, 0),
    "rnn input": lambda T, m: T.nn.LSTM(2, 3)(T.ones(4, 1, 3)),
    "rnn dims": lambda T, m: T.nn.RNN(2, 3)(T.ones(2)),
    "rnn hidden": lambda T, m: T.nn.GRU(2, 3)(T.ones(4, 1, 2), T.ones(1, 2, 3)),
    "rnn hidden dims": lambda T, m: T.nn.GRU(2, 3)(T.ones(4, 1, 2), T.ones(1, 3)),
    "rnn dtype": lambda T, m: T.nn.GRU(2, 3)(T.ones(4, 1, 2, dtype=T.float64)),
    "cell input": lambda T, m: T.nn.LSTMCell(2, 3)(T.ones(1, 3)),
    "cell hidden": lambda T, m: T.nn.GRUCell(2, 3)(T.ones(1, 2), T.ones(1, 4)),
    "cell dims": lambda T, m: T.nn.RNNCell(2, 3)(T.ones(1, 1, 2)),
}  # fmt: skip


def values(m: Any) -> dict[str, Any]:
    return {name: value.tolist() for name, value in m.state_dict().items()}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name: str) -> None:
    modules = []

    def program(T: Any) -> Any:
        modules.append(net(T))
        MISUSE[name](T, modules[-1])

    assert str(oracle.check_raises(program))
    if "answers" not in name:
        assert values(modules[-1]) == values(net(nbautograd))  # a failed call changes nothing


def test_a_failed_load_changes_nothing() -> None:
    m = net(nbautograd)
    before, parameters = values(m), list(m.parameters())
    state = {k: v + 1 for k, v in m.state_dict().items()}
    state["second.2.w"] = nbautograd.ones(7)
    for assign in (False, True):
        with pytest.raises(RuntimeError, match=r"size mismatch for second\.2\.w"):
            m.load_state_dict(state, assign=assign)
        assert values(m) == before
        assert all(a is b for a, b in zip(m.parameters(), parameters, strict=True))


def test_what_is_not_supported_says_so() -> None:
    with pytest.raises(NotImplementedError, match="not supported"):
        net(nbautograd).share_memory()
