"""The command ``nbautograd`` as a user runs it: with a JupyterLab that notes how it is called."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from nbautograd.cli import doctor, lab
from nbautograd.cli.lab import course, first

FAKE = {
    "jupyterlab/labapp.py": """
import json, os
class LabApp:
    @staticmethod
    def launch_instance(argv):
        with open(os.environ["CALLED"], "w") as file:
            json.dump(argv, file)
""",
    "jupyter_server/serverapp.py": "class ServerApp: pass",
    "jupyter_core/paths.py": """
import os
def jupyter_config_dir():
    return os.path.dirname(os.environ["CALLED"])
jupyter_data_dir = jupyter_runtime_dir = jupyter_config_dir
def jupyter_path():
    return []
""",
}
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run the command with a stand-in for JupyterLab, in an empty folder; return its arguments as well."""
    for name, code in FAKE.items():
        module = tmp_path / "fake" / name
        module.parent.mkdir(parents=True)
        module.with_name("__init__.py").touch()
        module.write_text(code)
    (tmp_path / "here").mkdir()
    called = tmp_path / "called.json"
    path = [str(tmp_path / "fake"), *filter(None, [os.environ.get("PYTHONPATH")])]

    def run_(*arguments: str) -> Any:
        called.unlink(missing_ok=True)
        done: Any = subprocess.run(
            [sys.executable, "-m", "nbautograd", *arguments],
            cwd=tmp_path / "here", capture_output=True, text=True, check=False, encoding="utf-8",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "CALLED": str(called), "PYTHONUTF8": "1",
                 "IPYTHONDIR": str(tmp_path)},
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
    for folder in ("taken", "taken/below/it"):
        done = run("lab", folder)
        assert (done.returncode, done.called, done.stdout) == (1, None, "")
        assert f"{tmp_path / 'here' / 'taken'} is a file; name another folder" in done.stderr
    assert (tmp_path / "here" / "taken").read_text() == "a file"


@pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 0)() == 0, reason="root, and Windows, may write to a read-only folder"
)
def test_lab_says_that_a_folder_is_read_only(run: Any, tmp_path: Path) -> None:
    (tmp_path / "here").chmod(0o555)
    done = run("lab", "course")
    assert (done.returncode, done.called) == (1, None)
    assert "Permission denied; name another folder" in done.stderr


def test_lab_without_jupyterlab_says_how_to_get_it(run: Any, tmp_path: Path) -> None:
    (tmp_path / "fake/jupyterlab/labapp.py").unlink()
    done = run("lab")
    assert done.returncode == 1 and re.search(r"pip install -e .*\[lab\]'", done.stderr)
    assert notebooks(tmp_path / "here" / "nbautograd-course")


@pytest.mark.parametrize("arguments", [(), ("laboratory",), ("lab", "--language", "fr"), ("doctor", "--", "--port=1")])
def test_wrong_arguments_end_with_usage(run: Any, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and "usage: nbautograd" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (errno.ENOSPC, "No space left on device; free some space there, or name another folder: nbautograd lab FOLDER"),
        (errno.EROFS, "Read-only file system; name another folder: nbautograd lab FOLDER"),
    ],
    ids=["full", "read-only"],
)
def test_a_copy_that_fails_leaves_nothing(
    problem: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk takes two notebooks and half of the third, and says so when the file is closed."""
    target, open_ = tmp_path / "a" / "b", Path.open
    mine = tmp_path / "mine.txt"
    mine.write_text("kept")
    opened = []

    class Full(io.BytesIO):
        def __init__(self, place: Path) -> None:
            super().__init__()
            self.place = place

        def close(self) -> None:
            if not self.closed:
                content = self.getvalue()
                super().close()
                self.place.write_bytes(content[: len(content) // 2])
                raise OSError(problem, os.strerror(problem))

    def open_until_full(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if mode == "xb":
            opened.append(path)
            return Full(path) if len(opened) == 3 else open_(path, mode, *rest, **more)
        return open_(path, mode, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_until_full)
        assert lab.run(target, "en", False, []) == 1
    assert len(opened) == 3 and list(tmp_path.iterdir()) == [mine]
    assert capsys.readouterr().err == f"nbautograd lab: cannot write the course to {target}: {said}\n"
    assert len(lab.copy(lab.course(), target)[0]) == len(notebooks(target)) > 3


# -- doctor ------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
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


# -- nbautograd course -------------------------------------------------------------------


def cells_of(notebook: Path) -> dict[str, dict[str, Any]]:
    return {cell["id"]: cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]}


@pytest.mark.parametrize("answers", ["asked", "none", "solved"])
def test_the_course_for_a_class(run: Any, tmp_path: Path, answers: str) -> None:
    done = run("course", "class", "--answers", answers)
    assert done.returncode == 0 and f"answers: {answers}" in done.stdout
    names = {path.name for path in course().glob("*.ipynb")}
    folder = tmp_path / "here" / "class"
    assert {path.name for path in folder.iterdir()} == names
    for name in names:
        whole, written = cells_of(course() / name), cells_of(folder / name)
        order = [key for key in written if key.split("-")[0] in ("try", "check", "answer")]
        if answers == "asked":
            assert written == whole
        if answers == "none":
            assert [*written] == [*whole] and "# answer(" not in json.dumps(written)
        if answers == "solved":
            for check in (key for key in order if re.fullmatch(r"check-\d+", key)):
                assert order[order.index(check) - 1] == check.replace("check", "answer")
            assert all(not cell.get("outputs") for cell in written.values())


def test_the_chinese_course_for_a_class(run: Any, tmp_path: Path) -> None:
    assert run("course", "class", "--language", "zh").returncode == 0
    for path in (tmp_path / "here" / "class").iterdir():
        assert path.read_bytes() and "中文" in path.read_text(encoding="utf-8")


def test_a_class_room_is_not_overwritten(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "here" / "class"
    folder.mkdir()
    (folder / "03_backward.ipynb").write_text("mine")
    done = run("course", "class")
    assert done.returncode == 1 and "03_backward.ipynb already exists. Name another folder" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["03_backward.ipynb"]


def test_a_class_room_that_cannot_be_made(run: Any, tmp_path: Path) -> None:
    (tmp_path / "here" / "class").write_text("a file")
    done = run("course", "class")
    assert done.returncode == 1 and "cannot write the course to" in done.stderr
