"""Operations along dimensions: sums, extremes, norms, scans, softmax, statistics, sorting, distances.

They know elementwise operations and shapes.
"""
