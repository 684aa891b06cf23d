"""A deeper run: `python -m tests.model --examples 2000`; another seed each time, unless one is named."""

import argparse
import os
import secrets
import time
from typing import Any, ClassVar

from hypothesis import seed, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from tests.conftest import FAKE
from tests.model.test_state_machine import ALIKE, DynamoMachine, Machine


class Counted(Machine):
    """Counts examples and their steps."""

    examples: ClassVar[int] = 0
    steps: ClassVar[int] = 0
    longest: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.length = 0

    @invariant()
    def count(self) -> None:
        self.length += 1

    def teardown(self) -> None:
        Counted.examples += 1
        Counted.steps += self.length
        Counted.longest = max(Counted.longest, self.length)
        super().teardown()


class CountedDynamo(Counted, DynamoMachine):
    """The same over moto."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--store", choices=["memory", "dynamo"], default="memory")
    given = parser.parse_args()
    os.environ.update(FAKE)
    print(f"seed {given.seed}")  # noqa: T201 - a program that talks to a person prints
    machine = seed(given.seed)(Counted if given.store == "memory" else CountedDynamo)
    deeper: dict[str, Any] = {**ALIKE, "derandomize": False, "report_multiple_bugs": False}
    began = time.monotonic()
    run_state_machine_as_test(
        machine, settings=settings(max_examples=given.examples, stateful_step_count=given.steps, **deeper)
    )
    took = time.monotonic() - began
    print(f"{Counted.examples} examples, {Counted.steps} steps, the longest has {Counted.longest}, in {took:.0f} s")  # noqa: T201 - the same


if __name__ == "__main__":
    main()
