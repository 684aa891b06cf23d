"""Microsoft Teams: an Adaptive Card to a webhook of Workflows, or to an Office 365 connector of old.

https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.document import Document, Field
from redeliver.channels.graphemes import characters
from redeliver.channels.http import body_text, inner, json_post, reply, text
from redeliver.channels.rules import Choice
from redeliver.channels.severity import Severity, severity_of
from redeliver.channels.teams_markdown import written
from redeliver.channels.text import MARK, by_kind, heading
from redeliver.channels.transport import Answer
from redeliver.channels.urls import Url
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome

# Microsoft says 28 KB, and counts a card as JSON within JSON: one of 24,453 bytes as 28,897, above the 28,672
# (https://github.com/MicrosoftDocs/msteams-docs/issues/11274). Senders were refused from 20,811 characters on, counted
# as they are sent (https://github.com/atc0005/go-teams-notify/issues/59). So all of the request is counted as JSON
# within JSON, and is below either.
LARGEST_CARD = 20_000

Block = Mapping[str, Any]  # a TextBlock; until it is written, its text is not escaped

COLOURS = {  # of a TextBlock: https://adaptivecards.io/explorer/TextBlock.html
    Severity.CRITICAL: "attention",
    Severity.HIGH: "attention",
    Severity.MEDIUM: "warning",
    Severity.LOW: "good",
    Severity.INFO: "accent",
}
_CONNECTOR_HOSTS = re.compile(r"(.+\.)?webhook\.office\.com|outlook\.office(365)?\.com")
_LINE_END = re.compile(r"\r\n?")
_INNER = re.compile(r"Microsoft Teams endpoint returned (HTTP error \d{3})")


def _workflow_code(answer: Answer) -> str:
    return text(inner(reply(answer), "error").get("code"))


def _connector_code(answer: Answer) -> str:
    """Return the code inside a connector's text, or the text: it has no other form, and its status is mostly 200."""
    said = body_text(answer)
    found = _INNER.search(said)
    return found[1] if found else said[:128]


WORKFLOW = Answers(
    title="A webhook of Workflows",
    # The trigger of Azure Logic Apps. Which of its codes no repetition helps is from Microsoft's own sender, in
    # Business Central: codeunit WorkflowWebhookNotification, `ShouldRetry`.
    source="https://learn.microsoft.com/azure/connectors/connectors-native-reqres",
    code=_workflow_code,
    code_name="`error.code`",
    rows=(
        Row(202, None, Means.DELIVERED, note="accepted; whether the flow posts the card is in its run history"),
        Row(200, None, Means.DELIVERED, note="a flow with a Response action"),
        Row(400, "WorkflowTriggerIsNotEnabled", Means.GONE, "workflow_off", "the flow is off, or deleted"),
        Row(404, "WorkflowNotFound", Means.GONE, "workflow_not_found"),
        Row(404, "WorkflowTriggerVersionNotFound", Means.GONE, "workflow_not_found"),
        Row(400, "TriggerInputSchemaMismatch", Means.RETRY, "schema_mismatch", "the flow wants another body: mend it"),
        Row(401, None, Means.CREDENTIALS, note="`DirectApiAuthorizationRequired`: no `sig`, or not for anyone"),
        Row(403, None, Means.CREDENTIALS),
        Row(413, None, Means.REJECT, "too_long"),
        Row(429, None, Means.BUSY),
    ),
)

CONNECTOR = Answers(
    title="A connector",
    # Rate limiting, and that connectors answer 200 to everything; the other inner codes are from
    # https://github.com/MicrosoftDocs/msteams-docs/issues: 402, 1810, 10178.
    source="https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using",
    code=_connector_code,
    code_name="body",
    rows=(
        Row(SUCCESS, "1", Means.DELIVERED, note="all of the body"),
        Row(SUCCESS, "HTTP error 429", Means.BUSY, "http_429", "inside the text; names no wait"),
        Row(SUCCESS, "HTTP error 413", Means.REJECT, "too_long"),
        Row(SUCCESS, "HTTP error 404", Means.GONE, "channel_not_found"),
        Row(SUCCESS, "HTTP error 403", Means.CREDENTIALS),
        Row(SUCCESS, "HTTP error*", Means.RETRY, "delivery_failed", "400 is a bad card, or a channel that is gone"),
        Row(SUCCESS, "Webhook message delivery failed*", Means.RETRY, "delivery_failed"),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE),
        Row(400, "Bad payload received by generic incoming webhook*", Means.REJECT, "bad_payload"),
        Row(404, None, Means.GONE, "webhook_not_found", "a webhook that does not exist"),
        Row(413, None, Means.REJECT, "too_long"),
        Row(429, None, Means.BUSY),
        Row(401, None, Means.CREDENTIALS),
        Row(403, None, Means.CREDENTIALS),
    ),
)


