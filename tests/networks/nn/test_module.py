"""The machinery of modules: the same script under both libraries gives the same, errors included."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd
from tests import needs, oracle
from tests.networks.nn.example_module import net, plain

SCRIPTS: dict[str, Callable[[Any, Any], Any]] = {
    "repr": lambda T, m: m,
    "parameters": lambda T, m: [*m.parameters(), *m.parameters(recurse=False)],
    "names": lambda T, m: list(m.named_parameters("p", remove_duplicate=False)),
    "names_own": lambda T, m: list(m.named_parameters(recurse=False)),
    "buffers": lambda T, m: [*m.named_buffers(), *m.buffers(recurse=False)],
    "modules": lambda T, m: [*m.named_modules(prefix="x"), *m.modules(), *m.named_modules(remove_duplicate=False)],
    "children": lambda T, m: [*m.named_children(), *m.children()],
    "submodule": lambda T, m: [m.get_submodule("second.0"), m.get_submodule(""), m.get_parameter("second.0.bias")],
    "buffer": lambda T, m: m.get_buffer("second.1.running_mean"),
    "set_submodule": lambda T, m: (m.set_submodule("second.0", T.nn.ReLU()), m),
    "state": lambda T, m: m.state_dict(),
    "state_prefix": lambda T, m: [m.state_dict(prefix="a.", keep_vars=True), m.state_dict()._metadata],
    "state_into": lambda T, m: [(d := {"x": 1}), m.state_dict(destination=d), d],
    "load": lambda T, m: (m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}), m.state_dict()),
    "load_loose": lambda T, m: (*m.load_state_dict({"own": T.ones(1), "x": 1}, strict=False), m.own),
    "load_assign": lambda T, m: (
        m.load_state_dict({k: v.double() for k, v in m.state_dict().items()}, assign=True),
        m.state_dict(keep_vars=True),
    ),
    "load_number": lambda T, m: (m.second[1].load_state_dict({**m.second[1].state_dict(), "num_batches_tracked":
                                                               T.tensor([7])}), m.second[1].num_batches_tracked),
    "load_old": lambda T, m: m.load_state_dict({k: v for k, v in m.state_dict().items() if "tracked" not in k}),
    "train": lambda T, m: [x.training for x in (m.eval(), *m.modules(), m.train(), m.second[1], m.train(False))],
    "apply": lambda T, m: [names := [], m.apply(lambda x: names.append(type(x).__name__)), names],
    "requires_grad": lambda T, m: list(m.requires_grad_(False).parameters()),
    "to": lambda T, m: [m.to(T.float64).state_dict(), m.half().own, m.float().own, m.to("cpu").own, m.to(T.ones(1)).own,
                        m.double().to(device="cpu", dtype=T.float32).second[0].weight, m.bfloat16().own.dtype],
    "type": lambda T, m: m.type(T.float64).second[2].seen,
    "to_keeps_identity": lambda T, m: [(p := m.own), m.double().own is p, p],
    "zero_grad": lambda T, m: [
        m(T.ones(3, 2)).sum().backward(), m.own.grad, m.zero_grad(False), m.own.grad, m.zero_grad(), m.own.grad],
    "set_attribute": lambda T, m: [setattr(m, "own", None), m, setattr(m, "own", T.nn.Parameter(T.ones(3))), m.own],
    "replace_kind": lambda T, m: [setattr(m, "note", T.nn.ReLU()), m, setattr(m, "first", T.nn.Parameter(T.ones(1))),
                                  list(m.state_dict())],
    "set_module": lambda T, m: [setattr(m, "first", None), m, setattr(m, "first", T.nn.ReLU()), m],
    "set_buffer": lambda T, m: [setattr(m.first, "seen", T.ones(2)), m.first.seen, m.first.state_dict(),
                                setattr(m.first, "seen", None), m.first.state_dict()],
    "new_buffer": lambda T, m: [setattr(m, "b", T.nn.Buffer(T.ones(2), persistent=False)), list(m.state_dict()),
                                list(m.named_buffers()), isinstance(m.b, T.nn.Buffer)],
    "delete": lambda T, m: [delattr(m, "own"), delattr(m, "second"), delattr(m.first, "seen"), delattr(m, "note"), m,
                            hasattr(m, "own"), list(m.state_dict())],
    "dir": lambda T, m: [[n in dir(m) for n in ("own", "first", "note", "forward")], "0" in dir(m.second)],
    "deepcopy": lambda T, m: [c := copy.deepcopy(m), c.first is c.again, c.first is m.first, c.own is m.own,
                              c.state_dict()],
    "deepcopy_shares": lambda T, m: [p := T.nn.Parameter(T.ones(1)), (q := copy.deepcopy([p, p]))[0] is q[1], q[0]],
    "add_module": lambda T, m: [m.add_module("x", T.nn.ReLU()), m.register_module("y", None), m, m.x],
    "sequential": lambda T, m: [
        s := T.nn.Sequential(OrderedDict(a=T.nn.ReLU(), b=T.nn.Tanh(), c=T.nn.Sigmoid())),
        s[1:], s[-1], len(s), list(s), s.b, s + T.nn.Sequential(T.nn.ELU()), s * 2, s.pop(1), s,
        T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh()).insert(1, T.nn.ELU()), s.append(T.nn.GELU()), s.extend([T.nn.GELU()]),
        s.__delitem__(0), s, s.__setitem__(0, T.nn.ReLU6()), s, s.__imul__(2)],
    "module_list": lambda T, m: [
        s := T.nn.ModuleList([T.nn.ReLU(), T.nn.Tanh()]), s[0], s[1:], len(s), list(s), s.append(T.nn.ELU()),
        s.insert(0, T.nn.GELU()), s, s.pop(1), s, s.__delitem__(slice(0, 1)), s,
        s.__add__([T.nn.ReLU()]), s.extend(list(s)),
        s.__setitem__(-1, T.nn.ReLU6()), s, s.__iadd__([T.nn.ReLU()]), list(s.state_dict())],
    "module_dict": lambda T, m: [
        d := T.nn.ModuleDict({"a": T.nn.ReLU()}), d.update([["b", T.nn.Tanh()]]), d["b"], "a" in d, list(d), len(d),
        list(d.items()), list(d.keys()), list(d.values()), d.pop("a"), d, d.__setitem__("z", T.nn.ELU()), d,
        d.__delitem__("b"), d, d.clear(), d],
    "parameter_list": lambda T, m: [
        s := T.nn.ParameterList([T.ones(1), T.nn.Parameter(T.zeros(2))]), s[0], s[-1], s[:1], len(s), list(s),
        s.append(T.ones(3)), s.extend([T.ones(1)]), s.__setitem__(0, T.zeros(1)), s, list(s.state_dict()), s[0]],
    "parameter_dict": lambda T, m: [
        d := T.nn.ParameterDict({"b": T.ones(1), "a": T.zeros(2)}), list(d), d["a"], "a" in d, len(d), list(d.items()),
        d.get("z", 3), d.setdefault("z", T.ones(1)), d.pop("a"), d, d.copy(), d | {"q": T.ones(1)}, list(d.values()),
        d.popitem(), d.fromkeys(["x", "y"], 1), d.update({"m": T.ones(1)}), list(d.state_dict()), list(reversed(d)),
        d.clear(), d],
    "isinstance": lambda T, m: [isinstance(m.own, T.nn.Parameter), isinstance(T.ones(1), T.nn.Parameter),
                                isinstance(m.own, T.Tensor), isinstance(m.first.seen, T.nn.Buffer),
                                isinstance(T.nn.Buffer(), T.nn.Buffer), isinstance(T.nn.Parameter(), T.nn.Buffer)],
    "parameter_shares": lambda T, m: [t := T.zeros(2), p := T.nn.Parameter(t), t.fill_(3), p, p.is_leaf, (p * 1)],
    "copies": lambda T, m: [isinstance(copy.deepcopy(T.nn.Buffer(T.ones(1))), T.nn.Buffer), copy.deepcopy(m.first.seen),
                            isinstance(copy.deepcopy(m.own), T.nn.Parameter), isinstance(copy.copy(m), type(m))],
    "buffer_default": lambda T, m: [T.nn.Buffer(), T.nn.Buffer(T.ones(1)).persistent, T.nn.Parameter().shape == (0,)],
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name: str) -> None:
    oracle.check(lambda T: plain(SCRIPTS[name](T, net(T))))


def hooked(T: Any, register: Callable[[Any, list[Any]], Any], *, fails: bool = False) -> list[Any]:
    m, log = net(T), []
    handles = register(m, log)
    x = T.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]], requires_grad=True)
    y = m(x)
    log.append(("out", plain(y)))
    (y * y * y).sum().backward()
    log.append(("grad", plain(x.grad)))
    for handle in handles if isinstance(handles, (list, tuple)) else [handles]:
        handle.remove()
    (m(x) * x).sum().backward()
    log.append(("after", plain(x.grad)))
    return log


def told(log: list[Any], label: str, result: Any = None) -> Callable[..., Any]:
    def hook(*args: Any) -> Any:
        log.append((label, plain(args[1:])))
        return result(*args) if callable(result) else result

    return hook


HOOKS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "pre": lambda m, log: m.first.register_forward_pre_hook(told(log, "a")),
    "pre_replaces": lambda m, log: m.first.register_forward_pre_hook(lambda mod, args: args[0] * 2),
    "pre_tuple": lambda m, log: m.first.register_forward_pre_hook(lambda mod, args: (args[0] * 2, 3.0)),
    "pre_kwargs": lambda m, log: m.first.register_forward_pre_hook(
        lambda mod, args, kwargs: (args, {"scale": 5.0}), with_kwargs=True
    ),
    "order": lambda m, log: [
        m.first.register_forward_hook(told(log, "one")),
        m.first.register_forward_hook(told(log, "two"), prepend=True),
        m.first.register_forward_pre_hook(told(log, "three")),
        m.first.register_forward_pre_hook(told(log, "four"), prepend=True),
        m.second[0].register_full_backward_hook(told(log, "five")),
        m.second[0].register_full_backward_hook(told(log, "six"), prepend=True),
    ],
    "forward_replaces": lambda m, log: m.second.register_forward_hook(told(log, "x", lambda mod, args, out: out * 3)),
    "forward_kwargs": lambda m, log: m.register_forward_hook(told(log, "x"), with_kwargs=True),
    "backward": lambda m, log: [x.register_full_backward_hook(told(log, str(i))) for i, x in enumerate(m.modules())],
    "backward_replaces": lambda m, log: m.second.register_full_backward_hook(lambda mod, i, o: (i[0] * 7,)),
    "backward_pre": lambda m, log: m.second[2].register_full_backward_pre_hook(
        told(log, "x", lambda mod, o: (o[0] * 2,))
    ),
    "both_backward": lambda m, log: [
        m.second[2].register_full_backward_pre_hook(told(log, "p", lambda mod, o: (o[0] * 2,))),
        m.second[2].register_full_backward_hook(told(log, "q")),
    ],
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks(name: str) -> None:
    oracle.check(hooked, HOOKS[name])


def test_backward_hook_without_gradients_of_inputs() -> None:
    def program(T: Any) -> Any:
        log: list[Any] = []
        m = net(T).first
        m.register_full_backward_hook(told(log, "x"))
        with pytest.warns(UserWarning, match="Full backward hook is firing"):
            m(T.ones(2)).sum().backward()
        return log

    oracle.check(program, exact=True)


def test_hooks_of_all_modules() -> None:
    def program(T: Any) -> Any:
        log: list[Any] = []
        place = T.nn.modules.module
        handles = [
            place.register_module_forward_pre_hook(lambda m, a: log.append(("pre", type(m).__name__))),
            place.register_module_forward_hook(lambda m, a, o: log.append(("post", type(m).__name__))),
            place.register_module_full_backward_hook(lambda m, i, o: log.append(("back", type(m).__name__))),
        ]
        net(T)(T.ones(3, 2, requires_grad=True)).sum().backward()
        for handle in handles:
            handle.remove()
        net(T)(T.ones(3, 2))
        return log

    assert len(oracle.check(program)) == 18


def test_a_hook_that_is_always_called() -> None:
    def program(T: Any) -> Any:
        m, log = net(T), []
        m.first.register_forward_hook(lambda mod, args, out: log.append(out), always_call=True)
        m.first.register_forward_hook(lambda mod, args, out: log.append("never"))
        with pytest.raises(RuntimeError):
            m.first(T.ones(5))
        return log

    assert oracle.check(program) == [None]


def test_state_hooks() -> None:
    def program(T: Any) -> Any:
        m, log, one = net(T), [], T.ones(1)
        m.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append((prefix, keep)))
        m.first.register_state_dict_post_hook(lambda mod, state, prefix, about: state.update(extra=one))
        state = m.state_dict()
        log.append(list(state))
        m.register_load_state_dict_pre_hook(lambda mod, state, *rest: log.append(state.pop("extra").tolist()))
        m.register_load_state_dict_post_hook(lambda mod, keys: (log.append(plain(keys)), keys[0].clear())[2:])
        del state["own"]
        with pytest.raises(AssertionError, match=r"must return None|not expected to return"):
            m.load_state_dict(state)
        return log

    oracle.check(program, exact=True)


def test_extra_state() -> None:
    def program(T: Any) -> Any:
        class Counter(T.nn.Module):
            count = 3

            def get_extra_state(self) -> Any:
                return {"count": self.count}

            def set_extra_state(self, state: Any) -> None:
                self.count = state["count"]

        a, b = Counter(), Counter()
        b.count = 5
        state = b.state_dict()
        a.load_state_dict(state)
        found = list(state), a.count, str(a.load_state_dict({}, strict=False))
        with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
            a.load_state_dict({})
        with pytest.raises(RuntimeError, match=r'Unexpected key.*"_extra_state"'):
            T.nn.ReLU().load_state_dict(state)
        return found

    oracle.check(program)


class Pickled(nbautograd.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nbautograd.nn.Linear(2, 2)
        self.register_buffer("b", nbautograd.ones(1))


def test_pickle() -> None:
    m = Pickled()
    found = pickle.loads(pickle.dumps(m))
    assert repr(found) == repr(m) and values(found.state_dict()) == values(m.state_dict())
    assert isinstance(found.inner.weight, nbautograd.nn.Parameter)
    for layer in (nbautograd.nn.ReLU(True), nbautograd.nn.LSTM(2, 3), nbautograd.nn.MaxPool2d(2)):
        assert repr(pickle.loads(pickle.dumps(layer))) == repr(layer)


def test_a_method_for_each_of_pytorch() -> None:
    """Except what belongs to compilers, other hardware and PyTorch's inner workings."""
    left_out = {"ipu", "mtia", "xpu", "T_destination"}
    public = {n for n in oracle.answer(lambda T: dir(T.nn.Module)) if not n.startswith("_")}
    assert {n for n in public if not hasattr(nbautograd.nn.Module, n)} == left_out


