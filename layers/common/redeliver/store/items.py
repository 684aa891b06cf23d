"""Record ↔ item, attribute by attribute; an item that is no record becomes a value that says why (CASES 6)."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from redeliver.core import moments
from redeliver.core.notification import OPEN, UNREADABLE, Key, Notification, Row, Status, Unreadable

Item = Mapping[str, Mapping[str, Any]]
Value = dict[str, Any]

LARGEST = 400_000  # bytes; DynamoDB takes 409,600, and what an attempt comes to is written beside what is there


def _text(value: str) -> str:
    return value


def _flag(value: bool) -> bool:
    return value


def _number(value: str) -> int:
    number = int(value)  # "1.5", "1E+3", "NaN": ValueError
    if not 0 <= number < 2**53:
        raise ValueError("out of range")
    return number


def _json(value: str) -> str:
    json.loads(value)
    return value


def _moment(value: str) -> datetime:
    return moments.from_epoch(int(value))


# attribute: (DynamoDB type, how it is read, how it is written, whether every record has it)
_Codec = tuple[str, Callable[[Any], Any], Callable[[Any], Any], bool]


def _epoch(moment: datetime) -> str:
    return str(moments.to_epoch(moment))


def _string(required: bool) -> _Codec:
    return ("S", _text, str, required)


def _time(required: bool) -> _Codec:
    return ("N", _moment, _epoch, required)


def _count() -> _Codec:
    return ("N", _number, str, True)


CODECS: dict[str, _Codec] = {
    "channel": _string(True),
    "dedup_key": _string(True),
    "kind": _string(True),
    "subject": _string(True),
    "body": _string(True),
    "recipient": _string(False),
    "payload": ("S", _json, str, False),
    "finding_id": _string(False),
    "status": ("S", Status, str, True),
    "attempt_count": _count(),
    "redrive_count": _count(),
    "next_attempt_at": _time(False),
    "claimed_until": _time(False),
    "last_error": _string(False),
    "last_reason": _string(False),
    "maybe_delivered": ("BOOL", _flag, bool, False),
    "history": _string(False),
    "dispatch_batch_id": _string(False),
    "resolve_with": ("S", _json, str, False),
    "deliver_by": _time(False),
    "requested_at": _time(True),
    "created_at": _time(True),
    "updated_at": _time(True),
    "sent_at": _time(False),
    "dead_lettered_at": _time(False),
    "expires_at": _time(False),
}


def write(name: str, value: object) -> Value | None:
    """Return an attribute as DynamoDB takes it; None if the record has no such thing."""
    if value is None or value is False:
        return None
    kind, _, written, _ = CODECS[name]
    return {kind: written(value)}


def to_item(record: Notification) -> dict[str, Value]:
    """Return the whole item of a record, without its two keys."""
    item = {name: value for name in CODECS if (value := write(name, getattr(record, name))) is not None}
    item["lane"] = {"S": record.lane}
    del item["channel"], item["dedup_key"]
    return item


def from_item(item: Item) -> Row:
    """Return the record of an item, or what is wrong with it."""
    if size(item) > LARGEST:
        return _unreadable(item, f"it has more than {LARGEST} bytes: no room for what an attempt comes to")
    values: dict[str, Any] = {}
    for name, (kind, read, _, required) in CODECS.items():
        given = item.get(name)
        if given is None:
            if required:
                return _unreadable(item, f"{name} is missing")
            continue
        if kind not in given:
            return _unreadable(item, f"{name} is of type {''.join(given)}, not {kind}")
        try:
            values[name] = read(given[kind])
        except (ValueError, RecursionError):
            return _unreadable(item, f"{name} has a value that no record has")
    record = Notification(**values)
    problem = _contradiction(record, item)
    return record if problem is None else _unreadable(item, problem)


def _contradiction(record: Notification, item: Item) -> str | None:
    """Return what keeps a record from being looked at once, when it is due and by the sweep of its channel."""
    waits = record.status in OPEN
    if waits != (record.next_attempt_at is not None):  # it is never looked at, or again and again
        found = "missing" if record.next_attempt_at is None else "there"
        return f"next_attempt_at is {found}, though the status is {record.status}"
    if waits and item.get("lane") != {"S": record.lane}:
        return "lane is not that of its channel"
    return None


def size(value: object) -> int:
    """Return the bytes that an item takes, or a little more."""
    if isinstance(value, str | bytes):
        return len(value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value)
    if isinstance(value, Mapping):
        return sum(size(name) + size(inner) for name, inner in value.items())
    return sum(map(size, value)) + 1 if isinstance(value, list) else 1


def _unreadable(item: Item, problem: str) -> Unreadable:
    parked = item.get("status") == {"S": Status.DEAD_LETTERED} and item.get("last_reason") == {"S": UNREADABLE}
    return Unreadable(key_of(item), problem, parked)


def key_of(item: Item) -> Key:
    """Return the identity in an item of the table or of one of its indexes."""
    return Key(item["channel"]["S"], item["dedup_key"]["S"])
