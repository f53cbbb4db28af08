"""Neural networks: so far their functions, in :mod:`nbautograd.nn.functional`."""

from nbautograd.nn import functional

__all__ = ["functional"]
