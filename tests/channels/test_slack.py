import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.severity import COLOURS, Severity
from redeliver.channels.slack import LONGEST_TEXT, Slack
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Gone, Reject, Retry
from tests.contract.channel_cases import Documents, channel_of, directory_of, record, single
from tests.contract.channel_slack import BOT_TOKEN, DESCRIPTIONS, HOOK, METHOD, URL_TOKEN

WEBHOOK, BOT = DESCRIPTIONS
TARGET = HOOK.removeprefix("/services/")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


def sent(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in endpoint.requests()]


def elements(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rich = [block for block in blocks if block["type"] == "rich_text"]
    return [each for block in rich for section in block["elements"] for each in section["elements"]]


def body(message: dict[str, Any]) -> list[dict[str, Any]]:
    return elements(message["attachments"][0]["blocks"])


def plain(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def bold(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "style": {"bold": True}}


def link(url: str) -> dict[str, Any]:
    return {"type": "link", "url": url}


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}


def test_a_message_by_webhook(endpoint: Endpoint, transport: Transport) -> None:
    dispatch = single(payload='{"severity": "critical"}')
    assert channel_of(WEBHOOK.document(endpoint.url()), transport).deliver(dispatch) == Delivered()
    context = {"type": "context", "elements": [{"type": "plain_text", "text": "cve"}]}
    assert sent(endpoint) == [
        {
            "text": "log4j\n\nUpdate now.",
            "blocks": [rich(bold("log4j"))],
            "attachments": [
                {"color": f"#{COLOURS[Severity.CRITICAL]:06X}", "blocks": [rich(plain("Update now.")), context]}
            ],
            "link_names": False,
            "unfurl_links": False,
            "unfurl_media": False,
        }
    ]
    assert "Authorization" not in endpoint.requests()[0].headers
    assert endpoint.slack.texts(TARGET) == ["log4j\nUpdate now.\ncve"]


def test_a_message_by_a_bot(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.slack.configure({"tokens": [BOT_TOKEN]})
    assert channel_of(BOT.document(endpoint.url()), transport).deliver(single()) == Delivered()
    assert sent(endpoint)[0]["channel"] == "C0123456789"
    assert endpoint.requests(METHOD)[0].headers["Authorization"] == f"Bearer {BOT_TOKEN}"
    assert endpoint.slack.texts("C0123456789") == ["log4j\nUpdate now.\ncve"]


def test_a_recipient_replaces_the_channel_of_a_bot(endpoint: Endpoint, transport: Transport) -> None:
    assert channel_of(BOT.document(endpoint.url()), transport).deliver(single(recipient="C7")) == Delivered()
    assert list(endpoint.slack.messages) == ["C7"]


def test_a_webhook_cannot_send_to_another_channel(endpoint: Endpoint, transport: Transport) -> None:
    outcome = channel_of(WEBHOOK.document(endpoint.url()), transport).deliver(single(recipient="C7"))
    assert isinstance(outcome, Reject)
    assert not endpoint.requests()


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({}, "url is missing: a slack channel has either url, or bot_token and channel_id"),
        (
            {"bot_token": BOT_TOKEN},
            "channel_id is missing: a slack channel has either url, or bot_token and channel_id",
        ),
        ({"channel_id": "C1234"}, "bot_token is missing: a slack channel has either url, or bot_token and channel_id"),
        (
            {"url": "https://x.example", "bot_token": BOT_TOKEN, "channel_id": "C1234"},
            "a slack channel has either url, or bot_token and channel_id: not both",
        ),
        (
            {"url": "https://x.example", "channel_id": "C1234"},
            "a slack channel has either url, or bot_token and channel_id: not both",
        ),
    ],
)
def test_there_is_exactly_one_way(own: dict[str, Any], message: str) -> None:
    document = read_document({"type": "slack", **own}, TYPES)
    with pytest.raises(InvalidDocument) as caught:
        Slack(document)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bot_token", "123456789:AAHfiqksKZ8WmR2zSjiQ7"),
        ("bot_token", "xoxb-1\r\nX: y"),
        ("channel_id", "#general"),
        ("channel_id", "general"),
        ("url", "http://hooks.slack.com/services/T/B/X"),
    ],
)
def test_a_field_that_is_wrong_is_named(field: str, value: str) -> None:
    with pytest.raises(InvalidDocument, match=f"^{field} must be "):
        read_document({"type": "slack", field: value}, TYPES)


def test_a_rotated_token_is_tried_within_the_attempt(endpoint: Endpoint, transport: Transport) -> None:
    source = Documents({"ops": BOT.document(endpoint.url())})
    channel = directory_of(source, transport).look_up("ops", record().created_at)
    source.documents["ops"] = BOT.document(endpoint.url(), bot_token="xoxb-new-token-1")
    endpoint.slack.configure({"tokens": ["xoxb-new-token-1"]})
    assert channel.deliver(single()) == Delivered()  # type: ignore[union-attr]
    assert len(endpoint.requests()) == 2


def test_what_the_imitation_says_is_understood(endpoint: Endpoint, transport: Transport) -> None:
    webhook, bot = (channel_of(each.document(endpoint.url()), transport) for each in DESCRIPTIONS)
    endpoint.slack.configure({"errors": {TARGET: "no_service", "C0123456789": "is_archived"}})
    for channel, reason in ((webhook, "no_service"), (bot, "is_archived")):
        outcome = channel.deliver(single())
        assert isinstance(outcome, Gone)
        assert outcome.reason == reason
        assert URL_TOKEN not in outcome.error
    endpoint.slack.configure({"errors": {TARGET: None}, "limits": {TARGET: [1, 30], "*": [1, 31]}})
    for channel, wait in ((webhook, 30), (bot, 31)):
        outcome = channel.deliver(single())
        assert isinstance(outcome, Retry)
        assert outcome.wait == timedelta(seconds=wait)
    assert webhook.deliver(single()) == Delivered()


