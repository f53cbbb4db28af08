"""Weights that are computed or pruned, and other helpers of ``nn.utils``, beside PyTorch's."""

from __future__ import annotations

import copy
import warnings
from importlib import import_module
from typing import Any

import pytest

import nbautograd
from tests.parity.differences.both import agrees


def part(torch: Any, name: str) -> Any:
    """A module of the library by its path."""
    return import_module(f"{torch.__name__}.{name}")


def state(module: Any) -> list[Any]:
    return [(name, value) for name, value in module.state_dict().items()]


def exercised(torch: Any, layer: Any, *shape: int) -> list[Any]:
    """Return the results of a layer over a few steps of training and in evaluation, with its gradients."""
    x = torch.randn(*shape)
    results = [repr(layer), [name for name, _ in layer.named_parameters()]]
    for _ in range(2):
        y = layer(x)
        y.square().sum().backward()
        results += [y, [p.grad for p in layer.parameters()]]
    layer.eval()
    return [*results, layer(x), state(layer)]


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda torch: (torch.nn.Linear(4, 3), {}), (2, 4)),
        (lambda torch: (torch.nn.Conv2d(2, 3, 3), {"n_power_iterations": 2}), (1, 2, 5, 5)),
        (lambda torch: (torch.nn.ConvTranspose1d(2, 3, 3), {}), (1, 2, 5)),
        (lambda torch: (torch.nn.Linear(4, 3), {"dim": 1, "eps": 1e-6}), (2, 4)),
    ],
)
@pytest.mark.parametrize("former", [True, False])
def test_spectral_norm(make: Any, shape: Any, former: bool) -> None:
    @agrees
    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        layer, options = make(torch)
        utils = torch.nn.utils if former else part(torch, "nn.utils.parametrizations")
        utils.spectral_norm(layer, **options)
        results = exercised(torch, layer, *shape)
        twin = copy.deepcopy(layer)
        twin.load_state_dict(layer.state_dict())
        if former:
            metadata = dict(layer.state_dict()._metadata[""])
            torch.nn.utils.remove_spectral_norm(layer)
            results += [metadata, state(layer), repr(layer), len(layer._forward_pre_hooks)]
        else:
            part(torch, "nn.utils.parametrize").remove_parametrizations(layer, "weight")
            results += [state(layer), repr(layer)]
        return [*results, twin(torch.ones(*shape))]

    program()


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("former", [True, False])
def test_weight_norm(dim: Any, former: bool) -> None:
    @agrees
    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        layer = torch.nn.Conv1d(2, 3, 3)
        utils = torch.nn.utils if former else part(torch, "nn.utils.parametrizations")
        utils.weight_norm(layer, dim=dim)
        results = exercised(torch, layer, 1, 2, 5)
        if former:
            other = part(torch, "nn.utils.parametrizations").weight_norm(torch.nn.Conv1d(2, 3, 3), dim=dim)
            other.load_state_dict(layer.state_dict())
            torch.nn.utils.remove_weight_norm(layer)
            results += [state(other), state(layer)]
        return results

    program()


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("trivialized", [True, False])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_orthogonal(name: Any, trivialized: bool, shape: Any) -> None:
    @agrees
    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        layer = torch.nn.Linear(*shape, dtype=torch.float64)
        orthogonal = part(torch, "nn.utils.parametrizations").orthogonal
        orthogonal(layer, orthogonal_map=name, use_trivialization=trivialized)
        weight = layer.weight
        y = layer(torch.randn(2, shape[0], dtype=torch.float64))
        y.sum().backward()
        return [repr(layer), weight, y, layer.parametrizations.weight.original.grad, list(layer.state_dict())]

    program()


