"""Why and how long a channel is left alone (SPEC 5)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

NOT_CONFIGURED = "not_configured"  # no usable document
WAIT = "wait"  # the endpoint asked for it
FAILING = "failing"  # nothing gets through
GONE = "gone"  # the channel's own target no longer exists
OPERATOR = "operator"  # by hand; nobody else shortens or lengthens it
PROBED = frozenset({FAILING, GONE})  # when one of these is over, a single attempt goes first

FAILURES_IN_A_ROW = 5
LONGEST_FAILING = timedelta(minutes=60)
GONE_FOR = timedelta(hours=24)
PROBE_FOR = timedelta(minutes=1)  # for so long whoever probes has the channel to itself


@dataclass(frozen=True, slots=True)
class Hold:
    """A channel is left alone until a moment, for a reason."""

    until: datetime
    reason: str


def failing_for(failures: int) -> timedelta:
    """Return how long a channel is held after that many failed attempts in a row: 1, 2, 4 … 60 minutes.

    None before FAILURES_IN_A_ROW; each failed probe is one more. Total.
    """
    if failures < FAILURES_IN_A_ROW:
        return timedelta()
    doublings = min(failures - FAILURES_IN_A_ROW, 6)
    return min(timedelta(minutes=1 << doublings), LONGEST_FAILING)
