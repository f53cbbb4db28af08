"""Choose the result of ``import torch`` in a notebook: PyTorch, or nbautograd in its place if the user says so.

``%autograd torch`` says so where PyTorch is not installed; where it is, only ``%autograd torch nbautograd`` does.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

from nbautograd.viz.language import say

__all__ = ["CHOICES", "choose", "explain_missing", "is_installed", "stands_in", "stop"]

OURS, THEIRS = __name__.partition(".")[0], "torch"
CHOICES = ("", "nbautograd", "on", "off")
"""The arguments of ``%autograd torch``."""
_stand_in = import_module(OURS).standing_in(THEIRS)


def stands_in() -> bool:
    """Return whether ``import torch`` gives nbautograd."""
    return sys.modules.get(THEIRS) is sys.modules[OURS]


def is_installed() -> bool:
    """Return whether ``import torch`` finds PyTorch."""
    try:
        return find_spec(THEIRS) is not None
    except ValueError:  # a module without a spec
        return True


def choose(word: str) -> str:
    """Carry out ``%autograd torch WORD``; return the line to print, if any.

    :param word: one of ``CHOICES``.
    """
    if word == "off":
        stop()
    if word in ("on", "off") or (not word and stands_in()):
        return say("torch_is_ours") if stands_in() else ""
    if not word and is_installed():
        return say("torch_is_theirs")
    if not stands_in():
        _stand_in.start()
    return say("torch_is_ours")


def stop() -> None:
    """Restore the state of ``import torch`` before :func:`choose`."""
    _stand_in.stop()


def explain_missing(error: BaseException | None) -> str:
    """The line to print where a cell failed because PyTorch is not installed; nothing for other errors."""
    missing = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == THEIRS
    return say("torch_missing") if missing and not stands_in() and not is_installed() else ""
