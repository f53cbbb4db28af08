"""Steps equal to PyTorch's over 50 steps: every optimizer, every combination of its options."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle

optim = nb.optim

COMMON = {"maximize": (False, True), "weight_decay": (0, 0.1)}
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "SGD": COMMON | {"lr": (0.05,), "momentum": (0, 0.9), "dampening": (0, 0.3), "nesterov": (False, True)},
    "Adam": COMMON | {"lr": (0.05,), "amsgrad": (False, True), "betas": ((0.9, 0.999), (0.3, 0.5)), "eps": (1e-8, 0.1)},
    "AdamW": COMMON | {"lr": (0.05,), "amsgrad": (False, True)},
    "NAdam": COMMON | {"lr": (0.05,), "decoupled_weight_decay": (False, True), "momentum_decay": (4e-3, 0.5)},
    "RAdam": COMMON | {"lr": (0.05,), "decoupled_weight_decay": (False, True), "betas": ((0.9, 0.999), (0.8, 0.9))},
    "Adamax": COMMON | {"lr": (0.05,), "eps": (1e-8, 0.1)},
    "RMSprop": COMMON | {"lr": (0.01,), "centered": (False, True), "momentum": (0, 0.9), "alpha": (0.99, 0.5)},
    "Adagrad": COMMON | {"lr": (0.1,), "lr_decay": (0, 0.1), "initial_accumulator_value": (0, 0.5)},
    "Adadelta": COMMON | {"lr": (1.0,), "rho": (0.9, 0.5)},
    "Rprop": {"maximize": (False, True), "lr": (0.01,),
              "etas": ((0.5, 1.2), (0.3, 2.0)), "step_sizes": ((1e-6, 50), (1e-3, 0.1))},
    "ASGD": COMMON | {"lr": (0.05,), "t0": (1e6, 10), "lambd": (1e-4, 0.1), "alpha": (0.75, 0.5)},
    "Adafactor": COMMON | {"lr": (0.05,), "d": (1.0, 2.0),
                            "beta2_decay": (-0.8, -0.3), "eps": ((None, 1e-3), (1e-3, 0.1))},
    "Muon": {"lr": (0.05,), "weight_decay": (0.1, 0.0), "nesterov": (True, False),
             "adjust_lr_fn": (None, "match_rms_adamw")},
}  # fmt: skip


def combinations(name: str) -> list[dict[str, Any]]:
    keys, values = zip(*OPTIONS[name].items(), strict=True)
    found = [dict(zip(keys, chosen, strict=True)) for chosen in itertools.product(*values)]
    return [o for o in found if not o.get("nesterov") or name != "SGD" or (o["momentum"] and not o["dampening"])]


def start(name: str, dtype: Any = np.float32) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (2, 5)] if name == "Muon" else [(4, 3), (5,), (), (2, 3, 2)]
    values = [rng.normal(size=s) for s in shapes]
    if np.dtype(dtype).kind == "c":
        values = [v + 1j * rng.normal(size=v.shape) for v in values]
    return [np.asarray(v, dtype) for v in values]


def loss_of(T: Any, params: list[Any]) -> Any:
    """A function whose curvature differs between elements, with minima."""
    total = 0.0
    for index, p in enumerate(params):
        q = p.abs() if p.is_complex() else p
        total = total + (q * q * (0.5 + 0.3 * index)).sum() + (q * 2).sin().sum()
    return total


def run(
    T: Any, name: str, options: dict[str, Any], steps: int = 50, dtype: Any = np.float32, fed: bool = False
) -> tuple[list[Any], Any]:
    """``fed``: with given gradients, which depend on no rounding of the step before."""
    params = [T.tensor(v, requires_grad=True) for v in start(name, dtype)]
    optimizer = getattr(T.optim, name)(params, **options)
    rng = np.random.default_rng(5)
    for _ in range(steps):
        optimizer.zero_grad()
        if fed:
            for p in params:
                p.grad = T.tensor(np.asarray(rng.normal(0.3, size=tuple(p.shape)), dtype))
        else:
            loss_of(T, params).backward()
        optimizer.step()
    return params, optimizer


def about(params: list[Any], optimizer: Any) -> Any:
    """Return the compared facts of parameters and the state of their optimizer; PyTorch's Muon works in bfloat16."""
    return params, repr(optimizer), optimizer.defaults, [list(optimizer.state[p]) for p in params]


