"""Random programs that run step by step in nbautograd and in PyTorch, which have to agree after each step.

``Program`` makes one from a source of choices, so that a random generator and hypothesis can both drive it. A step
picks tensors, runs the same function of both libraries' tensors, and compares whether they raised; then the values and
versions of all tensors, and now and then what else they know of themselves: asking a view for its history changes when
that history is made, so that it must not be asked after every step.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["STEPS", "DisagreementError", "Program"]

Choose = Callable[[Any], Any]
SLOTS = 10


class DisagreementError(AssertionError):
    """The libraries came to different things."""


class EndOfProgramError(Exception):
    """They did so as ``docs/differences.md`` says: nothing can be compared from here on."""


STEPS: dict[str, Callable[[Program], None]] = {}


def step(function: Callable[[Program], None]) -> Callable[[Program], None]:
    """Declare a step."""
    STEPS[function.__name__] = function
    return function


def mode_of(torch: Any, mode: str) -> Any:
    """The mode that a step runs in."""
    if mode == "no_grad":
        return torch.no_grad()
    if mode == "inference":
        return torch.inference_mode()
    return contextlib.nullcontext()


def grad_of(t: Any) -> Any:
    """The ``.grad``; a text if it cannot be asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return t.grad
        except RuntimeError:
            return "raises"


