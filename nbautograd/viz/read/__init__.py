"""A graph read and modelled: what is to be seen of it, as data.

Nodes are seen through the protocol alone, so PyTorch's graphs are read as well; the result is a model with names,
values and formulas, folded where it repeats. It must not know how a model is drawn or shown.
"""
