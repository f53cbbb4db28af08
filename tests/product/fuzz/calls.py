"""Call functions with drawn arguments, and check the promises that hold for success and failure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

import nbautograd as nb

from .guard import DOCUMENTED, guarded
from .values import for_hint, odd, shapes, tensors


class State:
    """The state of a tensor that a failed call must not change."""

    def __init__(self, t: nb.Tensor) -> None:
        self.tensor = t
        self.bytes = np.ascontiguousarray(t._a).tobytes()
        self.about = self.now()

    def now(self) -> tuple[Any, ...]:
        t = self.tensor
        gradient = t.grad if t.is_leaf else None
        return (t._version, t._fn, t.requires_grad, gradient, t.dtype, tuple(t.shape), t.stride())

    def check(self) -> None:
        now = self.now()
        for name, a, b in zip(
            ("_version", "grad_fn", "requires_grad", "grad", "dtype", "shape", "stride"), self.about, now, strict=True
        ):
            assert a is b or a == b, f"{name} was {a!r} and is {b!r}"
        assert np.ascontiguousarray(self.tensor._a).tobytes() == self.bytes, "values have changed"


def tensors_in(value: Any) -> Iterator[nb.Tensor]:
    if isinstance(value, nb.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def arguments(random: Random, function: Callable[..., Any], first: bool = False) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that more or less fit the parameters; with ``first``, the first one is a tensor for sure."""
    like = shapes(random)
    wild = random.choice([0, 0, 1, 4])  # of ten arguments

    def value(hint: str) -> Any:
        return odd(random) if random.randint(0, 9) < wild else for_hint(hint, like)(random)

    args: list[Any] = [tensors(random, like)] if first else []
    kwargs: dict[str, Any] = {}
    by_name = False  # one was omitted, so the others follow by name
    for parameter in parameters(function)[len(args) :]:
        hint = str(parameter.annotation) if parameter.annotation is not parameter.empty else ""
        if parameter.kind is parameter.VAR_POSITIONAL:
            if not by_name:
                args += [value(hint) for _ in range(random.randint(0, 3))]
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.default is not parameter.empty and random.choice([False, True]):
            if parameter.kind is not parameter.KEYWORD_ONLY:
                by_name = True
        elif parameter.kind is parameter.KEYWORD_ONLY or by_name:
            kwargs[parameter.name] = value(hint)
        else:
            args.append(value(hint))
    twist = random.randint(0, 30)
    if twist == 0:
        kwargs[random.choice(["dim", "axis", "out", "dtype", "nonsense", "keepdim", "input"])] = odd(random)
    elif twist == 1 and args:
        args.pop()
    elif twist == 2:
        args.append(odd(random))
    elif twist == 3:
        kwargs["out"] = tensors(random, like)
    return args, kwargs


def shown(value: Any) -> str:
    """An argument, in few characters."""
    if isinstance(value, nb.Tensor):
        mark = " leaf" if value.requires_grad and value.is_leaf else " computed" if value.requires_grad else ""
        return f"<{value.dtype.name} {tuple(value.shape)}{mark} {value.detach().tolist()!r:.80}>"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, value)) + "]"
    return f"{value!r:.40}"


WRITES = ("batch_norm", "instance_norm", "embedding", "embedding_bag", "backward")
"""Functions that may change a tensor without saying so in their name: running statistics, renormed weights, .grad."""

RESHAPES = ("set_", "resize_", "resize_as_", "as_strided_")
"""Methods that give a tensor another shape behind its graph's back, as in PyTorch."""

ALSO: dict[str, tuple[type[Exception], ...]] = {
    "multi_head_attention_forward": (AssertionError,),
    "embedding": (AssertionError,),
    "compile": (AssertionError,),
    "from_dlpack": (BufferError,),
}
"""The additional exceptions of some functions, because PyTorch's raise them."""


