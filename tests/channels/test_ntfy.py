import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.endpoint import Endpoint
from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.ntfy import LONGEST_MESSAGE, LONGEST_REQUEST, PRIORITIES, TAGS, json_bytes
from redeliver.channels.severity import Severity
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Gone, Retry
from redeliver.ports import Channel
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_ntfy import DESCRIPTIONS, TOKEN, TOPIC, refused

(NTFY,) = DESCRIPTIONS


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        running.script("/", default=NTFY.success)
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


def ntfy(endpoint: Endpoint, transport: Transport, **own: Any) -> Channel:
    return channel_of(NTFY.document(endpoint.url(), **own), transport, budget=10.0, sleep=lambda _: None)


def sent(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in endpoint.requests("/")]


def test_a_message(endpoint: Endpoint, transport: Transport) -> None:
    assert ntfy(endpoint, transport).deliver(single()) == Delivered()
    assert sent(endpoint) == [{"topic": TOPIC, "title": "log4j", "message": "Update now."}]
    assert endpoint.requests()[0].headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("body", ["", " \n"])
def test_a_subject_alone_is_the_message(body: str, endpoint: Endpoint, transport: Transport) -> None:
    ntfy(endpoint, transport).deliver(single(body=body))
    assert sent(endpoint) == [{"topic": TOPIC, "message": "log4j"}]


def test_a_recipient_replaces_the_topic(endpoint: Endpoint, transport: Transport) -> None:
    ntfy(endpoint, transport).deliver(single(recipient="other"))
    assert sent(endpoint)[0]["topic"] == "other"


def test_a_recipient_that_is_no_topic_is_gone(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script("/", default=refused(400, 40009, "invalid request: topic invalid"))
    assert isinstance(ntfy(endpoint, transport).deliver(single(recipient="a/b")), Gone)


@pytest.mark.parametrize("severity", Severity)
def test_a_severity_is_a_priority_and_a_tag(severity: Severity, endpoint: Endpoint, transport: Transport) -> None:
    ntfy(endpoint, transport).deliver(single(payload=f'{{"severity":"{severity.name}"}}'))
    (message,) = sent(endpoint)
    assert message.get("priority") == PRIORITIES.get(severity)
    assert message.get("tags") == ([TAGS[severity]] if severity in TAGS else None)
    assert message.get("priority") in (None, 2, 4, 5)


def test_a_digest_has_the_worst_severity(endpoint: Endpoint, transport: Transport) -> None:
    members = (record(payload='{"severity":"low"}'), record(dedup_key="b", payload='{"severity":"high"}'))
    ntfy(endpoint, transport).deliver(Dispatch(members, digest=True))
    assert sent(endpoint) == [
        {
            "topic": TOPIC,
            "title": "2 notifications",
            "message": "cve (2)\n• log4j\nUpdate now.\n• log4j\nUpdate now.",
            "priority": 4,
            "tags": ["orange_circle"],
        }
    ]


def test_without_credentials(endpoint: Endpoint, transport: Transport) -> None:
    ntfy(endpoint, transport, token=None).deliver(single())
    assert "Authorization" not in endpoint.requests()[0].headers


def test_a_user_and_a_password(endpoint: Endpoint, transport: Transport) -> None:
    ntfy(endpoint, transport, token="", user="phil", password="pässword: 1").deliver(single())
    scheme, _, pair = endpoint.requests()[0].headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(pair).decode()) == ("Basic", "phil:pässword: 1")


def test_the_password_is_never_told(endpoint: Endpoint, transport: Transport) -> None:
    pair = base64.b64encode(b"phil:pa55-word").decode()
    endpoint.script("/", default=refused(401, 40101, f"unauthorized phil:pa55-word Basic {pair} {TOPIC}"))
    outcome = ntfy(endpoint, transport, token="", user="phil", password="pa55-word").deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == CREDENTIALS_REFUSED
    assert not any(secret in outcome.error for secret in ("pa55-word", pair, TOPIC))


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ({"token": "tk_1", "user": "phil", "password": "x"}, "token and user cannot be used together"),
        ({"token": "tk_1", "password": "x"}, "token and user cannot be used together"),
        ({"user": "phil"}, "user and password must both be there"),
        ({"password": "x"}, "user and password must both be there"),
        ({"user": "a:b", "password": "x"}, "user must be"),
        ({"topic": "a/b"}, "topic must be"),
        ({"topic": "a" * 65}, "topic must be"),
        ({"token": "tk 1"}, "token must be"),
        ({"server": "http://ntfy.example.com"}, "server must be"),
    ],
)
def test_a_wrong_document_says_what_is_wrong(own: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidDocument, match=problem):
        TYPES["ntfy"](read_document({"type": "ntfy", "topic": TOPIC, **own}, TYPES))


def test_the_public_server_is_the_default() -> None:
    document = read_document({"type": "ntfy", "topic": TOPIC}, TYPES)
    assert document.own["server"] == "https://ntfy.sh"
    assert TOPIC in document.secrets  # "the topic is essentially a password"


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("unit", ["x", "é", "🚀", '"', "\\", "\x01", "\ud800"])
def test_a_message_of_4096_bytes_would_be_an_attachment(
    unit: str, more: int, endpoint: Endpoint, transport: Transport
) -> None:
    count = LONGEST_MESSAGE // json_bytes(unit)
    body = unit * (count + more)
    ntfy(endpoint, transport).deliver(single(subject="\x01" * 1024, body=body))
    (message,) = sent(endpoint)
    assert NTFY.fits(endpoint.requests()[0])
    assert (message["message"] == body) == (more == 0)
    assert message["message"].endswith("…") == (more == 1)
    assert set(message["message"]) <= {unit, "…"}
    assert len(endpoint.requests()[0].body.encode()) <= LONGEST_REQUEST


def test_text_is_sent_as_utf_8(endpoint: Endpoint, transport: Transport) -> None:
    ntfy(endpoint, transport).deliver(single(subject="Grüße", body="Привет 🚀"))
    assert "Привет 🚀" in endpoint.requests()[0].body  # escapes would fill ntfy's limit three times as fast
