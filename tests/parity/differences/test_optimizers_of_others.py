"""Optimizers and schedules that libraries derive from PyTorch's base classes, under both libraries."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from typing import Any

from tests.parity.differences.both import agrees


def part(torch: Any, name: str) -> Any:
    return import_module(f"{torch.__name__}.{name}")


def own(torch: Any) -> Any:
    """An optimizer as libraries write them."""
    base = part(torch, "optim.optimizer")

    class Signed(base.Optimizer):
        __doc__ = f"Doc with {base._params_doc}."

        def __init__(self, params: Any, lr: Any = base.required, momentum: float = 0.0) -> None:
            if lr is not base.required and lr < 0.0:
                raise ValueError(f"Invalid learning rate: {lr}")
            super().__init__(params, {"lr": lr, "momentum": momentum, "differentiable": False})

        def __setstate__(self, state: Any) -> None:
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("momentum", 0.0)

        @base._use_grad_for_differentiable
        def step(self, closure: Any = None) -> Any:
            self._cuda_graph_capture_health_check()
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if not state:
                        state["step"], state["mean"] = torch.tensor(0.0), torch.zeros_like(p)
                    state["step"] += 1
                    state["mean"].mul_(group["momentum"]).add_(p.grad)
                    p.add_(state["mean"].sign(), alpha=-base._get_value(group["lr"]))
            return loss

    return Signed


@agrees
def test_an_optimizer(torch: Any) -> Any:
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = own(torch)([{"params": [model.weight], "lr": 0.1}], momentum=0.5)
    optimizer.add_param_group({"params": [model.bias], "lr": 0.2})
    seen: list[Any] = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", len(args))))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", len(args))))
    optimizer.register_state_dict_post_hook(lambda o, state: seen.append(sorted(state)))
    handle = part(torch, "optim.optimizer").register_optimizer_step_pre_hook(lambda *args: seen.append("global"))

    def closure() -> Any:
        optimizer.zero_grad()
        loss = model(torch.ones(1, 2)).square().sum()
        loss.backward()
        return loss

    losses = [optimizer.step(closure) for _ in range(3)]
    handle.remove()
    state = optimizer.state_dict()
    twin = own(torch)([{"params": [model.weight], "lr": 0.3}, {"params": [model.bias], "lr": 0.4}])
    twin.load_state_dict(state)
    kind = isinstance(optimizer.state, defaultdict), list(optimizer.defaults)
    return (
        losses,
        seen,
        state,
        twin.state_dict(),
        repr(optimizer),
        list(model.parameters()),
        kind,
        optimizer.step.hooked,
    )


@agrees(says="parameter group didn't specify a value of required optimization parameter lr")
def test_a_required_option(torch: Any) -> Any:
    return own(torch)([torch.ones(1, requires_grad=True)])


@agrees
def test_a_schedule(torch: Any) -> Any:
    schedules = part(torch, "optim.lr_scheduler")

    class Warmup(schedules._LRScheduler):
        def __init__(self, optimizer: Any, steps: int, last_epoch: int = -1) -> None:
            self.steps = steps
            super().__init__(optimizer, last_epoch)

        def get_lr(self) -> Any:
            return [base * min(1.0, (self.last_epoch + 1) / self.steps) for base in self.base_lrs]

    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    schedule = Warmup(optimizer, 4)
    rates = [schedule.get_last_lr()]
    for _ in range(5):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr())
    plain = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    kinds = isinstance(schedule, schedules.LRScheduler), isinstance(plain, schedules._LRScheduler)
    return rates, schedule.state_dict()["steps"], kinds


@agrees
def test_helpers(torch: Any) -> Any:
    base = part(torch, "optim.optimizer")
    tensor = torch.tensor([2.0])
    lists = [torch.ones(1, dtype=torch.complex64)], [torch.ones(1, dtype=torch.complex64)]
    base._view_as_real(*lists)
    names = [isinstance(getattr(base, f"_{name}_doc"), str) for name in ("foreach", "fused", "maximize", "capturable")]
    return [
        base._get_value(tensor), base._get_value(3), base._to_scalar(tensor), base._stack_if_compiling(1), names,
        str(base._get_scalar_dtype()), base._default_to_fused_or_foreach([tensor], False), lists, repr(base.required),
        base._disable_dynamo_if_unsupported()(len) is not None, base._RequiredParameter.__name__,
    ]  # fmt: skip


@agrees
def test_options_that_optimizers_check(torch: Any) -> Any:
    """The type of the error, or the name of the optimizer."""
    answers = []
    for name in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "SparseAdam"):
        for betas in ((0.9,), (), (0.9, 1.0), (-0.1, 0.9), (0.9, 0.99, 0.999), 0.9, None):
            try:
                answers.append(
                    type(getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(1))], betas=betas)).__name__
                )
            except Exception as error:
                answers.append(type(error).__name__)
    return answers
