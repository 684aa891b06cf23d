"""Explore every case, deeper than the tests do, and say how much there was of each.

`python -m tests.explorer [part of a name]`
"""

import sys
import time

from tests.explorer.cases import CASES, deeper
from tests.explorer.search import Broken, Search


def main(part: str = "") -> int:
    """Print one line for each case, or the schedule that breaks a rule; return how many did."""
    broken = 0
    _say(f"{'case':<64} {'points':>9} {'schedules':>16} {'longest':>7} {'ends':>7} {'seconds':>7}")
    for case in CASES:
        if part not in case.name:
            continue
        began = time.perf_counter()
        try:
            found = Search(deeper(case)).run()
        except Broken as problem:
            broken += 1
            _say(str(problem))
            continue
        took = time.perf_counter() - began
        counts = f"{found.points:>9,} {found.schedules:>16,} {found.longest:>7} {found.ends:>7,} {took:>7.1f}"
        _say(f"{case.name:<64} {counts}")
    return broken


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
