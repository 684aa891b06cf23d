import json
import re
from collections.abc import Iterator
from email.header import decode_header, make_header
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ses.models import ses_backends

from infra.local.endpoint import Endpoint
from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.email import LARGEST_PART, LONGEST_SUBJECT
from redeliver.channels.headline import one_line
from redeliver.channels.text import cut, utf8
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch, message_id
from redeliver.core.outcome import Delivered, Gone, Reject, Retry
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_email import DESCRIPTIONS, refused

DESCRIBED = DESCRIPTIONS[0]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint() as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SESV2", running.url())
        running.script(DESCRIBED.path, default=DESCRIBED.success)
        yield running


def sent(endpoint: Endpoint, dispatch: Dispatch, **own: Any) -> dict[str, Any]:
    """Return what SES is asked to send for a dispatch."""
    channel = channel_of(DESCRIBED.document("", **own), Transport(), budget=10.0)
    assert channel.deliver(dispatch) == Delivered()
    (request,) = endpoint.requests()
    message: dict[str, Any] = json.loads(request.body)
    return message


def simple(message: dict[str, Any]) -> tuple[str, str, str]:
    """Return the subject as its reader sees it, the text and the HTML."""
    content = message["Content"]["Simple"]
    subject = str(make_header(decode_header(content["Subject"]["Data"])))
    return subject, content["Body"]["Text"]["Data"], content["Body"]["Html"]["Data"]


def test_a_message(endpoint: Endpoint) -> None:
    own = {"from": "Ops <ops@example.com>", "reply_to": "help@example.com", "configuration_set": "redeliver"}
    message = sent(endpoint, single(), **own)
    subject, text, html = simple(message)
    assert message["FromEmailAddress"] == "Ops <ops@example.com>"
    assert message["Destination"] == {"ToAddresses": ["team@example.com"]}
    assert message["ReplyToAddresses"] == ["help@example.com"]
    assert message["ConfigurationSetName"] == "redeliver"
    assert (subject, text) == ("log4j", "log4j\n\nUpdate now.")
    assert '<b dir="auto">log4j</b>' in html
    headers = {each["Name"]: each["Value"] for each in message["Content"]["Simple"]["Headers"]}
    assert headers == {"Auto-Submitted": "auto-generated", "X-Redeliver-Id": message_id(record())}


def test_what_is_not_given_is_left_out(endpoint: Endpoint) -> None:
    assert set(sent(endpoint, single())) == {"FromEmailAddress", "Destination", "Content"}


def test_the_recipient_of_a_notification_replaces_the_channels(endpoint: Endpoint) -> None:
    message = sent(endpoint, single(recipient=" o'neil+x@sub.example.com "))
    assert message["Destination"] == {"ToAddresses": ["o'neil+x@sub.example.com"]}


@pytest.mark.parametrize(
    "recipient",
    [
        "",
        "nobody",
        "a@b",
        "a@b.c",
        "a b@example.com",
        "a@example.com, b@example.com",
        "a@example.com\r\nBcc: b@example.com",
        "Name <a@example.com>",
        '"a b"@example.com',
        ".a@example.com",
        "a..b@example.com",
        "a@-example.com",
        "a@example..com",
        "a@exämple.com",
        "ä@example.com",
        "a@127.0.0.1",
        "a@[127.0.0.1]",
        f"{'a' * 65}@example.com",
        f"a@{'b' * 64}.com",
        f"a@{'b.' * 94}com",
    ],
)
def test_what_is_no_address_is_gone_without_a_request(recipient: str, endpoint: Endpoint) -> None:
    channel = channel_of(DESCRIBED.document(""), Transport())
    outcome = channel.deliver(single(recipient=recipient))
    assert outcome == Gone("invalid_recipient", "the recipient is no e-mail address")
    assert not endpoint.requests()


