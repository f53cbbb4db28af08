"""Every name and keyword of NumPy and SciPy that our sources use on a tensor's array exists in CuPy.

The sources are read, formulas included, and compared with ``cupy_names.json``, a table from a real wheel of CuPy, and
with CuPy itself if installed (it imports without a driver). Code for host arrays only is listed below with the reason.
This checks names and keywords, not results, which need a GPU (``pytest -m cuda``).

``python -m tests.engine.test_cupy_names`` writes the table again from the installed CuPy.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests import needs

ROOT = Path(__file__).parents[2]
TABLE_FILE = Path(__file__).with_name("cupy_names.json")
CORE = (
    "_engine/arrays/summation",
    "_engine/compiler/op",
    "_engine/compiler/promotion",
    "_engine/compiler/backward",
    "_engine/compiler/forward",
    "_engine/compiler/elementwise",
    "_engine/compiler/lowering",
    "_engine/compiler/runtime",
    "_engine/core/inplace",
    "_engine/compiler/inplace",
    "_engine/core/node",
    "_engine/core/tensor",
    "_engine/arrays/version_counter",
    "_engine/arrays/strides",
    "_engine/arrays/segmented_sum",
    "_engine/fusion/cuda_kernel",
    "_engine/fusion/multi_tensor",
)
SOURCES = sorted(
    [
        *(ROOT / "nbautograd/_engine/ops").rglob("*.py"),
        *(ROOT / "nbautograd/nn").rglob("*.py"),
        *(ROOT / "nbautograd/optim").glob("*.py"),
        *(ROOT / "nbautograd/autograd").glob("*.py"),
        *(ROOT / f"nbautograd/{name}.py" for name in CORE),
    ]
)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HOST = words("""
    arange array asarray broadcast_shapes can_cast empty errstate finfo frombuffer full iinfo indices isscalar
    issubdtype lib.array_utils.byte_bounds lib.NumpyVersion linspace ndindex ones promote_types
    random.default_rng set_printoptions tril_indices triu_indices zeros
""")
"""NumPy's names without a tensor's array among their arguments: functions that create arrays on the host, and dtypes.
"""

LAPACK = "asked for only after hasattr(lin, ...), which is False of cupyx, or of an array that was fetched"
ON_HOST = {
    "_engine/arrays/summation.py: numpy.add.reduce": "behind a test for NumPy's class",
    "nn/functional/fused_recurrent.py: numpy.add.reduce": "behind a test for NumPy's class",
    "_engine/ops/elementwise/bessel.py: special.airy": "CuPy has none: computed on the host, as the docstring says",
    "_engine/ops/linalg/cholesky.py: linalg.get_lapack_funcs": LAPACK,
    "_engine/ops/_internal.py: numpy.maximum.reduce": "behind a test for NumPy's class",
    "_engine/ops/linalg/lu.py: linalg.get_lapack_funcs": LAPACK,
    "_engine/ops/linalg/_common.py: linalg.get_blas_funcs": LAPACK,
    "_engine/ops/linalg/_common.py: linalg.get_lapack_funcs": LAPACK,
    "_engine/ops/signal/conv.py: numpy.vecdot": "behind a test for NumPy's class",
    "_engine/ops/signal/pool.py: numpy.minimum.reduce": "behind a test for NumPy's class",
    "_engine/ops/signal/pool.py: method.max": "of the bounds of cells, which are made on the host",
}
"""``file: name`` of functions that take arrays, but host ones only, and why."""

TORCH = frozenset({"keepdim", "descending", "as_tuple", "dim", "memory_format"})
"""Keywords by which a method is seen to be a tensor's, not an array's."""

METHODS = frozenset(name for name in dir(np.ndarray) if not name.startswith("_"))


class Use(NamedTuple):
    """A call in the sources: ``np.sum(a, axis=0)`` or a method or a function of SciPy."""

    file: str
    line: int
    kind: str
    """``numpy``, ``module`` (a namespace from ``backend.module``), ``method``, or SciPy's module."""
    name: str
    positional: int
    keywords: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}.{self.name}({', '.join(f'{k}=' for k in self.keywords)})"