class Program:
    """A program under way.

    :param choose: picks one of the items of a list.
    """

    def __init__(self, choose: Choose, libraries: tuple[Any, Any]) -> None:
        self.choose, self.libraries = choose, libraries
        self.tensors: list[tuple[Any, Any]] = []
        self.forgotten: list[tuple[Any, Any]] = []
        self.log: list[str] = []
        self.counter = 0
        for shape in ((2, 3), (3,), ()):
            values = self.fresh(shape)
            self.add([T.tensor(values.tolist(), dtype=T.float64, requires_grad=True) for T in libraries])

    def fresh(self, shape: tuple[int, ...]) -> Any:
        """Other numbers each time."""
        self.counter += 1
        return np.cos(np.arange(np.prod(shape, dtype=int)) + self.counter).reshape(shape) + 0.25

    def constant(self, T: Any, shape: tuple[int, ...]) -> Any:
        """A tensor of numbers that depend on the shape only."""
        values = np.sin(np.arange(np.prod(shape, dtype=int)) + 1.0) + 1.5
        return T.tensor(values.reshape(shape).tolist(), dtype=T.float64)

    def add(self, pair: Any) -> None:
        """Keep a pair of results; an old tensor is forgotten for it."""
        if len(self.tensors) >= SLOTS:
            position = self.choose(range(2, SLOTS))
            self.forgotten.append(self.tensors.pop(position))  # alive, since in PyTorch nodes hold what they saved
        self.tensors.append(tuple(pair))

    def pick(self, *conditions: Callable[[Any], bool]) -> Any:
        """The position of a tensor that meets the conditions; None if there is none."""
        positions = [i for i, (ours, _) in enumerate(self.tensors) if all(c(ours) for c in conditions)]
        return self.choose(positions) if positions else None

    def fitting(self, position: int) -> int:
        """The position of a tensor that can be combined with another, which keeps its shape."""
        shape = tuple(self.tensors[position][0].shape)
        return self.pick(lambda t: tuple(t.shape) in ((), shape, shape[1:]))

    def mode(self) -> str:
        """Recorded, most of the time."""
        return self.choose(["grad"] * 7 + ["no_grad"] * 2 + ["inference"])

    def run(self, what: str, function: Callable[..., Any], *positions: int, mode: str = "grad") -> Any:
        """The results of a function of the libraries and their tensors; None if it raised, in both."""
        self.log.append(f"{what} {positions} {mode}")
        results: list[Any] = []
        for side, T in enumerate(self.libraries):
            try:
                with mode_of(T, mode), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results.append(function(T, *(self.tensors[i][side] for i in positions)))
            except (RuntimeError, TypeError, ValueError, IndexError) as error:
                results.append(error)
        ours, theirs = (isinstance(r, Exception) for r in results)
        if theirs and not ours:
            self.allow(results[1], positions)
        if ours and "Inplace update to inference tensor" in str(results[0]):
            raise EndOfProgramError("PyTorch allows it for what was detached in normal mode")
        if ours and not theirs:
            raise DisagreementError(f"only nbautograd raised: {results[0]}")
        if theirs and "Inplace update to inference tensor" in str(results[1]):
            raise EndOfProgramError("PyTorch has written before it raises")
        return None if ours or theirs else results

    def allow(self, error: Exception, positions: Any) -> None:
        """End the program where PyTorch refuses what is kept here on purpose."""
        text = str(error)
        for words in KEPT:
            if words in text:
                raise EndOfProgramError(text)
        raise DisagreementError(f"only PyTorch raised: {text}")

    def end_if_family_does_not_know(self, written: int) -> None:
        """After a write through ``detach()``: PyTorch's views of the memory make their histories again, ours go on."""
        ours = self.tensors[written][0]
        base, memory = ours._base, ours.detach().numpy()
        for other, _ in (*self.tensors, *self.forgotten):
            alike = other._is_view() and (ours if base is None else base) is not other._base
            if alike and np.shares_memory(memory, other.detach().numpy()):
                raise EndOfProgramError("written through detach()")

    def advance(self) -> bool:
        """Take a step; False once the program is over."""
        name = self.choose(list(STEPS))
        try:
            STEPS[name](self)
            self.compare()
        except EndOfProgramError:
            return False
        except DisagreementError as error:
            raise DisagreementError(f"{error}\n" + "\n".join(self.log)) from None
        return True

    def compare(self) -> None:
        """Values and versions of all tensors."""
        for i, (ours, theirs) in enumerate(self.tensors):
            a, b = np.asarray(ours.tolist()), np.asarray(theirs.tolist())
            if np.abs(b).max(initial=0) > 1e6:
                raise EndOfProgramError("large numbers")
            if a.shape != b.shape or not np.allclose(a, b, rtol=1e-8, atol=1e-10, equal_nan=True):
                raise DisagreementError(f"values of {i}: {a} {b}")
            if ours.is_inference() != theirs.is_inference():
                raise DisagreementError(f"is_inference of {i}")
            if ours.requires_grad != theirs.requires_grad:
                raise DisagreementError(f"requires_grad of {i}: PyTorch says {theirs.requires_grad}")
            if not ours.is_inference() and ours._version != theirs._version:
                raise DisagreementError(f"version of {i}: {ours._version} {theirs._version}")
            if ours.retains_grad != theirs.retains_grad:
                raise DisagreementError(f"retains_grad of {i}")

    def compare_gradients(self) -> None:
        """What has been accumulated."""
        for i, (ours, theirs) in enumerate(self.tensors):
            a, b = grad_of(ours), grad_of(theirs)
            if (a is None) != (b is None) or isinstance(a, str) != isinstance(b, str):
                raise DisagreementError(f"grad of {i}: {a} {b}")
            if a is None or isinstance(a, str):
                continue
            if tuple(a.shape) != tuple(b.shape):
                raise DisagreementError(f"shape of the grad of {i}: {a.shape} {b.shape}")
            if not np.allclose(a.tolist(), b.tolist(), rtol=1e-7, atol=1e-9, equal_nan=True):
                raise DisagreementError(f"grad of {i}: {a.tolist()} {b.tolist()}")


KEPT = (
    "please report a bug to PyTorch",
    "modified by an inplace operation",  # a copy of what was saved is kept
    "modified inplace",  # through detach(): history that goes on is right
    "a leaf Variable that requires grad is being used",  # a view whose base got a history, which was not looked at yet
)

# -- computing -------------------------------------------------------------------------------------------------------


@step
def unary(p: Program) -> None:
    x = p.pick()
    name = p.choose(["sin", "tanh", "square", "neg", "sigmoid", "clone", "exp"])
    if name == "exp" and np.abs(p.tensors[x][0].tolist()).max(initial=0) > 5:
        name = "tanh"
    result = p.run(name, lambda T, t: getattr(T, name)(t), x, mode=p.mode())
    if result:
        p.add(result)


@step
def binary(p: Program) -> None:
    x = p.pick()
    y = p.fitting(x)
    name = p.choose(["add", "sub", "mul"])
    result = p.run(name, lambda T, a, b: getattr(T, name)(a, b), x, y, mode=p.mode())
    if result:
        p.add(result)


