"""What may be written behind an option: moments, durations, channel names."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import click

from redeliver.core import moments
from redeliver.core.request import channel_name, identifier

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_DURATION_IS = "a number and one of s, m, h, d, w, such as 30m, 2h or 3d"


def duration(text: str) -> timedelta:
    """Return what `30m`, `2h` or `3d` stand for; raises ValueError saying what is allowed."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"must be {_DURATION_IS}")
    number, unit = match.groups()
    return timedelta(**{_UNITS[unit]: int(number)})


def moment(text: str, now: datetime, *, ahead: bool = False) -> datetime:
    """Return an RFC 3339 moment, or one so long ago (`ahead`: from now); raises ValueError saying what is allowed."""
    try:
        span = duration(text)
        return now + span if ahead else now - span
    except (ValueError, OverflowError):
        pass
    try:
        return moments.parse(text.strip())[0]
    except ValueError:
        raise ValueError(f"must be {_DURATION_IS}, or a moment such as 2026-11-30T12:00:00Z") from None


class Checked(click.ParamType[object]):
    """A value that a function of ours reads; its ValueError says what is allowed."""

    def __init__(self, name: str, read: Callable[[str], object]) -> None:
        """Take the name that help shows."""
        self.name = name
        self._read = read

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return the value, or end with what is allowed."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


def _now() -> datetime:
    return datetime.now(UTC)


def _url(text: str) -> str:
    if re.fullmatch(r"https?://[^/\s]+/?", text) is None:
        raise ValueError("must be an address such as http://127.0.0.1:4566")
    return text


URL = Checked("url", _url)
PAST = Checked("time", lambda text: moment(text, _now()))
FUTURE = Checked("time", lambda text: moment(text, _now(), ahead=True))
DURATION = Checked("duration", duration)
CHANNEL = Checked("channel", channel_name)
KEY = Checked("key", identifier)
FINDING = Checked("finding", identifier)
