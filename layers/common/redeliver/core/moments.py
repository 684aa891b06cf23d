"""Moments: whole seconds in storage, RFC 3339 outside, aware UTC datetimes inside."""

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime.fromtimestamp(0, UTC)
_RFC_3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)


def floor(moment: datetime) -> datetime:
    """Return the whole second in which a moment lies: for what has happened."""
    return moment.replace(microsecond=0)


def ceil(moment: datetime) -> datetime:
    """Return the first whole second that is not before a moment: for what must not happen earlier."""
    return floor(moment) if moment.microsecond == 0 else floor(moment) + timedelta(seconds=1)


def to_epoch(moment: datetime) -> int:
    """Return the whole epoch second in which a moment lies."""
    return (moment - _EPOCH) // timedelta(seconds=1)  # exact: a float is not, some thousand years from now


def from_epoch(seconds: int) -> datetime:
    """Return the moment of an epoch second; raises ValueError outside the years 1 to 9999."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{seconds} is not a moment between the years 1 and 9999") from error


def parse(text: str) -> tuple[datetime, str]:
    """Return an RFC 3339 moment, and the same as fixed-width text with nanoseconds; raises ValueError.

    The text sorts as the moments do, and keeps what a datetime has no room for.
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 date and time with a zone, such as 2026-11-30T12:00:00Z")
    date, time, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{date}T{time}{'+00:00' if zone in 'Zz' else zone}").astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"not a moment in the calendar: {error}") from error
    nanoseconds = (fraction or "").ljust(9, "0")
    return moment.replace(microsecond=int(nanoseconds[:6])), f"{moment.isoformat()[:19]}.{nanoseconds}Z"


def text_of(moment: datetime) -> str:
    """Return a moment in the fixed-width text of `parse`."""
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:26]}000Z"  # isoformat pads the year
