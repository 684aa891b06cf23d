import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Retry
from redeliver.ports import Channel
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_telegram import DESCRIPTIONS, PATH, TOKEN, refused
from tests.memory import MemoryStates


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


def telegram(endpoint: Endpoint, transport: Transport, addresses: MemoryStates | None = None, **own: Any) -> Channel:
    document = DESCRIPTIONS[0].document(endpoint.url(), **own)
    return channel_of(document, transport, sleep=lambda _: None, addresses=addresses)


def sent(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in endpoint.requests(PATH)]


def test_a_message(endpoint: Endpoint, transport: Transport) -> None:
    assert telegram(endpoint, transport).deliver(single()) == Delivered()
    assert sent(endpoint) == [
        {"chat_id": "42", "text": "log4j\n\nUpdate now.", "link_preview_options": {"is_disabled": True}}
    ]
    assert endpoint.telegram.messages == {"42": ["log4j\n\nUpdate now."]}


def test_a_recipient_replaces_the_chat(endpoint: Endpoint, transport: Transport) -> None:
    telegram(endpoint, transport).deliver(single(recipient="7"))
    assert list(endpoint.telegram.messages) == ["7"]


@pytest.mark.parametrize(
    ("own", "recipient", "chat", "topic"),
    [
        (None, None, "42", None),
        (7, None, "42", 7),
        ("7", None, "42", 7),
        ("1", None, "42", None),  # the General topic: Telegram knows no thread of that number
        ("7", "43", "43", None),  # a topic is one of its chat
        (None, "43:9", "43", 9),
        ("7", "42:9", "42", 9),
        ("7", "42:1", "42", None),
        ("7", "-1001:09", "-1001", 9),
        (None, "@name:9", "@name", 9),
        (None, "42:", "42:", None),  # no chat: Telegram says so
        (None, ":9", ":9", None),
        (None, "42:x", "42:x", None),
        (None, "42:9 ", "42:9 ", None),
        (None, f"42:{10**10}", f"42:{10**10}", None),
    ],
)
def test_a_topic(
    own: object, recipient: str | None, chat: str, topic: int | None, endpoint: Endpoint, transport: Transport
) -> None:
    assert telegram(endpoint, transport, message_thread_id=own).deliver(single(recipient=recipient)) == Delivered()
    (message,) = sent(endpoint)
    assert (message["chat_id"], message.get("message_thread_id")) == (chat, topic)


@pytest.mark.parametrize("bad", ["0", 0, -7, "a", "7.5", 7.5, True, "12345678901", "42:7"])
def test_what_is_no_topic_is_named(bad: object) -> None:
    document = {**DESCRIPTIONS[0].document("https://example.com"), "message_thread_id": bad}
    with pytest.raises(InvalidDocument, match=r"^message_thread_id must be a topic's number"):
        read_document(document, TYPES)


