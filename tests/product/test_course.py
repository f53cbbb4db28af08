"""Test the course: both languages have the same code, exercises are solved, and saved outputs are current."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shutil
import tokenize
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nbautograd.exercises import book_of
from tests import needs

from .jupyterlab import READY, RUN_ALL

FOLDER = Path(__file__).parents[2] / "notebooks"
NUMBERED = sorted(path.name for path in FOLDER.glob("[0-9]*.ipynb"))
NAMES = [*NUMBERED, *sorted(path.name for path in FOLDER.glob("appendix_*.ipynb"))]
WITHOUT_EXERCISES = {"00_why.ipynb", "appendix_derivations.ipynb", "appendix_tensors.ipynb"}
LARGEST = 1_500_000  # bytes
CHINESE = re.compile("[\u4e00-\u9fff]")
MACHINE = re.compile(r"/(root|work|home|Users|mnt|srv|private)/|/tmp/(?!ipykernel_)|site-packages|[A-Z]:\\\\")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
SKIPS = {"nbval-skip", "nbval-ignore-output"}
DRAWS = re.compile(r"^%(graph|backward|grads|zero_grads)\b", re.M)


def _refresh() -> Any:
    """The script beside the notebooks, as a module."""
    spec = importlib.util.spec_from_file_location("refresh", FOLDER / "refresh.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


needs.package("nbclient")
refresh = _refresh()
both = pytest.mark.parametrize("path", [folder + name for name in NAMES for folder in ("", "zh/")])
each = pytest.mark.parametrize("name", NAMES)


def read(path: str) -> dict[str, Any]:
    return json.loads((FOLDER / path).read_text(encoding="utf-8"))


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def code(path: str) -> list[dict[str, Any]]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def tags(cell: dict[str, Any]) -> set[str]:
    return set(cell["metadata"].get("tags", ()))


def text(cell: dict[str, Any]) -> str:
    """Return the output of a cell."""
    return "".join("".join(output.get("text", ())) for output in cell["outputs"])


def errors(cell: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for output in cell["outputs"] if output["output_type"] == "error"]


def red(path: str) -> int:
    """Return how many outputs JupyterLab shows in red: errors and warnings."""
    found = [output for cell in code(path) for output in cell["outputs"]]
    return sum(output["output_type"] == "error" or output.get("name") == "stderr" for output in found)


def pictures(path: str) -> int:
    """Return how many drawings are stored."""
    found = [output.get("data", {}).get("text/html", ()) for cell in code(path) for output in cell["outputs"]]
    return sum("".join(html).count('src="data:image/svg') for html in found)


def test_the_course_is_whole() -> None:
    numbers = [name.partition("_")[0] for name in NUMBERED]
    assert [each for each in numbers if each.isdecimal()] == [f"{number:02}" for number in range(16)]
    assert [each for each in numbers if not each.isdecimal()] == ["02b", "07b"]


@each
def test_both_languages_have_the_same_cells_and_code(name: str) -> None:
    words = refresh.words_of(name.removesuffix(".ipynb"))
    english, chinese = read(name)["cells"], read("zh/" + name)["cells"]
    assert [(cell["id"], cell["cell_type"]) for cell in english] == [
        (cell["id"], cell["cell_type"]) for cell in chinese
    ]
    for ours, theirs in zip(english, chinese, strict=True):
        if ours["cell_type"] == "markdown":
            assert not CHINESE.search(source(ours).replace("中文", "")), ours["id"]
            assert CHINESE.search(source(theirs)) or not re.search("[a-z]{3}", source(theirs)), theirs["id"]
            continue
        assert ours["metadata"] == theirs["metadata"], ours["id"]
        extra = refresh.CHINESE if ours["id"] == "setup" else ""
        assert source(theirs) == refresh.translated(source(ours), words) + extra, ours["id"]


@both
def test_it_was_run_from_top_to_bottom_and_nothing_of_this_machine_is_stored(path: str) -> None:
    notebook = read(path)
    assert (FOLDER / path).stat().st_size < LARGEST
    assert "widgets" not in notebook["metadata"]
    assert [cell["execution_count"] for cell in code(path)] == list(range(1, len(code(path)) + 1))
    for cell in code(path):
        assert not (tags(cell) & SKIPS) or cell["metadata"].get("reason"), f"{cell['id']} is ignored without a reason"
        assert bool(errors(cell)) == ("raises-exception" in tags(cell)), cell["id"]
        assert cell["outputs"] or not DRAWS.search(source(cell)), f"{cell['id']} shows nothing"
        for output in cell["outputs"]:
            assert not [mime for mime in output.get("data", ()) if "widget" in mime], cell["id"]
            said = json.dumps({key: output[key] for key in ("text", "traceback", "evalue") if key in output})
            said += "".join(output.get("data", {}).get("text/plain", ()))
            assert not MACHINE.search(said), f"{cell['id']}: {MACHINE.search(said)}"


@each
def test_exercises_have_a_place_and_a_check(name: str) -> None:
    everything = read(name)["cells"]
    cells = {cell["id"]: cell for cell in everything}
    numbers = [key.removeprefix("try-") for key in cells if key.startswith("try-")]
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert len(numbers) >= 2 or name in WITHOUT_EXERCISES
    for number in numbers:
        check, own = cells[f"check-{number}"], f"{book_of(name.removesuffix('.ipynb'))}.{number}"
        lines = source(check).removeprefix("if pytorch:\n").splitlines()
        assert [line.strip().partition(")")[0].partition(",")[0] for line in lines] == [
            f'check("{own}"', f'# answer("{own}"',
        ]  # fmt: skip
        assert "not tried yet" in text(check)
    assert not numbers or "exercises solved" in text(cells["score"])


@both
def test_the_score_stands_after_the_last_check(path: str) -> None:
    ids = [cell["id"] for cell in read(path)["cells"]]
    if "score" in ids:
        assert ids.index("score") > max(ids.index(cell) for cell in ids if cell.startswith("check-"))
    else:
        assert not any(cell.startswith("check-") for cell in ids)


NUMBERS = {"five": 5, "ten": 10, "twenty": 20, "thirty": 30, "forty": 40}


def minutes(cells: list[dict[str, Any]]) -> float:
    """Return the minutes of some cells: 200 words or 25 lines of code each, 6 an exercise, one a picture."""
    words = lines = exercises = drawn = 0
    for cell in cells:
        own = source(cell)
        if cell["cell_type"] == "markdown":
            words += len(re.findall(r"[\w']+", re.sub(r"<details>.*?</details>", "", own, flags=re.DOTALL)))
            exercises += own.count("### Exercise")
        elif not cell["id"].startswith(("check-", "answer-")):
            lines += sum(bool(line.strip()) for line in own.splitlines())
            drawn += bool(DRAWS.search(own) or re.search(r"viz\.(graph|animate|tangent|scatter|monitor|record)\b", own))
    return words / 200 + lines / 25 + 6 * exercises + drawn


@pytest.mark.parametrize("name", NUMBERED[:-1])
def test_a_notebook_takes_as_long_as_it_says(name: str) -> None:
    """The project, the last one, ends open: its hour is no sum."""
    said = re.search(r"(?:[Aa]bout|shows it in) ([a-z-]+) minutes", source(read(name)["cells"][0]))
    assert said, name
    claimed = sum(NUMBERS[word] for word in said[1].split("-"))
    measured = minutes(read(name)["cells"])
    assert abs(measured - claimed) <= 5, (name, measured)
    assert f"]({name})" in (table := (FOLDER / "README.md").read_text("utf-8"))
    assert re.search(rf"\({name}\).*\| {claimed} \|$", table, re.MULTILINE)


LEFT = {"fifteen": 15, "twenty": 20, "twenty-five": 25, "十五": 15, "二十": 20, "二十五": 25}


@both
def test_no_part_takes_more_than_thirty_minutes(path: str) -> None:
    """A longer notebook has one break, before a section, which says how much is left."""
    cells, english = read(path)["cells"], read(path.removeprefix("zh/"))["cells"]
    at = [place for place, cell in enumerate(cells) if cell["id"] == "break"]
    if path.removeprefix("zh/") in NUMBERED:
        parts = [english[: at[0]], english[at[0] :]] if at else [english]
        assert max(map(minutes, parts)) <= 30 and len(at) == (minutes(english) > 30)
    for place in at:
        assert source(cells[place + 1]).startswith("## ")
        (left,) = re.findall(r"about (\S+) minutes are left|还剩大约(\w+)分钟", source(cells[place]))
        assert abs(LEFT["".join(left)] - minutes(english[place:])) <= 5


@both
def test_a_prediction_stands_right_before_its_answer(path: str) -> None:
    cells = read(path)["cells"]
    for cell, following in pairwise(cells):
        asks = re.split(r"\*\*(?:Predict|先猜一猜)", source(cell)) if cell["cell_type"] == "markdown" else [""]
        if len(asks) > 1:
            assert following["cell_type"] == "code" and "\n#" not in asks[-1], cell["id"]


def forms(word: str) -> set[str]:
    """Return the forms of a glossary entry that a notebook may use."""
    word = word.lower()
    plain = re.sub(r" \(.*\)", "", word)
    first, _, last = plain.rpartition(" ")
    heads = {first} if last in ("tensor", "matrix", "node", "function", "gradients") else set()
    return {word, plain, plain.replace("-", " "), plain.replace(" ", "_"), *re.findall(r"\((.*?)\)", word), *heads}


def test_the_glossary_leads_to_notebooks_that_have_the_word() -> None:
    text = (FOLDER.parent / "docs" / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(\S.*) · (\S+)\n  (.+)\n\n  ", text, re.MULTILINE)
    books = {
        name: [" ".join(map(source, read(path)["cells"])).lower() for path in (name, f"zh/{name}")] for name in NAMES
    }
    for word, chinese, sentence in entries:
        for name in re.findall(r"\]\(course/(\w+\.ipynb)", sentence):
            english, translated = books.get(name, ["", ""])
            assert any(form in english for form in forms(word)) or chinese in translated, (word, name)
    assert len(entries) > 60


@pytest.mark.parametrize("name", [name.removesuffix(".ipynb") for name in NAMES])
def test_what_code_says_to_people_is_translated(name: str) -> None:
    english = "\n".join(source(cell) for cell in code(f"{name}.ipynb"))
    for words in refresh.words_of(name, everywhere=False):
        assert words in english, words
    for cell in code(f"zh/{name}.ipynb"):
        plain = "\n".join(line for line in source(cell).splitlines() if not line.startswith("%"))
        for token in tokenize.generate_tokens(io.StringIO(plain).readline):
            if token.type == tokenize.COMMENT and re.search("[a-z]{3,} [a-z]{2,} [a-z]", token.string):
                assert CHINESE.search(token.string), (cell["id"], token.string)


def anchors(path: Path) -> set[str]:
    """The headings of a notebook or of a page, as links name them."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        lines = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown").splitlines()
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
    return {line.lstrip("#").strip().replace("`", "").replace(" ", "-") for line in lines if re.match("#{1,6} ", line)}


