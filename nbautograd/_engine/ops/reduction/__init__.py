"""Reductions and scans along dimensions: sums, extrema, norms, softmax, statistics, sorting, distances.

They know elementwise operations and shapes.
"""
