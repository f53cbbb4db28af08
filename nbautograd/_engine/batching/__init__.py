"""``vmap``: a function of one sample, run once for a whole batch.

Inside it, tensors are batched tensors (``core/batched.py``). ``mode.py`` is the dispatch mode: it intercepts operations
on batched tensors and computes them for all samples by a batching rule from ``rules/``, or sample by sample if no rule
exists. ``random.py`` handles random functions, ``transform.py`` is ``vmap`` itself, and ``levels.py`` unwraps batched
tensors for backward passes and tangents. This package knows operations by name, but does not depend on how a backward
pass runs.
"""