@pytest.mark.parametrize(
    "address", [f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 57}.com", f"a@{'b.' * 93}com", "a@b.co", "a@b-c.xn--p1ai"]
)
def test_what_is_an_address(address: str, endpoint: Endpoint) -> None:
    assert sent(endpoint, single(recipient=address))["Destination"] == {"ToAddresses": [address]}


@pytest.mark.parametrize(
    ("sender", "header"),
    [
        ("ops@example.com", "ops@example.com"),
        ("Ops (EU) <ops@example.com>", '"Ops (EU)" <ops@example.com>'),
        ("Ops. <ops@example.com>", '"Ops." <ops@example.com>'),
        ("Ä <ops@example.com>", "=?utf-8?b?w4Q=?= <ops@example.com>"),
        ("=?utf-8?q?x?= <ops@example.com>", "=?utf-8?b?PT91dGYtOD9xP3g/PQ==?= <ops@example.com>"),
    ],
)
def test_a_display_name_is_quoted_or_encoded(sender: str, header: str, endpoint: Endpoint) -> None:
    assert sent(endpoint, single(), **{"from": sender})["FromEmailAddress"] == header


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("from", "Ops ops@example.com"),
        ("from", "Ops\r\nBcc: x@example.com <ops@example.com>"),
        ("from", 'Ops" <evil@example.com>, "<ops@example.com>'),
        ("from", "<ops@example.com>"),
        ("to", "Team <team@example.com>"),
        ("to", "a@example.com,b@example.com"),
        ("reply_to", "help"),
        ("configuration_set", "a b"),
        ("region", "eu-central-1.evil.example/"),
    ],
)
def test_a_field_that_is_wrong_is_named(field: str, value: str) -> None:
    document = {"type": "email", "from": "ops@example.com", "to": "team@example.com", field: value}
    with pytest.raises(InvalidDocument, match=f"^{field} must be"):
        read_document(document, TYPES)


@pytest.mark.parametrize(
    ("subject", "seen"),
    [
        ("a\r\nBcc: x@example.com", "a Bcc: x@example.com"),
        ("a\u2028b\x00c\x85d", "a b c d"),
        ("=?utf-8?q?x?=", "=?utf-8?q?x?="),
        ("\ud800", "?"),
        ("Bike 90 € 🚲", "Bike 90 € 🚲"),
    ],
)
def test_a_subject_is_one_line_of_ascii_and_is_seen_as_it_was(subject: str, seen: str, endpoint: Endpoint) -> None:
    message = sent(endpoint, single(subject=subject))
    data = message["Content"]["Simple"]["Subject"]["Data"]
    assert data.isascii()
    assert data.isprintable()
    assert simple(message)[0] == seen


def words_of(header: str) -> list[str]:
    """Return the encoded words of a header."""
    return re.findall(r"=\?[^?]+\?[^?]+\?[^?]*\?=", header)


# Every place of a header that takes any text, and how its reader sees it.
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=st.one_of(
        st.text(st.characters(exclude_categories=["Cc", "Zl", "Zp", "Cs"]), min_size=1, max_size=150),
        st.text("aé€🚲 =?", min_size=1, max_size=150),
    )
)
@example(text="€" * 15)
@example(text="=?utf-8?q?x?= " * 10)
def test_an_encoded_word_has_75_characters_at_most_and_no_part_of_one(text: str, endpoint: Endpoint) -> None:
    # RFC 2047, section 2 (the length) and section 5 (whole characters: each word is decoded by itself).
    endpoint.received.clear()
    name = " ".join(re.sub(r'["\\<>@,;:]', "", text)[:63].split()) or "x"
    message = sent(endpoint, single(subject=text), **{"from": f"{name} <ops@example.com>"})
    subject = message["Content"]["Simple"]["Subject"]["Data"]
    shown_name = message["FromEmailAddress"].removesuffix(" <ops@example.com>").strip('"')
    for header, meant in ((subject, cut(one_line(text), LONGEST_SUBJECT, utf8)), (shown_name, name)):
        assert header.isascii()
        assert [word for word in words_of(header) if len(word) > 75] == []
        decoded = "".join(str(make_header(decode_header(word))) for word in words_of(header))
        assert (decoded or header) == meant


