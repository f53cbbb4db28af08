"""Run the parts of one guest under one library, and write what each computes to files.

python -m tests.parity.guests.child LIBRARY MODULE FOLDER PART...

Run by the parent, in a process of its own, with the guest's packages on ``PYTHONPATH``. Of each part ``PART.npz`` has
the values, ``PART.json`` the seconds, or the error.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

REPEATS = 3
PATIENCE = 1.0
"""A part is repeated so often, or until that took so many seconds; the fastest repetition counts."""


def flat(value: Any, name: str = "result") -> dict[str, np.ndarray[Any, Any]]:
    """Values as arrays, by where they stand in dicts and lists."""
    if isinstance(value, dict):
        return {k: v for key, inner in value.items() for k, v in flat(inner, f"{name}.{key}").items()}
    if isinstance(value, (list, tuple)):
        return {k: v for place, inner in enumerate(value) for k, v in flat(inner, f"{name}[{place}]").items()}
    if hasattr(value, "detach"):
        import torch

        value = value.detach().cpu()
        value = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    array = np.asarray(np.float32(value) if isinstance(value, float) else value)  # most are a float32's item()
    if array.dtype == object:
        raise TypeError(f"{name} is a {type(value).__name__}, which cannot be compared")
    return {name: array}


def seeded(part: Any) -> Any:
    """Run a part after setting the seeds of all three generators."""
    import torch

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    default = torch.get_default_dtype()
    try:
        return part()
    finally:
        torch.set_default_dtype(default)


def run(part: Any, folder: Path, name: str) -> None:
    """Write what a part gives and how long it takes once all is loaded, or why it failed."""
    times: list[float] = []
    try:
        np.savez(folder / f"{name}.npz", **flat(seeded(part)))
        while len(times) < REPEATS and sum(times) < PATIENCE:
            start = time.perf_counter()
            seeded(part)
            times.append(time.perf_counter() - start)
        report = {"seconds": min(times)}
    except Exception as error:
        report = {"error": message(error), "trace": traceback.format_exc()}
    (folder / f"{name}.json").write_text(json.dumps(report), encoding="utf-8")


def message(error: BaseException) -> str:
    """The type of an error and the first line of what it says."""
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0]


def main(library: str, module: str, folder: str, *names: str) -> None:
    warnings.simplefilter("ignore")
    if library == "nbautograd":
        import nbautograd

        nbautograd.standing_in().start()
    import torch

    torch.set_num_threads(1)
    try:
        parts = vars(importlib.import_module(module))
    except Exception as error:
        report = json.dumps({"error": message(error), "trace": traceback.format_exc()})
        for name in names:
            (Path(folder) / f"{name}.json").write_text(report, encoding="utf-8")
        return
    for name in names:
        run(parts[name], Path(folder), name)


if __name__ == "__main__":
    main(*sys.argv[1:])
