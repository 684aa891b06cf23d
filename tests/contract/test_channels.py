"""What every channel type promises, over the registry and a real endpoint."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels import TYPES
from redeliver.channels.attempt import RETRIES
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry, worth_retrying_at_once
from redeliver.ports import Channel
from tests.contract.channel_cases import (
    BODIES,
    BUDGET,
    PATHS,
    SECRETS,
    SLACK,
    WITHOUT_ANSWER,
    Failing,
    channel_of,
    document_of,
    echo,
    ok_body,
    record,
    scripted,
    single,
)

KNOWS_A_MESSAGE_AGAIN = {"webhook"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


@pytest.fixture(params=sorted(TYPES))
def type_(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def channel(type_: str, endpoint: Endpoint, transport: Transport) -> Channel:
    endpoint.received.clear()
    return channel_of(document_of(type_, endpoint.url()), transport, sleep=lambda _: None, chance=lambda: 0.0)


def attempt(channel: Channel, dispatch: Dispatch | None = None) -> Outcome:
    """Deliver, and see that the attempt ended inside its budget and gave nothing away."""
    began = time.monotonic()
    outcome = channel.deliver(dispatch or single())
    assert time.monotonic() - began < BUDGET + SLACK
    assert not any(secret in repr(outcome) for secrets in SECRETS.values() for secret in secrets)
    return outcome


def test_every_type_of_the_registry_is_tried() -> None:
    assert set(TYPES) == set(SECRETS) == set(PATHS)


def test_a_delivery(type_: str, channel: Channel, endpoint: Endpoint) -> None:
    scripted(endpoint, type_, Step(body=ok_body(type_)))
    assert attempt(channel) == Delivered()
    assert len(endpoint.requests()) == 1
    assert endpoint.requests()[0].headers["User-Agent"].startswith("redeliver/")
    assert endpoint.requests()[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("status", range(200, 600))
def test_every_status(status: int, type_: str, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.received.clear()
    channel = channel_of(document_of(type_, endpoint.url()), transport, sleep=lambda _: None, chance=lambda: 0.0)
    scripted(endpoint, type_, default=Step(status, body=echo(type_)))
    outcome = attempt(channel)
    if 200 <= status <= 299:
        assert isinstance(outcome, Delivered if type_ != "telegram" else Retry)
    else:
        assert isinstance(outcome, Retry | Reject | Gone)
        assert status == 304 or "***" in outcome.error
    calls = 1 + RETRIES if worth_retrying_at_once(status) else 1
    assert len(endpoint.requests()) == calls


@pytest.mark.parametrize("status", [100, 101, 102, 103, 199])
def test_an_interim_status_is_no_answer(status: int, type_: str, channel: Channel, endpoint: Endpoint) -> None:
    scripted(endpoint, type_, default=Step(status))
    outcome = attempt(channel)
    assert isinstance(outcome, Retry)
    assert outcome.maybe_delivered
    scripted(endpoint, type_, Step(body=ok_body(type_)))
    assert attempt(channel) == Delivered()  # nothing of the old answer is taken for the new one


@pytest.mark.parametrize("status", [200, 400, 503])
@pytest.mark.parametrize("body", BODIES)
def test_every_body(status: int, body: str, type_: str, channel: Channel, endpoint: Endpoint) -> None:
    scripted(endpoint, type_, default=replace(BODIES[body], status=status))
    outcome = attempt(channel)
    if status == 200 and type_ == "webhook":
        assert outcome == Delivered()
    else:
        assert isinstance(outcome, Retry)
        assert len(outcome.error) <= 1024
        assert outcome.maybe_delivered == (status == 200)


@pytest.mark.parametrize("case", WITHOUT_ANSWER)
def test_no_answer(case: str, type_: str, channel: Channel, endpoint: Endpoint) -> None:
    failing: Failing = WITHOUT_ANSWER[case]
    scripted(endpoint, type_, default=failing.step)
    outcome = attempt(channel)
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.wait) == (failing.reason, None)
    if case == "reset before the body was read":
        return  # a race: the body may have left by then, and may not
    assert outcome.maybe_delivered
    if type_ not in KNOWS_A_MESSAGE_AGAIN:
        assert len(endpoint.requests()) == 1


def test_a_body_that_left_without_an_answer_ends_the_layer(
    type_: str, endpoint: Endpoint, transport: Transport
) -> None:
    endpoint.received.clear()
    channel = channel_of(document_of(type_, endpoint.url()), transport, sleep=lambda _: None, chance=lambda: 0.0)
    scripted(endpoint, type_, Step(failure="close"), default=Step(503))
    outcome = attempt(channel)
    assert isinstance(outcome, Retry)
    assert outcome.maybe_delivered  # also when a later try of the attempt had an answer
    assert len(endpoint.requests()) == (1 + RETRIES if type_ in KNOWS_A_MESSAGE_AGAIN else 1)


def test_a_refused_connection_has_delivered_nothing(type_: str, transport: Transport) -> None:
    with Endpoint() as gone:
        base = gone.url()
    outcome = attempt(channel_of(document_of(type_, base), transport, chance=lambda: 0.0))
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.maybe_delivered) == ("connection_failed", False)


def test_a_time_out_or_an_unavailable_endpoint_is_tried_again_within_the_attempt(
    type_: str, channel: Channel, endpoint: Endpoint
) -> None:
    scripted(endpoint, type_, Step(503), Step(408), Step(body=ok_body(type_)))
    assert attempt(channel) == Delivered()
    assert len(endpoint.requests()) == 3


def test_a_named_wait_that_is_too_long_is_handed_on_at_once(type_: str, channel: Channel, endpoint: Endpoint) -> None:
    scripted(endpoint, type_, default=Step(429, {"Retry-After": "30"}))
    outcome = attempt(channel)
    assert isinstance(outcome, Retry)
    assert outcome.wait is not None
    assert outcome.wait.total_seconds() == 30
    assert len(endpoint.requests()) == 1


def test_redirects_are_not_followed(type_: str, channel: Channel, endpoint: Endpoint) -> None:
    for location in (endpoint.url("/elsewhere"), "/elsewhere", "http://[", f"https://x.example{PATHS[type_]}"):
        scripted(endpoint, type_, Step(307, {"Location": location}, "x" * 10_000, endless=True))
        outcome = attempt(channel)
        assert isinstance(outcome, Retry)
        assert outcome.reason == "redirect"
    assert not endpoint.requests("/elsewhere")


def test_cookies_are_not_kept(type_: str, channel: Channel, endpoint: Endpoint) -> None:
    scripted(endpoint, type_, default=Step(headers={"Set-Cookie": "a=b"}, body=ok_body(type_)))
    attempt(channel)
    attempt(channel)
    assert "Cookie" not in endpoint.requests()[-1].headers


def test_a_long_digest_fits_by_weight(type_: str, channel: Channel, endpoint: Endpoint) -> None:
    endpoint.unscript(PATHS[type_])  # the imitation of Telegram counts characters
    members, room = [], channel.capacity
    for number in range(1000):
        member = record(dedup_key=str(number), kind=f"kind{number % 7}", subject=f"Subject {number} 🚀", body="é" * 40)
        room -= channel.weigh(member)
        if room < 0:
            break
        members.append(member)
    assert 10 < len(members) < 1000
    assert attempt(channel, Dispatch(tuple(members), digest=True)) == Delivered()
    body = endpoint.requests()[-1].body
    assert all(f"Subject {number} " in body for number in range(len(members)))
    assert "…" not in body  # nothing was cut
    assert "\\u2026" not in body


def test_one_notification_never_outweighs_a_digest(channel: Channel) -> None:
    huge = record(subject="s" * 1024, body="🚀" * 30_000, payload='"' + "x" * 60_000 + '"')
    assert channel.weigh(huge) <= channel.capacity
    assert attempt(channel, Dispatch((huge,), digest=True)) is not None


def test_many_threads_share_one_channel(type_: str, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.received.clear()
    scripted(endpoint, type_, default=Step(body=ok_body(type_), delay=0.01))
    channel = channel_of(document_of(type_, endpoint.url()), transport, budget=10.0)
    outcomes: list[Outcome] = []
    threads = [threading.Thread(target=lambda: outcomes.append(channel.deliver(single()))) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [Delivered()] * 64
    assert len(endpoint.requests()) == 64
