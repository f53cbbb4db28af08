"""What every test finds loaded, how tests are handed out to several processes, and what a run says in the end."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from nbautograd._names import lazy
from tests import needs
from tests.settings import now

pytest_plugins = ["tests.browser", "tests.oracle.plugin"]
lazy.load()  # tests walk through all that is declared


SWEEPS = {
    "notebooks": "*",
    "notebooks/zh": "*",
    "tests/engine": "test_cupy_names.py test_threads.py",
    "tests/engine/autograd": "test_dual_programs.py test_forward_ad.py",
    "tests/engine/batching": "test_operations.py",
    "tests/engine/cuda": "test_gpu*.py",
    "tests/engine/ops": "opinfo*.py test_cpu_levels.py test_mutations.py test_opinfo*.py test_shapes.py",
    "tests/networks/distributions": "*.py",
    "tests/networks/training": "*.py",
    "tests/parity": "test_identity.py test_lazy_loading.py test_namespaces.py",
    "tests/parity/guests": "*.py",
    "tests/parity/differences": "test_f*.py test_gradcheck.py test_inference_mode.py test_saved_*.py test_v*.py",
    "tests/product": """
        *.ipynb test_commands.py test_docs.py test_how_autograd_works.py test_jupyterlab.py test_late_packages.py
        test_lite.py test_on_device.py test_one_cpu.py test_packaging.py test_reference.py test_serving.py
        test_slides.py test_tutorial_documents.py test_types.py""",
    "tests/product/faults": """
        test_errors_page.py test_file_system.py test_forks.py test_interrupt*.py test_kernel.py
        test_missing_dependencies.py test_out_of_memory.py test_security.py""",
    "tests/product/fuzz": "*.py",
    "tests/product/soak": "*.py",
}
"""By folder, the files of tests that go through all there is, or start other programs: the quick tier leaves them out.

