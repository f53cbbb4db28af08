"""Without CuPy, with a broken one, or without a driver: the CPU works, and CUDA raises with the missing part."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import nbautograd as nb
from nbautograd._engine.arrays import backend
from nbautograd.cli import doctor
from nbautograd.errors import CudaUnavailableError
from tests import oracle
from tests.engine.cuda.fake_cupy import CUDARuntimeError, fake_cupy, present

INSTALL = "[cuda12]"


def no_driver() -> int:
    raise CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version")


class Library:
    """A stand-in for a library of the toolkit that cannot be loaded."""

    def __getattr__(self, name: str) -> Any:
        raise ImportError("libnvrtc.so.12: cannot open shared object file")


BROKEN: dict[str, Any] = {
    "missing": (lambda: None, "cannot be imported", INSTALL),
    "not CuPy": (lambda: ModuleType("cupy"), "AttributeError", INSTALL),
    "no driver": (lambda: fake_cupy(runtime=SimpleNamespace(getDeviceCount=no_driver)), "driver", INSTALL),
    "no device": (lambda: fake_cupy(0), "no device is visible", "CUDA_VISIBLE_DEVICES"),
    "no toolkit": (lambda: fake_cupy(nvrtc=Library()), "libnvrtc", INSTALL),
}

ASKING = [
    lambda: nb.zeros(2, device="cuda"),
    lambda: nb.tensor([1.0], device="cuda:0"),
    lambda: nb.ones(2).to("cuda"),
    lambda: nb.ones(2).cuda(),
    lambda: nb.ones(2).pin_memory(),
    lambda: nb.nn.Linear(2, 2).cuda(),
    lambda: nb.cuda.init(),
    lambda: nb.cuda.current_device(),
    lambda: nb.cuda.set_device(0),
    lambda: nb.cuda.device(0).__enter__(),
    lambda: nb.cuda.synchronize(),
    lambda: nb.cuda.get_device_name(),
    lambda: nb.cuda.get_device_properties(0),
    lambda: nb.cuda.get_device_capability(),
    lambda: nb.cuda.mem_get_info(),
    lambda: nb.cuda.reset_peak_memory_stats(),
    lambda: nb.cuda.initial_seed(),
    lambda: nb.cuda.Stream(),
    lambda: nb.cuda.Event(),
    lambda: nb.cuda.current_stream(),
    lambda: nb.cuda.default_stream(),
]


@pytest.mark.parametrize("kind", BROKEN)
def test_asking_for_cuda_says_what_is_missing(kind: str) -> None:
    make, what, command = BROKEN[kind]
    with present(make()):
        assert not nb.cuda.is_available()
        assert nb.cuda.device_count() == 0
        for ask in ASKING:
            with pytest.raises(CudaUnavailableError) as caught:
                ask()
            assert isinstance(caught.value, (RuntimeError, AssertionError))  # PyTorch's, whichever build it is
            assert what in str(caught.value)
            assert command in str(caught.value)
        oracle.check(lambda T: T.ones(2).exp().sum())


@pytest.mark.parametrize("kind", BROKEN)
def test_what_only_asks_or_tidies_up_works(kind: str) -> None:
    with present(BROKEN[kind][0]()):
        nb.manual_seed(0)
        before = nb.get_rng_state()
        for call in (
            lambda: nb.cuda.manual_seed(1),
            lambda: nb.cuda.manual_seed_all(1),
            lambda: nb.cuda.seed(),
            lambda: nb.cuda.empty_cache(),
            lambda: nb.cuda.set_device(-1),
            lambda: nb.cuda.stream(None).__enter__(),
            lambda: nb.cuda.device(-1).__enter__(),
        ):
            assert call() is None
        assert (nb.get_rng_state() == before).all()  # seeding CUDA does not change the CPU's stream
        assert nb.cuda.memory_allocated() == nb.cuda.max_memory_allocated() == nb.cuda.memory_reserved() == 0
        assert not nb.cuda.is_initialized()
        assert not nb.ones(2).is_pinned()
        nb.set_default_device("cuda")
        try:
            with pytest.raises(CudaUnavailableError):
                nb.zeros(2)
        finally:
            nb.set_default_device(None)


@pytest.mark.parametrize(
    "call",
    [
        lambda T: T.device("foo"),
        lambda T: T.device("cuda:-1"),
        lambda T: T.device("cuda:a"),
        lambda T: T.device("cuda:01"),
        lambda T: T.device("cuda:0", 0),
        lambda T: T.device("cuda", -1),
        lambda T: T.device(1.5),
        lambda T: T.device(),
        lambda T: setattr(T.device("cuda:0"), "index", 1),
        lambda T: T.cuda.set_device("cpu"),
        lambda T: T.zeros(2).cuda("cpu"),
        lambda T: T.zeros(2).cuda(-1),
        lambda T: T.zeros(2).to(dtype=3),
        lambda T: T.zeros(2).to("cpu", "cpu"),
        lambda T: T.zeros(2).to(T.float32, T.float32),
        lambda T: T.cuda.manual_seed("a"),
    ],
)
def test_misuse_raises_as_in_pytorch(call: Any) -> None:
    oracle.check_raises(call)


PROGRAM = """
import nbautograd as torch
x = torch.ones(3, requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 2.0, 2.0]
assert "cupy" not in __import__("sys").modules
assert not torch.cuda.is_available()
try:
    x.cuda()
