"""Reductions and scans along dimensions: sums, extrema, norms, softmax, statistics, sorting, distances.

They build on elementwise operations and shapes.
"""
