"""``torch.utils._pytree`` under both libraries."""

from __future__ import annotations

import dataclasses
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import pytest

import nbautograd
from tests.parity.differences.both import agrees

Point = namedtuple("Point", "x y")


def tree() -> Any:
    """One with a container of each kind."""
    return {
        "b": [1, (2, 3)],
        "a": None,
        "c": OrderedDict(x=1, w="text"),
        "d": defaultdict(list, {"q": 3}),
        "e": deque([1, 2], maxlen=3),
        "n": Point(5, (6,)),
        "empty": [(), {}, []],
    }


def pytree(torch: Any) -> Any:
    """The module."""
    with_path = __import__("importlib").import_module
    return with_path(f"{torch.__name__}.utils._pytree")


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "leaves": lambda p, t: p.tree_leaves(t),
    "flatten": lambda p, t: [p.tree_flatten(t)[0], str(p.tree_flatten(t)[1])],
    "there and back": lambda p, t: repr(p.tree_unflatten(*p.tree_flatten(t))),
    "the former order": lambda p, t: repr(p.tree_unflatten(*p.tree_flatten(t)[::-1])),
    "size": lambda p, t: [getattr(p.tree_structure(t), n) for n in ("num_leaves", "num_nodes", "num_children")],
    "root": lambda p, t: [p.tree_structure(t).type, p.tree_structure(t).context, p.tree_structure(t).is_leaf()],
    "children": lambda p, t: [str(p.tree_structure(t).child(1)), [str(c) for c in p.tree_structure(t).children()]],
    "equal": lambda p, t: [p.tree_structure(t) == p.tree_structure(tree()), p.tree_structure(t) == p.tree_structure(1)],
    "hash": lambda p, t: hash(p.tree_structure(t)) == hash(p.tree_structure(tree())),
    "map": lambda p, t: repr(p.tree_map(str, t)),
    "map two": lambda p, t: repr(p.tree_map(lambda x, y: (x, y), t, tree())),
    "map only": lambda p, t: repr(p.tree_map_only(int, lambda x: x + 1, t)),
    "map only classes": lambda p, t: repr(p.tree_map_only((int, str), repr, t)),
    "map only a union": lambda p, t: repr(p.tree_map_only(int | str, repr, t)),
    "map only if": lambda p, t: repr(p.tree_map_only(lambda x: x == 1, repr, t)),
    "map only nothing": lambda p, t: p.tree_map_only(3, repr, t),
    "is_leaf": lambda p, t: p.tree_leaves(t, is_leaf=lambda x: isinstance(x, (list, deque))),
    "map is_leaf": lambda p, t: repr(p.tree_map(str, t, is_leaf=lambda x: isinstance(x, list))),
    "all": lambda p, t: [p.tree_all(bool, t), p.tree_any(bool, t), p.tree_all_only(int, bool, t)],
    "any only": lambda p, t: p.tree_any_only(str, lambda x: x == "text", t),
    "iter": lambda p, t: list(p.tree_iter(t)),
    "is a leaf": lambda p, t: [p.tree_is_leaf(x) for x in (t, 1, [], None, Point(1, 2), {1}, slice(1))],
    "arguments": lambda p, t: p.arg_tree_leaves(t, 1, x=[2, 3]),
    "paths": lambda p, t: [[repr(path), p.keystr(path), leaf] for path, leaf in p.tree_flatten_with_path(t)[0]],
    "leaves with path": lambda p, t: len(p.tree_leaves_with_path(t)),
    "at a path": lambda p, t: [p.key_get(t, path) for path, _ in p.tree_flatten_with_path(t)[0]],
    "map with path": lambda p, t: repr(p.tree_map_with_path(lambda k, x, y: (p.keystr(k), x, y), t, tree())),
    "JSON": lambda p, t: p.treespec_dumps(p.tree_structure({**t, "n": 1})),
    "JSON back": lambda p, t: str(p.treespec_loads(p.treespec_dumps(p.tree_structure({**t, "n": 1})))),
    "JSON of a namedtuple": lambda p, t: p.treespec_dumps(p.tree_structure(t)),
    "JSON, other protocol": lambda p, t: p.treespec_dumps(p.tree_structure(1), 7),
    "pprint": lambda p, t: p.treespec_pprint(p.tree_structure(t)),
    "made": lambda p, t: str(p.treespec_dict(a=p.treespec_tuple([p.treespec_leaf()] * 2), b=p.treespec_leaf())),
    "made of others": lambda p, t: p.treespec_tuple([1]),
    "too few leaves": lambda p, t: p.tree_unflatten([1], p.tree_structure(t)),
    "no structure": lambda p, t: p.tree_unflatten([1], [2]),
    "up to": lambda p, t: repr(p.tree_structure({"a": 1, "b": [1, 2]}).flatten_up_to({"b": [(1, 2), 3], "a": [4]})),
    "broadcast": lambda p, t: p._broadcast_to_and_flatten((1, None), p.tree_structure(([1, 2], {"a": 3}))),
    "broadcast one": lambda p, t: p._broadcast_to_and_flatten(0, p.tree_structure(t)),
    "broadcast wrong": lambda p, t: p._broadcast_to_and_flatten([1, 2], p.tree_structure((1, 2))),
    "structs": lambda p, t: [p.is_structseq(x) for x in (time.gmtime(0), time.struct_time, Point(1, 2), (1, 2), int)],
    "named": lambda p, t: [p.is_namedtuple(Point(1, 2)), p.is_namedtuple(Point), p.is_namedtuple_class(tuple)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_of_a_tree(name: str) -> None:
    @agrees
    def test(torch: Any) -> Any:
        return PROGRAMS[name](pytree(torch), tree())

    test()


MISMATCHES = {
    "expected": [([1, 2], (1, 2)), (Point(1, 2), (1, 2)), ([1, 2], [1, 2, 3]), ([1], 5)],
    "mismatch": [({"a": 1}, {"b": 1}), ({"a": 1}, {"a": 1, "b": 1})],
}


@pytest.mark.parametrize(("says", "pair"), [(says, pair) for says, pairs in MISMATCHES.items() for pair in pairs])
def test_trees_that_do_not_fit(says: str, pair: Any) -> None:
    @agrees(says=says)
    def test(torch: Any) -> Any:
        return pytree(torch).tree_map(lambda x, y: 0, *pair)

    test()


@agrees
def test_dicts_fit_each_other(torch: Any) -> Any:
    return repr(pytree(torch).tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, OrderedDict(b=10, a=20)))


