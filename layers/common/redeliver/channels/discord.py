"""Discord: its webhooks, https://docs.discord.com/developers/resources/webhook#execute-webhook."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt, header_wait
from redeliver.channels.document import Document, Field
from redeliver.channels.http import json_post, reply, seconds, text
from redeliver.channels.rules import Schema, Text
from redeliver.channels.severity import COLOURS, worst
from redeliver.channels.text import Layout, utf16
from redeliver.channels.transport import Answer
from redeliver.channels.urls import Url
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome

VERSION = "v10"
# https://docs.discord.com/developers/resources/message#embed-object-embed-limits: 4096 characters of description; with
# the footer, a kind, far below the 6000 of all embeds. They are code points
# (https://github.com/discord/discord-api-docs/issues/1315); others have measured less for emoji, and UTF-16 units are
# never fewer.
LONGEST_TEXT = 4096

_PATH = re.compile(r"(/(?:.+/)?api)(?:/v\d{1,3})?/webhooks/(\d{1,20})/([A-Za-z0-9_-]{1,200})/?", re.ASCII)


def _escape(part: str) -> str:
    # A backslash takes the meaning of any mark, also of a list (`1.`, `+`) and of a name of an emoji (`:fire:`); with
    # one before its colon, no address is linked by itself.
    return re.sub(r"([\\*_~`|<>\[\]#@:.+-])", r"\\\1", part)


# `<…>`: all of it is the address, whatever is in it or follows, and it has no preview.
_LAYOUT = Layout(
    longest=LONGEST_TEXT, unit=utf16, escape=_escape, bold=("**", "**"), link=lambda address: f"<{address}>"
)


@dataclass(frozen=True, slots=True)
class WebhookUrl(Url):
    """The address of a webhook as Discord gives it, with or without a version; read as that of ours."""

    allowed: str = "https:// and discord.com/api/webhooks/<id>/<token>, as Discord gives it (thread_id is a field)"

    @property
    def schema(self) -> Schema:
        """Return its shape."""
        start = r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^\s@\\/?#]+(/[^\s\\?#]+)?/api(/v\d{1,3})?"
        return {"type": "string", "pattern": rf"{start}/webhooks/\d{{1,20}}/[A-Za-z0-9_-]{{1,200}}/?\s*$"}

    def read(self, value: Any) -> str:
        """Return the address with the version that the table of answers is for."""
        parts = urlsplit(Url.read(self, value))
        found = _PATH.fullmatch(parts.path)
        if not found or parts.query or parts.fragment:
            raise ValueError
        return f"{parts.scheme}://{parts.netloc}{found[1]}/{VERSION}/webhooks/{found[2]}/{found[3]}"


def _code(answer: Answer) -> str:
    """Return the JSON code, or `message` where a success is the message that was made."""
    parsed = reply(answer)
    if answer.status in SUCCESS:
        return "message" if text(parsed.get("id")) else ""
    return text(parsed.get("code"))


def _wait(answer: Answer, now: datetime) -> timedelta | None:
    # The body is more precise than the header; the edge, which answers in HTML, has only the header.
    return seconds(reply(answer).get("retry_after"), now) or header_wait(answer, now)


ANSWERS = Answers(
    # The limits: https://docs.discord.com/developers/topics/rate-limits
    source="https://docs.discord.com/developers/topics/opcodes-and-status-codes#json-json-error-codes",
    code=_code,
    wait=_wait,
    rows=(
        Row(SUCCESS, "message", Means.DELIVERED, note="the message, as `wait=true` asks for"),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "no message in it"),
        Row(None, "10015", Means.GONE, "unknown_webhook", "the webhook has been deleted"),
        Row(None, "10003", Means.GONE, "unknown_channel", "so has the thread, or the channel"),
        Row(None, "50027", Means.CREDENTIALS, note="invalid webhook token"),
        Row(401, None, Means.CREDENTIALS),
        Row(None, "50006", Means.REJECT, "empty"),
        Row(None, "50035", Means.REJECT, "invalid_form_body", "a length, mostly"),
        Row(None, "50109", Means.REJECT, "invalid_json"),
        Row(None, "40005", Means.REJECT, "too_large"),
        Row(None, "20009", Means.REJECT, "explicit_content"),
        Row(None, "200000", Means.REJECT, "blocked", "by automatic moderation"),
        Row(None, "240000", Means.REJECT, "harmful_links"),
        Row(None, "220001", Means.RETRY, "thread_needed", "a forum: the channel document needs thread_id"),
        Row(None, "40004", Means.RETRY, "disabled", "sending has been disabled temporarily"),
        Row(None, "20028", Means.BUSY, "write_limit", "of the channel"),
        Row(None, "20029", Means.BUSY, "write_limit", "of the server"),
        Row(None, "40062", Means.BUSY, "service_limit"),
        Row(None, "130000", Means.BUSY, "overloaded"),
        Row(429, None, Means.BUSY, note="`retry_after` with its fraction, `global` or not; else `Retry-After`"),
    ),
)


class Discord:
    """A webhook's channel, or threads of it."""

    fields: ClassVar[Mapping[str, Field]] = {
        "url": Field(WebhookUrl(), secret=True),
        "thread_id": Field(Text(r"\d{1,20}", "a thread's number such as 1134639024703815690", number=True), None),
    }
    answers = (ANSWERS,)
    capacity = LONGEST_TEXT

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url: str = document.own["url"]
        self._thread_id: str | None = document.own["thread_id"]
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the UTF-16 units of a digest's entry."""
        return _LAYOUT.weigh(record)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send one message; a recipient is a thread's number."""
        thread = dispatch.recipient or self._thread_id
        query = {"wait": "true", **({"thread_id": thread} if thread else {})}
        url = f"{self._url}?{urlencode(query)}"
        return ANSWERS.send(attempt, json_post(url, _message(dispatch), allow_private=self._allow_private))


def _message(dispatch: Dispatch) -> dict[str, Any]:
    """Return an embed: the only text with a colour, and one whose links have no previews."""
    embed = {"description": _LAYOUT.write(dispatch), "color": COLOURS[worst(dispatch.members)]}
    if not dispatch.digest:
        embed["footer"] = {"text": dispatch.members[0].kind}
    return {"embeds": [embed], "allowed_mentions": {"parse": []}}
