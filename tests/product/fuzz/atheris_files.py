"""Files again, with a fuzzer that sees which lines of the readers an input reaches.

    pip install atheris && python tests/product/fuzz/atheris_files.py -max_total_time=60

It is not a test: it runs until stopped, or until it finds an undocumented exception.
"""

from __future__ import annotations

import contextlib
import io
import sys

import atheris
import numpy as np

with atheris.instrument_imports(include=["nbautograd.serialization", "nbautograd.serialization.torch_pickle"]):
    import nbautograd as nb
    from nbautograd import serialization
    from nbautograd.serialization import torch_pickle

MEMORY = b"\0\0\x80?\0\0\0@"


def one_input(data: bytes) -> None:
    """Read an input as a whole file, as the header of a safetensors file, and as the pickle of a PyTorch file."""
    for read in (nb.load, serialization.load_safetensors):
        try:
            read(io.BytesIO(data))
        except (serialization.FileFormatError, EOFError):
            pass
        except RuntimeError as error:
            if "map_location" not in str(error):  # a tensor on an unavailable device
                raise
    with contextlib.suppress(serialization.FileFormatError):
        memory = np.frombuffer(bytearray(MEMORY), np.uint8)
        torch_pickle._Machine(lambda key, count, place: memory, False, True, "utf-8").read(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
