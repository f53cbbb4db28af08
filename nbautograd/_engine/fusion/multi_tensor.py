"""Update rules of optimizers on a CUDA device: one kernel updates a whole list of parameters.

A rule is a function over arrays that writes into them with ``out=``. It is traced with symbolic arrays, like formulas
(``fusion/symbolic.py``), and becomes the body of a kernel over a table with the size of each parameter and the
addresses of its arrays. The numbers in the rule's closure, such as step sizes, are arguments of the kernel, so that it
is compiled once for all steps. Parameters whose rules are equal, including these numbers, are updated together.

Its speed has not been measured, for lack of a device.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.summation import is_half
from nbautograd._engine.fusion.cuda_source import OPTIONS, c_type, with_symbols, written
from nbautograd._engine.fusion.symbolic import KernelProgram, NeedsValue, NotFusable, Symbol

CHUNK_ELEMENTS = 2048
"""Number of elements of one parameter that a block updates at a time."""
BLOCK_THREADS = 256
MAX_BLOCKS = 4096
"""Each takes several chunks if there are more."""
MAX_KERNELS = 256
"""There are many only if the value of a number changes a rule's code."""

Rule = Callable[..., None]
Cells = list[tuple[str, Any]]

_SOURCE = """
{includes}{preamble}extern "C" __global__ void nbautograd_update({parameters}) {{
  for (long long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {{
    long long low = 0, high = count;  // the last parameter that begins with this chunk, or before it
    while (high - low > 1) {{
      const long long middle = (low + high) / 2;
      if (table[middle * {width}] <= chunk) low = middle; else high = middle;
    }}
    const long long *row = table + low * {width};
    const long long start = (chunk - row[0]) * {chunk};
    const long long stop = start + {chunk} < row[1] ? start + {chunk} : row[1];
    for (long long index = start + threadIdx.x; index < stop; index += blockDim.x) {{
{body}
    }}
  }}
}}
"""


