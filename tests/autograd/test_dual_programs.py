"""Random programs of dual tensors, their views, and writes to all of them, against PyTorch.

After each step every tensor has the same value and the same tangent in both libraries, and either both have raised or
none. Some tensors require grad, and some steps are not recorded.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import nbautograd as nb
from tests import needs

torch = needs.package("torch")
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


# After some writes PyTorch takes a dual tensor, which is a view, for a leaf, or sees a write that did not concern it.
OF_HISTORY = ("a leaf Variable that requires grad is being used", "is a view and its base or another view")


def dual(T, x, y):
    return T.autograd.forward_ad.make_dual(x, y.detach().clone() if x.shape == y.shape else x.detach() * 2 + 1)


def dual_of_recorded(T, x, y):
    return T.autograd.forward_ad.make_dual(x, y * 1 if x.shape == y.shape else x * 3)


class Program:
    """The same tensors in both libraries, and the steps that are done with them."""

    def __init__(self, seed):
        self.random, numbers = random.Random(seed), np.random.default_rng(seed)
        self.pairs = []
        for shape, requires_grad in (((2, 2), False), ((2,), False), ((), False), ((3, 2), False), ((2, 2), True)):
            a = numbers.random(shape) + 0.3
            self.pairs.append([T.tensor(a, requires_grad=requires_grad) for T in (nb, torch)])
            self.pairs.append([dual(T, t, t) for T, t in zip((nb, torch), self.pairs[-1], strict=True)])

    def choose(self):
        """One step: a function of the library and two tensors, and whether it is a write."""
        kind = self.random.random()
        if kind < 0.15:
            return self.random.choice([dual, dual_of_recorded]), False
        if kind < 0.45:
            view = self.random.choice(VIEWS)
            return lambda T, x, y: view(T, x), False
        if kind < 0.6:
            return self.random.choice(OPERATIONS), False
        return self.random.choice(WRITES), True

    def run(self, steps):
        for _ in range(steps):
            first, second = self.random.choices(self.pairs, k=2)
            step, writes = self.choose()
            recorded = writes is False or self.random.random() < 0.85
            results, errors = [], []
            for T, x, y in zip((nb, torch), first, second, strict=True):
                try:
                    with T.set_grad_enabled(recorded):
                        results.append(step(T, x, y))
                except (RuntimeError, IndexError, TypeError) as error:
                    errors.append(error)
            if len(errors) == 1 and any(words in str(errors[0]) for words in OF_HISTORY):
                return
            assert len(errors) != 1, f"only one raised: {errors[0]}"
            if errors and writes and not self.agrees():
                return  # PyTorch had written before it raised
            if not errors and not writes:
                self.pairs.append(results)
                if len(self.pairs) > 18:
                    del self.pairs[10]
            self.compare()

    def agrees(self):
        try:
            self.compare()
        except AssertionError:
            return False
        return True

    def compare(self):
        for ours, theirs in self.pairs:
            np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy())
            a, b = (tangent(T, t) for T, t in ((nb, ours), (torch, theirs)))
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy())


def tangent(T, t):
    """The tangent, or None; also of a view that cannot be used any more, since its base was written to."""
    with T.no_grad():
        return T.autograd.forward_ad.unpack_dual(t).tangent


@pytest.mark.parametrize("block", range(12))
def test_programs(block):
    for seed in range(20 * block, 20 * block + 20):
        with nb.autograd.forward_ad.dual_level(), torch.autograd.forward_ad.dual_level():
            try:
                Program(seed).run(25)
            except AssertionError as error:
                raise AssertionError(f"the program of seed {seed}") from error
