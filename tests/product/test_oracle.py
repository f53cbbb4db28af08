"""Test the oracle: it notices a few units in the last place, stores answers, and alone asks PyTorch."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nbautograd
from tests import oracle
from tests.oracle import rules, store
from tests.oracle.answers import Array, Measured, Named, Raised, Warned, plain
from tests.oracle.comparison import difference

X, Y = (np.random.default_rng(seed).normal(size=(5, 4)) for seed in (0, 1))
OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "product": lambda T, x, y: x * y,
    "quotient": lambda T, x, y: x / y,
    "exp": lambda T, x, y: x.exp(),
    "tanh": lambda T, x, y: x.tanh(),
    "sum": lambda T, x, y: x.sum(0),
    "norm": lambda T, x, y: x.norm(),
    "softmax": lambda T, x, y: x.softmax(0),
    "logsumexp": lambda T, x, y: x.logsumexp(1),
    "loss": lambda T, x, y: T.nn.functional.mse_loss(x, y),
    "gradient": lambda T, x, y: T.autograd.grad((x.sin() * y).sum(), x)[0],
}


def computed(T: Any, name: str, dtype: str) -> Any:
    x, y = (T.tensor(a, dtype=getattr(T, dtype), requires_grad=True) for a in (X, Y))
    return OPERATIONS[name](T, x, y)


@pytest.mark.parametrize(("dtype", "units"), [("float32", 8), ("float64", 16)])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_error_of_a_few_units_is_noticed(name: str, dtype: str, units: int) -> None:
    theirs, ours = oracle.answer(computed, name, dtype), computed(nbautograd, name, dtype)
    oracle.close(ours, theirs)
    for sign in (1, -1):
        with pytest.raises(pytest.fail.Exception, match="not as PyTorch"):
            oracle.close(ours * (1 + sign * units * np.finfo(dtype).eps), theirs)


@pytest.mark.parametrize(("dtype", "units"), [("float32", 8), ("float64", 16)])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_error_of_a_few_units_is_noticed_between_two_ways_of_ours(name: str, dtype: str, units: int) -> None:
    x, y = X.astype(dtype), Y.astype(dtype)

    def run(x: Any, y: Any) -> Any:
        return OPERATIONS[name](nbautograd, *(nbautograd.tensor(a, requires_grad=True) for a in (x, y)))

    oracle.agree(lambda x, y: run(np.asfortranarray(x), y), run, x, y)
    for sign in (1, -1):
        with pytest.raises(pytest.fail.Exception, match="not as PyTorch"):
            oracle.agree(lambda x, y, sign=sign: run(x, y) * (1 + sign * units * np.finfo(dtype).eps), run, x, y)


@oracle.both
@pytest.mark.parametrize("shape", [(), (2,)])
def test_what_is_asserted_holds_under_both(T: Any, shape: tuple[int, ...]) -> Any:
    assert T.ones(shape).sum() == max(shape, default=1)
    return T.ones(shape)


def test_noise_is_allowed_where_a_program_cancels_and_nowhere_else() -> None:
    def cancelled(T: Any) -> Any:
        x = T.tensor(X, dtype=T.float32)
        return (x + 1000) - 1000, x * 2

    theirs = oracle.answer(cancelled)
    first, second = (part.bound / np.abs(part.values).max() for part in theirs.parts)
    assert first > 100 * second > 0


def test_noise_goes_through_writes_to_lists_and_layers_of_one_precision() -> None:
    def program(T: Any) -> Any:
        noisy = (T.tensor(X, dtype=T.float32) + 1000) - 1000
        p = T.zeros(5, 4, requires_grad=True)
        (p * noisy).sum().backward()
        T.nn.utils.clip_grad_norm_([p], 0.1)
        layer = oracle.fill(T, T.nn.LSTM(4, 3))
        return p.grad, layer(noisy)[0], noisy[:1].expand(3, 4).tolist()

    gradient, output, numbers = oracle.answer(program).parts
    for part in (gradient, output):
        assert part.bound > 100 * np.finfo(np.float32).eps * np.abs(part.values).max()
    assert numbers[0][0].bound > 100 * np.finfo(np.float32).eps * abs(numbers[0][0])


def test_what_is_exact_stays_exact_and_ties_stay_ties() -> None:
    def program(T: Any) -> Any:
        x = T.tensor([0.1, 0.7, 0.1, 0.7], requires_grad=True)
        x.amax().backward()
        return x.grad, (x - x).relu(), T.tensor([0.5, 3.0]).floor()

    for part in oracle.answer(program).parts:
        assert part.bound <= 1.01 * np.finfo(np.float32).eps * max(1, part.values.max())
    oracle.check(program, exact=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.double(),
        lambda t: t[:2],
        lambda t: t.detach(),
        lambda t: nbautograd.nn.Parameter(t),
        lambda t: nbautograd.where(t > 1, nbautograd.nan, t),
        lambda t: [t],
        lambda t: None,
    ],
)
def test_another_dtype_shape_class_or_flag_is_noticed(change: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        return T.tensor([1.0, 2.0, 3.0], requires_grad=True) * 1.5

    with pytest.raises(pytest.fail.Exception, match="not as PyTorch"):
        oracle.close(change(program(nbautograd)), oracle.answer(program))


def test_exceptions_and_warnings() -> None:
    error = oracle.check_raises(lambda T: T.ones(2) + T.ones(3), says="must match the size of tensor b (3)")
    assert isinstance(error, RuntimeError)
    with pytest.raises(pytest.fail.Exception, match="PyTorch raises"):
        oracle.check_raises(lambda T: T.ones(2) + T.ones(3 if T is not nbautograd else 2))
    with pytest.raises(pytest.fail.Exception, match="PyTorch Raised"):
        oracle.check_raises(lambda T: {}["x"] if T is nbautograd else T.ones(2) + T.ones(3))
    oracle.check_warns(lambda T: T.nn.init.xavier_normal(T.ones(2, 2)) is not None)
    with pytest.raises(pytest.fail.Exception, match="not as PyTorch"):
        oracle.check_warns(lambda T: T is nbautograd or T.nn.init.xavier_normal(T.ones(2, 2)) is not None)


def test_what_is_stored_comes_back() -> None:
    number = Measured(0.1)
    number.bound = 1e-9
    arrays = [np.arange(3.0, dtype=kind) for kind in ("float16", "float32", "float64", "int8", "complex64")]
    arrays += [np.array([1.5, -2]).astype(ml_dtypes.bfloat16), np.zeros((0, 2)), np.array([True]), np.float32(2.5)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("Something is deprecated", FutureWarning, stacklevel=1)
    value = [
        1,
        2.5,
        float("inf"),
        1 + 2j,
        True,
        None,
        "a",
        b"\xff",
        (1, 2),
        OrderedDict(a=[2]),
        {3},
        ValueError("no x"),
    ]
    kept = plain([*value, *arrays, nbautograd.Size([2]), nbautograd.float32, caught, nbautograd.nn.ReLU(), slice(2)])
    kept += [number, Raised("ValueError", ["word"], "a word"), Named("dict", [])]
    version, answers = store.loads(store.dumps("2.0", {"a test[1]": [kept], "= shared": [kept]}))
    assert version == "2.0" and answers.keys() == {"a test[1]", "= shared"}
    for found in (answers["a test[1]"][0], answers["= shared"][0]):
        assert difference(found, kept, exact=True) is None and found[-3].bound == number.bound
        assert [type(part) for part in found] == [type(part) for part in kept]
    assert isinstance(kept[len(value) + len(arrays) + 2][0], Warned)


def test_of_a_large_array_a_sample_is_stored_that_misses_nothing() -> None:
    values = np.random.default_rng(0).normal(size=(30, 50))
    kept = Array("Tensor", "float64", False, values, bound=1e-15)
    (found,) = store.loads(store.dumps("2.0", {"x": [kept]}))[1]["x"]
    assert len(store.dumps("2.0", {"x": [kept]})) < values.nbytes / 2
    assert difference(kept, found) is None and difference(kept, found, exact=True) is None
    for place in ((0, 0), (29, 49), (11, 7)):
        changed = values.copy()
        changed[place] += 1e-12
        ours = Array("Tensor", "float64", False, changed)
        assert difference(ours, found) and difference(ours, found, exact=True)


@pytest.mark.sweep
def test_stored_files_are_equal_if_their_answers_are() -> None:
    for path in sorted(store.FOLDER.rglob("*.zip"))[:3]:
        data = path.read_bytes()
        version, answers = store.loads(data)
        assert store.loads(store.dumps(version, answers))[1].keys() == answers.keys()
        assert store.dumps(version, answers) == store.dumps(*store.loads(store.dumps(version, answers)))


@pytest.mark.sweep
def test_all_answers_are_of_one_version_and_of_tests_that_are_there() -> None:
    files = sorted(store.FOLDER.rglob("*.zip"))
    assert len({store.loads(path.read_bytes())[0] for path in files}) == 1
    for path in files:
        assert (store.TESTS / path.relative_to(store.FOLDER)).with_suffix(".py").exists(), path
    assert sum(path.stat().st_size for path in files) < 25 * 2**20


def test_numbers_meet_pytorch_here_alone() -> None:
    allowed = rules.allowed()
    for name, (compared, asked) in rules.found().items():
        most, live, why = allowed.get(name, (0, 0, ""))
        assert compared <= most, f"{name} compares numbers by itself: tests/oracle does (CONTRIBUTING.md says how)"
        assert asked <= live, f"{name} asks PyTorch by itself: tests/oracle does (CONTRIBUTING.md says how)"
        assert why, f"{name}: say in unconverted.txt why it does"


def test_the_rules_see_what_they_forbid() -> None:
    source = (
        "import torch\nfrom torch import nn\nneeds.package('torch')\npytest.importorskip('torch')\noracle.live()\n"
        "np.allclose(a, b)\nclose(a, b, rtol=1)\nassert a == pytest.approx(b)\nneeds.package('cupy')\n"
    )
    assert rules.counts(source) == (3, 5)
    assert Path(rules.LIST).exists()


def test_what_is_exact_is_not_watched() -> None:
    def program(T: Any) -> Any:
        with T.inference_mode():
            x = T.ones(2)
        return x.clone()._version

    oracle.check(program, exact=True)