@step
def detach(p: Program) -> None:
    x = p.pick(lambda t: t.ndim > 0, lambda t: t.numel() > 0)
    if x is None:
        return
    cuts = {"detach": lambda T, t: t.detach(), "data": lambda T, t: t.data, "copy": lambda T, t: t.detach().clone()}
    name = p.choose(list(cuts))
    result = p.run(name, cuts[name], x, mode=p.mode())
    if result:
        p.add(result)


# -- views -----------------------------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "row": lambda T, t: t[0],
    "last": lambda T, t: t[-1:],
    "tail": lambda T, t: t[1:],
    "every other": lambda T, t: t[::2],
    "columns": lambda T, t: t[..., :2],
    "turned": lambda T, t: t.transpose(0, -1),
    "flat": lambda T, t: t.view(-1),
    "itself": lambda T, t: t.view(t.shape),
    "unsqueezed": lambda T, t: t.unsqueeze(0),
    "squeezed": lambda T, t: t.squeeze(),
    "unbound": lambda T, t: t.unbind(0)[0],
    "split": lambda T, t: t.split(1)[-1],
    "narrowed": lambda T, t: t.narrow(0, 0, 1),
    "strided": lambda T, t: t.as_strided((1,), (1,)),
    "diagonal": lambda T, t: t.diagonal(),
}


@step
def view(p: Program) -> None:
    x = p.pick(lambda t: t.ndim > 0)
    if x is None:
        return
    name = p.choose(list(VIEWS))
    if name == "flat" and not all(t.is_contiguous() for t in p.tensors[x]):
        name = "itself"  # the layouts of results may differ
    result = p.run(f"view {name}", lambda T, t: VIEWS[name](T, t), x, mode=p.mode())
    if result:
        p.add(result)


STEPS["view once more"] = view


@step
def view_in_place(p: Program) -> None:
    x = p.pick(lambda t: 0 < t.ndim < 3, lambda t: not t.retains_grad and t._grad is None)
    if x is None:
        return
    name = p.choose(["unsqueeze_", "squeeze_", "transpose_"])
    arguments = {"unsqueeze_": (0,), "squeeze_": (0,), "transpose_": (0, -1)}[name]
    mode = "grad" if p.tensors[x][0].requires_grad else p.mode()  # a history of another shape is of no use
    p.run(name, lambda T, t: getattr(t, name)(*arguments) is t, x, mode=mode)
    p.end_if_family_does_not_know(x)


# -- writing ---------------------------------------------------------------------------------------------------------


@step
def write(p: Program) -> None:
    x = p.pick()
    y = p.fitting(x)
    name = p.choose(["add_", "sub_", "mul_", "copy_"])
    p.run(name, lambda T, a, b: getattr(a, name)(b) is a, x, y, mode=p.mode())
    p.end_if_family_does_not_know(x)
    arrays = [p.tensors[i][0].detach().numpy() for i in (x, y)]
    if x != y and np.shares_memory(*arrays):
        raise EndOfProgramError("PyTorch may read what it has written")


STEPS["write once more"] = write


@step
def write_number(p: Program) -> None:
    x = p.pick()
    writes = [("mul_", (0.5,)), ("add_", (1,)), ("zero_", ()), ("fill_", (0.5,)), ("tanh_", ()), ("neg_", ())]
    name, arguments = p.choose(writes)
    p.run(f"{name}{arguments}", lambda T, t: getattr(t, name)(*arguments) is t, x, mode=p.mode())
    p.end_if_family_does_not_know(x)


@step
def write_item(p: Program) -> None:
    x = p.pick(lambda t: t.ndim > 0 and t.shape[0] > 0)
    if x is None:
        return
    y = p.pick(lambda t: t.ndim == 0)
    key = p.choose([0, -1, slice(0, 1), [0]])
    y = x if y is None else y

    def assign(T: Any, a: Any, b: Any) -> None:
        a[T.tensor(key) if isinstance(key, list) else key] = b if b.ndim == 0 else 2.0

    p.run(f"[{key}]=", assign, x, y, mode=p.mode())
    p.end_if_family_does_not_know(x)


# -- what tensors know of themselves -----------------------------------------------------------------------------------


@step
def retain(p: Program) -> None:
    p.run("retain_grad", lambda T, t: t.retain_grad(), p.pick())


