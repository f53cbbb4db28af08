"""Random programs of views, in-place writes, hooks, detach, no_grad and backward passes, against two oracles.

A library and a naive twin both do each step, and all tensors are compared after it: nbautograd's with the twin's and
with PyTorch's. The twin is forward mode on NumPy arrays: a value, and a tangent for every element of every leaf, both
plain arrays. NumPy's own views propagate writes; ``no_grad`` leaves tangents unchanged.
"""

from __future__ import annotations

import functools
import random
from contextlib import nullcontext

import numpy as np
import pytest

import nbautograd
from tests import oracle
from tests.engine.autograd.traces import Changes, DisagreementError, programs_agree

K = 8  # total number of elements of all leaves

UNARY = {
    "sin": (np.sin, np.cos),
    "tanh": (np.tanh, lambda v: 1 - np.tanh(v) ** 2),
    "square": (np.square, lambda v: 2 * v),
    "neg": (np.negative, lambda v: -np.ones_like(v)),
    "sigmoid": (lambda v: 1 / (1 + np.exp(-v)), lambda v: np.exp(-v) / (1 + np.exp(-v)) ** 2),
}
BINARY = {
    "add": (np.add, lambda a, b: (np.ones_like(b), np.ones_like(a))),
    "sub": (np.subtract, lambda a, b: (np.ones_like(b), -np.ones_like(a))),
    "mul": (np.multiply, lambda a, b: (b, a)),
}
VIEWS = {
    "row": lambda t, lead: t[(slice(None),) * lead + (0, ...)],
    "tail": lambda t, lead: t[(slice(None),) * lead + (slice(1, None),)],
    "turned": lambda t, lead: t.swapaxes(-1, -2) if t.ndim - lead == 2 else t[...],
    "flat": lambda t, lead: t.reshape(*t.shape[:lead], -1) if _contiguous(t) else t[...],
}


def _contiguous(t):
    if isinstance(t, np.ndarray):
        return t.flags.c_contiguous
    return t.is_contiguous()


class Twin:
    """A value and its derivatives by all leaf elements; ``views`` share both."""

    def __init__(self, value, tangent):
        self.value, self.tangent = np.asarray(value), tangent


class Slot:
    """One tensor of the program, and its twin."""

    def __init__(self, tensor, twin, number, leaf=None, is_one_of_several=False):
        self.tensor, self.twin, self.number, self.leaf = tensor, twin, number, leaf
        self.is_one_of_several = is_one_of_several
        self.expected = None  # the expected .grad


RAISED = object()
"""Instead of a result."""


