"""The command ``nbautograd`` as a user runs it: with a JupyterLab that notes how it is called, and with a real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from nbautograd.cli import doctor
from nbautograd.cli.lab import copy, course, first
from tests import needs

FAKE = """
import json, os, sys

from tests import needs
def main(argv):
    with open(os.environ["CALLED"], "w") as file:
        json.dump(argv, file)
"""
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run the command with a stand-in for JupyterLab, in an empty folder; the result also says how that was called."""
    (tmp_path / "fake" / "jupyterlab").mkdir(parents=True)
    (tmp_path / "fake" / "jupyterlab" / "__init__.py").touch()
    (tmp_path / "fake" / "jupyterlab" / "labapp.py").write_text(FAKE)
    (tmp_path / "here").mkdir()
    called = tmp_path / "called.json"

    def run_(*arguments: str) -> Any:
        called.unlink(missing_ok=True)
        done: Any = subprocess.run(
            [sys.executable, "-m", "nbautograd", *arguments],
            cwd=tmp_path / "here", capture_output=True, text=True, check=False, encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(tmp_path / "fake"), "CALLED": str(called), "PYTHONUTF8": "1"},
        )  # fmt: skip
        done.called = json.loads(called.read_text()) if called.exists() else None
        return done

    return run_


def notebooks(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.ipynb"))


def test_lab_copies_the_course_and_opens_its_first_notebook(run: Any, tmp_path: Path) -> None:
    done = run("lab")
    folder = tmp_path / "here" / "nbautograd-course"
    assert (done.returncode, done.stderr) == (0, "")
    start = first(course(), "en").name
    assert done.called == [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{start}"]
    assert notebooks(folder) == [name for name in notebooks(course()) if ".ipynb_checkpoints" not in name]
    assert (folder / start).read_bytes() == (course() / start).read_bytes()
    assert str(folder / start) in done.stdout and f"{len(notebooks(folder))} notebooks are new" in done.stdout


def test_lab_keeps_and_names_what_the_reader_changed(run: Any, tmp_path: Path) -> None:
    run("lab", "mine")
    changed, gone = tmp_path / "here/mine/gallery.ipynb", first(tmp_path / "here/mine", "en")
    changed.write_text("my own work")
    gone.unlink()
    done = run("lab", "mine")
    assert changed.read_text() == "my own work" and str(changed) in done.stdout
    assert gone.exists() and str(gone) not in done.stdout.partition("JupyterLab opens")[0]
    assert "1 notebook is new" in done.stdout


def test_lab_hands_options_on(run: Any, tmp_path: Path) -> None:
    done = run("lab", "a folder", "--language", "zh", "--no-browser", "--", "--port=9999", "--allow-root")
    assert done.called[1:] == [
        f"--LabApp.default_url=/lab/tree/zh/{first(course(), 'zh').name}",
        "--no-browser",
        "--port=9999",
        "--allow-root",
    ]
    assert done.called[0].endswith("a folder") and (tmp_path / "here" / "a folder").is_dir()


def test_lab_says_what_is_in_the_way(run: Any, tmp_path: Path) -> None:
    (tmp_path / "here" / "taken").write_text("a file")
    done = run("lab", "taken")
    assert (done.returncode, done.called) == (1, None)
    assert "cannot write the course to" in done.stderr and "taken" in done.stderr
    assert (tmp_path / "here" / "taken").read_text() == "a file"


def test_lab_without_jupyterlab_says_how_to_get_it(run: Any, tmp_path: Path) -> None:
    (tmp_path / "fake/jupyterlab/labapp.py").unlink()
    done = run("lab")
    assert done.returncode == 1 and "pip install 'nbautograd[lab]'" in done.stderr
    assert notebooks(tmp_path / "here" / "nbautograd-course")


@pytest.mark.parametrize("arguments", [(), ("laboratory",), ("lab", "--language", "fr"), ("doctor", "--", "--port=1")])
def test_wrong_arguments_end_with_usage(run: Any, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and "usage: nbautograd" in done.stderr and "Traceback" not in done.stderr


def test_an_interrupted_copy_leaves_no_half_of_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(content: Any, file: Any) -> None:
        file.write(content.read(1))
        raise OSError(28, "No space left on device")

    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "01.ipynb").write_text("{}")
    with monkeypatch.context() as patch:
        patch.setattr("nbautograd.cli.lab.shutil.copyfileobj", full)
        with pytest.raises(OSError, match="No space left"):
            copy(tmp_path / "course", tmp_path / "copied")
    assert list((tmp_path / "copied").iterdir()) == []
    assert [path.name for path in copy(tmp_path / "course", tmp_path / "copied")[0]] == ["01.ipynb"]


# -- doctor ------------------------------------------------------------------------------------------------------------


def test_doctor_reports(run: Any) -> None:
    done = run("doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert found["NumPy"]["state"] == "works" and found["NumPy"]["detail"] == version("numpy")
    assert found["JupyterLab"]["detail"] and found["nbautograd"]["state"] == "works"
    for each in found.values():
        assert each["state"] in doctor.MARKS and each["detail"] and each["gives"]
        assert each["state"] == "works" or each["get"]


def test_doctor_outlives_what_hangs_and_what_crashes() -> None:
    hanging = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert doctor.program("driver", hanging, "", "", deadline=0.5).detail == "no answer in 0.5 seconds"
    crashing = [sys.executable, "-c", "import os, signal; os.abort()"]
    assert doctor.program("driver", crashing, "", "").state == "broken"
    assert "nowhere" in doctor.program("driver", ["/nowhere/at/all"], "", "").detail


# -- a real JupyterLab -------------------------------------------------------------------------------------------------


def test_a_real_jupyterlab_serves_the_course(tmp_path: Path) -> None:
    needs.package("jupyterlab")
    (tmp_path / "run").mkdir()
    names = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    env = {**os.environ, **{name: str(tmp_path / name) for name in names}, "JUPYTER_RUNTIME_DIR": str(tmp_path / "run")}
    command = [sys.executable, "-m", "nbautograd", "lab", "course", "--no-browser"]
    options = ["--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", "--allow-root", "--LabApp.news_url=None"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([*command, "--", *options], env=env, stdout=log, stderr=log, cwd=tmp_path)
        try:
            found = answer(server, tmp_path)
        finally:
            server.terminate()
            server.wait(30)
    served = {each["path"] for each in found["content"]}
    assert {path.name for path in course().glob("*.ipynb")} <= served
    assert f"/lab/tree/{first(course(), 'en').name}" in (tmp_path / "log").read_text(encoding="utf-8")


def answer(server: subprocess.Popen[bytes], home: Path) -> Any:
    """What the server says is in its folder, once it answers."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert server.poll() is None, (home / "log").read_text(encoding="utf-8")
        for path in (home / "run").glob("jpserver-*.json"):
            try:
                found = json.loads(path.read_text(encoding="utf-8"))
                headers = {"Authorization": f"token {found['token']}"}
                request = urllib.request.Request(found["url"] + "api/contents", headers=headers)
                with urllib.request.urlopen(request, timeout=5) as reply:
                    return json.load(reply)
            except (OSError, ValueError):
                pass
        time.sleep(0.2)
    raise AssertionError("JupyterLab did not start:\n" + (home / "log").read_text(encoding="utf-8"))
