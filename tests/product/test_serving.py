"""``nbautograd lab`` with a real JupyterLab, asked over HTTP: as root and not, and where something is missing."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbautograd.cli.lab import course, first
from tests import needs
from tests.product.jupyterlab import WITHOUT_LANGUAGE_SERVERS
from tests.waiting import wait_until

needs.package("jupyterlab")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason=needs.reason("root"))
NOBODY = 65534
READING = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]  # environments below /root need it
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *READING]
QUIET = ["--LabApp.news_url=None", "--LabApp.extension_manager=readonly", WITHOUT_LANGUAGE_SERVERS]
FIRST = first(course(), "en").name
KEPT = ("PATH", "PYTHONPATH", "SYSTEMROOT", "LD_LIBRARY_PATH")


class Lab:
    """The command in a folder of its own, with a home and few variables."""

    def __init__(self, folder: Path, *prefix: str) -> None:
        self.folder, self.prefix = folder, prefix
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.env |= {"HOME": str(folder / "home"), "TMPDIR": str(folder), "PYTHONUTF8": "1"}
        self.arguments = ["course", "--no-browser"]

    def command(self, *options: str) -> list[str]:
        return [*self.prefix, sys.executable, "-m", "nbautograd", "lab", *self.arguments, "--", *QUIET, *options]

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8")

    def ended(self, *options: str) -> tuple[int, str]:
        """The exit status and the lines of our own of a command that does not serve."""
        with self._started(*options) as process:
            status = process.wait(120)
        return status, "\n".join(line for line in self.log.splitlines() if line.startswith("nbautograd lab:"))

    @contextmanager
    def serving(self, *options: str) -> Iterator[str]:
        """The address of the first notebook, which has been answered."""
        with self._started(*options) as process:
            page = self._page(process)
            with urllib.request.urlopen(page, timeout=30) as reply:
                assert reply.status == 200
            contents = page.replace("/lab/tree/", "/api/contents/")
            with urllib.request.urlopen(contents, timeout=30) as reply:
                found = json.load(reply)
            assert found["name"] == FIRST and found["content"]["cells"]
            yield page

    @contextmanager
    def _started(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        with (self.folder / "log").open("w") as log:
            process = subprocess.Popen(self.command(*options), env=self.env, stdout=log, stderr=log, cwd=self.folder)
            try:
                yield process
            finally:
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def _page(self, process: subprocess.Popen[bytes]) -> str:
        """Return the address with its token from the log, once the server answers there."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            assert process.poll() is None, self.log
            for page in re.findall(rf"http://127\.0\.0\.1:\d+/lab/tree/{FIRST}\?token=\w+", self.log):
                try:
                    urllib.request.urlopen(page, timeout=5).close()
                    return str(page)
                except OSError:
                    pass
            time.sleep(0.1)
        raise AssertionError("JupyterLab did not start:\n" + self.log)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """The command as the user who runs the tests."""
    return Lab(tmp_path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, str]]:
    """The command as it serves the course, in a home that was not there, and the address of its first notebook."""
    lab = Lab(tmp_path_factory.mktemp("served"))
    with lab.serving("--port=0") as page:
        yield lab, page


