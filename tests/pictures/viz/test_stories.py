"""Each operation has an element story: terms that give the sent gradient, a sentence why, and no helper's name."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core import tracing
from nbautograd.nn import functional as F
from nbautograd.viz.capture import chain_rule
from nbautograd.viz.capture.timeline import Timeline, in_view
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read import formulas
from nbautograd.viz.translations.player import STORIES
from tests import needs
from tests.engine.ops.cases import CASES, Case

from .gallery import PROGRAMS as GALLERY
from .player_pages import at_each_step, open_tab, unfold
from .test_local_derivatives import root_of
from .torch_programs import PROGRAMS as EITHER

Program = Callable[[], Any]


def attention() -> Any:
    X = nb.randn(4, 3)
    q, k, v = (X @ nb.randn(3, 3, requires_grad=True) for _ in range(3))
    scores = (q @ k.T / 3**0.5).masked_fill(nb.triu(nb.ones(4, 4), 1).bool(), float("-inf"))
    return ((F.softmax(scores, -1) @ v) ** 2).mean()


def classifier() -> Any:
    logits = nb.randn(5, 3) @ nb.randn(3, 3, requires_grad=True) + nb.zeros(3, requires_grad=True)
    return F.cross_entropy(logits, nb.tensor([0, 1, 2, 1, 0]))


def convolution() -> Any:
    net = nb.nn.Sequential(
        nb.nn.Conv2d(1, 2, 3), nb.nn.BatchNorm2d(2), nb.nn.ReLU(), nb.nn.MaxPool2d(2), nb.nn.Flatten(),
        nb.nn.Linear(8, 3),
    )  # fmt: skip
    return F.cross_entropy(net(nb.randn(2, 1, 6, 6)), nb.tensor([0, 2]))


def words() -> Any:
    table, W = nb.nn.Embedding(5, 3), nb.randn(3, 2, requires_grad=True)
    return (nb.nn.LayerNorm(3)(table(nb.tensor([1, 3, 3]))).mean(0) @ W).pow(2).sum()


def memory() -> Any:
    cell, x = nb.nn.LSTMCell(2, 3), nb.randn(1, 2)
    h, c = nb.zeros(1, 3), nb.zeros(1, 3)
    for _ in range(2):
        h, c = cell(x, (h, c))
    return h.sum()


def transformer() -> Any:
    layer = nb.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    return layer(nb.randn(1, 3, 4)).pow(2).mean()


def pieces() -> Any:
    x = nb.randn(2, 6, requires_grad=True)
    a, b, c = x.chunk(3, 1)
    y = nb.stack([a * b, c.exp()]).permute(1, 0, 2).expand(3, 2, 2, 2).tril()
    return (
        nb.cat([y.reshape(-1), x.repeat(2, 1).reshape(-1), x[[0, 0, 1]].reshape(-1)]).std()
        + x.gather(1, nb.tensor([[0, 0], [2, 1]])).pow(2).sum()
    )


def reductions() -> Any:
    x = nb.randn(3, 4, requires_grad=True)
    some = [
        x.max(1).values,
        x.cumsum(0)[2],
        x.cumprod(1)[:, 1],
        x.logsumexp(1),
        x.sort(1).values[0],
        x.topk(2).values[0],
    ]
    return nb.cat(some).pow(2).sum() + x.prod() + x.norm() + x.var() + nb.where(x > 0, x, x * 3).sum() + x.tril().mean()


def images() -> Any:
    x = nb.randn(1, 1, 4, 4, requires_grad=True)
    pooled = F.avg_pool2d(x, 2).pow(2).sum() + F.max_pool2d(x, 2, 1).pow(2).sum() + F.dropout(x, 0.5).pow(2).sum()
    padded = F.pad(x, (1, 1, 1, 1), mode="reflect").pow(2).sum() + F.pad(x, (1, 1)).pow(3).sum()
    return pooled + padded + F.interpolate(x, scale_factor=0.5, mode="bilinear").pow(2).sum()


OWN: dict[str, Program] = {
    made.__name__: made
    for made in (attention, classifier, convolution, words, memory, transformer, pieces, reductions, images)
}


def recorded(name: str, **options: Any) -> Recording:
    if name in GALLERY:
        return GALLERY[name]()
    nb.manual_seed(0)
    with tracing.traced():
        return viz.animate(OWN[name](), **options)


NAMES = [*OWN, *(name for name in GALLERY if name != "changed_in_place")]


@pytest.mark.parametrize("name", NAMES)
def test_an_element_of_every_step_is_written_out(name: str) -> None:
    timeline = recorded(name).timeline
    for frame in timeline.frames:
        node = timeline.scenes[frame.scene].by_id.get(frame.node)
        if frame.kind == "op" and node is not None and node.kind == "op" and node.formulas:
            assert frame.chain, frame.title
        for step in frame.chain:
            assert not step.told and step.element is not None, (frame.title, step.told)


def check_ends(timeline: Timeline, folded: bool) -> None:
    """The upstream gradient is the sum along its incoming edges, and its sent gradient that of its outgoing edge."""
    for frame in timeline.frames:
        shown = in_view(frame, timeline.scenes[frame.scene])
        assert not folded or shown is not frame
        for step in shown.chain:
            came = [frame.tiles[edge] for edge in frame.received if edge in frame.tiles]
            assert [step.upstream, *step.more] == came or not came, frame.title
            assert step.sent == shown.tiles.get(step.edge, -1), frame.title


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_the_numbers_of_a_step_are_those_of_its_edges(name: str, fold: bool) -> None:
    check_ends(recorded(name, fold=fold).timeline, fold)


def test_every_family_has_a_sentence_and_every_sentence_a_family() -> None:
    assert set(chain_rule.STORIES) == set(STORIES)


def test_the_pair_of_log_softmax_and_nll_is_told_as_one() -> None:
    steps = [step for frame in recorded("classifier").timeline.frames for step in frame.chain]
    assert [step.story for step in steps][:2] == ["story_nll", "story_cross_entropy"]
    alone = viz.animate(F.log_softmax(nb.randn(3, requires_grad=True), 0).sum()).timeline.frames
    assert [step.story for frame in alone for step in frame.chain][-1] == "story_log_softmax"


def test_of_large_tensors_the_first_terms_of_one_element_are_told() -> None:
    nb.manual_seed(0)
    x, w = nb.randn(2, 1, 16, 16), nb.randn(4, 1, 3, 3, requires_grad=True)
    with tracing.traced():
        steps = [step for frame in viz.animate(F.conv2d(x, w).sin().sum()).timeline.frames for step in frame.chain]
    rows = steps[-1].rows
    assert steps[-1].story == "story_convolution_weight" and rows is not None
    assert rows.only >= 0 and rows.count == -1 and len(rows.ups) == 9 and steps[-1].element is not None
    channel, row, column = rows.only // 9, rows.only % 9 // 3, rows.only % 3
    for up, factor in zip(rows.ups, rows.factors, strict=True):
        image, place = divmod(up, 4 * 14 * 14)
        assert place // (14 * 14) == channel
        met = x[image, 0, place % 196 // 14 + row, place % 14 + column].item()
        assert float(factor) == float(f"{met:.6g}")


@pytest.fixture
def torch() -> Any:
    return needs.package("torch")


def test_pytorchs_nodes_have_their_stories(torch: Any) -> None:
    torch.manual_seed(0)
    x, table = torch.randn(2, 3, requires_grad=True), torch.randn(5, 3, requires_grad=True)
    image = torch.randn(2, 2, 4, 4, requires_grad=True)
    functional, rows = torch.nn.functional, torch.tensor([1, 1, 2])
    made = {
        "nll": functional.cross_entropy(x, torch.tensor([0, 2])), "embedding": functional.embedding(rows, table),
        "norm": functional.layer_norm(x, (3,)), "winner_of_window": functional.max_pool2d(image, 2),
        "taken": table[rows], "part": x.split(2, 1)[0], "running_sum": x.cumsum(1), "softmax": x.softmax(1),
        "convolution": functional.conv2d(image, torch.ones(1, 2, 3, 3)), "spread": x.std(), "winner": x.max(1).values,
        "running_product": x.cumprod(1), "padded_copies": functional.pad(image, (1, 1, 0, 2), mode="reflect"),
        "places": functional.pixel_shuffle(torch.ones(1, 4, 2, 2, requires_grad=True), 2),
    }  # fmt: skip
    for story, root in made.items():
        seed = torch.cos(torch.arange(float(root.numel()))).reshape(root.shape)
        steps = [step for frame in viz.animate(root, seed).timeline.frames for step in frame.chain]
        assert steps[0].story == f"story_{story}"
        assert [step.told for step in steps if step.element is None] == []


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("program", EITHER, ids=lambda program: program.__name__)
def test_pytorchs_programs_write_out_their_elements(torch: Any, program: Callable[[Any], Any], watched: bool) -> None:
    with viz.watch() if watched else nullcontext():
        names = program(torch)
    y = names["y"]
    told = {step.told for frame in viz.animate(y, torch.ones_like(y)).timeline.frames for step in frame.chain}
    assert told <= ({"", "numbers_complex"} if program.__name__ == "complex_numbers" else {""})


_IMAGE, _VECTOR, _ROWS = (1, 2, 3, 3), (5,), (5, 3)
_PYTORCHS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "pad": (lambda F, x: F.pad(x, (1, 1, 0, 2)), (_IMAGE,)),
    "nearest": (lambda F, x: F.interpolate(x, scale_factor=2), (_IMAGE,)),
    "nearest-exact": (lambda F, x: F.interpolate(x, size=(5, 4), mode="nearest-exact"), (_IMAGE,)),
    "linear": (lambda F, x: F.interpolate(x, size=5, mode="linear"), ((1, 2, 3),)),
    "bilinear": (lambda F, x: F.interpolate(x, scale_factor=2, mode="bilinear"), (_IMAGE,)),
    "corners": (lambda F, x: F.interpolate(x, size=(4, 5), mode="bilinear", align_corners=True), (_IMAGE,)),
    "antialias": (lambda F, x: F.interpolate(x, size=(2, 2), mode="bilinear", antialias=True), (_IMAGE,)),
    "bicubic": (lambda F, x: F.interpolate(x, size=(5, 5), mode="bicubic"), (_IMAGE,)),
    "trilinear": (lambda F, x: F.interpolate(x, scale_factor=2, mode="trilinear"), ((1, 1, 2, 2, 2),)),
    "grid": (lambda F, x, at: F.grid_sample(x, at.tanh(), align_corners=False), (_IMAGE, (1, 2, 2, 2))),
    "affine": (lambda F, x: F.affine_grid(x, (1, 1, 2, 2), align_corners=False), ((1, 2, 3),)),
    "bag of means": (lambda F, w: F.embedding_bag(w.new_tensor([[1, 2], [4, 1]]).long(), w), (_ROWS,)),
    "bag of maxima": (lambda F, w: F.embedding_bag(w.new_tensor([[1, 2]]).long(), w, mode="max"), (_ROWS,)),
    "bag of sums": (
        lambda F, w, s: F.embedding_bag(w.new_tensor([[1, 2]]).long(), w, mode="sum", per_sample_weights=s),
        (_ROWS, (1, 2)),
    ),
    "transposed": (lambda F, x, w: F.conv_transpose2d(x, w, stride=2), (_IMAGE, (2, 3, 2, 2))),
    "evaluation": (lambda F, x: F.batch_norm(x, x.new_zeros(2), x.new_ones(2) * 2), (_IMAGE,)),
    "slopes": (lambda F, x: F.rrelu(x, training=True), (_VECTOR,)),
    "one slope": (lambda F, x: F.rrelu(x), (_VECTOR,)),
    "limits": (lambda F, x: F.hardtanh(x) + F.relu6(x) + F.threshold(x, 0.1, 2.0), (_VECTOR,)),
    "from the end": (lambda F, x: x.select(0, -1), (_VECTOR,)),
    "strided": (lambda F, x: x.as_strided((2, 2), (2, 1)), (_VECTOR,)),
    "largest": (lambda F, x: x.new_zeros(4).scatter_reduce(0, x.new_tensor([1] * 5).long(), x, "amax"), (_VECTOR,)),
    "written": (lambda F, x: x.new_zeros(9).index_put((x.new_tensor(range(5)).long(),), x), (_VECTOR,)),
    "unshuffled": (lambda F, x: F.pixel_unshuffle(x, 3), (_IMAGE,)),
    "joined": (lambda F, x: F.cosine_embedding_loss(x, x * 2, x.new_ones(5)), (_ROWS,)),
    "distances": (lambda F, x: F.triplet_margin_loss(x, x + 1, x * 2), (_ROWS,)),
    "singular values": (lambda F, x: x.svd()[1], (_ROWS,)),
    "lengths": (lambda F, x, y: F.torch.cdist(x, y), (_ROWS, (4, 3))),
    "lengths of many": (lambda F, x, y: F.torch.cdist(x, y), ((26, 2), (26, 2))),
    "sums of lengths": (lambda F, x, y: F.torch.cdist(x, y, p=1.0), (_ROWS, (4, 3))),
    "longest sides": (lambda F, x, y: F.torch.cdist(x, y, p=float("inf")), (_ROWS, (4, 3))),
    "batch of lengths": (lambda F, x, y: F.torch.cdist(x, y, p=3.0), ((2, 3, 2), (2, 2, 2))),
    "pairs": (lambda F, x: F.pdist(x), (_ROWS,)),
    "pairs of cubes": (lambda F, x: F.pdist(x, 3.0), (_ROWS,)),
    "two inputs": (lambda F, x, w, y: F.bilinear(x, y, w), ((2, 3), (2, 3, 2), (2, 2))),
    "length and direction": (lambda F, v, g: F.torch._weight_norm(v, g, 0), (_ROWS, (5, 1))),
    "of each column": (lambda F, v, g: F.torch._weight_norm(v, g, 1), (_ROWS, (1, 3))),
}
"""Operations of PyTorch's whose nodes keep other things than ours, or stand for several of ours."""


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("name", _PYTORCHS)
def test_pytorchs_nodes_that_keep_other_things_write_out_their_elements(torch: Any, name: str, watched: bool) -> None:
    torch.manual_seed(0)
    call, shapes = _PYTORCHS[name]
    leaves = [torch.randn(shape, requires_grad=True) for shape in shapes]
    with viz.watch() if watched else nullcontext():
        root = call(torch.nn.functional, *leaves)
    seed = torch.cos(torch.arange(float(root.numel()))).reshape(root.shape)
    frames = [frame for frame in viz.animate(root, seed).timeline.frames if frame.kind == "op"]
    assert frames and all(frame.chain for frame in frames)
    assert {step.told for frame in frames for step in frame.chain} == {""}


