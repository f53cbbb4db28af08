"""Standing in for PyTorch in import statements."""

from __future__ import annotations

import sys

import pytest

import nbautograd


def test_imports_find_nbautograd_and_then_no_more():
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}
    with nbautograd.standing_in():
        import torch
        import torch.nn.functional as F
        from torch.autograd.function import Function, once_differentiable

        assert torch is nbautograd and F is nbautograd.nn.functional
        assert Function is nbautograd.autograd.Function
        assert once_differentiable is nbautograd.autograd.function.once_differentiable
        import torch.nn.modules.linear as linear
        import torch.optim as optim
        from torch.utils.data import DataLoader

        assert (
            optim is nbautograd.optim and linear.Linear is nbautograd.nn.Linear and optim.__name__ == "nbautograd.optim"
        )
        assert linear.__spec__.name == "nbautograd.nn.modules.linear" and DataLoader is nbautograd.utils.data.DataLoader
        with pytest.raises(ImportError):
            import torch._prims
        with pytest.raises(ImportError, match="pip install tensorboardX"):
            from torch.utils.tensorboard import SummaryWriter  # noqa: F401
    assert {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"} == before


def test_starting_and_stopping_twice():
    switch = nbautograd.standing_in("a_name_that_nobody_has")
    for change, there in ((switch.start, True), (switch.start, True), (switch.stop, False), (switch.stop, False)):
        change()
        assert ("a_name_that_nobody_has" in sys.modules) == there


def test_one_inside_another_ends_with_the_last():
    outer, inner = nbautograd.standing_in(), nbautograd.standing_in()
    before = sys.modules.get("torch")
    for first, last in ((outer, inner), (inner, outer)):
        outer.start()
        inner.start()
        first.stop()
        assert sys.modules["torch"] is nbautograd and nbautograd.Tensor.__module__ == "torch"
        last.stop()
        assert sys.modules.get("torch") is before and nbautograd.Tensor.__module__ != "torch"
