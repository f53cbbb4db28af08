"""Run graphs as programs, without nbautograd, and return their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nbautograd as nb
from nbautograd._engine.core.tracing import traced
from nbautograd.viz import program
from nbautograd.viz.program import Program


class NoGraph(Exception):  # noqa: N818 - no error
    """A call has no result with a graph."""


def tensor_in(result: Any) -> Any:
    """The first tensor of a result that has a graph."""
    if isinstance(result, (tuple, list)):
        return next((t for t in map(tensor_in, result) if t is not None), None)
    return result if isinstance(result, nb.Tensor) and result.grad_fn is not None else None


def written(
    call: Callable[..., Any], leaves: list[Any], library: str = "numpy", gradient: Any = None
) -> tuple[Program, Any]:
    """The program of a call, whose leaves are ``x0``, ``x1`` and so on, and its result; or ProgramError."""
    names = {id(leaf): f"x{i}" for i, leaf in enumerate(leaves)}
    with traced():
        y = tensor_in(call(*leaves))
    if y is None:
        raise NoGraph
    seed = seed_of(y) if gradient is None and y.numel() != 1 else gradient
    return program.write(y, seed, tensor_name=lambda t: names.get(id(t), ""), library=library), y


def seed_of(y: Any) -> Any:
    """Some gradient of a result."""
    return nb.tensor(np.random.default_rng(1).normal(size=y.shape)).to(y.dtype)


def run(written: Program, T: Any = None) -> dict[str, Any]:
    """The gradients that the saved file gives, run in this process in a namespace of its own.

    :param T: of a program in tensors, the library that it finds as PyTorch.
    """
    source = written.source("data.npz").replace("np.load(Path(__file__).with_name('data.npz'))", "STORED")
    if T is not None:
        source = source.replace("import torch", f"import {T.__name__} as torch")
    scope: dict[str, Any] = {"__name__": "saved", "STORED": written.stored}
    exec(compile(source, "<saved program>", "exec"), scope)
    return scope["backward"]()  # type: ignore[no-any-return]


def backward(y: Any) -> None:
    """Run the library's own backward pass."""
    y.backward(None if y.numel() == 1 else seed_of(y))


def same_bits(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
