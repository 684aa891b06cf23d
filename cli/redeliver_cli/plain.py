"""Anything that comes from outside, as text that does nothing to a terminal but be read."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from enum import Enum

from redeliver.core.notification import Notification


def harmless(value: object) -> str:
    """Return a text in one line in which every character can be seen: no escape, no line end, nothing right to left."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _spelled(c) for c in text)


def harmless_lines(value: object) -> str:
    """Return a text as `harmless` does, with its line ends kept."""
    return "\n".join(map(harmless, str(value).replace("\r\n", "\n").split("\n")))


def _spelled(character: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character) or ascii(character)[1:-1]


def at(moment: datetime | None) -> str:
    """Return a moment as people read it, in UTC."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def for_programs(value: object) -> object:
    """Return a value as JSON takes it: moments as RFC 3339, words as text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, Enum):
        return value.value
    return value


def lasting(seconds: float) -> str:
    """Return a stretch of time in its two largest units."""
    rest, parts = int(timedelta(seconds=seconds).total_seconds()), []
    for name, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, length)
        if number:
            parts.append(f"{number} {name}")
    return " ".join(parts[:2]) or "0 s"


def record_for_programs(record: Notification, *, texts: bool) -> dict[str, object]:
    """Return the attributes of a record; its long texts only if they are asked for."""
    long = () if texts else ("body", "payload", "resolve_with")
    names = [each.name for each in fields(record) if each.name not in ("history", *long)]
    return {name: for_programs(getattr(record, name)) for name in names}
