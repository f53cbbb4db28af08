"""Test arguments of the wrong kind: the message names the argument, its value and the accepted types."""

from __future__ import annotations

import linecache
import operator
import re
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import nbautograd as nb
from nbautograd._engine.compiler import source
from nbautograd._engine.compiler.argument_errors import with_argument_errors
from nbautograd.errors import kind_of
from tests import oracle

MISFITS = [
    (lambda: nb.kron(nb.ones(2), "a"), r"kron\(\): argument 'other' \(position 2\) must be Tensor, not str"),
    (lambda: nb.chunk(1, 2), r"chunk\(\): argument 'input' \(position 1\) must be Tensor, not int"),
    (lambda: nb.mean(nb.ones(2), dtype="cpu"), r"mean\(\): argument 'dtype' must be torch.dtype, not str"),
    (lambda: nb.matmul(nb.ones(2), 3), r"matmul\(\): argument 'other' \(position 2\) must be Tensor, not int"),
    (
        lambda: nb.pow(nb.ones(2), [1]),
        r"pow\(\): argument 'exponent' \(position 2\) must be Tensor or Number, not list",
    ),
    (lambda: nb.ones(2) @ 3, "unsupported operand"),
    (lambda: nb.ones(2) ** "a", "unsupported operand"),
    (lambda: nb.meshgrid(1, 2), "expected Tensor as element 0 in argument 0, but got int"),
    (lambda: nb.broadcast_tensors(nb.ones(1), "a"), "expected Tensor as element 1 in argument 0, but got str"),
    (lambda: nb.promote_types(nb.bool, 3), r"promote_types\(\): argument 'type2' \(position 2\) must be torch.dtype"),
    (lambda: nb.ones(2).is_contiguous(memory_format=1.5), "argument 'memory_format' must be torch.memory_format"),
    (lambda: nb.ones(2).view(dtype="a"), r"view\(\): argument 'dtype' must be torch.dtype, not str"),
    (lambda: nb.arange(3, out="a"), r"arange\(\): argument 'out' \(position 1\) must be Tensor, not str"),
    (lambda: nb.detach_copy([1]), r"detach_copy\(\): argument 'input' \(position 1\) must be Tensor, not list"),
    (lambda: nb.amax(nb.ones(2), dim="a"), r"amax\(\): dim must be int, not str"),
    (lambda: nb.movedim(nb.ones(2), "a", 0), r"movedim\(\): dim must be int, not str"),
    (lambda: nb.ones(2).clamp("a"), r"clamp\(\): expected a number, but got str"),
    (lambda: nb.ones(2).masked_fill(nb.ones(2) > 1, "a"), r"masked_fill\(\): expected a number, but got str"),
    (lambda: nb.empty(2, requires_grad="a"), r"empty\(\): argument 'requires_grad' must be bool, not str"),
    (lambda: nb.column_stack([1, "b"]), r"column_stack\(\): expected Tensor as element 0 in argument 0, but got int"),
    (lambda: nb.ones(2).to(nb.float64, "cpu"), "non_blocking must be bool, not str"),
    (lambda: nb.ones(2).to(memory_format="a"), "memory_format must be torch.memory_format, not str"),
    (
        lambda: nb.ones(2).split([0.5, 1]),
        r"argument 'split_sizes' \(position 2\) must be tuple of ints, but found element of type float at pos 0",
    ),
    (lambda: nb.nn.functional.mse_loss(nb.ones(2), nb.ones(2), weight=3), "argument 'weight' must be Tensor, not int"),
]