@agrees
def test_a_chain_of_parametrizations(torch: Any) -> Any:
    parametrize = part(torch, "nn.utils.parametrize")
    torch.manual_seed(0)

    class Symmetric(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x: Any) -> Any:
            return x.triu()

    class Shift(torch.nn.Module):
        count = 0

        def forward(self, x: Any) -> Any:
            Shift.count += 1
            return x + 1

        def right_inverse(self, x: Any) -> Any:
            return x - 1

    layer = torch.nn.Linear(3, 3)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Shift())
    results = [repr(layer), layer.weight, layer.parametrizations.weight.original is weight]
    before = Shift.count
    with parametrize.cached():
        same = layer.weight is layer.weight
        results += [same, Shift.count - before, layer.weight.sum()]
    layer.weight = torch.ones(3, 3)
    results += [layer.weight, parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")]
    results.append(parametrize.type_before_parametrizations(layer) is torch.nn.Linear)
    twin = copy.deepcopy(layer)
    other = parametrize.transfer_parametrizations_and_params(layer, torch.nn.Linear(3, 3))
    results += [other.weight, twin.weight, type(twin) is type(layer), list(twin.state_dict())]
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    return [*results, state(layer), layer.weight is weight, type(layer).__name__]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t, p: p.register_parametrization(t.nn.Linear(1, 2), "w", t.nn.ReLU()), "does not have a parameter"),
        (lambda t, p: p.register_parametrization(t.nn.Linear(1, 2), "weight", t.nn.Flatten(0)), "may not change the s"),
        (lambda t, p: p.register_parametrization(t.nn.Linear(1, 2), "weight", Half(t)), "may not change the dtype"),
        (lambda t, p: p.remove_parametrizations(t.nn.Linear(1, 2), "weight"), "does not have a parametrization on wei"),
        (lambda t, p: p.ParametrizationList([], t.ones(1)), "ParametrizationList requires one or more modules."),
        (
            lambda t, p: p.register_parametrization(t.nn.Linear(1, 2), "weight", t.nn.ReLU()).__setattr__(
                "weight", t.ones(2, 1)
            ),
            "does not implement right_inverse.",
        ),
        (
            lambda t, p: p.remove_parametrizations(
                part(t, "nn.utils.parametrizations").weight_norm(t.nn.Linear(1, 2)), "weight", leave_parametrized=False
            ),
            "Cannot leave unparametrized (`leave_parametrized=False`)",
        ),
        (
            lambda t, p: p.register_parametrization(t.nn.Linear(1, 2), "weight", t.nn.ReLU()).__getstate__(),
            "Serialization of parametrized modules is only supported through state_dict()",
        ),
        (lambda t, p: part(t, "nn.utils.parametrizations").orthogonal(t.nn.Linear(1, 2), "bias"), "Expected a matri"),
        (lambda t, p: t.nn.utils.remove_weight_norm(t.nn.Linear(1, 2)), "weight_norm of 'weight' not found in"),
        (lambda t, p: t.nn.utils.remove_spectral_norm(t.nn.Linear(1, 2)), "spectral_norm of 'weight' not found in"),
        (
            lambda t, p: t.nn.utils.spectral_norm(t.nn.utils.spectral_norm(t.nn.Linear(1, 2)), "weight_orig")
            and t.nn.utils.spectral_norm(t.nn.Linear(1, 2), n_power_iterations=0),
            "Expected n_power_iterations to be positive",
        ),
    ],
)  # fmt: skip
def test_errors_of_parametrizations(call: Any, words: str) -> None:
    agrees(says=words)(lambda torch: call(torch, part(torch, "nn.utils.parametrize")))()


