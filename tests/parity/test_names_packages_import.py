"""Check the names of PyTorch's compiled module, its configuration, its checks and its helpers that packages use."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from tests import oracle
from tests.parity.differences.both import agrees, numbers

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


@agrees
def test_tensors_of_a_compiler(torch: Any) -> Any:
    from importlib import import_module

    fake = import_module(f"{torch.__name__}._subclasses.fake_tensor")
    found = import_module(f"{torch.__name__}._subclasses")
    return fake.is_fake(torch.ones(2)), fake.is_fake(3), found.FakeTensor is fake.FakeTensor


@agrees
def test_symbolic_numbers(torch: Any) -> Any:
    from importlib import import_module

    types = import_module(f"{torch.__name__}.types")
    size = torch.ones(2, 3).shape[0]
    classes = (torch.SymInt, torch.SymFloat, torch.SymBool)
    found = [torch.sym_int(-3.5), torch.sym_float(2), torch.sym_max(1, 2.0), torch.sym_min(1.0, 2), torch.sym_sqrt(4)]
    flags = [torch.sym_not(True), torch.sym_ite(False, 1, 2), torch.sym_sum([1, 2])]
    return isinstance(size, classes), types.SymInt is torch.SymInt, found, flags


@agrees
def test_former_vmap(torch: Any) -> Any:
    from importlib import import_module

    former = import_module(f"{torch.__name__}._vmap_internals")
    x = numbers(torch, 3, 2)
    return former._vmap(torch.sum)(x), former._vmap(lambda a: a * 2, 1, 1)(x), former.vmap(torch.sum, 1)(x)


@agrees
def test_private_home_of_transforms(torch: Any) -> Any:
    from importlib import import_module

    home = f"{torch.__name__}._functorch"
    apis, eager = import_module(f"{home}.apis"), import_module(f"{home}.eager_transforms")
    return apis.vmap is torch.func.vmap, eager.jacrev is torch.func.jacrev


@agrees
def test_steps_of_functional_derivatives(torch: Any) -> Any:
    from importlib import import_module

    steps = import_module(f"{torch.__name__}.autograd.functional")
    x = numbers(torch, 2).requires_grad_()
    leaves = steps._grad_preprocess((x * 2,), create_graph=False, need_graph=True)
    views = steps._grad_preprocess((x * 2,), create_graph=True, need_graph=True)
    free = [steps._grad_postprocess(r, create_graph=False) for r in ((x * 2, x), ((x * 2,), (x,)))]
    kept = steps._grad_postprocess((x * 2,), create_graph=True)
    tuples = steps._tuple_postprocess((1,), False), steps._tuple_postprocess(((1,), (2,)), (True, False))
    return leaves, leaves[0].is_leaf, views, views[0].is_leaf, free, kept, tuples


@agrees
def test_line_search(torch: Any) -> Any:
    from importlib import import_module

    search = import_module(f"{torch.__name__}.optim.lbfgs")._strong_wolfe
    start = torch.tensor([2.0, -1.5], dtype=torch.float64)
    scale = torch.tensor([1.0, 10.0], dtype=torch.float64)

    def loss(x: Any, t: float, d: Any) -> Any:
        at = (x + t * d).requires_grad_()
        value = (scale * at**2).sum() + at.prod().sin()
        return float(value), torch.autograd.grad(value, at)[0]

    f, g = loss(start, 0.0, torch.zeros_like(start))
    end, gradient, step, count = search(loss, start, 1.0, -g, f, g, (-g * g).sum())
    return float(end), gradient, float(step), count


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
