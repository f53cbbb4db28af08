"""Traversals of the graph before a pass: reachable nodes, in-degrees, topological order.

A node's sequence number is higher than those of the nodes of its inputs. So descending sequence numbers are a
topological order of the tape; a leaf, whose number is 0, comes last.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter, itemgetter
from typing import Any

_sequence_nr = attrgetter("_seq")


def reachable(roots: Iterable[Any]) -> tuple[dict[Any, int], list[Any]]:
    """Return the in-degrees of all nodes and leaves reachable from ``roots``, and these in descending sequence
    order.
    """
    in_degree: dict[Any, int] = {}
    stack = list(dict.fromkeys(roots))
    seen = set(stack)
    while stack:
        node = stack.pop()
        if not node._seq:  # a leaf
            continue
        for target in node.next_nodes():
            if target is not None:
                in_degree[target] = in_degree.get(target, 0) + 1
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
    return in_degree, sorted(seen, key=_sequence_nr, reverse=True)


def leading_to(order: list[Any], targets: set[Any]) -> set[Any]:
    """Return the nodes in the topological ``order`` from which a target is reachable, and the targets."""
    needed = set(targets)
    for node in reversed(order):
        if node._seq and not needed.isdisjoint(node.next_nodes()):
            needed.add(node)
    return needed


def nodes_between(roots: list[tuple[Any, Any]], leaves: set[Any]) -> set[Any]:
    """Return the nodes on paths from the roots to some leaves, and these; faster than the two functions above."""
    stack = list(map(itemgetter(0), roots))
    seen = set()
    visited = []
    while stack:
        node = stack.pop()
        sequence_nr = node._seq
        if not sequence_nr or node in seen:
            continue
        seen.add(node)
        next0, next1 = node.next0, node.next1
        if next0 is None and next1 is None:
            targets = node.next_nodes()
            stack += [target for target in targets if target is not None]
        else:
            targets = (next0, next1)
            if next0 is not None:
                stack.append(next0)
            if next1 is not None:
                stack.append(next1)
        visited.append((sequence_nr, node, targets))
    needed = set(leaves)
    for _, node, targets in sorted(visited, key=itemgetter(0)):
        if not needed.isdisjoint(targets):
            needed.add(node)
    return needed
