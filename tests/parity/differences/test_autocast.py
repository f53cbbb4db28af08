"""Autocast and the scaler of gradients, beside PyTorch's on the CPU."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest

from tests.parity.differences import both
from tests.parity.differences.both import agrees


def numbers(torch: Any, *shape: int) -> Any:
    """Numbers of the dtype that autocast casts."""
    return both.numbers(torch, *shape).float()


def dtypes(*tensors: Any) -> list[str]:
    return [str(t.dtype) for t in tensors]


def network(torch: Any) -> Any:
    """A network with numbers of its own, the same under both libraries."""
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.LayerNorm(5), torch.nn.Linear(5, 3))
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_((torch.arange(p.numel()).reshape(p.shape) * (i + 3) % 7 - 3.0) / 4)
    return model


def scaled_steps(torch: Any, inputs: Any, **options: Any) -> list[Any]:
    """Return the effect of steps with a scaler on a weight, the factor and its count of steps; the gradients are the
    inputs.
    """
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.25, momentum=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, **options)
    seen = []
    for values in inputs:
        optimizer.zero_grad()
        scaler.scale((weight * torch.tensor(values)).sum()).backward()
        seen.append(weight.grad.clone())
        seen.append(scaler.step(optimizer))
        scaler.update()
        seen += [weight.detach().clone(), scaler.get_scale(), scaler._get_growth_tracker()]
    return [*seen, scaler.state_dict()]


# -- regions -----------------------------------------------------------------------------------------------------------


@agrees
def test_what_computes_in_which_precision(torch: Any) -> Any:
    x, w = numbers(torch, 3, 4), numbers(torch, 4, 3)
    with torch.autocast("cpu"):
        product = x @ w
        loss = torch.nn.functional.mse_loss(product, torch.zeros(3, 3))
        return dtypes(product, torch.mm(x, w), x + x, product + x[:, :3], torch.exp(product), loss, x.sum(), w @ w.t())


@agrees
def test_values_are_those_of_bfloat16(torch: Any) -> Any:
    with torch.autocast("cpu"):
        return torch.mm(numbers(torch, 3, 4), numbers(torch, 4, 3)).float()


@agrees
def test_float16_on_the_cpu(torch: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.float16):
        return torch.mm(numbers(torch, 3, 4), numbers(torch, 4, 3))


@agrees
def test_a_training_step_of_a_network(torch: Any) -> Any:
    model = network(torch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model((torch.arange(24.0).reshape(4, 6) - 12) / 8)
        loss = torch.nn.functional.cross_entropy(y, torch.tensor([0, 2, 1, 0]))
    loss.backward()
    large = [p.grad.abs().max().item() > 1e-3 for p in model.parameters()]
    return dtypes(y, loss, *(p.grad for p in model.parameters())), round(loss.item(), 2), large


@agrees
def test_nested_regions(torch: Any) -> Any:
    x = numbers(torch, 2, 2)
    with torch.autocast("cpu"):
        first = torch.mm(x, x)
        with torch.autocast("cpu", enabled=False):
            second = torch.mm(x, first.float())
        with torch.autocast("cpu", dtype=torch.float16):
            third = torch.mm(x, x)
            inner = torch.get_autocast_dtype("cpu")
        fourth = torch.mm(first, second)
        state = torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled()
    return dtypes(first, second, third, fourth), state, inner, torch.is_autocast_enabled("cpu")


@agrees
def test_a_region_ends_with_an_error(torch: Any) -> Any:
    with pytest.raises(ValueError, match="no"), torch.autocast("cpu"):
        raise ValueError("no")
    return torch.is_autocast_enabled("cpu"), dtypes(torch.mm(torch.ones(2, 2), torch.ones(2, 2)))


@agrees
def test_a_decorated_function(torch: Any) -> Any:
    @torch.autocast("cpu")
    def run(x: Any) -> Any:
        """Doc."""
        return torch.mm(x, x)

    return dtypes(run(torch.ones(2, 2)), torch.mm(torch.ones(2, 2), torch.ones(2, 2))), run.__doc__, run.__name__


@agrees
def test_one_region_object_enters_twice(torch: Any) -> Any:
    region = torch.autocast("cpu")
    try:
        with region:
            with region:
                pass
            return dtypes(torch.mm(torch.ones(2, 2), torch.ones(2, 2))), torch.is_autocast_enabled("cpu")
    finally:
        torch.set_autocast_enabled("cpu", False)  # the inner entry no longer knows the state before the outer one


@agrees
def test_parameters_are_cast_once(torch: Any) -> Any:
    w = numbers(torch, 2, 2).requires_grad_()
    with torch.autocast("cpu"):
        a, b = torch.mm(w, w).grad_fn.next_functions, torch.mm(w, w).grad_fn.next_functions
    with torch.autocast("cpu", cache_enabled=False):
        c = torch.mm(w, w).grad_fn.next_functions
    with torch.autocast("cpu"):
        d = torch.mm(w, w).grad_fn.next_functions
    return [a[0][0] is a[1][0], a[0][0] is b[0][0], c[0][0] is c[1][0], a[0][0] is d[0][0], a[0][0].name()]


@agrees
def test_a_cast_without_gradients_is_not_used_with_them(torch: Any) -> Any:
    w = numbers(torch, 2, 2).requires_grad_()
    with torch.autocast("cpu"):
        with torch.no_grad():
            torch.mm(w, w)
        y = torch.mm(w, w)
    y.sum().backward()
    return y.grad_fn.next_functions[0][0].name(), w.grad, str(w.grad.dtype)


@agrees
def test_what_is_cast_follows_the_weights(torch: Any) -> Any:
    w = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        first = torch.mm(w, w)
    with torch.no_grad():
        w.mul_(2)
    with torch.autocast("cpu"):
        return first, torch.mm(w, w)


@agrees
def test_float64_and_integers_stay(torch: Any) -> Any:
    x = numbers(torch, 2, 2).double()
    with torch.autocast("cpu"):
        return dtypes(
            torch.mm(x, x), torch.mm(torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.int64))
        )


@agrees
def test_out_and_in_place_keep_their_dtype(torch: Any) -> Any:
    x = numbers(torch, 2, 2)
    with torch.autocast("cpu"):
        out = torch.zeros(2, 2)
        return dtypes(
            torch.mm(x, x, out=out), torch.zeros(2, 2).addmm_(x, x), torch.zeros(1, 2, 2).baddbmm_(x[None], x[None])
        ), out


@agrees
def test_the_widest_dtype(torch: Any) -> Any:
    x = numbers(torch, 2, 2)
    with torch.autocast("cpu"):
        low = torch.mm(x, x)
        return dtypes(torch.cat([low, low]), torch.cat([low, x]), torch.stack([x, low]), torch.cat([low, x.double()]))


@agrees(says="Unexpected floating ScalarType in at::autocast::prioritize")
def test_another_half_precision(torch: Any) -> Any:
    with torch.autocast("cpu"):
        torch.cat([torch.ones(1, dtype=torch.float16), torch.ones(1)])


@agrees
def test_contractions(torch: Any) -> Any:
    results = []
    with torch.autocast("cpu"):
        for equation, a, b in [
            ("ij,jk", (2, 3), (3, 2)),
            ("ij,jk", (2, 1), (1, 3)),
            ("bij,bjk->bik", (2, 2, 2), (2, 2, 2)),
            ("i,i", (3,), (3,)),
            ("ij,kl->ik", (2, 2), (2, 2)),
            ("ij,ij->ij", (2, 2), (2, 2)),
        ]:
            results.append(torch.einsum(equation, numbers(torch, *a), numbers(torch, *b)))
        results += [torch.inner(torch.ones(2), torch.ones(2)), torch.inner(torch.ones(2, 2), torch.ones(2, 2))]
        results.append(torch.tensordot(torch.ones(2, 2), torch.ones(2, 2), 2))
    return dtypes(*results)


@agrees
def test_layers(torch: Any) -> Any:
    x = numbers(torch, 2, 4, 6)
    found = []
    with torch.autocast("cpu"):
        for layer in (
            torch.nn.Conv1d(4, 2, 3),
            torch.nn.ConvTranspose1d(4, 2, 3),
            torch.nn.BatchNorm1d(4),
            torch.nn.GroupNorm(2, 4),
            torch.nn.LayerNorm(6),
            torch.nn.Linear(6, 2),
            torch.nn.Softmax(-1),
            torch.nn.GELU(),
            torch.nn.ReflectionPad1d(1),
            torch.nn.PReLU(),
            torch.nn.Sequential(
                torch.nn.Conv1d(4, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.GELU(), torch.nn.MaxPool1d(2)
            ),
        ):
            found.append(layer(x))
        found += torch.nn.MultiheadAttention(6, 2, batch_first=True)(x, x, x)
        found.append(torch.nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)(x))
    return dtypes(*found)


@agrees
def test_a_checkpoint_computes_again_as_before(torch: Any) -> Any:
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    results = []
    for reentrant in (False, True):
        seen = []
        w = numbers(torch, 2, 2).requires_grad_()

        def run(x: Any, seen: Any = seen) -> Any:
            y = torch.mm(x, x)
            seen.append(str(y.dtype))
            return y

        with torch.autocast("cpu"):
            y = checkpoint(run, w, use_reentrant=reentrant)
        y.sum().backward()
        results.append((seen, w.grad))
    return results


@agrees
def test_other_threads_have_a_state_of_their_own(torch: Any) -> Any:
    import threading

    seen = []
    with torch.autocast("cpu"):
        thread = threading.Thread(
            target=lambda: seen.append(
                (torch.is_autocast_enabled("cpu"), str((torch.ones(2, 2) @ torch.ones(2, 2)).dtype))
            )
        )
        thread.start()
        thread.join()
    return seen


# -- the functions around it -------------------------------------------------------------------------------------------


@agrees
def test_the_state_in_functions(torch: Any) -> Any:
    seen = [torch.get_autocast_dtype(device) for device in ("cpu", "cuda", "xpu", "mps", "hpu")]
    seen += [torch.amp.is_autocast_available(device) for device in ("cpu", "cuda", "mps", "meta")]
    torch.set_autocast_enabled("cpu", True)
    try:
        seen += [torch.is_autocast_enabled("cpu"), str(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype)]
    finally:
        torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.float16)
    seen.append(torch.get_autocast_dtype("cpu"))
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_cache_enabled(False)
    seen.append(torch.is_autocast_cache_enabled())
    torch.set_autocast_cache_enabled(True)
    seen += [torch.autocast_increment_nesting(), torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()]
    torch.autocast_decrement_nesting()
    torch.clear_autocast_cache()
    return [str(each) for each in seen]


@agrees
def test_attributes_of_a_region(torch: Any) -> Any:
    region = torch.autocast("cpu", dtype=torch.float16)
    with region as entered:
        return [
            entered is region,
            region.device,
            region._enabled,
            str(region.fast_dtype),
            region._cache_enabled,
            region.prev,
        ]


@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.autocast("nowhere"),
        lambda torch: torch.autocast("meta"),
        lambda torch: torch.autocast(1),
        lambda torch: torch.autocast("cpu")(3),
        lambda torch: torch.is_autocast_enabled(1),
        lambda torch: torch.set_autocast_dtype("cpu", 3),
        lambda torch: torch.set_autocast_enabled("cpu", "x"),
        lambda torch: torch.amp.custom_fwd(device_type=3),
        lambda torch: torch.amp.GradScaler("cpu", growth_factor=1.0),
        lambda torch: torch.amp.GradScaler("cpu", backoff_factor=1.0),
        lambda torch: torch.amp.GradScaler("cpu").update(),
        lambda torch: torch.amp.GradScaler("cpu").scale(3),
        lambda torch: torch.amp.GradScaler("cpu").load_state_dict({}),
        lambda torch: torch.amp.GradScaler("cpu").step(torch.optim.SGD([torch.ones(1)], 0.1), closure=None),
    ],
)
def test_wrong_arguments(call: Any) -> None:
    agrees(call)()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda torch: torch.autocast("cpu", dtype=torch.float32), "In CPU autocast, but the target dtype is not"),
        (lambda torch: torch.cpu.amp.autocast(), "`torch.cpu.amp.autocast(args...)` is deprecated."),
        (lambda torch: torch.cuda.amp.autocast(enabled=False), "`torch.cuda.amp.autocast(args...)` is deprecated."),
        (lambda torch: torch.cpu.amp.GradScaler(), "`torch.cpu.amp.GradScaler(args...)` is deprecated."),
        (lambda torch: torch.cuda.amp.custom_fwd(len), "`torch.cuda.amp.custom_fwd(args...)` is deprecated."),
        (lambda torch: torch.get_autocast_gpu_dtype(), "torch.get_autocast_gpu_dtype() is deprecated."),
    ],
)  # fmt: skip
def test_warnings(call: Any, words: str) -> None:
    @agrees
    def program(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(torch)
        return [(w.category.__name__, words in str(w.message)) for w in caught] or "none"  # PyTorch warns of some once

    program()


@agrees
def test_custom_functions(torch: Any) -> Any:
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a.mm(b)

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            result = g.mm(b.t()), a.t().mm(g)
            seen.append((torch.is_autocast_enabled("cpu"), str(result[0].dtype)))
            return result

    class Cast(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append((torch.is_autocast_enabled("cpu"), str(a.dtype)))
            return a.mm(b)

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(torch.is_autocast_enabled("cpu"))
            return g, g

    x = numbers(torch, 2, 2).requires_grad_()
    with torch.autocast("cpu"):
        y = Product.apply(x, x)
        z = Cast.apply(torch.mm(x, x), x)
    y.sum().backward()
    z.sum().backward()
    return dtypes(y, z, x.grad), seen


# -- the scaler --------------------------------------------------------------------------------------------------------

INPUTS = [[1.0, 2.0], [0.5, -1.0], [float("inf"), 1.0], [1.0, float("nan")], [1.0, 1.0], [2.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize("options", [{}, {"growth_factor": 3.0, "backoff_factor": 0.25}, {"enabled": False}])
def test_steps(options: Any) -> None:
    @agrees
    def program(torch: Any) -> Any:
        if options.get("enabled", True):
            return scaled_steps(torch, INPUTS, **options)
        return scaled_steps(torch, INPUTS[:2], **options)

    program()


@agrees
def test_unscaling_before_clipping(torch: Any) -> Any:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.25)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale([weight.sum(), (weight.sum(),)])[1][0].backward()
    scaler.unscale_(optimizer)
    seen = [weight.grad.clone(), torch.nn.utils.clip_grad_norm_([weight], 1.0)]
    for call in (scaler.unscale_, scaler.step, scaler.step, scaler.unscale_):
        try:
            seen.append(call(optimizer))
        except RuntimeError as error:
            seen.append(str(error))
    scaler.update(4.0)
    seen.append(scaler.get_scale())
    scaler.update(torch.tensor(2.0))
    return [*seen, scaler.get_scale(), weight.detach()]


@agrees(says="Attempting to unscale FP16 gradients.")
def test_gradients_of_float16(torch: Any) -> Any:
    weight = torch.ones(2, dtype=torch.float16, requires_grad=True)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    scaler.step(torch.optim.SGD([weight], lr=0.25))


@agrees(says="No inf checks were recorded for this optimizer.")
def test_no_gradients(torch: Any) -> Any:
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(1))
    scaler.step(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.25))


@agrees
def test_the_state_of_a_scaler(torch: Any) -> Any:
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(torch.ones(1))
    scaler.load_state_dict(
        {"scale": 2.0, "growth_factor": 3.0, "backoff_factor": 0.5, "growth_interval": 7, "_growth_tracker": 5}
    )
    again = pickle.loads(pickle.dumps(scaler))
    return [
        scaler.state_dict(),
        again.state_dict(),
        again.scale(torch.ones(1)),
        scaler.is_enabled(),
        scaler.get_growth_interval(),
    ]


@agrees
def test_an_optimizer_that_unscales_itself(torch: Any) -> Any:
    seen = []

    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure: Any = None) -> Any:
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    weight = torch.ones(2, requires_grad=True)
    optimizer = Own([weight], lr=0.25)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    scaler.scale((weight * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return seen, scaler.get_scale(), hasattr(optimizer, "grad_scale"), weight.grad