def test_a_chat_that_moves_is_remembered_for_all_its_topics(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.telegram.moved["42"] = "-1007"
    channel = telegram(endpoint, transport, addresses=MemoryStates(), message_thread_id=7)
    for recipient in ("42:9", None, "42"):
        assert channel.deliver(single(recipient=recipient)) == Delivered()
    assert [(message["chat_id"], message.get("message_thread_id")) for message in sent(endpoint)] == [
        ("42", 9),
        ("-1007", 9),
        ("-1007", 7),
        ("-1007", None),
    ]


@pytest.mark.parametrize(("status", "description"), [(401, "Unauthorized"), (404, "Not Found")])
def test_a_bad_token(status: int, description: str, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(PATH, default=refused(status, f"{description} {TOKEN}"))
    outcome = telegram(endpoint, transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == CREDENTIALS_REFUSED
    assert TOKEN not in outcome.error


def test_a_named_wait_comes_from_the_body(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(PATH, default=refused(429, "Too Many Requests: retry after 33", retry_after=33))
    outcome = telegram(endpoint, transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.wait == timedelta(seconds=33)
    assert len(sent(endpoint)) == 1


@pytest.mark.parametrize("body", ['{"ok": false, "description": "no"}', '{"ok": 1}', '{"ok": "true"}'])
def test_a_200_that_is_no_success(body: str, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(PATH, default=Step(body=body))
    outcome = telegram(endpoint, transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert not outcome.maybe_delivered


def test_a_group_that_has_moved_gets_it_in_the_same_attempt(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.telegram.moved["42"] = "-1001234567890"
    assert telegram(endpoint, transport).deliver(single()) == Delivered()
    assert [message["chat_id"] for message in sent(endpoint)] == ["42", "-1001234567890"]


def test_a_group_that_moves_in_a_circle_is_left_alone(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.telegram.moved.update({"42": "43", "43": "42"})
    assert isinstance(telegram(endpoint, transport).deliver(single()), Retry)
    assert len(sent(endpoint)) == 2


def test_where_a_group_has_moved_is_remembered(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.telegram.moved["42"] = "-1001234567890"
    states = MemoryStates()
    for _ in range(2):  # in one process, and in another
        channel = telegram(endpoint, transport, addresses=states)
        assert channel.deliver(single()) == Delivered()
    assert [message["chat_id"] for message in sent(endpoint)] == ["42", "-1001234567890", "-1001234567890"]
    assert states.moved == {("ops", "42"): "-1001234567890"}


def test_a_recipient_that_has_moved_is_remembered_by_itself(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.telegram.moved["7"] = "-1007"
    states = MemoryStates()
    channel = telegram(endpoint, transport, addresses=states)
    for recipient in ("7", None, "7"):
        assert channel.deliver(single(recipient=recipient)) == Delivered()
    assert [message["chat_id"] for message in sent(endpoint)] == ["7", "-1007", "42", "-1007"]


def test_what_cannot_be_remembered_is_delivered_all_the_same(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.telegram.moved["42"] = "-1001234567890"
    states = MemoryStates()
    states.broken = True
    assert telegram(endpoint, transport, addresses=states).deliver(single()) == Delivered()
    assert states.moved == {}


@pytest.mark.parametrize("why", ["can't parse entities: whatever", "entities too long", "ENTITIES_TOO_LONG"])
@pytest.mark.parametrize("mode", ["HTML", "MarkdownV2"])
def test_markup_that_cannot_be_taken_goes_as_plain_text(
    mode: str, why: str, endpoint: Endpoint, transport: Transport
) -> None:
    endpoint.script(PATH, refused(400, f"Bad Request: {why}"), default=DESCRIPTIONS[0].success)
    assert telegram(endpoint, transport, parse_mode=mode).deliver(single(body="a < b.")) == Delivered()
    first, second = sent(endpoint)
    assert first["parse_mode"] == mode
    assert "parse_mode" not in second
    assert second["text"] == "log4j\n\na < b."


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("none", "<b>a</b> *b* & _c_\n\n[x](y)."),
        ("HTML", "<b>&lt;b&gt;a&lt;/b&gt; *b* &amp; _c_</b>\n\n[x](y)."),
        ("MarkdownV2", r"*<b\>a</b\> \*b\* & \_c\_*" + "\n\n" + r"\[x\]\(y\)\."),
    ],
)
def test_what_a_caller_writes_is_no_markup(mode: str, text: str, endpoint: Endpoint, transport: Transport) -> None:
    channel = telegram(endpoint, transport, parse_mode=mode)
    assert channel.deliver(single(subject="<b>a</b> *b* & _c_", body="[x](y).")) == Delivered()
    assert sent(endpoint)[0]["text"] == text


def test_a_digest_is_grouped_by_kind(endpoint: Endpoint, transport: Transport) -> None:
    members = (
        record(kind="price_drop", subject="Bike 90 €", body=""),
        record(kind="cve", subject="CVE-2021-44228", body="log4j 2.14\nfixed in 2.17"),
        record(kind="price_drop", subject="Boat 9 €", body="was 10 €"),
    )
    telegram(endpoint, transport).deliver(Dispatch(members, digest=True))
    assert sent(endpoint)[0]["text"] == (
        "cve (1)\n• CVE-2021-44228\nlog4j 2.14\nfixed in 2.17\n\nprice_drop (2)\n• Bike 90 €\n• Boat 9 €\nwas 10 €"
    )


@pytest.mark.parametrize(
    ("tail", "kept"),
    [
        ("aa", "aa"),  # exactly 4096
        ("aaa", "a…"),
        ("🚀", "🚀"),
        ("a🚀", "a…"),  # half a rocket would fit
        ("e\u0301b", "…"),  # the accent would be lost
        ("👩\u200d🚀", "…"),  # nothing of a joined character is left
        ("👍\U0001f3fd", "…"),
        ("\ud800bc", "\ud800…"),
    ],
)
def test_a_long_text_is_cut_at_a_character(tail: str, kept: str, endpoint: Endpoint, transport: Transport) -> None:
    filling = "x" * (4096 - 2 - len("S\n\n"))
    assert telegram(endpoint, transport).deliver(single(subject="S", body=filling + tail)) == Delivered()
    assert sent(endpoint)[0]["text"] == f"S\n\n{filling}{kept}"


def test_a_cut_does_not_end_with_a_joiner(endpoint: Endpoint, transport: Transport) -> None:
    filling = "x" * (4095 - 3 - len("S\n\n"))
    telegram(endpoint, transport).deliver(single(subject="S", body=f"{filling}👩\u200d🚀"))
    assert sent(endpoint)[0]["text"] == f"S\n\n{filling}…"


def test_a_run_of_accents_is_cut_somewhere(endpoint: Endpoint, transport: Transport) -> None:
    telegram(endpoint, transport).deliver(single(subject="S", body="a" + "\u0301" * 9000))
    assert 4000 < len(sent(endpoint)[0]["text"]) <= 4096
