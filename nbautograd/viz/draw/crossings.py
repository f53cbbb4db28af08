"""The third step of the layered layout: crossing reduction by barycentre sweeps."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from nbautograd.viz.draw.layering import LayeredGraph

__all__ = ["order_layers"]


def order_layers(graph: LayeredGraph) -> list[list[int]]:
    """Return the nodes of each layer in order: the order with the fewest crossings among those of the sweeps."""
    rows = depth_first_order(graph)
    rank = [0] * graph.total  # position of each node in its layer
    for row in rows:
        for i, v in enumerate(row):
            rank[v] = i
    best, fewest = [row[:] for row in rows], count_crossings(graph, rows, rank)
    vain = 0
    for sweep in range(graph.effort(10, 3, 2)):
        if not fewest or vain == 4:
            break
        sweep_layers(graph, rows, rank, towards_roots=sweep % 2 == 1)
        crossings = count_crossings(graph, rows, rank)
        vain += 1
        if crossings < fewest:
            best, fewest, vain = [row[:] for row in rows], crossings, 0
    return best


def depth_first_order(graph: LayeredGraph) -> list[list[int]]:
    """Depth-first order from the roots, with inputs in the order of their slots."""
    rows: list[list[int]] = [[] for _ in range(max(graph.layer, default=-1) + 1)]
    seen = bytearray(graph.total)
    for root in range(graph.total):
        stack = [] if graph.after[root] else [root]
        while stack:
            v = stack.pop()
            if not seen[v]:
                seen[v] = 1
                rows[graph.layer[v]].append(v)
                stack.extend(reversed(graph.before[v]))
    return rows


def sweep_layers(graph: LayeredGraph, rows: list[list[int]], rank: list[int], *, towards_roots: bool) -> None:
    """Sort each layer by the barycentre, the mean rank, of the neighbors in the layer before."""
    beside = graph.before if towards_roots else graph.after
    for row in rows if towards_roots else reversed(rows):
        if len(row) == 1:
            continue
        mean = {v: sum(rank[u] for u in beside[v]) / len(beside[v]) if beside[v] else rank[v] for v in row}
        row.sort(key=mean.__getitem__)
        for i, v in enumerate(row):
            rank[v] = i


def count_crossings(graph: LayeredGraph, rows: list[list[int]], rank: list[int]) -> int:
    """Return the number of pairs of lines that cross, counted between each two layers by sorted insertion."""
    after, total = graph.after, 0
    for row, following in pairwise(rows):
        if len(row) == 1 or len(following) == 1:
            continue
        passed: list[int] = []  # where the lines drawn so far end
        for u in row:
            ends = [rank[v] for v in after[u]]
            if len(ends) > 1:
                ends.sort()
            known = len(passed)
            for end in ends:  # crosses lines that were drawn before and end further on
                total += known - bisect_right(passed, end, 0, known)
            for end in ends:
                passed.insert(bisect_right(passed, end), end)
    return total
