"""E-mail: `SendEmail` of Amazon SES v2, https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html."""

import html
import re
from collections.abc import Iterator, Mapping
from email.charset import BASE64, Charset
from email.header import Header
from email.utils import formataddr
from typing import Any, ClassVar

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.aws import COMMON_ROWS, REGION, Client, success_or_code
from redeliver.channels.document import Document, Field
from redeliver.channels.headline import headline
from redeliver.channels.rules import Text
from redeliver.channels.severity import COLOURS, severity_of
from redeliver.channels.text import Layout, by_kind, cut, heading, utf8
from redeliver.core.notification import Dispatch, Notification, message_id
from redeliver.core.outcome import Gone, Outcome

# SES takes 40 MB, but Gmail shows no more than 102 KB of HTML. Bytes, escapes and markup included.
LARGEST_PART = 96 * 1024
# Bytes; as encoded words (RFC 2047) that is below the 998 characters of a header's line (RFC 5322, section 2.1.1).
LONGEST_SUBJECT = 500
LONGEST_ENCODED_WORD = 75  # RFC 2047, section 2; Header's own 76 is that of a line, and some servers refuse such words

# No quoted local parts, and non-ASCII domains in Punycode as SES asks: nothing in it can end or begin a header.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = (
    r"(?=[^@]{1,64}@[A-Za-z0-9.-]{3,189}(?![A-Za-z0-9.-]))"
    rf"{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+[A-Za-z](?:[A-Za-z0-9-]{{0,61}}[A-Za-z0-9])"
)
_NAME = r'[^\x00-\x1f\x7f-\x9f\u2028\u2029"\\<>@,;:]{1,64}'

ANSWERS = Answers(
    source="https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html",
    code=success_or_code,
    rows=(
        Row(SUCCESS, "MessageId", Means.DELIVERED),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "no `MessageId`"),
        Row(429, "TooManyRequestsException", Means.BUSY),
        Row(400, "LimitExceededException", Means.BUSY, "limit_exceeded"),
        Row(400, "SendingPausedException", Means.RETRY, "sending_paused", "until somebody resumes the account"),
        Row(400, "AccountSuspendedException", Means.RETRY, "account_suspended", "no message can leave the account"),
        Row(400, "MailFromDomainNotVerifiedException", Means.RETRY, "sender_not_verified"),
        Row(400, "MessageRejected", Means.RETRY, "message_rejected", "one code for identities and for content"),
        Row(404, "NotFoundException", Means.RETRY, "configuration_set_not_found", "or what it refers to"),
        Row(400, "BadRequestException", Means.REJECT, "bad_request"),
        *COMMON_ROWS,
    ),
)

_PAGE = (
    '<!DOCTYPE html><html><head><meta charset="utf-8"></head>'
    '<body style="margin:0;padding:16px;font:14px/1.5 sans-serif;word-break:break-word">',
    "</body></html>",
)
_HEADING = '<h3 style="margin:24px 0 8px">', "</h3>"
_BODY = '<div dir="auto" style="white-space:pre-wrap">', "</div>"
_BOLD = '<b dir="auto">', "</b>"
_ROOM = LARGEST_PART - utf8("".join(_PAGE))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def _printable(part: str) -> str:
    return _CONTROL.sub("\ufffd", part)


_PLAIN = Layout(longest=LARGEST_PART, unit=utf8, escape=_printable)


