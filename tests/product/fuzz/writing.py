"""Random programs, written by a seed from the sample inputs of PyTorch's own database of operations.

Each sample is crossed with 0-d and empty tensors, other dtypes and layouts, results of earlier statements, methods,
in-place methods and ``out=``; between the calls there are operators, indices, modules, Functions, transforms, texts.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

from tests.engine.ops.drawn import Draws
from tests.engine.ops.opinfo import ENTRIES, Entry, lookup, torch
from tests.product.fuzz.phrases import PHRASES

__all__ = ["program"]

DTYPES = ["float32"] * 6 + ["float64"] * 3 + ["int64", "bool", "complex64", "float16", "bfloat16", "uint8", "int32"]
UNKNOWN = re.compile(r"empty|resize|new_empty|set_|__|uniform|cauchy|exponential|geometric|log_normal|normal|poisson"
                     r"|linalg.lu_factor_ex|rrelu|from_file|data_ptr|jiterator")  # fmt: skip
"""Operations with uninitialized results, or whose samples are not programs."""


class NoTextError(Exception):
    """A value of a sample cannot be written as text."""


def text_of(value: Any) -> str:
    """Write a sample's value as an expression over ``T`` and ``V``.

    :raises NoTextError: it is of another kind.
    """
    if isinstance(value, torch.Tensor):
        return tensor_text(value)
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return f"T.{str(value).removeprefix('torch.')}"
    if isinstance(value, torch.device):
        return repr(str(value))
    if isinstance(value, (list, tuple)):
        parts = ", ".join(map(text_of, value))
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' * (len(value) == 1)})"
    if isinstance(value, slice):
        return f"slice({value.start}, {value.stop}, {value.step})"
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str)):
        return repr(value).replace("Ellipsis", "...")
    raise NoTextError(type(value).__name__)


def tensor_text(t: Any) -> str:
    dtype = str(t.dtype).removeprefix("torch.")
    if t.layout is not torch.strided or t.device.type != "cpu" or dtype.startswith(("q", "complex32", "float8")):
        raise NoTextError(dtype)
    shape = tuple(t.shape)
    grad = ", requires_grad=True" if t.requires_grad else ""
    plain = t.detach().resolve_conj().resolve_neg()
    if not t.numel():
        return f"T.zeros({shape}, dtype=T.{dtype}{grad})"
    if t.numel() <= 25:
        rounded = plain.to(torch.complex64 if plain.is_complex() else torch.float32) if grad else plain
        return f"T.tensor({rounded.tolist()}, dtype=T.{dtype}{grad})"
    low, high = (float(plain.abs().min()), float(plain.abs().max())) if not plain.is_complex() else (-2.0, 2.0)
    if not plain.is_complex() and not plain.dtype.is_floating_point:
        low, high = float(plain.min()), float(plain.max()) + 1
    elif not plain.is_complex() and bool((plain < 0).any()):
        low, high = -2.0, 2.0
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = -2.0, 2.0
    made = f"V({t.numel() % 97}, {shape}, {dtype!r}, {low:.4g}, {high:.4g})"
    return f"{made}.requires_grad_()" if grad else made


@functools.cache
def samples(index: int, dtype: str, grad: bool) -> list[Any]:
    """The samples of an operation; of those with thousands, the first."""
    info = ENTRIES[index].info
    torch.manual_seed(0)
    try:
        return list(itertools.islice(info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=grad), 60))
    except Exception:
        return []


@functools.cache
def refused(index: int) -> list[Any]:
    """The samples of an operation for which PyTorch raises."""
    try:
        return [each.sample_input for each in ENTRIES[index].info.error_inputs("cpu")]
    except Exception:
        return []


def is_callable(entry: Entry) -> bool:
    """Return whether a program can call the entry's operation by its name, under both libraries."""
    name = entry.info.name
    if UNKNOWN.search(name) or lookup(name) is None or entry.name in ("chalf", "hash_tensor"):
        return False
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found) or hasattr(torch.Tensor, name)


CALLABLE = [index for index, entry in enumerate(ENTRIES) if is_callable(entry)]


def other_tensor(draws: Draws, t: Any) -> Any:
    """A tensor in the place of a sample's: of no or fewer dimensions or elements, of another dtype or layout."""
    kind = draws.integer(0, 7)
    base = t.detach()
    if kind == 0:
        return base.reshape(-1)[0].clone() if base.numel() else base.new_ones(())
    if kind == 1:
        return base.new_zeros(
            [0 if d == draws.integer(0, max(base.ndim - 1, 0)) else n for d, n in enumerate(base.shape)]
        )
    if kind in (2, 3):
        dtype = getattr(torch, draws.choice(DTYPES))
        return base.real.to(dtype) if base.is_complex() and not dtype.is_complex else base.to(dtype)
    if kind == 4:
        return base.new_ones([draws.integer(1, 3) for _ in range(draws.integer(1, 3))])
    if kind == 5 and base.ndim:
        return base[..., :1].clone()
    if kind == 6 and base.ndim:
        return base[None].clone()
    return base.clone().requires_grad_(not t.requires_grad and (base.is_complex() or base.is_floating_point()))