# -- names -------------------------------------------------------------------------------------------------------------


def called(source: str) -> set[str]:
    tree = ast.parse(source.strip(), mode="eval")
    return {part.func.id for part in ast.walk(tree) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}


def helpers() -> set[str]:
    """Return the functions in formulas that users cannot call."""
    public = (nb, F, nb.linalg, nb.special, nb.fft, nb.Tensor)
    declared = [source for op in OPS.values() for source in op.formulas.values()]
    declared += [source for op in OPS.values() if op.formulas for source in op.node("real").formulas.values()]
    names = set().union(*map(called, declared)) - {"range", "index"}  # indexing itself is written as index(x)
    return {name for name in names if not any(hasattr(place, name) for place in public)}


HELPER = re.compile(rf"(?<![.\w])({'|'.join(sorted(helpers(), key=len, reverse=True))})\(")


def test_helpers_are_known() -> None:
    assert {"gather_back", "reduced_shape", "select_back", "softmax_back", "norm_back"} <= helpers()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_formula_names_a_helper(case: Case) -> None:
    with tracing.traced():
        root = root_of(case)
    for node in viz.graph(root).model.nodes:
        for formula in node.formulas:
            local = formulas.plain(formula.local)
            assert not HELPER.search(formula.text) and not HELPER.search(local), (node.name, formula.text, local)


