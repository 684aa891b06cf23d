import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch, message_id
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Retry
from redeliver.ports import Channel
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_pagerduty import DESCRIPTIONS, PATH, ROUTING_KEY, invalid

(PAGERDUTY,) = DESCRIPTIONS


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        running.script(PATH, default=PAGERDUTY.success)
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


def pagerduty(endpoint: Endpoint, transport: Transport, **own: Any) -> Channel:
    return channel_of(PAGERDUTY.document(endpoint.url(), **own), transport, budget=10.0, sleep=lambda _: None)


def event(endpoint: Endpoint) -> dict[str, Any]:
    (request,) = endpoint.requests(PATH)
    found: dict[str, Any] = json.loads(request.body)
    return found


def delivered(key: str) -> Delivered:
    """Return that an alert was triggered, which the same key resolves."""
    return Delivered(resolve_with=json.dumps({"event_action": "resolve", "dedup_key": key}, separators=(",", ":")))


def test_an_event(endpoint: Endpoint, transport: Transport) -> None:
    dispatch = single(finding_id="f-1", payload='{"severity":"critical"}')
    assert pagerduty(endpoint, transport).deliver(dispatch) == delivered("CVE-2021-44228")
    assert event(endpoint) == {
        "routing_key": ROUTING_KEY,
        "event_action": "trigger",
        "dedup_key": "CVE-2021-44228",
        "client": "redeliver",
        "payload": {
            "summary": "log4j",
            "source": "redeliver",
            "severity": "critical",
            "class": "cve",
            "timestamp": "2026-03-01T12:00:00+00:00",
            "custom_details": {
                "id": message_id(record()),
                "body": "Update now.",
                "finding_id": "f-1",
                "payload": '{"severity":"critical"}',
            },
        },
    }


@pytest.mark.parametrize(
    ("word", "severity"),
    [
        ("critical", "critical"),
        ("HIGH", "error"),
        ("medium", "warning"),
        ("low", "info"),
        ("info", "info"),
        ("Error", "error"),
        (" warning ", "warning"),
        ("none", "warning"),
        ("terrible", "warning"),
    ],
)
def test_a_severity(word: str, severity: str, endpoint: Endpoint, transport: Transport) -> None:
    pagerduty(endpoint, transport, severity="warning").deliver(single(payload=json.dumps({"severity": word})))
    assert event(endpoint)["payload"]["severity"] == severity


@pytest.mark.parametrize("action", ["resolve", "Acknowledge"])
def test_what_follows_a_trigger_names_its_key(action: str, endpoint: Endpoint, transport: Transport) -> None:
    payload = json.dumps({"event_action": action, "dedup_key": "CVE-2021-44228"})
    outcome = pagerduty(endpoint, transport).deliver(single(dedup_key="CVE-2021-44228:resolved", payload=payload))
    assert outcome == Delivered()  # which nothing has to follow
    assert event(endpoint) == {
        "routing_key": ROUTING_KEY,
        "event_action": action.lower(),
        "dedup_key": "CVE-2021-44228",
    }


@pytest.mark.parametrize(
    "payload", ['{"event_action":"explode"}', '{"event_action":1}', "[]", '"x"', "[" * 60_000, None]
)
def test_anything_else_is_a_trigger(payload: str | None, endpoint: Endpoint, transport: Transport) -> None:
    pagerduty(endpoint, transport).deliver(single(payload=payload))
    assert event(endpoint)["event_action"] == "trigger"
    assert event(endpoint)["dedup_key"] == "CVE-2021-44228"


@pytest.mark.parametrize(("key", "whole"), [("k" * 255, True), ("k" * 256, False), ("é" * 128, False)])
@pytest.mark.parametrize("where", ["own", "payload"])
def test_a_long_dedup_key_is_hashed(
    where: str, key: str, whole: bool, endpoint: Endpoint, transport: Transport
) -> None:
    named = {"dedup_key": key} if where == "own" else {"payload": json.dumps({"dedup_key": key})}
    outcome = pagerduty(endpoint, transport).deliver(single(**named))
    sent_key = key if whole else hashlib.sha256(key.encode()).hexdigest()
    assert event(endpoint)["dedup_key"] == sent_key
    assert outcome == delivered(sent_key)


