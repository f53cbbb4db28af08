"""``vmap``: a function of one sample, run once for a whole batch.

Inside of it tensors are batched tensors (``core/batched.py``). ``mode.py`` gets every operation on one and computes it
for all samples with the rule that ``rules/`` has for it, or sample by sample where there is none; ``random.py`` says
what random functions draw, ``transform.py`` is ``vmap`` itself, ``levels.py`` takes batched tensors apart for passes
over the graph that their samples are in. It knows operations by name; it must not know how a backward pass runs.
"""
