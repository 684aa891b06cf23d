import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels.severity import Severity
from redeliver.channels.teams import COLOURS, LARGEST_CARD
from redeliver.channels.transport import Answer, Post, Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Retry
from redeliver.ports import Channel
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_teams import DESCRIPTIONS, FLOW, HOOK, SIGNATURE, failed, inner

WORKFLOW, CONNECTOR = DESCRIPTIONS


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        running.script(FLOW, default=Step(202))
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


def teams(endpoint: Endpoint, transport: Transport, **own: Any) -> Channel:
    return channel_of(WORKFLOW.document(endpoint.url(), **own), transport, budget=10.0, sleep=lambda _: None)


def card(endpoint: Endpoint) -> dict[str, Any]:
    (request,) = endpoint.requests()
    (attachment,) = json.loads(request.body)["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    content: dict[str, Any] = attachment["content"]
    return content


def counted(endpoint: Endpoint) -> int:
    """Return the bytes of the request as JSON within JSON, which is how Teams counts a card."""
    return len(json.dumps(endpoint.requests()[0].body)) - 2


def texts(endpoint: Endpoint) -> list[str]:
    return [block["text"] for block in card(endpoint)["body"]]


def test_a_message(endpoint: Endpoint, transport: Transport) -> None:
    assert teams(endpoint, transport).deliver(single()) == Delivered()
    assert json.loads(endpoint.requests()[0].body) == {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": None,
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "msteams": {"width": "Full"},
                    "body": [
                        {"type": "TextBlock", "text": "log4j", "wrap": True, "weight": "bolder", "size": "medium"},
                        {"type": "TextBlock", "text": "Update now.", "wrap": True},
                    ],
                },
            }
        ],
    }


@pytest.mark.parametrize("severity", Severity)
def test_a_severity_is_a_colour(severity: Severity, endpoint: Endpoint, transport: Transport) -> None:
    teams(endpoint, transport).deliver(single(payload=f'{{"severity":"{severity.name}"}}'))
    assert card(endpoint)["body"][0].get("color") == COLOURS.get(severity)