class Email:
    """An address, or as many as there are recipients."""

    fields: ClassVar[Mapping[str, Field]] = {
        "from": Field(
            Text(
                rf"{_ADDRESS}|{_NAME}<{_ADDRESS}>",
                "an address such as ops@example.com, or Name <ops@example.com>",
            )
        ),
        "to": Field(Text(_ADDRESS, "an address such as ops@example.com")),
        "reply_to": Field(Text(_ADDRESS, "an address such as ops@example.com"), None),
        "configuration_set": Field(Text(r"[A-Za-z0-9_-]{1,64}", "the name of an SES configuration set"), None),
        "region": Field(REGION, None),
    }
    answers = (ANSWERS,)
    capacity = _ROOM

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        own = document.own
        self._to: str = own["to"]
        self._common: dict[str, Any] = {"FromEmailAddress": _sender(own["from"])}
        if own["reply_to"]:
            self._common["ReplyToAddresses"] = [own["reply_to"]]
        if own["configuration_set"]:
            self._common["ConfigurationSetName"] = own["configuration_set"]
        self._client = Client("sesv2", own["region"])

    def weigh(self, record: Notification) -> int:
        """Return the bytes of HTML of a digest's entry, with a heading as if no other record shared it."""
        entry = utf8(_entry(record, 10 * LARGEST_PART)) if utf8(record.body) <= _ROOM else _ROOM
        return min(utf8(_heading(record.kind, LARGEST_PART)) + entry, _ROOM)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Hand one message over to SES, for one recipient."""
        recipient = self._to if dispatch.recipient is None else dispatch.recipient.strip()
        if not re.fullmatch(_ADDRESS, recipient, re.ASCII):
            return Gone("invalid_recipient", "the recipient is no e-mail address")
        message = {"Destination": {"ToAddresses": [recipient]}, "Content": {"Simple": _message(dispatch)}}
        return ANSWERS.outcome(self._client.call(attempt, "send_email", {**self._common, **message}), attempt.now())


def _message(dispatch: Dispatch) -> dict[str, Any]:
    id_ = dispatch.batch_id if dispatch.digest else message_id(dispatch.members[0])
    return {
        "Subject": {"Data": _header(cut(headline(dispatch), LONGEST_SUBJECT, utf8))},
        "Body": {
            "Text": {"Data": _PLAIN.write(dispatch), "Charset": "UTF-8"},
            "Html": {"Data": _page(dispatch), "Charset": "UTF-8"},
        },
        "Headers": [
            {"Name": "Auto-Submitted", "Value": "auto-generated"},  # no out-of-office replies: RFC 3834, section 5
            {"Name": "X-Redeliver-Id", "Value": id_},
        ],
    }


def _sender(mailbox: str) -> str:
    """Return the mailbox as a header may have it: quoted, or as encoded words."""
    if "<" not in mailbox:
        return mailbox
    name, _, address = mailbox[:-1].rpartition("<")
    return formataddr((_header(name.strip()), address))


def _header(line: str) -> str:
    """Return a line as printable ASCII that its reader sees as it was: what looks like an encoded word is none."""
    if line.isascii() and line.isprintable() and "=?" not in line:
        return line
    utf_8 = Charset("utf-8")
    utf_8.header_encoding = BASE64  # whatever the process has registered: Apprise, for one, registers another
    text = line.encode("utf-8", "replace").decode()
    return Header(text, utf_8, maxlinelen=LONGEST_ENCODED_WORD).encode(linesep="")


def _page(dispatch: Dispatch) -> str:
    pieces, room = [], _ROOM
    for piece in _pieces(dispatch):
        written = piece if isinstance(piece, str) else _entry(piece, room)
        pieces.append(written)
        room -= utf8(written)
    return "".join([_PAGE[0], *pieces, _PAGE[1]])


def _pieces(dispatch: Dispatch) -> Iterator[str | Notification]:
    """Yield headings as they are written, and the records below them."""
    if not dispatch.digest:
        yield dispatch.members[0]
        return
    for kind, records in by_kind(dispatch.members):
        yield _heading(kind, len(records))
        yield from records


def _heading(kind: str, count: int) -> str:
    return f"{_HEADING[0]}{_escape(heading(kind, count))}{_HEADING[1]}"


def _entry(record: Notification, room: int) -> str:
    """Return a record as HTML of at most `room` bytes, if that is enough for its markup; the bar is its severity."""
    colour = f"#{COLOURS[severity_of(record)]:06x}"
    before = f'<div style="margin:0 0 12px;padding:2px 12px;border-left:4px solid {colour}">'
    after = "</div>"
    room -= utf8(before + after + "".join(_BOLD))
    subject = cut(record.subject, room, utf8, _escape)
    pieces = [before, _BOLD[0], subject, _BOLD[1]]
    if record.body:
        room -= utf8(subject) + utf8("".join(_BODY))
        pieces += [_BODY[0], cut(record.body, room, utf8, _escape), _BODY[1]]
    return "".join([*pieces, after])


def _escape(part: str) -> str:
    # Line ends as tags: Outlook knows nothing of pre-wrap, which keeps the spaces for the others.
    lines = part.replace("\r\n", "\n").replace("\r", "\n")
    return html.escape(_printable(lines)).replace("\n", "<br>")
