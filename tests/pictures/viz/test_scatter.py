"""Test points by class and the regions of a model: the drawing shows the model's results at the kept steps."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import nbautograd as torch
from nbautograd import nn, optim, viz
from nbautograd.viz.notebook.scatter import GRID_CELLS, MAX_KEPT_STATES
from tests import oracle

POINTS = [[-1.0, 0.0], [-0.5, 1.0], [0.5, -1.0], [1.0, 0.5]]


def left_or_right(points: Any) -> Any:
    return points[:, 0]


def circle(hidden: int = 8) -> Any:
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Dropout(0.5), nn.Linear(hidden, 1))


def drawing(picture: Any) -> str:
    assert ElementTree.fromstring(picture.svg).tag.endswith("svg")
    return str(picture.svg)


def test_a_region_is_what_the_model_says_and_a_wrong_point_has_a_ring() -> None:
    picture = viz.scatter(torch.tensor(POINTS), torch.tensor([0, 0, 1, 0]), left_or_right, classes=("left", "right"))
    (state,) = picture.states
    assert (state.regions[:, : GRID_CELLS // 2] == 0).all() and (state.regions[:, GRID_CELLS // 2 :] == 1).all()
    assert (
        state.wrong.tolist() == [False, False, False, True]
        and repr(picture) == "4 points: 3 of left, 1 of right\n1 wrong"
    )
    svg = drawing(picture)
    rings = re.findall(r'<path d="([^"]*)" fill="none" stroke="#b3123f"', svg)
    assert len(rings) == 1 and rings[0].count("M") == 1
    areas = re.findall(r'<path d="([^"]*)" fill="(#\w+)" fill-opacity', svg)
    half = GRID_CELLS // 2
    expected = [(GRID_CELLS, f"0 0h{half}v1H0z"), (GRID_CELLS, f"{half} 0h{half}v1H{half}z")]
    assert [(path.count("M"), path.split("M")[1]) for path, _ in areas] == expected
    assert len({ink for _, ink in areas}) == 2


def test_classes_differ_in_form_and_not_in_color_alone() -> None:
    svg = drawing(viz.scatter(torch.tensor(POINTS), [0, 1, 2, 3]))
    marks = re.findall(r'<path d="([^"]*)" fill="(#\w+)" stroke=', svg)
    assert len({ink for _, ink in marks}) == 4
    assert sorted(path.count("L") for path, _ in marks) == [0, 2, 3, 3]
    assert "Error" not in svg and svg.count("<path") == 8  # each class in the picture and in the legend


def test_scores_of_several_classes_take_the_largest() -> None:
    def scores(points: Any) -> Any:
        return torch.stack([points[:, 1], -points[:, 1], torch.full((len(points),), -9.0)], 1)

    picture = viz.scatter(torch.tensor(POINTS), torch.tensor([0, 0, 1, 2]), scores)
    regions = picture.states[0].regions
    assert (regions[: GRID_CELLS // 2] == 0).all() and (regions[GRID_CELLS // 2 :] == 1).all()  # row 0 is above


def test_a_training_keeps_some_states_and_both_ends() -> None:
    model, points = circle(), torch.randn(60, 2)
    inside = (points**2).sum(1) < 1
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    with viz.scatter(points, inside, model, live=False) as look:
        for _ in range(3 * MAX_KEPT_STATES + 1):
            loss = nn.functional.binary_cross_entropy_with_logits(model(points).squeeze(1), inside.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            look()
            assert model.training
    steps = [state.step for state in look.states]
    assert steps[0] == 0 and steps[-1] == 3 * MAX_KEPT_STATES + 1 and len(steps) <= MAX_KEPT_STATES + 1
    assert steps[:-1] == list(range(0, steps[-2] + 1, steps[1]))
    model.eval()
    with torch.no_grad():
        wrong = ((model(points).squeeze(1) > 0) != inside).sum().item()
    assert look.states[-1].wrong.sum() == wrong
    assert repr(look).count("\n") == 4 and drawing(look).count("<use") == 3


def test_looking_changes_nothing() -> None:
    model, points = circle(), torch.randn(9, 2)
    state = torch.get_rng_state()
    weight = model[0].weight
    viz.scatter(points, torch.zeros(9), model)
    assert torch.equal(torch.get_rng_state(), state) and model.training and weight.grad is None


def test_the_plainest_pictures() -> None:
    assert repr(viz.scatter(np.zeros((1, 2)))) == "1 point: 1 of 0"
    assert "<use" not in drawing(viz.scatter([[0, 0], [0, 1]], [True, False], lambda p: p @ torch.ones(2)))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((torch.zeros(3),), r"points must have the shape \(n, 2\), one row for each point, got \(3,\)"),
        ((torch.zeros(0, 2),), r"got \(0, 2\)"),
        (([[0.0, float("nan")]],), "points must be finite"),
        ((torch.zeros(3, 2), torch.zeros(2)), r"labels must have the shape \(3,\), one for each point, got \(2,\)"),
        ((torch.zeros(2, 2), torch.tensor([0, 4])), "classes from 0 to 3, got 0 to 4"),
        ((torch.zeros(2, 2), torch.tensor([0, -1])), "classes from 0 to 3, got -1 to 0"),
        ((torch.zeros(2, 2), None, lambda p: p[:5]), r"got \(5, 2\) for 3602 points"),
    ],
)
def test_a_wrong_argument_is_named(arguments: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        viz.scatter(*arguments)


def test_without_a_model_there_is_nothing_to_watch() -> None:
    with pytest.raises(TypeError, match=r"no model to watch; write viz.scatter\(points, labels, model\)"):
        viz.scatter(POINTS)()


def test_an_error_in_the_loop_leaves_the_last_picture() -> None:
    with pytest.raises(KeyError), viz.scatter(torch.tensor(POINTS), None, left_or_right) as look:
        look()
        raise KeyError
    assert [state.step for state in look.states] == [0, 1]


def test_names_are_escaped_and_words_are_translated() -> None:
    picture = viz.scatter(torch.tensor(POINTS), [0, 1, 0, 1], axes=("<b>", "&"), classes=("<i>", '"'))
    assert "<b>" not in drawing(picture) and "<i>" not in picture.svg
    bundle = picture._repr_mimebundle_()
    assert 'alt="4 points: 2 of &lt;i&gt;, 2 of &quot;"' in bundle["text/html"]
    viz.settings.language = "zh"
    try:
        assert viz.scatter(POINTS, [0, 1, 1, 1], left_or_right).label == "4 个点：0 1 个，1 3 个；分错 1 个"
    finally:
        viz.settings.language = "en"


def test_pytorchs_points_and_modules() -> None:
    pytorch = oracle.live()
    model = pytorch.nn.Linear(2, 1)
    with pytorch.no_grad():
        model.weight.copy_(pytorch.tensor([[1.0, 0.0]]))
        model.bias.zero_()
    theirs = viz.scatter(pytorch.tensor(POINTS), pytorch.tensor([0, 0, 1, 0]), model)
    assert repr(theirs) == repr(viz.scatter(torch.tensor(POINTS), torch.tensor([0, 0, 1, 0]), left_or_right))
    assert (theirs.states[0].regions[:, : GRID_CELLS // 2] == 0).all()
