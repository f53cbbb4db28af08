"""Tensors copied, deeply copied and pickled."""

from __future__ import annotations

import copy
import pickle

import pytest

import nbautograd as nb


def test_deep_copies_share_what_the_originals_shared():
    x = nb.arange(12.0).reshape(3, 4)
    copied = copy.deepcopy({"all": x, "row": x[1], "t": x.t(), "again": x})
    assert copied["all"] is copied["again"] and copied["t"].stride() == (1, 4)
    copied["row"][0] = 100
    assert copied["all"][1, 0].item() == copied["t"][0, 1].item() == 100 and x[1, 0].item() == 4


def test_a_leaf_is_copied_with_its_gradient_and_attributes():
    x = nb.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    x.label = ["a"]
    copied = copy.deepcopy(x)
    assert copied.requires_grad and copied.is_leaf and copied.grad.tolist() == [3, 3]
    assert copied.grad is not x.grad and copied.label == ["a"] and copied.label is not x.label
    pickled = pickle.loads(pickle.dumps(x))
    assert pickled.requires_grad and pickled.grad is None and pickled.label == ["a"]
    alias = copy.copy(x)
    assert alias.data_ptr() == x.data_ptr() and alias.requires_grad


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "bfloat16", "float32", "complex128"])
def test_pickles(protocol, dtype):
    for t in (nb.ones(2, 3), nb.ones(()), nb.ones(0, 2), nb.ones(4, 5).t()[::2], nb.ones(3).expand(2, 3)):
        t = t.to(getattr(nb, dtype))
        back = pickle.loads(pickle.dumps(t, protocol))
        assert back.dtype is t.dtype and back.stride() == t.stride() and back.tolist() == t.tolist()
        if t.numel() and t.stride()[:1] != (0,):
            back.zero_()  # it can be written to
