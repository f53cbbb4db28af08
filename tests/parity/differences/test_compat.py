"""Compiling, processes, devices and backends: programs that give the same results under both libraries."""

from __future__ import annotations

import sys
import typing
from typing import Any

import pytest

from tests.parity.differences.both import agrees, differs


@pytest.fixture(autouse=True)
def _flags_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's own tools for tests, which other files import, forbid to set the flags of backends."""
    torch = sys.modules.get("torch")
    if torch is not None:
        flags = torch.backends.flags_frozen.__globals__
        monkeypatch.setitem(flags, "__allow_nonbracketed_mutation_flag", True)


# -- torch.jit ---------------------------------------------------------------------------------------------------------


@agrees
def test_marks_of_jit_leave_functions_as_they_are(torch: Any) -> Any:
    def double(x: Any) -> Any:
        return 2 * x

    same = [mark(double) is double for mark in (torch.jit.unused, torch.jit.ignore, torch.jit.export)]
    other = [torch.jit.ignore(drop=True)(double)(2), torch.jit.script_if_tracing(double)(2), torch.jit.annotate(int, 3)]
    return same, other, torch.jit.is_scripting(), torch.jit.is_tracing(), torch.jit.Attribute(1, int).value


@agrees(says="must be a bool or a function but got 3")
def test_ignore_of_a_number(torch: Any) -> Any:
    return torch.jit.ignore(3)


@agrees(says="interface must be applied to a class")
def test_an_interface_that_is_no_class(torch: Any) -> Any:
    return torch.jit.interface(3)


@agrees
def test_isinstance_looks_into_containers(torch: Any) -> Any:
    cases = [
        ([1, 2], list[int]),
        ([1, 2], list[float]),
        ([], list[int]),
        ([[1]], list[list[int]]),
        ({"a": 1}, dict[str, int]),
        ({"a": 1}, dict[str, str]),
        ((1, "a"), tuple[int, str]),
        ((1, "a"), tuple[int, int]),
        ((1, 2, 3), tuple[int, str]),
        (None, typing.Optional[int]),  # noqa: UP045
        (1, int | None),
        (1.0, int | None),
        (1, typing.Union[int, str]),  # noqa: UP007
        (1, (int, str)),
        (1.5, (int, str)),
        (torch.ones(1), torch.Tensor),
        ([torch.ones(1)], typing.List[torch.Tensor]),  # noqa: UP006
    ]
    return [torch.jit.isinstance(value, kind) for value, kind in cases]


@agrees(says="Attempted to use list without a contained type. Please add a contained type, e.g. list[int]")
def test_isinstance_of_a_bare_list(torch: Any) -> Any:
    return torch.jit.isinstance([1], list)


@agrees(says="Attempted to use List without a contained type")
def test_isinstance_of_a_bare_list_of_typing(torch: Any) -> Any:
    return torch.jit.isinstance([1], typing.List)  # noqa: UP006


@agrees
def test_fork_and_wait(torch: Any) -> Any:
    future = torch.jit.fork(torch.add, torch.ones(2), 1)
    return torch.jit.wait(future), future.done(), torch.jit.wait(torch.jit.fork(lambda x, k: x * k, 2, k=3))


@agrees
def test_fork_of_what_raises(torch: Any) -> Any:
    return torch.jit.fork(lambda: 1 / 0)


@agrees
def test_wait_of_no_future(torch: Any) -> Any:
    return torch.jit.wait(3)


@agrees(says="Freezing is currently only implemented for modules in eval mode")
def test_freeze_in_training(torch: Any) -> Any:
    return torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 1)))


@agrees
def test_a_scripted_function_and_module_compute(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 1)
    x = torch.ones(3, 2)
    frozen = torch.jit.freeze(torch.jit.script(layer.eval()))
    return torch.equal(torch.jit.script(layer)(x), layer(x)), frozen(x).detach(), layer(x)


@agrees
def test_script_of_containers(torch: Any) -> Any:
    return list(torch.jit.script([1, 2])), torch.jit.script({"a": 1})["a"]


@agrees
def test_script_of_a_number(torch: Any) -> Any:
    return torch.jit.script(3)


@agrees
def test_settings_of_jit(torch: Any) -> Any:
    first = torch.jit.set_fusion_strategy([("STATIC", 3)])
    second = torch.jit.set_fusion_strategy(first)
    with torch.jit.optimized_execution(True), torch.jit.strict_fusion():
        off = torch.jit.onednn_fusion_enabled()
    return first, second, off, torch.jit._unwrap_optional(3)


