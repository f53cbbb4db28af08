"""Queries of the process, its build and its objects: small functions that programs call in passing."""

from __future__ import annotations

import os
from typing import Any

from nbautograd._engine.core.storage import TypedStorage, UntypedStorage
from nbautograd._engine.core.tensor import Tensor
from nbautograd.autograd.anomaly_mode import set_detect_anomaly
from nbautograd.errors import warn

has_lapack, has_spectral = True, True  # by SciPy and NumPy
has_mkl, has_openmp = False, False


def typename(obj: Any) -> str:
    """Return the name of a tensor's type, or of an object's class with its module.

    :param obj: a tensor, or any other object.
    :returns: a string.

    >>> import nbautograd as torch
    >>> torch.typename(torch.ones(2)), torch.typename(3)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if getattr(obj, "__qualname__", None) is not None else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins", "__builtin__") else f"{module}.{named.__qualname__}"


def is_storage(obj: Any, /) -> bool:
    """Return whether an object is a storage: the memory of a tensor.

    :param obj: any object.
    :returns: a Python bool.

    >>> import nbautograd as torch
    >>> torch.is_storage(torch.ones(2).untyped_storage()), torch.is_storage(torch.ones(2))
    (True, False)
    """
    return isinstance(obj, (UntypedStorage, TypedStorage))


def set_flush_denormal(mode: bool) -> bool:
    """Request flushing of subnormal numbers to 0, which is not supported, because NumPy keeps them.

    :param mode: whether to flush.
    :returns: whether the setting took effect: True for False, False for True, as in PyTorch on a processor without
        support.
    :raises TypeError: ``mode`` is not a bool.

    >>> import nbautograd as torch
    >>> torch.set_flush_denormal(True)
    False
    """
    if not isinstance(mode, bool):
        raise TypeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return not mode


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off; ``torch.autograd.set_detect_anomaly`` is the usual name.

    :param mode: on or off.
    :param check_nan: whether nan in a backward pass is an error.
    :returns: None.
    :raises TypeError: ``mode`` is not a bool.

    >>> import nbautograd as torch
    >>> torch.set_anomaly_enabled(True)
    >>> torch.is_anomaly_enabled()
    True
    >>> torch.set_anomaly_enabled(False)
    """
    set_detect_anomaly(mode, check_nan)


def is_distributed(input: Tensor) -> bool:
    """Return False: a tensor is in one process."""
    return False


def is_vulkan_available() -> bool:
    """Return False: tensors are on the CPU or on CUDA devices."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """Return True, as in PyTorch, which deprecates it; nbautograd is not compiled."""
    warn("compiled_with_cxx11_abi() is deprecated: it always returns True", FutureWarning)
    return True


def init_num_threads() -> None:
    """Do nothing: threads start on demand."""


def thread_safe_generator() -> None:
    """Return None, as in PyTorch outside data loader threads: the default generator is used."""


def get_file_path(*path_components: str) -> str:
    """Return the path of a file next to the package."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), *path_components)


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """Call ``true_fn`` on the operands if ``pred`` is true, otherwise ``false_fn``.

    :param pred: a bool, or a tensor with one element.
    :param true_fn: the function for True.
    :param false_fn: the function for False.
    :param operands: a tuple of the function's arguments.
    :returns: the function's result.
    :raises RuntimeError: a function is not callable, or ``pred`` has several elements.

    >>> import nbautograd as torch
    >>> torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.zeros(1),))
    tensor([0.])
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    return (true_fn if pred else false_fn)(*operands)
