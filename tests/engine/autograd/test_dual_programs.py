"""Random programs of dual tensors, their views, and writes to all of them, against PyTorch.

After each step every tensor has the same value and the same tangent in both libraries, and either both have raised or
none. Some tensors require grad, and some steps are not recorded.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.engine.autograd.traces import Changes, DisagreementError, programs_agree

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

VIEWS = [
    lambda T, x: x[0],
    lambda T, x: x[1:],
    lambda T, x: x[..., 0],
    lambda T, x: x[None],
    lambda T, x: x.t(),
    lambda T, x: x.view(-1),
    lambda T, x: x.view_as(x),
    lambda T, x: x.diagonal(),
    lambda T, x: x.unsqueeze(0),
    lambda T, x: x.squeeze(0),
    lambda T, x: x.select(-1, 0),
    lambda T, x: x.narrow(0, 0, 1),
    lambda T, x: x.transpose(0, -1),
    lambda T, x: x.unfold(0, 2, 2),
    lambda T, x: x.chunk(2)[-1],
    lambda T, x: x.unbind()[0],
    lambda T, x: x.as_strided((2,), (1,), 0),
    lambda T, x: x.as_strided((2, 2), (2, 1), 0),
    lambda T, x: x.detach(),
]
OPERATIONS = [
    lambda T, x, y: x * y,
    lambda T, x, y: x + y,
    lambda T, x, y: x @ y,
    lambda T, x, y: x.sin(),
    lambda T, x, y: x.clone(),
    lambda T, x, y: x.sum(0),
    lambda T, x, y: x * 2 + 1,
    lambda T, x, y: x.cumsum(0),
    lambda T, x, y: T.where(x > y, x, y),
    lambda T, x, y: T.cat([x.reshape(-1), y.reshape(-1)]),
]
WRITES = [
    lambda T, x, y: x.mul_(2),
    lambda T, x, y: x.add_(1),
    lambda T, x, y: x.neg_(),
    lambda T, x, y: x.sin_(),
    lambda T, x, y: x.zero_(),
    lambda T, x, y: x.pow_(2),
    lambda T, x, y: x.fill_(3),
    lambda T, x, y: x.clamp_(0.1, 0.8),
    lambda T, x, y: x.masked_fill_(x > 0.6, 0.5),
    lambda T, x, y: x.mul_(y.clone()),
    lambda T, x, y: x.add_(y.clone()),
    lambda T, x, y: x.copy_(y.clone()),
    lambda T, x, y: x.addcmul_(y.clone(), y.clone()),
    lambda T, x, y: x.__setitem__(0, y.clone()),
    lambda T, x, y: x.__setitem__((..., 0), 5.0),
    lambda T, x, y: x.__setitem__(x > 0.5, 0.25),
    lambda T, x, y: x[..., 0].mul_(3),
    lambda T, x, y: x.t().add_(1),
    lambda T, x, y: x.diagonal().copy_(y.clone()),
    lambda T, x, y: x.t_(),
    lambda T, x, y: x.unsqueeze_(0),
    lambda T, x, y: x.squeeze_(0),
    lambda T, x, y: x.transpose_(0, -1),
]


# After some writes PyTorch takes a dual tensor, which is a view, for a leaf, or counts a write to another tensor.
OF_HISTORY = ("a leaf Variable that requires grad is being used", "is a view and its base or another view")


def dual(T, x, y):
    return T.autograd.forward_ad.make_dual(x, y.detach().clone() if x.shape == y.shape else x.detach() * 2 + 1)


def dual_of_recorded(T, x, y):
    return T.autograd.forward_ad.make_dual(x, y * 1 if x.shape == y.shape else x * 3)


class Program:
    """The tensors of a library, and the steps that are done with them."""

    def __init__(self, T, seed):
        self.T, self.random, numbers = T, random.Random(seed), np.random.RandomState(seed)
        self.tensors, self.count, self.values, self.tangents = [], 0, Changes(), Changes()
        for shape, requires_grad in (((2, 2), False), ((2,), False), ((), False), ((3, 2), False), ((2, 2), True)):
            t = T.tensor(np.asarray(numbers.random_sample(shape)) + 0.3, requires_grad=requires_grad)
            self.keep(t)
            self.keep(dual(T, t, t))

    def keep(self, t):
        self.tensors.append((self.count, t))
        self.count += 1
        if len(self.tensors) > 18:
            del self.tensors[10]

    def choose(self):
        """One step: a function of the library and two tensors, and its description."""
        kind = self.random.random()
        if kind < 0.15:
            return self.random.choice([dual, dual_of_recorded]), "dual"
        if kind < 0.45:
            view = self.random.choice(VIEWS)
            return lambda T, x, y: view(T, x), "view"
        if kind < 0.6:
            return self.random.choice(OPERATIONS), "operation"
        return self.random.choice(WRITES), "write"

    def advance(self):
        """Take a step, and say what is seen after it."""
        first, second = self.random.choices(self.tensors, k=2)
        step, what = self.choose()
        recorded = what != "write" or self.random.random() < 0.85
        error = ""
        try:
            with self.T.set_grad_enabled(recorded):
                result = step(self.T, first[1], second[1])
        except (RuntimeError, IndexError, TypeError) as raised:
            error = next((words for words in OF_HISTORY if words in str(raised)), "raises")
        if not error and what != "write":
            self.keep(result)
        return self.seen(f"{what} {first[0]} {second[0]}", error)

    def seen(self, what, error):
        tangents = ((number, tangent(self.T, t)) for number, t in self.tensors)
        return [what, error, "", self.values.of(self.tensors), self.tangents.of(tangents)]


def tangent(T, t):
    """The tangent, or None; also of a view that cannot be used any more, since its base was written to."""
    with T.no_grad():
        return T.autograd.forward_ad.unpack_dual(t).tangent


def is_over(ours, theirs):
    if bool(ours[1]) != bool(theirs[1]):
        if (ours[1] or theirs[1]) in OF_HISTORY:
            return True
        raise DisagreementError(f"only one raised: {ours[1] or theirs[1]}")
    # PyTorch may have written before it raised
    return bool(theirs[1]) and theirs[0].startswith("write") and bool(theirs[3] or theirs[4])


def trace(T, seed):
    """Return the observations of a program before the first step and after each."""
    with T.autograd.forward_ad.dual_level():
        program = Program(T, seed)
        return [program.seen("", ""), *(program.advance() for _ in range(25))]


@pytest.mark.parametrize("block", range(12))
def test_programs(block):
    assert programs_agree(trace, is_over, range(20 * block, 20 * block + 20)) > 300
