"""Telegram: `sendMessage` of the Bot API, https://core.telegram.org/bots/api#sendmessage."""

import html
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, ClassVar

from redeliver.channels.attempt import Attempt, header_wait
from redeliver.channels.document import Choice, Document, Field, Text, Url
from redeliver.channels.transport import Answer, NoAnswer, Post
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import (
    CREDENTIALS_REFUSED,
    Delivered,
    Gone,
    Outcome,
    Reject,
    Retry,
    from_status,
    parse_retry_after,
)

# Telegram counts characters after it has parsed the markup, and counts them in UTF-16 units where it gives offsets.
# The units of the whole text are never fewer.
LONGEST_TEXT = 4096

# Telegram gives no code but the status: its descriptions are fixed texts of the Bot API server,
# https://github.com/tdlib/telegram-bot-api (Client.cpp), collected in https://github.com/TelegramBotAPI/errors. They
# are compared from their beginning, without case. The server turns errors that it does not know into a 400, so a 400
# that is not listed here says nothing of the message: it is tried again, as any other status.
_UNPARSABLE = "bad request: can't parse entities"
_REFUSALS: tuple[tuple[str, type[Reject] | type[Gone], str], ...] = (
    (_UNPARSABLE, Reject, "markup"),
    ("bad request: message is too long", Reject, "too_long"),
    ("bad request: message text is empty", Reject, "empty"),
    ("bad request: text must be non-empty", Reject, "empty"),
    ("bad request: text must be encoded in utf-8", Reject, "encoding"),
    ("bad request: chat not found", Gone, "chat_not_found"),
    ("bad request: chat_id is empty", Gone, "chat_not_found"),
    ("bad request: user not found", Gone, "chat_not_found"),
    ("bad request: peer_id_invalid", Gone, "chat_not_found"),
    ("bad request: group chat was deactivated", Gone, "chat_deactivated"),
    ("bad request: group is deactivated", Gone, "chat_deactivated"),
    # blocked, kicked, deactivated, not a member, cannot initiate a conversation: all of the chat, not of the message
    ("forbidden", Gone, "forbidden"),
)


