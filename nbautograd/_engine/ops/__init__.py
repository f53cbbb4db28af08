"""The operations, one declaration each, by family.

An operation consists of its body, its formulas and its documentation; shared code is in ``_internal``. Operations may
depend on ``@op`` and other operations, but not on the engine that differentiates them, nor on PyTorch's namespaces that
expose them.
"""