@agrees
def test_classes_of_jit(torch: Any) -> Any:
    class Plain(torch.jit.ScriptModule):
        pass

    kinds = (torch.jit.Error, torch.jit.TracerWarning, torch.jit.ScriptWarning, torch.jit.TracingCheckError)
    warn = [issubclass(kind, Warning) for kind in kinds]
    return warn, [issubclass(kind, Exception) for kind in kinds], isinstance(Plain(), torch.nn.Module)


# -- torch.compile -----------------------------------------------------------------------------------------------------


@agrees
def test_compile_gives_what_computes_the_same(torch: Any) -> Any:
    @torch.compile(backend="eager")
    def double(x: Any) -> Any:
        return 2 * x

    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    double(x).sum().backward()
    compiled = torch.compile(layer, backend="eager")
    return x.grad, torch.equal(compiled(x), layer(x)), isinstance(compiled, torch.nn.Module), double.__name__


@agrees(says="Either mode or options can be specified, but both can't be specified at the same time.")
def test_compile_with_mode_and_options(torch: Any) -> Any:
    return torch.compile(torch.sin, mode="max-autotune", options={"a": 1})


@agrees(says="Unrecognized mode=fast, should be one of: default, lite, reduce-overhead")
def test_compile_with_an_unknown_mode(torch: Any) -> Any:
    return torch.compile(torch.sin, mode="fast")


@agrees(says="A callable function is expected, but <class 'int'> is provided.")
def test_compile_of_a_number(torch: Any) -> Any:
    return torch.compile(3)


@agrees
def test_compile_with_a_second_positional_argument(torch: Any) -> Any:
    return torch.compile(torch.sin, "eager")


@agrees
def test_what_the_compiler_is_told(torch: Any) -> Any:
    def double(x: Any) -> Any:
        return 2 * x

    told = torch.compiler
    same = [told.allow_in_graph(double) is double, told.assume_constant_result(double) is double]
    calls = [told.disable(double)(2), told.disable(recursive=False)(double)(2), told.disable()(double)(2)]
    with told.set_stance("default"):
        inside = double(3)
    nothing = [told.reset(), told.cudagraph_mark_step_begin()]
    return same, calls, inside, nothing, told.is_compiling(), told.is_exporting(), told.is_dynamo_compiling()


@agrees(says="allow_in_graph expects a callable")
def test_allow_in_graph_of_a_number(torch: Any) -> Any:
    return torch.compiler.allow_in_graph(3)


@agrees
def test_the_default_backend(torch: Any) -> Any:
    first = torch.compiler.get_default_backend()
    torch.compiler.set_default_backend("eager")
    second = torch.compiler.get_default_backend()
    torch.compiler.set_default_backend(first)
    return first, second, torch.compiler.config.force_disable_caches


# -- torch.backends ----------------------------------------------------------------------------------------------------


@agrees
def test_flags_of_cudnn(torch: Any) -> Any:
    cudnn = torch.backends.cudnn
    names = "enabled benchmark benchmark_limit deterministic allow_tf32 fp32_precision depthwise_kernel".split()  # noqa: SIM905
    states = [[getattr(cudnn, name) for name in names]]
    cudnn.benchmark = cudnn.deterministic = True
    states.append([getattr(cudnn, name) for name in names])
    with cudnn.flags(enabled=True, benchmark=False):
        states.append([getattr(cudnn, name) for name in names if name != "benchmark_limit"])
    states.append([cudnn.benchmark, cudnn.deterministic])
    before = cudnn.set_flags(_enabled=True, _benchmark=False, _deterministic=False)
    cudnn.fastest = True  # modules accept any attribute
    return states, len(before), cudnn.version(), cudnn.is_available(), cudnn.is_acceptable(torch.ones(1))


@agrees(says="set_benchmark_cudnn expects a bool, but got int")
def test_a_flag_that_is_no_bool(torch: Any) -> Any:
    torch.backends.cudnn.benchmark = 3


@agrees(says="set_deterministic_mkldnn expects a bool, but got int")
def test_a_flag_of_mkldnn_that_is_no_bool(torch: Any) -> Any:
    torch.backends.mkldnn.deterministic = 1


