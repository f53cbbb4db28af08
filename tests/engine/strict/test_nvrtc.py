"""Check that CUDA's own compiler accepts every kernel, as CuPy wraps it. This needs no device and runs nothing."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbautograd._engine.arrays import segmented_sum
from nbautograd._engine.fusion import cuda_kernel, multi_tensor
from nbautograd._engine.fusion.cuda_source import OPTIONS, CudaProgram
from nbautograd._engine.fusion.lazy_gradient import _fused_on_device
from nbautograd._engine.fusion.symbolic import NotFusable
from tests import needs

from .kernel_programs import OPTIMIZERS, backward_functions, forward_functions, program_of, rules_of

ARCHITECTURE = "-arch=compute_90"
AT_ONCE = 150
HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h", "float16.cuh", "bfloat16.cuh")


class Wrapped:
    """CuPy's own classes of kernels, asked for the code that they would compile."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def ElementwiseKernel(self, *arguments: Any, **options: Any) -> str:  # noqa: N802 - CuPy's name
        from cupy._core import _carray, _kernel, _scalar

        kernel = self.cupy.ElementwiseKernel(*arguments, **options)
        infos = []
        for k, parameter in enumerate(kernel.params[:-1]):
            is_number = parameter.dtype in (np.float64, np.int64) and parameter.is_const and not parameter.raw
            if k % 3 == 1 and is_number:
                infos.append(_kernel._ArgInfo(3, _scalar.CScalar, parameter.dtype, 0, True, True))
            else:
                infos.append(_kernel._ArgInfo(1, self.cupy.ndarray, parameter.dtype, 2, k % 2 == 0, True))
        infos.append(_kernel._ArgInfo(2, _carray.Indexer, None, 2, True, True))
        code: str = _kernel._get_elementwise_kernel_code(
            tuple(infos), _kernel._TypeMap(()), kernel.params, kernel.operation, kernel.name, kernel.preamble
        )
        return code

    def ReductionKernel(self, *arguments: Any, **options: Any) -> str:  # noqa: N802
        from cupy._core import _carray, _kernel, _reduction, _scalar

        kernel = self.cupy.ReductionKernel(*arguments, **options)
        infos = [
            _kernel._ArgInfo(1, self.cupy.ndarray, parameter.dtype, 1, True, True)
            for parameter in (*kernel.in_params, *kernel.out_params)
        ]
        infos += [_kernel._ArgInfo(2, _carray.Indexer, None, 1, True, True)] * 2
        infos.append(_kernel._ArgInfo(3, _scalar.CScalar, np.dtype(np.int32), 0, True, True))
        loads = [f"const {p.ctype} {p.name} = _raw_{p.name}[_in_ind.get()];" for p in kernel.in_params]
        stores = [f"{p.ctype} &{p.name} = _raw_{p.name}[_out_ind.get()];" for p in kernel.out_params]
        code: str = _reduction._create_reduction_function_code(
            kernel.name, 512, kernel.reduce_type, kernel._params, tuple(infos), kernel.identity, kernel.map_expr,
            kernel.reduce_expr, kernel.post_map_expr, _kernel._TypeMap((("IndexT", np.dtype(np.int32)),)),
            "".join(loads), "".join(stores), kernel.preamble, kernel.options,
        )  # fmt: skip
        return code + "\n#undef REDUCE\n#undef POST_MAP\n#undef _REDUCE\n"

    def RawKernel(self, code: str, name: str, options: tuple[str, ...]) -> str:  # noqa: N802
        assert options == OPTIONS
        return code


def programs() -> Iterator[CudaProgram]:
    for functions in (forward_functions, backward_functions):
        for _, kernel, operands in functions():
            program = program_of(kernel, operands)
            if program is not None:
                yield program