def Half(torch: Any) -> Any:  # noqa: N802 - stands for a class of each library
    class Half(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.half()

    return Half()


# -- pruning -----------------------------------------------------------------------------------------------------------


PRUNED = {
    "identity": lambda p, m: p.identity(m, "weight"),
    "random": lambda p, m: p.random_unstructured(m, "weight", amount=0.3),
    "l1": lambda p, m: p.l1_unstructured(m, "weight", amount=5),
    "channels at random": lambda p, m: p.random_structured(m, "weight", amount=1, dim=0),
    "channels by norm": lambda p, m: p.ln_structured(m, "weight", amount=0.5, n=2, dim=1),
    "channels by largest": lambda p, m: p.ln_structured(m, "weight", amount=1, n=float("inf"), dim=-1),
    "mask": lambda p, m: p.custom_from_mask(m, "weight", (m.weight > 0).float()),
    "scores": lambda p, m: p.l1_unstructured(m, "weight", 0.5, importance_scores=1 / m.weight),
    "nothing": lambda p, m: p.l1_unstructured(m, "weight", amount=0),
    "twice": lambda p, m: p.l1_unstructured(p.random_unstructured(m, "weight", amount=3), "weight", amount=0.5),
    "three times": lambda p, m: p.ln_structured(
        p.random_structured(p.l1_unstructured(m, "weight", 2), "weight", 1, 0), "weight", amount=1, n=1, dim=0
    ),
}


@pytest.mark.parametrize("name", PRUNED)
def test_pruning(name: str) -> None:
    @agrees
    def program(torch: Any) -> Any:
        prune = part(torch, "nn.utils.prune")
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 3)
        PRUNED[name](prune, layer)
        results = [prune.is_pruned(layer), layer.weight, list(layer.state_dict()), *exercised(torch, layer, 2, 4)]
        hook = next(iter(layer._forward_pre_hooks.values()))
        results += [
            type(hook).__name__,
            hook._tensor_name,
            len(layer._forward_pre_hooks),
            hook.PRUNING_TYPE if name != "twice" and name != "three times" else len(hook),
        ]
        prune.remove(layer, "weight")
        return [*results, state(layer), prune.is_pruned(layer), isinstance(layer.weight, torch.nn.Parameter)]

    program()


@agrees
def test_global_pruning(torch: Any) -> Any:
    prune = part(torch, "nn.utils.prune")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    pairs = [(model[0], "weight"), (model[2], "weight"), (model[0], "bias")]
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.4)
    results = state(model)
    prune.global_unstructured(pairs, pruning_method=prune.RandomUnstructured, amount=3)
    tensor = prune.L1Unstructured(2).prune(torch.arange(6.0))
    return [*results, state(model), tensor]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p, m: p.l1_unstructured(m, "weight", amount="x"), "Invalid type for amount: x. Must be int or float."),
        (lambda p, m: p.l1_unstructured(m, "weight", amount=1.5), "amount=1.5 should either be a float in the range"),
        (lambda p, m: p.l1_unstructured(m, "weight", amount=-1), "amount=-1 should either be a float in the range"),
        (lambda p, m: p.l1_unstructured(m, "weight", amount=100), "should be smaller than the number of parameters to"),
        (lambda p, m: p.ln_structured(m, "bias", amount=1, n=2, dim=0), "Structured pruning can only be"),
        (lambda p, m: p.ln_structured(m, "weight", amount=1, n=2, dim=2), "Invalid index 2 for tensor of size"),
        (lambda p, m: p.remove(m, "weight"), "has to be pruned before pruning can be removed"),
        (lambda p, m: p.global_unstructured(3, p.L1Unstructured), "parameters is not an Iterable"),
        (lambda p, m: p.global_unstructured([(m, "weight")], p.LnStructured, amount=1, n=2), 'Only "unstructured"'),
        (lambda p, m: p.PruningContainer().add_pruning_method(3), "is not a BasePruningMethod subclass"),
    ],
)  # fmt: skip
def test_errors_of_pruning(call: Any, words: str) -> None:
    agrees(says=words)(lambda torch: call(part(torch, "nn.utils.prune"), torch.nn.Linear(4, 3)))()


@agrees
def test_a_failed_pruning_changes_nothing(torch: Any) -> Any:
    prune = part(torch, "nn.utils.prune")
    layer = torch.nn.Linear(4, 3)
    with pytest.raises(ValueError, match="should be smaller"):
        prune.l1_unstructured(layer, "weight", amount=100)
    return sorted(layer.state_dict()), len(layer._forward_pre_hooks), isinstance(layer.weight, torch.nn.Parameter)