def test_a_digest_is_one_alert(endpoint: Endpoint, transport: Transport) -> None:
    members = (
        record(kind="price_drop", subject="Bike", body="", dedup_key="a", payload='{"severity":"low"}'),
        record(subject="CVE", body="fixed in 2.17", dedup_key="b", payload='{"severity":"medium"}'),
        record(subject="Old", body="", dedup_key="c", payload='{"severity":"critical","event_action":"resolve"}'),
    )
    dispatch = Dispatch(members, digest=True)
    # One alert about many findings: none of them resolves it.
    assert pagerduty(endpoint, transport).deliver(dispatch) == Delivered()
    found = event(endpoint)
    assert (found["event_action"], found["dedup_key"]) == ("trigger", dispatch.batch_id)
    assert found["payload"] == {
        "summary": "3 notifications: cve (2), price_drop (1)",
        "source": "redeliver",
        "severity": "warning",  # what is resolved counts as info
        "custom_details": {
            "batch_id": dispatch.batch_id,
            "cve (2)": [
                {"subject": "CVE", "body": "fixed in 2.17", "dedup_key": "b"},
                {"subject": "Old", "event_action": "resolve", "dedup_key": "c"},
            ],
            "price_drop (1)": [{"subject": "Bike", "dedup_key": "a"}],
        },
    }


def test_a_digest_of_good_news_is_info(endpoint: Endpoint, transport: Transport) -> None:
    members = tuple(record(dedup_key=key, payload='{"event_action":"resolve"}') for key in "ab")
    pagerduty(endpoint, transport).deliver(Dispatch(members, digest=True))
    assert event(endpoint)["payload"]["severity"] == "info"


@pytest.mark.parametrize(("unit", "most"), [("x", 1024), ("🚀", 512)])
def test_a_long_summary_is_cut(unit: str, most: int, endpoint: Endpoint, transport: Transport) -> None:
    for count in (most, most + 1):
        endpoint.received.clear()
        pagerduty(endpoint, transport).deliver(single(subject=unit * count))
        summary = event(endpoint)["payload"]["summary"]
        assert summary == (unit * most if count == most else f"{unit * (most - 1)}…")


def test_the_largest_event_fits(endpoint: Endpoint, transport: Transport) -> None:
    hostile = record(
        subject="\x01" * 1024, body="\x01" * 100_000, kind="\x01" * 200, payload=json.dumps("\x01" * 10_900)
    )
    for dispatch in (Dispatch((hostile,)), Dispatch((hostile,), digest=True)):
        endpoint.received.clear()
        assert isinstance(pagerduty(endpoint, transport).deliver(dispatch), Delivered)
        assert PAGERDUTY.fits(endpoint.requests()[0])


def test_a_payload_that_is_too_long_is_left_out(endpoint: Endpoint, transport: Transport) -> None:
    pagerduty(endpoint, transport).deliver(single(payload=json.dumps({"severity": "info", "x": "y" * 64_000})))
    assert event(endpoint)["payload"]["severity"] == "info"
    assert "payload" not in event(endpoint)["payload"]["custom_details"]


def test_a_try_without_an_answer_is_repeated_with_the_same_key(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(PATH, Step(failure="close"), default=PAGERDUTY.success)
    outcome = pagerduty(endpoint, transport).deliver(Dispatch((record(),), digest=True))
    assert outcome == Delivered(maybe_delivered=True)
    first, second = (json.loads(request.body) for request in endpoint.requests(PATH))
    assert first == second


def test_a_refused_key_is_never_told(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(PATH, default=invalid(f"'routing_key' {ROUTING_KEY} is not known"))
    outcome = pagerduty(endpoint, transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == CREDENTIALS_REFUSED
    assert ROUTING_KEY not in outcome.error


@pytest.mark.parametrize("key", ["e+23rschqsESqk9Q6_-g", "a" * 31, "a" * 33, "-" * 32])
def test_a_key_of_another_api_is_refused(key: str) -> None:
    with pytest.raises(InvalidDocument, match="routing_key must be"):
        read_document({"type": "pagerduty", "routing_key": key}, TYPES)


def test_what_resolves_an_alert_is_understood(endpoint: Endpoint, transport: Transport) -> None:
    channel = pagerduty(endpoint, transport)
    outcome = channel.deliver(single(payload='{"dedup_key": "schlüssel"}'))
    assert isinstance(outcome, Delivered)
    endpoint.received.clear()
    channel.deliver(single(dedup_key="later", body="", payload=outcome.resolve_with))
    assert event(endpoint) == {"routing_key": ROUTING_KEY, "event_action": "resolve", "dedup_key": "schlüssel"}