def test_errors_that_may_have_delivered_say_so(endpoint: Endpoint, transport: Transport) -> None:
    for error, status, maybe in (
        ("internal_error", 200, True),
        ("fatal_error", 500, True),
        ("ratelimited", 429, False),
    ):
        endpoint.received.clear()
        endpoint.script(METHOD, default=Step(status, {"Retry-After": "9"}, json.dumps({"ok": False, "error": error})))
        outcome = channel_of(BOT.document(endpoint.url()), transport).deliver(single())
        assert isinstance(outcome, Retry)
        assert outcome.maybe_delivered == maybe
        assert len(endpoint.requests()) == 1


def test_a_missing_scope_is_told(endpoint: Endpoint, transport: Transport) -> None:
    reply = {"ok": False, "error": "missing_scope", "needed": "chat:write", "provided": "channels:read"}
    endpoint.script(METHOD, default=Step(body=json.dumps(reply)))
    outcome = channel_of(BOT.document(endpoint.url()), transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == CREDENTIALS_REFUSED
    assert "chat:write" in outcome.error


def test_no_mention_and_no_hidden_link(endpoint: Endpoint, transport: Transport) -> None:
    text = "<!channel> <@U123> <https://evil.example|click> &amp; https://x.example/?a=1&b=2."
    channel_of(BOT.document(endpoint.url()), transport).deliver(single(subject=text, body=text))
    message = sent(endpoint)[0]
    parts = [
        plain("<!channel> <@U123> <"),
        link("https://evil.example"),
        plain("|click> &amp; "),
        link("https://x.example/?a=1&b=2"),
        plain("."),
    ]
    assert body(message) == parts
    assert elements(message["blocks"]) == [each if each["type"] == "link" else bold(each["text"]) for each in parts]
    fallback = "&lt;!channel&gt; &lt;@U123&gt; &lt;<https://evil.example>|click&gt; &amp;amp; "
    assert message["text"].startswith(fallback)


def test_nobody_is_called_where_blocks_are_unknown(endpoint: Endpoint, transport: Transport) -> None:
    said = "@channel @here! a@all.example @allison <!here>"
    channel_of(BOT.document(endpoint.url()), transport).deliver(single(subject=said, body=""))
    message = sent(endpoint)[0]
    assert message["text"] == "\uff20channel \uff20here! a\uff20all.example @allison &lt;!here&gt;"
    assert elements(message["blocks"]) == [bold(said)]
    assert body(message) == []


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        ("x", 1),
        ("&", 5),
        ("<", 4),
        ('"', 2),
        ("\x01", 6),
        ("\u00e9", 2),
        ("\U0001f680", 4),
        ("\ud800", 3),
        ("\u0915\u094d\u0937", 9),
        ("https://x.example/a ", len('"},{"type":"link","url":"https://x.example/a"},{"type":"text","text":"') + 1),
    ],
)
def test_a_long_body_is_cut_between_characters(unit: str, size: int, endpoint: Endpoint, transport: Transport) -> None:
    channel = channel_of(BOT.document(endpoint.url()), transport)
    room = LONGEST_TEXT - len('{"type":"text","text":""}')
    assert channel.deliver(single(body=unit * (room // size))) == Delivered()
    assert channel.deliver(single(body=unit * (room // size + 1))) == Delivered()
    whole, cut = (
        "".join(str(each.get("url", each.get("text"))) for each in body(message)) for message in sent(endpoint)
    )
    assert whole == unit * (room // size)
    kept = cut.removesuffix("\u2026")
    assert kept != cut
    assert kept == unit * (len(kept) // len(unit))
    assert len(whole) - len(kept) <= 3 * len(unit)  # the mark itself has three bytes


def test_an_address_is_left_out_if_it_does_not_fit(endpoint: Endpoint, transport: Transport) -> None:
    long = f"https://x.example/{'&' * 980}"
    channel_of(BOT.document(endpoint.url()), transport).deliver(single(body=f"{long} {long}"))
    assert body(sent(endpoint)[0]) == [link(long), plain(" \u2026")]
    assert sent(endpoint)[0]["text"] == "log4j\n\n\u2026"


@pytest.mark.parametrize(
    ("body", "maybe"), [('{"ok": 1}', False), ('{"ok": "true"}', False), ('{"ok": false}', False), ("{}", True)]
)
def test_only_true_is_a_success(body: str, maybe: bool, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(METHOD, default=Step(body=body))
    outcome = channel_of(BOT.document(endpoint.url()), transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.maybe_delivered == maybe


def test_a_digest_takes_the_worst_colour(endpoint: Endpoint, transport: Transport) -> None:
    members = (record(payload='{"severity": "low"}'), record(dedup_key="b", payload='{"severity": "high"}'))
    channel_of(WEBHOOK.document(endpoint.url()), transport).deliver(Dispatch(members, digest=True))
    message = sent(endpoint)[0]
    assert message["text"] == "2 notifications\n\ncve (2)\n• log4j\nUpdate now.\n• log4j\nUpdate now."
    assert elements(message["blocks"]) == [bold("2 notifications")]
    assert message["attachments"][0]["color"] == f"#{COLOURS[Severity.HIGH]:06X}"
    assert body(message) == [
        bold("cve (2)"),
        plain("\n• "),
        bold("log4j"),
        plain("\nUpdate now.\n• "),
        bold("log4j"),
        plain("\nUpdate now."),
    ]