def dotted(node: ast.expr) -> str:
    """``np.linalg.qr`` of the expression; empty for anything else than names and dots."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == name


def formulas(calls: list[ast.Call]) -> Iterator[ast.Call]:
    """The calls in the formulas of ``@op(...)``, which are text."""
    for call in calls:
        if is_call_of(call, "op"):
            for keyword in call.keywords:
                if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                    try:
                        parsed = ast.parse(keyword.value.value, mode="eval")
                    except SyntaxError:
                        continue
                    for node in ast.walk(parsed):
                        if isinstance(node, ast.Call):
                            node.lineno = call.lineno  # type: ignore[attr-defined]
                            yield node


def uses_in(path: Path) -> Iterator[Use]:
    """Every call in a source that may reach an array of CuPy's."""
    tree = ast.parse(path.read_text())
    spaces: dict[str, str] = {"np": "numpy"}  # names that represent a namespace
    nodes = [*ast.walk(tree)]
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Call, ast.Tuple)):
            pairs: list[Any] = [(node.targets[0], node.value)]
            if isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
            for target, value in pairs:
                if isinstance(target, ast.Name):
                    if is_call_of(value, "backend.module"):
                        spaces[target.id] = "module"
                    elif is_call_of(value, "backend.scipy"):
                        spaces[target.id] = value.args[1].value
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    for call in (*calls, *formulas(calls)):
        function = call.func
        keywords = tuple(k.arg for k in call.keywords if k.arg)
        file = str(path.relative_to(ROOT / "nbautograd"))
        text = dotted(function)
        space, _, name = text.partition(".")
        if name and space in spaces:
            yield Use(file, call.lineno, spaces[space], name, len(call.args), keywords)
        elif isinstance(function, ast.Attribute):
            value = function.value
            if is_call_of(value, "backend.module"):
                yield Use(file, call.lineno, "module", function.attr, len(call.args), keywords)
            elif is_call_of(value, "backend.scipy"):
                module = value.args[1].value  # type: ignore[attr-defined]
                yield Use(file, call.lineno, module, function.attr, len(call.args), keywords)
            elif function.attr in METHODS:
                yield Use(file, call.lineno, "method", function.attr, len(call.args), keywords)
        elif path.name == "special.py" and text == "value" and isinstance(call.args[0], ast.Constant):
            yield Use(file, call.lineno, "special", str(call.args[0].value), len(call.args) - 1, keywords)


@functools.cache
def uses() -> list[Use]:
    return [use for path in SOURCES for use in uses_in(path)]


# -- the table ---------------------------------------------------------------------------------------------------------


