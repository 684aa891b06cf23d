"""What every channel type promises, over the registry and a real endpoint."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels import TYPES
from redeliver.channels.attempt import RETRIES
from redeliver.channels.transport import Answer, Post, Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import (
    CREDENTIALS_REFUSED,
    Delivered,
    Gone,
    Outcome,
    Reject,
    Retry,
    worth_retrying_at_once,
)
from redeliver.ports import Channel
from tests.contract.channel_cases import (
    BODIES,
    BODIES_ON_THE_WIRE,
    BUDGET,
    SLACK,
    WITHOUT_ANSWER,
    Described,
    all_described,
    channel_of,
    descriptions_of,
    record,
    scripted,
    single,
)

ALL = all_described()
OVER_HTTP = {name: each for name, each in ALL.items() if each.http}
REPEATABLE = {name: each for name, each in ALL.items() if each.repeatable}  # the others make no second try
SAYING_WHY = {name: each for name, each in ALL.items() if not each.yes_or_no}
SHORT = 0.3  # the budget where an attempt is to use it up
LIBRARY = 1.2  # the budget of a type whose library makes its client within the first attempt
STATUSES = range(200, 600)

repeatable = pytest.mark.parametrize("described", REPEATABLE.values(), ids=REPEATABLE)
over_http = pytest.mark.parametrize("described", OVER_HTTP.values(), ids=OVER_HTTP)
saying_why = pytest.mark.parametrize("described", SAYING_WHY.values(), ids=SAYING_WHY)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


@pytest.fixture(params=ALL)
def described(request: pytest.FixtureRequest) -> Described:
    return ALL[request.param]


Made = Callable[..., Channel]


@pytest.fixture
def make(
    described: Described, endpoint: Endpoint, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Channel]:
    """Return what makes a channel: never pausing between tries, unless told otherwise."""

    def made(base: str = endpoint.url(), over: Transport = transport, **attempts: Any) -> Channel:
        for name, value in described.environment(base).items():
            monkeypatch.setenv(name, value)
        if not described.http:
            attempts["budget"] = max(attempts.get("budget", BUDGET), LIBRARY)
        how = {"sleep": lambda _: None, "chance": lambda: 0.0, **attempts}
        return channel_of(described.document(base), over, **how)

    return made


def attempt(described: Described, channel: Channel, dispatch: Dispatch | None = None) -> Outcome:
    """Deliver, and see that the attempt ended inside its budget and gave nothing away."""
    began = time.monotonic()
    outcome = channel.deliver(dispatch or single())
    assert time.monotonic() - began < (BUDGET if described.http else LIBRARY) + SLACK
    assert not any(secret in repr(outcome) for secret in described.secrets)
    return outcome


def calls_for(described: Described, status: int, outcome: Outcome) -> int:
    """Return how many requests an attempt makes that ends with such an answer."""
    if described.least_pause > BUDGET and status >= 500:
        return 1
    again = isinstance(outcome, Retry) and outcome.reason != CREDENTIALS_REFUSED and not outcome.maybe_delivered
    return 1 + RETRIES if worth_retrying_at_once(status) and again else 1


@pytest.mark.parametrize("type_", TYPES)
def test_every_type_of_the_registry_is_described(type_: str) -> None:
    assert {each.type for each in descriptions_of(type_)} == {type_}


@pytest.mark.parametrize("type_", TYPES)
def test_every_row_of_a_table_is_tried(type_: str) -> None:
    tables = TYPES[type_].answers
    told = [
        each.answer(step)
        for each in descriptions_of(type_)
        for step in (each.success, *(expected.step for expected in each.answers.values()))
    ]
    for table in tables:
        decided = [table.row(answer) for answer in told]
        assert [row for row in table.rows if row not in decided] == []


def test_a_delivery(described: Described, make: Made, endpoint: Endpoint) -> None:
    scripted(endpoint, described, described.success)
    assert isinstance(attempt(described, make()), Delivered)
    (request,) = endpoint.requests()
    if described.http:
        assert request.headers["User-Agent"].startswith("redeliver/")
        assert request.headers["Accept-Encoding"] == "identity"


def test_every_documented_answer(described: Described, make: Made, endpoint: Endpoint) -> None:
    channel = make()
    for name, expected in described.answers.items():
        scripted(endpoint, described, default=expected.step)
        outcome = attempt(described, channel)
        assert type(outcome) is expected.outcome, name
        if not isinstance(outcome, Delivered):
            assert outcome.reason == expected.reason, name
        wait = outcome.wait if isinstance(outcome, Retry) else None
        assert (wait and wait.total_seconds()) == expected.wait, name


def test_every_status(described: Described, make: Made, endpoint: Endpoint) -> None:
    channel = make()
    for status in STATUSES:
        scripted(endpoint, described, default=Step(status, body=described.echo()))
        outcome = attempt(described, channel)
        if 200 <= status <= 299:
            assert isinstance(outcome, Retry if described.body_decides else Delivered), status
        else:
            assert isinstance(outcome, Retry | Reject | Gone), status
            assert status == 304 or not described.http or "***" in outcome.error, status
        assert len(endpoint.requests()) == calls_for(described, status, outcome), status


@over_http
def test_the_answer_after_interim_responses_counts(described: Described, make: Made, endpoint: Endpoint) -> None:
    scripted(endpoint, described, default=replace(described.success, interim=(100, 102, 103, 199)))
    channel = make()
    for sent in (1, 2):  # the second on the same connection
        outcome = attempt(described, channel)
        assert isinstance(outcome, Delivered)
        assert (len(endpoint.requests()), outcome.maybe_delivered) == (sent, False)


@over_http
def test_an_interim_status_alone_is_no_answer(described: Described, make: Made, endpoint: Endpoint) -> None:
    for status, reason in ((101, "unreadable_answer"), (103, "timeout")):
        channel = make(budget=SHORT)
        scripted(endpoint, described, default=Step(status))
        outcome = attempt(described, channel)
        assert isinstance(outcome, Retry)
        assert (outcome.reason, outcome.maybe_delivered) == (reason, True)
        scripted(endpoint, described, described.success)
        assert isinstance(attempt(described, channel), Delivered)  # nothing of the old answer is taken for the new one


def says_nothing(described: Described, status: int, outcome: Outcome) -> None:
    """Check what comes of an answer whose body cannot be read."""
    if 200 <= status <= 299 and not described.body_decides:
        assert isinstance(outcome, Delivered), status
        return
    assert isinstance(outcome, Retry if status <= 299 else Retry | Reject | Gone), status
    assert not isinstance(outcome, Delivered)
    assert len(outcome.error) <= 1024
    if isinstance(outcome, Retry):
        assert outcome.maybe_delivered == (status <= 299), status


class Answering(Transport):
    """A transport whose every answer is this one: bodies and statuses do not depend on each other on the wire."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__()
        self.answer = Answer(status, body)

    def post(self, post: Post, seconds_left: Callable[[], float]) -> Answer:
        return self.answer