def links(path: Path) -> list[str]:
    """Return where a notebook's text or a page leads to, inside the project."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        written = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    else:
        written = path.read_text(encoding="utf-8")
    return [link for link in LINK.findall(written) if "://" not in link and not link.startswith("attachment:")]


@pytest.mark.parametrize("path", ["README.md", *(folder + name for name in NAMES for folder in ("", "zh/"))])
def test_links_lead_to_files_and_headings(path: str) -> None:
    here = FOLDER / path
    for link in links(here):
        file, _, anchor = link.partition("#")
        target = (here.parent / file).resolve() if file else here
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_tables_name_every_notebook_topic_and_question() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        for folder in ("", "zh/"):
            title = source(read(folder + name)["cells"][0]).splitlines()[0].removeprefix("# ")
            number, _, words = title.partition(" · ")
            assert number in (name.partition("_")[0], "Appendix", "附录") and f"[{words}]({folder}{name})" in page
    topics, _ = (part.split("|---|")[-1] for part in page.split("\n## ")[1:])
    rows = [row for row in topics.splitlines() if row.startswith("| ")]
    assert len(rows) > 40 and all(".ipynb" in row for row in rows)


@pytest.mark.parametrize("page", ["faq.md", "zh/faq.md"])
def test_each_question_has_an_answer_and_leads_into_the_course(page: str) -> None:
    here = FOLDER.parent / "docs" / page
    text = here.read_text(encoding="utf-8")
    answers = re.split(r"^(?:### |\*\*)(\d+)\. ", text, flags=re.MULTILINE)[1:]
    assert [int(number) for number in answers[::2]] == list(range(1, 26))
    assert [answer[:40] for answer in answers[1::2] if len(answer) < 40] == []
    site = re.findall(r"\]\(((?:\.\./)?course/[^)]+)\)", text)
    assert len(site) > 25
    for link in site:
        file, _, anchor = link.removeprefix("../").partition("#")
        target = FOLDER / file.removeprefix("course/")
        assert target.exists() and (not anchor or anchor in anchors(target)), link


# -- in JupyterLab -----------------------------------------------------------------------

OPEN = "path => { window.jupyterapp.commands.execute('docmanager:open', { path }); }"
LOOK = """async (node) => {
    const images = [...node.querySelectorAll('.jp-OutputArea-output img')];
    await Promise.all(images.map((image) => image.decode()));
    const colors = images.map((image) => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [200, 200];
        const context = canvas.getContext('2d');
        context.drawImage(image, 0, 0, 200, 200);
        return new Set(new Uint32Array(context.getImageData(0, 0, 200, 200).data.buffer)).size;
    });
    const red = node.querySelectorAll("[data-mime-type='application/vnd.jupyter.stderr']").length;
    return { colors, red, text: node.textContent };
}"""
"""The number of colors of each picture, the number of red outputs, and all text."""


def outputs(path: str) -> dict[str, Any]:
    """Return a cell that has all outputs of a notebook; those of each of its cells begin with the cell's name."""
    every: list[Any] = []
    for cell in code(path):
        name = {"output_type": "display_data", "data": {"text/plain": cell["id"]}, "metadata": {}}
        every += [name, *cell["outputs"]]  # without, streams of two cells become one
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "source": "", "outputs": every}


