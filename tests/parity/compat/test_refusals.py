"""Check which names raise an error, and its sentence."""

from __future__ import annotations

import importlib
import re
import types
import warnings
from typing import Any

import pytest

import nbautograd
from nbautograd._names import absent, namespaces, refused
from tests import oracle

MODULES = [path for path in absent.modules() if refused.why(path)]


@pytest.mark.parametrize("path", MODULES)
def test_every_name_of_pytorchs_answers_or_refuses_with_the_reason(path: str) -> None:
    module, reason = namespaces.module(path), refused.why(path) or ""
    sentence = f"is not part of nbautograd: {re.escape(reason)}"
    for name in absent.names(path):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            assert refused.why(f"{path}.{name}") or f"{path}.{name}" in namespaces.MODULES
        elif name in refused.answers(path):
            assert value() in (False, 0, None) and reason in str(value.__doc__)
        elif isinstance(value, type) and issubclass(value, Exception):
            assert reason in str(value.__doc__)
        else:
            with pytest.raises(NotImplementedError, match=rf"^torch\.{re.escape(path)}\.{name} {sentence}"):
                value()


@pytest.mark.parametrize("path", [path for path in MODULES if "." not in path])
def test_a_name_that_pytorch_has_not_is_not_there(path: str) -> None:
    module = namespaces.module(path)
    assert not hasattr(module, "what_nobody_has")
    with pytest.raises(AttributeError, match=rf"PyTorch documents no torch\.{path}\.what_nobody_has"):
        _ = module.what_nobody_has


def test_a_refused_class_can_be_inherited_from_and_named() -> None:
    with nbautograd.standing_in():
        from torch.ao.quantization import QuantStub
        from torch.distributed import ProcessGroup

        class Mine(QuantStub):  # type: ignore[misc, valid-type]
            pass

        def reduce(group: ProcessGroup | None = None) -> None: ...

        assert not isinstance(3, ProcessGroup) and issubclass(Mine, QuantStub)
        with pytest.raises(NotImplementedError, match="nothing is quantized"):
            Mine()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("jit.save(abs, 'f')", "torch.save(module.state_dict(), f) stores its weights"),
        ("jit.load('f')", "torch.load reads a state_dict"),
        ("onnx.export(abs, (1,), 'f')", "torch.onnx.export is not part of nbautograd: no graph is exported"),
        ("hub.load('a/b', 'c')", "from the network is not part of nbautograd: nothing is downloaded"),
        ("hub.list('a/b:c')", "load it with source='local': https://github.com/a/b"),
        ("hub.help('a/b', 'c')", "nothing is downloaded"),
        (
            "hub.load_state_dict_from_url('https://a/b.pt')",
            "nothing is downloaded; download it yourself: https://a/b.pt",
        ),
        ("hub.download_url_to_file('https://a/b.pt', 'c')", "nothing is downloaded"),
        ("distributed.init_process_group('gloo')", "it is one process with one device"),
        ("xpu.synchronize()", "tensors are on the CPU or on CUDA devices"),
        ("mps.empty_cache()", "tensors are on the CPU or on CUDA devices"),
        ("quantization.quantize_dynamic(None)", "nothing is quantized"),
        ("package.PackageExporter('f')", "torch.save stores a state_dict"),
        ("quasirandom.SobolEngine(2)", "scipy.stats.qmc.Sobol has the same sequence"),
        ("_dynamo.export(abs)", "without compilation"),
    ],
)
def test_calls_that_refuse(call: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with warnings.catch_warnings(), pytest.raises(NotImplementedError, match=re.escape(says)) as error:
        warnings.simplefilter("ignore")
        eval(f"torch.{call}", {"torch": nbautograd})
    assert "not part of nbautograd: " in str(error.value)


# -- names that are not there ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("from torch import quantize_per_tensor", "torch.quantize_per_tensor is PyTorch's and not part of nbautograd"),
        ("from torch.nn import Lineer", "PyTorch documents no torch.nn.Lineer"),
        ("from torch.nn.functional import reluu", "PyTorch documents no torch.nn.functional.reluu"),
        ("from torch.optim.adamw import SGD", "PyTorch documents no torch.optim.adamw.SGD"),
        ("from torch.utils.data import IterDataPipe", "data pipes are deprecated in PyTorch"),
        ("from torch.linalg import norrm", "PyTorch documents no torch.linalg.norrm"),
        ("from torch.backends.cudnn import fast", "PyTorch documents no torch.backends.cudnn.fast"),
        ("from torch.distributed import gather_all", "PyTorch documents no torch.distributed.gather_all"),
    ],
)
def test_an_import_says_what_an_attribute_would(statement: str, says: str) -> None:
    name = statement.rpartition(" ")[2]
    with nbautograd.standing_in():
        with pytest.raises(ImportError, match=f"^cannot import name '{name}' from .*{re.escape(says)}"):
            exec(statement)
        path = statement.split()[1].partition(".")[2]
        assert not hasattr(namespaces.module(path), name)


def test_methods_that_tensors_have_not() -> None:
    theirs, x = oracle.answer(lambda T: dir(T.Tensor), exact=True), nbautograd.ones(2)
    absent = [name for name in theirs if not name.startswith("_") and not hasattr(nbautograd.Tensor, name)]
    assert "to_mkldnn" in absent and "q_scale" in absent
    for name in absent:
        for subject in (x, nbautograd.Tensor):
            with pytest.raises(AttributeError, match=f"torch.Tensor.{name} is PyTorch's and not part of nbautograd"):
                getattr(subject, name)
    with pytest.raises(AttributeError, match="nothing is quantized"):
        x.q_scale()
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'what_nobody_has'$"):
        _ = x.what_nobody_has


@pytest.mark.parametrize("path", ["jit", "backends.cudnn", "optim.adamw", "multiprocessing", "onnx", "return_types"])
def test_modules_are_imported_by_our_name_as_well(path: str) -> None:
    assert importlib.import_module(f"nbautograd.{path}") is namespaces.module(path)
