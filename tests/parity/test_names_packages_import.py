"""Check the names of PyTorch's compiled module, its configuration, its checks and its helpers that packages use."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from tests import oracle
from tests.parity.differences.both import agrees

CONDITIONS = {
    "holds": (True,),
    "lazy": (False, lambda: "so"),
    "words": (False, "so"),
    "number": (1,),
    "plain": (False,),
}


@pytest.mark.parametrize("name", ["_check", "_check_value", "_check_index", "_check_type", "_check_not_implemented"])
@pytest.mark.parametrize("arguments", CONDITIONS.values(), ids=CONDITIONS)
def test_checks_raise_what_pytorch_raises(name: str, arguments: tuple[Any, ...]) -> None:
    def outcome(library: Any) -> Any:
        try:
            return getattr(library, name)(*arguments)
        except Exception as error:
            return [type(error).__name__, str(error).partition(". ")[0].partition("(")[0].strip()]

    ours, theirs = outcome(nb), oracle.answer(outcome, exact=True)
    assert ours is None or ours[0] == theirs[0] and ours[1].startswith(theirs[1].rstrip("."))
    assert (ours is None) == (theirs is None)


@agrees
def test_assert_async(torch: Any) -> Any:
    return torch._assert_async(torch.tensor(1.0), "no"), torch._shape_as_tensor(torch.zeros(2, 3))


@agrees
def test_assert_async_of_zero(torch: Any) -> Any:
    return torch._assert_async(torch.tensor(0), "hey")


@agrees
def test_check_all(torch: Any) -> Any:
    return torch._check_tensor_all(torch.tensor([True, False]))


@agrees
def test_groups_of_tensors(torch: Any) -> Any:
    from importlib import import_module

    group = import_module(f"{torch.__name__}.utils._foreach_utils")._group_tensors_by_device_and_dtype
    lists = [[torch.ones(1), torch.ones(2, dtype=torch.float64), torch.ones(3)], [torch.zeros(1)] * 3]
    return sorted((str(dtype), places, len(groups[0])) for (_, dtype), (groups, places) in group(lists, True).items())


@agrees
def test_a_wrapper_of_an_optimizer_steps_without_calling_init(torch: Any) -> Any:
    class Twice(torch.optim.Optimizer):
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def step(self) -> None:
            self.inner.step()
            self.inner.step()

    w = torch.ones(2, requires_grad=True)
    w.sum().backward()
    Twice(torch.optim.SGD([w], lr=0.25)).step()
    return w


@agrees
def test_a_parameter_of_a_subclass_with_options(torch: Any) -> Any:
    class Named(torch.nn.Parameter):
        def __new__(cls, data: Any, title: str, requires_grad: bool = True) -> Any:
            made = super().__new__(cls, data, requires_grad)
            made.title = title
            return made

    p = Named(torch.ones(2), title="x")
    return p.title, p.requires_grad, isinstance(p, torch.nn.Parameter)


@agrees
def test_private_bases_of_norms(torch: Any) -> Any:
    from importlib import import_module

    norms = import_module(f"{torch.__name__}.nn.modules.batchnorm")
    return [isinstance(torch.nn.BatchNorm2d(2), cls) for cls in (norms._BatchNorm, norms._NormBase)]


@agrees
def test_a_loader_is_subscripted(torch: Any) -> Any:
    class Loader(torch.utils.data.DataLoader[int]):
        pass

    return list(Loader([1, 2, 3], batch_size=2))


def test_while_standing_in_torch_is_found_below_itself() -> None:
    with nb.standing_in():
        import torch
        from torch._C import Value
        from torch.optim.lr_scheduler import LRScheduler, _LRScheduler

        assert torch.torch is torch and issubclass(_LRScheduler, LRScheduler)
        assert torch._C._get_tracing_state() is None and not torch._C._are_functorch_transforms_active()
        assert torch.__config__.show().startswith("nbautograd") and torch.__config__.parallel_info()
        with pytest.raises(NotImplementedError, match="compiler"):
            Value()
    assert not hasattr(nb, "torch")
