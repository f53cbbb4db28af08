"""Samples of PyTorch's database of operations as arguments for our library, and the comparison of results."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import nbautograd as nb
from tests import needs

torch = needs.package("torch")

TOLERANCES = {
    "float64": (1e-7, 1e-9),
    "complex128": (1e-7, 1e-9),
    "float32": (1e-4, 1e-5),
    "complex64": (1e-4, 1e-5),
    "float16": (1e-2, 1e-2),
    "bfloat16": (4e-2, 4e-2),
}


LESS_EXACT = {
    "special.bessel_j0": 1e-6,
    "special.bessel_j1": 1e-6,
    "special.bessel_y0": 1e-6,
    "special.bessel_y1": 1e-6,
    "special.airy_ai": 1e-8,
    "special.log_ndtr": 1e-3,
}
"""Entries whose values are less exact in PyTorch than ours (checked against SciPy at higher precision)."""
TWICE_LESS_EXACT = {"pca_lowrank": 1e-6, "svd_lowrank": 1e-6}
"""Entries whose second derivatives are less exact in complex128, where those of real numbers agree to 1e-14.

The phase of complex singular vectors is arbitrary and cancels only in exact numbers: 1e-16 becomes 3e-13 in the first
derivative, and in the second 5e-9 with PyTorch's AVX-512 kernels, 8e-8 with its plainest (ATEN_CPU_CAPABILITY=default).
Ours moves by less than 1e-14 between OpenBLAS's kernels.
"""


class DisagreementError(AssertionError):
    """A difference between the two libraries."""


# -- from PyTorch to ours --------------------------------------------------------------------------------------------


def array_of(t: torch.Tensor) -> np.ndarray:
    """A copy of a tensor as an array of the same memory layout."""
    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype == torch.bfloat16:
        return t.float().numpy().astype(nb.bfloat16.numpy)
    if 0 in t.shape or t.dim() == 0:
        return t.numpy().copy()
    memory = torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage()).numpy().copy()
    kind = t.numpy().dtype
    strides = [s * kind.itemsize for s in t.stride()]
    return np.ndarray(tuple(t.shape), kind, memory, t.storage_offset() * kind.itemsize, strides)


def converted(value: Any, leaves: dict[int, Any]) -> Any:
    """An argument for our library; tensors that require grad are remembered in ``leaves``, each once."""
    if isinstance(value, torch.Tensor):
        if id(value) not in leaves:
            t = nb.as_tensor(array_of(value))
            leaves[id(value)] = t.requires_grad_() if value.requires_grad else t
        return leaves[id(value)]
    if isinstance(value, torch.Size):
        return nb.Size(value)
    if isinstance(value, (list, tuple)):
        items = [converted(item, leaves) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: converted(item, leaves) for key, item in value.items()}
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return getattr(nb, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return str(value)
    if value in (torch.float, torch.long):
        return getattr(nb, str(value).removeprefix("torch."))
    return value


def in_one_memory(value: Any, memories: dict[Any, Any]) -> Any:
    """An argument for our library; tensors that share memory do so again, and share none with PyTorch's."""
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.device.type == "cpu":
        storage = value.untyped_storage()
        key = (storage.data_ptr(), value.dtype)
        if key not in memories:
            whole = value.detach().as_strided((storage.nbytes() // value.element_size(),), (1,), 0)
            memories[key] = nb.as_tensor(array_of(whole).copy())
        if (key, id(value)) not in memories:
            view = memories[key].as_strided(tuple(value.shape), value.stride(), value.storage_offset())
            memories[key, id(value)] = view.detach().requires_grad_(value.requires_grad)
        return memories[key, id(value)]
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size) and not hasattr(value, "_fields"):
        return type(value)(in_one_memory(item, memories) for item in value)
    if isinstance(value, dict):
        return {key: in_one_memory(item, memories) for key, item in value.items()}
    return converted(value, {})


def tensors(value: Any, kind: type) -> list[Any]:
    """All tensors in a structure, in order."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in tensors(item, kind)] if isinstance(value, (list, tuple)) else []


# -- comparing -------------------------------------------------------------------------------------------------------


def numpy_of(t: Any) -> np.ndarray:
    t = t.detach()
    return (t.float() if "bfloat16" in str(t.dtype) else t).numpy(force=True)


def compare(ours: Any, theirs: Any, what: str, least: float = 0.0) -> None:
    """Raise a DisagreementError unless two structures of results agree."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(ours, nb.Tensor):
            raise DisagreementError(f"{what}: {type(ours).__name__}, not a Tensor")
        if str(ours.dtype) != str(theirs.dtype):
            raise DisagreementError(f"{what}: dtype {ours.dtype}, PyTorch's {theirs.dtype}")
        if tuple(ours.shape) != tuple(theirs.shape):
            raise DisagreementError(f"{what}: shape {tuple(ours.shape)}, PyTorch's {tuple(theirs.shape)}")
        rtol, atol = TOLERANCES.get(str(theirs.dtype).removeprefix("torch."), (0, 0))
        rtol, atol = max(rtol, least), max(atol, least)
        a, b = numpy_of(ours), numpy_of(theirs)
        scale = np.abs(b[np.isfinite(b)]).max(initial=0.0) if b.dtype.kind in "fc" else 0
        if not np.allclose(a, b, rtol=rtol, atol=atol * max(1.0, float(scale)), equal_nan=True):
            raise DisagreementError(
                f"{what}: {str(a).replace(chr(10), ' ')[:120]}, PyTorch's {str(b).replace(chr(10), ' ')[:120]}"
            )
    elif isinstance(theirs, (list, tuple)):
        if not isinstance(ours, (list, tuple)) or len(ours) != len(theirs):
            raise DisagreementError(
                f"{what}: {type(ours).__name__} {ours!r:.60}, PyTorch's {type(theirs).__name__} of {len(theirs)}"
            )
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            compare(a, b, f"{what}[{i}]", least)
    elif isinstance(theirs, (bool, int, float, complex)) and not np.allclose(ours, theirs, equal_nan=True):
        raise DisagreementError(f"{what}: {ours!r:.60}, PyTorch's {theirs!r:.60}")


def zero(t: Any) -> bool:
    return t is None or not numpy_of(t).any()


GAUGED = ("linalg.svd", "svd", "linalg.eig", "linalg.eigh", "pca_lowrank", "svd_lowrank", "linalg.lstsq")
"""Results that are unique only up to a phase or sign: compared after the database's own processing."""


def compare_derivatives(
    results: Any,
    sample: Any,
    leaves: dict[int, Any],
    second: bool,
    about: str,
    least: float = 0.0,
    twice_least: float = 0.0,
) -> None:
    theirs_in = [t for t in tensors((sample.input, sample.args, sample.kwargs), torch.Tensor) if t.requires_grad]
    theirs_in = list({id(t): t for t in theirs_in}.values())
    ours_in = [leaves[id(t)] for t in theirs_in]
    theirs = tensors(results[1], torch.Tensor)
    ours = tensors(results[0], nb.Tensor)
    wanted = [i for i, t in enumerate(theirs) if t.requires_grad]
    for i, t in enumerate(theirs):
        if ours[i].requires_grad != t.requires_grad:
            raise DisagreementError(
                f"{about}: result {i} requires_grad={ours[i].requires_grad}, PyTorch's {t.requires_grad}"
            )
    if not wanted or not theirs_in:
        return
    rng = np.random.default_rng(0)

    def weights(t: torch.Tensor) -> np.ndarray:
        real = rng.standard_normal(tuple(t.shape))
        if t.dtype.is_complex:
            real = real + 1j * rng.standard_normal(tuple(t.shape))
        return np.asarray(real)

    theirs, ours = [theirs[i] for i in wanted], [ours[i] for i in wanted]
    cotangents = [weights(t) for t in theirs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            their_cotangents = [torch.tensor(w).to(t.dtype) for w, t in zip(cotangents, theirs, strict=True)]
            first = torch.autograd.grad(theirs, theirs_in, their_cotangents, create_graph=second, allow_unused=True)
        except (RuntimeError, NotImplementedError):
            return  # PyTorch cannot either
        our_cotangents = [nb.tensor(w).to(t.dtype) for w, t in zip(cotangents, ours, strict=True)]
        mine = nb.autograd.grad(ours, ours_in, our_cotangents, create_graph=second, allow_unused=True)
    for i, (a, b) in enumerate(zip(mine, first, strict=True)):
        if not (zero(a) and zero(b)):
            if a is None or b is None:
                raise DisagreementError(f"{about}: gradient {i} is {a}, PyTorch's {b}")
            compare(a, b, f"{about}: gradient {i}", least)
    if not second:
        return
    pairs = [(a, b) for a, b in zip(mine, first, strict=True) if b is not None and b.requires_grad]
    if not pairs:
        return
    ours_loss: Any = 0
    theirs_loss: Any = 0
    for a, b in pairs:
        if a is None:
            continue
        w = weights(b)
        theirs_loss = theirs_loss + (b * torch.tensor(w).to(b.dtype)).sum()
        ours_loss = ours_loss + (a * nb.tensor(w).to(a.dtype)).sum()
    if theirs_loss.is_complex():
        theirs_loss, ours_loss = theirs_loss.real, ours_loss.real
    try:
        expected = torch.autograd.grad(theirs_loss, theirs_in, allow_unused=True)
    except (RuntimeError, NotImplementedError):
        return
    found: Any = [None] * len(ours_in)
    if ours_loss.requires_grad:
        found = nb.autograd.grad(ours_loss, ours_in, allow_unused=True)
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        if not (zero(a) and zero(b)):
            if a is None or b is None:
                raise DisagreementError(f"{about}: second derivative {i} is {a}, PyTorch's {b}")
            compare(a, b, f"{about}: second derivative {i}", twice_least)


def describe(sample: Any) -> str:
    """The arguments, in few characters."""

    def short(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"<{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}>"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(short, value[:4])) + "]"
        return f"{value!r:.30}"

    parts = [short(sample.input), *map(short, sample.args), *(f"{k}={short(v)}" for k, v in sample.kwargs.items())]
    return f"({', '.join(parts)})"
