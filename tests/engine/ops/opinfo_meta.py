"""PyTorch's database of operations on the device ``meta``: shapes, dtypes, strides and errors of both libraries.

python -m tests.engine.ops.opinfo_meta                # every entry: a figure for each kind of difference
python -m tests.engine.ops.opinfo_meta -k 'linalg' -v # some entries, each with its differences
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections import Counter
from typing import Any

import nbautograd as nb
from tests.engine.ops.opinfo import ENTRIES, Entry, call
from tests.engine.ops.opinfo_values import converted, describe, tensors, torch

__all__ = ["AGREE", "differences"]

AGREE = "agree"


def moved(value: Any, kind: type) -> Any:
    """Return a structure with its tensors moved to the device ``meta``; leaves stay leaves."""
    if isinstance(value, kind):
        bare = value.detach().to("meta")
        return bare.requires_grad_() if value.requires_grad else bare
    if isinstance(value, (list, tuple)) and not isinstance(value, (torch.Size, nb.Size)):
        items = [moved(item, kind) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: moved(item, kind) for key, item in value.items()}
    return value


def facts(result: Any, kind: type) -> Any:
    """Return the shapes, dtypes, strides and devices of a structure of results."""
    if isinstance(result, kind):
        return (tuple(result.shape), str(result.dtype), tuple(result.stride()), str(result.device))
    if isinstance(result, (list, tuple)):
        return [facts(item, kind) for item in result]
    return type(result).__name__


def outcome(function: Any, arguments: Any, kind: type, grad: bool) -> Any:
    """Return the result of a call: the facts of its results and of gradients, or the exception."""
    mine = moved(arguments, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call(function, *mine)
            shown = facts(result, kind)
            outputs = [t for t in tensors(result, kind) if t.requires_grad]
            if grad and outputs:
                sum(t.abs().sum() if t.dtype.is_complex else t.sum() for t in outputs).backward()
                grads = [None if t.grad is None else facts(t.grad, kind)[:2] for t in tensors(mine, kind)]
                return shown, grads
            return shown, None
        except Exception as error:
            return error


def without_strides(shown: Any) -> Any:
    """The facts without strides."""
    if isinstance(shown, list):
        return [without_strides(item) for item in shown]
    return (*shown[:2], *shown[3:]) if isinstance(shown, tuple) else shown


def differences(entry: Entry, dtype: Any = None, limit: int = 6, grad: bool = True) -> list[tuple[str, str]]:
    """Return for each sample how the two libraries compare, and a text about it."""
    dtype = torch.float32 if dtype is None else dtype
    found = []
    for sample in entry.samples(dtype, grad and entry.info.supports_autograd, limit):
        given = (sample.input, sample.args, sample.kwargs)
        try:
            mine = converted(given, {})
        except (AttributeError, TypeError):
            continue
        torch.manual_seed(1)
        nb.manual_seed(1)
        theirs, ours = outcome(entry.info.op, given, torch.Tensor, grad), outcome(entry.ours, mine, nb.Tensor, grad)
        found.append((compared(ours, theirs), f"{describe(sample)}: {ours!r:.200}; PyTorch's {theirs!r:.200}"))
    return found


def compared(ours: Any, theirs: Any) -> str:
    """Return the differences between two outcomes."""
    mine, other = isinstance(ours, Exception), isinstance(theirs, Exception)
    if mine and other:
        return AGREE if isinstance(ours, type(theirs)) or isinstance(theirs, type(ours)) else "another exception"
    if mine:
        return f"only ours raises {type(ours).__name__}"
    if other:
        return f"only PyTorch raises {type(theirs).__name__}"
    if (
        without_strides(ours[0]) != without_strides(theirs[0])
        if isinstance(ours[0], list)
        else ours[0][:2] != theirs[0][:2]
    ):
        return "shape or dtype"
    if ours[1] != theirs[1]:
        missing = all(a == b or b is None for a, b in zip(ours[1], theirs[1], strict=True))
        return "gradients that PyTorch has not" if missing else "gradients"
    return AGREE if ours[0] == theirs[0] else "strides"


def has(entry: Entry, dtype: Any) -> bool:
    """Return whether both libraries have an entry in a dtype."""
    return entry.ours is not None and dtype in entry.info.supported_dtypes("cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="a regular expression that names entries")
    parser.add_argument("-v", action="store_true", help="show each difference")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=6)
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for entry in ENTRIES:
        dtype = getattr(torch, options.dtype)
        if (
            not re.search(options.k, entry.name)
            or entry.ours is None
            or dtype not in entry.info.supported_dtypes("cpu")
        ):
            continue
        found = differences(entry, dtype, options.samples)
        kinds.update(kind for kind, _ in found)
        worst = next((kind for kind, _ in found if kind != AGREE), AGREE)
        whole[worst] += 1
        if options.v and worst != AGREE:
            kind, text = next(item for item in found if item[0] != AGREE)
            print(f"{entry.name}: {kind}: {text}", flush=True)
    print("samples", kinds.most_common())
    print("entries", whole.most_common())


if __name__ == "__main__":
    main()
