"""PagerDuty: alert events of the Events API v2, https://developer.pagerduty.com/docs/events-api-v2/trigger-events/."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from typing import Any, ClassVar

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.document import Document, Field
from redeliver.channels.http import reply, text
from redeliver.channels.rules import Choice, Text, line
from redeliver.channels.severity import Severity, severity_of
from redeliver.channels.text import by_kind, cut, heading, utf8, utf16
from redeliver.channels.transport import Answer, Post
from redeliver.channels.urls import base
from redeliver.core.notification import Dispatch, Notification, message_id
from redeliver.core.outcome import Delivered, Outcome

# https://developer.pagerduty.com/docs/events-api-v2/overview/#size-limits
LARGEST_EVENT = 512_000  # bytes of JSON
LARGEST_DIGEST = 400_000  # of them, the members
LONGEST_BODY = 256_000  # of them, one body: more than any, unless it is made of control characters
LONGEST_PAYLOAD = 64_000
LONGEST_SUMMARY = 1024
LONGEST_DEDUP_KEY = 255

_OFFICIAL = "https://events.pagerduty.com"
_PATH = "/v2/enqueue"

TRIGGER, RESOLVE = "trigger", "resolve"
ACTIONS = (TRIGGER, "acknowledge", RESOLVE)
SEVERITIES = ("info", "warning", "error", "critical")  # the worst last
OURS = {
    Severity.INFO: "info",
    Severity.LOW: "info",
    Severity.MEDIUM: "warning",
    Severity.HIGH: "error",
    Severity.CRITICAL: "critical",
}


def _code(answer: Answer) -> str:
    """Return what is wrong with an event, in PagerDuty's fixed words; of a success, its `status`."""
    parsed = reply(answer)
    if answer.status in SUCCESS:
        return text(parsed.get("status"))
    errors = parsed.get("errors")
    first = text(errors[0]) if isinstance(errors, list) and errors else ""
    return first or text(parsed.get("message"))


ANSWERS = Answers(
    source="https://developer.pagerduty.com/docs/events-api-v2/overview/#response-codes--retry-logic",
    code=_code,
    code_name="error",
    rows=(
        Row(SUCCESS, "success", Means.DELIVERED, note="`status`"),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "no `status` at all; the dedup key makes a repetition harmless"),
        Row(400, "Invalid routing key*", Means.CREDENTIALS),
        Row(400, "Length of 'routing_key' is incorrect*", Means.CREDENTIALS),
        Row(400, "'routing_key' *", Means.CREDENTIALS),
        Row(400, "'summary' is too long*", Means.REJECT, "too_long"),
        Row(400, "", Means.RETRY, note="without PagerDuty's JSON: somebody else's answer"),
        Row(400, None, Means.REJECT, "invalid_event", "not to be retried"),
        Row(429, None, Means.BUSY, note="names no wait: the record's own backoff"),
    ),
)