class Everywhere(Transport):
    """A transport that takes the answer of a connector from any address."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def post(self, post: Post, seconds_left: Any) -> Answer:
        self.urls.append(post.url)
        return Answer(200, b"0")


@pytest.mark.parametrize(
    ("host", "flavor", "connector"),
    [
        ("contoso.webhook.office.com", "auto", True),
        ("CONTOSO.Webhook.Office.com:443", "auto", True),
        ("webhook.office.com", "auto", True),
        ("outlook.office.com", "auto", True),
        ("outlook.office365.com", "auto", True),
        ("prod-96.westeurope.logic.azure.com:443", "auto", False),
        ("default0ec4.99.environment.api.powerplatform.com:443", "auto", False),
        ("evilwebhook.office.com", "auto", False),
        ("contoso.webhook.office.com.example.com", "auto", False),
        ("contoso.webhook.office.com", "workflow", False),
        ("proxy.example.com", "connector", True),
    ],
)
def test_the_host_tells_what_it_is(host: str, flavor: str, connector: bool) -> None:
    channel = channel_of({"type": "teams", "url": f"https://{host}/x", "flavor": flavor}, Everywhere())
    assert isinstance(channel.deliver(single()), Retry if connector else Delivered)


@pytest.mark.parametrize("body", ["1", " 1\r\n"])
def test_a_connector_says_one(body: str, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(HOOK, default=Step(body=body))
    assert channel_of(CONNECTOR.document(endpoint.url()), transport).deliver(single()) == Delivered()


@pytest.mark.parametrize("body", ["", "0", "11", "1 ", "<html>1</html>", '"1"'])
def test_a_connector_that_says_anything_else(body: str, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(HOOK, default=Step(body=body))
    outcome = channel_of(CONNECTOR.document(endpoint.url()), transport).deliver(single())
    assert isinstance(outcome, Delivered if body.strip() == "1" else Retry)


def test_an_inner_429_is_left_to_the_backoff(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(HOOK, default=inner(429))
    outcome = channel_of(CONNECTOR.document(endpoint.url()), transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert not outcome.maybe_delivered
    assert len(endpoint.requests()) == 1


def test_the_signature_is_never_told(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(FLOW, default=failed(401, f"DirectApiAuthorizationRequired {SIGNATURE} {endpoint.url(FLOW)}"))
    outcome = teams(endpoint, transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == CREDENTIALS_REFUSED
    assert SIGNATURE not in outcome.error


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("plain", "plain"),
        ("**bold** _it_", r"\*\*bold\*\* \_it\_"),
        ("snake_case __init__", r"snake_case \_\_init\_\_"),
        ("[click](https://evil.example)", r"\[click\]([https://evil.example](https://evil.example))"),
        (
            "https://a.example/~x/b_c?d=1&e=2#f",
            r"[https://a.example/\~x/b\_c?d=1&e=2#f](https://a.example/~x/b_c?d=1&e=2#f)",
        ),
        ("https://a.example/_cluster", r"[https://a.example/\_cluster](https://a.example/_cluster)"),
        ("https://a.example/?a=(b(c))", "[https://a.example/?a=(b(c))](https://a.example/?a=(b(c)))"),
        ("https://a.example/(b", r"[https://a.example/(b](https://a.example/\(b)"),
        ("https://a.example/((((b))))", r"[https://a.example/((((b))))](https://a.example/\(\(\(\(b\)\)\)\))"),
        ("https://a.example/?a&copy;b", "[https://a.example/?a&amp;copy;b](https://a.example/?a&amp;copy;b)"),
        ("!https://a.example", r"\![https://a.example](https://a.example)"),
        (r"\https://a.example", r"\\[https://a.example](https://a.example)"),
        ("<b> a < b -> c <5", r"\<b> a < b -> c <5"),
        ("<20261204.1@mail.example>", r"\<20261204.1@mail.example>"),
        ("<at>All</at>", r"\<at>All\</at>"),
        ("&lt; &#42; AT&T; R&D", "&amp;lt; &amp;#42; AT&amp;T; R&D"),
        ("~~gone~~", r"\~\~gone\~\~"),
        ("`code`", r"\`code\`"),
        ("{{DATE(2017-02-14T06:08:00Z,SHORT)}}", r"{\{DATE(2017-02-14T06:08:00Z,SHORT)}}"),
        (r"C:\temp \* \\ end\\"[:-1], r"C:\temp \\\* \\\ end\\"),
        ("a\nb", "a\n\nb"),
        ("a\r\nb\rc", "a\n\nb\n\nc"),
        ("- a\n+ b\n* c\n-5\n---", "\\- a\n\n\\+ b\n\n\\* c\n\n-5\n\n\\---"),
        ("# a\n## b\n#1\n> c", "\\# a\n\n\\## b\n\n#1\n\n\\> c"),
        ("1. a\n12) b\n2.17\na 1. b", "1\\. a\n\n12\\) b\n\n2\\.17\n\na 1. b"),
        ("    code\n\t- x", "\u00a0\u00a0\u00a0\u00a0code\n\n\u00a0\\- x"),
        ("*\ufe0f\u20e3", "\\*\ufe0f\u20e3"),
    ],
)
def test_what_a_caller_writes_is_no_markup(said: str, written: str, endpoint: Endpoint, transport: Transport) -> None:
    teams(endpoint, transport).deliver(single(subject=said, body=said))
    assert texts(endpoint) == [written, written]


def test_a_digest_is_grouped_by_kind(endpoint: Endpoint, transport: Transport) -> None:
    members = (
        record(kind="price_drop", subject="Bike 90 €", body=""),
        record(kind="cve", subject="CVE-2021-44228", body="log4j 2.14\nfixed in 2.17", payload='{"severity":"low"}'),
        record(kind="price_drop", subject="Boat 9 €", body="was 10 €"),
    )
    teams(endpoint, transport).deliver(Dispatch(members, digest=True))
    assert texts(endpoint) == [
        "cve (1)",
        "CVE-2021-44228",
        "log4j 2.14\n\nfixed in 2.17",
        "price_drop (2)",
        "Bike 90 €",
        "Boat 9 €",
        "was 10 €",
    ]
    assert [block.get("color") for block in card(endpoint)["body"]] == [None, "good", *[None] * 5]


@pytest.mark.parametrize("more", range(-2, 3))
def test_a_long_text_is_cut_at_a_character(more: int, endpoint: Endpoint, transport: Transport) -> None:
    channel = teams(endpoint, transport)
    channel.deliver(single(subject="S", body="x"))
    room = LARGEST_CARD - counted(endpoint)
    endpoint.received.clear()
    body = "x" * (room + more)  # one comma is counted that is not there
    channel.deliver(single(subject="S", body=body))
    assert counted(endpoint) <= LARGEST_CARD
    assert (texts(endpoint)[1] == body) == (more < 0)
    assert texts(endpoint)[1].endswith("…") == (more >= 0)


@pytest.mark.parametrize("unit", ["*", "\U0001f680", "e\u0301", "\n", "\ud800", '"', "👩\u200d🚀", "&", "\x01"])
def test_a_cut_leaves_characters_and_escapes_whole(unit: str, endpoint: Endpoint, transport: Transport) -> None:
    channel = teams(endpoint, transport)
    channel.deliver(single(subject="S", body=unit))
    whole = texts(endpoint)[1]
    for shift in range(0, 13, 3):
        endpoint.received.clear()
        channel.deliver(single(subject="S", body="x" * shift + unit * LARGEST_CARD))
        assert LARGEST_CARD - 100 < counted(endpoint) <= LARGEST_CARD
        kept = texts(endpoint)[1].removesuffix("…")[shift:]
        assert kept == whole * (len(kept) // len(whole))


def test_a_card_that_ends_at_any_block_stays_within_the_limit(endpoint: Endpoint, transport: Transport) -> None:
    channel = teams(endpoint, transport)
    severe = '{"severity":"critical"}'
    for length in range(19_000, 19_500, 7):
        members = (
            record(kind="a", subject="S" * 100, body="x" * length, payload=severe),
            record(kind="b", subject="T" * 20, body="", payload=severe),
            record(kind="c", subject="U", body="y", payload=severe),
        )
        endpoint.received.clear()
        assert channel.deliver(Dispatch(members, digest=True)) == Delivered()
        assert counted(endpoint) <= LARGEST_CARD
