"""Two operators at the same dead letters, one killed -9 in the middle and started again, with real processes.

`python -m tests.benchmarks.redrive [NUMBER]`; 10,000 by default. The local stack's DynamoDB is what takes the time.
"""

import sys
from collections import Counter

from tests.cli.bare_stack import bare_stack
from tests.cli.race import put_dead_letters, race


def main(number: int) -> None:
    """Measure and tell."""
    with bare_stack() as stack:
        put_dead_letters(stack, number)
        finish = race(stack, number)
    times = Counter(record.redrive_count for record in finish.records)
    statuses = Counter(record.status.value for record in finish.records)
    print(f"{number:,} dead letters, {finish.left_at_kill:,} left when one of two was killed: {finish.seconds:.1f} s")
    print(f"redriven so often: {dict(times)}; status: {dict(statuses)}; moved by the two that ended: {finish.moved}")
    assert times == {1: number}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
