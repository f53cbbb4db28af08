"""``nbautograd source``: prints the code generated for an operation."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import Any

__all__ = ["add_parser", "run"]

KINDS = ("operator", "inplace", "half", "traced", "backward", "double-backward", "tiled", "cuda")


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "source",
        help="print the generated code of an operation",
        description="Print the generated code of an operation: its function, or one of the following.",
    )
    parser.add_argument("name", help="an operation, such as mul, linalg.det or nn.functional.relu")
    choice = parser.add_mutually_exclusive_group()
    for kind in KINDS:
        choice.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind.replace("-", "_"))
    parser.set_defaults(kind="forward")


def run(name: str, kind: str) -> int:
    """Print the code; return the exit status: 2 if it does not exist."""
    from nbautograd import library

    module, _, attribute = name.removeprefix("torch.").removeprefix("nbautograd.").rpartition(".")
    try:
        package = import_module("nbautograd." + module if module else "nbautograd")
        print(library.source(getattr(package, attribute, attribute), kind).rstrip(), flush=True)
    except BrokenPipeError:  # the reader, such as ``head``, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ImportError, ValueError) as error:
        print(f"nbautograd source: {error}", file=sys.stderr)
        return 2
    return 0
