"""Telegram: `sendMessage` of the Bot API, https://core.telegram.org/bots/api#sendmessage."""

import html
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt, header_wait
from redeliver.channels.document import Document, Field
from redeliver.channels.http import inner, json_post, reply, seconds, text
from redeliver.channels.rules import Choice, Text, Url
from redeliver.channels.text import Layout, utf16
from redeliver.channels.transport import Answer, NoAnswer
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Delivered, Outcome

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


_UNPARSABLE = Row(400, "Bad Request: can't parse entities*", Means.REJECT, "markup", "once more as plain text first")

ANSWERS = Answers(
    # The descriptions are fixed texts of the Bot API server (Client.cpp), collected in
    # https://github.com/TelegramBotAPI/errors. The server turns errors that it does not know into a 400, so a 400 that
    # is not listed says nothing of the message: it is tried again, as any other status.
    source="https://github.com/tdlib/telegram-bot-api",
    code=_description,
    code_name="description",
    wait=_wait,
    rows=(
        Row(SUCCESS, "ok", Means.DELIVERED),
        Row(SUCCESS, "not ok", Means.RETRY, UNREADABLE),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "no `ok` at all"),
        _UNPARSABLE,
        Row(400, "Bad Request: message is too long*", Means.REJECT, "too_long"),
        Row(400, "Bad Request: message text is empty*", Means.REJECT, "empty"),
        Row(400, "Bad Request: text must be non-empty*", Means.REJECT, "empty"),
        Row(400, "Bad Request: text must be encoded in UTF-8*", Means.REJECT, "encoding"),
        Row(400, "Bad Request: chat not found*", Means.GONE, "chat_not_found"),
        Row(400, "Bad Request: chat_id is empty*", Means.GONE, "chat_not_found"),
        Row(400, "Bad Request: user not found*", Means.GONE, "chat_not_found"),
        Row(400, "Bad Request: PEER_ID_INVALID*", Means.GONE, "chat_not_found"),
        Row(400, "Bad Request: group chat was deactivated*", Means.GONE, "chat_deactivated"),
        Row(400, "Bad Request: group is deactivated*", Means.GONE, "chat_deactivated"),
        Row(403, "Forbidden*", Means.GONE, "forbidden", "blocked, kicked, deactivated, not a member, cannot initiate"),
        Row(401, None, Means.CREDENTIALS),
        Row(404, None, Means.CREDENTIALS, note="what a token without its shape gets"),
        Row(429, None, Means.BUSY, note="`parameters.retry_after`"),
    ),
)


class Telegram:
    """A Telegram chat, or as many as there are recipients."""

    fields: ClassVar[Mapping[str, Field]] = {
        "bot_token": Field(
            Text(r"\d{3,20}:[A-Za-z0-9_-]{8,100}", "a bot token such as 123456789:AA…, as @BotFather gives it"),
            secret=True,
        ),
        "chat_id": Field(
            Text(
                r"-?\d{1,19}|@[A-Za-z0-9_]{4,64}",
                "a chat's number such as -1001234567890, or @name of a public one",
                number=True,
            )
        ),
        "api_base": Field(Url(), "https://api.telegram.org"),
        "parse_mode": Field(Choice(tuple(_LAYOUTS)), "none"),
    }
    answers = (ANSWERS,)
    capacity = LONGEST_TEXT

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url = f"{document.own['api_base'].rstrip('/')}/bot{document.own['bot_token']}/sendMessage"
        self._chat_id: str = document.own["chat_id"]
        self._parse_mode: str = document.own["parse_mode"]
        self._layout = _LAYOUTS[self._parse_mode]
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the UTF-16 units of a digest's entry."""
        return self._layout.weigh(record)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send one message: to where the chat is now, and to its new place when Telegram names that."""
        recipient = dispatch.recipient or self._chat_id
        result = self._ask(attempt.address(dispatch.channel, recipient), dispatch, attempt)
        moved_to = inner(reply(result), "parameters").get("migrate_to_chat_id") if isinstance(result, Answer) else None
        if not moved_to:
            return ANSWERS.outcome(result, attempt.now())
        outcome = ANSWERS.outcome(self._ask(str(moved_to), dispatch, attempt), attempt.now())
        if isinstance(outcome, Delivered):
            attempt.moved(dispatch.channel, recipient, str(moved_to))
        return outcome

    def _ask(self, chat_id: str, dispatch: Dispatch, attempt: Attempt) -> Answer | NoAnswer:
        """Send to a chat; once more as plain text when Telegram cannot parse the markup."""
        result = self._post(chat_id, self._layout.write(dispatch), self._parse_mode, attempt)
        unparsable = isinstance(result, Answer) and _UNPARSABLE.covers(result.status, _description(result))
        if unparsable and self._parse_mode != "none":
            return self._post(chat_id, _PLAIN.write(dispatch), "none", attempt)
        return result

    def _post(self, chat_id: str, message: str, parse_mode: str, attempt: Attempt) -> Answer | NoAnswer:
        fields = {"chat_id": chat_id, "text": message, "link_preview_options": {"is_disabled": True}}
        if parse_mode != "none":
            fields["parse_mode"] = parse_mode
        return ANSWERS.ask(attempt, json_post(self._url, fields, allow_private=self._allow_private))
