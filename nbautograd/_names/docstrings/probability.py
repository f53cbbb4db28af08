"""What the classes of ``distributions`` share."""

from __future__ import annotations

from nbautograd._names.docstrings.tables import Tables, alike

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
        "logits": "logarithms of the probabilities, up to a constant; given instead of ``probs``.",
        "probs": "the probabilities; given instead of ``logits``.",
        "reinterpreted_batch_ndims": "how many of the last dimensions count as one event.",
        "validate_args": "whether arguments are checked; None for the default of all distributions.",
    },
    raises={
        **alike(TRANSFORMS, {"ValueError": "``cache_size`` is neither 0 nor 1."}),
        "": {"ValueError": "a parameter, or a value that is asked about, lies outside of its constraint."},
    },
)