def test_a_subject_that_is_too_long_is_cut_and_stands_whole_in_the_message(endpoint: Endpoint) -> None:
    long = "🚲" * 250
    subject, text, html = simple(sent(endpoint, single(subject=long)))
    assert subject == "🚲" * ((LONGEST_SUBJECT - 3) // 4) + "…"
    assert long in text
    assert long in html


@pytest.mark.parametrize("digest", [False, True])
def test_a_body_that_is_too_long_for_html_is_whole_in_the_text(digest: bool, endpoint: Endpoint) -> None:
    body = "<&" * 32_000
    _, text, html = simple(sent(endpoint, Dispatch((record(body=body),), digest)))
    assert text.endswith(body)
    assert len(html.encode()) <= LARGEST_PART
    assert html.endswith("…</div></div></body></html>")
    assert LARGEST_PART - len(html.encode()) < 10  # no more is cut than has to be


def test_control_characters_are_shown_as_such(endpoint: Endpoint) -> None:
    _, text, html = simple(sent(endpoint, single(body="a\x00b\r\nc\rd\te")))
    assert "a\ufffdb\r\nc\rd\te" in text
    assert "a\ufffdb<br>c<br>d\te" in html


@pytest.mark.parametrize(("severity", "colour"), [("critical", "#b91c1c"), ("", "#6b7280")])
def test_the_bar_has_the_colour_of_the_severity(severity: str, colour: str, endpoint: Endpoint) -> None:
    _, _, html = simple(sent(endpoint, single(payload=json.dumps({"severity": severity}))))
    assert f"solid {colour}" in html


def test_a_digest_says_how_many_of_what(endpoint: Endpoint) -> None:
    members = tuple(record(dedup_key=str(number), kind=kind) for number, kind in enumerate(["b", "a", "b"]))
    message = sent(endpoint, Dispatch(members, digest=True))
    subject, _, html = simple(message)
    assert subject == "3 notifications: a (1), b (2)"
    assert html.index("a (1)</h3>") < html.index("b (2)</h3>")
    assert {"Name": "X-Redeliver-Id", "Value": Dispatch(members, digest=True).batch_id} in message["Content"]["Simple"][
        "Headers"
    ]


def test_what_may_be_the_senders_fault_is_no_refusal_of_the_message(endpoint: Endpoint) -> None:
    channel = channel_of(DESCRIBED.document(""), Transport(), budget=10.0)
    endpoint.script(DESCRIBED.path, refused(400, "BadRequestException"), refused(400, "MessageRejected"))
    assert isinstance(channel.deliver(single()), Reject)
    assert isinstance(channel.deliver(single()), Retry)  # an unverified sender must not cost every message its life
    assert len(endpoint.requests()) == 2


@mock_aws
def test_it_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    boto3.client("sesv2", region_name="eu-west-1").create_email_identity(EmailIdentity="example.com")
    document = DESCRIBED.document("", region="eu-west-1", **{"from": "ops@example.com"})
    channel = channel_of(document, Transport(), budget=10.0)
    assert channel.deliver(single(subject="Bike 90 €", body="<now>")) == Delivered()
    (message,) = ses_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].sent_messages
    assert message.source == "ops@example.com"
    assert message.destinations["ToAddresses"] == ["team@example.com"]
    assert str(make_header(decode_header(message.subject))) == "Bike 90 €"
    assert '<b dir="auto">Bike 90 €</b>' in message.body
    assert "&lt;now&gt;" in message.body


@mock_aws
def test_an_identity_that_is_not_verified_is_tried_again() -> None:
    channel = channel_of(DESCRIBED.document(""), Transport(), budget=10.0)
    outcome = channel.deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == "message_rejected"