ELEMENT = "document.querySelector('.nb-equation-element')?.textContent"
TOLD = f"""() => {{
    const tabs = () => [...document.querySelectorAll(".nb-edge-tab")], elements = [];
    const text = document.querySelector(".nb-player").innerText;
    for (let tab = 0; tab < Math.max(tabs().length, 1); tab++) {{
        tabs()[tab]?.click();
        elements.push({ELEMENT} ?? null);
    }}
    return [text, elements];
}}"""
"""All that is written in a step, and the element that each of its tabs writes out."""


@pytest.mark.browser
@needs.chromium
def test_a_power_in_a_plain_script(open_page: Any) -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    page = open_page(viz.animate(x**2, nb.tensor([1.0, 10.0])))  # untraced
    page.locator(".nb-slider").fill("2")
    assert page.evaluate(ELEMENT) == "10 × 4 = 40"


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize(
    "name", ["attention", "classifier", "convolution", "words", "recurrent", "reductions", "pieces"]
)
def test_what_is_on_the_screen(open_page: Any, name: str) -> None:
    page = open_page(recorded(name), viewport={"width": 1600, "height": 800})
    unfold(page)
    open_tab(page, "step")
    summed = 0
    for text, elements in at_each_step(page, TOLD):
        assert text and HELPER.findall(text) == []
        summed += sum(map(check_element, elements))
    assert summed and page.troubles == []


