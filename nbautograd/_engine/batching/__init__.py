"""``vmap``: a function of one sample, run once for a whole batch.

Inside of it tensors are batched tensors (``core/batched.py``). ``mode.py`` is the dispatch mode: it intercepts
operations on batched tensors and computes them for all samples by a batching rule from ``rules/``, or sample by sample
where there is none. ``random.py`` handles random functions, ``transform.py`` is ``vmap`` itself, and ``levels.py``
unwraps batched tensors for backward passes and tangents. It knows operations by name; it must not know how a backward
pass runs.
"""
