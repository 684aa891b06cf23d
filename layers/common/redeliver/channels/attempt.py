"""One attempt: a wall-clock budget, and the in-request layer of retries inside it (SPEC 6)."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from redeliver.channels.transport import Answer, NoAnswer, Post, Transport
from redeliver.core.outcome import parse_retry_after, worth_retrying_at_once
from redeliver.ports import Addresses, Unavailable

ATTEMPT_SECONDS = 10.0
RETRIES = 2
FIRST_PAUSE = 0.3  # seconds, doubled for the second, and half to one and a half times that
SHORTEST_TRY = 0.1  # of the budget: with less left, a further try would only hide what the last one said


def header_wait(answer: Answer, now: datetime) -> timedelta | None:
    """Return the wait that the `Retry-After` header names."""
    return parse_retry_after(answer.headers.get("Retry-After"), now)


def _by_status(answer: Answer) -> bool:
    return worth_retrying_at_once(answer.status)


@dataclass(frozen=True, slots=True)
class Attempts:
    """How attempts are made: `budget` in seconds; time and chance as arguments."""

    transport: Transport
    budget: float = ATTEMPT_SECONDS
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    addresses: Addresses | None = None

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
        worth: Callable[[Answer], bool] = _by_status,
    ) -> Answer | NoAnswer:
        """Make a request, anew by `compose` for each try; return the last answer, or why there is none."""

        def once() -> Answer | NoAnswer:
            post = compose(self.now())
            result = self._how.transport.post(post, self.left)
            if isinstance(result, NoAnswer) and result.sent and not post.repeatable:
                return replace(result, again=False)
            return result

        return self.tries(once, named_wait, worth)

    def tries(
        self,
        once: Callable[[], Answer | NoAnswer],
        named_wait: Callable[[Answer, datetime], timedelta | None] = header_wait,
        worth: Callable[[Answer], bool] = _by_status,
    ) -> Answer | NoAnswer:
        """Do something, again while that is worth it and there is time; return what came of it in the end."""
        while True:
            result = once()
            if isinstance(result, NoAnswer):
                self.maybe_delivered |= result.sent
                again, wait = result.again, None
            else:
                again, wait = worth(result), named_wait(result, self.now())
            if not again or not self._pause_for_another(wait):
                return result

    def address(self, channel: str, recipient: str) -> str:
        """Return where a recipient is now, as far as is known; costs no request."""
        known = self._how.addresses and self._how.addresses.current(channel, recipient)
        return known or recipient

    def moved(self, channel: str, recipient: str, to: str) -> None:
        """Remember where a recipient has moved, if that can be done: what is not remembered is learnt again."""
        if self._how.addresses is not None and self.left() > SHORTEST_TRY * self._how.budget:
            with suppress(Unavailable):
                self._how.addresses.move(channel, recipient, to)

    def _pause_for_another(self, wait: timedelta | None) -> bool:
        if self._retries == 0:
            return False
        pause = FIRST_PAUSE * 2 ** (RETRIES - self._retries) * (0.5 + self._how.chance())
        if wait is not None:
            pause = max(pause, wait.total_seconds())
        if pause > self.left() - SHORTEST_TRY * self._how.budget:
            return False
        self._retries -= 1
        self._how.sleep(pause)
        return True
