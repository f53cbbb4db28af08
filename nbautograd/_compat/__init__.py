"""PyTorch's modules about compiling, processes, devices and backends: what they answer on one CPU or one GPU.

Each does what is true here. What cannot be done refuses in one sentence; ``_names/refused.py`` lists why, and says it
of every name of PyTorch's that a module does not define. Programs see them as ``torch.jit`` and so on:
``_names/namespaces.py``. Imports from below ``nbautograd.nn`` and ``nbautograd.cuda`` only.
"""
