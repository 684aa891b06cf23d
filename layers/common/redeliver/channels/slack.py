"""Slack: an incoming webhook, or `chat.postMessage` with a bot's token."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

from redeliver.channels.attempt import Attempt
from redeliver.channels.document import Document, Field, InvalidDocument
from redeliver.channels.http import json_post
from redeliver.channels.rules import Text
from redeliver.channels.severity import COLOURS, worst
from redeliver.channels.slack_answers import METHOD_ANSWERS, WEBHOOK_ANSWERS
from redeliver.channels.text import Layout, Piece, below, utf8, utf16
from redeliver.channels.transport import Post
from redeliver.channels.urls import Url, base, host_of
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome, Reject

_OFFICIAL = "https://slack.com/api"
_METHOD = "/chat.postMessage"

# https://docs.slack.dev/reference/block-kit/blocks/rich-text-block names no limit, but a message's blocks have one,
# `msg_blocks_too_long`, that Slack does not tell. It was measured as about 13,200 with all that is around the text
# (https://github.com/slackapi/bolt-js/issues/2509). Counted are bytes of the JSON, each `&`, `<` and `>` as its escape:
# never fewer than whatever Slack counts.
LONGEST_HEAD = 3000
LONGEST_TEXT = 9000
# https://docs.slack.dev/reference/methods/chat.postMessage: a longer `text` has become several messages.
LONGEST_FALLBACK = 4000


def _escape(part: str) -> str:
    # https://docs.slack.dev/messaging/formatting-message-text: these three, and nothing else, can be escaped; without
    # `<` there is no mention and no hidden link.
    return part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _json(part: str) -> str:
    return json.dumps(part, ensure_ascii=False)[1:-1]


def _bytes(part: str) -> int:
    return utf8(_escape(part))


# The elements of a rich text as JSON: text, which stands within an element from the start, and others between two of
# those. Nothing in them is markup, neither `*` nor `:fire:` nor a mention, and only a link is one.
_TEXT = '{"type":"text","text":"', '"}'
_RICH = Layout(
    longest=LONGEST_TEXT - utf8("".join(_TEXT)),
    unit=_bytes,
    escape=_json,
    bold=(f"{_TEXT[1]},{_TEXT[0]}", f'","style":{{"bold":true}}}},{_TEXT[0]}'),
    link=lambda address: f'{_TEXT[1]},{{"type":"link","url":"{_json(address)}"}},{_TEXT[0]}',
    line_end=_json("\n"),
)
_HEAD = replace(_RICH, longest=LONGEST_HEAD - utf8("".join(_TEXT)))
# What Slack shows in notifications, and what Mattermost and others that know no blocks show: there it is Markdown.
_FALLBACK = Layout(longest=LONGEST_FALLBACK, unit=utf16, escape=_escape, link=lambda address: f"<{_escape(address)}>")
_EVERYBODY = re.compile(r"@(?=(?:all|channel|here)\b)")  # would be called there
_SLACK = re.compile(r"(?:.+\.)?slack(?:-gov)?\.com")
_HOOKS = re.compile(r"hooks\.slack(?:-gov)?\.com")
_HOOK = re.compile(r"/services(?:/[^/]+){3}/?")


@dataclass(frozen=True, slots=True)
class WebhookUrl(Url):
    """The address of an incoming webhook: of Slack, or of a server that takes the same messages, such as Mattermost."""

    allowed: str = (
        "the address of an app's incoming webhook, https:// and hooks.slack.com/services/… (the trigger of a workflow,"
        " hooks.slack.com/triggers/…, takes other fields), or that of another server that takes Slack's messages"
    )

    def read(self, value: Any) -> str:
        """Return the address."""
        url = Url.read(self, value)
        host = host_of(url)
        if _SLACK.fullmatch(host) and not (_HOOKS.fullmatch(host) and _HOOK.fullmatch(urlsplit(url).path)):
            raise ValueError
        return url


class Slack:
    """A webhook's channel, or any channel that a bot may write to."""

    fields: ClassVar[Mapping[str, Field]] = {
        "url": Field(WebhookUrl(), None, secret=True),
        "bot_token": Field(
            Text(r"(?:xoxe\.)?xox[bp]-[A-Za-z0-9-]{8,400}", "a token such as xoxb-…"), None, secret=True
        ),
        "channel_id": Field(
            Text(r"[CDGUW][A-Z0-9]{2,63}", "the id of a conversation such as C0123456789 (not its name)"), None
        ),
        "api_base": Field(base(_METHOD, _OFFICIAL), _OFFICIAL),
    }
    answers = (WEBHOOK_ANSWERS, METHOD_ANSWERS)
    capacity = _RICH.longest

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document; raises InvalidDocument unless it has one of the two ways."""
        own = document.own
        self._url: str | None = own["url"]
        self._token: str | None = own["bot_token"]
        self._channel_id: str | None = own["channel_id"]
        self._method = f"{own['api_base']}{_METHOD}"
        self._allow_private = document.allow_private_network
        if self._url and (self._token or self._channel_id):
            raise InvalidDocument("a slack channel has either url, or bot_token and channel_id: not both")
        if not self._url and not (self._token and self._channel_id):
            missing = "channel_id" if self._token else "bot_token" if self._channel_id else "url"
            raise InvalidDocument(f"{missing} is missing: a slack channel has either url, or bot_token and channel_id")

    def weigh(self, record: Notification) -> int:
        """Return the bytes of JSON of a digest's entry."""
        return _RICH.weigh(record)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send one message; a recipient is another channel's id, which only a bot can write to."""
        message = _message(dispatch)
        if self._url:
            if dispatch.recipient:
                return Reject("recipient", "an incoming webhook has one channel: a recipient takes bot_token")
            return WEBHOOK_ANSWERS.send(attempt, self._post(self._url, message, {}))
        message["channel"] = dispatch.recipient or self._channel_id
        return METHOD_ANSWERS.send(
            attempt, self._post(self._method, message, {"Authorization": f"Bearer {self._token}"})
        )

    def _post(self, url: str, message: Mapping[str, Any], headers: Mapping[str, str]) -> Post:
        return json_post(url, message, headers, allow_private=self._allow_private)


def _message(dispatch: Dispatch) -> dict[str, Any]:
    """Return the subject, and the rest beside a bar of its severity; `text` is all of it for whoever shows no blocks.

    Where there are `blocks`, Slack shows `text` in notifications only.
    """
    first = dispatch.members[0]
    if dispatch.digest:
        count = len(dispatch.members)
        head, body = f"{count} notification{'s' if count > 1 else ''}", _RICH.entries(dispatch.members)
    else:
        head, body = first.subject, [Piece(first.body)] if first.body else []
    blocks = _rich_text(_RICH.compose(body))
    if not dispatch.digest:
        blocks.append({"type": "context", "elements": [{"type": "plain_text", "text": first.kind}]})
    return {
        "text": _EVERYBODY.sub("\uff20", _FALLBACK.compose(below(head, body))),
        "blocks": _rich_text(_HEAD.compose([Piece(head, bold=True)])),
        "attachments": [{"color": f"#{COLOURS[worst(dispatch.members)]:06X}", "blocks": blocks}],
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _rich_text(written: str) -> list[dict[str, Any]]:
    """Return the block of a rich text; none without anything to see."""
    elements = [each for each in json.loads(f"[{_TEXT[0]}{written}{_TEXT[1]}]") if each.get("text") != ""]
    if not any(each["type"] == "link" or each["text"].strip() for each in elements):
        return []
    return [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}]