@agrees
def test_what_is_not_there_in_either(torch: Any) -> Any:
    backends = torch.backends
    absent = [backends.mps.is_available(), backends.mps.is_built(), backends.opt_einsum.is_available()]
    absent += [backends.cusparselt.is_available(), backends.cusparselt.version(), backends.kleidiai.is_available()]
    absent += [backends.cuda.is_flash_attention_available(), backends.mkldnn.is_acl_available()]
    return absent, backends.opt_einsum.strategy, backends.mha.get_fastpath_enabled(), backends.flags_frozen()


@agrees
def test_precision_of_products(torch: Any) -> Any:
    matmul = torch.backends.cuda.matmul
    states = [(torch.get_float32_matmul_precision(), matmul.allow_tf32)]
    for word in ("high", "medium", "highest", "unknown"):
        torch.set_float32_matmul_precision(word)
        states.append((torch.get_float32_matmul_precision(), matmul.allow_tf32))
    matmul.allow_tf32 = True
    states.append((torch.get_float32_matmul_precision(), matmul.fp32_precision))
    matmul.allow_tf32 = False
    states.append((torch.get_float32_matmul_precision(), matmul.allow_fp16_accumulation))
    return states, matmul.allow_bf16_reduced_precision_reduction, matmul.allow_fp16_reduced_precision_reduction


@agrees(says="set_float32_matmul_precision expects a str, but got int")
def test_a_precision_that_is_a_number(torch: Any) -> Any:
    torch.set_float32_matmul_precision(3)


@agrees(says="Unknown attribute fast")
def test_an_unknown_setting_of_products(torch: Any) -> Any:
    torch.backends.cuda.matmul.fast = True


@agrees(says="set_allow_tf32_cublas expects a bool, but got int")
def test_a_setting_of_products_that_is_no_bool(torch: Any) -> Any:
    torch.backends.cuda.matmul.allow_tf32 = 3


@agrees(says="Unknown precision: exact")
def test_an_unknown_precision(torch: Any) -> Any:
    torch.backends.cuda.matmul.fp32_precision = "exact"


@agrees
def test_settings_of_attention(torch: Any) -> Any:
    cuda = torch.backends.cuda
    states = [[cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.mem_efficient_sdp_enabled()]]
    cuda.enable_flash_sdp(False)
    states.append([cuda.flash_sdp_enabled(), cuda.cudnn_sdp_enabled()])
    cuda.enable_flash_sdp(True)
    return states, cuda.preferred_linalg_library().name, cuda.fp16_bf16_reduction_math_sdp_allowed()


@agrees(says="Unknown input value. Choose from: default, cusolver, magma.")
def test_an_unknown_library(torch: Any) -> Any:
    torch.backends.cuda.preferred_linalg_library("best")


@agrees(says="Unknown input value type")
def test_what_is_no_library(torch: Any) -> Any:
    torch.backends.cuda.preferred_linalg_library(3)


@agrees(says="best is not a valid value for quantized engine")
def test_an_unknown_engine(torch: Any) -> Any:
    torch.backends.quantized.engine = "best"


@agrees(says="Assignment not supported")
def test_engines_cannot_be_assigned(torch: Any) -> Any:
    torch.backends.quantized.supported_engines = []


@differs("PyTorch's backend libraries are not used", [True, True, True, True], [False, False, False, False])
def test_libraries_that_are_not_called(torch: Any) -> Any:
    backends = torch.backends
    return [each.is_available() for each in (backends.mkl, backends.mkldnn, backends.openmp, backends.nnpack)]


# -- devices -----------------------------------------------------------------------------------------------------------


@agrees
def test_devices_that_are_not_there(torch: Any) -> Any:
    answers = [[each.is_available(), each.device_count()] for each in (torch.mps, torch.xpu, torch.mtia)]
    more = [torch.xpu.is_initialized(), torch.xpu.empty_cache(), torch.xpu.manual_seed(0), torch.xpu.memory_allocated()]
    return answers, more, torch.mps.manual_seed(0), torch.mtia.is_initialized(), torch.xpu.is_bf16_supported()


@agrees
def test_the_cpu_as_a_device(torch: Any) -> Any:
    cpu = torch.cpu
    stream = cpu.Stream()
    with cpu.stream(stream):
        inside = cpu.current_stream() is stream
    nothing = [cpu.synchronize(), cpu.set_device("cpu"), cpu.Event().record(), stream.wait_stream(cpu.current_stream())]
    answers = [cpu.is_available(), cpu.is_initialized(), cpu.device_count(), cpu.current_device(), cpu.Event().query()]
    return inside, cpu.current_stream() is stream, nothing, answers, cpu.get_capabilities().get("avx2")


