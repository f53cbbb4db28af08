"""Pickles name the package alone, so that modules may move."""

from __future__ import annotations

import pickle
import pickletools

import pytest

import nbautograd as torch

PINNED = {
    "tensor": torch.ones(2, 3).t().requires_grad_(),
    "results": torch.eye(2).max(dim=0),
    "generator": torch.Generator().manual_seed(3),
    "dtype": torch.bfloat16,
    "device": torch.device("cpu"),
    "layout": torch.strided,
    "memory format": torch.channels_last,
    "size": torch.Size([2, 3]),
}


@pytest.mark.parametrize("name", PINNED)
def test_what_is_pickled_names_the_package_alone(name: str) -> None:
    data = pickle.dumps(PINNED[name], 2)
    named = {argument for code, argument, _ in pickletools.genops(data) if code.name == "GLOBAL"}
    assert {text.split()[0] for text in named if text.startswith("nbautograd")} == {"nbautograd"}
    assert repr(pickle.loads(data)) == repr(PINNED[name]) or name == "generator"