def check(
    function: Callable[..., Any],
    name: str,
    args: list[Any],
    kwargs: dict[str, Any],
    also: tuple[type[Exception], ...] = (),
    written: bool = False,
) -> bool:
    """Call, and check the promises; return whether it succeeded.

    :param also: further exceptions besides the documented ones.
    :param written: whether it may write to its arguments, though its name does not say so.
    :raises AssertionError: something does not hold.
    """
    about = f"{name}({', '.join([*map(shown, args), *(f'{k}={shown(v)}' for k, v in kwargs.items())])})"
    given = list(tensors_in([*args, kwargs]))
    states = [State(t) for t in given]
    quiet, recording = np.geterr(), nb.is_grad_enabled()
    try:
        with guarded():
            result = function(*args, **kwargs)
    except (*DOCUMENTED, *also, *ALSO.get(name, ())) as error:
        result = error
    except BaseException as error:
        raise AssertionError(f"{about} raised {type(error).__name__}: {error}") from error
    assert np.geterr() == quiet and nb.is_grad_enabled() == recording, f"{about} left a mode changed"
    failed = isinstance(result, Exception)
    written |= "out" in kwargs or name.endswith("_") or name.startswith(("__i", "__setitem")) or name in WRITES
    written |= any(parameter.name in ("inplace", "out") for parameter in parameters(function))
    if failed or not written:
        for state in states:
            try:
                state.check()
            except AssertionError as error:
                why = f"which {'failed' if failed else 'returned'}"
                raise AssertionError(f"{about}, {why}, changed an argument: {error}; {result!r:.200}") from None
    if failed:
        assert str(result).strip(), f"{about} raised a {type(result).__name__} without words"
        return False
    check_result(about, result, operator=name.startswith("__"))
    if name not in RESHAPES:
        check_gradients(about, result)
    return True


def check_result(about: str, result: Any, operator: bool) -> None:
    """Results are proper tensors that can be printed; only an operator may leave it to the other operand."""
    assert operator or result is not NotImplemented, f"{about} returned NotImplemented"
    for t in tensors_in(result):
        repr(t)
        if t.layout is not nb.strided:
            t = t.to_dense()
        assert t.dtype.name and t._a.dtype.kind in "biufcV", f"{about}: dtype {t._a.dtype}"
        assert t.numel() == 0 or not t._a.dtype.hasobject


def check_gradients(about: str, result: Any) -> None:
    """Check that gradients have the dtype and shape of their tensors."""
    dense = (t for t in tensors_in(result) if t.layout is nb.strided)
    differentiable = [t for t in dense if t.requires_grad and t.grad_fn is not None]
    if not differentiable:
        return
    try:
        with guarded():
            out = differentiable[0]
            leaves = leaves_of(out.grad_fn)
            gradients = nb.autograd.grad(out, leaves, nb.ones_like(out), allow_unused=True)
    except DOCUMENTED as error:
        allowed = ("derivative", "not implemented", "inplace", "does not require", "singular", "unique", "well-defined",
                   "rank", "square", "ill-defined", "not supported", "converge", "backward")  # fmt: skip
        assert any(word in str(error) for word in allowed), (
            f"backward of {about} raised {type(error).__name__}: {error}"
        )
        return
    except BaseException as error:
        raise AssertionError(f"backward of {about} raised {type(error).__name__}: {error}") from error
    for leaf, gradient in zip(leaves, gradients, strict=True):
        if gradient is not None:
            assert gradient.shape == leaf.shape, f"backward of {about}: {gradient.shape} for {leaf.shape}"
            assert gradient.dtype == leaf.dtype, f"backward of {about}: {gradient.dtype} for {leaf.dtype}"


def leaves_of(node: Any) -> list[nb.Tensor]:
    found, waiting, seen = [], [node], set()
    while waiting:
        n = waiting.pop()
        if n is None or id(n) in seen:
            continue
        seen.add(id(n))
        if hasattr(n, "variable"):
            found.append(n.variable)
        waiting += [following for following, _ in n.next_functions]
    return found
