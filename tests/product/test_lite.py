"""The course as a site whose Python runs in the browser: it is built without a network, and opens in one."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.base import installing
from nbautograd.cli import lab, lite, main, wheels
from nbautograd.viz.notebook import scripts
from tests import needs
from tests.files_server import served
from tests.product import pyodide_folder
from tests.product.jupyterlab import READY, browse
from tests.shots import keep

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(path.relative_to(lab.course()).as_posix() for path in lab.course().rglob("[0-9a]*.ipynb"))


# -- wheels ------------------------------------------------------------------------------------------------------------


def installed(folder: Path, **files: str) -> Distribution:
    """A distribution ``example`` of these files."""
    info = folder / "example-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.2\n", encoding="utf-8")
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    lines = [*files, "example-1.2.dist-info/METADATA", "../../bin/example", "example/__pycache__/a.cpython-311.pyc"]
    (info / "RECORD").write_text("".join(f"{line},,\n" for line in lines), encoding="utf-8")
    return Distribution.at(info)


def test_a_wheel_holds_what_is_installed_and_its_record_is_right(tmp_path: Path) -> None:
    example = installed(tmp_path / "site", **{"example/__init__.py": "x = 1\n", "example/data.txt": "né"})
    wheel = wheels.repack(example, tmp_path)
    assert wheel.name == "example-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    assert content["example/data.txt"] == "né".encode()
    record = {
        path: (digest, size)
        for path, digest, size in csv.reader(io.StringIO(content[f"{wheel.name[:11]}.dist-info/RECORD"].decode()))
    }
    assert {*record} == {*content} and not any("bin" in name or "pycache" in name for name in content)
    for path, (digest, size) in record.items():
        if digest:
            assert digest == f"sha256={wheels._hash(content[path])}" and int(size) == len(content[path])
    first = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert hashlib.sha256(wheels.repack(example, tmp_path).read_bytes()).hexdigest() == first


def test_a_wheel_is_compressed_as_far_as_it_can_be(tmp_path: Path) -> None:
    text = Path(nb.errors.__file__).read_text(encoding="utf-8")
    wheel = wheels.repack(installed(tmp_path / "site", **{"example/errors.py": text}), tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        size = archive.getinfo("example/errors.py").compress_size
    best, usual = (zlib.compressobj(level, zlib.DEFLATED, -15) for level in (9, 6))
    sizes = [len(each.compress(text.encode()) + each.flush()) for each in (best, usual)]
    assert size == sizes[0] < sizes[1]


def test_compiled_modules_stay_out_where_python_stands_beside_them(tmp_path: Path) -> None:
    compiled = "example/fast.cpython-311-x86_64-linux-gnu.so"
    both = installed(tmp_path / "both", **{"example/fast.py": "", compiled: "", "abc__mypyc.cpython-311.so": ""})
    with zipfile.ZipFile(wheels.repack(both, tmp_path)) as archive:
        assert [name for name in archive.namelist() if "dist-info" not in name] == ["example/fast.py"]
    alone = installed(tmp_path / "alone", **{"example/__init__.py": "", compiled: ""})
    with pytest.raises(ValueError, match=re.escape(f"{compiled} is compiled, and fast.py is missing")):
        wheels.repack(alone, tmp_path)


def test_what_is_editable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="editable"):
        wheels.repack(installed(tmp_path / "site", **{"_example.pth": "/elsewhere"}), tmp_path)


def test_what_a_browser_does_not_use_stays_out(tmp_path: Path) -> None:
    unused = "linalg.pyi", "README.md", "course/gallery.ipynb", "course/zh/01_tensors.ipynb", "cli/lite.py"
    for name in ("__init__.py", "viz/player.js", "viz/nbval.py", *unused):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in wheels._own_files(tmp_path)] == ["__init__.py", "player.js"]


def test_the_closure_follows_requirements_but_not_those_that_are_there() -> None:
    pytest.importorskip("packaging")
    names = {wheels.normalized(each.metadata["Name"]) for each in wheels.closure(lite.PREINSTALLED, lite.NOT_PACKED)}
    assert {"anywidget", "graphviz", "ipywidgets", "comm", "psygnal", "jupyterlab-widgets"} <= names
    assert not names & {"ipython", "numpy", "traitlets", "widgetsnbextension", "jupyter-core", "watchfiles"}


UNPACKED = """
import sys
sys.path[:0] = [sys.argv[1]]
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell(sys.argv[2]).raise_error()
modules = [m for m in sys.modules.values() if getattr(m, "__file__", None) and m.__file__.startswith(sys.argv[1])]
assert {"nbautograd", "anywidget", "psygnal", "ipywidgets", "comm"} <= {m.__name__ for m in modules}
own = [m.__file__ for m in modules if m.__name__.partition(".")[0] == "nbautograd"]
assert not any(m.__file__.endswith(".so") for m in modules)
print(shell.user_ns["w"].grad)
"""


def test_the_wheels_are_enough_for_a_player(tmp_path: Path) -> None:
    needs.package("packaging")
    for each in wheels.closure(lite.PREINSTALLED, lite.NOT_PACKED):
        wheels.repack(each, tmp_path)
    own = wheels.repack_own(tmp_path)
    folder = tmp_path / "unpacked"
    for wheel in tmp_path.glob("*.whl"):
        shutil.unpack_archive(wheel, folder, "zip")
    assert not [*folder.rglob("*.so")] and not (folder / "nbautograd" / "course").exists()
    assert own.stat().st_size < 1_995_000
    (code,) = re.findall(r"```python\n(import nbautograd.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", UNPACKED, str(folder), code], cwd=tmp_path, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0 and done.stdout.endswith("tensor([5.])\n"), done.stdout[-2000:] + done.stderr[-2000:]


SHELL = """
import asyncio, json, sys, types
sys.path.insert(0, sys.argv[1])
pyodide_js = types.ModuleType("pyodide_js")
async def load_packages_from_imports(code):
    return []