@pytest.mark.parametrize("name", OPTIONS)
def test_fifty_steps_in_every_combination(name: str) -> None:
    for options in combinations(name):
        oracle.check(lambda T, options=options: about(*run(T, name, options, fed=True)))


@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", sorted(set(OPTIONS) - {"Adafactor", "Muon"}))
def test_other_dtypes(name: str, dtype: Any) -> None:
    options = combinations(name)[0] | ({} if name == "Rprop" else {"weight_decay": 0.1})
    oracle.check(lambda T: run(T, name, options, 20, dtype, fed=dtype is np.complex64)[0])


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - {"Adafactor", "Muon"}))
def test_half_precision(name: str) -> None:
    options = combinations(name)[0] | ({"eps": 1e-3} if "eps" in OPTIONS[name] or name in ("Adam", "AdamW") else {})
    oracle.check(lambda T: run(T, name, options, 5, np.float16)[0])


@pytest.mark.parametrize("name", ["SGD", "Adam", "Rprop"])
def test_tiles_and_memory_layouts_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbautograd._engine.fusion import tiling

    monkeypatch.setattr(tiling, "TILE_SIZE", 7)
    rng = np.random.default_rng(1)
    values = rng.normal(size=(6, 5, 4)).astype(np.float32)
    layouts = [lambda t: t, lambda t: t.permute(2, 1, 0), lambda t: t.permute(1, 0, 2), lambda t: t[::2, 1:, ::3]]
    options = {"momentum": 0.9} if name == "SGD" else {}
    for layout in layouts:

        def program(T: Any, layout: Any = layout) -> Any:
            p = layout(T.tensor(values.copy())).detach().requires_grad_()
            optimizer = getattr(T.optim, name)([p], lr=0.05, **options)
            for _ in range(5):
                optimizer.zero_grad()
                loss_of(T, [p]).backward()
                optimizer.step()
            return p, p.stride()

        oracle.check(program)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
@pytest.mark.parametrize("history", [100, 3])
def test_lbfgs(line_search: str | None, history: int) -> None:
    def program(T: Any) -> Any:
        params = [T.tensor(v, requires_grad=True) for v in start("LBFGS", np.float64)]
        optimizer = T.optim.LBFGS(params, lr=0.5, max_iter=6, history_size=history, line_search_fn=line_search)
        losses = []

        def closure() -> Any:
            optimizer.zero_grad()
            loss = loss_of(T, params)
            loss.backward()
            losses.append(loss.detach())
            return loss

        for _ in range(5):
            optimizer.step(closure)
        again = T.optim.LBFGS(params, lr=0.5)
        again.load_state_dict(optimizer.state_dict())
        state = optimizer.state[params[0]]
        return losses, params, sorted({*state} - {"al"}), state["func_evals"], state["n_iter"]

    oracle.check(program)


def test_lbfgs_on_rosenbrock() -> None:
    def program(T: Any) -> Any:
        w = T.tensor([-1.5, 2.0], dtype=T.float64, requires_grad=True)
        optimizer = T.optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=50)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
            loss.backward()
            return loss

        optimizer.step(closure)
        return w, optimizer.state[w]["func_evals"]

    oracle.check(program)


# -- groups and state --------------------------------------------------------------------------------------------------