@step
def require(p: Program) -> None:
    value = p.choose([True, True, False])

    def demand(T: Any, t: Any) -> None:
        if value or not (t.requires_grad and t.is_leaf):  # a leaf that no longer is one crashes PyTorch's engine
            t.requires_grad_(value)

    p.run(f"requires_grad_({value})", demand, p.pick(), mode=p.mode())


@step
def hook(p: Program) -> None:
    def register(T: Any, t: Any) -> None:
        if not (t.is_leaf and t._is_view()):  # PyTorch crashes where a view that was not recorded requires grad
            t.register_hook(lambda g: g * 3)

    p.run("register_hook", register, p.pick())


@step
def exchange_data(p: Program) -> None:
    x = p.pick(lambda t: not t.is_inference() and not t._is_view(), lambda t: t.requires_grad and t.numel() > 0)
    if x is None:
        return
    values = p.fresh(tuple(p.tensors[x][0].shape)).tolist()

    def exchange(T: Any, t: Any) -> None:
        t.data = T.tensor(values, dtype=T.float64)

    p.run("data =", exchange, x)


@step
def forget_gradient(p: Program) -> None:
    x = p.pick()
    for t in p.tensors[x]:
        t.grad = None


@step
def inspect(p: Program) -> None:
    x = p.pick()
    facts = p.run("inspect", lambda T, t: (t.is_leaf, t.grad_fn is None, t._is_view(), t.output_nr), x)
    if facts and facts[0] != facts[1]:
        raise DisagreementError(f"is_leaf, no grad_fn, is_view, output_nr of {x}: {facts}")


# -- custom functions ------------------------------------------------------------------------------------------------


def functions(T: Any) -> dict[str, Any]:
    """Custom functions of a library."""

    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    class Same(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    class Seen(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.unsqueeze(0)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g[0] * 5

    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x, x + 1

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g + h

    return {"Double": Double, "Same": Same, "Seen": Seen, "Square": Square}


@step
def custom(p: Program) -> None:
    x = p.pick()
    name = p.choose(["Double", "Same", "Seen", "Square"])

    def apply(T: Any, t: Any) -> Any:
        result = functions(T)[name].apply(t)
        return result[0] if isinstance(result, tuple) else None if result is t else result

    result = p.run(name, apply, x, mode=p.mode())
    if result is None:  # PyTorch has dropped the gradient before it refused
        for t in p.tensors[x]:
            t.grad = None
    if result and (result[0] is None) != (result[1] is None):
        raise DisagreementError("one library returned its input")
    if name == "Double":
        p.end_if_family_does_not_know(x)
    if result and result[0] is not None:
        p.add(result)


# -- differentiating -------------------------------------------------------------------------------------------------


@step
def backward(p: Program) -> None:
    x = p.pick()
    before = [[grad_of(t) for t in pair] for pair in p.tensors]
    before = [[g.clone() if hasattr(g, "clone") else g for g in pair] for pair in before]

    def differentiate(T: Any, t: Any) -> None:
        t.backward(p.constant(T, tuple(t.shape)), retain_graph=True)

    result = p.run("backward", differentiate, x)
    if result is None:  # PyTorch may have accumulated a part
        for pair, grads in zip(p.tensors, before, strict=True):
            for t, g in zip(pair, grads, strict=True):
                if g is None or not isinstance(g, str) and g.shape == t.shape:
                    t.grad = g
    p.compare_gradients()


STEPS["backward once more"] = backward


@step
def gradient(p: Program) -> None:
    x, y = p.pick(), p.pick()

    def differentiate(T: Any, a: Any, b: Any) -> Any:
        (g,) = T.autograd.grad(a, b, p.constant(T, tuple(a.shape)), retain_graph=True, allow_unused=True)
        return None if g is None else g.tolist()

    result = p.run("grad", differentiate, x, y)
    if result == [None, None]:  # PyTorch has called the hooks of a lone root all the same
        for t in p.tensors[x]:
            t.grad = None
    if result and (result[0] is None) != (result[1] is None):
        raise DisagreementError(f"grad: {result}")
    if result and result[0] is not None and not np.allclose(*result, rtol=1e-7, atol=1e-9, equal_nan=True):
        raise DisagreementError(f"grad: {result}")
