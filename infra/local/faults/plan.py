"""Which request meets which fault: drawn from a seed by rates, and counted by kind."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

LONGEST_DELAY = 0.3  # seconds


class Fault(StrEnum):
    """What can happen to a request; the first two are forwarded and answered, the third when nobody waits any more."""

    DELAY = "delay"
    DONE_ERROR = "5xx after the work"  # the target did it, the client is told that it failed
    HANG = "hang"
    LOST = "answer lost"  # the target did it, and the connection is reset before the answer
    RESET = "reset"  # the connection is reset, the target sees nothing
    ERROR = "5xx"
    THROTTLE = "throttled"


@dataclass(frozen=True, slots=True)
class Met:
    """A fault that a request meets, and how much of it: `extent` in [0, 1)."""

    fault: Fault
    extent: float


class FaultPlan:
    """The faults of one proxy; `rates` are probabilities, and may be replaced while it runs.

    The seed fixes the sequence of draws. Which request gets which of them is for the threads that make the requests.
    """

    def __init__(self, seed: object, rates: Mapping[Fault, float]) -> None:
        """Begin with the first draw."""
        self.rates = rates
        self._random = random.Random(f"{seed}")  # noqa: S311 - repeatable on purpose
        self._met: Counter[Fault] = Counter()
        self._requests = 0
        self._lock = Lock()

    def draw(self) -> Met | None:
        """Return what the next request meets, None if nothing."""
        with self._lock:
            # Both are drawn each time: a change of the rates moves no later draw.
            chance, extent = self._random.random(), self._random.random()
            self._requests += 1
            for fault, rate in self.rates.items():
                if chance < rate:
                    self._met[fault] += 1
                    return Met(fault, extent)
                chance -= rate
        return None

    def met(self) -> tuple[int, Counter[Fault]]:
        """Return how many requests there were, and how many of them met each fault."""
        with self._lock:
            return self._requests, Counter(self._met)
