"""How bad it is, as the caller's payload says, and the colour of it."""

import json
from collections.abc import Iterable
from enum import IntEnum

from redeliver.core.notification import Notification


class Severity(IntEnum):
    """The words that `payload.severity` may be, without case; anything else is none of them."""

    NONE = 0
    INFO = 1
    LOW = 2
    MEDIUM = 3
    HIGH = 4
    CRITICAL = 5


# Readable on light and dark, and apart from each other for the colour-blind by their lightness.
COLOURS = {
    Severity.NONE: 0x6B7280,
    Severity.INFO: 0x3B82F6,
    Severity.LOW: 0x10B981,
    Severity.MEDIUM: 0xFACC15,
    Severity.HIGH: 0xF97316,
    Severity.CRITICAL: 0xB91C1C,
}


def severity_of(record: Notification) -> Severity:
    """Return the severity that the payload names, if it is an object that does."""
    try:
        payload = json.loads(record.payload or "null")
    except (ValueError, RecursionError):
        return Severity.NONE
    word = payload.get("severity") if isinstance(payload, dict) else None
    name = word.strip().upper() if isinstance(word, str) else ""
    return Severity.__members__.get(name, Severity.NONE)


def worst(members: Iterable[Notification]) -> Severity:
    """Return the highest severity of a dispatch's members."""
    return max(map(severity_of, members), default=Severity.NONE)
