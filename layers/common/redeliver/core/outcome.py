"""What an attempt can come to, and how an HTTP answer is read when the channel knows no better."""

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# The channel refused our credentials: its document is read again once, within the same attempt (SPEC 6).
CREDENTIALS_REFUSED = "credentials_refused"
# A named wait can be nonsense; nothing that is planned may overflow a date. The lifecycle clamps further, to its cap.
LONGEST_WAIT = timedelta(days=366)

_SECONDS = re.compile(r"\s*\d+(\.\d*)?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The endpoint took it.

    `resolve_with` is JSON: the payload of the notification that tells the endpoint that it is over, if there is such.
    """

    resolve_with: str | None = None
    status: int | None = field(default=None, compare=False)
    maybe_delivered: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """It may work later; `wait` is what the endpoint asked for."""

    reason: str
    error: str
    wait: timedelta | None = None
    maybe_delivered: bool = False
    status: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Reject:
    """This message can never be delivered; others to the same target can."""

    reason: str
    error: str
    status: int | None = field(default=None, compare=False)
    maybe_delivered: bool = False


@dataclass(frozen=True, slots=True)
class Gone:
    """The target no longer exists."""

    reason: str
    error: str
    status: int | None = field(default=None, compare=False)
    maybe_delivered: bool = False


# `maybe_delivered` says that the body of a try had left and no answer to it came: not what the end was, but that there
# may have been a delivery before it. `status`, where there is one, is the endpoint's: for the record's history, and no
# part of what an outcome is.
Outcome = Delivered | Retry | Reject | Gone


def from_status(status: int, error: str, wait: timedelta | None = None) -> Outcome:
    """Return what an HTTP status means by default (SPEC 6).

    Only 2xx is a success and only 410 is final: retrying a refusal is bounded, losing a notification is not.
    """
    if 200 <= status <= 299:
        return Delivered(status=status)
    if status == 410:
        return Gone("http_410", error, status)
    if 300 <= status <= 399:
        remedy = "redirects are not followed, the channel needs the final address"
        return Retry("redirect", f"{remedy}: {error}", status=status)
    return Retry(f"http_{status}", error, wait, status=status)


def worth_retrying_at_once(status: int) -> bool:
    """Tell whether the in-request layer may try again (SPEC 6)."""
    return status in (408, 429) or 500 <= status <= 599


def parse_retry_after(value: object, now: datetime) -> timedelta | None:
    """Return the wait that a `Retry-After` names, or None.

    Takes seconds (fractions too, as text or as a number) or an HTTP date; RFC 9110, section 10.2.3. Total: anything
    else, and anything negative, is no wait. Rounded up to whole seconds and never above LONGEST_WAIT.
    """
    seconds = _seconds(value)
    if seconds is None and isinstance(value, str):
        seconds = _seconds_until(value, now)
    if seconds is None or not seconds >= 0:  # "not": NaN compares false
        return None
    return timedelta(seconds=math.ceil(min(seconds, LONGEST_WAIT.total_seconds())))


def _seconds(value: object) -> float | None:
    if isinstance(value, str) and _SECONDS.fullmatch(value):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return min(value, LONGEST_WAIT.total_seconds())
    return None


def _seconds_until(value: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
        if moment.tzinfo is None:  # "-0000": UTC of unknown origin
            moment = moment.replace(tzinfo=UTC)
        return (moment - now).total_seconds()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
