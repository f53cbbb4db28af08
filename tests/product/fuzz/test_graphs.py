"""Programs that mix what ``tests/engine/autograd/test_state_machine.py`` has apart.

Includes dtypes, ``retain_grad``, hooks that come and go, passes that record themselves or free the graph, gradients by
intermediate results. PyTorch is the oracle of each step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import nbautograd as nb
from tests import needs

from .guard import fuzzed

torch = needs.package("torch")
LIBRARIES: list[Any] = [nb, torch]

STEPS: dict[str, Callable[..., Any]] = {
    "double": lambda T, x: x.double(),
    "float": lambda T, x: x.float(),
    "complex": lambda T, x: x.to(T.complex64),
    "real": lambda T, x: x.real if x.is_complex() else x * 1,
    "sin": lambda T, x: x.sin(),
    "square": lambda T, x: x * x,
    "sum": lambda T, x: x.sum(-1) if x.dim() else x.sum(),
    "exp": lambda T, x: (x * 0.25).exp(),
    "row": lambda T, x: x[0] if x.dim() else x.view(1),
    "turned": lambda T, x: x.transpose(0, -1) if x.dim() else x.clone(),
    "expanded": lambda T, x: x.expand(2, *x.shape) if x.dim() < 3 else x.clone(),
    "clone": lambda T, x: x.clone(),
    "detach": lambda T, x: x.detach(),
    "abs": lambda T, x: x.abs(),
    "softmax": lambda T, x: x.softmax(0) if x.dim() and not x.is_complex() else x.cos(),
    "max": lambda T, x: x.max() if not x.is_complex() and x.numel() else x.cos(),
}
VIEWS = ("float", "real", "row", "turned", "expanded", "double", "complex")
"""Steps whose result may be a view, or the tensor itself."""
PAIRS: dict[str, Callable[..., Any]] = {
    "add": lambda T, x, y: x + y,
    "mul": lambda T, x, y: x * y,
    "where": lambda T, x, y: T.where(x.real > 0 if x.is_complex() else x > 0, x, y),
    "cat": lambda T, x, y: T.cat([x.reshape(-1), y.reshape(-1)])[:6],
}
WRITES: dict[str, Callable[..., Any]] = {
    "add_": lambda T, x, y: x.add_(y),
    "mul_": lambda T, x, y: x.mul_(y),
    "copy_": lambda T, x, y: x.copy_(y),
    "item": lambda T, x, y: x.__setitem__(0, y) if x.dim() else x.fill_(0.5),
    "zero_": lambda T, x, y: x.zero_(),
    "detach_": lambda T, x, y: x.detach_(),
}


def array(t: Any) -> Any:
    return t.detach().resolve_conj().numpy() if isinstance(t, torch.Tensor) else t.detach().numpy()


class Graphs(RuleBasedStateMachine):
    """Each slot holds the same tensor of both libraries."""

    @initialize(seed=st.integers(0, 5))
    def leaves(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        values = [rng.integers(-4, 5, shape) / 4 for shape in ((2, 2), (2,), (), (2, 2))]
        self.slots = [[T.tensor(v.tolist(), dtype=T.float32, requires_grad=True) for T in LIBRARIES] for v in values]
        self.hooks: list[list[Any]] = []

    def both(self, step: Callable[..., Any], *used: list[Any], more: bool = False) -> list[Any] | None:
        """The step in both libraries: their results, or None if both reject it.

        :param more: True if ours may do more than PyTorch.
        """
        results: list[Any] = []
        errors: list[Exception | None] = []
        for i, T in enumerate(LIBRARIES):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    results.append(step(T, *(slot[i] for slot in used)))
                    errors.append(None)
                except (RuntimeError, TypeError, IndexError) as error:
                    results.append(None)
                    errors.append(error)
        if "Could this error message be improved" in str(errors[1]):  # where PyTorch's own formulas disagree
            return None
        assert (errors[0] is None) == (errors[1] is None) or more and errors[1], f"only one raised: {errors}"
        return None if any(errors) else results

    def keep(self, results: list[Any] | None) -> None:
        if results is not None:
            self.slots.append(results)
            if len(self.slots) > 12:
                del self.slots[4]

    def pick(self, data: Any) -> list[Any]:
        return self.slots[data.draw(st.integers(0, len(self.slots) - 1))]

    @rule(data=st.data(), name=st.sampled_from(sorted(STEPS)), recorded=st.sampled_from([True, True, True, False]))
    def step(self, data: Any, name: str, recorded: bool) -> None:
        x = self.pick(data)
        if not recorded and name in VIEWS and x[1].requires_grad:
            return  # in PyTorch a view created under no_grad requires grad, although nothing is recorded

        def run(T: Any, x: Any) -> Any:
            with T.set_grad_enabled(recorded):
                return STEPS[name](T, x)

        self.keep(self.both(run, x))

    @rule(data=st.data(), name=st.sampled_from(sorted(PAIRS)))
    def pair(self, data: Any, name: str) -> None:
        self.keep(self.both(lambda T, x, y: PAIRS[name](T, x, y), self.pick(data), self.pick(data)))

    @rule(data=st.data(), name=st.sampled_from(sorted(WRITES)), recorded=st.sampled_from([True, True, False]))
    def write(self, data: Any, name: str, recorded: bool) -> None:
        x, y = self.pick(data), self.pick(data)
        if np.shares_memory(array(x[0]), array(y[0])) and x is not y:
            return  # PyTorch raises for partly overlapping memory; here the old values are read

        def run(T: Any, a: Any, b: Any) -> None:
            with T.set_grad_enabled(recorded):
                WRITES[name](T, a, b)

        self.both(run, x, y)

    @rule(data=st.data())
    def retain(self, data: Any) -> None:
        self.both(lambda T, x: x.retain_grad(), self.pick(data))

    @rule(data=st.data(), factor=st.sampled_from([2.0, -1.0]))
    def hook(self, data: Any, factor: float) -> None:
        handles = self.both(lambda T, x: x.register_hook(lambda g: g * factor), self.pick(data))
        if handles is not None:
            self.hooks.append(handles)

    @precondition(lambda self: self.hooks)
    @rule(data=st.data())
    def unhook(self, data: Any) -> None:
        for handle in self.hooks.pop(data.draw(st.integers(0, len(self.hooks) - 1))):
            handle.remove()

    @rule(data=st.data(), retain=st.booleans(), create=st.sampled_from([False, False, True]))
    def backward(self, data: Any, retain: bool, create: bool) -> None:
        done = self.passing(
            lambda T, x: [x.backward(T.ones_like(x), retain_graph=retain, create_graph=create)], self.pick(data)
        )
        if done is not None and create:
            self.keep_gradients()

    def passing(self, run: Callable[..., Any], *used: list[Any]) -> list[Any] | None:
        """A backward pass; after one that fails, PyTorch may have accumulated and freed a part.

        What ``x.mul_(x)`` saves is kept here, and lost in PyTorch, which then rejects the pass.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = [[t.grad for t in slot] for slot in self.slots]
            before = [[None if g is None else g.clone() if g.grad_fn is None else g for g in row] for row in before]
            done = self.both(run, *used, more=True)
            if done is None:
                for slot, grads in zip(self.slots, before, strict=True):
                    for t, grad in zip(slot, grads, strict=True):
                        t.grad = grad
                del self.slots[4:], self.hooks[:]
        return done

    def keep_gradients(self) -> None:
        """Gradients that were recorded take part in the program."""
        for slot in self.slots[:3]:
            grads = [t.grad if t.is_leaf else None for t in slot]
            if all(g is not None for g in grads) and grads[0].grad_fn is not None:
                self.keep([g * 1 for g in grads])  # PyTorch counts the creation of .grad as a write
                return

    @rule(data=st.data(), create=st.booleans())
    def gradient(self, data: Any, create: bool) -> None:
        x, y = self.pick(data), self.pick(data)
        self.keep(
            self.passing(
                lambda T, a, b: T.autograd.grad(a, b, T.ones_like(a), retain_graph=True, create_graph=create)[0], x, y
            )
        )

    @rule(data=st.data(), value=st.booleans())
    def requires_grad(self, data: Any, value: bool) -> None:
        x = self.pick(data)
        if any(slot is not x and np.shares_memory(array(slot[0]), array(x[0])) for slot in self.slots):
            return  # PyTorch's views report the values of their base
        self.both(lambda T, t: t.requires_grad_(value), x)

    @rule()
    def forget_gradients(self) -> None:
        for slot in self.slots:
            for t in slot:
                if t.is_leaf:
                    t.grad = None

    @invariant()
    def all_agree(self) -> None:
        for slot in list(getattr(self, "slots", ())):
            ours, theirs = slot
            try:
                facts = [self.facts(ours), self.facts(theirs)]
            except RuntimeError:  # a view created under no_grad, with a written base: PyTorch rejects it
                self.slots = [other for other in self.slots if other is not slot]
                continue
            assert facts[0] == facts[1]
            self.close(ours, theirs)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                grads = ours.grad, theirs.grad
            assert (grads[0] is None) == (grads[1] is None)
            if grads[0] is not None:
                self.close(*grads)

    @staticmethod
    def facts(t: Any) -> tuple[Any, ...]:
        return tuple(t.shape), str(t.dtype), t.requires_grad, t.is_leaf, t._version

    @staticmethod
    def close(ours: Any, theirs: Any) -> None:
        assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype)
        a, b = array(ours), array(theirs)
        if np.abs(b[np.isfinite(b)]).max(initial=0) < 1e6:  # float32 after many squares
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


Graphs.TestCase.settings = settings(fuzzed(25), stateful_step_count=30)
TestGraphs = Graphs.TestCase
