"""The documentation is true: its examples run, its pictures are current, the built site requests nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import nbautograd
from tests import needs
from tests.shots import keep
from tests.waiting import wait_for_layout

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in [*DOCS.glob("*.md"), *DOCS.glob("guides/*.md"), *DOCS.glob("zh/*.md")]
)
FOLLOWED = re.compile("docs/first_")  # by tests/product/test_first_change.py
WITH_EXAMPLES = [
    page for page in PAGES if ">>> " in (ROOT / page).read_text(encoding="utf-8") and not FOLLOWED.match(page)
]

DOCTEST = """
import doctest, pathlib, re, sys, warnings
warnings.simplefilter("error")
path = pathlib.Path(sys.argv[1])
text = re.sub("^ *```.*", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)  # the end of a block ends output
runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
failed, tried = runner.run(doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0))
assert tried
sys.exit(bool(failed))
"""


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_examples_run(page: str, tmp_path: Path) -> None:
    """In a separate process, as one of them declares an operation."""
    command = [sys.executable, "-c", DOCTEST, str(ROOT / page)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
done = shell.run_cell(sys.argv[1])
done.raise_error()
assert type(done.result).__name__ == "Animation", done.result
print(shell.user_ns["w"].grad)
"""


def test_the_readmes_example_runs(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import nbautograd.*?)```", readme, re.DOTALL)
    env = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    command = [sys.executable, "-c", SHELL, code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0 and done.stdout.endswith("tensor([5.])\n"), done.stdout + done.stderr


QUICKSTART = """
import json, re, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shown = []
for cell in json.loads(sys.argv[1]):
    done = shell.run_cell(cell)
    done.raise_error()
    shown += [] if done.result is None else [re.sub("Posix|Windows", "", type(done.result).__name__)]
print(*shown, shell.user_ns["w"].grad, shell.user_ns["x"].grad)
"""


@pytest.mark.parametrize(
    ("page", "shown", "gradients"),
    [
        ("quickstart.md", "Tensor Animation Table Picture Path", "tensor([10.]) tensor([4.])"),
        ("zh/quickstart.md", "Animation", "tensor([5.]) tensor([2.])"),
    ],
)
def test_the_quickstart_runs(page: str, shown: str, gradients: str, tmp_path: Path) -> None:
    """Run the cells of the page in one shell, and compare their outputs."""
    text = (DOCS / page).read_text(encoding="utf-8")
    cells = re.findall(r"^```(?:\{code-cell\} ipython3|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    env = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", QUICKSTART, json.dumps(cells)],
        cwd=tmp_path, env=env, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.endswith(f"\n{shown} {gradients}\n"), done.stdout + done.stderr


def test_the_picture_of_the_layers_is_current() -> None:
    code = "import sys; sys.path.insert(0, 'docs'); import layers; sys.stdout.write(layers.drawn())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout == (DOCS / "layers.svg").read_text(encoding="utf-8"), "run python docs/layers.py"


LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)#:\s]+)(?:#[^)]*)?\)|(?:src|srcset)=\"([^\"]+)\"")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *PAGES])
def test_links_lead_somewhere(page: str) -> None:
    made = ("api/", "course/", "../api/", "../course/")  # during the build of the site
    text = re.sub(r"^```.*?^```$|`[^`]*`(?=[^`])", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    targets = ["".join(found) for found in LINK.findall(text)]
    missing = [t for t in targets if not t.startswith(made) and not ((ROOT / page).parent / t).exists()]
    assert missing == []


TEST = re.compile(r"`([\w/]*test_\w+\.py)?(?:::(test_\w+))?`")


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_a_page_names_exist(page: str) -> None:
    """A file below ``tests`` with or without that in front; ``::name`` alone is of the file named last."""
    file, missing = "", []
    for path, name in TEST.findall((ROOT / page).read_text(encoding="utf-8")):
        file = f"tests/{path.removeprefix('tests/')}" if path else file
        if name or path:
            there = (ROOT / file).is_file() and (not name or f"def {name}(" in (ROOT / file).read_text("utf-8"))
            missing += [] if there else [f"{file}::{name}"]
    assert missing == []


CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_library_is_built_in_300_lines_and_each_step_works() -> None:
    """The cells of the page run one after the other; each step asserts what it adds."""
    page = (DOCS / "house.md").read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in CELL.finditer(page):
        lines_above = page.count("\n", 0, cell.start(1))
        exec(compile("\n" * lines_above + cell[1], "docs/house.md", "exec"), namespace)
    code = [line for cell in CELL.findall(page) for line in cell.splitlines() if line.strip()]
    steps = re.split(r"^## ", page.partition("## Where is")[0], flags=re.MULTILINE)[1:]
    assert len(steps) == 7 and all("\nassert " in step and "\n*In the library:* " in step for step in steps)
    assert 200 < len(code) <= 300 and max(map(len, code)) <= 90  # the site's page is not wider
    for program in ("product", "layer", "harmless"):
        ours, theirs = namespace[program](namespace["house"]), namespace[program](nbautograd)
        assert [t.array.tolist() for t in ours] == [t.tolist() for t in theirs], program
    texts = [text.text for text in ElementTree.fromstring(namespace["picture"]).iter() if text.tag.endswith("text")]
    assert texts[:5] == ["[2.]", "[2.]", "[3.]", "[2.]", "[3.]"]  # the gradients on the edges
    assert texts[5:11] == ["w = [1.]", ".grad [5.]", "x = [2.]", ".grad [2.]", "a = [3.]", "+"]
    assert texts[11:] == ["b = [2.]", "+", "y = [6.]", "×"]


@pytest.mark.parametrize("page", ["architecture", "house"])
def test_the_files_that_a_page_names_are_there(page: str) -> None:
    """Paths in the package, and in the table of places the names that are said to be in them."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    paths = {found for found in re.findall(r"`([\w/]+(?:/|\.(?:py|pyi|js)))`", text) if not found.startswith("docs/")}
    folders = (ROOT / "nbautograd", ROOT)
    missing = {path for path in paths if not any((folder / path).exists() for folder in folders)}
    assert sorted(missing) == [] and len(paths) > 80
    if page == "house":
        table = text.partition("\n## Where is")[2]
        places = re.findall(r"`([\w/]+\.py)`(?:, `(\w+)`(?: and `(\w+)`)?)?", table)
        assert len(places) > 100
        for path, *names in places:
            source = next(folder / path for folder in folders if (folder / path).exists()).read_text(encoding="utf-8")
            assert [name for name in names if name and f"def {name}(" not in source] == [], path


def test_the_glossary_says_each_word_once_and_in_a_sentence() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([\w -]+) \| (.+) \| (`\S+`) \|$", text.partition("## Words")[2].partition("##")[0], re.MULTILINE
    )
    words = [word for word, _, _ in rows if word != "word"]
    assert len(words) == len({*words}) >= 40


def test_the_sessions_that_are_named_are_there() -> None:
    sessions = {
        *re.findall(r"^@nox\.session\ndef (\w+)", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"quick", "full", "bare", "cpu", "docs", "bench", "gpu"} <= sessions
    for path in ("CONTRIBUTING.md", ".ci/run", "docs/first_change.md", "docs/add_an_operation.md"):
        named = re.findall(r"nox -s ([\w ]*\w)", (ROOT / path).read_text(encoding="utf-8"))
        assert {name for names in named for name in names.split()} <= sessions, path


def test_the_commands_that_ci_runs_are_those_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    def printed(kind: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, ROOT / ".ci" / "readme_command", kind]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)

    for kind, part in (("main", "nbautograd lab"), ("test", "pytest")):
        command = printed(kind).stdout
        assert part in command and f"<!-- {kind} command -->\n```bash\n{command}```" in readme
    missing = printed("another")
    assert missing.returncode and missing.stdout == "" and "no another command" in missing.stderr


def test_the_hooks_run_what_is_there_and_ask_no_network() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    scripts = re.findall(r"entry: python (?:-m )?(\S+)", hooks)
    assert len(scripts) == hooks.count("- id:") >= 5 and hooks.count("language: system") == len(scripts)
    assert [script for script in scripts if "/" in script and not (ROOT / script).exists()] == []
    assert re.findall(r"repo: (\S+)", hooks) == ["local"]


def test_the_readmes_pictures_are_small_and_described() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for scheme in ("light", "dark"):
        path = DOCS / f"backward-{scheme}.webp"
        assert path.name in readme and path.stat().st_size < 1_500_000
    assert re.search(r'<img alt="[^"]{60,}"', readme)


def test_the_page_of_pictures_shows_and_describes_each() -> None:
    page = (DOCS / "picture.md").read_text(encoding="utf-8")
    stored = {path.name: path.stat().st_size for path in (DOCS / "pictures").iterdir()}
    made = re.findall(r'^    "(\w+)": Shot\(', (DOCS / "pictures.py").read_text(encoding="utf-8"), re.MULTILINE)
    shown = re.findall(r"!\[([^\]]{60,})\]\(pictures/(\w+)\.webp\)", page)
    assert sorted(name for _, name in shown) == sorted(made) and len(made) == page.count("\n## ") == 12
    assert set(stored) == {f"{name}.webp" for name in made} and sum(stored.values()) < 1_500_000
    assert "\npicture\n" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_glossary_explains_each_word_once_in_both_languages() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(\S.*) · (\S+)\n  (.+)\n\n  (.+)$", text, re.MULTILINE)
    assert len(entries) >= 60
    english, chinese = [entry[0] for entry in entries], [entry[1] for entry in entries]
    assert len({*english}) == len(entries) == len({*chinese})
    for word, translated, sentence, explained in entries:
        assert re.search("[一-鿿]", translated) and re.search("[一-鿿]", explained), word
        assert "](course/" in sentence and explained.endswith(("。", "）。")), word


def test_pages_for_readers_do_not_speak_to_maintainers() -> None:
    for page in PAGES:
        text = re.sub(r"<!--.*?-->", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
        assert "do not edit" not in text, page
    reference = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert re.findall(r"\b(?:cast_back|pad_like|sum_to|zeros_of|spread|\w+_back|mm_like)\b", reference) == []


TWO_PAGES = """
import runpy, sys
sys.modules["torch"] = None
globals().update(runpy.run_path({docs!r} + "/conf.py"))
extensions = ["myst_nb", "mathml", "course", "languages"]
exclude_patterns = ["course/[!1z]*", "course/1[!4]*", "course/zh/[!1]*", "course/zh/1[!4]*"]
html_theme, html_theme_options, html_static_path, html_css_files = "basic", {{}}, [], []
"""


@pytest.mark.sweep
def test_without_pytorch_its_notebook_is_shown_as_it_was_stored(tmp_path: Path) -> None:
    needs.package("myst_nb")
    pages = {"course/14_pytorch_models": "PyTorch was not installed", "course/zh/14_pytorch_models": "没有安装 PyTorch"}
    (tmp_path / "conf.py").write_text(TWO_PAGES.format(docs=str(DOCS)), encoding="utf-8")
    (tmp_path / "index.md").write_text("# Two pages\n\n```{toctree}\n" + "\n".join(pages) + "\n```\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", str(tmp_path), str(tmp_path / "site")],
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    assert {page.relative_to(site).with_suffix("").as_posix() for page in site.glob("course/**/*.html")} == {*pages}
    for name, said in pages.items():
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        notebook = (ROOT / name.replace("course", "notebooks")).with_suffix(".ipynb").read_text(encoding="utf-8")
        assert page.count('src="data:image/svg') == notebook.count('src=\\"data:image/svg') > 5
        assert said in page and ("已安装 PyTorch" if "zh" in name else "PyTorch is here") in page
        assert f'lang="{"zh-CN" if "zh" in name else "en"}"' in page


# -- the built site ----------------------------------------------------------------------------------------------------

SITE = Path(os.environ.get("NBAUTOGRAD_SITE", ROOT / "build" / "site"))
built = pytest.mark.skipif(not (SITE / "index.html").exists(), reason=needs.reason("the site"))
LOOKED_AT = ["index", "autograd", "course/03_backward", "api/nn.Linear", "reference"]


@built
@pytest.mark.browser
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_asks_no_other_host(browser: Any, name: str) -> None:
    page = browser.new_page()
    asked, troubles = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.goto((SITE / f"{name}.html").as_uri(), wait_until="networkidle")
    assert page.locator("h1").count() == 1
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    assert troubles == []
    page.close()


@built
@pytest.mark.browser
@pytest.mark.parametrize("name", ["index", "autograd", "zh/autograd", "course/03_backward", "course/zh/03_backward"])
def test_animations_play_without_a_kernel(browser: Any, name: str) -> None:
    from playwright.sync_api import expect

    page = browser.new_page(reduced_motion="reduce")
    page.goto((SITE / f"{name}.html").as_uri())
    page.locator("iframe").first.scroll_into_view_if_needed()
    frames = [inside for inside in page.frames if inside.parent_frame is not None]
    (playing, *_) = [inside for inside in frames if inside.locator(".nb-player .nb-slider").count()]
    widget = playing.locator(".nb-player").first
    widget.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert widget.get_attribute("data-step") == "2" and widget.locator(".nb-node.nb-active").count()
    page.keyboard.press("End")
    assert int(widget.get_attribute("data-step")) > 2
    page.keyboard.press("Home")
    assert widget.get_attribute("data-step") == "0"
    for width, scheme in ((400, "dark"), (1280, "light")):  # width of a telephone, and of a laptop
        page.set_viewport_size({"width": width, "height": 720})
        page.emulate_media(color_scheme=scheme)
        widget.scroll_into_view_if_needed()
        expect(widget).to_have_css("color-scheme", scheme)
        wait_for_layout(page)
        frame = playing.evaluate(
            "[document.documentElement.scrollWidth, innerWidth, document.body.scrollHeight, innerHeight]"
        )
        assert frame[0] <= frame[1] and frame[2] <= frame[3] + 1  # nothing is cut off, and nothing scrolls inside
        keep(page, f"site-{name.replace('/', '-')}-{width}-{scheme}.png")
    page.close()


@built
def test_no_page_names_a_path_of_the_machine_that_built_it() -> None:
    pages = [path for path in SITE.rglob("*.html") if "_modules" not in path.parts]
    named = [path for path in pages if str(ROOT) in path.read_text(encoding="utf-8")]
    assert [path.relative_to(SITE).as_posix() for path in named] == []