class Telegram:
    """A Telegram chat, or as many as there are recipients."""

    fields: ClassVar[Mapping[str, Field]] = {
        "bot_token": Field(
            Text(r"\d{3,20}:[A-Za-z0-9_-]{8,100}", "a bot token such as 123456789:AA…, as @BotFather gives it"),
            secret=True,
        ),
        "chat_id": Field(
            Text(r"-?\d{1,19}|@[A-Za-z0-9_]{4,64}", "a chat's number such as -1001234567890, or @name of a public one")
        ),
        "api_base": Field(Url(), "https://api.telegram.org"),
        "parse_mode": Field(Choice(("none", "HTML", "MarkdownV2", "Markdown")), "none"),
    }
    capacity = LONGEST_TEXT

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url = f"{document.own['api_base'].rstrip('/')}/bot{document.own['bot_token']}/sendMessage"
        self._chat_id: str = document.own["chat_id"]
        self._parse_mode: str | None = None if document.own["parse_mode"] == "none" else document.own["parse_mode"]
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the UTF-16 units of a digest's entry, with a heading as if no other record shared it."""
        heading = _heading(record.kind, LONGEST_TEXT, self._parse_mode)  # no count is wider
        return min(_units(f"{heading}\n{_entry(record)}\n\n"), LONGEST_TEXT)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send one message: once more to the new chat when a group has moved, once more as plain text when
        Telegram cannot parse the markup.
        """
        message = _Message(dispatch.recipient or self._chat_id, self._text(dispatch), self._parse_mode)
        result = self._ask(message, attempt)
        if isinstance(result, Answer) and (moved_to := _parameters(result).get("migrate_to_chat_id")):
            message = _Message(str(moved_to), message.text, message.parse_mode)
            result = self._ask(message, attempt)
        if isinstance(result, Answer) and self._parse_mode and _description(result).startswith(_UNPARSABLE):
            result = self._ask(_Message(message.chat_id, message.text, None), attempt)
        return result.outcome if isinstance(result, NoAnswer) else _outcome(result, attempt.now())

    def _ask(self, message: "_Message", attempt: Attempt) -> Answer | NoAnswer:
        post = Post(self._url, message.body, {"Content-Type": "application/json"}, self._allow_private)
        return attempt.post(lambda _: post, _named_wait)

    def _text(self, dispatch: Dispatch) -> str:
        if not dispatch.digest:
            return _fit("\n\n".join(part for part in (dispatch.members[0].subject, dispatch.members[0].body) if part))
        by_kind = groupby(sorted(dispatch.members, key=lambda record: record.kind), key=lambda record: record.kind)
        groups = [(kind, list(records)) for kind, records in by_kind]
        return _fit(
            "\n\n".join(
                "\n".join([_heading(kind, len(records), self._parse_mode), *map(_entry, records)])
                for kind, records in groups
            )
        )


@dataclass(frozen=True, slots=True)
class _Message:
    chat_id: str
    text: str
    parse_mode: str | None

    @property
    def body(self) -> bytes:
        fields: dict[str, object] = {"chat_id": self.chat_id, "text": self.text}
        fields["link_preview_options"] = {"is_disabled": True}
        if self.parse_mode:
            fields["parse_mode"] = self.parse_mode
        return json.dumps(fields).encode()


def _outcome(answer: Answer, now: datetime) -> Outcome:
    reply = _reply(answer)
    if 200 <= answer.status <= 299:
        if reply.get("ok") is True:
            return Delivered()
        # A success that cannot be read may have been one.
        return Retry("unreadable_answer", f"no ok in {answer.text}", maybe_delivered="ok" not in reply)
    if answer.status in (401, 404):  # 404 is what a token without its shape gets
        return Retry(CREDENTIALS_REFUSED, answer.text)
    if answer.status in (400, 403):
        for beginning, refusal, reason in _REFUSALS:
            if _description(answer).startswith(beginning):
                return refusal(reason, answer.text)
    return from_status(answer.status, answer.text, _named_wait(answer, now))


def _named_wait(answer: Answer, now: datetime) -> timedelta | None:
    return parse_retry_after(_parameters(answer).get("retry_after"), now) or header_wait(answer, now)


def _reply(answer: Answer) -> Mapping[str, Any]:
    try:
        reply = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return reply if isinstance(reply, dict) else {}


def _parameters(answer: Answer) -> Mapping[str, Any]:
    parameters = _reply(answer).get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def _description(answer: Answer) -> str:
    return str(_reply(answer).get("description", "")).casefold()


def _heading(kind: str, count: int, parse_mode: str | None) -> str:
    heading = f"{kind} ({count})"
    match parse_mode:
        case "HTML":
            return html.escape(heading)
        case "MarkdownV2":  # https://core.telegram.org/bots/api#markdownv2-style
            return re.sub(r"([_*\[\]()~`>#+=|{}.!-])", r"\\\1", heading)
        case "Markdown":
            return re.sub(r"([_*`\[])", r"\\\1", heading)
    return heading


def _entry(record: Notification) -> str:
    return f"• {record.subject}\n{record.body}" if record.body else f"• {record.subject}"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fit(text: str) -> str:
    """Return at most LONGEST_TEXT units of the text, with a mark where it was cut: not within a character."""
    if _units(text) <= LONGEST_TEXT:
        return text
    # Half a surrogate pair at the end does not decode, and goes.
    encoded = text.encode("utf-16-le", "replace")[: 2 * (LONGEST_TEXT - 1)]
    kept = len(encoded.decode("utf-16-le", "ignore"))
    for _ in range(16):  # what belongs to the character before it; nobody writes more of that
        if not _joins(text[kept]) and text[kept - 1] != "\u200d":
            break
        kept -= 1
    return f"{text[:kept]}…"


def _joins(character: str) -> bool:
    modifier = "\U0001f3fb" <= character <= "\U0001f3ff"
    return modifier or character in "\u200d\ufe0e\ufe0f" or unicodedata.combining(character) != 0
