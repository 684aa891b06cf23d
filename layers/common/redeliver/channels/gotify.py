"""Gotify: `POST /message` of a server of one's own, https://gotify.net/api-docs."""

from collections.abc import Mapping
from typing import Any, ClassVar

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.document import Document, Field
from redeliver.channels.http import json_post, reply, text
from redeliver.channels.rules import token
from redeliver.channels.severity import Severity, worst
from redeliver.channels.text import Layout, utf8
from redeliver.channels.titled import Titled
from redeliver.channels.transport import Answer
from redeliver.channels.urls import base
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome

_PATH = "/message"

# Title and message are columns of type `text` (model/message.go), and MySQL's holds 65,535 bytes.
LONGEST_TEXT = 65_535

# The Android app is silent at 0, shows an icon from 1, sounds from 4, and vibrates from 8
# (https://github.com/gotify/android, "Message Priorities").
_PRIORITIES = {
    Severity.INFO: 1,
    Severity.LOW: 3,
    Severity.MEDIUM: 5,
    Severity.HIGH: 8,
    Severity.CRITICAL: 10,
}

# https://gotify.net/docs/msgextras: never Markdown, whatever a client takes for the default.
_PLAIN = {"client::display": {"contentType": "text/plain"}}
_WRITTEN = Titled(Layout(longest=LONGEST_TEXT, unit=utf8), LONGEST_TEXT)


def _code(answer: Answer) -> str:
    """Return the `errorCode` of a refusal; of a success, whether it holds the message that was made."""
    parsed = reply(answer)
    if answer.status in SUCCESS:
        return "message" if text(parsed.get("id")) else ""
    return text(parsed.get("errorCode"))


ANSWERS = Answers(
    # Statuses: the swagger of `createMessage` in api/message.go, and auth/authentication.go. Bodies: error/handler.go.
    source="https://github.com/gotify/server",
    code=_code,
    code_name="`errorCode`",
    rows=(
        Row(SUCCESS, "message", Means.DELIVERED, note="the message with its `id`"),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "something else than Gotify has answered"),
        Row(400, "400", Means.REJECT, "refused", "`errorDescription` says why"),
        Row(401, None, Means.CREDENTIALS, note="no such application: also when it has been deleted"),
        Row(403, None, Means.CREDENTIALS, note="not the token of an application"),
    ),
)


class Gotify:
    """One application of a Gotify server."""

    fields: ClassVar[Mapping[str, Field]] = {
        "url": Field(base(_PATH)),
        "token": Field(token("an application's token, as the Gotify server shows it"), secret=True),
    }
    answers = (ANSWERS,)
    capacity = LONGEST_TEXT

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url = f"{document.own['url']}{_PATH}"
        self._headers = {"X-Gotify-Key": document.own["token"]}
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the bytes of a digest's entry."""
        return _WRITTEN.weigh(record)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send one message."""
        title, message = _WRITTEN.write(dispatch)
        fields: dict[str, Any] = {"title": title} if title else {}  # without one, the application's name
        fields |= {"message": message, "extras": _PLAIN}
        severity = worst(dispatch.members)
        if severity in _PRIORITIES:
            fields["priority"] = _PRIORITIES[severity]
        post = json_post(self._url, fields, self._headers, allow_private=self._allow_private)
        return ANSWERS.send(attempt, post)
