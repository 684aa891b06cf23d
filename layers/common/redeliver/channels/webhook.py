"""Webhooks, signed by the Standard Webhooks scheme, https://www.standardwebhooks.com (version 1.0.0)."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from redeliver.channels.answers import Answers, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.document import Document, Field
from redeliver.channels.rules import Headers, OneOrMore, Schema
from redeliver.channels.transport import Post
from redeliver.channels.urls import Url
from redeliver.core.notification import Dispatch, Notification, message_id
from redeliver.core.outcome import Outcome

LARGEST_DIGEST = 200 * 1024  # bytes of members; one member alone may be larger
LONGEST_DIGEST = 100  # members
MOST_SECRETS = 4  # an old and a new one while a secret is replaced, and some room

ANSWERS = Answers(
    source="https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    rows=(
        Row(401, None, Means.CREDENTIALS),
        Row(403, None, Means.CREDENTIALS),
    ),
)

_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    }
)


@dataclass(frozen=True, slots=True)
class SigningSecret:
    """The key of the scheme: 24 to 64 bytes, spelled as base64 behind `whsec_`."""

    allowed: str = "whsec_ and the base64 of 24 to 64 random bytes"

    @property
    def schema(self) -> Schema:
        """Return its shape: so much base64 is 24 to 64 bytes."""
        groups = r"(?:[A-Za-z0-9+/]{4})"
        return {
            "type": "string",
            "pattern": rf"^\s*whsec_(?:{groups}{{8,21}}|{groups}{{8,20}}[A-Za-z0-9+/]{{3}}=|{groups}{{8,21}}"
            r"[A-Za-z0-9+/]{2}==)\s*$",
        }

    def read(self, value: Any) -> bytes:
        """Return the key."""
        if not isinstance(value, str) or not value.startswith("whsec_"):
            raise ValueError
        key = base64.b64decode(value.removeprefix("whsec_"), validate=True)
        if not 24 <= len(key) <= 64:
            raise ValueError
        return key

    def secrets(self, value: Any) -> Iterator[str]:
        """Return the base64 of the key."""
        yield base64.b64encode(value).decode()


class Webhook:
    """An address that takes signed JSON."""

    fields: ClassVar[Mapping[str, Field]] = {
        "url": Field(Url(), secret=True),
        "secret": Field(OneOrMore(SigningSecret(), MOST_SECRETS), (), secret=True),
        "headers": Field(Headers(_OURS), {}, secret=True),
    }
    answers = (ANSWERS,)
    capacity = LARGEST_DIGEST

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url: str = document.own["url"]
        self._keys: tuple[bytes, ...] = document.own["secret"]
        self._headers: dict[str, str] = document.own["headers"]
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the bytes of a digest's member; a small one counts as its share of the members allowed."""
        share = LARGEST_DIGEST // LONGEST_DIGEST
        return min(max(share, len(_bytes(_data(record))) + 1), LARGEST_DIGEST)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Post; the receiver knows the message again by its id, so a try without an answer may be repeated."""
        id_, body = _digest(dispatch) if dispatch.digest else _single(dispatch.members[0])

        def compose(now: datetime) -> Post:
            headers = {**self._headers, "Content-Type": "application/json", **self._signed(id_, body, now)}
            return Post(self._url, body, headers, self._allow_private, repeatable=True)

        return ANSWERS.send(attempt, compose)

    def _signed(self, id_: str, body: bytes, now: datetime) -> dict[str, str]:
        timestamp = str(int(now.timestamp()))
        headers = {"webhook-id": id_, "webhook-timestamp": timestamp}
        if self._keys:
            signed = f"{id_}.{timestamp}.".encode() + body
            signatures = (hmac.digest(key, signed, hashlib.sha256) for key in self._keys)
            headers["webhook-signature"] = " ".join(f"v1,{base64.b64encode(each).decode()}" for each in signatures)
        return headers


def _single(record: Notification) -> tuple[str, bytes]:
    return message_id(record), _bytes(_envelope(record.kind, record.created_at, _data(record)))


def _digest(dispatch: Dispatch) -> tuple[str, bytes]:
    members = ",".join(_data(record) for record in dispatch.members)
    data = f'{{"batch_id":{_json(dispatch.batch_id)},"notifications":[{members}]}}'
    newest = max(record.created_at for record in dispatch.members)
    return dispatch.batch_id, _bytes(_envelope("digest", newest, data))


def _envelope(type_: str, timestamp: datetime, data: str) -> str:
    return f'{{"type":{_json(type_)},"timestamp":{_json(_rfc_3339(timestamp))},"data":{data}}}'


def _data(record: Notification) -> str:
    """Return the request's fields as JSON; the payload is JSON text and stays as the caller spelled it."""
    fields = {
        "id": message_id(record),
        "channel": record.channel,
        "dedup_key": record.dedup_key,
        "kind": record.kind,
        "subject": record.subject,
        "body": record.body,
        "recipient": record.recipient,
        "finding_id": record.finding_id,
        "deliver_by": record.deliver_by and _rfc_3339(record.deliver_by),
    }
    text = _json({name: value for name, value in fields.items() if value is not None})
    return text if record.payload is None else f'{text[:-1]},"payload":{record.payload}}}'


def _rfc_3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _bytes(text: str) -> bytes:
    # A lone surrogate becomes its JSON escape.
    return text.encode("utf-8", "backslashreplace")
