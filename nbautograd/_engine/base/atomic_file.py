"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file that replaces the one at ``path`` when the ``with`` block ends without an error.

    Readers never see a partial file, and a full disk or an interrupt leaves the old file. A link stays a link. A pipe
    or a device is written to directly.

    :raises OSError: the file cannot be written; the message names ``path``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(folder + "/a.txt") as file:
    ...         _ = file.write(b"all of it")
    ...     os.listdir(folder)
    ['a.txt']
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # a directory gives the system's error
        with open(target, "wb") as file:
            yield file
        return
    temporary = os.path.join(os.path.dirname(target), f".nbautograd-{os.urandom(8).hex()}")
    try:
        try:
            new = open(temporary, "xb")  # noqa: SIM115 - closed below
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        with new:
            yield new
            new.flush()
            os.fsync(new.fileno())
        if os.path.exists(target):
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.remove(temporary)
        raise
