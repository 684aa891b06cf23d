"""Telegram: `sendMessage` of the Bot API, https://core.telegram.org/bots/api#sendmessage."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt, header_wait
from redeliver.channels.document import Document, Field
from redeliver.channels.http import inner, json_post, reply, seconds, text
from redeliver.channels.rules import Choice, Text
from redeliver.channels.text import Layout, utf16
from redeliver.channels.transport import Answer, NoAnswer
from redeliver.channels.urls import base
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Delivered, Outcome

_OFFICIAL = "https://api.telegram.org"
_METHOD = "/sendMessage"

# Telegram counts characters after it has parsed the markup, and counts them in UTF-16 units where it gives offsets.
# The units of the whole text, markup included, are never fewer.
LONGEST_TEXT = 4096


def _escape_html(part: str) -> str:
    return html.escape(part, quote=False)  # https://core.telegram.org/bots/api#html-style


def _escape_markdown(part: str) -> str:
    return re.sub(r"([_*\[\]()~`>#+\-=|{}.!\\])", r"\\\1", part)  # https://core.telegram.org/bots/api#markdownv2-style


_PLAIN = Layout(longest=LONGEST_TEXT, unit=utf16)
_LAYOUTS = {
    "none": _PLAIN,
    "HTML": Layout(longest=LONGEST_TEXT, unit=utf16, escape=_escape_html, bold=("<b>", "</b>")),
    "MarkdownV2": Layout(longest=LONGEST_TEXT, unit=utf16, escape=_escape_markdown, bold=("*", "*")),
}


def _description(answer: Answer) -> str:
    """Return what the table goes by: Telegram has no code but the status, and `ok` where that is a success."""
    parsed = reply(answer)
    if answer.status in SUCCESS:
        return "ok" if parsed.get("ok") is True else ("not ok" if "ok" in parsed else "")
    return text(parsed.get("description"))


def _wait(answer: Answer, now: datetime) -> timedelta | None:
    return seconds(inner(reply(answer), "parameters").get("retry_after"), now) or header_wait(answer, now)


def _bad(means: Means, reason: str, *descriptions: str, note: str = "") -> tuple[Row, ...]:
    """Return a row for each beginning of a 400's description."""
    return tuple(Row(400, f"Bad Request: {each}*", means, reason, note) for each in descriptions)


# The second is of old, the third of the layer below.
_MARKUP = _bad(
    Means.REJECT,
    "markup",
    "can't parse entities",
    "entities too long",
    "ENTITIES_TOO_LONG",
    note="once more as plain text first",
)

ANSWERS = Answers(
    # The descriptions are fixed texts of the Bot API server (Client.cpp), collected in
    # https://github.com/TelegramBotAPI/errors; those in capitals are from the layer below, named in
    # https://core.telegram.org/method/messages.sendMessage. The server turns errors that it does not
    # know into a 400, so a 400 that is not listed says nothing of the message: it is tried again, as any other status.
    # Topics: issues 693, 798 and 854 of the server; rights: its issue 863, and issue 5 of the collection.
    source="https://github.com/tdlib/telegram-bot-api",
    code=_description,
    code_name="description",
    wait=_wait,
    rows=(
        Row(SUCCESS, "ok", Means.DELIVERED),
        Row(SUCCESS, "not ok", Means.RETRY, UNREADABLE),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "no `ok` at all"),
        *_MARKUP,
        *_bad(Means.REJECT, "too_long", "message is too long", "MESSAGE_TOO_LONG"),
        *_bad(Means.REJECT, "empty", "message text is empty", "text must be non-empty", "MESSAGE_EMPTY"),
        *_bad(Means.REJECT, "encoding", "text must be encoded in UTF-8"),
        *_bad(Means.GONE, "chat_not_found", "chat not found", "chat_id is empty", "user not found", "PEER_ID_INVALID"),
        *_bad(Means.GONE, "chat_not_found", "CHAT_ID_INVALID", "CHANNEL_INVALID"),
        *_bad(Means.GONE, "chat_not_found", "CHANNEL_PRIVATE", note="the bot is not in it, or banned from it"),
        *_bad(Means.GONE, "chat_deactivated", "group chat was deactivated", "group is deactivated"),
        *_bad(Means.GONE, "topic_closed", "TOPIC_CLOSED", note="reopen it, or give the bot the right to manage topics"),
        *_bad(Means.GONE, "topic_not_found", "message thread not found", "TOPIC_DELETED"),
        *_bad(
            Means.GONE,
            "no_rights",
            "have no rights to send a message",
            "not enough rights to send",
            "CHAT_RESTRICTED",
            "CHAT_SEND_PLAIN_FORBIDDEN",
            "CHAT_WRITE_FORBIDDEN",
            note="let the bot write there",
        ),
        *_bad(
            Means.GONE,
            "no_rights",
            "need administrator rights in the channel chat",
            "CHAT_ADMIN_REQUIRED",
            note="in a channel only administrators write",
        ),
        Row(403, "Forbidden*", Means.GONE, "forbidden", "blocked, kicked, deactivated, not a member, cannot initiate"),
        Row(401, None, Means.CREDENTIALS),
        Row(404, None, Means.CREDENTIALS, note="what a token without its shape gets"),
        Row(429, None, Means.BUSY, note="`parameters.retry_after`"),
    ),
)