LAYOUTS = [".t()", ".transpose(0, -1)", "[..., ::2]", "[None]", ".expand(2, *{}.shape)[1]", "[:1].expand({}.shape)",
           ".contiguous(memory_format=T.channels_last)", ".squeeze()", ".flip(0)", ".detach()",
           ".view(-1)"]  # fmt: skip
NUMBERS = ["0", "-1", "1", "2", "3", "0.5", "-1.5", "True", "None", "1j", "inf", "nan", "[0]", "(0, 1)", "'x'", "2**40"]


def call(draws: Draws, known: list[str], number: int) -> list[str]:
    """Write statements that call one operation."""
    index = draws.choice(CALLABLE)
    info = ENTRIES[index].info
    if draws.integer(0, 11) == 0 and refused(index):
        found = refused(index)
    else:
        dtype, grad = draws.choice(DTYPES), draws.integer(0, 2) > 0
        found = samples(index, dtype, grad) or samples(index, dtype, False) or samples(index, "float32", True)
    if not found:
        return []
    sample = draws.choice(found)
    values = [sample.input, *sample.args]
    named = dict(sample.kwargs)
    tensors = [i for i, value in enumerate(values) if isinstance(value, torch.Tensor)]
    if tensors and draws.integer(0, 2) == 0:
        i = draws.choice(tensors)
        values[i] = other_tensor(draws, values[i])
    texts = list(map(text_of, values))
    named_texts = {name: text_of(value) for name, value in named.items()}
    lines = []
    for i in tensors:
        if draws.integer(0, 9) == 0 and known:
            texts[i] = draws.choice(known)
            continue
        name = f"a{number}{'bcdefgh'[i] if i < 7 else i}"
        lines.append(f"{name} = {texts[i]}")
        texts[i] = name
        if draws.integer(0, 9) == 0:
            lines.append(f"{name} = {name}{draws.choice(LAYOUTS).format(name)}")
    scalars = [i for i in range(1, len(texts)) if i not in tensors]
    if scalars and draws.integer(0, 9) == 0:
        texts[draws.choice(scalars)] = draws.choice(NUMBERS)
    elif named_texts and draws.integer(0, 9) == 0:
        named_texts[draws.choice(sorted(named_texts))] = draws.choice(NUMBERS)
    name, result = info.name, f"r{number}"
    last = name.rpartition(".")[2]
    how = draws.integer(0, 9)
    rest = [*texts[1:], *(f"{key}={text}" for key, text in named_texts.items())]
    is_function = callable(functools.reduce(lambda found, part: getattr(found, part, None), name.split("."), torch))
    if how < 3 and 0 in tensors and hasattr(torch.Tensor, last) and "." not in name or not is_function:
        lines.append(f"{result} = {texts[0]}.{last}({', '.join(rest)})")
    elif how == 3 and 0 in tensors and hasattr(torch.Tensor, last + "_") and "." not in name:
        lines.append(f"{result} = {texts[0]}.{last}_({', '.join(rest)})")
    elif how == 4 and info.supports_out:
        kind = draws.choice(["float32", "float32", "float64", "int64", "complex64", "bool"])
        out = draws.choice(["T.zeros(0, dtype=T.{})", "T.zeros(2, 3, dtype=T.{})", "T.zeros((), dtype=T.{})"])
        target = draws.choice(known) if known and draws.integer(0, 4) == 0 else out.format(kind)
        target = texts[0] if 0 in tensors and draws.integer(0, 6) == 0 else target
        lines.append(f"o{number} = {target}")
        lines.append(f"{result} = T.{name}({', '.join([texts[0], *rest, f'out=o{number}'])})")
    else:
        lines.append(f"{result} = T.{name}({', '.join([texts[0], *rest])})")
    return lines


def program(seed: int) -> str:
    """Write the program of a seed."""
    draws = Draws(seed)
    lines: list[str] = []
    if draws.integer(0, 7) == 0:
        lines.append(f"T.set_default_dtype(T.{draws.choice(['float64', 'float64', 'float16', 'bfloat16'])})")
    for number in range(draws.integer(2, 5)):
        known = [name for line in lines for name in re.findall(r"^([ar]\d\w?) = ", line)]
        made: list[str] = []
        for _ in range(9):
            try:
                if draws.integer(0, 9) < 6:
                    made = call(draws, known, number)
                else:
                    made = phrase(draws, known, number)
            except (NoTextError, RuntimeError, IndexError, ValueError, TypeError):
                continue
            if made and sum(map(len, made)) < 1500:
                break
        lines += made
    known = list(dict.fromkeys(name for line in lines for name in re.findall(r"^([ar]\d\w?) = ", line)))
    results = [name for name in known if name[0] == "r"]
    leaves = [name for name in known if name[0] == "a"]
    if results:
        last = draws.choice(results)
        lines.append(f"s = sum((t.abs() ** 2).sum() for t in ({last} if isinstance({last}, tuple) else ({last},)))")
        lines.append(f"g = T.autograd.grad(s, [t for t in ({', '.join([*leaves, 's'])},) if t.requires_grad], "
                     "allow_unused=True)")  # fmt: skip
    return "\n".join(lines)


def phrase(draws: Draws, known: list[str], number: int) -> list[str]:
    """Write one of the statements that are no entries of the database."""
    write: Callable[[Draws, list[str], int], list[str]] = draws.choice(PHRASES)
    return write(draws, known, number)