So it does with single tests elsewhere that are marked ``sweep``, and with all cases of a test but the first."""
SWEEPING_MARKS = ("browser", "guests", "packaging", "wasm")
QUICK = "not sweep"
TOGETHER = 8
"""As many cases of a test one process is given at once."""
WHOLE = {
    "notebooks": "*",
    "notebooks/zh": "*",
    "tests/engine/ops": "test_mutations.py",
    "tests/engine/strict": "test_kernels.py",
    "tests/pictures/viz": "test_in_place.py",
    "tests/product": """
        *.ipynb test_course.py test_lite.py test_marimo.py test_nbconvert.py test_notebook7.py test_playground.py
        test_serving.py test_tutorial_documents.py""",
    "tests/product/faults": "test_kernel.py",
}
"""By folder, the files of tests that one process runs: they share a kernel, a server, a page, or long preparations."""
SHOWN_DURATION = 0.005
"""The shortest setup, in seconds, that ``--durations`` shows."""
GROUPS = {
    "JupyterLab": ("tests/product/test_jupyterlab.py", "tests/product/test_jupyterlab_guest.py",
                   "tests/product/test_saving.py"),
    "syntax trees": (
        "tests/engine/test_warnings.py::test_one_function_warns",
        "tests/parity/test_namespaces.py",
        "tests/pictures/viz/test_advice.py::test_what_other_messages_name_exists",
        "tests/product/faults/test_security.py",
        "tests/product/test_house.py",
        "tests/product/test_layers.py",
        "tests/product/test_other_systems.py",
    ),
}  # fmt: skip
"""By what they share, tests, or whole files, that one process runs: a server and its page, the trees of the package."""
GROUP_OF = {test: group for group, tests in GROUPS.items() for test in tests}


collect_ignore = [  # programs, of packages that few have
    "tests/product/fuzz/atheris_files.py", "tests/product/device_steps.py", "tests/oracle/asking.py",
    "nbautograd/viz/sphinx.py"]  # fmt: skip
collect_ignore_glob = ["tests/parity/guests/packages/*", "tests/parity/guests/projects/*"]  # run.py runs them
# A busy machine makes no test fail: no example has a deadline, and examples may take long to be drawn.
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", untimed, print_blob=True)  # --hypothesis-profile=long: more of everything
settings.register_profile("same", untimed, derandomize=True, database=None)  # the same examples each time
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that lets two runs share the work."""
    parser.addoption(
        "--passed",
        metavar="FILE",
        default=os.environ.pop("NBAUTOGRAD_PASSED", None),  # the runs that tests start do not see it
        help="add the tests that pass to FILE; of those that it names, run only the quick tier, where their file"
        " has others to run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Hear interrupts: a shell's background job ignores them, and so would every process that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_listed(file: str, files: Mapping[str, str]) -> bool:
    """Return whether a file, named from the root, is one of those that a table names by their folders."""
    folder, _, name = file.rpartition("/")
    return any(fnmatch(name, pattern) for pattern in files.get(folder, "").split())


@cache
def is_swept(path: Path, root: Path) -> bool:
    """Return whether a file is one of ``SWEEPS``."""
    return is_listed(path.relative_to(root).as_posix(), SWEEPS)


@cache
def is_whole(file: str) -> bool:
    """Return whether a file is one of ``WHOLE``."""
    return is_listed(file, WHOLE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """In the quick tier, do not even read what it leaves out."""
    return True if config.option.markexpr == QUICK and is_swept(collection_path, config.rootpath) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect no garbage among the tests while they are collected: nearly all of it stays, and is walked each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, list[Any], list[Any]]:
    """Look for doctests in those files of tests that have any: pytest asks every function of every file for some."""
    found = yield
    in_tests = file_path.suffix == ".py" and parent.config.rootpath / "tests" in file_path.parents
    if in_tests and ">>> " not in file_path.read_text(encoding="utf-8"):
        return [each for each in found if not isinstance(each, DoctestModule)]
    return found


def is_marked(node: pytest.Item | pytest.Collector) -> bool:
    """Return whether a test, or what it stands in, has one of ``SWEEPING_MARKS``."""
    marks = any(mark.name in SWEEPING_MARKS for mark in node.own_markers)
    return marks or (node.parent is not None and has_marked_parent(node.parent))


has_marked_parent = cache(is_marked)
"""Remembers modules and classes, which are asked once for all of their tests."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as ``sweep`` all that is not quick: of the cases of a test all but the first."""
    seen = set()
    sweep = pytest.mark.sweep
    for item in items:
        test, bracket, _ = item.nodeid.partition("[")
        if (bracket and test in seen) or is_marked(item) or is_swept(item.path, config.rootpath):
            item.add_marker(sweep)
        seen.add(test)
    passed = _passed(config)
    files = {item.path for item in items if item.nodeid not in passed}

    def is_again(item: pytest.Item) -> bool:
        return item.nodeid not in passed or (item.path in files and not item.get_closest_marker("sweep"))

    done = [item for item in items if not is_again(item)]
    if done:
        config.hook.pytest_deselected(items=done)
        items[:] = filter(is_again, items)
    if hasattr(config, "workerinput"):  # the longest begin first, so that no process waits for another in the end
        items.sort(key=lambda item: not item.nodeid.startswith("tests/product"))


def _passed(config: pytest.Config) -> frozenset[str]:
    """Return the tests that passed in an earlier run, as the file of ``--passed`` names them."""
    file = Path(getattr(config, "workerinput", {}).get("passed", config.option.passed) or os.devnull)
    return frozenset(file.read_text(encoding="utf-8").splitlines()) if file.exists() else frozenset()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Add the tests that passed to the file of ``--passed``, in the process that all others report to."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if config.option.passed and not hasattr(config, "workerinput"):
        passed = {report.nodeid for report in reporter.stats.get("passed", ())} | _passed(config)
        Path(config.option.passed).write_text("".join(f"{test}\n" for test in sorted(passed)), encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """With ``-n``: tell a process of what an earlier run has tested."""
    node.workerinput["passed"] = node.config.option.passed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``-n``: every test by itself, but a file of ``WHOLE`` at once, as are ``TOGETHER`` cases of a test.

    To hand out a case takes longer than most cases do.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Collection(list[str]):
        """The tests of a process, of which the scheduler asks for each where it is."""

        def __init__(self, tests: Sequence[str]) -> None:
            super().__init__(tests)
            self.places = {test: place for place, test in enumerate(tests)}

        def index(self, test: str) -> int:  # type: ignore[override]
            return self.places[test]

    class ByCases(LoadScopeScheduling):
        def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
            super().add_node_collection(node, collection)
            if node in self.registered_collections:
                self.tests = self.registered_collections[node] = Collection(collection)

        def _split_scope(self, nodeid: str) -> str:
            file, test = nodeid.partition("::")[0], nodeid.partition("[")[0]
            group = GROUP_OF.get(file) or GROUP_OF.get(test)
            if group is not None:
                return group
            if is_whole(file):
                return file
            return nodeid if test == nodeid else f"{test} {self.tests.index(nodeid) // TOGETHER}"

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            super().mark_test_complete(node, item_index, duration)
            # The scheduler counts what a process has yet to do among all that it was ever handed: forget what is done.
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(self.assigned_work[node][scope].values()):
                del self.assigned_work[node][scope]

    return ByCases(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """With ``-n``: report only what is shown; to send a report takes longer than most tests do."""
    if not hasattr(item.config, "workerinput"):
        return None
    locate(item)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration >= SHOWN_DURATION:
            report.keywords = {}  # half of what a report holds, and nobody reads them
            sender(item.config)(report=report)
    return True


FIRST_CASES: dict[tuple[Any, str], pytest.Function] = {}
"""Of each test of a file or a class, the case that ran first in this process."""


def locate(item: pytest.Item) -> None:
    """Tell a case where its test stands, as another case knows: pytest goes through the file system for each."""
    if isinstance(item, pytest.Function):
        first = FIRST_CASES.setdefault((item.parent, item.originalname), item)
        if first is not item:
            item.location = (*first.location[:2], item.getmodpath())


@cache
def sender(config: pytest.Config) -> Any:
    """Return the hook that sends a report, without the reporter: nobody sees what it prints in a process of ``-n``."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return config.pluginmanager.subset_hook_caller("pytest_runtest_logreport", [reporter])


def pytest_collection_finish() -> None:
    """Leave the tests themselves, tens of thousands of objects, out of what the many tests of lifetimes collect."""
    gc.collect()
    gc.freeze()


SETTINGS = now()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """Fail the test that leaves a setting changed; after each file, collect: caches only grow."""
    yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
    settings = now()
    if settings != SETTINGS:
        left = {name: value for name, value in settings.items() if value != SETTINGS[name]}
        SETTINGS.update(settings)  # the tests after this one are not to blame
        raise AssertionError(f"the test leaves settings changed: {left}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """In one line, what was skipped for lack of what."""
    tests, files, hows = Counter[str](), defaultdict[str, set[str]](set), {}
    for report in terminalreporter.stats.get("skipped", []):
        match = needs.REASON.search(report.longrepr[2]) if isinstance(report.longrepr, tuple) else None
        if match is None:
            continue
        name, hows[match[1]] = match.groups()
        if isinstance(report, pytest.CollectReport):
            files[name].add(report.nodeid)
        else:
            tests[name] += 1
    parts = []
    for name in sorted(hows):
        counts = [f"{n} {what}" for n, what in ((tests[name], "tests"), (len(files[name]), "whole files")) if n]
        parts.append(f"{name}, {' and '.join(counts)} ({hows[name].strip()})")
    if parts:
        terminalreporter.write_line(f"skipped for lack of: {'; '.join(parts)}")