_WITH_TOPIC = re.compile(r"(.+):(\d{1,10})", re.ASCII)
# The General topic has this number, and is what a message without one goes to; with it, Telegram finds no thread:
# https://github.com/tdlib/telegram-bot-api/issues/798
_GENERAL = 1


@dataclass(frozen=True, slots=True)
class _Target:
    """A chat, and a topic of it if one is named."""

    chat: str
    topic: int | None

    @property
    def fields(self) -> Mapping[str, object]:
        return {"chat_id": self.chat, **({"message_thread_id": self.topic} if self.topic else {})}


def _target(chat: str, topic: str | None) -> _Target:
    return _Target(chat, None if topic is None or int(topic) == _GENERAL else int(topic))


def _recipient(recipient: str) -> _Target:
    """Return the target that a recipient names: a chat, or `chat:topic`."""
    found = _WITH_TOPIC.fullmatch(recipient)
    return _target(found[1], found[2]) if found else _target(recipient, None)


class Telegram:
    """A Telegram chat, or as many as there are recipients."""

    fields: ClassVar[Mapping[str, Field]] = {
        "bot_token": Field(
            Text(r"\d{3,20}:[A-Za-z0-9_-]{8,100}", "a bot token such as 123456789:AA…, as @BotFather gives it"),
            secret=True,
        ),
        "chat_id": Field(
            Text(
                r"-?[1-9]\d{0,18}|@[A-Za-z0-9_]{4,64}",
                "a chat's number such as -1001234567890, or @name of a public one",
                number=True,
            )
        ),
        "message_thread_id": Field(
            Text(r"[1-9]\d{0,9}", "a topic's number such as 42, the middle one of a link to it", number=True), None
        ),
        "api_base": Field(base(_METHOD, _OFFICIAL), _OFFICIAL),
        "parse_mode": Field(Choice(tuple(_LAYOUTS)), "none"),
    }
    answers = (ANSWERS,)
    capacity = LONGEST_TEXT

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url = f"{document.own['api_base']}/bot{document.own['bot_token']}{_METHOD}"
        self._target = _target(document.own["chat_id"], document.own["message_thread_id"])
        self._parse_mode: str = document.own["parse_mode"]
        self._layout = _LAYOUTS[self._parse_mode]
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the UTF-16 units of a digest's entry."""
        return self._layout.weigh(record)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send one message: to where the chat is now, and to its new place when Telegram names that."""
        target = _recipient(dispatch.recipient) if dispatch.recipient else self._target
        known = attempt.address(dispatch.channel, target.chat)
        result = self._ask(replace(target, chat=known), dispatch, attempt)
        moved_to = inner(reply(result), "parameters").get("migrate_to_chat_id") if isinstance(result, Answer) else None
        if not moved_to:
            return ANSWERS.outcome(result, attempt.now())
        moved = replace(target, chat=str(moved_to))
        outcome = ANSWERS.outcome(self._ask(moved, dispatch, attempt), attempt.now())
        if isinstance(outcome, Delivered):
            attempt.moved(dispatch.channel, target.chat, moved.chat)
        return outcome

    def _ask(self, target: _Target, dispatch: Dispatch, attempt: Attempt) -> Answer | NoAnswer:
        """Send to a chat; once more as plain text when Telegram cannot take the markup."""
        result = self._post(target, self._layout.write(dispatch), self._parse_mode, attempt)
        refused = isinstance(result, Answer) and ANSWERS.row(result) in _MARKUP
        if refused and self._parse_mode != "none":
            return self._post(target, _PLAIN.write(dispatch), "none", attempt)
        return result

    def _post(self, target: _Target, message: str, parse_mode: str, attempt: Attempt) -> Answer | NoAnswer:
        fields = {**target.fields, "text": message, "link_preview_options": {"is_disabled": True}}
        if parse_mode != "none":
            fields["parse_mode"] = parse_mode
        return ANSWERS.ask(attempt, json_post(self._url, fields, allow_private=self._allow_private))
