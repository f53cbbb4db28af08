"""Modules about compiling, processes, devices and backends: programs that come to the same under both libraries."""

from __future__ import annotations

import typing
from typing import Any

from tests.differences.both import agrees, differs

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
    return torch.equal(torch.jit.script(layer)(x), layer(x)), torch.allclose(frozen(x), layer(x))


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
    cudnn.fastest = True  # modules take any attribute
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


@agrees(says="best is not a valid value for quantized engine")
def test_an_unknown_engine(torch: Any) -> Any:
    torch.backends.quantized.engine = "best"


@agrees(says="Assignment not supported")
def test_engines_cannot_be_assigned(torch: Any) -> Any:
    torch.backends.quantized.supported_engines = []


@differs("No library of PyTorch's is available", [True, True, True, True], [False, False, False, False])
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


@agrees
def test_cond(torch: Any) -> Any:
    x = torch.ones(2)
    return [torch.cond(flag, lambda t: t + 1, lambda t: t - 1, (x,)) for flag in (True, False, torch.tensor(True))]


@differs("Numbers below the smallest normal one are kept", [True, 0.0, True], [False, 1e-40, True])
def test_flush_denormal(torch: Any) -> Any:
    answer = torch.set_flush_denormal(True)
    value = (torch.tensor([1e-40]) * 1).item()
    return [answer, value, torch.set_flush_denormal(False)]


# -- torch.futures -----------------------------------------------------------------------------------------------------


@agrees
def test_a_future(torch: Any) -> Any:
    future, seen = torch.futures.Future(), []
    future.add_done_callback(lambda done: seen.append(done.wait()))
    later = future.then(lambda done: done.value() + 1)
    before = future.done(), later.done()
    future.set_result(3)
    future.add_done_callback(lambda done: 1 / 0)  # which is only logged
    return (
        before,
        seen,
        future.done(),
        future.wait(),
        future.value(),
        later.wait(),
        later.then(lambda f: f.wait()).wait(),
    )


@agrees
def test_a_future_with_an_exception(torch: Any) -> Any:
    future = torch.futures.Future()
    future.set_exception(KeyError("x"))
    return future.done(), future.wait()


@agrees(says="Got the following error when running the callback: ZeroDivisionError: division by zero")
def test_a_callback_that_raises(torch: Any) -> Any:
    future = torch.futures.Future()
    future.set_result(1)
    return future.then(lambda done: 1 / 0).wait()


@agrees(says="Attempting to mark a completed Future as complete again.")
def test_a_second_result(torch: Any) -> Any:
    future = torch.futures.Future()
    future.set_result(1)
    future.set_result(2)


@agrees(says="3 is of type <class 'int'>, not an Exception.")
def test_an_exception_that_is_none(torch: Any) -> Any:
    torch.futures.Future().set_exception(3)


@agrees
def test_a_value_that_is_not_there(torch: Any) -> Any:
    return torch.futures.Future().value()


@agrees
def test_a_callback_that_cannot_be_called(torch: Any) -> Any:
    return torch.futures.Future().then(3)


@agrees(says="Can not pickle torch.futures.Future")
def test_a_future_is_not_pickled(torch: Any) -> Any:
    import pickle

    pickle.dumps(torch.futures.Future())


@agrees(says="Expected devices to have indices, got cpu")
def test_devices_of_a_future(torch: Any) -> Any:
    torch.futures.Future(devices=["cpu"])


@agrees
def test_several_futures(torch: Any) -> Any:
    a, b = torch.futures.Future(), torch.futures.Future()
    both = torch.futures.collect_all([a, b])
    b.set_result(2)
    before = both.done()
    a.set_result(1)
    all_of_none = torch.futures.collect_all([]).wait(), torch.futures.wait_all([])
    return before, both.done(), [each.wait() for each in both.wait()], torch.futures.wait_all([a, b]), all_of_none


@agrees
def test_several_futures_with_an_exception(torch: Any) -> Any:
    a, b = torch.futures.Future(), torch.futures.Future()
    a.set_result(1)
    b.set_exception(KeyError("x"))
    return torch.futures.wait_all([a, b])


@agrees
def test_what_is_no_future(torch: Any) -> Any:
    return torch.futures.collect_all([1])


# -- processes ---------------------------------------------------------------------------------------------------------


@differs("There are no processes to distribute to", True, False)
def test_distributed_is_not_available(torch: Any) -> Any:
    return torch.distributed.is_available()


@agrees
def test_nothing_is_distributed(torch: Any) -> Any:
    dist = torch.distributed
    return dist.is_initialized(), dist.is_nccl_available(), dist.is_torchelastic_launched(), dist.is_mpi_available()


@agrees(says="Default process group has not been initialized, please make sure to call init_process_group")
def test_a_rank_without_a_group(torch: Any) -> Any:
    return torch.distributed.get_rank()


@agrees(says="Default process group has not been initialized")
def test_a_world_size_without_a_group(torch: Any) -> Any:
    return torch.distributed.get_world_size()


@agrees
def test_nothing_is_exported(torch: Any) -> Any:
    import importlib

    name = "nbautograd" if torch.__name__ == "nbautograd" else "torch"
    return importlib.import_module(f"{name}.onnx").is_in_onnx_export()


