"""Run random programs under both libraries, and count the groups of disagreements.

    python -m tests.product.fuzz.campaign 0 1000             seeds 0 to 999: how many disagree, by group
    python -m tests.product.fuzz.campaign 17 18 -v           one program, with its text
    python -m tests.product.fuzz.campaign 0 1000 -k roll     the groups that match, with an example each
    python -m tests.product.fuzz.campaign --write 5000 5150  store these programs, of which tests run those that agree

A group is accepted if a pattern of ``accepted.txt`` matches it, which also says why.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import nbautograd as nb
from tests.product.fuzz.running import Disagreement, compared, outcomes, ran, values_of

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs.txt"
BETWEEN = "\n----\n"
UNSTABLE = re.compile(
    r"eig|svd|qr|lowrank|lstsq|pinv|householder|cond|matrix_rank|lobpcg|empty|special|rand|multinomial"
)
"""Stored programs call none of these: another processor or library may give other results."""
CORRUPTING = "lu_unpack"
"""With pivots that are not a factorization's, PyTorch writes behind its arrays, and a later program crashes."""


def accepted() -> list[tuple[re.Pattern[str], str]]:
    """Return the patterns of accepted groups, with their reasons."""
    found = []
    for line in (HERE / "accepted.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition("   # ")
            found.append((re.compile(pattern.strip()), reason.strip()))
    return found


def programs() -> list[str]:
    """Return the stored programs."""
    return PROGRAMS.read_text(encoding="utf-8").strip("\n").split(BETWEEN)


def asked(text: str) -> tuple[Any, Any]:
    """Return PyTorch's outcomes of a program, and its values with their bounds."""
    from tests.oracle import asking

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = asking.ask(lambda T: outcomes(T, text)[0], (), measured=False)
        try:
            values = asking.ask(lambda T: values_of(outcomes(T, text)[1]), ())
        except Exception:  # programs that cannot run while watched are compared without bounds
            values = asking.ask(lambda T: values_of(outcomes(T, text)[1]), (), measured=False)
    return facts, values


def examined(text: str) -> Disagreement | None:
    """Return where a program's outcomes disagree."""
    return compared(text, ran(nb, text), asked(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("-v", action="store_true", help="print programs")
    parser.add_argument("-k", default=None, help="a regular expression of groups")
    parser.add_argument("-n", type=int, default=0, help="show so many examples of each group")
    parser.add_argument("--write", action="store_true", help="store the programs that agree")
    options = parser.parse_args()
    from tests.product.fuzz.writing import program

    patterns, groups, examples, kept = accepted(), Counter[str](), {}, []
    known = 0
    for seed in range(options.first, options.last):
        if CORRUPTING in program(seed):
            continue
        text = program(seed)
        if options.v:
            print(text)
        try:
            found = examined(text)
        except Exception as error:
            found = Disagreement(f"broken | {type(error).__name__}: {error!s:.100}", "", "")
        if found is None:
            kept += [text] * (UNSTABLE.search(text) is None and len(text) < 2500)
            continue
        if any(pattern.search(found.group) for pattern, _ in patterns):
            known += 1
            continue
        groups[found.group] += 1
        examples.setdefault(found.group, []).append((seed, found))
    total = max(options.last - options.first, 1)
    for group, count in groups.most_common():
        if options.k is None or re.search(options.k, group):
            print(count, group)
            for seed, found in examples[group][: options.n or (1 if options.k else 0)]:
                print(f"      seed {seed}: {found.line:.300}\n      {found.detail:.300}")
    bad = sum(groups.values())
    print(
        f"{total} programs, {bad} disagree in {len(groups)} groups ({200 * bad / total:.1f} of 200), {known} accepted"
    )
    if options.write:
        PROGRAMS.write_text(BETWEEN.join(kept) + "\n", encoding="utf-8")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