@pytest.mark.parametrize(("call", "message"), MISFITS, ids=range(len(MISFITS)))
def test_the_argument_is_named(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        call()
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


class Theirs:
    """A tensor of PyTorch as seen by code that must not import it."""

    __module__ = "torch"
    __dlpack__ = detach = None


Theirs.__name__ = "Tensor"

MIXED = {
    "add": lambda x, t: nb.add(x, t),
    "x + t": lambda x, t: x + t,
    "t + x": lambda x, t: t + x,
    "t - x": lambda x, t: t - x,
    "x * t": lambda x, t: x * t,
    "x @ t": lambda x, t: x @ t,
    "t @ x": lambda x, t: t @ x,
    "x ** t": lambda x, t: x**t,
    "x == t": lambda x, t: x == t,
    "x < t": lambda x, t: x < t,
    "x += t": lambda x, t: operator.iadd(x, t),
    "exp": lambda x, t: nb.exp(t),
    "sum": lambda x, t: nb.sum(t, 0),
    "cat": lambda x, t: nb.cat([x, t]),
    "x[0] = t": lambda x, t: operator.setitem(x, 0, t),
    "Linear": lambda x, t: nb.nn.Linear(2, 2)(t),
    "Conv2d": lambda x, t: nb.nn.Conv2d(1, 1, 1)(t),
    "LSTM": lambda x, t: nb.nn.LSTM(2, 2)(t),
    "MSELoss": lambda x, t: nb.nn.MSELoss()(x, t),
    "SGD": lambda x, t: nb.optim.SGD([t]),
    "svd": lambda x, t: nb.linalg.svd(t),
    "fft": lambda x, t: nb.fft.fft(t),
    "copy_": lambda x, t: x.copy_(t),
    "to": lambda x, t: x.to(t),
    "backward": lambda x, t: x.clone().requires_grad_().sum().backward(t),
    "out=": lambda x, t: nb.exp(x, out=t),
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("real", [False, True], ids=["by its name", "PyTorch's own"])
def test_a_tensor_of_pytorch_is_called_one(name: str, real: bool) -> None:
    theirs: Any = Theirs()
    if real:
        theirs = oracle.live().ones(2, 2)
    with pytest.raises(
        TypeError, match=r"PyTorch's Tensor \(`from nbautograd import from_dlpack; from_dlpack\(\w+.detach\(\)\)`"
    ):
        MIXED[name](nb.ones(2, 2), theirs)


def test_what_else_is_pytorchs() -> None:
    kind = type("dtype", (), {"__module__": "torch"})()
    with pytest.raises(TypeError, match=r"must be torch.dtype, not PyTorch's dtype \(use nbautograd's\)"):
        nb.ones(2, dtype=kind)
    layer = type("Net", (type("Module", (), {"__module__": "torch.nn"}),), {"__module__": "__main__"})()
    with pytest.raises(TypeError, match=r"PyTorch's Net \(use nbautograd's\) is not a Module"):
        nb.nn.Sequential(layer)
    assert kind_of(nb.ones(2, 2).max(0)) == "max" and kind_of(nb.ones(1)) == "Tensor" and kind_of(nb.float32) == "dtype"


def test_pytorchs_functions_say_that_they_were_given_ours() -> None:
    torch = oracle.live()
    ours, theirs = nb.ones(2, 2), torch.ones(2, 2)
    calls = [
        lambda: torch.relu(ours),
        lambda: torch.add(theirs, ours),
        lambda: theirs.add(ours),
        lambda: torch.nn.Linear(2, 2)(ours),
        lambda: torch.nn.functional.mse_loss(theirs, ours),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"\w+\(\) is PyTorch's and was given a tensor of nbautograd"):
            call()


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # PyTorch's own, which NumPy complains about
def test_conversions_take_the_other_library_s_tensor() -> None:
    torch = oracle.live()
    theirs = torch.arange(3.0)
    for made in (nb.tensor(theirs), nb.as_tensor(theirs), nb.asarray(theirs), nb.from_dlpack(theirs.detach())):
        assert isinstance(made, nb.Tensor) and made.tolist() == [0, 1, 2]
    for back in (torch.tensor(made), torch.as_tensor(made), torch.asarray(made), torch.from_dlpack(made.detach())):
        assert isinstance(back, torch.Tensor) and back.tolist() == [0, 1, 2]


def test_errors_of_the_caller_s_own_code_are_left_alone() -> None:
    @with_argument_errors
    def applied(function: Any, input: nb.Tensor) -> Any:
        return function(input)

    with pytest.raises(AttributeError, match="nonsense"):
        applied(lambda t: t.nonsense, nb.ones(2))


WARNING = [
    lambda: nb.ones(1).var(),
    lambda: nb.std(nb.ones(1), dim=0),
    lambda: nb.var_mean(nb.ones(1)),
    lambda: nb.cov(nb.ones(2, 1)),
    lambda: nb.stft(nb.ones(20), 4, return_complex=True),
    lambda: nb.stft(nb.ones(20), 4, window=nb.ones(4), return_complex=False),
    lambda: nb.istft(nb.ones(3, 21, dtype=nb.complex64), 4, window=nb.ones(4), length=40),
    lambda: nb.range(0, 3),
    lambda: nb.ones(1, 2, 3).T,
]


@pytest.mark.parametrize("call", WARNING, ids=range(len(WARNING)))
def test_warnings_point_at_the_caller(call: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert [warning.filename for warning in caught] == [__file__] * len(caught)


def test_numbers_that_do_not_fit_become_infinite_without_a_warning() -> None:
    inf = float("inf")
    assert nb.tensor([1e300]).tolist() == nb.as_tensor([1e300]).tolist() == [inf]
    assert (nb.ones(1, dtype=nb.float16) * 1e308).tolist() == [inf]
    assert nb.nextafter(nb.tensor(-(2**63)), nb.tensor(1.5, dtype=nb.float16)).item() == -65504


# -- sources that change while a kernel runs -------------------------------------------------------------------------

BEFORE = "def body(a, b):\n    return a * b\n"


def function_of(source: str, monkeypatch: pytest.MonkeyPatch, now: str) -> Any:
    """The function of a source that has been replaced by another since it was imported."""
    scope: dict[str, Any] = {}
    exec(compile(source, "upgraded.py", "exec"), scope)
    monkeypatch.setitem(linecache.cache, "upgraded.py", (len(now), None, now.splitlines(True), "upgraded.py"))
    function = scope["body"]
    assert isinstance(function, types.FunctionType)
    return function


@pytest.mark.parametrize(
    "after",
    [
        "def body(a, b):\n    return a + b\n",
        "def body(a, b):\n    return a * b * 1\n",
        "def body(b, a):\n    return b * a\n",
        "def other(a, b):\n    return a * b\n",
        "import x\n\n",
    ],
)
def test_an_upgrade_under_a_running_kernel_mixes_nothing(after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations are compiled when first called, from their source: never from one that is no longer theirs."""
    assert source.expression_of(function_of(BEFORE, monkeypatch, BEFORE)) is not None
    assert source.expression_of(function_of(BEFORE, monkeypatch, after)) is None


# -- names in messages -------------------------------------------------------------------------------------------------

PRIVATE = re.compile(r"(?<![\w.'`])_[a-z]\w*\(|\w+_over\(\)|<locals>|<genexpr>")
APART = {"compile", "exit", "fork", "load", "quit", "save", "seed", "spawn", "use_deterministic_algorithms"}


def wrong_calls(name: str, function: Any, first: tuple[Any, ...]) -> Iterator[tuple[Any, dict[str, Any]]]:
    yield first, {}
    yield first, {"nonsense": 1}
    for wrong in (None, "text", object(), {}, [1, 2]):
        yield (wrong,), {}
        yield (*(first or (nb.ones(2, 3),)), wrong), {}
        yield (*(first or (nb.ones(2, 3),)), 1, wrong), {}


@pytest.mark.parametrize("place", ["", "nn.functional", "linalg", "fft", "special", "Tensor"])
def test_messages_name_public_functions(place: str) -> None:
    found = set()
    space = operator.attrgetter(place)(nb) if place else nb
    first = (nb.ones(2, 3),) if place == "Tensor" else ()
    for name in dir(space):
        function = getattr(space, name, None)
        if name.startswith(("_", "set_")) or name in APART or not callable(function) or isinstance(function, type):
            continue
        for arguments, keywords in wrong_calls(name, function, first):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(*arguments, **keywords)
            except Exception as error:
                if PRIVATE.search(str(error)):
                    found.add(f"{name}{arguments}: {error!s:.200}")
    assert sorted(found) == []


def errors_of(cls: type) -> Iterator[str]:
    for arguments, keywords in (((), {}), ((1,) * 40, {}), ((), {"nonsense": 1})):
        try:
            cls(*arguments, **keywords)
        except TypeError as error:
            yield str(error)
        except Exception:
            continue  # of a value


@pytest.mark.parametrize("place", ["nn", "optim", "optim.lr_scheduler", "utils.data", "distributions"])
def test_errors_of_constructors_name_public_classes(place: str) -> None:
    space, found = operator.attrgetter(place)(nb), []
    words = (
        r"[A-Za-z]\w*\.__(init|new)__\(\) (missing \d+ required|takes |got an unexpected keyword argument 'nonsense')"
    )
    for name in dir(space):
        cls = getattr(space, name)
        if isinstance(cls, type) and cls.__module__.startswith(f"nbautograd.{place.partition('.')[0]}"):
            found += [f"{name}: {text}" for text in errors_of(cls) if "__(" in text and not re.match(words, text)]
    assert found == []


def test_errors_of_layers_speak_as_python_does() -> None:
    for layer in (nb.nn.ReLU(), nb.nn.MSELoss(), nb.nn.AvgPool2d(2)):
        with pytest.raises(TypeError, match=rf"^{type(layer).__name__}\.forward\(\) missing \d required positional"):
            layer()
    with pytest.raises(TypeError, match=r"^AvgPool2d\.__init__\(\) got an unexpected keyword argument 'kernl_size'"):
        nb.nn.AvgPool2d(kernl_size=2)
    with pytest.raises(RuntimeError, match="running_mean should contain 4 elements not 3"):
        nb.nn.BatchNorm1d(3)(nb.ones(2, 4))
