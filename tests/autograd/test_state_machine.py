"""Random programs of views, in-place writes, hooks, detach, no_grad and backward passes, against two oracles.

Each step is done in nbautograd, in PyTorch (where it is installed) and in a naive twin, and all tensors are compared
after each. The twin is forward mode on NumPy arrays: a value, and a tangent for every element of every leaf, both of
them plain arrays. NumPy's own views make a write reach what it should; under ``no_grad`` tangents are left alone.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import nbautograd as nb
from tests import needs

torch = needs.optional("torch")
LIBRARIES = [nb] if torch is None else [nb, torch]
K = 8  # elements of all leaves together

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
    """One tensor of the program, in each library and in the twin."""

    def __init__(self, tensors, twin, leaf=None):
        self.tensors, self.twin, self.leaf = tensors, twin, leaf


class Programs(RuleBasedStateMachine):
    @initialize(values=st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8))
    def leaves(self, values):
        self.slots, self.failed, used = [], False, 0
        for shape in ((2, 2), (2,), ()):
            n = int(np.prod(shape))
            value = np.array(values[used : used + n], float).reshape(shape) + 0.5
            tangent = np.zeros((K, *shape))
            tangent.reshape(K, -1)[range(used, used + n), range(n)] = 1
            tensors = [T.tensor(value.tolist(), dtype=T.float64, requires_grad=True) for T in LIBRARIES]
            self.slots.append(Slot(tensors, Twin(value, tangent), slice(used, used + n)))
            self.slots[-1].expected = None  # the .grad that should be there
            used += n

    # -- how a step is done in all --------------------------------------------------------------------------------

    def pick(self, data, condition=lambda slot: True):
        found = [slot for slot in self.slots if condition(slot)]
        return data.draw(st.sampled_from(found)) if found else None

    def everywhere(self, step, used):
        """``step(T, *tensors)`` in each library: its results, or None if it raises, which it must in all or none."""
        results, errors = [], []
        for i, T in enumerate(LIBRARIES):
            try:
                results.append(step(T, *(slot.tensors[i] for slot in used)))
                errors.append(None)
            except (RuntimeError, TypeError) as error:
                results.append(None)
                errors.append(error)
        if any(errors):
            assert all(errors), f"only one raised: {errors}"
            return None
        return results

    def add(self, tensors, twin):
        if tensors is not None:
            self.slots.append(Slot(tensors, twin))
            if len(self.slots) > 14:  # forget an old one
                del self.slots[3]

    def cut(self, twin, recorded):
        return twin if recorded else Twin(twin.value, np.zeros_like(twin.tangent))

    # -- steps ----------------------------------------------------------------------------------------------------

    @rule(data=st.data(), name=st.sampled_from(sorted(UNARY)), recorded=st.booleans())
    def unary(self, data, name, recorded):
        x = self.pick(data)
        f, derivative = UNARY[name]
        twin = Twin(f(x.twin.value), derivative(x.twin.value) * x.twin.tangent)

        def step(T, t):
            with nullcontext() if recorded else T.no_grad():
                return getattr(T, name)(t)

        self.add(self.everywhere(step, [x]), self.cut(twin, recorded))

    @rule(data=st.data(), name=st.sampled_from(sorted(BINARY)))
    def binary(self, data, name):
        x = self.pick(data)
        y = self.pick(data, lambda slot: slot.twin.value.shape in ((), x.twin.value.shape))
        self.add(self.everywhere(lambda T, a, b: getattr(T, name)(a, b), [x, y]), self.combined(name, x, y))

    def combined(self, name, x, y):
        f, derivatives = BINARY[name]
        a, b = x.twin.value, y.twin.value
        da, db = derivatives(a, b)
        other = y.twin.tangent.reshape((K,) + (1,) * (a.ndim - b.ndim) + b.shape)
        return Twin(np.asarray(f(a, b)), da * x.twin.tangent + db * other)

    @rule(data=st.data(), name=st.sampled_from(sorted(VIEWS)))
    def view(self, data, name):
        x = self.pick(data, lambda slot: slot.twin.value.ndim and slot.twin.value.shape[0] > 1)
        if x is None:
            return
        look = VIEWS[name]
        if name == "flat" and not _contiguous(x.twin.value):
            return

        tangent = look(x.twin.tangent, 1) if name != "flat" else x.twin.tangent.reshape(K, -1)
        if not np.shares_memory(tangent, x.twin.tangent):
            return
        self.add(self.everywhere(lambda T, t: look(t, 0), [x]), Twin(look(x.twin.value, 0), tangent))

    @rule(data=st.data())
    def one_of_several_views(self, data):
        x = self.pick(data, lambda slot: slot.twin.value.ndim == 2 and len(slot.twin.value) > 1)
        if x is not None:
            twin = Twin(x.twin.value[1], x.twin.tangent[:, 1])
            self.add(self.everywhere(lambda T, t: t.unbind(0)[1], [x]), twin)

    @rule(data=st.data())
    def detach(self, data):
        x = self.pick(data)
        self.add(self.everywhere(lambda T, t: t.detach(), [x]), self.cut(x.twin, False))

    @rule(data=st.data(), factor=st.sampled_from([-1.0, 3.0]))
    def hooked(self, data, factor):
        x = self.pick(data)

        def step(T, t):
            y = t * 2
            if y.requires_grad:
                y.register_hook(lambda g: g * factor)
            return y

        self.add(self.everywhere(step, [x]), Twin(x.twin.value * 2, x.twin.tangent * 2 * factor))

    @rule(data=st.data(), name=st.sampled_from(sorted(BINARY)), recorded=st.sampled_from([True, True, True, False]))
    def write(self, data, name, recorded):
        x = self.pick(data)
        y = self.pick(data, lambda slot: slot.twin.value.shape in ((), x.twin.value.shape))
        if x is not y and np.shares_memory(x.twin.value, y.twin.value):
            return  # PyTorch refuses memory that overlaps; here it is the old values that are read
        twin = self.combined(name, x, y)

        def step(T, a, b):
            with nullcontext() if recorded else T.no_grad():
                return getattr(a, name + "_")(b)

        self.written(self.everywhere(step, [x, y]), x, twin, recorded)

    @rule(data=st.data())
    def write_item(self, data):
        x = self.pick(data, lambda slot: slot.twin.value.ndim == 1 and slot.twin.value.size)
        y = self.pick(data, lambda slot: slot.twin.value.shape == ())
        if x is None or y is None or np.shares_memory(x.twin.value, y.twin.value):
            return
        twin = Twin(x.twin.value.copy(), x.twin.tangent.copy())
        twin.value[0], twin.tangent[:, 0] = y.twin.value, y.twin.tangent

        def step(T, a, b):
            a[0] = b

        self.written(self.everywhere(step, [x, y]), x, twin, True)

    def written(self, results, x, twin, recorded):
        if results is not None:
            x.twin.value[...] = twin.value
            if recorded:
                x.twin.tangent[...] = twin.tangent

    @precondition(lambda self: len(self.slots) > 3)
    @rule(data=st.data())
    def backward(self, data):
        """Accumulate; where the pass is refused for a write to a saved tensor, it changes nothing."""
        x = self.pick(data, lambda slot: slot.leaf is None)
        weights = np.cos(np.arange(x.twin.value.size) + 1.0).reshape(x.twin.value.shape)
        before = [[None if s.tensors[i].grad is None else s.tensors[i].grad.clone() for s in self.slots[:3]]
                  for i in range(len(LIBRARIES))]  # fmt: skip
        outcomes = []
        for i, T in enumerate(LIBRARIES):
            try:
                t = x.tensors[i]
                t.backward(T.tensor(weights.tolist(), dtype=T.float64), retain_graph=True)
                outcomes.append(None)
            except RuntimeError as error:
                outcomes.append(error)
        if torch is not None and outcomes[0] is not None:
            assert outcomes[1] is not None, f"only ours raised: {outcomes[0]}"
        if any(outcomes):  # PyTorch may refuse what we allow, or have accumulated a part: go on as if nothing had been
            for i, values in enumerate(before):
                for slot, value in zip(self.slots[:3], values, strict=True):
                    if i == 0 and outcomes[0] is not None:
                        now = slot.tensors[0].grad
                        assert (now is None) == (value is None) and (now is None or now.tolist() == value.tolist())
                    slot.tensors[i].grad = value
            return
        gradient = (x.twin.tangent * weights).reshape(K, -1).sum(1)
        for slot in self.slots[:3]:
            if slot.tensors[0].grad is None:
                assert not gradient[slot.leaf].any()
                continue
            part = gradient[slot.leaf].reshape(slot.twin.value.shape)
            slot.expected = part if slot.expected is None else slot.expected + part

    @precondition(lambda self: len(self.slots) > 3)
    @rule(data=st.data())
    def second_derivative(self, data):
        """The gradient of the squared gradient: against PyTorch only."""
        x = self.pick(data, lambda slot: slot.leaf is None)

        def step(T, t, *leaves):
            first = T.autograd.grad(t.sum(), leaves, create_graph=True, allow_unused=True)
            total = sum(((g * g).sum() for g in first if g is not None and g.requires_grad), T.zeros(()))
            if not total.requires_grad:
                return [None] * 3
            found = T.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
            return [None if g is None else g.tolist() for g in found]

        results = []
        for i, T in enumerate(LIBRARIES):
            try:
                results.append(step(T, x.tensors[i], *(slot.tensors[i] for slot in self.slots[:3])))
            except RuntimeError as error:
                results.append(error)
        if torch is None or isinstance(results[1], RuntimeError):
            return
        assert not isinstance(results[0], RuntimeError), results[0]
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(0 if a is None else a, 0 if b is None else b, rtol=1e-8, atol=1e-10)

    # -- what must hold -------------------------------------------------------------------------------------------

    @invariant()
    def all_agree(self):
        for slot in list(getattr(self, "slots", ())):
            ours = slot.tensors[0]
            np.testing.assert_allclose(ours.detach().numpy(), slot.twin.value, rtol=1e-12, atol=1e-14)
            if torch is not None:
                theirs = slot.tensors[1]
                try:
                    recorded = theirs.requires_grad and (theirs.grad_fn is not None or theirs.is_leaf)
                except RuntimeError:  # a view made under no_grad whose base was written to: PyTorch will not have it
                    self.slots.remove(slot)
                    continue
                assert ours.requires_grad == recorded and ours._version == theirs._version
            if slot.leaf is not None and slot.expected is not None:
                for tensor in slot.tensors:
                    np.testing.assert_allclose(tensor.grad.tolist(), slot.expected, rtol=1e-9, atol=1e-11)


Programs.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TestPrograms = pytest.mark.sweep(Programs.TestCase)
