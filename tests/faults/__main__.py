"""`python -m tests.faults --seed N`: everything fails that can, and in the end everything has to add up."""

import argparse
import sys

from tests.faults.report import text
from tests.faults.run import run


def main() -> int:
    """Run with each seed; return 1 if a run did not add up."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="one run each")
    parser.add_argument("--notifications", type=int, default=2000)
    options = parser.parse_args()
    adds_up = True
    for seed in options.seed:
        finished = run(seed, options.notifications)
        sys.stdout.write(f"{text(finished)}\n\n")
        sys.stdout.flush()
        adds_up &= finished.adds_up
    return 0 if adds_up else 1


if __name__ == "__main__":
    sys.exit(main())