def parameters(function: Any) -> str:
    """The names of the parameters, as text; ``*`` and ``**`` where it takes any."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        head = (function.__doc__ or "").strip().splitlines()[:1]
        match = re.match(r"[\w.]+\((.*)\)", head[0] if head else "")
        if match is None:
            return "* **"
        words = [re.sub(r"=.*", "", part).strip() for part in match[1].split(",")]
        names = [word.split()[-1] for word in words if word and word not in ("/", "*", "self")]
        return " ".join("*" if re.match(r"\*\w", name) else name for name in names if name != "_ndarray_base")
    names = [p.name if p.kind < 2 or p.kind == 3 else "*" if p.kind == 2 else "**" for p in found]
    return " ".join(name for name in names if name != "self")


def table_of(cupy: Any) -> dict[str, Any]:
    """Return the names of NumPy and SciPy in the installed CuPy: ``{part: {name: parameters}}``."""
    import cupyx.scipy
    import cupyx.scipy.special
    import scipy.linalg
    import scipy.special

    numpy: dict[str, str] = {}
    for prefix in ("", "fft.", "linalg.", "lib.stride_tricks."):
        theirs, ours = cupy, np
        for part in prefix.split(".")[:-1]:
            theirs, ours = getattr(theirs, part), getattr(ours, part)
        for name in dir(ours):
            found, host = getattr(theirs, name, None), getattr(ours, name)
            if name.startswith("_") or not callable(found) or not callable(host) or isinstance(host, type):
                continue
            numpy[prefix + name] = "ufunc" if isinstance(host, np.ufunc) else parameters(found)
    methods = {
        name: parameters(getattr(cupy.ndarray, name))
        for name in sorted(METHODS)
        if callable(getattr(cupy.ndarray, name, None))
    }
    attributes = [n for n in sorted(METHODS) if hasattr(cupy.ndarray, n) and n not in methods]
    scipy_names: dict[str, dict[str, str]] = {"special": {}, "linalg": {}}
    for name in dir(cupyx.scipy.special):
        if not name.startswith("_") and callable(getattr(scipy.special, name, None)):
            found = getattr(cupyx.scipy.special, name)
            scipy_names["special"][name] = "ufunc" if isinstance(found, cupy.ufunc) else parameters(found)
    folder = Path(cupyx.scipy.__file__).parent / "linalg"  # read instead of imported: an import needs cuBLAS
    imports = [
        node for node in ast.parse((folder / "__init__.py").read_text()).body if isinstance(node, ast.ImportFrom)
    ]
    public = {name.name for node in imports for name in node.names}
    for source in folder.glob("*.py"):
        for node in ast.parse(source.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name in public and hasattr(scipy.linalg, node.name):
                scipy_names["linalg"][node.name] = " ".join(a.arg for a in (*node.args.args, *node.args.kwonlyargs))
    return {
        "version": cupy.__version__,
        "numpy": dict(sorted(numpy.items())),
        "method": methods,
        "attribute": attributes,
        **{name: dict(sorted(found.items())) for name, found in scipy_names.items()},
    }


TABLE: dict[str, Any] = json.loads(TABLE_FILE.read_text()) if TABLE_FILE.exists() else {}
UFUNC = "out dtype casting"


def missing(use: Use, table: dict[str, Any]) -> str | None:
    """Return the names that CuPy lacks for this call, or None."""
    known = table["numpy" if use.kind == "module" else use.kind].get(use.name)
    if known is None:
        return "CuPy has no such name"
    names = (UFUNC if known == "ufunc" else known).split()
    surplus = [] if "**" in names else [k for k in use.keywords if k not in names]
    if surplus:
        return f"CuPy's takes no {surplus[0]}= (it takes: {known})"
    if known != "ufunc" and use.kind != "method" and "*" not in names and use.positional > len(names):
        return f"CuPy's takes {len(names)} arguments ({known})"
    return None


def findings(table: dict[str, Any]) -> list[str]:
    """The calls that CuPy could not serve, apart from those on the host."""
    found = []
    for use in uses():
        if use.kind == "numpy" and (use.name in HOST or isinstance(getattr(np, use.name, None), type)):
            continue
        if use.kind == "method" and TORCH.intersection(use.keywords):
            continue
        if f"{use.file}: {use.kind}.{use.name}" in ON_HOST:
            continue
        why = missing(use, table)
        if why:
            found.append(f"{use}: {why}")
    return found


def test_the_sources_use_only_what_cupy_has() -> None:
    assert len(uses()) > 1000
    assert findings(TABLE) == []


def test_the_exceptions_are_all_needed() -> None:
    used = {f"{use.file}: {use.kind}.{use.name}" for use in uses() if missing(use, TABLE)}
    assert set(ON_HOST) <= used


def test_the_installed_cupy_has_them_too() -> None:
    cupy = needs.package("cupy")
    table = table_of(cupy)
    assert findings(table) == []
    if table["version"] == TABLE["version"]:
        assert table == TABLE, "write the table anew: python -m tests.engine.test_cupy_names"


@pytest.mark.parametrize(
    "source",
    [
        "np.spacing(a)",
        "np.sum(a, where=m)",
        "np.clip(a, min=0, max=1)",
        "np.linalg.multi_dot([a, b])",
        "np.maximum.reduce(a)",
        "np.exp(a, where=m)",
        "np.tril(a, 0, 0)",
        "a.sum(initial=0)",
        "a.setflags(write=False)",
        "backend.scipy(a, 'special').airy(a)",
        "backend.module(place).nanquantile(a, 0.5)",
        "op(node='X', input='np.spacing(g)')",
        "lin = backend.scipy(a, 'linalg'); lin.sqrtm(a)",
    ],
)
def test_the_check_finds_what_cupy_lacks(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is worth something only as long as it finds something."""
    (tmp_path / "nbautograd").mkdir()
    file = tmp_path / "nbautograd/probe.py"
    file.write_text(source)
    monkeypatch.setattr("tests.engine.test_cupy_names.ROOT", tmp_path)
    assert any(missing(use, TABLE) for use in uses_in(file))


if __name__ == "__main__":
    import cupy

    TABLE_FILE.write_text(json.dumps(table_of(cupy), indent=0) + "\n")
