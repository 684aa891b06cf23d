"""Slack: an incoming webhook, or `chat.postMessage` with a bot's token."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from redeliver.channels.attempt import Attempt
from redeliver.channels.document import Document, Field, InvalidDocument
from redeliver.channels.http import json_post
from redeliver.channels.linked import Linked
from redeliver.channels.rules import Text
from redeliver.channels.severity import COLOURS, worst
from redeliver.channels.slack_answers import METHOD_ANSWERS, WEBHOOK_ANSWERS
from redeliver.channels.text import Layout, Piece, utf8
from redeliver.channels.transport import Post
from redeliver.channels.urls import Url, base, host_of
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome, Reject

_OFFICIAL = "https://slack.com/api"
_METHOD = "/chat.postMessage"

# https://docs.slack.dev/reference/block-kit/composition-objects/text-object: 3000 characters in one text. A message's
# blocks have a limit of their own, `msg_blocks_too_long`, that Slack does not tell; it was measured as about 13,200
# with all that is around the text (https://github.com/slackapi/bolt-js/issues/2509). Bytes are never fewer than
# whatever Slack counts, and a third is left for the rest.
LONGEST_SECTION = 3000
LONGEST_TEXT = 3 * LONGEST_SECTION


def _escape(part: str) -> str:
    # https://docs.slack.dev/messaging/formatting-message-text: these three, and nothing else, can be escaped; without
    # `<` there is no mention and no hidden link.
    return part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_BOLD = ("*", "*")
_HEAD = Layout(longest=LONGEST_SECTION, unit=utf8, escape=_escape, bold=_BOLD)
_BODY = Linked(
    longest=LONGEST_TEXT, unit=utf8, escape=_escape, bold=_BOLD, address=lambda address: f"<{_escape(address)}>"
)
_SLACK = re.compile(r"(?:.+\.)?slack(?:-gov)?\.com")
_HOOKS = re.compile(r"hooks\.slack(?:-gov)?\.com")
_HOOK = re.compile(r"/services(?:/[^/]+){3}/?")
# Where a text may be divided: after a line, after a word, else anywhere but within an escape or a link.
_DIVISIONS = tuple(re.compile(each, re.DOTALL) for each in (r"[^\n]*\n|[^\n]+", r"[^ ]* |[^ ]+", r"&\w+;|<[^<>]*>|."))


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
    capacity = LONGEST_TEXT

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
        """Return the bytes of a digest's entry."""
        return _BODY.weigh(record)

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
    """Return the subject as text, which is also what a phone shows, and the rest beside a bar of its severity."""
    first = dispatch.members[0]
    if dispatch.digest:
        count = len(dispatch.members)
        head, body = f"{count} notification{'s' if count > 1 else ''}", _BODY.digest(dispatch.members)
    else:
        head, body = first.subject, _BODY.compose([Piece(first.body)])
    blocks = [_section(part) for part in _sections(body)]
    if not dispatch.digest:
        blocks.append({"type": "context", "elements": [{"type": "plain_text", "text": first.kind}]})
    return {
        "text": _HEAD.compose([Piece(head, bold=True)]),
        "attachments": [{"color": f"#{COLOURS[worst(dispatch.members)]:06X}", "blocks": blocks}],
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _section(text: str) -> dict[str, Any]:
    # "verbatim": names and mentions in plain words stay words.
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _sections(text: str) -> Iterator[str]:
    """Return a text in parts of one section's length; what is only space is left out."""
    part, size = "", 0
    for piece in _pieces(text, _DIVISIONS):
        length = utf8(piece)
        if size + length > LONGEST_SECTION:
            yield from _shown(part)
            part, size = "", 0
        part, size = part + piece, size + length
    yield from _shown(part)


def _shown(part: str) -> Iterator[str]:
    if part.strip():
        yield part.strip("\n")


def _pieces(text: str, divisions: tuple[re.Pattern[str], ...]) -> Iterator[str]:
    for found in divisions[0].finditer(text):
        if utf8(found[0]) <= LONGEST_SECTION or len(divisions) == 1:
            yield found[0]
        else:
            yield from _pieces(found[0], divisions[1:])
