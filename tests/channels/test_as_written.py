"""What a reader sees is what was sent, and what can be followed are the addresses in it: all of each, and no other."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from redeliver.channels.transport import Answer, Post, Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import Delivered
from tests.channels import markup
from tests.channels.markup import Shown
from tests.contract.channel_cases import Described, all_described, channel_of, record


class Kept(Transport):
    """A transport that keeps what is posted, and answers that it was delivered."""

    def __init__(self, described: Described) -> None:
        super().__init__()
        self.answer = Answer(described.success.status, described.success.body.encode())
        self.messages: list[Any] = []

    def post(self, post: Post, seconds_left: Callable[[], float]) -> Answer:
        self.messages.append(json.loads(post.body))
        return self.answer


def slack(message: Any) -> Iterator[Shown]:
    yield markup.slack(message["blocks"])
    yield markup.slack(message["attachments"][0]["blocks"])


def slack_fallback(message: Any) -> Iterator[Shown]:
    yield markup.slack_mrkdwn(message["text"].replace("\uff20", "@"))


def discord(message: Any) -> Iterator[Shown]:
    yield markup.discord(message["embeds"][0]["description"])


def teams(message: Any) -> Iterator[Shown]:
    for block in message["attachments"][0]["content"]["body"]:
        yield markup.teams(block["text"])


READERS: dict[str, tuple[str, Callable[[Any], Iterator[Shown]]]] = {
    "slack": ("slack-webhook", slack),
    "slack, where no blocks are shown": ("slack-bot", slack_fallback),
    "discord": ("discord", discord),
    "teams": ("teams-workflow", teams),
}
readers = pytest.mark.parametrize(("name", "reader"), READERS.values(), ids=READERS)

KIBANA = "https://kibana.example/app/discover#/?_g=(time:(from:now-15m))"
PRESIGNED = f"https://bucket.s3.example/key?X-Amz-Security-Token={'aZ09' * 400}&X-Amz-Signature=0f"
# Addresses by RFC 3986, brackets in pairs, and not ending with what would be a sentence's.
_CHARACTERS = st.text("abcXYZ019-._~:/?#@!$&'*+,;=\u00fc", min_size=1, max_size=8) | st.sampled_from(
    ["%2F", "&amp;", "**"]
)
_PARTS = st.recursive(
    _CHARACTERS, lambda inner: inner.map(lambda part: f"({part})") | inner.map(lambda part: f"[{part}]")
)
_HOSTS = st.sampled_from(["x.example", "my-site.example:8443", "[2001:db8::1]", "user:word@x.example"])
ADDRESSES = st.builds(
    lambda scheme, host, parts, last: f"{scheme}://{host}/{''.join(parts)}{last}",
    st.sampled_from(["https", "http", "HTTPS"]),
    _HOSTS,
    st.lists(_PARTS, max_size=4),
    st.sampled_from(["a", "/", "_", "-", "~", "=", "0"]),
)
AROUND = st.sampled_from([" ~~ ", "\n~~\n", "<~~>", "(~~)", "[~~]", '"~~"', "{~~}", "`~~`", "|~~|"]) | st.sampled_from(
    ["see: ~~. ", " ~~, ", " ~~\u3002", "!~~ ", "\\~~ ", "a](~~)", "# ~~ ", "1. ~~!\n"]
)
MARKS = (
    st.text("ab1 \n*_~`|<>[]()#@:.+-!\\&;{}=^$%\"'/\u00e9\u0e01", max_size=12)
    | st.sampled_from(
        ["60. a\n7. c", "1) a\n+ b", "2a14:c::", ":fire:", "12:30:45", "<20261204.1@mail.example>", "&lt;"]
    )
    | st.sampled_from(["<@U1>", "<!channel>", "@here", "[a](b)", "![a](b)", "{{DATE(1)}}", "a_b_c", "__init__", "\\*"])
    | st.sampled_from(["~~a~~", "||a||", "-# small", "> quote", "  indented", "---", "==="])
)


def _mixed(parts: Sequence[tuple[str, str, str]]) -> tuple[str, list[str]]:
    """Return a text, and the addresses in it."""
    text = "".join(mark + around.replace("~~", address) for mark, around, address in parts)
    return text, [address for _, _, address in parts]


TEXTS = st.lists(st.tuples(MARKS, AROUND, ADDRESSES), min_size=1, max_size=4).map(_mixed)


def lines(text: str) -> list[str]:
    """Return a text without the space around its lines, which Teams does not show."""
    return [line.strip() for line in text.replace("\u00a0", " ").split("\n") if line.strip()]


def shown(name: str, reader: Callable[[Any], Iterator[Shown]], dispatch: Dispatch) -> tuple[list[str], list[str]]:
    described = all_described()[name]
    kept = Kept(described)
    assert isinstance(channel_of(described.document("http://127.0.0.1:9"), kept).deliver(dispatch), Delivered)
    (message,) = kept.messages
    parts = list(reader(message))
    return lines("\n".join(part.text for part in parts)), [link for part in parts for link in part.links]


@readers
@settings(deadline=None)  # the first loads what all of them need
@given(text=TEXTS)
@example(text=(KIBANA, [KIBANA]))
@example(text=(PRESIGNED, [PRESIGNED]))
def test_a_notification(name: str, reader: Callable[[Any], Iterator[Shown]], text: tuple[str, list[str]]) -> None:
    body, links = text
    subject = re.sub(r"\s", " ", body)
    found = shown(name, reader, Dispatch((record(subject=f"s {subject}", body=body),)))
    assert found == (lines(f"s {subject}\n{body}"), [*links, *links])


@readers
@settings(deadline=None)  # the first loads what all of them need
@given(text=TEXTS)
def test_a_digest(name: str, reader: Callable[[Any], Iterator[Shown]], text: tuple[str, list[str]]) -> None:
    body, links = text
    subject = re.sub(r"\s", " ", body)
    members = (record(subject=f"s {subject}", body=body), record(subject="t", body=""))
    texts, found = shown(name, reader, Dispatch(members, digest=True))
    bullet = "" if name.startswith("teams") else "\u2022 "
    assert texts[-len(lines(body)) - 2 :] == lines(f"{bullet}s {subject}\n{body}\n{bullet}t")
    assert found == [*links, *links]
