"""One attempt: a wall-clock budget, and the in-request layer of retries inside it (SPEC 6)."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from redeliver.channels.transport import Answer, NoAnswer, Post, Transport
from redeliver.core.outcome import parse_retry_after, worth_retrying_at_once

ATTEMPT_SECONDS = 10.0
RETRIES = 2
FIRST_PAUSE = 0.3  # seconds, doubled for the second, and half to one and a half times that
SHORTEST_TRY = 0.1  # of the budget: with less left, a further try would only hide what the last one said


def header_wait(answer: Answer, now: datetime) -> timedelta | None:
    """Return the wait that the `Retry-After` header names."""
    return parse_retry_after(answer.headers.get("Retry-After"), now)


@dataclass(frozen=True, slots=True)
class Attempts:
    """How attempts are made: `budget` in seconds; time and chance as arguments."""

    transport: Transport
    budget: float = ATTEMPT_SECONDS
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def begin(self) -> "Attempt":
        """Start the clock of an attempt."""
        return Attempt(self)


class Attempt:
    """One attempt, on one thread. All its requests share the budget and the two retries."""

    def __init__(self, how: Attempts) -> None:
        """Start the clock."""
        self._how = how
        self._retries = RETRIES
        self.began = how.monotonic()
        self.maybe_delivered = False

    def left(self) -> float:
        """Return the seconds left of the budget; less than 0 when it is over."""
        return self.began + self._how.budget - self._how.monotonic()

    def now(self) -> datetime:
        """Return the moment, for what carries a time."""
        return self._how.clock()

    def post(
        self,
        compose: Callable[[datetime], Post],
        named_wait: Callable[[Answer, datetime], timedelta | None] = header_wait,
    ) -> Answer | NoAnswer:
        """Make a request, anew by `compose` for each try; return the last answer, or why there is none."""
        while True:
            post = compose(self.now())
            result = self._how.transport.post(post, self.left)
            if isinstance(result, NoAnswer):
                self.maybe_delivered |= result.sent
            wait = named_wait(result, self.now()) if isinstance(result, Answer) else None
            if not self._pause_for_another(result, post, wait):
                return result

    def _pause_for_another(self, result: Answer | NoAnswer, post: Post, wait: timedelta | None) -> bool:
        if self._retries == 0 or not _worth_it(result, post):
            return False
        pause = FIRST_PAUSE * 2 ** (RETRIES - self._retries) * (0.5 + self._how.chance())
        if wait is not None:
            pause = max(pause, wait.total_seconds())
        if pause > self.left() - SHORTEST_TRY * self._how.budget:
            return False
        self._retries -= 1
        self._how.sleep(pause)
        return True


def _worth_it(result: Answer | NoAnswer, post: Post) -> bool:
    if isinstance(result, Answer):
        return worth_retrying_at_once(result.status)
    return result.again and (post.repeatable or not result.sent)
