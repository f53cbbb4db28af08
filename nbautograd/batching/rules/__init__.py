"""How operations compute all samples at once, by family; importing this fills ``mode.rules``.

A rule gets a :class:`~nbautograd.batching.mode.Call`, whose batched arguments have their samples in dimension 0, and
returns results of which the same holds. It is made of operations, so that derivatives are theirs.
"""

from nbautograd.batching.rules import elementwise, indexing, layers, products, reductions, shapes

__all__ = ["elementwise", "indexing", "layers", "products", "reductions", "shapes"]
