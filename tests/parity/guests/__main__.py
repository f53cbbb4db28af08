"""Run guests and print the table: see ``tests/parity/guests/__init__.py``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.parity.guests import page
from tests.parity.guests.guests import CACHE, guests
from tests.parity.guests.run import Result, run_all


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.parity.guests", description="Run packages under both libraries."
    )
    parser.add_argument("names", nargs="*", help="only these guests")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where packages are kept (default: %(default)s)")
    parser.add_argument("--page", action="store_true", help="write the rows into docs/guests.md")
    parser.add_argument("--trace", action="store_true", help="show the tracebacks of parts that failed")
    parser.add_argument("--jobs", type=int, default=1, help="guests that run at a time; times are then less exact")
    options = parser.parse_args()
    unknown = set(options.names) - {guest.name for guest in guests()}
    if unknown:
        parser.error(f"no such guests: {', '.join(sorted(unknown))}")

    def tell(result: Result) -> None:
        print("| " + " | ".join(page.row(result)) + " |", flush=True)
        if options.trace:
            print(*(part.trace for part in result.parts if part.trace), sep="\n", flush=True)

    start = time.perf_counter()
    results = run_all(
        [g for g in guests() if not options.names or g.name in options.names], options.cache, tell, options.jobs
    )
    print(page.summary([page.row(result) for result in results]), f"{time.perf_counter() - start:.0f} s")
    if options.page:
        page.write(results)
    return int(any({p.name for p in r.parts if p.problem} != set(r.guest.stops) for r in results))


if __name__ == "__main__":
    sys.exit(main())
