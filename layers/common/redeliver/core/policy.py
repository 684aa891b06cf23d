"""How often and how long to try, and how long to remember."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings that decisions depend on.

    `max_age` is a channel's own: what is older is not sent by itself any more.
    """

    base_delay: timedelta = timedelta(minutes=5)
    max_delay: timedelta = timedelta(hours=24)
    jitter: float = 0.0
    max_attempts: int = 5
    retention: timedelta = timedelta(days=90)
    max_age: timedelta | None = None
