"""Random programs that run step by step, in nbautograd and in PyTorch, which have to agree after each step.

``Program`` makes one from a source of choices, so that a random generator and hypothesis can both drive it. A step
picks tensors and runs a function of the library's tensors. A comparison covers whether it raised, the values and
versions of all tensors, and from time to time their other attributes: reading a view's history changes when that
history is created, so it must not be read after every step.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.engine.autograd.traces import Changes, DisagreementError, EndOfProgramError, Step

__all__ = ["STEPS", "Program", "is_over", "trace"]

Choose = Callable[[Any], Any]
SLOTS = 10
INFERENCE = "Inplace update to inference tensor"
RAISED = object()
"""Instead of a result."""


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

    def __init__(self, choose: Choose, T: Any) -> None:
        self.choose, self.T = choose, T
        self.tensors: list[Any] = []
        self.numbers: list[int] = []
        self.forgotten: list[Any] = []
        self.counter = 0
        self.values, self.gradients = Changes(), Changes()
        self.begin()
        for shape in ((2, 3), (3,), ()):
            self.add(T.tensor(self.fresh(shape).tolist(), dtype=T.float64, requires_grad=True))

    def begin(self) -> None:
        """A new step has no known facts."""
        self.what, self.error, self.facts = "", "", ""
        self.result: list[Any] = []
        self.is_differentiated = False

    def fresh(self, shape: tuple[int, ...]) -> Any:
        """Other numbers each time."""
        self.counter += 1
        return np.cos(np.arange(np.prod(shape, dtype=int)) + self.counter).reshape(shape) + 0.25

    def constant(self, shape: tuple[int, ...]) -> Any:
        """A tensor of numbers that depend on the shape only."""
        values = np.sin(np.arange(np.prod(shape, dtype=int)) + 1.0) + 1.5
        return self.T.tensor(values.reshape(shape).tolist(), dtype=self.T.float64)

    def add(self, t: Any) -> None:
        """Keep a result; an old tensor is forgotten for it."""
        if len(self.tensors) >= SLOTS:
            position = self.choose(range(2, SLOTS))
            self.forgotten.append(self.tensors.pop(position))  # alive, since in PyTorch nodes hold what they saved
            del self.numbers[position]
        self.tensors.append(t)
        self.numbers.append(len(self.tensors) + len(self.forgotten))

    def pick(self, *conditions: Callable[[Any], bool]) -> Any:
        """The position of a tensor that meets the conditions; None if no one does."""
        positions = [i for i, t in enumerate(self.tensors) if all(c(t) for c in conditions)]
        return self.choose(positions) if positions else None

    def fitting(self, position: int) -> int:
        """Return the position of a tensor that can be combined with another, whose shape the result has."""
        shape = tuple(self.tensors[position].shape)
        return self.pick(lambda t: tuple(t.shape) in ((), shape, shape[1:]))

    def mode(self) -> str:
        """Recorded, most of the time."""
        return self.choose(["grad"] * 7 + ["no_grad"] * 2 + ["inference"])

    def run(self, what: str, function: Callable[..., Any], *positions: int, mode: str = "grad") -> Any:
        """The result of a function of the library and its tensors, or RAISED."""
        self.what = f"{what} {positions} {mode}"
        try:
            with mode_of(self.T, mode), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return function(self.T, *(self.tensors[i] for i in positions))
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            known = [words for words in (INFERENCE, *KEPT) if words in str(error)]
            self.error = known[0] if known else "raises"
            return RAISED

    def end_if_family_does_not_know(self, written: int) -> None:
        """After a write through ``detach()``: PyTorch's views of the memory rebuild their histories, ours keep them."""
        t = self.tensors[written]
        base, memory = t._base, t.detach().numpy()
        for other in (*self.tensors, *self.forgotten):
            alike = other._is_view() and (t if base is None else base) is not other._base
            if alike and np.shares_memory(memory, other.detach().numpy()):
                raise EndOfProgramError("written through detach()")

    def advance(self) -> Step:
        """Take a step, and say what is seen after it.

        :raises EndOfProgramError: the program is over.
        """
        self.begin()
        STEPS[self.choose(list(STEPS))](self)
        return self.seen()

    def seen(self) -> Step:
        """Return the step, its error, the facts about all tensors, and the values and gradients that have changed."""
        facts = [f"{self.facts} {self.error == ''}"]
        for number, t in zip(self.numbers, self.tensors, strict=True):
            version = "i" if t.is_inference() else t._version
            facts.append(f"{number} {version} {int(t.requires_grad)}{int(t.retains_grad)}")
        values = self.values.of(zip(self.numbers, self.tensors, strict=True))
        if any(np.abs(self.values.known[number]).max(initial=0) > 1e6 for number, _ in values):
            raise EndOfProgramError("large numbers")
        gradients = zip(self.numbers, map(grad_of, self.tensors), strict=True) if self.is_differentiated else ()
        return [self.what, self.error, ", ".join(facts), values, self.gradients.of(gradients), self.result]


