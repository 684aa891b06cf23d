import time
from collections.abc import Iterator

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels.attempt import Attempts
from redeliver.channels.aws import Client, aws_code
from redeliver.channels.bounded import within
from redeliver.channels.http import reply
from redeliver.channels.transport import Answer, NoAnswer, Transport

MESSAGE = {"TopicArn": "arn:aws:sns:eu-central-1:1:ops", "Message": "log4j"}
TAKEN = Step(
    body="<PublishResponse><PublishResult><MessageId>m1</MessageId></PublishResult></PublishResponse>",
    headers={"Content-Type": "text/xml"},
)


def refused(status: int, code: str, **headers: str) -> Step:
    body = f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>no</Message></Error></ErrorResponse>"
    return Step(status, headers, body)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint() as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url())
        yield running


def call(budget: float = 2.0) -> Answer | NoAnswer:
    attempt = Attempts(Transport(), budget=budget, sleep=lambda _: None).begin()
    return Client("sns").call(attempt, "publish", MESSAGE)


def test_a_success_is_an_answer(endpoint: Endpoint) -> None:
    endpoint.script("/", TAKEN)
    answer = call()
    assert isinstance(answer, Answer)
    assert (answer.status, reply(answer)["MessageId"]) == (200, "m1")


def test_an_error_is_an_answer_with_its_code(endpoint: Endpoint) -> None:
    endpoint.script("/", default=refused(400, "InvalidParameter", **{"Retry-After": "7"}))
    answer = call()
    assert isinstance(answer, Answer)
    assert (answer.status, aws_code(answer)) == (400, "InvalidParameter")
    assert answer.headers.get("Retry-After") == "7"
    assert len(endpoint.requests()) == 1


def test_an_unavailable_service_is_tried_again_by_the_attempt_alone(endpoint: Endpoint) -> None:
    endpoint.script("/", default=refused(503, "ServiceUnavailable"))
    call()
    assert len(endpoint.requests()) == 3


@pytest.mark.parametrize("body", ["", "<html>", "<ErrorResponse/>", '{"code": 1}'])
def test_an_error_in_no_shape_of_its_own_keeps_its_status_and_headers(body: str, endpoint: Endpoint) -> None:
    endpoint.script("/", default=Step(429, {"Retry-After": "7"}, body))
    answer = call()
    assert isinstance(answer, Answer)
    assert (answer.status, answer.headers.get("Retry-After")) == (429, "7")


def test_a_lone_surrogate_is_no_obstacle(endpoint: Endpoint) -> None:
    endpoint.script("/", TAKEN)
    attempt = Attempts(Transport()).begin()
    answer = Client("sns").call(attempt, "publish", {**MESSAGE, "Message": "a\ud800b"})
    assert isinstance(answer, Answer)
    assert answer.status == 200
    assert "Message=a%3Fb" in endpoint.requests()[0].body


def test_arguments_that_it_does_not_take(endpoint: Endpoint) -> None:
    attempt = Attempts(Transport()).begin()
    answer = Client("sns").call(attempt, "publish", {"Message": 7})
    assert isinstance(answer, Answer)
    assert aws_code(answer) == "ParamValidationError"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Step(failure="hang"), "timeout"),
        (Step(drip=0.05, drip_headers=True), "timeout"),
        (Step(failure="close"), "connection_lost"),
        (Step(failure="reset"), "connection_lost"),
        (Step(body="no XML"), "unreadable_answer"),
        (Step(body="<PublishResponse/>"), "unreadable_answer"),
    ],
)
def test_no_answer_ends_in_time_and_may_have_delivered(step: Step, reason: str, endpoint: Endpoint) -> None:
    endpoint.script("/", default=step)
    began = time.monotonic()
    answer = call(budget=1.0)
    assert time.monotonic() - began < 1.5
    assert isinstance(answer, NoAnswer)
    assert (answer.reason, answer.sent) == (reason, True)
    assert len(endpoint.requests()) == 1


def test_a_refused_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint() as gone:
        monkeypatch.setenv("AWS_ENDPOINT_URL", gone.url())
    answer = call()
    assert isinstance(answer, NoAnswer)
    assert (answer.reason, answer.sent) == ("connection_failed", False)


def test_without_credentials_nothing_leaves(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    answer = call()
    assert isinstance(answer, NoAnswer)
    assert (answer.reason, answer.sent) == ("request_failed", False)
    assert not endpoint.requests()


def test_work_is_bounded() -> None:
    assert within(1.0, lambda: 7, "test") == 7
    with pytest.raises(ZeroDivisionError):
        within(1.0, lambda: 1 / 0, "test")
    with pytest.raises(TimeoutError):
        within(0.01, lambda: time.sleep(0.1), "test")