class PagerDuty:
    """A service or a ruleset of PagerDuty."""

    fields: ClassVar[Mapping[str, Field]] = {
        "routing_key": Field(
            Text(r"[A-Za-z0-9]{32}", "an integration key of the Events API v2: 32 letters and digits"), secret=True
        ),
        "api_base": Field(base(_PATH, _OFFICIAL), _OFFICIAL),
        "severity": Field(Choice(SEVERITIES), "error"),
        "source": Field(line(255), "redeliver"),
    }
    answers = (ANSWERS,)
    capacity = LARGEST_DIGEST

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url = f"{document.own['api_base']}{_PATH}"
        self._routing_key: str = document.own["routing_key"]
        self._severity: str = document.own["severity"]
        self._source: str = document.own["source"]
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the JSON bytes of a digest's member, with a heading of its own."""
        head = heading(record.kind, LARGEST_DIGEST)
        return min(len(_json({head: [_entry(record)]})), LARGEST_DIGEST)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send one event; PagerDuty knows it again by its dedup key, so a try without an answer may be repeated."""
        event = self._digest(dispatch) if dispatch.digest else self._single(dispatch.members[0])
        body = _json({"routing_key": self._routing_key, **event})
        headers = {"Content-Type": "application/json"}
        outcome = ANSWERS.send(attempt, Post(self._url, body, headers, self._allow_private, repeatable=True))
        if isinstance(outcome, Delivered) and event["event_action"] == TRIGGER and not dispatch.digest:
            undo = _json({"event_action": RESOLVE, "dedup_key": event["dedup_key"]}).decode()
            return replace(outcome, resolve_with=undo)
        return outcome

    def _single(self, record: Notification) -> Mapping[str, Any]:
        action, key = _action(record), _dedup_key(record)
        if action != TRIGGER:  # all that PagerDuty looks at
            return {"event_action": action, "dedup_key": key}
        details = {"id": message_id(record), **_text_of(record), "finding_id": record.finding_id}
        if record.payload is not None and len(_json(record.payload)) <= LONGEST_PAYLOAD:
            details["payload"] = record.payload
        return self._trigger(
            key,
            record.subject,
            self._severity_of(record),
            {name: value for name, value in details.items() if value is not None},
            {"class": record.kind, "timestamp": record.created_at.astimezone(UTC).isoformat()},
        )

    def _digest(self, dispatch: Dispatch) -> Mapping[str, Any]:
        """Return one alert about all members: a page each would be what a digest is there to prevent."""
        members, groups = dispatch.members, by_kind(dispatch.members)
        headings = [heading(kind, len(records)) for kind, records in groups]
        summary = f"{len(members)} notifications: {', '.join(headings)}" if len(members) > 1 else members[0].subject
        listed = {head: [_entry(each) for each in records] for head, (_, records) in zip(headings, groups, strict=True)}
        severity = max(map(self._severity_of, members), key=SEVERITIES.index)
        return self._trigger(dispatch.batch_id, summary, severity, {"batch_id": dispatch.batch_id, **listed}, {})

    def _trigger(
        self, key: str, summary: str, severity: str, details: Mapping[str, Any], more: Mapping[str, str]
    ) -> Mapping[str, Any]:
        payload = {
            "summary": cut(summary, LONGEST_SUMMARY, utf16),
            "source": self._source,
            "severity": severity,
            **more,
            "custom_details": details,
        }
        return {"event_action": TRIGGER, "dedup_key": key, "client": "redeliver", "payload": payload}

    def _severity_of(self, record: Notification) -> str:
        if _action(record) == RESOLVE:  # within a digest: good news wakes nobody up
            return SEVERITIES[0]
        word = _word(record, "severity").lower()
        return word if word in SEVERITIES else OURS.get(severity_of(record), self._severity)


def _word(record: Notification, name: str) -> str:
    """Return a text that the payload has under that name; "" if it has none."""
    try:
        payload = json.loads(record.payload or "null")
    except (ValueError, RecursionError):
        return ""
    return text(payload.get(name)).strip() if isinstance(payload, dict) else ""


def _action(record: Notification) -> str:
    word = _word(record, "event_action").lower()
    return word if word in ACTIONS else TRIGGER


def _dedup_key(record: Notification) -> str:
    """Return the alert's key: the payload's, for what follows another notification, or the notification's own."""
    key = _word(record, "dedup_key") or record.dedup_key
    if utf8(key) <= LONGEST_DEDUP_KEY:
        return key
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _entry(record: Notification) -> Mapping[str, str]:
    action = _action(record)
    acts = {} if action == TRIGGER else {"event_action": action}
    return {"subject": record.subject, **_text_of(record), **acts, "dedup_key": record.dedup_key}


def _text_of(record: Notification) -> Mapping[str, Any]:
    return {"body": cut(record.body, LONGEST_BODY, lambda part: len(_json(part)) - 2)} if record.body else {}


def _json(value: object) -> bytes:
    # A lone surrogate becomes its JSON escape.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