def trace(T: Any, choose: Choose, steps: int) -> list[Step]:
    """Return the observations of a program with this many steps, before the first one and after each."""
    program = Program(choose, T)
    found = [program.seen()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gradients of the non-leaf tensors
        try:
            for _ in range(steps):
                found.append(program.advance())
        except EndOfProgramError:  # of the last step as well, if it raised
            found.append([program.what, program.error, None, [], [], []])
    return found


def is_over(ours: Step, theirs: Step) -> bool:
    """Return whether the libraries differ as ``docs/differences.md`` says, so that nothing more can be compared."""
    our_error, their_error = ours[1], theirs[1]
    if ours[0] != theirs[0] and {ours[0].split()[1], theirs[0].split()[1]} == {"flat", "itself"}:
        return True  # layouts of results may differ, and so may contiguity
    if their_error and not our_error:
        if their_error in KEPT:  # cases for which PyTorch raises an error are kept on purpose
            return True
        raise DisagreementError(f"only PyTorch raised: {their_error}")
    if our_error == INFERENCE:  # PyTorch allows it for tensors detached in normal mode
        return True
    if our_error and not their_error:
        raise DisagreementError(f"only nbautograd raised: {our_error}")
    return their_error == INFERENCE  # PyTorch has written before it raises


KEPT = (
    "please report a bug to PyTorch",
    "modified by an inplace operation",  # a copy of the saved tensor is kept
    "modified inplace",  # through detach(): a continued history is correct
    "a leaf Variable that requires grad is being used",  # a view whose base got a history that was not read yet
)

# -- computing -------------------------------------------------------------------------------------------------------


@step
def unary(p: Program) -> None:
    x = p.pick()
    name = p.choose(["sin", "tanh", "square", "neg", "sigmoid", "clone", "exp"])
    if name == "exp" and np.abs(p.tensors[x].tolist()).max(initial=0) > 5:
        name = "tanh"
    result = p.run(name, lambda T, t: getattr(T, name)(t), x, mode=p.mode())
    if result is not RAISED:
        p.add(result)


@step
def binary(p: Program) -> None:
    x = p.pick()
    y = p.fitting(x)
    name = p.choose(["add", "sub", "mul"])
    result = p.run(name, lambda T, a, b: getattr(T, name)(a, b), x, y, mode=p.mode())
    if result is not RAISED:
        p.add(result)


@step
def detach(p: Program) -> None:
    x = p.pick(lambda t: t.ndim > 0, lambda t: t.numel() > 0)
    if x is None:
        return
    cuts = {"detach": lambda T, t: t.detach(), "data": lambda T, t: t.data, "copy": lambda T, t: t.detach().clone()}
    name = p.choose(list(cuts))
    result = p.run(name, cuts[name], x, mode=p.mode())
    if result is not RAISED:
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
    if name == "flat" and not p.tensors[x].is_contiguous():
        name = "itself"
    result = p.run(f"view {name}", lambda T, t: VIEWS[name](T, t), x, mode=p.mode())
    if result is not RAISED:
        p.add(result)


STEPS["view once more"] = view


@step
def view_in_place(p: Program) -> None:
    x = p.pick(lambda t: 0 < t.ndim < 3, lambda t: not t.retains_grad and t._grad is None)
    if x is None:
        return
    name = p.choose(["unsqueeze_", "squeeze_", "transpose_"])
    arguments = {"unsqueeze_": (0,), "squeeze_": (0,), "transpose_": (0, -1)}[name]
    mode = "grad" if p.tensors[x].requires_grad else p.mode()  # a history of another shape is useless
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
    arrays = [p.tensors[i].detach().numpy() for i in (x, y)]
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
        if value or not (t.requires_grad and t.is_leaf):  # a former leaf crashes PyTorch's engine
            t.requires_grad_(value)

    p.run(f"requires_grad_({value})", demand, p.pick(), mode=p.mode())


@step
def hook(p: Program) -> None:
    def register(T: Any, t: Any) -> None:
        if not (t.is_leaf and t._is_view()):  # PyTorch crashes if an unrecorded view requires grad
            t.register_hook(lambda g: g * 3)

    p.run("register_hook", register, p.pick())


@step
def exchange_data(p: Program) -> None:
    x = p.pick(lambda t: not t.is_inference() and not t._is_view(), lambda t: t.requires_grad and t.numel() > 0)
    if x is None:
        return
    values = p.fresh(tuple(p.tensors[x].shape)).tolist()

    def exchange(T: Any, t: Any) -> None:
        t.data = T.tensor(values, dtype=T.float64)

    p.run("data =", exchange, x)


@step
def forget_gradient(p: Program) -> None:
    p.tensors[p.pick()].grad = None


@step
def inspect(p: Program) -> None:
    facts = p.run("inspect", lambda T, t: (t.is_leaf, t.grad_fn is None, t._is_view(), t.output_nr), p.pick())
    p.facts = f"is_leaf, no grad_fn, is_view, output_nr: {facts}" if facts is not RAISED else ""


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
    if result is RAISED:  # PyTorch has dropped the gradient before the error
        p.tensors[x].grad = None
    p.facts = "returned its input" if result is None else ""
    if name == "Double":
        p.end_if_family_does_not_know(x)
    if result is not None and result is not RAISED:
        p.add(result)


# -- differentiating -------------------------------------------------------------------------------------------------


@step
def backward(p: Program) -> None:
    x = p.pick()
    before = [g.clone() if hasattr(g, "clone") else g for g in map(grad_of, p.tensors)]

    def differentiate(T: Any, t: Any) -> None:
        t.backward(p.constant(tuple(t.shape)), retain_graph=True)

    if p.run("backward", differentiate, x) is RAISED:  # PyTorch may have accumulated a part
        for t, g in zip(p.tensors, before, strict=True):
            if g is None or not isinstance(g, str) and g.shape == t.shape:
                t.grad = g
    p.is_differentiated = True


STEPS["backward once more"] = backward


@step
def gradient(p: Program) -> None:
    x, y = p.pick(), p.pick()

    def differentiate(T: Any, a: Any, b: Any) -> Any:
        (g,) = T.autograd.grad(a, b, p.constant(tuple(a.shape)), retain_graph=True, allow_unused=True)
        return None if g is None else g.detach().clone()

    result = p.run("grad", differentiate, x, y)
    if result is None:  # PyTorch has called the hooks of a single root anyway
        p.tensors[x].grad = None
    if result is not RAISED:
        p.result = [[0, result]]
