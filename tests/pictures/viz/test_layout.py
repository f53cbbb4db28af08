"""Properties of every layout: nothing overlaps, all edges run one way, the same input gives the same numbers."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from nbautograd.viz.draw.coordinates import isotonic
from nbautograd.viz.draw.layout import Layout, layout
from nbautograd.viz.read.model import Edge, GraphModel, Node


def graph(count: int, pairs: list[tuple[int, int]]) -> GraphModel:
    nodes = tuple(Node(f"n{i}", "op", f"node {i}") for i in range(count))
    edges = tuple(Edge(f"e{k}", f"n{a}", f"n{b}") for k, (a, b) in enumerate(pairs))
    return GraphModel(nodes, edges, ("n0",))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[GraphModel, dict[str, tuple[float, float]]]:
    """Draw of each node two numbers, its inputs and its size: to draw each property by itself takes longer."""
    count = draw(st.integers(1, 14))
    chosen = draw(st.lists(st.integers(0, 4 * 14**3 - 1), min_size=count, max_size=count))
    drawn = draw(st.lists(st.integers(0, 181 * 101 - 1), min_size=count, max_size=count))
    pairs = [(b, chosen[b] // 4 // 14**i % 14 % b) for b in range(1, count) for i in range(chosen[b] % 4)]
    return graph(count, pairs), {f"n{i}": (20 + size // 101, 20 + size % 101) for i, size in enumerate(drawn)}


def boxes_overlap(places: Layout) -> list[tuple[str, str]]:
    found = []
    items = list(places.boxes.items())
    for i, (one, a) in enumerate(items):
        for other, b in items[i + 1 :]:
            if a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height:
                found.append((one, other))
    return found


@pytest.mark.sweep
@given(graphs(), st.sampled_from(["LR", "TB"]))
@settings(max_examples=150)
def test_properties(given_graph: tuple[GraphModel, dict[str, tuple[float, float]]], direction: str) -> None:
    model, sizes = given_graph
    labels = {edge.id: (30.0, 14.0) for edge in model.edges}
    places = layout(model, sizes, direction=direction, labels=labels)
    assert places == layout(model, sizes, direction=direction, labels=labels)
    assert boxes_overlap(places) == []
    for box in places.boxes.values():
        assert box.x >= 0 and box.y >= 0
        assert box.x + box.width <= places.width and box.y + box.height <= places.height
    along = 0 if direction == "LR" else 1
    for edge in model.edges:
        assert places.boxes[edge.src].center[along] < places.boxes[edge.dst].center[along]
        steps = [point[along] for point in places.routes[edge.id]]
        assert steps == sorted(steps)  # no edge ever turns back
    assert set(places.labels) == set(labels)


def test_a_line_passes_no_box_of_another_node() -> None:
    model = graph(5, [(4, 3), (3, 2), (2, 1), (1, 0), (4, 0), (4, 1)])
    places = layout(model, {n.id: (80.0, 40.0) for n in model.nodes})
    for edge in model.edges:
        for x, y in places.routes[edge.id]:
            for key, box in places.boxes.items():
                inside = box.x < x < box.x + box.width and box.y < y < box.y + box.height
                assert not inside or key in (edge.src, edge.dst)


def test_a_shared_leaf_has_a_trunk() -> None:
    pairs = [(i + 1, i) for i in range(5)] + [(6, i) for i in range(6)]
    places = layout(graph(7, pairs), {f"n{i}": (60.0, 40.0) for i in range(7)})
    assert len(places.trunks) == 1
    assert len(places.branches) == 5  # all users except the nearest


def test_a_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match="the graph has a cycle"):
        layout(graph(2, [(0, 1), (1, 0)]), {"n0": (1, 1), "n1": (1, 1)})


def test_an_unknown_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="direction must be 'LR' or 'TB', not 'up'"):
        layout(graph(1, []), {"n0": (1, 1)}, direction="up")


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 10)), min_size=1, max_size=20))
def test_isotonic_keeps_order_and_gaps(points: list[tuple[float, float]]) -> None:
    places = isotonic([p for p, _ in points], [w for _, w in points], [7.0] * (len(points) - 1))
    assert all(b - a >= 7.0 - 1e-9 for a, b in pairwise(places))


def operations(count: int, window: int) -> GraphModel:
    """Each of two inputs of every node is one of the ``window`` that come next."""
    choose = random.Random(0)
    pairs = [(choose.randint(i + 1, min(count - 1, i + window)), i) for i in range(count - 1) for _ in range(2)]
    return graph(count, pairs)


def chain(count: int) -> GraphModel:
    """A chain whose every node uses the one last leaf."""
    return graph(count, [(i + 1, i) for i in range(count - 2)] + [(count - 1, i) for i in range(count - 1)])


@pytest.mark.parametrize("direction", ["LR", "TB"])
@pytest.mark.parametrize("window", [12, 300])
def test_lines_in_lanes_pass_beside_the_boxes(window: int, direction: str) -> None:
    model = operations(300, window)
    places = layout(model, {n.id: (76.0, 44.0) for n in model.nodes}, direction=direction)
    along, across = (0, 1) if direction == "LR" else (1, 0)
    ends = [(b.x + b.width, b.y + b.height)[across] for b in places.boxes.values()]
    lanes = {point[across] for line in places.trunks for point in line if point[across] > max(ends)}
    assert lanes and boxes_overlap(places) == []
    assert max(lanes) < (places.width, places.height)[across]
    for line in [*places.trunks, *places.routes.values()]:
        steps = [point[along] for point in line]
        assert steps == sorted(steps)


def calls(function: Callable[[], object]) -> int:
    """Return the number of calls of a function: its cost, independent of the machine."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("make", [chain, lambda count: operations(count, 12), lambda count: operations(count, count)])
