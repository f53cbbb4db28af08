"""Programs called ``dot`` that hang, fail, print nonsense or cannot be started."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.draw import graphviz_dot
from tests.waiting import wait_until

GOOD = '#!/bin/sh\ncat > /dev/null\necho \'<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt"/>\'\n'


def install(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "dot").write_text(script, encoding="utf-8")
    (folder / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def draw() -> str:
    x = nb.ones(1, requires_grad=True)
    return viz.graph(x * 2, namespace={"x": x}, engine="dot").svg


def is_gone(pid: int) -> bool:
    """Return whether a process has ended; its entry may be left."""
    try:
        os.kill(pid, 0)
        return "zombie" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (ProcessLookupError, FileNotFoundError):
        return True


def ends(pid: int) -> bool:
    """Return whether a process ends: signals take their time."""
    return wait_until(lambda: is_gone(pid))


def wait_for(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text(encoding="utf-8").strip() != "")
    return int(path.read_text(encoding="utf-8"))


def runs(function: str) -> bool:
    """Return whether the main thread is in a function of this name."""
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame is not None


def test_a_path_with_spaces_and_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "a b $(touch x); 'c'", GOOD, monkeypatch)
    assert draw().startswith("<svg")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\necho nonsense\n", "no SVG"),
        ("#!/bin/sh\n", "no SVG"),
        ("#!/bin/sh\nprintf '\\000\\377<svg>'\n", "no SVG"),
        ("#!/bin/sh\necho 'this \x1b[31mfails' >&2\nexit 3\n", "Graphviz failed: this .31mfails"),
        ("#!/bin/sh\nkill -9 $$\n", "Graphviz failed"),
        ("no program at all", "cannot be started"),
        ("#!/no/such/shell\n", "cannot be started"),
    ],
    ids=["garbage", "nothing", "binary", "fails", "killed", "no program", "no interpreter"],
)
def test_broken_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str) -> None:
    install(tmp_path / "bin", script, monkeypatch)
    with pytest.raises(RuntimeError, match=message):
        draw()


HOSTILE = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="a()">
<script>a()</script><style>@import url(//evil.test)</style><!-- a -->
<a xlink:href="javascript:a()"><text>link</text></a><image href="http://evil.test/x.png"/>
<g style="background:url(http://evil.test)" onclick="a()"><path d="M0 0" fill="url(http://evil.test)" stroke="red"/>
<foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="a()"/></foreignObject></g></svg>"""


def test_what_dot_adds_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not drawing: scripts, links, styles, pictures, comments, addresses."""
    (tmp_path / "answer").write_text(HOSTILE, encoding="utf-8")
    install(tmp_path / "bin", f"#!/bin/sh\ncat '{tmp_path}/answer'\n", monkeypatch)
    svg = draw()
    assert "<path" in svg and 'stroke="red"' in svg
    for word in ("script", "evil", "on", "href", "style", "image", "foreign", "<!--", "link"):
        assert word not in svg.replace('xmlns="http://www.w3.org/2000/svg"', ""), word


HANGS = "#!/bin/sh\nsleep 600 &\necho $! > '{0}/child'\necho $$ > '{0}/pid'\nwait\n"


@pytest.mark.sweep
def test_a_program_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended after its time, with the programs that it has started."""
    install(tmp_path / "bin", HANGS.format(tmp_path), monkeypatch)
    for seconds in (1, 10, 60):  # until it has begun within its time: a busy machine may take long to start it
        monkeypatch.setattr(graphviz_dot, "MAX_DOT_SECONDS", seconds)
        with pytest.raises(RuntimeError, match=f"longer than {seconds} s"):
            draw()
        if (tmp_path / "pid").exists():
            break
    assert ends(wait_for(tmp_path / "pid")) and ends(wait_for(tmp_path / "child"))


def test_an_interrupt_while_a_program_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's interrupt also ends the program."""
    install(tmp_path / "bin", HANGS.format(tmp_path), monkeypatch)
    monkeypatch.setattr(graphviz_dot, "MAX_DOT_SECONDS", 60)  # a busy machine may start it slowly

    def interrupt() -> None:
        wait_for(tmp_path / "pid")
        wait_until(lambda: runs("communicate"))  # an interrupt just while it is being started is not caught
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            draw()
    finally:
        thread.join()
    assert ends(wait_for(tmp_path / "pid")) and ends(wait_for(tmp_path / "child"))