except RuntimeError as error:
    print(error)
"""


def run(folder: Path) -> str:
    """Return the program's output with ``folder`` before everything else on the path."""
    root = Path(__file__).parents[3]
    path = os.pathsep.join([str(folder), str(root)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    "code", ["raise OSError('libcuda.so.1: cannot open')", "import no_such_module", "1 / 0", "def ("]
)
def test_a_broken_cupy_on_the_path(code: str, tmp_path: Path) -> None:
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy/__init__.py").write_text(code)
    said = run(tmp_path)
    assert "cannot be imported" in said
    assert INSTALL in said


def test_a_real_cupy_without_a_driver() -> None:
    """Check a real CuPy, if ``NBAUTOGRAD_CUPY`` names a folder with it (``pip install --target FOLDER
    cupy-cuda12x``).
    """
    folder = os.environ.get("NBAUTOGRAD_CUPY")
    if not folder:
        pytest.skip("NBAUTOGRAD_CUPY names no folder with CuPy")
    said = run(Path(folder))
    assert "cudaError" in said
    assert INSTALL in said


def test_cuda_says_what_is_missing():
    if nb.cuda.is_available():
        pytest.skip("CUDA can be used here")
    with pytest.raises((RuntimeError, AssertionError), match=r"pip install|CUDA cannot be used"):
        nb.ones(2, device="cuda")
    with pytest.raises(RuntimeError):
        nb.ones(2).cuda()
    assert nb.cuda.device_count() == 0 and nb.cuda.why_not()


# -- fused kernels, which no device has run ----------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "on"), [("1", True), ("0", False), ("", False), (None, False)])
def test_fused_kernels_are_off_unless_asked_for(value: str | None, on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is None:
        monkeypatch.delenv(backend.FUSED, raising=False)
    else:
        monkeypatch.setenv(backend.FUSED, value)
    fresh = backend._CupyBackend()
    fresh.start = lambda: "CuPy"  # type: ignore[method-assign]
    assert fresh.kernels() == ("CuPy" if on else None)


@pytest.mark.parametrize("fused", [True, False])
def test_doctor_says_whose_kernels_compute(
    fused: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"cupy": ["cupy-cuda12x"]})
    monkeypatch.setattr("importlib.metadata.version", lambda name: "14.2.0")
    with present(fake_cupy(1)):
        backend.cuda.fused = fused
        exec(doctor.CUDA, {})
    said = capsys.readouterr().out
    assert said.startswith("cupy-cuda12x 14.2.0 on ")
    assert said.rstrip().endswith(
        ", fused kernels" if fused else ", CuPy's kernels (NBAUTOGRAD_FUSED_CUDA=1: fused ones)"
    )