@over_http
@pytest.mark.parametrize("body", BODIES)
def test_every_body_with_every_status(body: str, described: Described, make: Made) -> None:
    answering = Answering(200, as_bytes(BODIES[body]))
    channel = make(over=answering)
    for status in STATUSES:
        answering.answer = replace(answering.answer, status=status)
        says_nothing(described, status, attempt(described, channel))


def as_bytes(step: Step) -> bytes:
    return step.raw or step.body.encode()


@pytest.mark.parametrize("status", [200, 400, 503])
def test_every_body(status: int, described: Described, make: Made, endpoint: Endpoint) -> None:
    channel = make(budget=SHORT)
    for name, step in (BODIES if described.yes_or_no else {**BODIES, **BODIES_ON_THE_WIRE}).items():
        if step.drip and status != 200:
            continue  # it takes all of the budget, whatever the status
        scripted(endpoint, described, default=replace(step, status=status))
        outcome = attempt(described, channel)
        if described.http:
            says_nothing(described, status, outcome)
        else:
            taken = status == 200 and not described.body_decides
            assert isinstance(outcome, Delivered if taken else Retry), name


@pytest.mark.parametrize("case", WITHOUT_ANSWER)
def test_no_answer(case: str, described: Described, make: Made, endpoint: Endpoint) -> None:
    failing = WITHOUT_ANSWER[case]
    scripted(endpoint, described, default=failing.step)
    outcome = attempt(described, make(budget=1.0))  # the connection has to come about in it, and the request to leave
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.wait) == (described.reasons.get(case, failing.reason), None)
    if case == "reset before the body was read":
        return  # a race: the body may have left by then, and may not
    assert outcome.maybe_delivered
    if not described.repeatable:
        assert len(endpoint.requests()) == 1


def test_a_body_that_left_without_an_answer_ends_the_layer(
    described: Described, make: Made, endpoint: Endpoint
) -> None:
    scripted(endpoint, described, Step(failure="close"), default=Step(503))
    outcome = attempt(described, make())
    assert isinstance(outcome, Retry)
    assert outcome.maybe_delivered  # also when a later try of the attempt had an answer
    assert len(endpoint.requests()) == (1 + RETRIES if described.repeatable else 1)


@repeatable
def test_a_success_after_a_try_without_an_answer_may_be_the_second(
    described: Described, make: Made, endpoint: Endpoint
) -> None:
    scripted(endpoint, described, Step(failure="close"), default=described.success)
    outcome = attempt(described, make())
    assert isinstance(outcome, Delivered)
    assert outcome.maybe_delivered
    assert len(endpoint.requests()) == 2