def test_the_cost_of_a_layout_grows_with_the_graph(make: Callable[[int], GraphModel]) -> None:
    """A quadratic layout would cost ten times as much a node."""
    costs = []
    for count in (100, 1000):
        model = make(count)
        sizes = {n.id: (76.0, 44.0) for n in model.nodes}
        costs.append(calls(lambda model=model, sizes=sizes: layout(model, sizes)) / count)
    assert costs[1] < 3 * costs[0]


@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_labels_stay_on_the_drawing(direction: str) -> None:
    model = graph(5, [(1, 0), (2, 1), (2, 1), (3, 2), (4, 2)])
    labels = {edge.id: (150.0, 28.0) for edge in model.edges}
    places = layout(model, {f"n{i}": (60.0, 40.0) for i in range(5)}, direction=direction, labels=labels)
    for x, y in places.labels.values():
        assert x >= 75 and x + 75 <= places.width
        assert y >= 14 and y + 14 <= places.height


@pytest.mark.sweep
@given(graphs(), st.integers(2, 4))
@settings(max_examples=100)
def test_properties_in_rows(given_graph: tuple[GraphModel, dict[str, tuple[float, float]]], rows: int) -> None:
    model, sizes = given_graph
    labels = {edge.id: (30.0, 14.0) for edge in model.edges}
    places, straight = layout(model, sizes, labels=labels, rows=rows), layout(model, sizes, labels=labels)
    assert places == layout(model, sizes, labels=labels, rows=rows)
    assert boxes_overlap(places) == []
    for box in places.boxes.values():
        assert box.x >= 0 and box.y >= 0
        assert box.x + box.width <= places.width and box.y + box.height <= places.height
    for edge in model.edges:
        line = places.routes[edge.id]
        for point, key in ((line[0], edge.src), (line[-1], edge.dst)):
            box = places.boxes[key]
            assert min(abs(point[0] - box.x), abs(point[0] - box.x - box.width)) < 0.3  # it begins and ends at a side
            old = straight.boxes[key].center[1] - straight.routes[edge.id][0 if key == edge.src else -1][1]
            assert abs(abs(box.center[1] - point[1]) - abs(old)) < 0.3  # where it would be in one row
        assert all(0 <= x <= places.width and 0 <= y <= places.height for x, y in line)


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_rows_make_a_long_graph_narrow(rows: int) -> None:
    model = graph(13, [(i + 1, i) for i in range(12)])
    sizes = {node.id: (80.0, 40.0) for node in model.nodes}
    one, several = layout(model, sizes), layout(model, sizes, rows=rows)
    assert several.width < one.width / rows + 140
    middles = [several.boxes[f"n{i}"].center for i in reversed(range(13))]
    assert len({y for _, y in middles}) == rows
    for (ax, ay), (bx, by) in pairwise(middles):  # to the right, or to the beginning of the next row
        assert (by == ay and 0 < bx - ax < 140) or (by > ay and bx == middles[0][0])


def test_where_many_lines_pass_there_are_no_rows() -> None:
    model = graph(14, [(13 - i, 6 - i) for i in range(7)] + [(6 - i, 0) for i in range(6)])
    sizes = {node.id: (80.0, 40.0) for node in model.nodes}
    assert layout(model, sizes, rows=2) == layout(model, sizes)