class Program:
    """The operations on the tensors of a library, and their twins.

    :param values: the elements of the leaves.
    """

    def __init__(self, T, seed, values):
        self.T, self.choose = T, random.Random(seed).choice
        self.slots, self.count, used = [], 0, 0
        self.values, self.gradients = Changes(), Changes()
        self.what, self.error, self.result = "", "", []
        for shape in ((2, 2), (2,), ()):
            n = int(np.prod(shape))
            value = values[used : used + n].reshape(shape).copy()
            tangent = np.zeros((K, *shape), values.dtype)
            tangent.reshape(K, -1)[range(used, used + n), range(n)] = 1
            tensor = T.tensor(value.tolist(), dtype=T.float64, requires_grad=True)
            self.add(tensor, Twin(value, tangent), leaf=slice(used, used + n))
            used += n

    def step(self):
        """Take a step."""
        self.what, self.error, self.result = "", "", []
        self.choose(STEPS)(self)

    def advance(self):
        """Take a step, and say what is seen after it."""
        self.step()
        return self.seen()

    def seen(self):
        """Return the step, its error, the facts about tensors, and the values, gradients and results."""
        tensors = [(slot.number, slot.tensor) for slot in self.slots]
        facts = ", ".join(f"{number} {int(self.is_recorded(t))} {t._version}" for number, t in tensors)
        gradients = [(number, t.grad) for number, t in tensors[:3]]
        values = self.values.of(tensors)
        return [self.what, self.error, facts, values, self.gradients.of(gradients), self.result]

    def is_recorded(self, t):
        return t.requires_grad and (self.T is nbautograd or t.grad_fn is not None or t.is_leaf)

    # -- how a step is done ---------------------------------------------------------------------------------------

    def pick(self, condition=lambda slot: True):
        found = [slot for slot in self.slots if condition(slot)]
        return self.choose(found) if found else None

    def run(self, what, step, *used):
        """``step(T, *tensors)``, or RAISED."""
        self.what = f"{what} {[slot.number for slot in used]}"
        try:
            return step(self.T, *(slot.tensor for slot in used))
        except (RuntimeError, TypeError):
            self.error = "raises"
            return RAISED

    def add(self, tensor, twin, **about):
        if tensor is not RAISED:
            self.count += 1
            self.slots.append(Slot(tensor, twin, self.count, **about))
            if len(self.slots) > 14:  # drop an old one
                del self.slots[3]

    def cut(self, twin, recorded):
        return twin if recorded else Twin(twin.value, np.zeros_like(twin.tangent))

    def combined(self, name, x, y):
        f, derivatives = BINARY[name]
        a, b = x.twin.value, y.twin.value
        da, db = derivatives(a, b)
        other = y.twin.tangent.reshape((K,) + (1,) * (a.ndim - b.ndim) + b.shape)
        return Twin(np.asarray(f(a, b)), da * x.twin.tangent + db * other)

    def written(self, result, x, twin, recorded):
        if result is RAISED:
            return
        x.twin.value[...] = twin.value
        if recorded:
            x.twin.tangent[...] = twin.tangent
        self.slots = [slot for slot in self.slots if not self.is_lost(slot, x)]

    @staticmethod
    def is_lost(slot, x):
        """Return whether PyTorch no longer knows of which tensor this is a view, since its memory has been written
        to.
        """
        return slot.is_one_of_several and origin(slot.twin.value) is origin(x.twin.value)

    # -- steps ----------------------------------------------------------------------------------------------------

    def unary(self):
        x, name, recorded = self.pick(), self.choose(sorted(UNARY)), self.choose([True, False])
        f, derivative = UNARY[name]
        twin = Twin(f(x.twin.value), derivative(x.twin.value) * x.twin.tangent)

        def step(T, t):
            with nullcontext() if recorded else T.no_grad():
                return getattr(T, name)(t)

        self.add(self.run(f"{name} {recorded}", step, x), self.cut(twin, recorded))

    def binary(self):
        name, x = self.choose(sorted(BINARY)), self.pick()
        y = self.pick(lambda slot: slot.twin.value.shape in ((), x.twin.value.shape))
        twin = self.combined(name, x, y)
        self.add(self.run(name, lambda T, a, b: getattr(T, name)(a, b), x, y), twin)

    def view(self):
        name = self.choose(sorted(VIEWS))
        x = self.pick(lambda slot: slot.twin.value.ndim and slot.twin.value.shape[0] > 1)
        if x is None:
            return
        look = VIEWS[name]
        if name == "flat" and not _contiguous(x.twin.value):
            return

        tangent = look(x.twin.tangent, 1) if name != "flat" else x.twin.tangent.reshape(K, -1)
        if not np.shares_memory(tangent, x.twin.tangent):
            return
        tensor = self.run(name, lambda T, t: look(t, 0), x)
        self.add(tensor, Twin(look(x.twin.value, 0), tangent), is_one_of_several=x.is_one_of_several)

    def one_of_several_views(self):
        x = self.pick(lambda slot: slot.twin.value.ndim == 2 and len(slot.twin.value) > 1)
        if x is not None:
            twin = Twin(x.twin.value[1], x.twin.tangent[:, 1])
            self.add(self.run("unbind", lambda T, t: t.unbind(0)[1], x), twin, is_one_of_several=True)

    def detach(self):
        x = self.pick()
        self.add(self.run("detach", lambda T, t: t.detach(), x), self.cut(x.twin, False))

    def hooked(self):
        x, factor = self.pick(), self.choose([-1.0, 3.0])

        def step(T, t):
            y = t * 2
            if y.requires_grad:
                y.register_hook(lambda g: g * factor)
            return y

        self.add(self.run(f"hook {factor}", step, x), Twin(x.twin.value * 2, x.twin.tangent * 2 * factor))

    def write(self):
        name, recorded = self.choose(sorted(BINARY)), self.choose([True, True, True, False])
        x = self.pick()
        y = self.pick(lambda slot: slot.twin.value.shape in ((), x.twin.value.shape))
        if x is not y and np.shares_memory(x.twin.value, y.twin.value):
            return  # PyTorch raises an error for overlapping memory; here the old values are read
        twin = self.combined(name, x, y)

        def step(T, a, b):
            with nullcontext() if recorded else T.no_grad():
                getattr(a, name + "_")(b)

        self.written(self.run(f"{name}_ {recorded}", step, x, y), x, twin, recorded)

    def write_item(self):
        x = self.pick(lambda slot: slot.twin.value.ndim == 1 and slot.twin.value.size)
        y = self.pick(lambda slot: slot.twin.value.shape == ())
        if x is None or y is None or np.shares_memory(x.twin.value, y.twin.value):
            return
        twin = Twin(x.twin.value.copy(), x.twin.tangent.copy())
        twin.value[0], twin.tangent[:, 0] = y.twin.value, y.twin.tangent

        def step(T, a, b):
            a[0] = b

        self.written(self.run("[0]=", step, x, y), x, twin, True)

    def backward(self):
        """Accumulate; a pass that fails for a write to a saved tensor changes nothing."""
        x = self.pick(lambda slot: slot.leaf is None)
        if x is None:
            return
        weights = np.cos(np.arange(x.twin.value.size) + 1.0).reshape(x.twin.value.shape)
        before = [None if slot.tensor.grad is None else slot.tensor.grad.clone() for slot in self.slots[:3]]

        def step(T, t):
            t.backward(T.tensor(weights.tolist(), dtype=T.float64), retain_graph=True)

        if self.run("backward", step, x) is RAISED:
            for slot, value in zip(self.slots[:3], before, strict=True):
                now = slot.tensor.grad
                if self.T is nbautograd:
                    assert (now is None) == (value is None) and (now is None or now.tolist() == value.tolist())
                slot.tensor.grad = value  # PyTorch may have accumulated a part
            return
        gradient = (x.twin.tangent * weights.astype(x.twin.tangent.dtype)).reshape(K, -1).sum(1)
        for slot in self.slots[:3]:
            if slot.tensor.grad is None:
                assert not gradient[slot.leaf].any()
                continue
            part = gradient[slot.leaf].reshape(slot.twin.value.shape)
            slot.expected = part if slot.expected is None else slot.expected + part

    def second_derivative(self):
        """The gradient of the squared gradient: against PyTorch only."""
        x = self.pick(lambda slot: slot.leaf is None)
        if x is None:
            return

        def step(T, t, *leaves):
            first = T.autograd.grad(t.sum(), leaves, create_graph=True, allow_unused=True)
            total = sum(((g * g).sum() for g in first if g is not None and g.requires_grad), T.zeros(()))
            found = [None] * 3
            if total.requires_grad:
                found = T.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
            return [T.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves, strict=True)]

        result = self.run("second derivative", step, x, *self.slots[:3])
        if result is not RAISED:
            self.result = [[i, g] for i, g in enumerate(result)]


