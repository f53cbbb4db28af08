"""Error messages for missing names: whether PyTorch has the name, and its replacement here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from functools import cache
from opcode import opmap
from types import FrameType
from typing import Any, NoReturn

PACKAGE = __name__.partition(".")[0]
HINTS = {
    r"complex32|chalf": "its complex numbers have 64 bits and more",
    r"float8_|float4_|bits\d|u?int[1-7]$|bit$": "its floats have 16 bits and more, its integers 8",
    r"q?u?int(8|32|4x2|2x4)$|.*quantiz|q_|per_(channel|tensor)_|.*fake_quant|fbgemm|dequantize|int_repr|qscheme": (
        "nothing is quantized; tensor.half() and tensor.bfloat16() save memory"
    ),
    r".*sparse|.*_(crow|col|row|ccol)_indices|hspmm|hsmm|smm|saddmm|sspaddmm|coalesce": (
        "sparse tensors are torch.sparse_coo or torch.sparse_csr"
    ),
    r"cudnn|miopen|mkldnn|mkl|vulkan|fbgemm|xnnpack": "it calls a library that is not used",
    r"(mps|xpu|mtia|xla|ipu|hpu)$": "tensors are on the CPU or on CUDA devices",
    r"lstsq$": "PyTorch removed it; use torch.linalg.lstsq",
    r"eig$": "PyTorch removed it; use torch.linalg.eig",
    r"symeig$": "PyTorch removed it; use torch.linalg.eigh",
    r"solve$": "PyTorch removed it; use torch.linalg.solve",
    r"matrix_rank$": "PyTorch removed it; use torch.linalg.matrix_rank",
    r"(lstm|gru|rnn_tanh|rnn_relu)(_cell)?$": "use torch.nn.LSTM, GRU, RNN and their cells",
    r"(batch|instance)_norm$|embedding(_bag)?$|ctc_loss$|.*_loss$|kl_div$|binary_cross_entropy": (
        "use the function of that name in torch.nn.functional"
    ),
    r".*Storage$": "use tensor.untyped_storage()",
    r"sym_|Sym|.*Type$|Script|Graph$|Node$|CompilationUnit|import_ir|parse_": "it belongs to PyTorch's compiler",
    r"fx$|export$": "functions run as they are written, without compilation",
    r".*DataParallel": "it is one process with one device",
    r"(DFIter|Iter|Map)DataPipe$|DataChunk$|.*datapipe|argument_validation$|(non_|runtime_valid)": (
        "data pipes are deprecated in PyTorch: use Dataset and DataLoader"
    ),
    r"swap_in_optimizer_params_and_state$": "optimizers cannot be run as functions of their state",
    r"vmap$": "use torch.func.vmap",
}
"""By patterns of names: a hint to add to the error message."""
REMOVED = {
    "btrifact": "torch.linalg.lu_factor", "btrisolve": "torch.linalg.lu_solve", "gels": "torch.linalg.lstsq",
    "gesv": "torch.linalg.solve", "trtrs": "torch.linalg.solve_triangular", "pstrf": "torch.linalg.cholesky",
    "potrf": "torch.linalg.cholesky", "potri": "torch.cholesky_inverse", "potrs": "torch.cholesky_solve",
    "rfft": "torch.fft.rfft", "irfft": "torch.fft.irfft", "ifft": "torch.fft.ifft",
}  # fmt: skip
"""Names of old programs that PyTorch has removed, with their current names."""


@cache
def _names() -> dict[str, frozenset[str]]:
    """Return PyTorch's public names that are missing here, by module; see ``docs/absent_names.py``."""
    path = os.path.join(os.path.dirname(__file__), "absent_names.txt")  # pathlib would make the package's import longer
    with open(path, encoding="utf-8") as file:
        pairs = [line.split(":", 1) for line in file]
    return {path.strip("."): frozenset(names.split()) for path, names in pairs}


def names(path: str) -> frozenset[str]:
    """Return PyTorch's public names in one of its modules that are missing here."""
    return _names().get(path, frozenset())


def modules() -> Collection[str]:
    """Return PyTorch's modules with missing names."""
    return _names().keys()


def explain(path: str, name: str) -> str:
    """Return the message of the AttributeError for a name in one of the package's modules.

    >>> print(explain("", "quantize_per_tensor"))
    module 'nbautograd' has no attribute 'quantize_per_tensor': torch.quantize_per_tensor is PyTorch's and not part of \
nbautograd; nothing is quantized; tensor.half() and tensor.bfloat16() save memory
    >>> print(explain("nn", "Lineer"))
    module 'nbautograd.nn' has no attribute 'Lineer': it is not part of nbautograd, and PyTorch documents no \
torch.nn.Lineer
    """
    message = f"module {f'{PACKAGE}.{path}'.rstrip('.')!r} has no attribute {name!r}"
    return message if name.startswith("_") else f"{message}: {reason(path, name)}"


def reason(path: str, name: str) -> str:
    """Return whether PyTorch has a missing name, and its replacement.

    >>> reason("Tensor", "qscheme")
    "torch.Tensor.qscheme is PyTorch's and not part of nbautograd; nothing is quantized; tensor.half() and \
tensor.bfloat16() save memory"
    """
    full = ".".join(["torch", *([path] if path else []), name])
    if name not in names(path):
        if path in ("", "Tensor") and name in REMOVED:
            return f"PyTorch removed it; use {REMOVED[name]}"
        is_private = name.startswith("_")  # PyTorch's private names are not listed
        return f"it is not part of {PACKAGE}{'' if is_private else f', and PyTorch documents no {full}'}"
    hint = next((f"; {text}" for pattern, text in HINTS.items() if re.match(pattern, name)), "")
    return f"{full} is PyTorch's and not part of {PACKAGE}{hint}"


def fail(path: str, name: str) -> NoReturn:
    """Raise an error for a name missing from a module.

    :raises AttributeError: always, but
    :raises ImportError: for ``from torch.x import name``, which would omit the reason of an AttributeError.
    """
    module = f"{PACKAGE}.{path}".rstrip(".")
    if not name.startswith("__") and _is_import_of(name):
        raise ImportError(f"cannot import name {name!r} from {module!r}: {reason(path, name)}", name=module)
    raise AttributeError(explain(path, name), name=name, obj=sys.modules.get(module))


def _is_import_of(name: str) -> bool:
    """Return whether the running code outside this package is about to bind a name by ``from ... import``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and f"{frame.f_globals.get('__name__')}.".startswith(f"{PACKAGE}."):
        frame = frame.f_back
    if frame is None or frame.f_lasti < 0:
        return False
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM and name in frame.f_code.co_names


_IMPORT_FROM = opmap["IMPORT_FROM"]


def answer(module: str, path: str | None = None) -> None:
    """Make a module without ``__getattr__`` explain its missing names, by default as PyTorch's module of its path."""
    below = module.partition(".")[2] if path is None else path

    def absent(name: str) -> Any:
        fail(below, name)

    vars(sys.modules[module]).setdefault("__getattr__", absent)
