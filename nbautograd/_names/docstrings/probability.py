"""Shared docstrings of the classes of ``distributions``."""

from __future__ import annotations

from nbautograd._names.docstrings.classes import Tables

TABLES = Tables(
    shared={
        "base_transform": "the transform of single elements.",
        "concentration0": "the parameter b.",
        "concentration1": "the parameter a.",
        "event_shape": "the shape of one sample.",
        "exponent": "the exponent, a number or a tensor.",
        "reinterpreted_batch_ndims": "the number of last dimensions that form one event.",
        "temperature": "the distance from discrete choices.",
    },
    raises={"": {"ValueError": "a parameter, or a value, violates its constraint."}},
)
