"""What the attempts of a record came to, one after the other, in few bytes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from redeliver.core import moments
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry

LONGEST = 512  # bytes: the oldest attempts make room for the latest
_LONGEST_REASON = 40
_NOT_A_WORD = re.compile(r"[^A-Za-z0-9_.-]", re.ASCII)


class Ending(StrEnum):
    """How an attempt ended."""

    DELIVERED = "d"
    RETRY = "r"
    REJECT = "x"
    GONE = "g"
    INTERRUPTED = "i"  # nobody wrote down how


@dataclass(frozen=True, slots=True)
class Past:
    """One attempt: when its end was known, how it ended and why, the endpoint's status, the milliseconds it took."""

    at: datetime
    ending: Ending
    reason: str = ""
    status: int | None = None
    milliseconds: int | None = None


def past(outcome: Outcome, at: datetime, milliseconds: int | None) -> Past:
    """Return what is kept of an attempt."""
    endings = {Delivered: Ending.DELIVERED, Retry: Ending.RETRY, Reject: Ending.REJECT, Gone: Ending.GONE}
    reason = "" if isinstance(outcome, Delivered) else outcome.reason
    return Past(at, endings[type(outcome)], reason, outcome.status, milliseconds)


def added(history: str | None, latest: Past) -> str:
    """Return the history with one more attempt, at most LONGEST bytes of it."""
    reason = _NOT_A_WORD.sub("_", latest.reason)[:_LONGEST_REASON]
    numbers = ["" if each is None else str(each) for each in (latest.status, latest.milliseconds)]
    entry = ",".join([str(moments.to_epoch(latest.at)), latest.ending, reason, *numbers])
    kept = [*(history.split(";") if history else ()), entry]
    while len(";".join(kept)) > LONGEST:
        del kept[0]
    return ";".join(kept)


def attempts(history: str | None) -> Sequence[Past]:
    """Return the attempts of a history, oldest first; what cannot be read is left out."""
    return [found for entry in (history or "").split(";") if (found := _read(entry)) is not None]


def _read(entry: str) -> Past | None:
    try:
        at, ending, reason, status, milliseconds = entry.split(",")
        return Past(
            moments.from_epoch(int(at)),
            Ending(ending),
            reason,
            int(status) if status else None,
            int(milliseconds) if milliseconds else None,
        )
    except ValueError:
        return None