def test_groups_have_options_of_their_own() -> None:
    def program(T: Any) -> Any:
        a, b = (T.ones(3, requires_grad=True) for _ in range(2))
        optimizer = T.optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1, momentum=0.9)
        c = T.full((2,), 2.0, requires_grad=True)
        optimizer.add_param_group({"params": [c], "momentum": 0.5})
        for _ in range(3):
            optimizer.zero_grad(set_to_none=False)
            loss_of(T, [a, b, c]).backward()
            optimizer.step()
        return a, b, c, repr(optimizer), optimizer.state_dict()["param_groups"]

    oracle.check(program)


def test_named_parameters() -> None:
    w = nb.ones(2, requires_grad=True)
    optimizer = optim.SGD([("w", w)])
    assert optimizer.param_groups[0]["param_names"] == ["w"] == optimizer.state_dict()["param_groups"][0]["param_names"]
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group({"params": [nb.ones(2, requires_grad=True)]})
    with pytest.raises(ValueError, match="names"):
        optim.SGD([("w", w), nb.ones(1, requires_grad=True)])


def restored(value: Any) -> Any:
    """PyTorch's state dict as one of ours."""
    if isinstance(value, oracle.Array):
        return nb.tensor(value.values)
    if isinstance(value, oracle.Named):
        pairs = isinstance(value.parts, list) and value.name == "dict"
        return {key: restored(part) for key, part in value.parts} if pairs else tuple(map(restored, value.parts))
    return list(map(restored, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("name", [*OPTIONS, "LBFGS"])
def test_state_travels(name: str) -> None:
    """Our state equals PyTorch's, including keys and dtypes, and continues from PyTorch's as PyTorch does."""
    options = combinations(name)[-1] | {"maximize": False} if name in OPTIONS else {"lr": 0.1, "max_iter": 3}
    if name == "Muon":
        options.pop("maximize")
    dtype = np.float64 if name == "LBFGS" else np.float32

    def more(T: Any, params: list[Any], optimizer: Any, steps: int) -> None:
        for _ in range(steps):

            def closure() -> Any:
                optimizer.zero_grad()
                loss = loss_of(T, params)
                loss.backward()
                return loss

            optimizer.step(closure)

    def after_five(T: Any) -> tuple[list[Any], Any]:
        params = [T.tensor(v, requires_grad=True) for v in start(name, dtype)]
        optimizer = getattr(T.optim, name)(params, **options)
        more(T, params, optimizer, 5)
        return params, optimizer

    def state(T: Any) -> Any:
        params, optimizer = after_five(T)
        kept = optimizer.state_dict()
        for each in kept["state"].values():
            each.pop("al", None)  # PyTorch's LBFGS keeps unused values
        return [p.detach() for p in params], kept

    def after_ten(T: Any) -> Any:
        params, optimizer = after_five(T)
        more(T, params, optimizer, 5)
        return params

    params, kept = oracle.answer(state).parts
    values, ours = state(nb)
    oracle.close(values, params)
    oracle.close(ours, kept)
    again = [nb.tensor(p.values, requires_grad=True) for p in params]
    optimizer = getattr(nb.optim, name)(again)
    optimizer.load_state_dict(restored(kept))
    more(nb, again, optimizer, 5)
    oracle.close(again, oracle.answer(after_ten))


def test_saved_and_loaded() -> None:
    params, optimizer = run(nb, "Adam", {"amsgrad": True}, 3)
    file = io.BytesIO()
    nb.save(optimizer.state_dict(), file)
    file.seek(0)
    again = optim.Adam(params)
    again.load_state_dict(nb.load(file))
    assert repr(again) == repr(optimizer)
    assert all((again.state[p]["exp_avg"] == optimizer.state[p]["exp_avg"]).all() for p in params)
    other = pickle.loads(pickle.dumps(optimizer))
    assert repr(other) == repr(optimizer)
    copied = copy.deepcopy(optimizer)
    assert copied.param_groups[0]["params"][0] is not params[0]
    other.step(lambda: None)
    copied.step()


def test_loading_casts_to_the_parameters_dtype_but_not_step() -> None:
    _, optimizer = run(nb, "Adam", {}, 2)
    params = [nb.tensor(v, dtype=nb.float64, requires_grad=True) for v in start("Adam")]
    other = optim.Adam(params)
    other.load_state_dict(optimizer.state_dict())
    assert other.state[params[0]]["exp_avg"].dtype is nb.float64
    assert other.state[params[0]]["step"].dtype is nb.float32
    before = optimizer.state[optimizer.param_groups[0]["params"][0]]["exp_avg"].clone()
    assert (before == optimizer.state[optimizer.param_groups[0]["params"][0]]["exp_avg"]).all()


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    w, v = nb.ones(2, requires_grad=True), nb.ones(2, requires_grad=True)
    one, two = optim.SGD([w], lr=0.1), optim.SGD([{"params": [w]}, {"params": [v]}], lr=0.2)
    both = optim.SGD([w, v], lr=0.3)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        one.load_state_dict(two.state_dict())
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        one.load_state_dict(both.state_dict())
    assert one.param_groups[0]["lr"] == 0.1


def test_hooks() -> None:
    w = nb.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    told: list[Any] = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: told.append(("before", args == (o,), kwargs))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: told.append(("after", args == (o,), kwargs))),
        optim.optimizer.register_optimizer_step_pre_hook(lambda o, args, kwargs: told.append("first")),
        optim.optimizer.register_optimizer_step_post_hook(lambda o, args, kwargs: told.append("last")),
    ]
    optimizer.step()
    assert told == ["first", ("before", True, {}), ("after", True, {}), "last"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(told) == 4
    with optimizer.register_step_pre_hook(lambda *_: 3), pytest.raises(RuntimeError, match="new_args"):
        optimizer.step()
    optimizer.register_state_dict_post_hook(lambda o, state: state | {"more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: {k: v for k, v in state.items() if k != "more"})
    optimizer.register_load_state_dict_post_hook(lambda o: told.append("loaded"))
    state = optimizer.state_dict()
    assert state["more"] == 1
    optimizer.load_state_dict(state)
    assert told[-1] == "loaded"


def test_zero_grad_and_closures() -> None:
    w = nb.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    w.sum().backward()
    grad = w.grad
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is grad and not grad.any()
    optimizer.zero_grad()
    assert w.grad is None

    def closure() -> Any:
        loss = (w * w).sum()
        loss.backward()
        return loss

    with nb.no_grad():
        assert optimizer.step(closure).item() == 2.0
    oracle.close(w, oracle.answer(lambda T: T.full((2,), 0.8, requires_grad=True)))


def test_a_step_is_noticed_by_a_graph_that_needs_the_old_value() -> None:
    w = nb.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_optimizer_of_ones_own() -> None:
    class Signs(optim.Optimizer):
        def __init__(self, params: Any, lr: Any = optim.optimizer.required) -> None:
            super().__init__(params, {"lr": lr})

        @nb.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    w = nb.tensor([1.0, -1.0], requires_grad=True)
    (w * w).sum().backward()
    optimizer = Signs([w], lr=0.25)
    told = []
    optimizer.register_step_post_hook(lambda *_: told.append(1))
    optimizer.step()
    assert w.tolist() == [0.75, -0.75] and told == [1]
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Signs([w])
    with pytest.raises(NotImplementedError):
        optim.Optimizer([w], {}).step()


# -- bad input ---------------------------------------------------------------------------------------------------------

BAD: list[tuple[str, dict[str, Any]]] = [
    *((name, {"lr": -1.0}) for name in [*OPTIONS, "LBFGS"]),
    *((name, {"weight_decay": -1.0}) for name in sorted(set(OPTIONS) - {"Rprop"})),
    *((name, {"lr": float("nan")}) for name in ("Adam", "RMSprop")),
    *((name, {"betas": (1.0, 0.9)}) for name in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax")),
    *((name, {"betas": (0.9, -0.1)}) for name in ("Adam", "NAdam")),
    *((name, {"eps": -1.0}) for name in ("Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax")),
    ("Adam", {"betas": (0, 0.9)}),
    ("SGD", {"momentum": -0.1}),
    ("SGD", {"nesterov": True}),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    ("RMSprop", {"momentum": -1.0}),
    ("RMSprop", {"alpha": -1.0}),
    ("Adadelta", {"rho": 1.5}),
    ("Adagrad", {"lr_decay": -1.0}),
    ("Adagrad", {"initial_accumulator_value": -1.0}),
    ("NAdam", {"momentum_decay": -1.0}),
    ("Rprop", {"etas": (1.5, 2.0)}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"beta2_decay": 0.5}),
    ("Adafactor", {"eps": (-1.0, 0.1)}),
    ("Muon", {"momentum": -1.0}),
    ("Muon", {"adjust_lr_fn": "other"}),
    ("SGD", {"fused": True, "foreach": True}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), BAD, ids=lambda v: str(v))
def test_bad_options(name: str, options: dict[str, Any]) -> None:
    def program(T: Any) -> Any:
        return getattr(T.optim, name)([T.ones(2, 2, requires_grad=True)], **options)

    def beginning(T: Any) -> str:
        with pytest.raises(Exception) as info:
            program(T)
        return str(info.value).split(":")[0].split(" but is")[0].split(" is not")[0][:18]

    words = oracle.answer(beginning)
    oracle.check_raises(program, says=words)
    assert words.split()[0] in beginning(nb)


@pytest.mark.parametrize("params", [[], [1.0], {1.0}, [{"params": {1}}]], ids=str)
def test_bad_parameters(params: Any) -> None:
    oracle.check_raises(lambda T: T.optim.SGD(params))


def test_more_bad_parameters() -> None:
    w = nb.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="iterable of Tensors or dicts"):
        optim.SGD(w)
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        optim.SGD([w * 2])
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([{"params": [w]}, {"params": [w]}])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([w, w])
    with pytest.raises(TypeError, match="param_group must be a dict"):
        optim.SGD([w]).add_param_group([w])
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        optim.SGD([w], learning_rate=1)
    with pytest.raises(ValueError, match="2D"):
        optim.Muon([w])
    with pytest.raises(ValueError, match="1-element"):
        optim.SGD([w], lr=nb.ones(2))
    with pytest.raises(TypeError, match="lr must be a number"):
        optim.SGD([w], lr="fast")
    with pytest.raises(ValueError, match="parameter groups"):
        optim.LBFGS([{"params": [w]}, {"params": [nb.ones(2, requires_grad=True)]}])
    w.sum().backward()
    with pytest.raises(RuntimeError, match="strong_wolfe"):
        optim.LBFGS([w], line_search_fn="weak").step(lambda: w.sum())


@pytest.mark.parametrize("option", ["differentiable", "capturable"])
def test_what_is_not_supported_says_so(option: str) -> None:
    with pytest.raises(NotImplementedError, match=option):
        optim.Adam([nb.ones(2, requires_grad=True)], **{option: True})
    for hint in ("foreach", "fused"):
        optim.Adam([nb.ones(2, requires_grad=True)], **{hint: True}).step()


def test_learning_rates_may_be_tensors() -> None:
    def program(T: Any) -> Any:
        w = T.ones(2, requires_grad=True)
        w.sum().backward()
        options = {"foreach": False} if T is not nb else {}
        T.optim.Adam([w], lr=T.tensor(0.5), betas=(T.tensor(0.9), T.tensor(0.99)), **options).step()
        return w

    oracle.check(program)


def test_names() -> None:
    missing = {n for n in oracle.answer(lambda T: T.optim.__all__) if not hasattr(optim, n)}
    assert missing == {"swap_in_optimizer_params_and_state"}
    with pytest.raises(AttributeError, match="cannot be run as functions of their state"):
        _ = optim.swap_in_optimizer_params_and_state