def test_a_pruning_that_fails_keeps_those_before() -> None:
    """In PyTorch, the mask is no longer applied then."""
    prune, layer = part(nbautograd, "nn.utils.prune"), nbautograd.nn.Linear(4, 3)
    for before in (1, 2):
        prune.l1_unstructured(layer, "weight", amount=2)
        hooks = list(layer._forward_pre_hooks.values())
        for wrong in ({"amount": 100}, {"amount": 1, "importance_scores": nbautograd.ones(2)}):
            with pytest.raises((ValueError, AssertionError)):
                prune.l1_unstructured(layer, "weight", **wrong)
        assert list(layer._forward_pre_hooks.values()) == hooks
        if before > 1:  # a container
            assert len(hooks[0]) == before
        layer(nbautograd.ones(4))
        assert (layer.weight == 0).sum() == 2 * before


# -- other helpers -----------------------------------------------------------------------------------------------------


@agrees
def test_fusion(torch: Any) -> Any:
    torch.manual_seed(0)
    results = []
    for conv, bn, transpose, shape in [
        (torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), False, (1, 2, 4, 4)),
        (torch.nn.Conv1d(2, 3, 3, bias=False), torch.nn.BatchNorm1d(3, affine=False), False, (1, 2, 4)),
        (torch.nn.ConvTranspose1d(2, 3, 3), torch.nn.BatchNorm1d(3), True, (1, 2, 4)),
    ]:
        bn(torch.randn(4, 3, *[2] * (len(shape) - 2)))
        fused = torch.nn.utils.fuse_conv_bn_eval(conv.eval(), bn.eval(), transpose)
        results += [fused(torch.randn(*shape)), state(fused), fused.weight.requires_grad, repr(fused)]
    linear, bn = torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)
    bn(linear(torch.randn(4, 2)))
    results.append(torch.nn.utils.fuse_linear_bn_eval(linear.eval(), bn.eval())(torch.randn(4, 2)))
    return results


@agrees(says="Fusion only for eval!")
def test_fusion_in_training(torch: Any) -> Any:
    return torch.nn.utils.fuse_conv_bn_eval(torch.nn.Conv1d(1, 1, 1), torch.nn.BatchNorm1d(1))


@agrees
def test_skipped_initialization_draws_nothing(torch: Any) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2, bias=False)
    return repr(layer), layer.weight.shape, torch.randn(2)


@agrees(says="Module must support a 'device' arg to skip initialization")
def test_initialization_that_cannot_be_skipped(torch: Any) -> Any:
    return torch.nn.utils.skip_init(torch.nn.ReLU)


@agrees
def test_former_names(torch: Any) -> Any:
    seen = []
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.fill_(1.0)
        layer.bias.fill_(1.0)
    layer(torch.ones(1, 2)).sum().backward()
    calls = [
        lambda: torch.nn.utils.clip_grad_norm(layer.parameters(), 1.0, foreach=True),
        lambda: part(torch, "nn.utils.stateless").functional_call(layer, {"bias": torch.zeros(1)}, torch.ones(1, 2)),
        lambda: torch.nn.utils.weight_norm(torch.nn.Linear(2, 1)) and None,
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seen.append(call())
        seen += [(w.category.__name__, str(w.message)[:60]) for w in caught]
    return seen


@agrees
def test_memory_formats(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.Conv3d(2, 3, 2))
    torch.nn.utils.convert_conv2d_weight_memory_format(model, torch.channels_last)
    torch.nn.utils.convert_conv3d_weight_memory_format(model, torch.channels_last_3d)
    return [p.stride() for p in model.parameters()]


@agrees
def test_states_with_hooks(torch: Any) -> Any:
    layer, seen = torch.nn.Linear(1, 1), []
    layer._register_state_dict_hook(lambda module, state, prefix, metadata: {**state, "more": 1})
    layer._register_load_state_dict_pre_hook(lambda state, *rest: seen.append((sorted(state), rest[0])))
    layer._register_load_state_dict_pre_hook(lambda module, *rest: seen.append(type(module).__name__), with_module=True)
    saved = layer.state_dict()
    return list(saved), str(layer.load_state_dict(saved, strict=False)), seen
