"""How operations compute all samples at once, by family; importing this fills ``mode.rules``.

A rule gets a ``mode.Call``, whose batched arguments have the batch dimension in front, and
returns results that have it, too. A rule calls operations, so its result is differentiable without further formulas.
"""

from nbautograd._engine.batching.rules import elementwise, indexing, layers, products, reductions, shapes

__all__ = ["elementwise", "indexing", "layers", "products", "reductions", "shapes"]