class Updates:
    """The pending updates of one step."""

    def __init__(self) -> None:
        self.waiting: dict[Any, tuple[Any, list[Any], list[list[Any]]]] = {}
        self.tables: dict[Any, Any] = {}
        """The last table of each kernel, on the device, by the addresses in it, which usually stay the same."""

    def add(self, rule: Rule, written_to: list[Any], grad: Any) -> bool:
        """Record the update of a parameter and its state for ``launch``; return False if it has no kernel."""
        p = written_to[0]
        library = backend.of(p).kernels()
        arrays = [*written_to, grad]
        if library is None or p.dtype.kind not in "fV" or not (p.flags.c_contiguous or p.flags.f_contiguous):
            return False
        if any((a.dtype, a.shape, a.strides) != (p.dtype, p.shape, p.strides) for a in arrays):
            return False  # corresponding elements would not have the same index
        cells = _cells(rule)
        try:
            key = (library, rule.__code__, p.dtype, len(arrays), p.device.id, *cells)
            held = self.waiting.get(key)
        except TypeError:  # the rule holds something that cannot be compared
            return False
        if held is None:
            found = _kernel(rule, cells, p.dtype, len(arrays), library)
            if found is None:
                return False
            kernel, taken = found
            held = self.waiting[key] = (kernel, [float(value) for name, value in cells if name in taken], [])
        held[2].append(arrays)
        return True

    def launch(self) -> None:
        """Compute all pending updates, by a kernel for each rule."""
        waiting, self.waiting = self.waiting, {}
        tables = {}
        for kernel, numbers, lists in waiting.values():
            rows, chunks = [], 0
            for arrays in lists:
                rows.append((chunks, arrays[0].size, *[backend.of(a).address(a) for a in arrays]))
                chunks += -(-arrays[0].size // CHUNK_ELEMENTS)
            key = (kernel, *rows)
            table = self.tables.get(key)
            if table is None:
                table = backend.module(backend.device_of(lists[0][0])).asarray(np.array(rows, np.int64))
            tables[key] = table
            arguments = (table, np.int64(len(rows)), np.int64(chunks), *map(np.float64, numbers))
            kernel((min(chunks, MAX_BLOCKS),), (BLOCK_THREADS,), arguments)
        self.tables = tables


# -- compiling ---------------------------------------------------------------------------------------------------------

_kernels: dict[Any, Any] = {}
_LOCK = threading.Lock()


def _kernel(rule: Rule, cells: Cells, dtype: np.dtype[Any], count: int, library: Any) -> Any:
    """Return the kernel of a rule for ``count`` arrays, and the names of its number arguments; None if it has none."""
    fixed = frozenset(name for name, value in cells if not isinstance(value, float))
    while True:
        kept = tuple((name, value.__class__, value) for name, value in cells if name in fixed)
        key = (library, rule.__code__, dtype, count, kept)
        found = _kernels.get(key)
        if found is None:
            with _LOCK:
                found = _kernels.get(key)
                if found is None:
                    if len(_kernels) >= MAX_KERNELS:
                        return None
                    found = _kernels[key] = _made(rule, cells, fixed, dtype, count, library)
        if not isinstance(found, frozenset):
            return found or None
        fixed = found


def _made(rule: Rule, cells: Cells, fixed: frozenset[str], dtype: np.dtype[Any], count: int, library: Any) -> Any:
    """Return a kernel and its arguments; a larger ``fixed`` to retry with; or False if not supported."""
    try:
        source, taken = lower_rule(rule, dtype, count, fixed)
    except NeedsValue as error:
        more = error.names & {f"{name}_in" for name, _ in cells}
        names = {name.removesuffix("_in") for name in more} or {name for name, _ in cells}
        return fixed | names if names - fixed else False
    except NotFusable:
        return False
    return library.RawKernel(source, "nbautograd_update", options=OPTIONS), taken


def lower_rule(
    rule: Rule, dtype: np.dtype[Any], count: int, fixed: frozenset[str] = frozenset()
) -> tuple[str, list[str]]:
    """Return the CUDA C++ of an update rule over a list of parameters, and the names of its number arguments.

    :param dtype: the dtype of the parameters; half precision is computed in float32.
    :param count: the number of arrays: the parameter, its state, and its gradient.
    :param fixed: names of numbers that are part of the code.
    :raises NotFusable: the rule does more than compute element by element.
    """
    program = KernelProgram()
    taken = [name for name, value in _cells(rule) if name not in fixed and isinstance(value, float)]
    numbers = {name: program.input(f"{name}_in", np.dtype(np.float64), is_number=True) for name in taken}
    names = ["p", *(f"state{i}" for i in range(count - 2)), "g"]
    loaded = [Symbol(program, f"{name}_in", dtype, False, name != "g") for name in names]
    compute_in = np.dtype(np.float32) if is_half(dtype) else dtype
    values = [symbol.astype(compute_in) for symbol in loaded]
    before = [symbol.name for symbol in values]
    work = [program.step("cast", [0], (compute_in,), compute_in) for _ in range(2)]
    with_symbols(_with_numbers(rule, numbers), (values[0], values[-1], *work, *values[1:-1]), NotFusable)
    changed = [i for i in range(count - 1) if values[i].name != before[i]]
    statements, results, preamble = written(program, [values[i].astype(dtype) for i in changed])
    kind = c_type(dtype)
    loads = [f"const {kind} {name}_in = (({kind} *)row[{i + 2}])[index];" for i, name in enumerate(names)]
    stores = [f"(({kind} *)row[{i + 2}])[index] = {text};" for i, text in zip(changed, results, strict=True)]
    return _source(dtype, count, taken, preamble, [*loads, *statements, *stores]), taken


def _source(dtype: np.dtype[Any], count: int, taken: list[str], preamble: str, lines: list[str]) -> str:
    """Return the kernel that runs these lines for each element of all parameters."""
    parameters = ["const long long *table", "const long long count", "const long long chunks"]
    parameters += [f"const double {name}_in" for name in taken]
    include = {"e": "#include <cupy/float16.cuh>\n", "E": "#include <cupy/bfloat16.cuh>\n"}
    return _SOURCE.format(
        includes=include.get(dtype.char, ""),
        preamble=preamble,
        parameters=", ".join(parameters),
        width=count + 2,
        chunk=CHUNK_ELEMENTS,
        body="\n".join(f"      {line}" for line in lines),
    )


def _cells(rule: Any, prefix: str = "") -> Cells:
    """Return the cells of a rule's closure by name, with those of nested rules and the code of these."""
    cells: Cells = []
    for name, cell in zip(rule.__code__.co_freevars, rule.__closure__ or (), strict=True):
        value = cell.cell_contents
        if isinstance(value, types.FunctionType):
            cells.append((f"{prefix}{name}", value.__code__))
            cells += _cells(value, f"{prefix}{name}_")
        else:
            cells.append((f"{prefix}{name}", float(value) if isinstance(value, np.floating) else value))
    return cells


def _with_numbers(rule: Any, numbers: dict[str, Symbol], prefix: str = "") -> Any:
    """Return the rule with symbolic numbers in its closure."""
    closure = []
    for name, cell in zip(rule.__code__.co_freevars, rule.__closure__ or (), strict=True):
        value = cell.cell_contents
        if isinstance(value, types.FunctionType):
            value = _with_numbers(value, numbers, f"{prefix}{name}_")
        closure.append(types.CellType(numbers.get(f"{prefix}{name}", value)))
    changed = types.FunctionType(rule.__code__, rule.__globals__, rule.__name__, rule.__defaults__, tuple(closure))
    changed.__kwdefaults__ = rule.__kwdefaults__
    return changed
