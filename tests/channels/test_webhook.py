import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook as Witness

from infra.local.endpoint import Endpoint, Received, Step
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch, message_id
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Gone, Retry
from redeliver.ports import Channel
from tests.contract.channel_cases import NOW, channel_of, record, single
from tests.contract.channel_webhook import DESCRIPTIONS, HOOK, SIGNING_SECRET


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


def webhook(endpoint: Endpoint, transport: Transport, *, clock: Any = lambda: datetime.now(UTC), **own: Any) -> Channel:
    document = DESCRIPTIONS[0].document(endpoint.url(), **own)
    return channel_of(document, transport, sleep=lambda _: None, chance=lambda: 0.0, clock=clock)


def verified(request: Received) -> Any:
    """Return the body after the independent implementation has checked its signature."""
    return Witness(SIGNING_SECRET).verify(
        request.body, {name.lower(): value for name, value in request.headers.items()}
    )


def test_a_notification(endpoint: Endpoint, transport: Transport) -> None:
    sent = record(
        recipient="me",
        finding_id="f1",
        payload='{"score": 10.0, "big": 12345678901234567890}',
        deliver_by=NOW + timedelta(days=1),
        subject="é🚀",
    )
    assert webhook(endpoint, transport).deliver(Dispatch((sent,))) == Delivered()
    (request,) = endpoint.requests()
    assert verified(request) == {
        "type": "cve",
        "timestamp": "2026-03-01T12:00:00Z",
        "data": {
            "id": message_id(sent),
            "channel": "ops",
            "dedup_key": "CVE-2021-44228",
            "kind": "cve",
            "subject": "é🚀",
            "body": "Update now.",
            "recipient": "me",
            "finding_id": "f1",
            "deliver_by": "2026-03-02T12:00:00Z",
            "payload": {"score": 10.0, "big": 12345678901234567890},
        },
    }
    assert '"score": 10.0' in request.body  # as the caller spelled it
    assert request.headers["webhook-id"] == message_id(sent)
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["X-Key"] == "s3cret-header"


def test_a_digest(endpoint: Endpoint, transport: Transport) -> None:
    members = (record(), record(dedup_key="other", created_at=NOW + timedelta(minutes=1)))
    dispatch = Dispatch(members, digest=True)
    assert webhook(endpoint, transport).deliver(dispatch) == Delivered()
    (request,) = endpoint.requests()
    body = verified(request)
    assert (body["type"], body["timestamp"]) == ("digest", "2026-03-01T12:01:00Z")
    assert body["data"]["batch_id"] == request.headers["webhook-id"] == dispatch.batch_id
    assert [member["id"] for member in body["data"]["notifications"]] == [message_id(member) for member in members]


def test_each_try_has_the_same_id_and_body_and_a_fresh_timestamp(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(HOOK, Step(503), Step(failure="close"), Step())
    moments = iter(NOW + timedelta(seconds=10 * n) for n in range(100))
    channel = webhook(endpoint, transport, clock=lambda: next(moments))
    assert channel.deliver(single()) == Delivered(maybe_delivered=True)
    first, second, third = endpoint.requests()
    assert first.body == second.body == third.body
    assert len({request.headers["webhook-id"] for request in (first, second, third)}) == 1
    assert len({request.headers["webhook-timestamp"] for request in (first, second, third)}) == 3
    assert len({request.headers["webhook-signature"] for request in (first, second, third)}) == 3


def test_an_old_and_a_new_secret_sign_both(endpoint: Endpoint, transport: Transport) -> None:
    new = "whsec_" + "c2VjcmV0LW9mLXRoaXJ0eS10d28tYnl0ZXMhISEhISE="
    assert webhook(endpoint, transport, secret=[SIGNING_SECRET, f" {new}\n"]).deliver(single()) == Delivered()
    (request,) = endpoint.requests()
    assert len(request.headers["webhook-signature"].split()) == 2
    headers = {name.lower(): value for name, value in request.headers.items()}
    for secret in (SIGNING_SECRET, new):
        assert Witness(secret).verify(request.body, headers)


def test_without_a_secret_there_is_no_signature(endpoint: Endpoint, transport: Transport) -> None:
    assert webhook(endpoint, transport, secret="").deliver(single()) == Delivered()
    assert "webhook-signature" not in endpoint.requests()[0].headers
    assert "webhook-id" in endpoint.requests()[0].headers


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials(status: int, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(HOOK, default=Step(status))
    outcome = webhook(endpoint, transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == CREDENTIALS_REFUSED


def test_gone(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(HOOK, default=Step(410))
    assert webhook(endpoint, transport).deliver(single()) == Gone("http_410", "HTTP 410")


@pytest.mark.parametrize("value", ["40", "Sun, 01 Mar 2026 12:00:40 GMT"])
def test_a_named_wait(value: str, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.script(HOOK, default=Step(503, {"Retry-After": value}))
    outcome = webhook(endpoint, transport, clock=lambda: NOW).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.wait == timedelta(seconds=40)


def test_a_lone_surrogate_stays_json(endpoint: Endpoint, transport: Transport) -> None:
    assert webhook(endpoint, transport).deliver(single(subject="a\ud800b")) == Delivered()
    assert json.loads(endpoint.requests()[0].body)["data"]["subject"] == "a\ud800b"
