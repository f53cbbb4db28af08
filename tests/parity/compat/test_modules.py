"""Check that modules are found while standing in, that ``import nbautograd`` loads none, and the differences by
machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

import nbautograd as torch
from nbautograd._names import namespaces
from tests import oracle

HEADS = """
import torch.backends.cudnn as cudnn
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.jit, torch.onnx, torch.hub, torch.xpu, torch.mps, torch._dynamo, torch._inductor.config
import torch.utils.model_zoo as model_zoo
import torch.distributed.fsdp, torch.distributed.tensor.parallel, torch.nn.quantized
from torch import distributed, jit
from torch.ao.quantization import DeQuantStub, QuantStub, get_default_qconfig
from torch.ao.quantization.quantize_fx import prepare_fx
from torch.compiler import disable, is_compiling
from torch.distributed import init_process_group, destroy_process_group, ReduceOp
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.futures import Future
from torch.hub import load_state_dict_from_url
from torch.jit import Final, ScriptModule, script_method
from torch.jit.annotations import BroadcastingList2
from torch.library import Library, custom_op, impl, register_fake
from torch.multiprocessing.pool import Pool
from torch.quantization import QuantWrapper
from torch.types import Device, Number
from torch.utils.collect_env import get_pretty_env_info
from torch.utils.data.distributed import DistributedSampler
"""


def imported(statement: str) -> list[Any]:
    """Return the modules and objects that a statement of import names."""
    names: dict[str, Any] = {}
    exec(statement, names)
    del names["__builtins__"]
    words = statement.replace(",", "").split()
    return [sys.modules[word] for word in words if word in sys.modules] + [*names.values()]


@pytest.mark.parametrize("line", HEADS.split("\n")[1:-1])
def test_what_programs_import(line: str) -> None:
    """Each statement gives the same objects under both names of the library."""
    with torch.standing_in():
        under_torch = imported(line)
    assert imported(line.replace("torch", "nbautograd")) == under_torch
    assert under_torch


def test_an_import_loads_none_of_them() -> None:
    code = "import sys, nbautograd; print(*[name for name in sys.modules if name.startswith('nbautograd._compat')])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "\n"


def test_modules_that_have_the_name_of_a_package_of_the_engine() -> None:
    import nbautograd.compiler
    import nbautograd.ops

    assert nbautograd.compiler is namespaces.module("compiler") and nbautograd.compiler.is_compiling() is False
    assert nbautograd.ops is namespaces.module("ops")


@pytest.mark.sweep
def test_the_processor() -> None:
    oracle.live()
    code = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    environment = {name: value for name, value in os.environ.items() if name != "ATEN_CPU_CAPABILITY"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    theirs = done.stdout.strip()
    assert torch.backends.cpu.get_cpu_capability() == theirs or theirs not in ("AVX512", "AVX2", "DEFAULT")


def test_flags_stay_after_they_are_frozen() -> None:
    code = """
import nbautograd as torch
torch.backends.disable_global_flags()
with torch.backends.cudnn.flags(enabled=True, deterministic=True):
    inside = torch.backends.cudnn.deterministic
try:
    torch.backends.cudnn.benchmark = True
except RuntimeError as error:
    print(torch.backends.flags_frozen(), inside, torch.backends.cudnn.deterministic, error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("True True False not allowed to set torch.backends.cudnn flags after")


def test_a_future_wakes_threads_up() -> None:
    future, seen = torch.futures.Future(), []
    threads = [threading.Thread(target=lambda: seen.append(future.wait())) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.01)
    future.set_result(4)
    for thread in threads:
        thread.join(10)
    assert seen == [4, 4, 4]


def test_settings_of_the_compiler_for_a_while() -> None:
    config = torch._dynamo.config
    with config.patch("suppress_errors", True), config.patch({"verbose": True}):
        assert config.suppress_errors and config.verbose
    assert not config.suppress_errors and not config.verbose
    config.cache_size_limit = 64
    assert torch._dynamo.config.cache_size_limit == 64
    with pytest.raises(AttributeError, match=r"PyTorch documents no torch\._dynamo\.config\.what_nobody_has"):
        _ = config.what_nobody_has


def test_the_report() -> None:
    report = torch.utils.collect_env.get_pretty_env_info()
    assert f"nbautograd version: {torch.__version__}" in report and "[pip3] numpy==" in report


def test_deprecated_functions_of_jit_warn_as_pytorchs_do() -> None:
    def plain(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def program(library: Any) -> None:
        with pytest.warns(DeprecationWarning, match="`torch.jit.script` is deprecated"):
            library.jit.script(plain)
        with pytest.warns(DeprecationWarning, match="`torch.jit.fork` is deprecated"):
            library.jit.fork(plain, library.ones(1))

    oracle.check(program, exact=True)
