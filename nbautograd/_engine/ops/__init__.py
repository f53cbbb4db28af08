"""The operations, one declaration each, by family.

An operation is its body, its formulas, its documentation; what they share is in ``_internal``. An operation knows
``@op`` and other operations; it must not know the engine that differentiates it, nor PyTorch's namespaces that offer
it.
"""
