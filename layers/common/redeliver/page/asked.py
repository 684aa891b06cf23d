"""What a call of the widget asks for, field by field: whoever may invoke the function may write anything into it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from redeliver.core import moments
from redeliver.core.notification import OPEN, Key, Status
from redeliver.operator.paging import Cursor, Entry
from redeliver.operator.search import DEAD, Filter

ANY = "any"
# The choices of the form, in its order.
STATUSES: Mapping[str, tuple[str, frozenset[Status]]] = {
    ANY: ("any status", frozenset()),
    "waiting": ("waiting", OPEN),
    "sent": ("sent", frozenset({Status.SENT})),
    "dead": ("dead letters", DEAD),
    "suppressed": ("suppressed", frozenset({Status.SUPPRESSED})),
    "pending": ("pending", frozenset({Status.PENDING})),
    "retrying": ("retrying", frozenset({Status.RETRYING})),
}
_LONGEST = 1024  # bytes of a dedup key, which is the longest there is


class InvalidAsk(ValueError):
    """The call makes no sense; the message names the field and quotes nothing."""


@dataclass(frozen=True, slots=True)
class View:
    """Which records are looked at, and from where on."""

    channel: str | None = None
    status: str = ANY
    kind: str | None = None
    cursor: Cursor = field(default_factory=Cursor)

    @property
    def wanted(self) -> Filter:
        """Return the filter."""
        return Filter(channel=self.channel, statuses=STATUSES[self.status][1], kind=self.kind)


@dataclass(frozen=True, slots=True)
class Asked:
    """A call: the list of a view, or of one record in it the story, or a redrive."""

    view: View
    key: Key | None = None
    redrive: bool = False
    insisted: bool = False


def read(event: Mapping[str, Any]) -> Asked:
    """Return what an event asks for; raises InvalidAsk."""
    do = event.get("do")
    if do not in (None, "list", "story", "redrive"):
        raise InvalidAsk("do: must be list, story or redrive")
    if do is None:
        return Asked(_entered(event))
    view = _view(_object(event, "view"))
    if do == "list":
        return Asked(view)
    key = Key(_text(event, "channel") or "", _text(event, "dedup_key") or "")
    if not (key.channel and key.dedup_key):
        raise InvalidAsk("channel, dedup_key: are required")
    return Asked(view, key, do == "redrive", event.get("insisted") is True)


def of_view(view: View) -> dict[str, object]:
    """Return a view as it is carried from one call to the next."""
    named = {"channel": view.channel, "status": view.status, "kind": view.kind, "cursor": _of_cursor(view.cursor)}
    return {name: value for name, value in named.items() if value}


def _entered(event: Mapping[str, Any]) -> View:
    """Return the view of a widget that is opened, refreshed, or whose form was filled in; the form goes first."""
    forms = _object(_object(event, "widgetContext"), "forms")
    entered = _object(forms, "all")
    return _view({name: entered.get(name, event.get(name)) for name in ("channel", "status", "kind")})


def _view(given: Mapping[str, Any]) -> View:
    status = _text(given, "status") or ANY
    if status not in STATUSES:
        raise InvalidAsk(f"status: must be one of {', '.join(STATUSES)}")
    return View(_text(given, "channel"), status, _text(given, "kind"), _cursor(_object(given, "cursor")))


def _cursor(given: Mapping[str, Any]) -> Cursor:
    return Cursor(_text(given, "channel"), _entry(given, "after"), _entry(given, "before"))


def _entry(given: Mapping[str, Any], name: str) -> Entry | None:
    entry = _object(given, name)
    if not entry:
        return None
    channel, key, at = _text(entry, "channel"), _text(entry, "dedup_key"), entry.get("at")
    if not channel or not key or type(at) is not int:
        raise InvalidAsk(f"cursor: {name} must have channel, dedup_key and at")
    return Entry(_moment(at), Key(channel, key))


def _moment(seconds: int) -> datetime:
    try:
        return moments.from_epoch(seconds)
    except ValueError:
        raise InvalidAsk("cursor: at must be a moment") from None


def _of_cursor(cursor: Cursor) -> dict[str, object]:
    named = {"channel": cursor.channel, "after": _of_entry(cursor.after), "before": _of_entry(cursor.before)}
    return {name: value for name, value in named.items() if value is not None}


def _of_entry(entry: Entry | None) -> dict[str, object] | None:
    if entry is None:
        return None
    key = entry.key
    return {"channel": key.channel, "dedup_key": key.dedup_key, "at": moments.to_epoch(entry.moment)}


def _object(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given.get(name) or {}
    if not isinstance(value, Mapping):
        raise InvalidAsk(f"{name}: must be an object")
    return value


def _text(given: Mapping[str, Any], name: str) -> str | None:
    """Return a text; None for a blank or absent one. A key may begin or end with blanks."""
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(_bytes(value, name)) > _LONGEST:
        raise InvalidAsk(f"{name}: must be a text of at most {_LONGEST} bytes")
    return value if name == "dedup_key" else value.strip() or None


def _bytes(value: str, name: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise InvalidAsk(f"{name}: must be text") from None
