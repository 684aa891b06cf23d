"""A notification as a caller asks for it, and the bounds it has to keep (SPEC 4, 12)."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from redeliver.core import moments

MOST_NOTIFICATIONS = 100  # in one call
_CHANNEL = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_KIND = re.compile(r"[a-z0-9_.-]{1,64}", re.ASCII)
LONGEST_IDENTIFIER = 1024  # bytes of UTF-8: DynamoDB's bound of a range key
_KILOBYTE = 1024


class InvalidRequest(ValueError):
    """The request cannot be taken; the message names the field and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A valid request to notify; `payload` is JSON text."""

    channel: str
    dedup_key: str
    kind: str
    subject: str
    body: str
    recipient: str | None = None
    finding_id: str | None = None
    payload: str | None = None
    suppress: str | None = None
    deliver_by: datetime | None = None


def parse(raw: object) -> Request:
    """Return the request in a decoded JSON value; raises InvalidRequest naming the first field that is wrong."""
    if not isinstance(raw, Mapping):
        raise InvalidRequest(f"a notification is a JSON object with {_listed(_REQUIRED)}; got {_named(raw)}")
    unknown = [field for field in raw if field not in _CHECKS]
    if unknown:
        raise InvalidRequest(f"{_shown(unknown[0])}: unknown field; allowed are {_listed(_CHECKS)}")
    values: dict[str, Any] = {}
    for field, check in _CHECKS.items():
        value = raw.get(field)
        if value is None:
            if field in _REQUIRED:
                raise InvalidRequest(f"{field}: is required")
            continue
        try:
            values[field] = check(value)
        except ValueError as error:
            raise InvalidRequest(f"{field}: {error}") from None
    return Request(**values)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string; got {_named(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode; it holds half of a surrogate pair") from None
    return value


def _text(value: object, most: int, *, least: int = 0) -> str:
    text = _string(value)
    size = len(text.encode())
    if not least <= size <= most:
        raise ValueError(f"must have {least} to {most} bytes of UTF-8; got {size}")
    return text


def _line(value: object, most: int) -> str:
    text = _text(value, most, least=1)
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text):
        raise ValueError("must be one line without control characters")
    return text


def _matching(pattern: re.Pattern[str], allowed: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        text = _string(value)
        if pattern.fullmatch(text) is None:
            raise ValueError(f"must be 1 to 64 of {allowed}; got {_shown(text)}")
        return text

    return check


channel_name = _matching(_CHANNEL, "A-Z a-z 0-9 _ . -")


def identifier(value: object) -> str:
    """Return a dedup key or a finding id in NFC, 1 to 1024 bytes; raises ValueError saying what is allowed.

    NFC: the same text typed on two systems is the same key.
    """
    return _text(unicodedata.normalize("NFC", _string(value)), LONGEST_IDENTIFIER, least=1)


def _recipient(value: object) -> str:
    text = _line(value, 256)
    if "://" in text:
        raise ValueError("must be an identifier or an address, never a URL")
    return text


def _payload(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"must be JSON: {error}") from None
    return _text(text, 64 * _KILOBYTE)


def _moment(value: object) -> datetime:
    return moments.floor(moments.parse(_string(value))[0])


_CHECKS: dict[str, Callable[[object], object]] = {
    "channel": channel_name,
    "dedup_key": identifier,
    "kind": _matching(_KIND, "a-z 0-9 _ . -"),
    "subject": lambda value: _line(value, _KILOBYTE),
    "body": lambda value: _text(value, 64 * _KILOBYTE),
    "recipient": _recipient,
    "finding_id": identifier,
    "payload": _payload,
    "suppress": lambda value: _line(value, _KILOBYTE),
    "deliver_by": _moment,
}
_REQUIRED = ("channel", "dedup_key", "kind", "subject", "body")


def _listed(fields: Iterable[str]) -> str:
    return ", ".join(fields)


def _named(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)


def _shown(value: object) -> str:
    text = str(value)
    return ascii(text if len(text) <= 80 else text[:79] + "…")