@agrees
def test_the_accelerator_where_there_is_none(torch: Any) -> Any:
    if torch.cuda.is_available():
        return None
    return torch.accelerator.is_available(), torch.accelerator.device_count(), torch.accelerator.current_accelerator()


@agrees(says="Cannot access accelerator device when none is available.")
def test_an_accelerator_that_is_not_there(torch: Any) -> Any:
    if torch.cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return torch.accelerator.synchronize()


@agrees
def test_modules_of_devices(torch: Any) -> Any:
    return torch.get_device_module("cpu") is torch.cpu, torch.get_device_module("cuda") is torch.cuda


@agrees(says="Expected one of")
def test_the_module_of_an_unknown_device(torch: Any) -> Any:
    return torch.get_device_module("tpu")


@agrees
def test_streams_and_events_of_the_cpu(torch: Any) -> Any:
    stream, event = torch.Stream("cpu"), torch.Event("cpu")
    with stream:
        inside = stream.query()
    waits = [stream.synchronize(), event.synchronize(), event.wait()]
    return inside, event.query(), waits, str(stream.device), repr(stream), repr(event), stream.stream_id


@agrees(says="cpu backend doesn't support events.")
def test_an_event_of_the_cpu_is_not_recorded(torch: Any) -> Any:
    torch.Event("cpu").record()


@agrees(says="Both events must be created with argument 'enable_timing=True'")
def test_an_event_of_the_cpu_has_no_time(torch: Any) -> Any:
    return torch.Event("cpu").elapsed_time(torch.Event("cpu"))


# -- settings of the process -------------------------------------------------------------------------------------------


@agrees
def test_deterministic_modes(torch: Any) -> Any:
    states = []
    for mode in ("warn", "error", "default", 1, 2, 0):
        torch.set_deterministic_debug_mode(mode)
        states.append(
            (
                torch.get_deterministic_debug_mode(),
                torch.are_deterministic_algorithms_enabled(),
                torch.is_deterministic_algorithms_warn_only_enabled(),
            )
        )
    torch.use_deterministic_algorithms(True, warn_only=True)
    states.append(torch.get_deterministic_debug_mode())
    torch.use_deterministic_algorithms(False)
    return states, torch.utils.deterministic.fill_uninitialized_memory


@agrees(says="invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got loud")
def test_an_unknown_deterministic_mode(torch: Any) -> Any:
    torch.set_deterministic_debug_mode("loud")


@agrees(says="invalid value of debug_mode, expected 0, 1, or 2, but got 5")
def test_a_deterministic_mode_out_of_range(torch: Any) -> Any:
    torch.set_deterministic_debug_mode(5)


@agrees
def test_questions_about_objects(torch: Any) -> Any:
    storage = torch.ones(2).untyped_storage()
    names = [torch.typename(x) for x in (torch.ones(1), torch.ones(1).long(), 3, "a", [1])]
    asked = [torch.is_storage(storage), torch.is_storage(3), torch.is_distributed(torch.ones(1))]
    return names, asked, torch.is_vulkan_available(), torch.compiled_with_cxx11_abi(), torch.init_num_threads()


@agrees(exact=True)
def test_cond(torch: Any) -> Any:
    x = torch.ones(2)
    return [torch.cond(flag, lambda t: t + 1, lambda t: t - 1, (x,)) for flag in (True, False, torch.tensor(True))]


@differs("Numbers below the smallest normal one are kept", [True, 0.0, True], [False, 1.0, True])
def test_flush_denormal(torch: Any) -> Any:
    answer = torch.set_flush_denormal(True)
    value = (torch.tensor([2.0**-140]) * 1).item()
    return [answer, value * 2.0**140, torch.set_flush_denormal(False)]


@agrees
def test_a_module_compiles_itself(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 1)
    answers = [layer.compile(), layer.compile(mode="reduce-overhead", fullgraph=True), layer.compile(disable=True)]
    for wrong in (((), {"mode": "x"}), (("inductor",), {}), ((), {"mode": "default", "options": {}})):
        try:
            layer.compile(*wrong[0], **wrong[1])
        except Exception as error:
            answers.append(type(error).__name__)
    return [*answers, [name for name, _ in layer.named_parameters()]]
