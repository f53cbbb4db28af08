"""PyTorch's modules that cannot mean anything here, and are there all the same: what imports them can be imported.

A name that PyTorch has in such a module is a function, or a class, that refuses to be called, and says why. So a
program that never calls it runs.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NoReturn

from nbautograd._names import absent

__all__ = ["REFUSED", "covers", "refuse", "refuses", "stand_in", "why"]

PACKAGE = __name__.partition(".")[0]

_ONE_PROCESS = "it is one process with one device"
_NO_COMPILER = "functions run as they are written, without compilation"
_NO_QUANTIZATION = "nothing is quantized; tensor.half() and tensor.bfloat16() save memory"

REFUSED = {
    "_dynamo": _NO_COMPILER,
    "_inductor": _NO_COMPILER,
    "ao": _NO_QUANTIZATION,
    "compiler": _NO_COMPILER,
    "contrib": "it is code that PyTorch keeps for others",
    "distributed": _ONE_PROCESS,
    "export": _NO_COMPILER,
    "fx": "functions run as they are written, and no graph is made of their code; nbautograd.viz draws what ran",
    "jit": "functions run as they are written, unless torch.jit.trace records them",
    "monitor": "it reports to PyTorch's own services; time.perf_counter() and logging do for one process",
    "mps": "tensors are on the CPU or on CUDA devices",
    "mtia": "tensors are on the CPU or on CUDA devices",
    "multiprocessing": "Python's own multiprocessing is behind it, and tensors are pickled",
    "nested": "tensors are rectangular; torch.nn.utils.rnn.pad_sequence and a mask do for sequences of several lengths",
    "nn.intrinsic": _NO_QUANTIZATION,
    "nn.qat": _NO_QUANTIZATION,
    "nn.quantizable": _NO_QUANTIZATION,
    "nn.quantized": _NO_QUANTIZATION,
    "onnx": "no graph is exported; PyTorch's torch.onnx exports a model with the weights of one from here",
    "package": "it packs Python code into archives; torch.save stores a state_dict",
    "quantization": _NO_QUANTIZATION,
    "quasirandom": "scipy.stats.qmc.Sobol has the same sequence",
    "utils.cpp_extension": "there is no C++ to compile against; torch.autograd.Function takes NumPy and CuPy code",
    "utils.mobile_optimizer": "there is no runtime for phones",
    "xpu": "tensors are on the CPU or on CUDA devices",
}
"""Why the names of these modules, and of those below them, refuse, unless they are defined."""

_NO_DEVICE = """
    is_available=False is_initialized=False device_count=0 manual_seed=None manual_seed_all=None seed=None seed_all=None
    memory_allocated=0 max_memory_allocated=0 memory_reserved=0 max_memory_reserved=0 is_bf16_supported=False
    is_tf32_supported=False empty_cache=None"""
ANSWERS = {
    "mps": "is_available=False device_count=0 manual_seed=None",
    "mtia": _NO_DEVICE,
    "onnx": "is_in_onnx_export=False",
    "distributed": """
        is_backend_available=False is_gloo_available=False is_mpi_available=False is_nccl_available=False
        is_torchelastic_launched=False is_ucc_available=False is_xccl_available=False""",
    "xpu": _NO_DEVICE,
}
"""By module, what functions answer that do not refuse."""


def why(path: str) -> str | None:
    """Why a module's names refuse; None of a module that is not of this kind.

    >>> why("ao.quantization.observer")
    'nothing is quantized; tensor.half() and tensor.bfloat16() save memory'
    """
    while path:
        if path in REFUSED:
            return REFUSED[path]
        path = path.rpartition(".")[0]
    return None


def covers(path: str) -> bool:
    """Whether PyTorch has a module of this path, and its names refuse."""
    return path in REFUSED or (why(path) is not None and path in absent.modules())


def refuses(path: str, name: str) -> bool:
    """Whether a name of PyTorch's in a module is only there to refuse.

    >>> refuses("onnx", "export"), refuses("onnx", "is_in_onnx_export"), refuses("jit", "script")
    (True, False, False)
    """
    answers = {each.partition("=")[0] for each in ANSWERS.get(path, "").split()}
    return why(path) is not None and name in absent.names(path) and name not in answers


def refuse(full: str, reason: str) -> NoReturn:
    """Say that something of PyTorch's cannot be had, and why.

    :raises NotImplementedError: always.
    """
    raise NotImplementedError(f"torch.{full} is not part of {PACKAGE}: {reason}")


class _Refusing(type):
    """Of classes that can be named and inherited from, not made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(cls.full, cls.reason)  # type: ignore[attr-defined]


@cache
def stand_in(path: str, name: str) -> Any:
    """What stands for a name that PyTorch has in a module, and that is refused: a class if it begins with a capital.

    >>> stand_in("ao.quantization", "quantize_dynamic")()
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.ao.quantization.quantize_dynamic is not part of nbautograd: nothing is quantized; \
tensor.half() and tensor.bfloat16() save memory
    """
    answers = dict(each.split("=") for each in ANSWERS.get(path, "").split())
    if name in answers:
        return _constant(path, name, {"False": False, "0": 0, "None": None}[answers[name]])
    full, reason = f"{path}.{name}", why(path) or ""
    text = f"Not part of {PACKAGE}: {reason}."
    if name.endswith(("Error", "Exception", "Warning")):  # for ``except`` and filters
        base = UserWarning if name.endswith("Warning") else RuntimeError
        return type(name, (base,), {"__module__": f"{PACKAGE}.{path}", "__doc__": text})
    if re.match(r"_*[A-Z]", name):
        scope = {"__module__": f"{PACKAGE}.{path}", "__doc__": text, "full": full, "reason": reason}
        return _Refusing(name, (), scope)

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(full, reason)

    refused.__name__, refused.__qualname__, refused.__doc__ = name, name, text
    refused.__module__ = f"{PACKAGE}.{path}"
    return refused


def _constant(path: str, name: str, value: Any) -> Any:
    """A function that answers the same whatever it is given."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return value

    answer.__name__, answer.__qualname__, answer.__module__ = name, name, f"{PACKAGE}.{path}"
    shown = "" if value is None else f"{value}\n"
    answer.__doc__ = (
        f"{value}: {why(path)}.\n\n:param args, kwargs: accepted and without effect.\n:returns: {value}, always.\n\n"
        f">>> import {PACKAGE} as torch\n>>> torch.{path}.{name}({'1' if name.startswith('manual') else ''})\n{shown}"
    )
    return answer