@pytest.mark.browser
@needs.chromium
def test_the_local_derivatives_of_the_element_that_is_pointed_at(open_page: Any) -> None:
    page = open_page(recorded("attention"), viewport={"width": 1280, "height": 800})
    unfold(page)
    title = "document.querySelector('.nb-side .nb-title')?.textContent"
    for step in range(1, int(page.locator(".nb-slider").get_attribute("max")) + 1):
        page.locator(".nb-slider").fill(str(step))
        if page.evaluate(title) == "SoftmaxBackward0":
            break
    page.locator(".nb-is-sent rect").last.hover()
    place = page.locator(".nb-is-sent .nb-tile").bounding_box()
    for row in range(4):
        for column in range(4):
            page.locator(".nb-is-sent rect").nth(4 * row + column).hover()
            assert page.locator(".nb-is-sent .nb-tile").bounding_box() == place  # nothing moves under the pointer
            lit = page.locator(".nb-is-factor rect.nb-lit").evaluate_all("all => all.map(e => +e.dataset.cell)")
            assert {cell // 4 for cell in lit} <= {row} and bool(lit) == (0 < row >= column)  # the rest is masked
    assert page.troubles == []


def check_element(text: str | None) -> bool:
    """Return whether an element is written out with all its terms; they equal the sent gradient, but for their last
    digits.
    """
    if text is None or "…" in text or "=" not in text or "×" not in text:
        return False
    left, _, sent = text.replace("−", "-").rpartition(" = ")
    pairs = [tuple(map(number, term.strip("() ").split(" × "))) for term in re.split(r"(?<=\)) \+ ", left)]
    near = sum((abs(a) + 1) * digit(b) + (abs(b) + 1) * digit(a) for a, b in pairs) + digit(number(sent))
    assert abs(sum(a * b for a, b in pairs) - number(sent)) <= near, text
    return True


def number(text: str) -> float:
    return float(text)


def digit(value: float) -> float:
    """Half of the last digit of a number that is written with four decimals, or with five digits if it is small."""
    return 0.5e-4 * max(abs(value), 1.0) if abs(value) >= 1e-4 or value == 0 else 0.5e-4 * abs(value)