def values(state: Any) -> dict[str, Any]:
    return {name: value.tolist() for name, value in state.items()}


def test_state_travels_both_ways() -> None:
    ours, theirs = net(nbautograd), oracle.answer(lambda T: {k: v * 3 for k, v in net(T).state_dict().items()})
    ours.load_state_dict({k: nbautograd.from_numpy(v.values.copy()) for k, v in theirs.parts})
    oracle.same(dict(ours.state_dict()), theirs)

    def loaded(T: Any, state: Any) -> Any:
        module = net(T)
        module.load_state_dict({k: T.from_numpy(v) for k, v in state.items()})
        return module.state_dict()

    state = {k: np.asarray(np.array(v) * 5) for k, v in net(nbautograd).state_dict().items()}
    assert values(oracle.check(loaded, state, exact=True)) == {k: v.tolist() for k, v in state.items()}


def test_state_travels_both_ways_by_safetensors(tmp_path: Any) -> None:
    torch, files = oracle.live(), needs.package("safetensors.torch")
    ours, theirs = nbautograd.nn.LSTM(2, 3), torch.nn.LSTM(2, 3)
    nbautograd.save(ours.state_dict(), tmp_path / "a.safetensors")
    theirs.load_state_dict(files.load_file(tmp_path / "a.safetensors"))
    assert values(ours.state_dict()) == values(theirs.state_dict())
    files.save_file(torch.nn.LSTM(2, 3).state_dict(), tmp_path / "b.safetensors")
    assert str(ours.load_state_dict(nbautograd.load(tmp_path / "b.safetensors"))) == "<All keys matched successfully>"