@saying_why
def test_a_refused_connection_has_delivered_nothing(described: Described, make: Made) -> None:
    with Endpoint() as gone:
        base = gone.url()
    outcome = attempt(described, make(base))
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.maybe_delivered) == ("connection_failed", False)


@over_http
def test_a_name_that_cannot_be_found(described: Described, make: Made) -> None:
    def nobody(host: str, port: int) -> list[Any]:
        raise OSError(-2, "Name or service not known")

    outcome = attempt(described, make("https://nobody.example", Transport(resolve=nobody)))
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.maybe_delivered) == ("name_failed", False)


@over_http
def test_no_tls(described: Described, make: Made, endpoint: Endpoint) -> None:
    outcome = attempt(described, make(f"https://127.0.0.1:{endpoint.port}"))
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.maybe_delivered) == ("tls_failed", False)


@saying_why
def test_a_time_out_or_an_unavailable_endpoint_is_tried_again_within_the_attempt(
    described: Described, make: Made, endpoint: Endpoint
) -> None:
    scripted(endpoint, described, Step(503), Step(408), described.success)
    assert isinstance(attempt(described, make(budget=BUDGET + 2 * described.least_pause)), Delivered)
    assert len(endpoint.requests()) == 3


@saying_why
def test_a_named_wait_that_is_too_long_is_handed_on_at_once(
    described: Described, make: Made, endpoint: Endpoint
) -> None:
    scripted(endpoint, described, default=Step(429, {"Retry-After": "30"}))
    outcome = attempt(described, make())
    assert isinstance(outcome, Retry)
    assert outcome.wait is not None
    assert outcome.wait.total_seconds() == 30
    assert len(endpoint.requests()) == 1


@over_http
def test_redirects_are_not_followed(described: Described, make: Made, endpoint: Endpoint) -> None:
    for location in (endpoint.url("/elsewhere"), "/elsewhere", "http://[", f"https://x.example{described.path}"):
        scripted(endpoint, described, Step(307, {"Location": location}, "x" * 10_000, endless=True))
        outcome = attempt(described, make())
        assert isinstance(outcome, Retry)
        assert outcome.reason == "redirect"
        assert not endpoint.requests("/elsewhere")


@over_http
def test_cookies_are_not_kept(described: Described, make: Made, endpoint: Endpoint) -> None:
    step = replace(described.success, headers={**described.success.headers, "Set-Cookie": "a=b"})
    scripted(endpoint, described, default=step)
    channel = make()
    attempt(described, channel)
    attempt(described, channel)
    assert "Cookie" not in endpoint.requests()[-1].headers


def test_a_long_digest_fits_by_weight(described: Described, make: Made, endpoint: Endpoint) -> None:
    scripted(endpoint, described, default=described.success)
    channel = make(budget=10.0)
    members, room = [], channel.capacity
    for number in range(1000):
        body = "é" * (channel.capacity // 100)
        subject = f"Subject {number} 🚀 & <_*"
        member = record(dedup_key=str(number), kind=f"kind{number % 7}", subject=subject, body=body)
        room -= channel.weigh(member)
        if room < 0:
            break
        members.append(member)
    assert 5 < len(members) < 1000
    assert channel.deliver(Dispatch(tuple(members), digest=True)) == Delivered()
    (request,) = endpoint.requests()
    assert described.fits(request)
    text = described.text(request)
    assert all(f"Subject {number} " in text for number in range(len(members)))
    assert "…" not in text  # nothing was cut


def test_no_notification_is_too_long(described: Described, make: Made, endpoint: Endpoint) -> None:
    huge = record(subject="<&" * 512, body="🚀&<\"'*\\" * 8_000, payload='"' + "x" * 60_000 + '"')
    channel = make(budget=10.0)
    assert channel.weigh(huge) <= channel.capacity
    for dispatch in (Dispatch((huge,)), Dispatch((huge,), digest=True)):
        scripted(endpoint, described, default=described.success)
        assert isinstance(channel.deliver(dispatch), Delivered)
        assert all(map(described.fits, endpoint.requests()))


def test_many_threads_share_one_channel(described: Described, make: Made, endpoint: Endpoint) -> None:
    scripted(endpoint, described, default=replace(described.success, delay=0.01))
    channel = make(budget=10.0)
    outcomes: list[Outcome] = []
    threads = [threading.Thread(target=lambda: outcomes.append(channel.deliver(single()))) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(outcome) for outcome in outcomes] == [Delivered] * 64
    assert len(endpoint.requests()) == 64


def test_hostile_text_is_delivered(described: Described, make: Made, endpoint: Endpoint) -> None:
    scripted(endpoint, described, default=described.success)
    channel = make()
    for subject in ("\ud800", "\u202egnp", "@everyone <!channel> &amp;", "a\r\nBcc: x@example.com", "=?utf-8?q?x?="):
        assert isinstance(attempt(described, channel, single(subject=subject, body=subject)), Delivered)