class Nvrtc:
    """CUDA's compiler."""

    def __init__(self, cupy: Any, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        folder = Path(cupy.__file__).parent / "_core/include"
        cuda = library.parents[2] / "cuda_runtime/include"
        cccl = [found for found in folder.glob("cupy/_cccl/*") if found.is_dir()]
        self.options = [
            *(f"-I{each}" for each in (folder, cuda, *cccl, *(found / "include" for found in cccl))),
            "-std=c++17", ARCHITECTURE, "--device-as-default-execution-space", *OPTIONS,
        ]  # fmt: skip

    def compile(self, kernels: list[str]) -> str:
        """The PTX of several kernels."""
        names = "".join(f"#include <cupy/{header}>\n" for header in HEADERS)
        parts = []
        for k, code in enumerate(kernels):
            body = "".join(f"{line}\n" for line in code.splitlines() if not line.strip().startswith("#include"))
            parts.append(f"namespace part{k} {{\n{body.replace('nbautograd_elementwise', f'elementwise{k}')}\n}}\n")
        source = names + "".join(
            part.replace(" nbautograd_sum(", f" sum{k}(").replace(" nbautograd_update(", f" update{k}(")
            .replace(" nbautograd_segment_sums(", f" segment_sums{k}(")
            for k, part in enumerate(parts)
        )  # fmt: skip
        program = ctypes.c_void_p()
        nvrtc = self.library
        assert not nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
        options = (ctypes.c_char_p * len(self.options))(*[option.encode() for option in self.options])
        status = nvrtc.nvrtcCompileProgram(program, len(self.options), options)
        if status:
            size = ctypes.c_size_t()
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise AssertionError(log.value.decode()[:6000])
        size = ctypes.c_size_t()
        assert not nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
        ptx = ctypes.create_string_buffer(size.value)
        assert not nvrtc.nvrtcGetPTX(program, ptx)
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return ptx.value.decode()


@pytest.fixture(scope="module")
def compiler() -> tuple[Nvrtc, Wrapped]:
    cupy, library = needs.nvrtc()
    return Nvrtc(cupy, library), Wrapped(cupy)


def compiled(nvrtc: Nvrtc, codes: list[str]) -> int:
    """Return the number of kernels in the PTX of these sources."""
    unique = list(dict.fromkeys(codes))
    for start in range(0, len(unique), AT_ONCE):
        some = unique[start : start + AT_ONCE]
        assert nvrtc.compile(some).count(".visible .entry") == len(some)
    return len(unique)


def test_kernels_of_operations_and_formulas(compiler: tuple[Nvrtc, Wrapped]) -> None:
    nvrtc, wrapped = compiler
    count = compiled(nvrtc, [cuda_kernel.elementwise_kernel(program, wrapped) for program in programs()])
    print(f"{count} elementwise kernels")
    assert count > 800


def test_kernels_of_chains(compiler: tuple[Nvrtc, Wrapped]) -> None:
    """One formula after the other, as they come."""
    nvrtc, wrapped = compiler
    leaf, codes = np.zeros(3, np.float32), []
    formulas = []
    for what, kernel, operands in backward_functions():
        if what.endswith("float32") and all(getattr(operand, "dtype", None) == leaf.dtype for operand in operands):
            formulas.append(kernel)
    for first, second in itertools.pairwise(formulas):
        inner, outer = len(first.names), len(second.names) - 1
        calls = [
            (first, [f"v{i}" for i in range(inner)], "t0"),
            (second, ["t0", *(f"v{inner + i}" for i in range(outer))], "t1"),
        ]
        chain = _fused_on_device(calls, [leaf] * (inner + outer))
        program = program_of(chain, [leaf] * (inner + outer))
        codes += [] if program is None else [cuda_kernel.elementwise_kernel(program, wrapped)]
    count = compiled(nvrtc, codes)
    print(f"{count} chains")
    assert count > 80


def test_kernels_of_sums(compiler: tuple[Nvrtc, Wrapped]) -> None:
    """Gradients that are summed to the shape of the broadcast operand."""
    nvrtc, wrapped = compiler
    codes = []
    for _, kernel, operands in backward_functions():
        for number in (cuda_kernel.NUMBER, None):
            try:
                kinds = [cuda_kernel._kind(operand, number) for operand in operands]
                launcher = cuda_kernel._sum_launcher(kernel, kinds, wrapped)
            except NotFusable:
                continue
            codes += [launcher.kernel] if launcher is not None else []
            break
    count = compiled(nvrtc, codes)
    print(f"{count} sums")
    assert count > 350


def test_kernels_of_sums_of_all_elements(compiler: tuple[Nvrtc, Wrapped]) -> None:
    nvrtc, wrapped = compiler
    some = [program for program in programs() if not program.is_many and program.out_params[0][0].kind == "f"][::4]
    count = compiled(nvrtc, [cuda_kernel.partial_sums_kernel(program, wrapped) for program in some])
    print(f"{count} partial sums")
    assert count > 150


def test_kernels_of_optimizers_and_of_indexing(compiler: tuple[Nvrtc, Wrapped]) -> None:
    nvrtc, wrapped = compiler
    codes = [segmented_sum.source(char) for char in segmented_sum.TYPES]
    for make in OPTIMIZERS.values():
        for rule, count in rules_of(make):
            for kind in ("float32", "float64", "float16", "bfloat16"):
                found = multi_tensor._kernel(rule, multi_tensor._cells(rule), np.dtype(kind), count, wrapped)
                assert found is not None
                codes.append(found[0])
    count = compiled(nvrtc, codes)
    print(f"{count} raw kernels")
    assert count > 60
