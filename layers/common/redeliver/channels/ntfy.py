"""ntfy: publishing as JSON, https://docs.ntfy.sh/publish/#publish-as-json."""

import base64
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.document import Document, Field, InvalidDocument
from redeliver.channels.http import reply, text
from redeliver.channels.rules import Text, token
from redeliver.channels.severity import Severity, worst
from redeliver.channels.text import Layout, cut
from redeliver.channels.transport import Answer, Post
from redeliver.channels.urls import base
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome

_OFFICIAL = "https://ntfy.sh"
_PATH = "/"  # the topic is in the JSON

# A message of 4096 bytes is one too long already, and becomes an attachment (`util.Peek`, `handlePublishBody`); all of
# the JSON may be twice that (`transformBodyJSON`). Everything is counted in JSON's bytes, which are never fewer.
LONGEST_MESSAGE = 4095
LONGEST_TITLE = 1024
LONGEST_REQUEST = 8192

PRIORITIES = {Severity.CRITICAL: 5, Severity.HIGH: 4, Severity.LOW: 2, Severity.INFO: 2}  # else the default, 3
TAGS = {  # short codes of https://docs.ntfy.sh/emojis/, shown as coloured circles before the title
    Severity.CRITICAL: "red_circle",
    Severity.HIGH: "orange_circle",
    Severity.MEDIUM: "yellow_circle",
    Severity.LOW: "green_circle",
    Severity.INFO: "large_blue_circle",
}


def _json(value: object) -> bytes:
    # A lone surrogate becomes its JSON escape.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def json_bytes(part: str) -> int:
    """Return the bytes of a text as it stands in the request, without its quotes."""
    return len(_json(part)) - 2


_LAYOUT = Layout(longest=LONGEST_MESSAGE, unit=json_bytes)


def _code(answer: Answer) -> str:
    """Return ntfy's own code of an error; of a success, what happened to the message."""
    parsed = reply(answer)
    if answer.status in SUCCESS:
        return text(parsed.get("event")) if text(parsed.get("id")) else ""
    return text(parsed.get("code"))


ANSWERS = Answers(
    # `{"code", "http", "error"}`: the code's first three digits are the status. Codes of what is never asked for
    # (delays, actions, e-mail, accounts, Matrix) are left out.
    source="https://github.com/binwiederhier/ntfy/blob/main/server/errors.go",
    code=_code,
    rows=(
        Row(SUCCESS, "message", Means.DELIVERED, note="`event`"),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "no message with an id: not ntfy's answer"),
        Row(400, "40007", Means.REJECT, "invalid_message", "priority"),
        Row(400, "40009", Means.GONE, "topic_invalid", "topic invalid"),
        Row(400, "40010", Means.GONE, "topic_invalid", "topic name is not allowed"),
        Row(400, "40011", Means.REJECT, "encoding", "message must be UTF-8 encoded"),
        Row(400, "40014", Means.REJECT, "too_long", "attachments not allowed: what a long message would become"),
        Row(400, "40017", Means.REJECT, "invalid_message", "request body must be message JSON"),
        Row(400, "40024", Means.REJECT, "invalid_message", "request body must be valid JSON"),
        Row(401, None, Means.CREDENTIALS, note="40101, unauthorized"),
        Row(403, None, Means.CREDENTIALS, note="40301, forbidden: no right to write to the topic"),
        Row(413, "41301", Means.REJECT, "too_long", "attachment too large"),
        Row(413, "41303", Means.REJECT, "too_long", "JSON body too large"),
        Row(429, None, Means.BUSY, note="42901 requests, 42905 bandwidth, 42908 daily messages, 42909 failed logins"),
        Row(507, "50701", Means.RETRY, "no_subscriber", "a UnifiedPush topic without a device"),
    ),
)


class Ntfy:
    """A topic of an ntfy server, or as many as there are recipients."""

    fields: ClassVar[Mapping[str, Field]] = {
        "server": Field(base(_PATH, _OFFICIAL), _OFFICIAL),
        # Whoever knows a topic of a public server can read it: "the topic is essentially a password".
        "topic": Field(Text(r"[-_A-Za-z0-9]{1,64}", "a topic: 1 to 64 letters, digits, - and _"), secret=True),
        "token": Field(token("an access token such as tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"), None, secret=True),
        "user": Field(Text(r"[^:\x00-\x1f\x7f]{1,255}", "a user name without a colon"), None),
        "password": Field(Text(r"[^\x00-\x1f\x7f]{1,255}", "one line of at most 255 characters"), None, secret=True),
    }
    answers = (ANSWERS,)
    capacity = LONGEST_MESSAGE

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url = f"{document.own['server']}{_PATH}"
        self._topic: str = document.own["topic"]
        self._headers = {"Content-Type": "application/json", **_authorization(document.own)}
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the JSON bytes of a digest's entry."""
        return _LAYOUT.weigh(record)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Publish one message to the recipient's topic, or to the channel's."""
        message = {"topic": dispatch.recipient or self._topic, **_content(dispatch), **_urgency(dispatch)}
        return ANSWERS.send(attempt, Post(self._url, _json(message), self._headers, self._allow_private))


def _authorization(own: Mapping[str, Any]) -> Mapping[str, str]:
    if own["token"] and (own["user"] or own["password"]):
        raise InvalidDocument("token and user cannot be used together: leave one of them out")
    if bool(own["user"]) != bool(own["password"]):
        raise InvalidDocument("user and password must both be there, or neither")
    if own["token"]:
        return {"Authorization": f"Bearer {own['token']}"}
    if own["user"]:
        pair = f"{own['user']}:{own['password']}".encode("utf-8", "replace")
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}


def _content(dispatch: Dispatch) -> Mapping[str, str]:
    """Return title and message: the apps show the title in bold, and nothing in either is taken for markup."""
    members = dispatch.members
    if dispatch.digest:
        title = f"{len(members)} notification{'s' if len(members) > 1 else ''}"
        return {"title": title, "message": _LAYOUT.digest(members)}
    record = members[0]
    if not record.body.strip():  # an empty message would say "triggered"
        return {"message": cut(record.subject, LONGEST_MESSAGE, json_bytes)}
    title = cut(record.subject, LONGEST_TITLE, json_bytes)
    return {"title": title, "message": cut(record.body, LONGEST_MESSAGE, json_bytes)}


def _urgency(dispatch: Dispatch) -> Mapping[str, Any]:
    severity = worst(dispatch.members)
    priority = {"priority": PRIORITIES[severity]} if severity in PRIORITIES else {}
    return {**priority, "tags": [TAGS[severity]]} if severity in TAGS else priority