pyodide_js.loadPackagesFromImports = load_packages_from_imports
sys.modules["pyodide_js"] = pyodide_js
import pyodide_kernel
kernel, published, sent, shown = pyodide_kernel.kernel_instance, [], [], []
kernel._parent_header = {"header": {"msg_id": "1"}, "metadata": {"cellId": "one"}}
shell = kernel.interpreter
shell.send_comm = lambda *message: sent.append(message)
for stream in (pyodide_kernel.stdout_stream, pyodide_kernel.stderr_stream):
    stream.publish_stream_callback = lambda *message: None
shell.display_pub.display_data_callback = lambda *message: shown.append(message[0])
shell.displayhook.publish_execution_result = lambda *message: published.append(sorted(message[1]))
async def main():
    for code in json.loads(sys.argv[2]):
        assert (await kernel.run(code))["status"] == "ok", code
asyncio.run(main())
print(json.dumps([published, [kind for kind, *_ in sent], shown]), file=sys.__stdout__)
"""


def test_players_open_in_the_shell_of_pyodides_kernel(tmp_path: Path) -> None:
    """The kernel's own Python, without its browser: its messages for a player and a score, and those of the widget."""
    needs.package("jupyterlite_core")
    static = lite.extension("jupyterlite-pyodide-kernel", lite.KERNEL) / "static" / "pypi"
    (kernel,) = static.glob("pyodide_kernel-*.whl")
    shutil.unpack_archive(kernel, tmp_path, "zip")
    first = "import nbautograd as torch\n%load_ext nbautograd"
    cells = [first, "x = torch.tensor(2.0, requires_grad=True)\ny = x * x\n%backward y", "y"]
    score = 'check("03.1", 6, 4)\nscore(file="score.json")'
    cells += [f"from nbautograd.exercises import check, score\n{score};"]
    done = subprocess.run(
        [sys.executable, "-c", SHELL, str(tmp_path), json.dumps(cells)], env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    published, sent, shown = json.loads(done.stdout.splitlines()[-1])
    own = ["application/vnd.jupyter.widget-view+json", "application/vnd.nbautograd.pass+json"]
    widget = [*own, "text/html", "text/plain"]
    html = "".join(data.get("text/html", "") for data in shown)
    (link,) = re.findall('<a download="score.json" href="data:application/json;base64,([^"]+)"', html)
    handed_in = json.loads((tmp_path / "score.json").read_text(encoding="utf-8"))
    assert json.loads(base64.b64decode(link)) == handed_in and handed_in["points"] == 1
    assert published == [widget, widget] and sent.count("comm_open") == 6  # each with its layout, and their script


# -- the site ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without Pyodide."""
    needs.package("jupyterlite_core")
    target = tmp_path_factory.mktemp("lite") / "site"
    lite.build(target)
    return target


def test_the_site_has_the_course_and_the_wheels(site: Path) -> None:
    nbformat = needs.package("nbformat")
    listed = [json.loads((site / "api" / "contents" / part / "all.json").read_text("utf-8")) for part in ("", "zh")]
    paths = [entry["path"] for listing in listed for entry in listing["content"] if entry["type"] == "notebook"]
    assert sorted(path for path in paths if path != "gallery.ipynb") == NOTEBOOKS and len(NOTEBOOKS) > 30
    for name in NOTEBOOKS:
        shown, stored = (nbformat.read(folder / name, 4) for folder in (site / "files", lab.course()))
        assert shown == stored  # nbformat joins lines
        raw = json.loads((site / "files" / name).read_text("utf-8"))
        assert not [
            out for cell in raw["cells"] for out in cell.get("outputs", ()) if isinstance(out.get("text"), list)
        ]
    settings = json.loads((site / "jupyter-lite.json").read_text("utf-8"))["jupyter-config-data"]
    kernel = settings["litePluginSettings"][f"{lite.KERNEL}:kernel"]
    packages = kernel["loadPyodideOptions"]["packages"]
    assert packages[:2] == ["numpy", "typing-extensions"]
    (worker, *_) = (site / "extensions" / lite.KERNEL / "static").glob("comlink.worker*.js")
    assert all((worker.parent / name).resolve().parent == site / "pypi" for name in packages[2:])
    assert {Path(name).name.partition("-")[0] for name in packages} >= {"nbautograd", "anywidget", "ipywidgets", "comm"}
    assert {each["name"] for each in settings["federated_extensions"]} == {*lite.EXTENSIONS.values(), "nbautograd"}
    assert "pyodideUrl" not in kernel and not kernel.get("disablePyPIFallback")
    index = json.loads((site / "pypi" / "all.json").read_text("utf-8"))
    assert "nbautograd" in index
    assert not [path.name for path in site.parent.iterdir() if path != site]  # no files are left beside it


def test_a_former_site_is_replaced_and_kept_where_that_fails(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(site, built := tmp_path / "built")  # instead of building the same again
    (site / "stale.txt").touch()

    def fail(source: Path, site: Path) -> None:
        raise ValueError("JupyterLite failed:\nno space")

    monkeypatch.setattr(lite, "prepare", lambda source, pyodide: source.mkdir())
    with monkeypatch.context() as patch:
        patch.setattr(lite, "_jupyterlite", fail)
        assert main(["lite", str(site)]) == 1
    assert capsys.readouterr().err == "nbautograd lite: JupyterLite failed:\nno space\n"
    assert (site / "stale.txt").exists() and [*site.parent.iterdir()] == [site]
    monkeypatch.setattr(lite, "_jupyterlite", lambda source, new: shutil.copytree(built, new))
    assert main(["lite", str(site)]) == 0
    assert not (site / "stale.txt").exists() and "lab/index.html?path=00_why.ipynb" in capsys.readouterr().out


def test_other_folders_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.tex").touch()
    assert main(["lite", str(tmp_path)]) == main(["lite", str(tmp_path / "thesis.tex")]) == 1
    assert capsys.readouterr().err.count("has other content, which is not overwritten") == 2


def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(name: str) -> Any:
        raise PackageNotFoundError(name)

    with monkeypatch.context() as patch:
        patch.setattr(lite, "distribution", absent)
        assert main(["lite", str(tmp_path / "site")]) == 1
    assert capsys.readouterr().err == (
        "nbautograd lite: not installed: jupyterlite-core, jupyterlite-pyodide-kernel, jupyter-server, packaging: "
        f"{installing.extra('lite')}\n"
    )
    needs.package("jupyterlite_core")
    (tmp_path / "pyodide").mkdir()
    assert main(["lite", str(tmp_path / "site"), "--pyodide", str(tmp_path / "pyodide")]) == 1
    assert "is not a Pyodide of version 314 or newer: it has no pyodide.mjs" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_what_a_pyodide_lacks_is_said_once(tmp_path: Path) -> None:
    def entry(file: str, *depends: str) -> dict[str, Any]:
        return {"file_name": file, "depends": [*depends]}

    packages = {name: entry(f"{name}.whl") for name in (*lite.STARTED_WITH, *lite.LATE)}
    packages["scipy"] = entry("scipy.whl", "numpy")
    packages["ipython"] = entry("ipython.whl", "prompt_toolkit")
    packages["prompt-toolkit"] = entry("prompt_toolkit.whl")
    (tmp_path / "pyodide-lock.json").write_text(json.dumps({"packages": packages}), encoding="utf-8")
    for each in packages.values():
        (tmp_path / each["file_name"]).touch()
    assert lite.lacking(tmp_path) == []
    (tmp_path / "numpy.whl").unlink()
    (tmp_path / "scipy.whl").unlink()
    (tmp_path / "prompt_toolkit.whl").unlink()
    assert lite.lacking(tmp_path) == [
        f"{tmp_path} has no numpy.whl, prompt_toolkit.whl: the course needs it",
        f"{tmp_path} has no scipy.whl: only what uses it will fail",
    ]


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a site with a Pyodide of its own, whose pages let tests ask JupyterLab, and yield its address."""
    needs.package("jupyterlite_core")
    target = tmp_path_factory.mktemp("lite") / "site"
    lite.build(target, pyodide_folder.folder())
    for path in (target / "jupyter-lite.json", *target.glob("*/jupyter-lite.json")):
        settings = json.loads(path.read_text("utf-8"))
        settings["jupyter-config-data"]["exposeAppInBrowser"] = True
        path.write_text(json.dumps(settings), encoding="utf-8")
    with served(target) as (found, _):
        yield found


LATE = """
import importlib.util, sys
from importlib.metadata import files
from pyodide.ffi import can_run_sync
(path,) = [f.locate() for f in files("nbautograd") if f.name == "late_packages.py"]
spec = importlib.util.spec_from_file_location("late_packages", path)
late_packages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(late_packages)
print("{0}" in sys.modules or importlib.util.find_spec("{0}") is not None)
print(can_run_sync())
print(late_packages.late("{0}.version").__name__ == "{0}.version")
"""
"""A program that loads SciPy on first use, with an installed package; without importing this one, as above."""

PLAYER = """
import anywidget, base64, graphviz, json, traitlets
state = json.loads(STATE)
state |= {name: base64.b64decode(state[name]) for name in ("packed", "data")}
body = {name: traitlets.Any().tag(sync=True) for name in state if not name.startswith("_")}
body["_esm"] = state.pop("_esm")
Player = type("Player", (anywidget.AnyWidget,), body)
player = Player(**state)
player
"""
"""A player of this package from its state, as a kernel without NumPy cannot import the package itself."""


def player_state() -> str:
    """Return a player's state for the browser, as JSON."""
    anywidget = needs.package("anywidget")
    w = nb.tensor([1.0], requires_grad=True)
    y = (w + 2) * (w + 1)
    widget = viz.animate(y, namespace={"w": w, "y": y}).widget
    packed, _ = scripts.packed("player", "en")
    state = widget.get_state() | {"shared": ""}
    state |= {name: base64.b64encode(its).decode("ascii") for name, its in (("packed", packed), ("data", widget.data))}
    own = {*type(widget).class_traits(sync=True)} - {*anywidget.AnyWidget.class_traits()}
    return json.dumps({name: state[name] for name in sorted(own | {"_esm"})})


RUN_CELL = """(source) => {
    const { commands, shell } = window.jupyterapp, { content } = shell.currentWidget;
    content.activeCellIndex = 2;
    content.activeCell.model.sharedModel.setSource(source);
    return commands.execute('notebook:run-cell').then(() => content.scrollToItem(2, 'start'));
}"""
RUN = """async (code) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel, lines = [];
    const future = kernel.requestExecute({ code });
    future.onIOPub = (message) => {
        const c = message.content;
        lines.push(c.text ?? c.evalue ?? c.data?.['text/plain'] ?? '');
    };
    await future.done;
    return lines.join('');
}"""


@pytest.mark.browser
@needs.chromium
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("app", "notebook"), [("lab", "01_tensors.ipynb"), ("notebooks", "zh/01_tensors.ipynb")])
def test_the_site_opens_and_its_kernel_starts(address: str, browser: Any, app: str, notebook: str) -> None:
    playwright = needs.package("playwright.sync_api")
    with browse(browser) as page:
        page.goto(f"{address}/{app}/index.html?path={notebook}")
        page.wait_for_function(READY, timeout=240_000)
        assert page.evaluate(RUN, "import sys; print(sys.platform, sys.maxsize)") == "emscripten 2147483647\n"
        installed = "from importlib.metadata import version\nfor n in {}: version(n)\nprint('installed')"
        names = ["nbautograd", "anywidget", "ipywidgets", "comm", "psygnal", "graphviz"]
        assert page.evaluate(RUN, installed.format(names)) == "installed\n"
        said = page.evaluate(RUN, "import nbautograd as torch\n%load_ext nbautograd")
        pyodide = pyodide_folder.folder()
        if any("numpy" in line for line in lite.lacking(pyodide)):
            assert "No module named 'numpy'" in said
        else:
            assert said == "" and page.evaluate(RUN, "print(torch.ones(2).sum())") == "tensor(2.)\n"
        keep(page, f"lite-{app}.png")
        late = LATE.format(pyodide_folder.NOT_STARTED_WITH)
        assert page.evaluate(RUN, late) == "False\nTrue\nTrue\n"  # not loaded, Python pausable, loaded
        page.evaluate(RUN_CELL, "import nbautograd as torch\n%load_ext nbautograd")
        page.wait_for_timeout(1000)
        keep(page, f"lite-{app}-ran.png")
        assert page.evaluate(RUN, f"STATE = {player_state()!r}") == ""
        page.evaluate(RUN_CELL, PLAYER)
        player = page.locator(".jp-Notebook .nb-player").first
        player.locator("svg").first.wait_for()
        before = player.inner_text()
        player.click()
        page.keyboard.press("End")
        playwright.expect(player).not_to_have_text(before, use_inner_text=True)
        playwright.expect(player).to_contain_text("grad")
        assert page.evaluate(RUN, "print(player.index > 0)") == "True\n"  # the browser has told the kernel
        keep(page, f"lite-{app}-player.png")
        if app == "lab":
            assert page.get_by_text(",tensor(").count() == 0  # lines of stored outputs
            page.get_by_text("02_graph.ipynb").first.wait_for()
            page.get_by_text("14_pytorch_mo").first.wait_for()
        assert page.blocked == [], "a page asked another host"
