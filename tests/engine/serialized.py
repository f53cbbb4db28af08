"""Objects to the bytes of a file and back, for tests of files."""

from __future__ import annotations

import io

import numpy as np

import nbautograd as nb


def saved(obj):
    file = io.BytesIO()
    nb.save(obj, file)
    return file.getvalue()


def written(value, library=nb, **options):
    """A file of a library, ready to be read."""
    file = io.BytesIO()
    library.save(value, file, **options)
    file.seek(0)
    return file


def loaded(data, **options):
    return nb.load(io.BytesIO(data), **options)


def equal(a, b):
    """Return whether two loadable objects are the same in type and value, NaNs included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, nb.Tensor):
        same = (a.dtype, a.shape, a.stride(), a.requires_grad) == (b.dtype, b.shape, b.stride(), b.requires_grad)
        return same and repr(a.tolist()) == repr(b.tolist())
    if isinstance(a, dict):
        return list(map(repr, a)) == list(map(repr, b)) and all(map(equal, a.values(), b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and repr(a.tolist()) == repr(b.tolist())
    return repr(a) == repr(b)


class Custom:
    pass
