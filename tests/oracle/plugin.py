"""Which test asks, and whether PyTorch answers it or a file does: the option ``--oracle``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.oracle import store

MODES = ("stored", "absent", "live", "record")
MARK = "live"


class State:
    """The state of the run that the functions of ``tests.oracle`` read."""

    mode = "stored"
    test: str | None = None
    """The test that runs now."""
    asked: dict[str, int] = {}  # noqa: RUF012
    """By test, its number of questions."""
    recorded: dict[str, store.Answers] = {}  # noqa: RUF012
    """By file of tests, the answers of this run."""
    tests: dict[str, list[str]] = {}  # noqa: RUF012
    """By file of tests, its tests."""
    version = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--oracle",
        choices=MODES,
        help="what PyTorch answers: from the files in tests/stored (stored, the default), as if PyTorch were not"
        " installed (absent); from PyTorch itself (live, as with -m live), and into the files (record)",
    )


def pytest_configure(config: pytest.Config) -> None:
    is_live = getattr(config.option, "markexpr", "") == MARK
    State.mode = config.getoption("--oracle") or ("live" if is_live else "stored")
    if State.mode == "absent":
        State.mode = "stored"
        sys.modules["torch"] = None  # type: ignore[assignment]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of each file that asks PyTorch as ``live``."""
    live = getattr(pytest.mark, MARK)
    for item in items:
        oracle = getattr(getattr(item, "module", None), "oracle", None)
        if getattr(oracle, "__name__", "") == "tests.oracle":
            item.add_marker(live)
        if State.mode == "record":
            file, _, test = item.nodeid.partition("::")
            State.tests.setdefault(file, []).append(test)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    State.test = item.nodeid
    State.asked.pop(item.nodeid, None)
    try:
        return (yield)
    finally:
        State.test = None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect the recordings of a worker."""
    version, answers, tests = getattr(node, "workeroutput", {}).get("oracle", ("", {}, {}))
    State.version = version or State.version
    for file, data in answers.items():
        State.recorded.setdefault(file, {}).update(store.loads(data)[1])
        State.tests[file] = tests[file]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the recordings; a worker sends them to the process that started it."""
    if not State.recorded:
        return
    if hasattr(session.config, "workeroutput"):
        data = {file: store.dumps(State.version, answers) for file, answers in State.recorded.items()}
        tests = {file: State.tests.get(file, []) for file in data}
        session.config.workeroutput["oracle"] = State.version, data, tests
        return
    is_part = any("::" in argument for argument in session.config.args) or session.config.option.keyword
    for file, answers in State.recorded.items():
        path = store.file_of(file)
        kept = {key: value for key, value in store.read(path)[1].items() if is_part or key in State.tests[file]}
        store.write(path, State.version, {**kept, **answers})