@functools.cache
def is_for_others() -> bool:
    """Return whether another user can run this environment."""
    probe = [*AS_NOBODY, sys.executable, "-c", "import nbautograd, jupyterlab"]
    try:
        return subprocess.run(probe, cwd="/", capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture
def nobody() -> Iterator[Lab]:
    """The command as a user who is not root."""
    if not is_for_others():
        pytest.skip("another user cannot run this environment: install setpriv, or put it where everybody reads")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        yield Lab(Path(folder), *AS_NOBODY)


def test_it_serves_the_course(served: tuple[Lab, str]) -> None:
    lab, _ = served
    said = "nbautograd lab: running as root, cells as well; only this machine can reach it (localhost)"
    assert (said in lab.log) == ROOT
    assert {path.name for path in (lab.folder / "course").iterdir()} >= {path.name for path in course().glob("*.ipynb")}


@as_root
def test_it_serves_another_user(nobody: Lab) -> None:
    with nobody.serving("--port=0"):
        assert "root" not in nobody.log.replace("root_dir", "")


def test_its_first_screen_asks_nothing(served: tuple[Lab, str]) -> None:
    """JupyterLab's question about news is answered, unless the reader's own settings answer it."""
    lab, page = served
    base, token = page.partition("/lab/tree/")[0], page.partition("?")[2]
    with urllib.request.urlopen(f"{base}/lab/api/settings?{token}", timeout=30) as reply:
        found = json.load(reply)["settings"]
    (news,) = (each for each in found if each["id"] == "@jupyterlab/apputils-extension:notification")
    assert news["schema"]["properties"]["fetchNews"]["default"] == "false"
    assert news["schema"]["properties"]["checkForUpdates"]["default"] is False
    assert not list((lab.folder / "home").rglob("*notification*"))


def test_of_a_folder_that_is_served_it_names_the_address(served: tuple[Lab, str]) -> None:
    lab, page = served
    done = subprocess.run(lab.command("--port=0"), env=lab.env, cwd=lab.folder, capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    base, token = page.partition("/lab/tree/")[0], page.partition("?")[2]
    (line,) = [line for line in done.stderr.splitlines() if "nbautograd lab: this folder" in line]
    port = base.rpartition(":")[2]
    assert f":{port}/lab?{token}" in line and "name another one: nbautograd lab FOLDER" in line


# -- root and other addresses ------------------------------------------------------------------------------------------


def configured(lab: Lab, text: str) -> None:
    """Write Jupyter's files in the home folder."""
    folder = lab.folder / "home" / ".jupyter"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "jupyter_server_config.py").write_text(text)


@as_root
def test_as_root_another_address_needs_the_flag(lab: Lab) -> None:
    refused = "nbautograd lab: as root this listens on 0.0.0.0, where other machines may reach it, only on request"
    status, said = lab.ended("--port=0", "--ip=0.0.0.0")
    assert status == 1 and refused in said and "Add --allow-root after the --" in said
    configured(lab, "c.ServerApp.ip = '0.0.0.0'")
    status, said = lab.ended("--port=0")
    assert status == 1 and refused in said
    with lab.serving("--port=0", "--allow-root"):
        assert "nbautograd lab:" not in lab.log


# -- ports -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def busy() -> Iterator[int]:
    """A port of this machine that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        yield held.getsockname()[1]


def test_of_a_busy_port_it_says_what_to_do(lab: Lab, busy: int) -> None:
    status, said = lab.ended(f"--port={busy}", "--port-retries=0", "--ip=127.0.0.1")
    assert status == 1 and f"port {busy} is in use. Name another, or 0 for any free one: " in said
    with lab.serving(f"--port={busy}", "--ip=127.0.0.1") as page:
        port = page.split(":")[2].split("/")[0]
        assert f"nbautograd lab: port {busy} is in use, so this is on port {port}; " in lab.log


def test_of_an_address_that_is_not_here_it_says_what_to_do(lab: Lab) -> None:
    status, said = lab.ended("--ip=192.0.2.1", "--port=0")  # kept for documentation, so no machine has it
    assert status == 1 and "192.0.2.1 is not an address of this machine. Name another, or none for localhost" in said


# -- browsers and homes ------------------------------------------------------------------------------------------------


def no_variable(lab: Lab) -> str:
    """Leave the system to find no browser, if it has none."""
    return "" if sys.platform in ("win32", "darwin") else "no browser was found"


def no_program(lab: Lab) -> str:
    lab.env["BROWSER"] = str(lab.folder / "no-such-browser")
    return "the browser did not start"


@pytest.mark.parametrize(("home", "without"), [("", no_variable), ("refused", no_program)])
def test_without_a_browser_and_with_a_home_that_takes_no_files(
    lab: Lab, home: str, without: Callable[[Lab], str]
) -> None:
    """Say what to open, and where Jupyter's own files are, if that is another place."""
    (lab.folder / "file").touch()
    lab.env |= {"HOME": home and str(lab.folder / "file" / "home"), "IPYTHONDIR": str(lab.folder / "ipython")}
    if home == "":  # then the system's list of users decides, which a test does not change
        lab.env |= {f"JUPYTER_{each}_DIR": str(lab.folder / each) for each in ("CONFIG", "DATA", "RUNTIME")}
    line = without(lab)
    if line:
        lab.arguments.remove("--no-browser")
    with lab.serving("--port=0") as page:
        assert ("cannot be written to: Jupyter's own files are in" in lab.log) == (home == "refused")
        if line:
            wait_until(lambda: line in lab.log)
            assert f"nbautograd lab: {line}. Open this address in " in lab.log and page in lab.log
    assert "Traceback" not in lab.log
    assert not list(lab.folder.glob("nbautograd-lab-*")) and not (lab.folder / "~").exists()


# -- folders -----------------------------------------------------------------------------------------------------------


@as_root
def test_a_folder_that_another_user_may_not_write_to(nobody: Lab) -> None:
    os.chown(nobody.folder, 0, 0)
    status, said = nobody.ended()
    assert status == 1 and "Permission denied; name another folder" in said
    assert [path.name for path in nobody.folder.iterdir()] == ["log"]


@as_root
def test_a_full_disk(lab: Lab) -> None:
    disk = lab.folder / "disk"
    disk.mkdir()
    mount = [shutil.which("mount") or "mount", "-t", "tmpfs", "-o", "size=200k", "none", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system mounts no tmpfs here")
    try:
        lab.arguments[0] = str(disk / "course")
        status, said = lab.ended()
        assert status == 1 and "No space left on device; free some space there, or name another folder" in said
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
