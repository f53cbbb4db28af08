"""Stand-ins for CuPy's kernels, elementwise, of reductions and raw, which a C++ compiler compiles for the processor.

They accept the arguments of CuPy's and run CUDA's code over the memory of strict arrays. This proves values, dtypes,
broadcasting and the arguments of kernels, but not the rounding of CUDA's functions or any speed: blocks and threads run
one after the other.

Kernels are collected and compiled together, many in one library, as starting a compiler takes longer than compiling.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.fusion.cuda_source import c_type
from tests import needs
from tests.engine.strict.strict_array import StrictArray

COMPILER = shutil.which("g++") or shutil.which("clang++")
FLAGS = ["-std=c++14", "-O0", "-fPIC", "-shared", "-w", "-ffp-contract=off"]

SHIM = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
using namespace std;
#define __device__
#define __global__
#define __restrict__
inline double __longlong_as_double(long long bits) { double x; memcpy(&x, &bits, 8); return x; }
struct bfloat16 {
  unsigned short bits;
  bfloat16() {}
  bfloat16(float x) {
    uint32_t b; memcpy(&b, &x, 4);
    bits = x != x ? 0x7fc0 | (b >> 16) : (b + 0x7fff + ((b >> 16) & 1)) >> 16;
  }
  explicit operator float() const { uint32_t b = uint32_t(bits) << 16; float x; memcpy(&x, &b, 4); return x; }
};
struct float16 {
  _Float16 value;
  float16() {}
  float16(float x) : value(x) {}
  explicit float16(double x) : value(x) {}
  explicit operator float() const { return value; }
};
struct Indexer { ptrdiff_t length; ptrdiff_t size() const { return length; } };
struct dim3 { unsigned int x, y, z; };
static thread_local dim3 blockIdx, threadIdx, blockDim, gridDim;
"""


HEADERS = {"plain": "", "complex": "#include <complex>\n"}
BFLOAT16 = np.dtype(needs.package("ml_dtypes").bfloat16)
"""The strict device has no arrays of this dtype; its kernels take and return NumPy's."""


class Parameter(NamedTuple):
    """A parameter of a kernel, with CuPy's attributes."""

    dtype: Any
    name: str
    raw: bool = False
    """True if the kernel indexes it itself."""


def parameters(text: str) -> list[Parameter]:
    """``"float32 x, bool c"`` as CuPy reads it; its own names are rejected."""
    found = []
    for part in text.split(","):
        *raw, kind, name = part.split()
        assert raw in ([], ["raw"])
        assert name.isidentifier() and not name.startswith("_") and name not in ("i", "n", "a", "b"), name
        found.append(Parameter(np.dtype(kind).type, name, bool(raw)))
    assert len({p.name for p in found}) == len(found)
    return found


