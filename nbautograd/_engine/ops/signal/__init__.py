"""Fourier transforms, windows, convolution, pooling and interpolation.

They know elementwise operations, reductions and shapes; layers, which are made of them, are in ``nn``.
"""
