"""Packages that nobody here wrote, run under PyTorch and under nbautograd, and what they compute compared.

python -m tests.parity.guests                 # run all guests and print the table
python -m tests.parity.guests einops nflows   # some of them
python -m tests.parity.guests --page          # run all, or those named, and write the table of docs/guests.md

``guests.toml`` pins each guest. A file in ``packages`` or ``projects`` has its parts: short functions, written here,
that compute something with it. The packages are fetched from the index into a cache outside the repository.
"""