class Compiler:
    """Kernels that wait to be compiled, and those that are."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="kernels")
        self.waiting: dict[str, str] = {}
        self.symbols: dict[str, Any] = {}
        self.runs: Counter[str] = Counter()

    def add(self, code: str, other: str = "") -> str:
        """The name of a function, which ``code`` defines under the name FUNCTION.

        :param other: another name that it defines for the linker.
        """
        name = "kernel_" + hashlib.sha1(code.encode()).hexdigest()[:20]
        if other:
            code = re.sub(rf"\b{other}\b", f"{other}_{name}", code)
        if name not in self.symbols:
            self.waiting.setdefault(name, code)
        return name

    def function(self, name: str) -> Any:
        """A compiled function; those that wait are compiled together."""
        if name not in self.symbols:
            self.compile()
        return self.symbols[name]

    def compile(self) -> None:
        """Compile all that wait, in one library, or those with complex numbers, whose header is long, in another."""
        for header, includes in HEADERS.items():
            chosen = {name: code for name, code in self.waiting.items() if ("complex" in code) == bool(includes)}
            if chosen:
                self.compile_with(header, includes + SHIM, chosen)
        self.waiting.clear()

    def compile_with(self, header: str, text: str, codes: dict[str, str]) -> None:
        """Compile functions that include a header."""
        parts = [f"namespace {name}_ {{\n{code.replace('FUNCTION', name)}\n}}" for name, code in codes.items()]
        self.runs[header] += 1
        shim = Path(self.folder.name) / f"{header}.h"
        if self.runs[header] == 1:
            shim.write_text(text)
        if self.runs[header] == 3:  # more follow, and its includes take longer than a kernel
            self.run(shim, shim.with_suffix(".h.gch"))
        source = shim.with_name(f"{header}{self.runs[header]}.cpp")
        source.write_text(f'#include "{header}.h"\n' + "\n".join(parts))
        target = source.with_suffix(".so")
        self.run(source, target)
        library = ctypes.CDLL(str(target))
        self.symbols.update({name: getattr(library, name) for name in codes})

    def run(self, source: Path, target: Path) -> None:
        assert COMPILER is not None
        done = subprocess.run([COMPILER, *FLAGS, str(source), "-o", str(target)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000]


COMPILED = Compiler()


def contiguous(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array).reshape(array.shape)


def pointers(arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
    return (ctypes.c_void_p * max(1, len(arrays)))(*[a.ctypes.data for a in arrays])


def host_operand(value: Any, parameter: Parameter) -> np.ndarray[Any, Any]:
    """Return the array that a kernel reads for an operand; arrays must be on the device and of the exact dtype, as
    with CuPy.
    """
    if isinstance(value, StrictArray) or getattr(value, "dtype", None) == BFLOAT16:
        value = getattr(value, "_v", value)
        if value.dtype != np.dtype(parameter.dtype):
            raise TypeError(f"Type is mismatched. {parameter.name} {value.dtype} {parameter.dtype}")
        return value
    if not isinstance(value, (int, float, bool)) or isinstance(value, np.generic):
        raise TypeError(f"Unsupported type {type(value)}")
    return np.asarray(value, parameter.dtype)


class ElementwiseKernel:
    """``cupy.ElementwiseKernel``."""

    launches = 0

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str,
        options: tuple[str, ...] = (),
        preamble: str = "",
    ) -> None:
        self.in_params, self.out_params = parameters(in_params), parameters(out_params)
        self.operation, self.preamble, self.options = operation, preamble, options
        loads = [
            f"const {_c(p)} {'*' if p.raw else ''}{p.name} = (({_c(p)} *)in[{k}]){'' if p.raw else '[i]'};"
            for k, p in enumerate(self.in_params)
        ]
        loads += [f"{_c(p)} &{p.name} = (({_c(p)} *)out[{k}])[i];" for k, p in enumerate(self.out_params)]
        loop = "\n".join([*loads, operation])
        head = 'extern "C" void FUNCTION(long long n, void **in, void **out)'
        self.name = COMPILED.add(
            f"{preamble}{head} {{ Indexer _ind{{n}}; for (long long i = 0; i < n; i++) {{\n{loop}\n}} }}"
        )

    def __call__(self, *args: Any) -> Any:
        count = len(self.in_params)
        assert len(args) in (count, count + len(self.out_params)), "Wrong number of arguments"
        operands = [host_operand(value, p) for value, p in zip(args, self.in_params, strict=False)]
        shape = np.broadcast_shapes(*(a.shape for a, p in zip(operands, self.in_params, strict=True) if not p.raw))
        if len(args) > count:
            results = [a._v for a in args[count:]]
            shape = np.broadcast_shapes(shape, *(a.shape for a in results))
            assert all(a.shape == shape for a in results)
        else:
            results = [np.empty(shape, p.dtype) for p in self.out_params]
        ins = [
            contiguous(a if p.raw else np.broadcast_to(a, shape)) for a, p in zip(operands, self.in_params, strict=True)
        ]
        outs = [np.empty(shape, p.dtype) for p in self.out_params]
        COMPILED.function(self.name)(ctypes.c_longlong(outs[0].size), pointers(ins), pointers(outs))
        for result, out in zip(results, outs, strict=True):
            assert result.dtype == out.dtype
            result[...] = out
        ElementwiseKernel.launches += 1
        arrays = (
            [a if a.dtype == BFLOAT16 else StrictArray(a) for a in results]
            if len(args) == count
            else list(args[count:])
        )
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


class ReductionKernel:
    """``cupy.ReductionKernel``, which adds up one after the other."""

    launches = 0

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: str,
        name: str,
        reduce_type: str,
        preamble: str = "",
        options: tuple[str, ...] = (),
    ) -> None:
        self.in_params, self.out_params = parameters(in_params), parameters(out_params)
        (out,) = self.out_params
        loads = " ".join(f"const {_c(p)} {p.name} = (({_c(p)} *)in[{k}])[at];" for k, p in enumerate(self.in_params))
        self.name = COMPILED.add(
            f"{preamble}typedef {reduce_type} type_reduce;\n"
            'extern "C" void FUNCTION(long long rows, long long length, void **in, void **out) {\n'
            "  for (long long row = 0; row < rows; row++) {\n"
            f"    type_reduce total = type_reduce({identity});\n"
            "    for (long long at = row * length; at < (row + 1) * length; at++) {\n"
            f"      {loads}\n      const type_reduce a = total, b = {map_expr};\n      total = {reduce_expr};\n    }}\n"
            f"    const type_reduce a = total;\n    {_c(out)} &{out.name} = (({_c(out)} *)out[0])[row];\n"
            f"    {post_map_expr};\n  }}\n}}"
        )

    def __call__(self, *args: Any, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> StrictArray:
        operands = [host_operand(value, p) for value, p in zip(args, self.in_params, strict=True)]
        shape = np.broadcast_shapes(*(a.shape for a in operands))
        axes = tuple(range(len(shape))) if axis is None else axis
        kept = [d for d in range(len(shape)) if d not in axes]
        ins = [contiguous(np.broadcast_to(a, shape).transpose(*kept, *axes)) for a in operands]
        out = np.empty([shape[d] for d in kept], self.out_params[0].dtype)
        length = int(np.prod([shape[d] for d in axes]))
        function = COMPILED.function(self.name)
        function(ctypes.c_longlong(out.size), ctypes.c_longlong(length), pointers(ins), pointers([out]))
        ReductionKernel.launches += 1
        return StrictArray(out.reshape([1 if d in axes else n for d, n in enumerate(shape)]) if keepdims else out)


class RawKernel:
    """``cupy.RawKernel``: a whole function, run block by block and thread by thread."""

    launches = 0

    def __init__(self, code: str, name: str, options: tuple[str, ...] = ()) -> None:
        head = " ".join(code[code.index(f"void {name}(") :].partition("(")[2].partition(")")[0].split())
        self.types = [part.rpartition(" ")[0].strip() for part in head.split(",")]
        self.names = [part.rpartition(" ")[2] for part in head.split(",")]
        code = "".join(line + "\n" for line in code.splitlines() if not line.startswith("#include <cupy/"))
        reads = [
            f"*({kind} *)arguments[{i}]" if not part.rpartition(" ")[2].startswith("*") else f"({kind} *)arguments[{i}]"
            for i, (kind, part) in enumerate(zip(self.types, head.split(","), strict=True))
        ]
        self.name = COMPILED.add(
            f"{code}\n"
            'extern "C" void FUNCTION(unsigned int grid, unsigned int block, void **arguments) {\n'
            "  gridDim.x = grid; blockDim.x = block;\n"
            "  for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++)\n"
            "    for (threadIdx.x = 0; threadIdx.x < block; threadIdx.x++)\n"
            f"      {name}({', '.join(reads)});\n}}",
            name,
        )

    def __call__(self, grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...]) -> None:
        values = [value._v if isinstance(value, StrictArray) else np.asarray(value) for value in arguments]
        for value, kind, name in zip(values, self.types, self.names, strict=True):
            assert value.flags.c_contiguous and bool(value.ndim) == name.startswith("*"), name
            if kind in SCALARS:
                assert value.dtype == SCALARS[kind], (value.dtype, kind)
        function = COMPILED.function(self.name)
        function(ctypes.c_uint(grid[0]), ctypes.c_uint(block[0]), pointers(values))
        RawKernel.launches += 1


SCALARS = {"const long long": np.int64, "const double": np.float64}


def _c(parameter: Parameter) -> str:
    return c_type(np.dtype(parameter.dtype))


class Kernels:
    """A stand-in for the module ``cupy`` as a maker of kernels."""

    ElementwiseKernel = ElementwiseKernel
    ReductionKernel = ReductionKernel
    RawKernel = RawKernel

    def arange(self, *arguments: Any) -> StrictArray:
        return StrictArray(np.arange(*arguments))


KERNELS = Kernels()
