"""A plugin for pytest: nbval compares notebooks by the content of their outputs.

    pytest -p nbautograd.viz.nbval --nbval my_notebook.ipynb

nbval compares outputs byte by byte, so it rejects a picture that another processor draws a tenth of a pixel further
left. With this plugin, all outputs of a cell are compared by the rule of :mod:`nbautograd.viz.compare`, and a failure
names the difference. Outputs that nbval skips (widgets, PNG), its patterns and its marks do not change.

The same comparison without nbval, of a notebook as it was stored and as it ran now:

    python -m nbautograd.viz.nbval stored.ipynb now.ipynb

nbval has no public interface for this. The names of nbval that we use stand in ``USED``, and only in this file.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial, wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nbautograd.viz.compare import Clean, differences

__all__ = ["missing_names", "pytest_configure", "pytest_itemcollected"]

USED = ("kernel.start_new_kernel", "plugin.IPyNbCell.compare_outputs", "plugin.IPyNbCell.sanitize",
        "plugin.IPyNbFile.from_parent")  # fmt: skip
"""The names of nbval that this plugin replaces or calls."""
SKIPPED = frozenset({"metadata", "traceback", "output_type", "name", "execution_count", "image/png", "image/jpeg",
                     "application/vnd.jupyter.widget-view+json", "application/vnd.nbautograd.pass+json"})  # fmt: skip
"""Outputs that are not compared where nbval has no rule: values that change with every run, and pictures in pixels."""
KERNEL_STARTS = 3
"""The largest number of times that a kernel is started. One dies where another process takes its ports before it has
bound them."""


def missing_names() -> str:
    """Return the names of nbval that this plugin uses and the installed nbval lacks."""
    from nbval import kernel, plugin

    missing = []
    for name in USED:
        found: Any = {"kernel": kernel, "plugin": plugin}
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else getattr(found, part, None)
        if found is None:
            missing.append(name)
    if not missing:
        return ""
    return f"nbval {version('nbval')} under pytest {version('pytest')} has no {', '.join(missing)}"


def pytest_configure(config: Any) -> None:
    """Start a notebook's kernel again where it did not come up."""
    if config.pluginmanager.hasplugin("nbval"):
        from nbval import kernel

        kernel.start_new_kernel = _retry(kernel.start_new_kernel)


def _retry(start: Callable[..., Any]) -> Callable[..., Any]:
    """Call the function again where it raises a ``RuntimeError``."""

    @wraps(start)
    def retried(*args: Any, **kwargs: Any) -> Any:
        for _ in range(KERNEL_STARTS - 1):
            with suppress(RuntimeError):
                return start(*args, **kwargs)
        return start(*args, **kwargs)

    return retried


def pytest_itemcollected(item: Any) -> None:
    """Give each cell that nbval tests our comparison."""
    nbval = sys.modules.get("nbval.plugin")
    if nbval is not None and isinstance(item, nbval.IPyNbCell):
        item.compare_outputs = partial(_compare, item)


def _compare(item: Any, now: Any, stored: Any, skip_compare: Any = None) -> bool:
    """Replace nbval's method: return True if outputs say the same, and keep the differences for nbval's report."""
    skipped = skip_compare or item.parent.skip_compare
    item.comparison_traceback = list(_differences(stored, now, skipped, item.sanitize))
    return not item.comparison_traceback


def _differences(stored: Any, now: Any, skipped: Collection[str] = SKIPPED, clean: Clean = str) -> Iterator[str]:
    """Yield a line for each difference between the stored outputs of a cell and those of now."""
    before, after = _by_kind(stored, skipped), _by_kind(now, skipped)
    for kind in [*before, *(kind for kind in after if kind not in before)]:
        one, two = before.get(kind, []), after.get(kind, [])
        if len(one) != len(two):
            yield f"{kind}: {len(one)} stored, {len(two)} now"
            for when, all_, others in (("stored", one, two), ("now", two, one)):
                yield from (f"  only {when}: {str(rest)[:400]!r}" for rest in all_[len(others) :])
            continue
        for number, (old, new) in enumerate(zip(one, two, strict=True), 1):
            which = f"{kind}, output {number} of {len(one)}" if len(one) > 1 else kind
            yield from (f"{which}: {line}" for line in differences(kind, old, new, clean))


def _by_kind(outputs: Any, skipped: Collection[str]) -> dict[str, list[Any]]:
    """Sort outputs by MIME type or the stream's name, in their order; different kinds may come in another order."""
    by_kind: dict[str, list[Any]] = defaultdict(list)
    for output in outputs:
        if output["output_type"] == "stream":
            by_kind[output["name"]].append(_joined(output["text"]))
            continue
        for key, value in output.items():
            for kind, held in value.items() if key == "data" else [(key, value)]:
                if kind not in skipped and key not in skipped:
                    by_kind[kind].append(_joined(held))
    return dict(by_kind)


def _joined(text: Any) -> Any:
    """Join the lines of a text, which a notebook's file holds as a list."""
    return "".join(text) if isinstance(text, list) and all(isinstance(line, str) for line in text) else text


def main(paths: Sequence[str]) -> int:
    """Print how the outputs of two notebooks differ; the exit status is 1 if they do, 2 if they cannot be compared."""
    if len(paths) != 2:
        print("usage: python -m nbautograd.viz.nbval stored.ipynb now.ipynb", file=sys.stderr)
        return 2
    stored, now = ([c for c in json.loads(Path(path).read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
                   for path in paths)  # fmt: skip
    if ["".join(cell["source"]) for cell in stored] != ["".join(cell["source"]) for cell in now]:
        print(f"{paths[0]} and {paths[1]} have different code cells", file=sys.stderr)
        return 2
    found = [f"cell {number}: {line}" for number, (one, two) in enumerate(zip(stored, now, strict=True))
             for line in _differences(one["outputs"], two["outputs"])]  # fmt: skip
    print("\n".join(found) or "no difference")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
