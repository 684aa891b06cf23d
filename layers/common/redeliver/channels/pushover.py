"""Pushover: the Message API, https://pushover.net/api."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt, header_wait
from redeliver.channels.document import Document, Field
from redeliver.channels.http import form_post, reply, seconds, text
from redeliver.channels.rules import Text
from redeliver.channels.severity import Severity, worst
from redeliver.channels.text import Layout
from redeliver.channels.titled import Titled
from redeliver.channels.transport import Answer
from redeliver.channels.urls import base
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome

_OFFICIAL = "https://api.pushover.net"
_PATH = "/1/messages.json"

# https://pushover.net/api#limits, in characters of up to four bytes.
LONGEST_TEXT = 1024
LONGEST_TITLE = 250

# https://pushover.net/api#priority. 2 repeats itself until somebody confirms it, and needs `retry` and `expire`.
_PRIORITIES = {Severity.INFO: "-1", Severity.HIGH: "1", Severity.CRITICAL: "1"}

# https://pushover.net/api#friendly: after a 5xx "no sooner than 5 seconds".
SHORTEST_PAUSE = timedelta(seconds=5)

_WRITTEN = Titled(Layout(longest=LONGEST_TEXT), LONGEST_TITLE)
_REFUSALS = range(400, 500)


# A success by its `status`, and yet nobody's: every device is disabled or has no licence. Not in Pushover's document,
# but what it answers: https://github.com/influxdata/kapacitor/issues/1483, also
# https://github.com/openhab/openhab1-addons/issues/5201. Any other `info` is a remark.
_NOBODY = Row(SUCCESS, "no active devices*", Means.GONE, "no_devices", "`info` of a success that reached nobody")


def _code(answer: Answer) -> str:
    """Return `status` or `info` of a success; of a refusal the parameter that it names as refused, or "another"."""
    parsed = reply(answer)
    status, info = parsed.get("status"), text(parsed.get("info"))
    if answer.status in SUCCESS:
        if _NOBODY.covers(answer.status, info):
            return info
        return str(status) if status in (0, 1) and not isinstance(status, bool) else ""
    if status != 0 or isinstance(status, bool):
        return ""  # not from Pushover's application
    return next((name for name in ("token", "user", "message") if name in parsed), "another")


def _wait(answer: Answer, now: datetime) -> timedelta | None:
    named = header_wait(answer, now)
    if answer.status >= 500:
        return max(SHORTEST_PAUSE, named or SHORTEST_PAUSE)
    reset = answer.headers.get("X-Limit-App-Reset", "")
    if answer.status == 429 and re.fullmatch(r"\d{1,12}", reset, re.ASCII):
        return seconds(int(reset) - now.timestamp(), now) or named
    return named


ANSWERS = Answers(
    # "Response format", "Being friendly to our API" and "Limitations": a 4xx names the parameter in the body, and "will
    # not work, no matter how many times you retry it"; 429 is the application's quota of the month, whose end is in
    # X-Limit-App-Reset, in epoch seconds.
    source="https://pushover.net/api",
    code=_code,
    code_name="`status`, `info`, or the parameter that is refused",
    wait=_wait,
    rows=(
        _NOBODY,
        Row(SUCCESS, "1", Means.DELIVERED),
        Row(SUCCESS, "0", Means.RETRY, UNREADABLE),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "no `status` at all"),
        Row(429, None, Means.BUSY, note="the quota of the month; until `X-Limit-App-Reset`"),
        Row(range(500, 600), None, Means.BUSY, note="no sooner than after 5 seconds"),
        Row(_REFUSALS, "token", Means.CREDENTIALS, note="`application token is invalid`"),
        Row(_REFUSALS, "user", Means.GONE, "user_invalid", "`user identifier is not a valid user, group, …`"),
        Row(_REFUSALS, "message", Means.REJECT, "message_refused", "such as `message cannot be blank`"),
        Row(_REFUSALS, "another", Means.REJECT, "parameter_refused", "`errors` says which"),
    ),
)


class Pushover:
    """The devices of a Pushover user or group."""

    fields: ClassVar[Mapping[str, Field]] = {
        "token": Field(Text(r"[A-Za-z0-9]{30}", "an application's API token of 30 letters and digits"), secret=True),
        "user": Field(Text(r"[A-Za-z0-9]{30}", "a user or group key of 30 letters and digits"), secret=True),
        "api_base": Field(base(_PATH, _OFFICIAL), _OFFICIAL),
    }
    answers = (ANSWERS,)
    capacity = LONGEST_TEXT

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url = f"{document.own['api_base']}{_PATH}"
        self._token: str = document.own["token"]
        self._user: str = document.own["user"]
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the characters of a digest's entry."""
        return _WRITTEN.weigh(record)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send one message, as plain text."""
        title, message = _WRITTEN.write(dispatch)
        fields = {"token": self._token, "user": dispatch.recipient or self._user, "message": message}
        if title:
            fields["title"] = title  # without one, the application's name
        severity = worst(dispatch.members)
        if severity in _PRIORITIES:
            fields["priority"] = _PRIORITIES[severity]
        return ANSWERS.send(attempt, form_post(self._url, fields, allow_private=self._allow_private))
