"""Shared docstrings of the classes of ``distributions``."""

from __future__ import annotations

from nbautograd._names.docstrings.classes import Tables, alike

__all__ = ["TABLES"]

TRANSFORMS = """
    AbsTransform AffineTransform CatTransform CorrCholeskyTransform CumulativeDistributionTransform ExpTransform
    IndependentTransform LowerCholeskyTransform PositiveDefiniteTransform PowerTransform ReshapeTransform
    SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform StickBreakingTransform TanhTransform"""
TABLES = Tables(
    shared={
        "base_transform": "the transform of single elements.",
        "batch_shape": "the shape of the parameters' batch.",
        "cache_size": "1 keeps the last pair of argument and value, 0 none.",
        "event_shape": "the shape of one sample.",
        "exponent": "the exponent, a number or a tensor.",
        "logits": "logarithms of the probabilities, up to a constant; an alternative to ``probs``.",
        "probs": "the probabilities; an alternative to ``logits``.",
        "reinterpreted_batch_ndims": "the number of last dimensions that form one event.",
        "validate_args": "True to check arguments; None for the default of all distributions.",
    },
    raises={
        **alike(TRANSFORMS, {"ValueError": "``cache_size`` is neither 0 nor 1."}),
        "": {"ValueError": "a parameter, or a value, violates its constraint."},
    },
)