@pytest.fixture(scope="module")
def lab(browser: Any, request: pytest.FixtureRequest) -> Any:
    """JupyterLab with the course: what is saved of all its notebooks as one without a kernel; and those to be run."""
    needs.package("jupyterlab")
    jupyterlab = request.getfixturevalue("jupyterlab")
    root = jupyterlab.folder("course")
    shutil.copytree(FOLDER, root / "notebooks", ignore=shutil.ignore_patterns("zh", "*.py", ".*"))
    saved = {"cells": [outputs(name) for name in NAMES], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (root / "saved.ipynb").write_text(json.dumps(saved), encoding="utf-8")
    with jupyterlab.page() as page:
        yield page


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_saved_notebooks_show_their_pictures_and_no_stray_error(lab: Any) -> None:
    lab.evaluate(OPEN, "course/saved.ipynb")
    lab.locator(".jp-Dialog .jp-mod-reject").click(timeout=120_000)  # which kernel? none
    for place, name in enumerate(NAMES):
        seen = lab.locator(".jp-Cell").nth(place).evaluate(LOOK)
        assert code(name)[-1]["id"] in seen["text"], name  # all of it is shown
        assert seen["red"] == red(name), name
        assert "Error displaying widget" not in seen["text"], name
        # one color is a failed drawing; a tile of equal numbers has few
        assert len(seen["colors"]) >= pictures(name) > 0 and min(seen["colors"]) > 1, (name, seen["colors"])
    assert not lab.blocked and not lab.errors


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_third_notebook_runs_and_plays(lab: Any) -> None:
    (name,) = (name for name in NAMES if name.startswith("03"))
    lab.evaluate(OPEN, f"course/notebooks/{name}")
    lab.wait_for_function(READY, timeout=120_000)
    lab.evaluate(RUN_ALL)
    lab.wait_for_function("window.__ran", timeout=120_000)
    assert lab.evaluate("window.__ran") == "ok"
    shown = lab.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    player = shown.locator(".nb-player:has(.nb-slider)").first
    player.wait_for(timeout=60_000)
    player.get_by_role("button", name="Step forward").click()
    lab.wait_for_function("document.querySelector('.nb-player:has(.nb-slider)').dataset.step === '1'")
    assert shown.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == red(name)
    assert not lab.errors and not lab.blocked