@agrees
def test_an_instance_of_a_subclass_is_a_leaf(torch: Any) -> Any:
    class Batch(dict[str, int]):
        pass

    return len(pytree(torch).tree_leaves([Batch(a=1, b=2), Point(1, 2), torch.Size([1, 2])]))


@agrees
def test_results_with_names_are_containers(torch: Any) -> Any:
    result = torch.max(torch.tensor([[1.0, 2.0]]), 1)
    halved = pytree(torch).tree_map(lambda t: t / 2, result)
    return [halved.values, halved.indices]


@agrees
def test_a_class_can_be_registered(torch: Any) -> Any:
    p = pytree(torch)

    class Pair:
        def __init__(self, a: Any, b: Any, name: str) -> None:
            self.a, self.b, self.name = a, b, name

    def flatten(pair: Any) -> Any:
        return [pair.a, pair.b], pair.name

    def with_keys(pair: Any) -> Any:
        return [(p.GetAttrKey("a"), pair.a), (p.GetAttrKey("b"), pair.b)], pair.name

    answers = [len(p.tree_leaves(Pair(1, 2, "n")))]
    p.register_pytree_node(
        Pair,
        flatten,
        lambda parts, name: Pair(*parts, name),
        flatten_with_keys_fn=with_keys,
        serialized_type_name="tests.Pair",
    )
    pair = Pair(torch.ones(1), [torch.zeros(2)], "named")
    doubled = p.tree_map(lambda t: t + 1, pair)
    answers += [doubled.a, doubled.b, doubled.name]
    answers += [[p.keystr(path) for path, _ in p.tree_leaves_with_path(pair)], p.treespec_dumps(p.tree_structure(pair))]
    answers += [torch.func.vmap(lambda q: q.a * 2)(Pair(torch.arange(3.0), torch.ones(3), "v"))]
    answers += [torch.func.grad(lambda q: q.a.sum())(Pair(torch.ones(2), torch.ones(1), "g")).a]
    try:
        p.register_pytree_node(Pair, flatten, lambda parts, name: Pair(*parts, name))
    except ValueError as error:
        answers.append("already registered" in str(error))
    p._deregister_pytree_node(Pair)
    return [*answers, len(p.tree_leaves(pair))]


@agrees(says="Did not find a flatten_with_keys_fn")
def test_paths_need_keys(torch: Any) -> Any:
    class Bare:
        pass

    p = pytree(torch)
    p.register_pytree_node(Bare, lambda bare: ([1], None), lambda parts, _: Bare())
    p.tree_flatten_with_path(Bare())


@agrees
def test_dataclasses_and_constants(torch: Any) -> Any:
    @dataclasses.dataclass
    class Model:
        weight: Any
        bias: Any = None

    @dataclasses.dataclass(frozen=True)
    class Setting:
        name: str

    p = pytree(torch)
    p.register_dataclass(Model)
    p.register_constant(Setting)
    mapped = p.tree_map(lambda x: x * 2, {"model": Model(1), "setting": Setting("s")})
    return [
        mapped["model"].weight, mapped["model"].bias, mapped["setting"].name, p.is_constant_class(Setting),
        [p.keystr(path) for path, _ in p.tree_leaves_with_path(Model(1, [2]))],
    ]  # fmt: skip


@agrees(says="field_names does not include all dataclass fields")
def test_fields_have_to_be_all(torch: Any) -> Any:
    @dataclasses.dataclass
    class Model:
        weight: Any
        bias: Any

    pytree(torch).register_dataclass(Model, field_names=["weight"])


@agrees(says="non-default `__eq__`")
def test_constants_have_to_be_comparable(torch: Any) -> Any:
    pytree(torch).register_constant(type("Plain", (), {}))


def test_it_is_found_under_pytorchs_name() -> None:
    with nbautograd.standing_in():
        import torch.utils._pytree as p
        from torch.utils._pytree import tree_map
    assert tree_map(abs, [-1, (-2,)]) == [1, (2,)]
    assert p is nbautograd.utils._pytree and "_pytree" not in dir(nbautograd.utils)