def _card(blocks: Sequence[Block]) -> Mapping[str, Any]:
    content = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": blocks,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": content}
    return {"type": "message", "attachments": [attachment]}


def _size(block: Block) -> int:
    return _bytes(json.dumps(block, separators=(",", ":"))) + 1  # and a comma


def _bytes(part: str) -> int:
    """Return the bytes of a text within JSON, in ASCII."""
    return len(json.dumps(part)) - 2


_ROOM = LARGEST_CARD - _size(_card([]))  # bytes of a card's blocks
_LAST = 160  # of them, kept for one that says no more than that the rest is cut


class Teams:
    """A channel or a chat of Teams, by its webhook."""

    fields: ClassVar[Mapping[str, Field]] = {
        "url": Field(Url(), secret=True),
        "flavor": Field(Choice(("auto", "workflow", "connector")), "auto"),
    }
    answers = (WORKFLOW, CONNECTOR)
    capacity = _ROOM

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._url: str = document.own["url"]
        self._answers = CONNECTOR if _is_connector(document.own["flavor"], self._url) else WORKFLOW
        self._allow_private = document.allow_private_network

    def weigh(self, record: Notification) -> int:
        """Return the bytes of a digest's entry, with a heading as if no other record shared it."""
        blocks = (_head(heading(record.kind, LARGEST_CARD)), *_entry(record))  # no count is wider
        return min(sum(_size(_written(block)) for block in blocks), _ROOM)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Post one card."""
        blocks = _digest(dispatch.members) if dispatch.digest else _single(dispatch.members[0])
        card = _card(_fitted(blocks))
        return self._answers.send(attempt, json_post(self._url, card, allow_private=self._allow_private))


def _is_connector(flavor: str, url: str) -> bool:
    if flavor == "auto":
        return _CONNECTOR_HOSTS.fullmatch(urlsplit(url).hostname or "") is not None
    return flavor == "connector"


def _block(said: str, **looks: Any) -> Block:
    return {"type": "TextBlock", "text": said, "wrap": True, **looks}


def _single(record: Notification) -> Sequence[Block]:
    subject = _block(record.subject, weight="bolder", size="medium", **_colour(record))
    return [subject, _block(record.body)] if record.body else [subject]


def _digest(members: Sequence[Notification]) -> Sequence[Block]:
    blocks: list[Block] = []
    for kind, records in by_kind(members):
        blocks.append(_head(heading(kind, len(records))))
        for record in records:
            blocks += _entry(record)
    return blocks


def _head(title: str) -> Block:
    return _block(title, weight="bolder", size="medium", separator=True)


def _entry(record: Notification) -> Sequence[Block]:
    if not record.body:
        return [_block(record.subject, **_colour(record))]
    return [_block(record.subject, weight="bolder", **_colour(record)), _block(record.body, spacing="none")]


def _colour(record: Notification) -> Mapping[str, str]:
    severity = severity_of(record)
    return {"color": COLOURS[severity]} if severity in COLOURS else {}


def _fitted(blocks: Sequence[Block]) -> Sequence[Block]:
    """Return the blocks, escaped, and cut within the first that does not fit."""
    whole = [_written(block) for block in blocks]
    if sum(map(_size, whole)) <= _ROOM:
        return whole
    room = _ROOM - _LAST
    for index, block in enumerate(whole):
        if _size(block) > room:
            return [*whole[:index], _cut(blocks[index], room + _LAST)]
        room -= _size(block)
    raise AssertionError("what is longer than allowed has a block that does not fit")


def _written(block: Block) -> Block:
    said = _plain(block)
    markdown = written(said)
    return {**block, "text": "".join(markdown.get(position, letter) for position, letter in enumerate(said))}


def _cut(block: Block, room: int) -> Block:
    markdown = written(said := _plain(block))
    room -= _size({**block, "text": MARK})
    kept: list[str] = []
    position = 0
    for character in characters(said):
        after = position + len(character)
        piece = "".join(markdown.get(each, said[each]) for each in range(position, after))
        position, room = after, room - _bytes(json.dumps(piece)[1:-1])
        if room < 0:
            break
        kept.append(piece)
    return {**block, "text": f"{''.join(kept)}{MARK}"}


def _plain(block: Block) -> str:
    """Return the text with one kind of line ends; of one that cannot fit anyhow, as much as shows that."""
    return _LINE_END.sub("\n", block["text"][: LARGEST_CARD + 1])
