"""The pass of a program as data: while the site is built, and in the reader's browser after a press of *Run*."""

from __future__ import annotations

import linecache
from typing import Any

import nbautograd
from nbautograd import viz


def pass_of(code: str, language: str = "en") -> dict[str, Any]:
    """Run a program, play the backward pass of its last result, and return the player's data.

    :raises ValueError: no variable has a graph.

    >>> sorted(pass_of("w = torch.tensor([3.], requires_grad=True)\\ny = w * w"))[:3]
    ['ask', 'head', 'label']
    """
    name, names = "<playground>", {"torch": nbautograd, "nbautograd": nbautograd, "viz": viz}
    linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name
    with viz.autograd(language=language):
        with viz.record(namespace=names) as ran:
            exec(compile(code, name, "exec"), names)
        if len(ran):
            return ran.data()
        roots = [each for each in names.values() if getattr(each, "grad_fn", None) is not None]
        if not roots:
            raise ValueError("no variable has a graph: give a leaf requires_grad=True, and compute a result with it")
        root = roots[-1]
        return viz.animate(root if root.numel() == 1 else root.sum(), namespace=names).data()