STEPS = [Program.unary, Program.binary, Program.view, Program.one_of_several_views, Program.detach, Program.hooked,
         Program.write, Program.write_item, Program.backward, Program.second_derivative]  # fmt: skip


def origin(array):
    """The array whose memory a view shares."""
    while array.base is not None:
        array = array.base
    return array


def leaves(seed):
    return np.random.RandomState(seed).uniform(-0.5, 1.5, K)


def trace(T, seed):
    """Return the observations of a program before the first step and after each."""
    program = Program(T, seed, leaves(seed))
    return [program.seen(), *(program.advance() for _ in range(25))]


def is_over(ours, theirs):
    if ours[1] == theirs[1]:
        return False
    if theirs[1] and theirs[0].startswith(("backward", "second")):
        return True  # a copy of the saved tensor is kept
    raise DisagreementError("only PyTorch raised" if theirs[1] else "only nbautograd raised")


@functools.lru_cache(1)
def states(seed, memory, dtype):
    """The values and gradients after each step, of tensors and of their twins."""
    program, found = Program(nbautograd, seed, np.frombuffer(memory, dtype)), []
    for _ in range(25):
        program.step()
        for slot in program.slots:
            found.append((np.array(slot.tensor.detach().numpy()), slot.twin.value.copy()))
            if slot.expected is not None:
                found.append((np.array(slot.tensor.grad.numpy()), np.asarray(slot.expected)))
    return [list(column) for column in zip(*found, strict=True)]


def tensors(values, seed):
    return states(seed, values.tobytes(), values.dtype)[0]


def twins(values, seed):
    return states(seed, values.tobytes(), values.dtype)[1]


@pytest.mark.sweep
@pytest.mark.parametrize("block", range(6))
def test_twins(block):
    for seed in range(20 * block, 20 * block + 20):
        oracle.agree(tensors, twins, leaves(seed), seed)


@pytest.mark.sweep
@pytest.mark.parametrize("block", range(6))
def test_programs(block):
    assert programs_agree(trace, is_over, range(20 * block, 20 * block + 20)) > 500
