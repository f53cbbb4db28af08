"""PyTorch's modules about compiling, processes, devices and backends, for one CPU or one GPU.

Each reports the facts of this machine. Unsupported functions raise with one sentence; ``_names/refused.py`` has the
reasons, also for all names of PyTorch that a module does not define. Programs see them as ``torch.jit`` and so on:
``_names/namespaces.py``. Imports from below ``nbautograd.nn`` and ``nbautograd.cuda`` only.
"""
