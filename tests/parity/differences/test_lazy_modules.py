"""Lazy modules, and modules that are rarely used, beside PyTorch's."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

from tests.parity.differences.both import agrees

LAYERS = [
    ("LazyLinear", (3,), {}, (2, 5)),
    ("LazyLinear", (3,), {"bias": False}, (5,)),
    ("LazyConv1d", (4, 3), {"stride": 2}, (2, 3, 9)),
    ("LazyConv2d", (4, 3), {"padding": 1, "groups": 2}, (2, 6, 5, 5)),
    ("LazyConv3d", (2, 2), {"bias": False}, (3, 4, 4, 4)),
    ("LazyConvTranspose1d", (4, 3), {"output_padding": 1, "stride": 2}, (2, 3, 5)),
    ("LazyConvTranspose2d", (4, 3), {}, (2, 3, 5, 5)),
    ("LazyConvTranspose3d", (4, 2), {"dilation": 2}, (1, 3, 3, 3, 3)),
    ("LazyBatchNorm1d", (), {}, (4, 3)),
    ("LazyBatchNorm2d", (), {"affine": False}, (4, 3, 2, 2)),
    ("LazyBatchNorm3d", (), {"track_running_stats": False}, (4, 3, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), {}, (4, 3, 5)),
    ("LazyInstanceNorm2d", (), {"affine": False}, (4, 3, 3, 3)),
    ("LazyInstanceNorm3d", (), {"eps": 1e-3}, (4, 3, 2, 2, 2)),
]


def state(module: Any) -> list[Any]:
    return [(name, value) for name, value in module.state_dict().items()]


@pytest.mark.parametrize(("name", "args", "options", "shape"), LAYERS, ids=lambda each: str(each))
def test_layers(name: str, args: Any, options: Any, shape: Any) -> None:
    @agrees
    def program(torch: Any) -> Any:
        torch.manual_seed(1)
        layer = getattr(torch.nn, name)(*args, **options)
        before = [repr(layer), list(layer.state_dict()), layer.has_uninitialized_params(), type(layer).__name__]
        before += [repr(p) for p in layer.parameters()]
        y = layer(torch.randn(*shape))
        loaded = getattr(torch.nn, name)(*args, **options)
        loaded.load_state_dict(layer.state_dict())
        after = [loaded(torch.ones(*shape)), repr(loaded), state(loaded)]
        return [*before, y, repr(layer), state(layer), type(layer).__name__, len(layer._forward_pre_hooks), *after]

    program()


@agrees
def test_a_network_of_lazy_layers(torch: Any) -> Any:
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.LazyConv1d(3, 2), torch.nn.Flatten(), torch.nn.LazyLinear(2))
    twin = copy.deepcopy(model)
    model.double()
    kinds = [str(p.dtype) for p in model.parameters()]
    x = torch.randn(4, 2, 5)
    y = model(x.double())
    y.sum().backward()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.step()
    fresh = torch.nn.Sequential(torch.nn.LazyConv1d(3, 2), torch.nn.Flatten(), torch.nn.LazyLinear(2))
    fresh.load_state_dict(twin.state_dict())  # nothing is initialized
    return [kinds, y, state(model), repr(model), repr(twin), repr(fresh(x).shape)]


@agrees
def test_parameters_given_to_an_optimizer_before(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(2)
    weight = layer.weight
    layer(torch.ones(1, 3))
    return layer.weight is weight, type(weight).__name__, isinstance(weight, torch.nn.Parameter), weight.shape


@agrees
def test_a_lazy_module_of_ones_own(torch: Any) -> Any:
    class Scale(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = torch.nn.UninitializedParameter()
            self.register_buffer("seen", torch.nn.UninitializedBuffer())

        def initialize_parameters(self, x: Any, *, power: Any = 1) -> None:
            with torch.no_grad():
                self.factor.materialize(x.shape[-1:])
                self.factor.fill_(2.0)
                self.seen.materialize((1,))
                self.seen.fill_(power)

        def forward(self, x: Any, *, power: Any = 1) -> Any:
            return x * self.factor**power

    module = Scale()
    names = [name for name, _ in module.named_parameters()], [name for name, _ in module.named_buffers()]
    return names, module(torch.ones(2, 3), power=3), state(module), type(module).__name__, hasattr(module, "_load_hook")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda torch: torch.nn.UninitializedParameter().shape, "Can't access the shape of an uninitialized parameter"),
        (lambda torch: torch.nn.UninitializedParameter() + 1, "Attempted to use an uninitialized parameter in"),
        (lambda torch: torch.mm(torch.nn.UninitializedParameter(), torch.ones(1, 1)), "Attempted to use an uninitiali"),
        (lambda torch: torch.nn.LazyConv1d(2, 2)(torch.ones(2)), "Expected 2D (unbatched) or 3D (batched) input to La"),
        (
            lambda torch: torch.nn.LazyConv1d(2, 2, groups=2)(torch.ones(3, 4)),
            "in_channels must be divisible by groups",
        ),
        (
            lambda torch: torch.nn.Linear(1, 2).load_state_dict(torch.nn.LazyLinear(2).state_dict()),
            "Can't access the sh",
        ),
        (lambda torch: torch.nn.utils.spectral_norm(torch.nn.LazyLinear(2)), "can't have uninitialized parameters"),
    ],
)
def test_what_has_no_shape_yet(call: Any, words: str) -> None:
    agrees(says=words)(call)()


@agrees
def test_lazy_modules_warn(torch: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.LazyLinear(2)
        torch.nn.NLLLoss2d()
        torch.nn.Container(a=torch.nn.ReLU())
    return [(w.category.__name__, str(w.message)) for w in caught]


@agrees
def test_attributes_without_a_shape(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter(dtype=torch.float64, requires_grad=False)
    b = torch.nn.UninitializedBuffer()
    is_lazy = torch.nn.parameter.is_lazy
    seen = [
        str(p.dtype),
        str(p.device),
        p.requires_grad,
        p.is_leaf,
        repr(p),
        repr(b),
        is_lazy(p),
        is_lazy(torch.ones(1)),
    ]
    p.materialize((2, 1), dtype=torch.float32)
    b.materialize(3)
    return [*seen, p.shape, str(p.dtype), type(b).__name__, b.shape]


# -- modules that are rarely used --------------------------------------------------------------------------------------


@agrees
def test_adaptive_log_softmax(torch: Any) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10, 15], div_value=2.0, head_bias=True)
    x = torch.randn(8, 16)
    result = layer(x, torch.tensor([0, 3, 4, 9, 12, 19, 15, 1]))
    result.loss.backward()
    grads = [p.grad for p in layer.parameters()]
    single = layer(x[0], torch.tensor(11))
    layer.reset_parameters()
    return [
        result,
        grads,
        single,
        layer.log_prob(x),
        layer.predict(x),
        layer.predict(x * 0),
        repr(layer),
        layer.cutoffs,
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 5, []), "cutoffs should be a sequence of length larger"),
        (lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]), "cutoffs should be a sequence of unique"),
        (lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [5]), "cutoffs should be a sequence of unique"),
        (
            lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(torch.ones(1, 4), torch.tensor([7])),
            "Target values should be in [0, 4], but values in range [7, 7]",
        ),
        (
            lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(torch.ones(4), torch.tensor([1])),
            "Input and target should have the same size in the batch dimension.",
        ),
        (lambda torch: torch.nn.SyncBatchNorm(3)(torch.ones(2)), "expected at least 2D input (got 1D input)"),
        (lambda torch: torch.nn.CrossMapLRN2d(3)(torch.ones(2, 3)), "CrossMapLRN2d: Expected input to be 4D, got 2D"),
    ],
)
def test_errors_of_rare_modules(call: Any, words: str) -> None:
    agrees(says=words)(call)()


@pytest.mark.parametrize("size", [3, 4, 5])
def test_cross_map_normalization(size: int) -> None:
    @agrees
    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        layer = torch.nn.CrossMapLRN2d(size, alpha=0.5, beta=0.6, k=2)
        return layer(torch.randn(2, 8, 2, 3)), repr(layer)

    program()


@agrees
def test_synchronized_batch_normalization(torch: Any) -> Any:
    model = torch.nn.Sequential(
        torch.nn.BatchNorm2d(3, eps=0.5), torch.nn.Sequential(torch.nn.BatchNorm1d(2, affine=False))
    )
    converted = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model).eval()
    return [
        repr(converted),
        converted[0].weight is model[0].weight,
        list(converted.state_dict()),
        converted[0](torch.ones(1, 3, 2, 2)),
        converted.train()[0](torch.arange(12.0).reshape(1, 3, 2, 2)),
    ]


@agrees
def test_gradients_of_convolutions(torch: Any) -> Any:
    grad = torch.nn.grad
    torch.manual_seed(0)
    results = []
    for n in (1, 2, 3):
        x, w = torch.randn(2, 4, *[6] * n), torch.randn(6, 2, *[3] * n)
        y = getattr(torch.nn.functional, f"conv{n}d")(x, w, None, 2, 1, 1, 2)
        g = torch.randn(*y.shape)
        results.append(getattr(grad, f"conv{n}d_input")(x.shape, w, g, 2, 1, 1, 2))
        results.append(getattr(grad, f"conv{n}d_weight")(x, w.shape, g, 2, 1, 1, 2))
    return [round(each.double().abs().sum().item(), 2) for each in results], [tuple(each.shape) for each in results]


@agrees
def test_helpers_of_modules(torch: Any) -> Any:
    from importlib import import_module

    utils = import_module(f"{torch.__name__}.nn.modules.utils")
    state = torch.nn.Linear(1, 1).state_dict()
    model = torch.nn.Sequential()
    model.add_module("module", torch.nn.Linear(1, 1))
    state = model.state_dict()
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    tuples = utils._single(3), utils._pair((1, 2)), utils._triple(0), utils._quadruple(1), utils._ntuple(5)(2)
    return (
        tuples,
        utils._reverse_repeat_tuple((1, 2), 2),
        utils._list_with_default([None, 3], [4, 5, 6]),
        list(state),
        dict(state._metadata),
    )


@agrees
def test_the_choice_of_attention(torch: Any) -> Any:
    from importlib import import_module

    attention = import_module(f"{torch.__name__}.nn.attention")
    x = torch.arange(12.0).reshape(1, 3, 4)
    with attention.sdpa_kernel([attention.SDPBackend.MATH]):
        y = torch.nn.functional.scaled_dot_product_attention(x, x, x)
        chosen = attention._cur_sdpa_kernel_backends()
    return y, [each.name for each in chosen], sorted(attention.SDPBackend.__members__)