@agrees
def test_sharing_strategies(torch: Any) -> Any:
    mp = torch.multiprocessing
    first = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    second = mp.get_sharing_strategy()
    mp.set_sharing_strategy(first)
    return sorted(mp.get_all_sharing_strategies()), first, second, mp.get_all_start_methods(), mp.cpu_count()


@agrees(says="invalid sharing strategy 'none'")
def test_an_unknown_sharing_strategy(torch: Any) -> Any:
    torch.multiprocessing.set_sharing_strategy("none")


# -- torch.library -----------------------------------------------------------------------------------------------------


def square(torch: Any, name: str = "differences::square") -> Any:
    """An operation of a program's own, with a derivative."""

    def body(x: Any, k: float = 2.0) -> Any:
        return x * x * k

    body.__annotations__ = {"x": torch.Tensor, "k": float, "return": torch.Tensor}
    op = torch.library.custom_op(name, body, mutates_args=())

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.k * ctx.saved_tensors[0] * g, None

    op.register_autograd(backward, setup_context=setup_context)
    return op


@agrees
def test_a_custom_op(torch: Any) -> Any:
    op = square(torch)
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    y = op(x)
    y.sum().backward()
    again = torch.ops.differences.square(x.detach(), k=3), torch.ops.differences.square.default(x.detach(), 1.0)
    return y, x.grad, again, type(y.grad_fn).__name__, repr(op), op._schema


@agrees(says="Trying to backward through differences.bare.default but no autograd formula was registered")
def test_a_custom_op_without_a_derivative(torch: Any) -> Any:
    def body(x: Any) -> Any:
        return x * 2

    body.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op("differences::bare", body, mutates_args=())
    op(torch.ones(2, requires_grad=True)).sum().backward()


@agrees(says="Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'.")
def test_a_custom_op_of_a_number(torch: Any) -> Any:
    return square(torch, "differences::square_of_a_number")(3)


@agrees(says="Expected a value of type 'float' for argument 'k' but instead found type 'str'.")
def test_a_custom_op_with_a_text(torch: Any) -> Any:
    return square(torch, "differences::square_with_a_text")(torch.ones(1), k="a")


@agrees(says="The output of this custom operator (1) must not also be an input")
def test_a_custom_op_that_returns_its_input(torch: Any) -> Any:
    def body(x: Any) -> Any:
        return x

    body.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    return torch.library.custom_op("differences::same", body, mutates_args=())(torch.ones(1))


@agrees
def test_a_custom_op_that_writes(torch: Any) -> Any:
    def body(x: Any) -> Any:
        x.add_(1)

    body.__annotations__ = {"x": torch.Tensor, "return": None}
    op = torch.library.custom_op("differences::add_one", body, mutates_args={"x"})
    x = torch.ones(2)
    return op(x), x, op._schema


@agrees(says="Parameter x must have a type annotation")
def test_a_custom_op_without_annotations(torch: Any) -> Any:
    return torch.library.custom_op("differences::untyped", lambda x: x, mutates_args=())


@agrees
def test_kernels_of_a_custom_op(torch: Any) -> Any:
    op = square(torch, "differences::with_kernels")
    op.register_kernel("cpu")(lambda x, k=2.0: x * 10)
    with op.set_kernel_enabled("cpu", False):
        first = op(torch.ones(1))
    return first, op(torch.ones(1))


@agrees
def test_vmap_of_a_custom_op(torch: Any) -> Any:
    op = square(torch, "differences::batched")
    op.register_vmap(lambda info, in_dims, x, k=2.0: (op(x, k), in_dims[0]))
    return torch.vmap(op)(torch.ones(2, 3))


@agrees
def test_a_library_of_schemas(torch: Any) -> Any:
    lib = torch.library.Library("differences_lib", "FRAGMENT")
    name = lib.define("scaled(Tensor x, *, int k=2) -> Tensor")
    lib.impl("scaled", lambda x, k=2: x * k, "CompositeImplicitAutograd")
    x = torch.ones(2, requires_grad=True)
    torch.ops.differences_lib.scaled(x, k=3).sum().backward()
    result = name, x.grad, torch.ops.differences_lib.scaled(x.detach())
    if hasattr(lib, "_destroy"):
        lib._destroy()
    return result


@agrees
def test_define_and_impl(torch: Any) -> Any:
    torch.library.define("differences::plus_one", "(Tensor x) -> Tensor")
    torch.library.impl("differences::plus_one", "default", lambda x: x + 1)
    return torch.ops.differences.plus_one(torch.ones(1))


@agrees(says="'_OpNamespace' 'differences' object has no attribute 'nothing'")
def test_an_operation_that_is_not_there(torch: Any) -> Any:
    return torch.ops.differences.nothing


@agrees
def test_a_library_that_cannot_be_loaded(torch: Any) -> Any:
    return torch.ops.load_library("/nowhere/library.so")


@agrees
def test_schemas_of_functions(torch: Any) -> Any:
    def f(x: Any, n: int, flag: bool = True, *, scale: float = 1.5, name: str = "a", ys: Any = None) -> Any: ...

    f.__annotations__ = {
        "x": torch.Tensor,
        "n": int,
        "flag": bool,
        "scale": float,
        "name": str,
        "ys": typing.Optional[torch.Tensor],  # noqa: UP045
        "return": tuple[torch.Tensor, torch.Tensor],
    }
    return torch.library.infer_schema(f, mutates_args=()), torch.library.infer_schema(f, mutates_args={"x"})
