"""``torch.signal``: window functions, in :mod:`nbautograd.signal.windows`."""

from nbautograd.signal import windows

__all__ = ["windows"]
