"""Batching rules by family: operations on all samples at once. Importing this package fills ``mode.rules``.

A rule takes a ``mode.BatchedCall``, whose batched arguments have the batch dimension in front, and returns results with
the same convention. A rule calls operations, so its result is differentiable without further formulas.
"""

from nbautograd._engine.batching.rules import elementwise, indexing, layers, products, reductions, shapes

__all__ = ["elementwise", "indexing", "layers", "products", "reductions", "shapes"]
